//! `voip`: one direction of a telephone call with a codec of constant rate: a packet at a fixed interval.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::one_way::{OneWay, Traffic};
use super::timetable::Period;
use super::{App, SHORTEST_S, check_count, check_message_size};
use crate::error::SpecError;
use crate::spec::{nanoseconds, parse_params};
use crate::stacks::Stack;

/// G.711 at 64 kbit/s in packets of 20 ms (ITU-T G.711; RFC 3551 section 4.2 for the packets).
const G711_PACKET_BYTES: u32 = 160;
const G711_INTERVAL_S: f64 = 0.02;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    duration_s: f64,
    #[serde(default = "packet_bytes")]
    message_size_bytes: u32,
    #[serde(default = "interval_s")]
    interval_s: f64,
}

fn packet_bytes() -> u32 {
    G711_PACKET_BYTES
}

fn interval_s() -> f64 {
    G711_INTERVAL_S
}

struct Voip {
    message_bytes: u32,
    interval_ns: i64,
    duration_ns: i64,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    let Params { duration_s, message_size_bytes, interval_s } = parse_params("app_params", "voip", params)?;
    Ok(Box::new(Voip {
        message_bytes: message_size_bytes,
        interval_ns: nanoseconds("interval_s", interval_s, SHORTEST_S)?,
        duration_ns: nanoseconds("duration_s", duration_s, SHORTEST_S)?,
    }))
}

impl Voip {
    fn rate_bps(&self) -> f64 {
        f64::from(self.message_bytes) * 8e9 / self.interval_ns as f64
    }

    fn period(&self) -> Period {
        Period { from_ns: 0, until_ns: self.duration_ns }
    }
}

impl OneWay for Voip {
    fn name(&self) -> &'static str {
        "voip"
    }

    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        check_message_size("voip", self.message_bytes, stack)?;
        check_count("voip", "duration_s", self.period().messages(self.rate_bps(), self.message_bytes))
    }

    fn traffic(&self, _seed: u64) -> Traffic {
        Traffic::within(vec![self.period()], self.duration_ns, self.message_bytes, Some(self.rate_bps()))
    }
}
