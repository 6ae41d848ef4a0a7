//! How long a packet that was overtaken is waited for: RACK's reordering window (RFC 8985, sections 3.3.2 and 6.2).

use std::time::Duration;

use crate::rtt::RttEstimator;

/// Loss recoveries without a late packet after which the window is as small as at first (RFC 8985, section 6.2: 16).
const FORGET_AFTER: u32 = 16;
/// A step of the window is this part of the smallest RTT (RFC 8985, section 6.2).
const STEPS_PER_MIN_RTT: u32 = 4;

/// What late packets have taught about the order in which the path delivers.
#[derive(Clone, Debug, Default)]
pub(super) struct Reordering {
    /// 0 until a packet that was taken for lost has arrived after all.
    steps: u32,
    /// Recoveries since the last of these.
    quiet: u32,
    /// Transmissions up to this one belong to a step that was already made.
    stepped_at: u64,
}

impl Reordering {
    /// What was sent as `order`, `latest` being the latest so far, arrived although it had been taken for lost: once a
    /// round trip the window grows.
    pub fn on_late(&mut self, order: u64, latest: u64) {
        self.quiet = 0;
        if order > self.stepped_at {
            self.stepped_at = latest;
            self.steps = self.steps.saturating_add(1);
        }
    }

    /// A loss recovery begins.
    pub fn on_recovery(&mut self) {
        self.quiet += 1;
        if self.quiet > FORGET_AFTER {
            self.steps = 0;
        }
    }

    /// For how long beyond a round trip an overtaken packet is waited for; `None` while nothing speaks for reordering,
    /// so that counting packets is enough.
    pub fn window(&self, rtt: &RttEstimator) -> Option<Duration> {
        (self.steps > 0).then(|| (rtt.min() * self.steps / STEPS_PER_MIN_RTT).min(rtt.smoothed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn rtt() -> RttEstimator {
        let mut rtt = RttEstimator::new(MS * 1000, MS * 200, MS * 60_000);
        rtt.sample(MS * 100);
        rtt
    }

    // R-ARQ-5
    #[test]
    fn the_window_grows_once_a_round_trip_up_to_the_rtt_and_is_forgotten_after_sixteen_recoveries() {
        let mut reordering = Reordering::default();
        assert_eq!(reordering.window(&rtt()), None);
        reordering.on_late(3, 10);
        reordering.on_late(9, 10);
        assert_eq!(reordering.window(&rtt()), Some(MS * 25), "both were sent before the first came late");
        for order in 11..20 {
            reordering.on_late(order, order);
        }
        assert_eq!(reordering.window(&rtt()), Some(MS * 100));
        (0..FORGET_AFTER).for_each(|_| reordering.on_recovery());
        assert_eq!(reordering.window(&rtt()), Some(MS * 100));
        reordering.on_recovery();
        assert_eq!(reordering.window(&rtt()), None);
    }
}
