//! `vbr`: an on-off source, as in the models of voice and of messaging: on and off periods of exponential length take
//! turns; messages are ready at a peak rate while it is on, or (without a rate) as fast as the transport takes them.
//!
//! The periods follow from the flow's seed alone, so every transport is offered the same. A greedy period ends at its
//! end; a paced message that the transport takes late is handed over late, as with `cbr`, also while the source is off.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::one_way::{OneWay, Traffic};
use super::timetable::Period;
use super::{App, SHORTEST_S, check_count, check_greedy, check_message_size, check_rate};
use crate::error::SpecError;
use crate::spec::{nanoseconds, parse_params};
use crate::stacks::Stack;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    peak_rate_bps: Option<f64>,
    message_size_bytes: u32,
    mean_on_s: f64,
    mean_off_s: f64,
    duration_s: f64,
}

struct Vbr {
    peak_rate_bps: Option<f64>,
    message_bytes: u32,
    mean_on_ns: i64,
    mean_off_ns: i64,
    duration_ns: i64,
}

/// The shortest mean of a period: below a millisecond sources are no longer told from their mean rate by a kernel
/// whose timers tick each few milliseconds.
const SHORTEST_MEAN_S: f64 = 1e-3;
/// Periods on and off that a flow may be expected to have; each takes memory.
const MOST_PERIODS: i64 = 1_000_000;

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    let Params { peak_rate_bps, message_size_bytes, mean_on_s, mean_off_s, duration_s } =
        parse_params("app_params", "vbr", params)?;
    check_rate("vbr", "peak_rate_bps", peak_rate_bps)?;
    let vbr = Vbr {
        peak_rate_bps,
        message_bytes: message_size_bytes,
        mean_on_ns: nanoseconds("mean_on_s", mean_on_s, SHORTEST_MEAN_S)?,
        mean_off_ns: nanoseconds("mean_off_s", mean_off_s, SHORTEST_MEAN_S)?,
        duration_ns: nanoseconds("duration_s", duration_s, SHORTEST_S)?,
    };
    if vbr.expected_periods() > MOST_PERIODS {
        return Err(SpecError::new(format!(
            "`app_params` of `vbr`: `duration_s` is {duration_s}, about {} periods; {MOST_PERIODS} is the most",
            vbr.expected_periods()
        )));
    }
    Ok(Box::new(vbr))
}

impl Vbr {
    /// On periods that the duration has on average, and the one in which it may end.
    fn expected_periods(&self) -> i64 {
        self.duration_ns / (self.mean_on_ns + self.mean_off_ns) + 1
    }

    /// The on periods, beginning with one at 0; the last is cut at the end of the duration.
    fn periods(&self, seed: u64) -> Vec<Period> {
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
        while from_ns < self.duration_ns {
            let until_ns = (from_ns + draw_ns(self.mean_on_ns)).min(self.duration_ns);
            periods.push(Period { from_ns, until_ns });
            from_ns = until_ns + draw_ns(self.mean_off_ns);
        }
        periods
    }
}

impl OneWay for Vbr {
    fn name(&self) -> &'static str {
        "vbr"
    }

    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        check_greedy("vbr", "peak_rate_bps", self.peak_rate_bps, stack)?;
        check_message_size("vbr", self.message_bytes, stack)?;
        self.peak_rate_bps.map_or(Ok(()), |rate_bps| {
            // As if it never were off, which is the most that chance can make of it.
            let whole = Period { from_ns: 0, until_ns: self.duration_ns };
            check_count("vbr", "duration_s", whole.messages(rate_bps, self.message_bytes))
        })
    }

    fn traffic(&self, seed: u64) -> Traffic {
        Traffic::within(self.periods(seed), self.duration_ns, self.message_bytes, self.peak_rate_bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The source of D3.4 section 5.2, for so many seconds.
    fn source(duration_s: i64) -> Vbr {
        Vbr {
            peak_rate_bps: Some(80_000.0),
            message_bytes: 200,
            mean_on_ns: 1_200_000_000,
            mean_off_ns: 1_800_000_000,
            duration_ns: duration_s * 1_000_000_000,
        }
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
        let periods = source(150_000).periods(1);
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
        assert_eq!(source(120).periods(5), source(120).periods(5));
        assert_ne!(source(120).periods(5), source(120).periods(6));
        let (short, long) = (source(60).periods(5), source(120).periods(5));
        assert_eq!(short[..short.len() - 1], long[..short.len() - 1]);
    }

    #[test]
    fn it_begins_on_and_ends_with_the_duration() {
        for seed in 0..200 {
            let periods = source(120).periods(seed);
            assert_eq!(periods[0].from_ns, 0);
            assert!(periods.iter().all(|period| period.from_ns < period.until_ns));
            assert!(periods.windows(2).all(|pair| pair[0].until_ns < pair[1].from_ns));
            assert!(periods.last().is_some_and(|last| last.until_ns <= 120_000_000_000));
        }
    }
}
