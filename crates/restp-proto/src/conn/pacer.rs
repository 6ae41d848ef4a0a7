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
    forced: Option<Forced>,
}

/// A rate that holds for a round trip, and on until no repetition waits (answer I5).
#[derive(Clone, Copy, Debug)]
struct Forced {
    rate_pps: f64,
    /// When that round trip is over.
    until: Instant,
}

impl Pacer {
    pub fn new() -> Self {
        Self { next: Instant::ZERO, forced: None }
    }

    /// Holds `rate_pps` until `until` at least.
    pub fn force(&mut self, rate_pps: f64, until: Instant) {
        self.forced = Some(Forced { rate_pps, until });
    }

    /// The rate that is held, in packets per second.
    pub fn forced_pps(&self) -> Option<f64> {
        self.forced.map(|forced| forced.rate_pps)
    }

    /// No rate has to be held any longer.
    pub fn may_unforce(&self, now: Instant) -> bool {
        self.forced.is_none_or(|forced| now >= forced.until)
    }

    pub fn unforce(&mut self) {
        self.forced = None;
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
