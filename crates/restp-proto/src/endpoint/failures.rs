//! How often key agreements with strangers may fail: anybody can ask for one by a packet that costs him nothing.

use std::hash::BuildHasher;
use std::net::IpAddr;

use super::Share;
use super::budget::Bucket;
use super::half_open::network;
use super::table::SecretState;
use crate::time::Instant;

/// Budgets among which the addresses that a cookie has proven are spread, so that their number takes no memory. Nobody
/// without the secret can choose whose budget is spent with his own.
const PLACES: usize = 1024;
/// Part of the rate that a proven address has for itself.
const SHARE: u32 = 10;

/// Failures of late.
// R-PROT-9
pub(super) struct Failures {
    state: SecretState,
    rate_per_s: u32,
    /// Of all who showed no cookie.
    unproven: Bucket,
    /// Of those who did; empty before the first.
    proven: Vec<Bucket>,
}

impl Failures {
    pub fn new(state: SecretState, rate_per_s: u32) -> Self {
        Self { state, rate_per_s, unproven: Bucket::new(rate_per_s), proven: Vec::new() }
    }

    fn place(&self, address: IpAddr) -> usize {
        (self.state.hash_one(network(address)) % PLACES as u64) as usize
    }

    /// No other key agreement with somebody like `share` may fail now.
    pub fn are_enough(&self, now: Instant, share: Share) -> bool {
        if share.proven {
            self.proven.get(self.place(share.address)).is_some_and(|bucket| bucket.is_spent(now))
        } else {
            self.unproven.is_spent(now)
        }
    }

    /// One has failed.
    pub fn note(&mut self, now: Instant, share: Share) {
        if !share.proven {
            self.unproven.take(now);
            return;
        }
        if self.proven.is_empty() {
            self.proven = vec![Bucket::new((self.rate_per_s / SHARE).max(1)); PLACES];
        }
        let place = self.place(share.address);
        self.proven[place].take(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Secret;
    use std::time::Duration;

    fn failures(rate_per_s: u32) -> Failures {
        Failures::new(SecretState::new(&Secret::new([1; 16])), rate_per_s)
    }

    fn share(address: &str, proven: bool) -> Share {
        Share { address: address.parse().unwrap(), proven }
    }

    /// How many of so many tries in a second, one each millisecond, may fail.
    fn failed(failures: &mut Failures, second: u64, share: Share) -> usize {
        let tries = (second * 1000..(second + 1) * 1000).filter(|ms| {
            let now = Instant::ZERO + Duration::from_millis(*ms);
            let may = !failures.are_enough(now, share);
            if may {
                failures.note(now, share);
            }
            may
        });
        tries.count()
    }

    // R-PROT-9
    #[test]
    fn strangers_without_a_cookie_share_one_budget_and_a_proven_network_has_its_own() {
        let mut failures = failures(100);
        assert_eq!(
            failed(&mut failures, 0, share("192.0.2.1", false)),
            109,
            "a tenth at once, then the rate"
        );
        assert!(failures.are_enough(Instant::ZERO, share("2001:db8::1", false)));
        for address in ["192.0.2.1", "2001:db8::1"] {
            assert_eq!(failed(&mut failures, 0, share(address, true)), 10, "{address}");
        }
        let end = Instant::ZERO + Duration::from_millis(999);
        assert!(failures.are_enough(end, share("2001:db8::2", true)), "the same network");
        assert!(!failures.are_enough(end, share("2001:db8:0:1::2", true)), "another one");
    }

    // R-PROT-9
    #[test]
    fn a_rate_of_zero_leaves_the_proven_one_failure_a_second() {
        let mut failures = failures(0);
        assert_eq!(failed(&mut failures, 0, share("192.0.2.1", false)), 0);
        assert_eq!(
            (0..3).map(|second| failed(&mut failures, second, share("192.0.2.1", true))).sum::<usize>(),
            3
        );
    }
}
