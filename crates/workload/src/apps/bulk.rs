//! `bulk`: a given number of bytes, at a rate or as fast as the transport takes them. Its KPI is the download time.

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{SpecError, parse_params};

use super::checks::check_rate;
use super::paced::{Amount, Paced};
use crate::application::Application;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    size_bytes: u64,
    #[serde(default = "one_segment")]
    message_size_bytes: u32,
    rate_bps: Option<f64>,
}

/// The payload of a full TCP segment with time stamps on an Ethernet of 1500 bytes (RFC 9293, RFC 7323).
fn one_segment() -> u32 {
    1448
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { size_bytes, message_size_bytes, rate_bps } = parse_params("app_params", "bulk", params)?;
    check_rate("bulk", "rate_bps", rate_bps)?;
    Ok(Box::new(Paced {
        name: "bulk",
        message_bytes: message_size_bytes,
        rate_bps,
        rate_key: "rate_bps",
        amount: Amount::Bytes(size_bytes),
    }))
}
