//! `cbr`: messages at a constant rate for a time, or (without a rate) as fast as the transport takes them.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, nanoseconds, parse_params};

use super::checks::{SHORTEST_S, check_rate};
use super::paced::{Amount, Paced};
use crate::application::Application;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    rate_bps: Option<f64>,
    message_size_bytes: u32,
    duration_s: f64,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { rate_bps, message_size_bytes, duration_s } = parse_params("app_params", "cbr", params)?;
    check_rate("cbr", "rate_bps", rate_bps)?;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    Ok(Box::new(Paced {
        name: "cbr",
        message_bytes: message_size_bytes,
        rate_bps,
        rate_key: "rate_bps",
        amount: Amount::For { duration_ns, on_off: None },
    }))
}
