//! LIA: paths of one connection share their increase, so that together they take no more than one flow (RFC 6356).

use super::{AckSample, Controller, Growth};
use crate::time::Instant;

/// Window and RTT of one path, for computing the shared increase.
#[derive(Clone, Copy, Debug)]
pub struct PathShare {
    /// Window in packets.
    pub window: u32,
    /// Smoothed RTT in seconds.
    pub srtt_s: f64,
}

/// The shared increase: `alpha / total window`, in packets of growth per packet delivered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    /// Growth in packets for one packet delivered on any path.
    pub growth_per_packet: f64,
}

impl Coupling {
    /// Computes the coupling of `paths` (RFC 6356 section 3, with windows in packets).
    #[must_use]
    pub fn of(paths: impl Iterator<Item = PathShare>) -> Self {
        let mut best: f64 = 0.0;
        let mut sum = 0.0;
        for path in paths {
            let window = f64::from(path.window);
            let rtt = path.srtt_s.max(1e-6);
            best = best.max(window / (rtt * rtt));
            sum += window / rtt;
        }
        // alpha = total * best / sum^2, and the increase divides it by total again.
        Self { growth_per_packet: if sum > 0.0 { best / (sum * sum) } else { 1.0 } }
    }
}

/// LIA's window on one path.
#[derive(Clone, Debug)]
// R-CC-6
pub struct Lia {
    growth: Growth,
    fraction: f64,
}

impl Lia {
    /// Starts in slow start with `initial_window` packets.
    #[must_use]
    pub fn new(initial_window: u32) -> Self {
        Self { growth: Growth::new(initial_window), fraction: 0.0 }
    }
}

impl Controller for Lia {
    fn window(&self) -> u32 {
        self.growth.window
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        if !self.growth.limited_by_window(ack) {
            return;
        }
        let rest = self.growth.slow_start(ack.delivered);
        let alone = 1.0 / f64::from(self.growth.window.max(1));
        let shared = ack.coupling.map_or(alone, |c| c.growth_per_packet);
        self.fraction += f64::from(rest) * shared.min(alone);
        if self.fraction >= 1.0 {
            self.growth.advance(self.fraction as u32, 1);
            self.fraction = self.fraction.fract();
        }
    }

    fn on_congestion(&mut self, _now: Instant, flight: u32) {
        self.growth.shrink_to(self.growth.half(flight));
    }

    fn soften(&mut self) {
        self.growth.soften();
    }

    fn widen(&mut self, window: u32) {
        self.growth.widen(window);
    }

    fn on_timeout(&mut self, _now: Instant, flight: u32, again: bool) {
        if again {
            self.growth.restart_again();
        } else {
            self.growth.restart(self.growth.half(flight));
        }
    }

    fn slow_start_threshold(&self) -> Option<u32> {
        self.growth.threshold()
    }

    fn pacing_gain(&self) -> f64 {
        self.growth.pacing_gain()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{test_ack, test_rtt};
    use super::*;

    #[test]
    fn two_equal_paths_grow_together_as_fast_as_one_flow() {
        let share = PathShare { window: 50, srtt_s: 0.1 };
        let coupling = Coupling::of([share, share].into_iter());
        // Both paths deliver 50 packets a round trip: together 0.5 packets of growth, a quarter of two lone flows.
        let together = 100.0 * coupling.growth_per_packet;
        assert!((together - 0.5).abs() < 1e-9, "{together}");
    }

    #[test]
    fn one_path_alone_is_newreno() {
        let coupling = Coupling::of([PathShare { window: 40, srtt_s: 0.1 }].into_iter());
        assert!((coupling.growth_per_packet - 1.0 / 40.0).abs() < 1e-12);
    }

    #[test]
    fn window_follows_the_shared_increase() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut lia = Lia::new(50);
        lia.on_congestion(Instant::ZERO, 50);
        for _ in 0..100 {
            let mut ack = test_ack(&rtt, Instant::ZERO, 1, 25);
            ack.coupling = Some(Coupling { growth_per_packet: 0.01 });
            lia.on_ack(&ack);
        }
        assert!((25..=26).contains(&lia.window()), "{}", lia.window());
    }
}
