//! `vbr`: an on-off source, as in the models of voice and of messaging: on and off periods of exponential length take
//! turns; messages are ready at a peak rate while it is on, or (without a rate) as fast as the transport takes them.
//!
//! A greedy period ends at its end; a paced message that the transport takes late is handed over late, as with `cbr`,
//! also while the source is off.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, nanoseconds, parse_params};

use super::checks::{SHORTEST_S, check_rate};
use super::on_off::OnOff;
use super::paced::{Amount, Paced};
use crate::application::Application;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    peak_rate_bps: Option<f64>,
    message_size_bytes: u32,
    mean_on_s: f64,
    mean_off_s: f64,
    duration_s: f64,
}

/// The shortest mean of a period: below a millisecond sources are no longer told from their mean rate by a kernel
/// whose timers tick each few milliseconds.
const SHORTEST_MEAN_S: f64 = 1e-3;
/// Periods on and off that a flow may be expected to have; each takes memory.
const MOST_PERIODS: i64 = 1_000_000;

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { peak_rate_bps, message_size_bytes, mean_on_s, mean_off_s, duration_s } =
        parse_params("app_params", "vbr", params)?;
    check_rate("vbr", "peak_rate_bps", peak_rate_bps)?;
    let source = OnOff {
        mean_on_ns: nanoseconds("mean_on_s", mean_on_s, SHORTEST_MEAN_S)?,
        mean_off_ns: nanoseconds("mean_off_s", mean_off_s, SHORTEST_MEAN_S)?,
    };
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    let expected = source.expected_periods(duration_ns);
    if expected > MOST_PERIODS {
        return Err(SpecError::new(format!(
            "`app_params` of `vbr`: `duration_s` is {duration_s}, about {expected} periods; {MOST_PERIODS} is the most"
        )));
    }
    Ok(Box::new(Paced {
        name: "vbr",
        message_bytes: message_size_bytes,
        rate_bps: peak_rate_bps,
        rate_key: "peak_rate_bps",
        amount: Amount::For { duration_ns, on_off: Some(source) },
    }))
}
