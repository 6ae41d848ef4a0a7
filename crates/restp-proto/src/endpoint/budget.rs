//! How many answers an endpoint gives to peers without state: each kind has its own budget, so that none starves another.

use crate::config::EndpointConfig;
use crate::time::Instant;

/// What kind of answer it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// SYN-ACK: somebody may become a peer.
    SynAck,
    /// A cookie.
    Cookie,
    /// A reset for what belongs to nothing.
    Reset,
    /// The last acknowledgement of a closed connection.
    Farewell,
}

/// Part of a second's answers that may be given at once.
const BURST: u32 = 10;

/// A budget that refills with every moment (the virtual scheduling algorithm of ITU-T I.371, annex A).
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    interval_ns: u64,
    burst: u64,
    /// When it is full again.
    full_at: Instant,
}

impl Bucket {
    pub fn new(rate_per_s: u32) -> Self {
        let interval_ns = 1_000_000_000_u64.checked_div(rate_per_s.into()).unwrap_or(u64::MAX);
        Self { interval_ns, burst: u64::from(rate_per_s.div_ceil(BURST)), full_at: Instant::ZERO }
    }

    /// Nothing can be taken now.
    pub fn is_spent(&self, now: Instant) -> bool {
        let owed_ns = self.full_at.saturating_since(now).as_nanos() as u64;
        owed_ns.saturating_add(self.interval_ns) > self.interval_ns.saturating_mul(self.burst)
    }

    /// Takes one if there is one.
    pub fn take(&mut self, now: Instant) -> bool {
        if self.is_spent(now) {
            return false;
        }
        self.full_at = self.full_at.max(now) + std::time::Duration::from_nanos(self.interval_ns);
        true
    }
}

/// All budgets of an endpoint.
// R-SEC-5
#[derive(Clone, Copy, Debug)]
pub(super) struct Budgets {
    syn_acks: Bucket,
    cookies: Bucket,
    resets: Bucket,
    farewells: Bucket,
}

impl Budgets {
    pub fn new(config: &EndpointConfig) -> Self {
        Self {
            syn_acks: Bucket::new(config.max_syn_acks_per_s),
            cookies: Bucket::new(config.max_cookies_per_s),
            resets: Bucket::new(config.max_resets_per_s),
            farewells: Bucket::new(config.max_resets_per_s),
        }
    }

    /// True if an answer may be given now; it is then counted.
    pub fn take(&mut self, now: Instant, answer: Answer) -> bool {
        let bucket = match answer {
            Answer::SynAck => &mut self.syn_acks,
            Answer::Cookie => &mut self.cookies,
            Answer::Reset => &mut self.resets,
            Answer::Farewell => &mut self.farewells,
        };
        bucket.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    // R-SEC-5
    #[test]
    fn a_budget_refills_smoothly_and_none_starves_another() {
        let config = EndpointConfig { max_resets_per_s: 100, ..EndpointConfig::default() };
        let mut budgets = Budgets::new(&config);
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut given = |now| (0..1000).filter(|_| budgets.take(now, Answer::Reset)).count();
        assert_eq!(given(at(0)), 10, "a tenth of a second's worth at once");
        assert_eq!(given(at(10)), 1, "then one every 10 ms");
        assert_eq!((given(at(15)), given(at(20))), (0, 1));
        let steady: usize = (20..1020).map(|ms| given(at(ms))).sum();
        assert_eq!(steady, 99, "and never more than the rate, wherever a second begins");
        assert!(budgets.take(at(1020), Answer::SynAck) && budgets.take(at(1020), Answer::Cookie));
        let none = EndpointConfig { max_resets_per_s: 0, ..config };
        assert!(!Budgets::new(&none).take(at(0), Answer::Reset));
    }

    // R-SEC-5
    #[test]
    fn each_kind_of_answer_has_a_budget_of_its_own() {
        let kinds = [Answer::SynAck, Answer::Cookie, Answer::Reset, Answer::Farewell];
        for spent in kinds {
            let mut budgets = Budgets::new(&EndpointConfig::default());
            while budgets.take(Instant::ZERO, spent) {}
            for other in kinds.into_iter().filter(|other| *other != spent) {
                assert!(budgets.take(Instant::ZERO, other), "{spent:?} takes from {other:?}");
            }
        }
    }
}
