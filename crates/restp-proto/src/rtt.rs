//! Round-trip time estimate and retransmission timeout (RFC 6298), one per path.

use std::time::Duration;

/// RTT assumed before the first sample (RFC 9002 section 6.2.2).
pub const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Smoothed RTT, its variation, the smallest and the latest sample.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    srtt: Option<Duration>,
    rttvar: Duration,
    min: Duration,
    latest: Duration,
    initial_rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
    backoff: u32,
    /// What is known is a guess, which the first sample replaces.
    assumed: bool,
}

impl RttEstimator {
    /// An estimator without samples: its timeout is `initial_rto`, later bounded by `min_rto` and `max_rto`.
    #[must_use]
    pub fn new(initial_rto: Duration, min_rto: Duration, max_rto: Duration) -> Self {
        Self {
            srtt: None,
            rttvar: Duration::ZERO,
            min: Duration::MAX,
            latest: Duration::ZERO,
            initial_rto,
            min_rto,
            max_rto,
            backoff: 0,
            assumed: false,
        }
    }

    /// Takes a guess for the RTT until there is a sample.
    pub fn assume(&mut self, rtt: Duration) {
        if self.srtt.is_none() {
            (self.srtt, self.rttvar, self.latest) = (Some(rtt), rtt / 2, rtt);
            self.assumed = true;
        }
    }

    /// Takes one sample; callers leave out samples that Karn's rule forbids (answer E7).
    pub fn sample(&mut self, rtt: Duration) {
        self.latest = rtt;
        self.min = self.min.min(rtt);
        if std::mem::take(&mut self.assumed) {
            self.srtt = None;
        }
        match self.srtt {
            None => {
                self.rttvar = rtt / 2;
                self.srtt = Some(rtt);
            }
            Some(srtt) => {
                let error = srtt.abs_diff(rtt);
                self.rttvar = (self.rttvar * 3 + error) / 4;
                self.srtt = Some((srtt * 7 + rtt) / 8);
            }
        }
        self.backoff = 0;
    }

    /// Smoothed RTT, or the initial assumption before the first sample.
    #[must_use]
    pub fn smoothed(&self) -> Duration {
        self.srtt.unwrap_or(INITIAL_RTT)
    }

    /// Smoothed RTT if at least one sample was taken.
    #[must_use]
    pub fn measured(&self) -> Option<Duration> {
        self.srtt
    }

    /// Variation of the RTT if at least one sample was taken.
    #[must_use]
    pub fn variation(&self) -> Option<Duration> {
        self.srtt.map(|_| self.rttvar)
    }

    /// Smallest sample so far, or the smoothed RTT before the first.
    #[must_use]
    pub fn min(&self) -> Duration {
        if self.min == Duration::MAX { self.smoothed() } else { self.min }
    }

    /// No round trip is known to have been shorter than this: nothing is known before a sample or guess.
    #[must_use]
    pub fn least(&self) -> Duration {
        self.srtt.map_or(Duration::ZERO, |_| self.min())
    }

    /// Latest sample, or the smoothed RTT before the first.
    #[must_use]
    pub fn latest(&self) -> Duration {
        if self.srtt.is_some() { self.latest } else { INITIAL_RTT }
    }

    /// Timeout without back-off: `srtt + max(1 ms, 4 * rttvar)` within the bounds.
    #[must_use]
    // R-ARQ-4
    pub fn base_rto(&self) -> Duration {
        match self.srtt {
            None => self.initial_rto,
            Some(srtt) => {
                let least = if self.assumed { self.initial_rto.max(self.min_rto) } else { self.min_rto };
                (srtt + (self.rttvar * 4).max(Duration::from_millis(1))).max(least).min(self.max_rto)
            }
        }
    }

    /// Timeout with the exponential back-off of consecutive expiries.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.base_rto().saturating_mul(1 << self.backoff.min(16)).min(self.max_rto)
    }

    /// After how long without an acknowledgement probes go out, if the peer holds its own back for `ack_delay`
    /// (RFC 9002, section 6.2.1); 333 ms before the first sample.
    #[must_use]
    // R-ARQ-4
    pub fn probe_wait(&self, ack_delay: Duration) -> Duration {
        let wait = self.smoothed() + (self.rttvar * 4).max(Duration::from_millis(1)) + ack_delay;
        wait.min(self.max_rto)
    }

    /// Doubles the timeout after an expiry.
    pub fn back_off(&mut self) {
        self.backoff = self.backoff.saturating_add(1);
    }

    /// Forgets the back-off: new data was acknowledged.
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn estimator() -> RttEstimator {
        RttEstimator::new(1000 * MS, 200 * MS, 60_000 * MS)
    }

    #[test]
    // R-ARQ-4
    fn first_sample_sets_srtt_and_half_as_variation() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), 1000 * MS);
        rtt.sample(100 * MS);
        assert_eq!(rtt.smoothed(), 100 * MS);
        assert_eq!(rtt.rto(), 300 * MS);
    }

    #[test]
    fn steady_samples_shrink_the_timeout_to_its_floor() {
        let mut rtt = estimator();
        for _ in 0..100 {
            rtt.sample(50 * MS);
        }
        assert_eq!(rtt.rto(), 200 * MS);
    }

    // R-ARQ-6
    #[test]
    fn a_guess_serves_until_the_first_sample_and_leaves_no_trace() {
        let mut rtt = estimator();
        rtt.assume(300 * MS);
        assert_eq!((rtt.measured(), rtt.min()), (Some(300 * MS), 300 * MS));
        assert_eq!(rtt.rto(), 1000 * MS, "never sooner than without a guess");
        rtt.sample(20 * MS);
        rtt.assume(300 * MS);
        assert_eq!((rtt.measured(), rtt.variation(), rtt.min()), (Some(20 * MS), Some(10 * MS), 20 * MS));
        assert_eq!(rtt.rto(), 200 * MS);
    }

    #[test]
    fn back_off_doubles_up_to_the_ceiling_and_a_sample_ends_it() {
        let mut rtt = estimator();
        rtt.sample(100 * MS);
        rtt.back_off();
        assert_eq!(rtt.rto(), 600 * MS);
        for _ in 0..40 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), 60_000 * MS);
        rtt.sample(100 * MS);
        assert!(rtt.rto() < 300 * MS);
    }
}
