//! When connections are opened: at instants that were fixed beforehand, whatever became of earlier ones.

use std::time::Duration;

use crate::Refusal;

/// The most connections of a run.
const MOST_VISITS: u64 = 1_000_000;

/// The most connections a second. An honest client is no attacker.
const MOST_RATE: f64 = 2000.0;

/// So many connections, so far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    visits: u64,
    apart: Duration,
}

impl Schedule {
    /// `visits` connections, one each `apart`.
    ///
    /// # Errors
    /// A sentence: they are too many, or too close.
    pub fn every(apart: Duration, visits: u64) -> Result<Self, Refusal> {
        let rate = 1.0 / apart.as_secs_f64();
        if visits > 1 && rate > MOST_RATE {
            return Err(Refusal::new(format!(
                "more than {MOST_RATE} connections a second are not for an honest client"
            )));
        }
        if visits > MOST_VISITS {
            return Err(Refusal::new(format!("more than {MOST_VISITS} connections are not made in a run")));
        }
        Ok(Self { visits, apart })
    }

    /// `rate` connections a second, for so many seconds.
    ///
    /// # Errors
    /// As for [`Schedule::every`]; a rate or a time that is not above zero.
    pub fn rate(rate: f64, seconds: f64) -> Result<Self, Refusal> {
        let sound = |value: f64| value > 0.0 && value.is_finite();
        if !sound(rate) || !sound(seconds) || rate < 1e-3 {
            return Err(Refusal::new("a rate and its seconds have to be above zero"));
        }
        Self::every(Duration::from_secs_f64(1.0 / rate), (rate * seconds).round() as u64)
    }

    /// When each connection is to be opened, from the beginning of the run.
    pub(super) fn instants(self) -> impl Iterator<Item = Duration> {
        let apart_ns = self.apart.as_nanos();
        (0..self.visits).map(move |visit| {
            Duration::from_nanos(u64::try_from(apart_ns * u128::from(visit)).unwrap_or(u64::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instants(schedule: Result<Schedule, Refusal>) -> Vec<u128> {
        schedule.expect("a sound schedule").instants().map(|instant| instant.as_millis()).collect()
    }

    #[test]
    fn connections_are_as_far_apart_as_was_asked() {
        assert_eq!(instants(Schedule::every(Duration::from_secs(1), 3)), [0, 1000, 2000]);
        assert_eq!(instants(Schedule::rate(4.0, 1.0)), [0, 250, 500, 750]);
        assert_eq!(instants(Schedule::every(Duration::ZERO, 1)), [0]);
    }

    #[test]
    fn what_is_too_much_is_refused() {
        for (schedule, word) in [
            (Schedule::rate(3000.0, 1.0), "honest"),
            (Schedule::every(Duration::ZERO, 2), "honest"),
            (Schedule::every(Duration::from_secs(1), 2_000_000), "in a run"),
            (Schedule::rate(0.0, 1.0), "above zero"),
            (Schedule::rate(1.0, f64::NAN), "above zero"),
        ] {
            let refusal = schedule.expect_err(word);
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
    }
}
