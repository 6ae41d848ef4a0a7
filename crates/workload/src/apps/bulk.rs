//! `bulk`: a given number of bytes, as fast as the transport takes them. Its KPI is the download time.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::one_way::{Amount, Pace, Traffic};
use super::{App, check_count, check_message_size};
use crate::error::{Failure, SpecError};
use crate::ledger::{Received, Sent};
use crate::session::Session;
use crate::spec::parse_params;
use crate::stacks::{Connection, Service, Stack};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bulk {
    size_bytes: u64,
    #[serde(default = "one_segment")]
    message_size_bytes: u32,
}

/// The payload of a full TCP segment with time stamps on an Ethernet of 1500 bytes (RFC 9293, RFC 7323).
fn one_segment() -> u32 {
    1448
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    Ok(Box::new(parse_params::<Bulk>("app_params", "bulk", params)?))
}

impl Bulk {
    fn traffic(&self) -> Traffic {
        Traffic {
            message_bytes: self.message_size_bytes,
            pace: Pace::Greedy,
            amount: Amount::Bytes(self.size_bytes),
        }
    }
}

impl App for Bulk {
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
