//! `voip`: one direction of a telephone call with a codec of constant rate: a packet at a fixed interval.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, nanoseconds, parse_params};

use super::checks::SHORTEST_S;
use super::paced::{Amount, Paced};
use crate::application::Application;

/// G.711 at 64 kbit/s in packets of 20 ms (ITU-T G.711; RFC 3551 section 4.2 for the packets).
const G711_PACKET_BYTES: u32 = 160;
const G711_INTERVAL_S: f64 = 0.02;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
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

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { duration_s, message_size_bytes, interval_s } = parse_params("app_params", "voip", params)?;
    let interval_ns = nanoseconds("interval_s", interval_s, SHORTEST_S)?;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    Ok(Box::new(Paced {
        name: "voip",
        message_bytes: message_size_bytes,
        rate_bps: Some(f64::from(message_size_bytes) * 8e9 / interval_ns as f64),
        rate_key: "interval_s",
        amount: Amount::For { duration_ns, on_off: None },
    }))
}
