//! `bulk`: a given number of bytes, at a rate or as fast as the transport takes them. Its KPI is the download time.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::one_way::{OneWay, Traffic};
use super::{App, check_count, check_message_size, check_rate};
use crate::error::SpecError;
use crate::spec::parse_params;
use crate::stacks::{Service, Stack};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bulk {
    size_bytes: u64,
    #[serde(default = "one_segment")]
    message_size_bytes: u32,
    rate_bps: Option<f64>,
}

/// The payload of a full TCP segment with time stamps on an Ethernet of 1500 bytes (RFC 9293, RFC 7323).
fn one_segment() -> u32 {
    1448
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    let bulk: Bulk = parse_params("app_params", "bulk", params)?;
    check_rate("bulk", "rate_bps", bulk.rate_bps)?;
    Ok(Box::new(bulk))
}

impl OneWay for Bulk {
    fn name(&self) -> &'static str {
        "bulk"
    }

    fn message_bytes(&self) -> u32 {
        self.message_size_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        if stack.service() == Service::Datagrams {
            return Err(SpecError::new(format!(
                "`bulk` needs a transport that delivers everything, which `{}` does not; use `cbr` with a `rate_bps`",
                stack.name()
            )));
        }
        check_message_size("bulk", self.message_size_bytes, stack)?;
        check_count("bulk", "size_bytes", self.size_bytes.div_ceil(u64::from(self.message_size_bytes)))
    }

    fn traffic(&self, _seed: u64) -> Traffic {
        Traffic::of_bytes(self.size_bytes, self.message_size_bytes, self.rate_bps)
    }
}
