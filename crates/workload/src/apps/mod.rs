//! Applications, one file each. A new one is a file in this folder and a line in [`REGISTRY`].

mod bulk;
mod cbr;
mod in_order;
mod one_way;
mod page;
mod periodic;
mod timetable;
mod vbr;
mod voip;
mod web;
mod web_pages;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Failure, SpecError};
use crate::flow::{ClientResult, ServerResult, receive_over_one_session, send_over_one_session};
use crate::ledger::{Received, Sent};
use crate::payload::HEADER_BYTES;
use crate::session::Session;
use crate::stacks::{Connection, Service, Stack};

type Build = fn(&Map<String, Value>) -> Result<Box<dyn App>, SpecError>;

/// Every application by the name that a plan gives it.
const REGISTRY: &[(&str, Build)] = &[
    ("bulk", bulk::build),
    ("cbr", cbr::build),
    ("vbr", vbr::build),
    ("periodic", periodic::build),
    ("voip", voip::build),
    ("web", web::build),
    ("page", page::build),
];

/// The names of all applications.
pub fn names() -> impl Iterator<Item = &'static str> {
    REGISTRY.iter().map(|(name, _)| *name)
}

/// The application of this name with these parameters.
pub(crate) fn build(name: &str, params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
    match REGISTRY.iter().find(|(known, _)| *known == name) {
        Some((_, build)) => build(params),
        None => {
            let known: Vec<_> = names().collect();
            Err(SpecError::new(format!(
                "unknown application `{name}`; the applications are {}",
                known.join(", ")
            )))
        }
    }
}

/// An application with its parameters: what the two ends do once their session is open.
pub trait App: Send + Sync {
    /// Its name in a plan.
    fn name(&self) -> &'static str;

    /// The size of its messages.
    fn message_bytes(&self) -> u32;

    /// Whether it makes sense over this transport.
    ///
    /// # Errors
    /// A sentence that names the application, the transport and what would be right.
    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError>;

    /// Whether it opens a session for each of its messages or objects, from a port of the kernel's choosing.
    fn opens_many_sessions(&self) -> bool {
        false
    }

    /// Whether the receiving end opens the sessions and asks for what the sending end has, which listens meanwhile.
    fn receiver_asks(&self) -> bool {
        false
    }

    /// The sending end, from `start_ns` on; writes what it handed over into `sent`, also when it fails.
    ///
    /// # Errors
    /// A sentence: the session broke or was called off; or the application opens its sessions itself.
    fn send(
        &self,
        _connection: &mut dyn Connection,
        _session: &Arc<Session>,
        _start_ns: i64,
        _sent: &mut Sent,
    ) -> Result<(), Failure> {
        Err(opens_sessions_itself(self.name()))
    }

    /// The receiving end, until the sender ends; writes what arrived into `received`, also when it fails.
    ///
    /// # Errors
    /// A sentence: the session broke, was called off, or brought what was never sent; or as for [`App::send`].
    fn receive(
        &self,
        _connection: &mut dyn Connection,
        _session: &Arc<Session>,
        _service: Service,
        _received: &mut Received,
    ) -> Result<(), Failure> {
        Err(opens_sessions_itself(self.name()))
    }

    /// The whole of the sending half. Unless an application opens its sessions itself, one is opened, over which
    /// [`App::send`] sends.
    ///
    /// # Errors
    /// A sentence: no session came about, or as for [`App::send`].
    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        send_over_one_session(stack, session, self.message_bytes(), result, &mut |connection, sent| {
            self.send(connection, session, start_ns, sent)
        })
    }

    /// The whole of the receiving half, the counterpart of [`App::run_client`].
    ///
    /// # Errors
    /// A sentence: nobody came, or as for [`App::receive`].
    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        receive_over_one_session(stack, session, self.message_bytes(), result, &mut |connection, received| {
            self.receive(connection, session, stack.service(), received)
        })
    }
}

fn opens_sessions_itself(app: &str) -> Failure {
    Failure::new(format!("`{app}` opens its sessions itself"))
}

/// Longest message on a byte stream: beyond it, one message would be more than one hand-over.
const LONGEST_STREAM_MESSAGE: u32 = 1 << 20;
/// Longest datagram: the 16-bit length of UDP less its header and that of IPv4 (RFC 768, RFC 791).
const LONGEST_DATAGRAM: u32 = 65_507;

/// A nanosecond: the shortest duration that can be told from none.
const SHORTEST_S: f64 = 1e-9;
/// Rates that a flow may ask for: from a bit in a quarter of an hour to a terabit per second.
const RATES_BPS: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Checks a rate that a plan gives under `key`.
fn check_rate(app: &str, key: &str, rate_bps: Option<f64>) -> Result<(), SpecError> {
    match rate_bps.filter(|rate| !RATES_BPS.contains(rate)) {
        None => Ok(()),
        Some(rate) => Err(SpecError::new(format!(
            "`app_params` of `{app}`: `{key}` is {rate}; it must be from 0.001 to 1e12, or null for greedy"
        ))),
    }
}

/// Checks that who sends as much as is taken does so over a transport that holds the sender back.
fn check_greedy(app: &str, key: &str, rate_bps: Option<f64>, stack: &dyn Stack) -> Result<(), SpecError> {
    if rate_bps.is_some() || stack.service() != Service::Datagrams {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`{app}` over `{}` needs a `{key}`: nothing slows a greedy sender of datagrams down",
        stack.name()
    )))
}

/// Checks that messages can be numbered with 32 bits; `key` is what makes them so many.
fn check_count(app: &str, key: &str, messages: u64) -> Result<(), SpecError> {
    if (1..=u64::from(u32::MAX)).contains(&messages) {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`app_params` of `{app}`: `{key}` makes {messages} messages; there must be from 1 to {}",
        u32::MAX
    )))
}

/// Checks a message size against what the transport carries.
fn check_message_size(app: &str, bytes: u32, stack: &dyn Stack) -> Result<(), SpecError> {
    let longest = match stack.service() {
        Service::Stream => LONGEST_STREAM_MESSAGE,
        Service::Messages { .. } | Service::Datagrams => LONGEST_DATAGRAM,
    };
    if (HEADER_BYTES..=longest).contains(&bytes) {
        return Ok(());
    }
    Err(SpecError::new(format!(
        "`app_params` of `{app}`: `message_size_bytes` is {bytes}; over `{}` it must be from {HEADER_BYTES} to {longest}",
        stack.name()
    )))
}
