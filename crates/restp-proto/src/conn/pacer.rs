//! Spreads packets over time: short bursts at the rate that the congestion controller names.

use std::time::Duration;

use crate::time::Instant;

/// Packets that may leave back to back at any rate: little enough for small queues.
const BURST_PACKETS: u32 = 10;
/// Seconds at the pacing rate that a burst may take if that is more, which it is above 100,000 packets a second: a
/// twentieth of what the specification allows.
const BURST_S: f64 = 0.0001;
/// Packets of the longest burst: as many as one segmentation offload takes.
const LONGEST_BURST_PACKETS: u32 = 64;

/// When the next packet may leave.
#[derive(Clone, Debug)]
// R-CC-8
pub(crate) struct Pacer {
    next: Instant,
    /// The rate is held at a window a round trip until then at least, and on until no repetition waits (answer I5).
    held_until: Option<Instant>,
}

impl Pacer {
    pub fn new() -> Self {
        Self { next: Instant::ZERO, held_until: None }
    }

    /// Holds the rate until `until` at least.
    pub fn hold(&mut self, until: Instant) {
        self.held_until = Some(until);
    }

    pub fn is_held(&self) -> bool {
        self.held_until.is_some()
    }

    /// No repetition waits: the rate is free, unless it has to be held for longer.
    pub fn on_nothing_to_repeat(&mut self, now: Instant) {
        self.held_until = self.held_until.filter(|until| now < *until);
    }

    /// The moment at which a packet may leave, never before `now`.
    pub fn release_at(&self, now: Instant) -> Instant {
        self.next.max(now)
    }

    /// Accounts for one packet at `rate_pps`.
    pub fn spend(&mut self, now: Instant, rate_pps: f64) {
        let interval = Duration::from_secs_f64((1.0 / rate_pps.max(1e-3)).min(60.0));
        // Unused time is saved up, but only for one burst.
        let burst = ((rate_pps * BURST_S) as u32).clamp(BURST_PACKETS, LONGEST_BURST_PACKETS);
        self.next = self.next.max(now - interval * burst) + interval;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // R-CC-8
    fn one_burst_then_the_rate() {
        let mut pacer = Pacer::new();
        let start = Instant::ZERO + Duration::from_secs(5);
        let mut now = start;
        let mut sent = 0;
        while now < start + Duration::from_secs(1) {
            while pacer.release_at(now) <= now {
                pacer.spend(now, 100.0);
                sent += 1;
            }
            now = pacer.release_at(now);
        }
        assert!((105..=112).contains(&sent), "{sent}");
    }
    #[test]
    // R-CC-8
    fn a_fast_flow_fills_one_segmentation_offload() {
        let now = Instant::ZERO + Duration::from_secs(5);
        for (rate_pps, most) in [(100_000.0, 11), (200_000.0, 21), (1_000_000.0, 65)] {
            let mut pacer = Pacer::new();
            let mut sent = 0;
            while pacer.release_at(now) <= now {
                pacer.spend(now, rate_pps);
                sent += 1;
            }
            assert_eq!(sent, most, "{rate_pps}");
            assert!(f64::from(sent) <= (rate_pps * 0.002).max(10.0) + 1.0);
        }
    }
}
