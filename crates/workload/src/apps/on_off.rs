//! On and off periods of exponential length that take turns, beginning with on.
//!
//! They follow from the flow's seed alone, so every transport is offered the same.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::timetable::Period;

/// Mean lengths of the periods.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnOff {
    pub(super) mean_on_ns: i64,
    pub(super) mean_off_ns: i64,
}

impl OnOff {
    /// On periods that a duration has on average, and the one in which it may end.
    pub(super) fn expected_periods(self, duration_ns: i64) -> i64 {
        duration_ns / (self.mean_on_ns + self.mean_off_ns) + 1
    }

    /// The on periods, beginning with one at 0; the last is cut at the end of the duration.
    pub(super) fn periods(self, duration_ns: i64, seed: u64) -> Vec<Period> {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The same seed makes the messages' bytes: periods are drawn from another part of the sequence.
        generator.jump();
        let mut draw_ns = |mean_ns: i64| -> i64 {
            // 53 random bits, the precision of f64, as a number in (0, 1].
            let uniform = ((generator.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            ((-uniform.ln() * mean_ns as f64).round() as i64).max(1)
        };
        let mut periods = Vec::new();
        let mut from_ns = 0;
        while from_ns < duration_ns {
            let until_ns = (from_ns + draw_ns(self.mean_on_ns)).min(duration_ns);
            periods.push(Period { from_ns, until_ns });
            from_ns = until_ns + draw_ns(self.mean_off_ns);
        }
        periods
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The periods of the source of D3.4 section 5.2, for so many seconds.
    fn periods(duration_s: i64, seed: u64) -> Vec<Period> {
        let source = OnOff { mean_on_ns: 1_200_000_000, mean_off_ns: 1_800_000_000 };
        source.periods(duration_s * 1_000_000_000, seed)
    }

    /// Mean and standard deviation.
    fn moments(lengths_ns: &[i64]) -> (f64, f64) {
        let count = lengths_ns.len() as f64;
        let mean = lengths_ns.iter().map(|length| *length as f64).sum::<f64>() / count;
        let variance = lengths_ns.iter().map(|length| (*length as f64 - mean).powi(2)).sum::<f64>() / count;
        (mean, variance.sqrt())
    }

    #[test]
    fn periods_are_exponential_with_their_means() {
        let periods = periods(150_000, 1);
        let on: Vec<i64> = periods.iter().map(|period| period.until_ns - period.from_ns).collect();
        let off: Vec<i64> = periods.windows(2).map(|pair| pair[1].from_ns - pair[0].until_ns).collect();
        assert!((45_000..55_000).contains(&on.len()), "{} periods", on.len());
        for (lengths_ns, mean_ns) in [(on, 1.2e9), (off, 1.8e9)] {
            // The standard error of both estimates is below 1 % with 50,000 draws; 3 % is beyond any chance.
            let (mean, deviation) = moments(&lengths_ns);
            assert!((mean / mean_ns - 1.0).abs() < 0.03, "mean {mean}");
            assert!(
                (deviation / mean_ns - 1.0).abs() < 0.03,
                "an exponential's deviation is its mean: {deviation}"
            );
            let longer = lengths_ns.iter().filter(|length| **length as f64 > 2.0 * mean_ns).count() as f64;
            let share = longer / lengths_ns.len() as f64;
            assert!((share - (-2.0_f64).exp()).abs() < 0.01, "{share} are longer than twice the mean");
        }
    }

    #[test]
    fn the_seed_alone_makes_the_periods() {
        assert_eq!(periods(120, 5), periods(120, 5));
        assert_ne!(periods(120, 5), periods(120, 6));
        let (short, long) = (periods(60, 5), periods(120, 5));
        assert_eq!(short[..short.len() - 1], long[..short.len() - 1]);
    }

    #[test]
    fn it_begins_on_and_ends_with_the_duration() {
        for seed in 0..200 {
            let periods = periods(120, seed);
            assert_eq!(periods[0].from_ns, 0);
            assert!(periods.iter().all(|period| period.from_ns < period.until_ns));
            assert!(periods.windows(2).all(|pair| pair[0].until_ns < pair[1].from_ns));
            assert!(periods.last().is_some_and(|last| last.until_ns <= 120_000_000_000));
        }
    }
}
