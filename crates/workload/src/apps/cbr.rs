//! `cbr`: messages at a constant rate for a time, or (without a rate) as fast as the transport takes them.

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
    rate_bps: Option<f64>,
    message_size_bytes: u32,
    duration_s: f64,
}

struct Cbr {
    rate_bps: Option<f64>,
    message_bytes: u32,
    duration_ns: i64,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    let Params { rate_bps, message_size_bytes, duration_s } = parse_params("app_params", "cbr", params)?;
    check_rate("cbr", "rate_bps", rate_bps)?;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    Ok(Box::new(Cbr { rate_bps, message_bytes: message_size_bytes, duration_ns }))
}

impl Cbr {
    fn period(&self) -> Period {
        Period { from_ns: 0, until_ns: self.duration_ns }
    }
}

impl OneWay for Cbr {
    fn name(&self) -> &'static str {
        "cbr"
    }

    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        check_greedy("cbr", "rate_bps", self.rate_bps, stack)?;
        check_message_size("cbr", self.message_bytes, stack)?;
        self.rate_bps.map_or(Ok(()), |rate_bps| {
            check_count("cbr", "duration_s", self.period().messages(rate_bps, self.message_bytes))
        })
    }

    fn traffic(&self, _seed: u64) -> Traffic {
        Traffic::within(vec![self.period()], self.duration_ns, self.message_bytes, self.rate_bps)
    }
}
