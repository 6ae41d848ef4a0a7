//! Results and how they are counted.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::{Deserialize, Serialize};

/// Bytes that arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// Application bytes received.
    pub size_bytes: u64,
    /// Pieces or messages in which they came.
    pub messages: u64,
    /// From the first to the last of them.
    pub duration_s: f64,
    /// Bytes over duration.
    pub throughput_bps: f64,
    /// Every byte was what had been sent, in order, and none was missing.
    pub intact: bool,
    /// CPU time of the receiving process.
    pub receiver_cpu_s: f64,
}

/// Delays of messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Messages that arrived.
    pub received: usize,
    /// Least.
    pub least_s: f64,
    /// Half of them took at most so long.
    pub median_s: f64,
    /// 99 of 100 took at most so long.
    pub p99_s: f64,
    /// Most.
    pub most_s: f64,
}

impl Delays {
    /// Sorts and counts; all zero if there are none.
    pub fn of(mut delays_s: Vec<f64>) -> Self {
        delays_s.sort_by(f64::total_cmp);
        let at = |share: f64| {
            // The nearest rank: the smallest value that at least this share does not exceed.
            let rank = (share * delays_s.len() as f64).ceil() as usize;
            delays_s.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self {
            received: delays_s.len(),
            least_s: at(0.0),
            median_s: at(0.5),
            p99_s: at(0.99),
            most_s: at(1.0),
        }
    }
}

/// User and system time of this process so far.
pub fn cpu_time() -> Duration {
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, |usage| {
        let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(microseconds.unsigned_abs())
    })
}

/// Time since 1970, for delays between hosts.
pub fn wall_clock_ns() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    now.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let delays = Delays::of((1..=200).rev().map(f64::from).collect());
        let figures = (delays.received, delays.least_s, delays.median_s, delays.p99_s, delays.most_s);
        assert_eq!(figures, (200, 1.0, 100.0, 198.0, 200.0));
        assert_eq!(Delays::of(vec![]), Delays::default());
        assert_eq!(Delays::of(vec![3.0]).p99_s, 3.0);
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = cpu_time();
        let mut sum = 0_u64;
        while cpu_time() == before {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(cpu_time() > before);
    }
}
