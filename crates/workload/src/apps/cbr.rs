//! `cbr`: messages at a constant rate for a time, or (without a rate) as fast as the transport takes them.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::one_way::{Amount, Pace, Traffic};
use super::{App, check_count, check_message_size};
use crate::error::{Failure, SpecError};
use crate::ledger::{Received, Sent};
use crate::session::Session;
use crate::spec::{nanoseconds, parse_params};
use crate::stacks::{Connection, Service, Stack};

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

/// A nanosecond: the shortest duration that can be told from none.
const SHORTEST_S: f64 = 1e-9;
/// Rates that a flow may ask for: from a bit in ten minutes to a terabit per second.
const RATES_BPS: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    let Params { rate_bps, message_size_bytes, duration_s } = parse_params("app_params", "cbr", params)?;
    if let Some(rate) = rate_bps.filter(|rate| !RATES_BPS.contains(rate)) {
        return Err(SpecError::new(format!(
            "`app_params` of `cbr`: `rate_bps` is {rate}; it must be from 0.001 to 1e12, or null for greedy"
        )));
    }
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_S)?;
    Ok(Box::new(Cbr { rate_bps, message_bytes: message_size_bytes, duration_ns }))
}

impl Cbr {
    /// Messages whose instant lies within the duration.
    fn scheduled(&self) -> Option<u64> {
        let rate_bps = self.rate_bps?;
        Some((self.duration_ns as f64 * rate_bps / (f64::from(self.message_bytes) * 8e9)).ceil() as u64)
    }

    fn traffic(&self) -> Traffic {
        let pace = match self.rate_bps.zip(self.scheduled()) {
            Some((rate_bps, scheduled)) => Pace::Constant { rate_bps, scheduled },
            None => Pace::Greedy,
        };
        Traffic {
            message_bytes: self.message_bytes,
            pace,
            amount: Amount::For { duration_ns: self.duration_ns },
        }
    }
}

impl App for Cbr {
    fn name(&self) -> &'static str {
        "cbr"
    }

    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        if self.rate_bps.is_none() && stack.service() == Service::Datagrams {
            return Err(SpecError::new(format!(
                "`cbr` over `{}` needs a `rate_bps`: nothing slows a greedy sender of datagrams down",
                stack.name()
            )));
        }
        check_message_size("cbr", self.message_bytes, stack)?;
        self.scheduled().map_or(Ok(()), |messages| check_count("cbr", "duration_s", messages))
    }

    fn send(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        start_ns: i64,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        self.traffic().send(connection, session, start_ns, sent)
    }

    fn receive(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        service: Service,
        received: &mut Received,
    ) -> Result<(), Failure> {
        self.traffic().receive(connection, session, service, received)
    }
}
