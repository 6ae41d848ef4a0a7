//! `page`: a browser loads the files of one web page over HTTP. Its KPI is the download time of the page.
//!
//! The receiving half of the flow is the browser, which opens the connections; the sending half is the server. Each file
//! is an exchange with instants as the browser sees them: the first file names others, which may name more, and a file is
//! asked for when the one that names it is there.

mod browser;
mod content;
mod site;

use std::rc::Rc;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{Failure, HttpCarrier, Session, SpecError, Stack, Version, parse_params};

use self::browser::{Browser, Loaded};
use self::content::{Object, Page};
use self::site::Site;
use crate::application::Application;
use crate::exchange::Exchange;
use crate::ledger::{ClientResult, ServerResult};

/// Most connections at a time that a browser keeps to a server with HTTP/1.1: what Chrome and Firefox allow themselves.
const MOST_CONNECTIONS: usize = 6;

/// Most files of a page: far more than any page has.
const MOST_OBJECTS: usize = 100_000;

/// Most origins of a page, each of which is a connection.
const MOST_ORIGINS: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    http: Version,
    objects: Vec<Object>,
    size_bytes: u64,
    #[serde(default = "most_connections")]
    connections: usize,
}

fn most_connections() -> usize {
    MOST_CONNECTIONS
}

struct PageLoad {
    version: Version,
    objects: Vec<Object>,
    connections: usize,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { http: version, objects, size_bytes, connections } =
        parse_params("app_params", "page", params)?;
    let wrong = |what: String| Err(SpecError::new(format!("`app_params` of `page`: {what}")));
    if !(1..=MOST_OBJECTS).contains(&objects.len()) {
        return wrong(format!(
            "`objects` has {} entries; it must have from 1 to {MOST_OBJECTS}",
            objects.len()
        ));
    }
    let sum = objects.iter().try_fold(0_u64, |sum, object| sum.checked_add(object.size_bytes));
    if sum != Some(size_bytes) {
        return wrong(format!("`size_bytes` is {size_bytes}; it must be the sum of the sizes of `objects`"));
    }
    if !(1..=MOST_CONNECTIONS).contains(&connections) {
        return wrong(format!("`connections` is {connections}; it must be from 1 to {MOST_CONNECTIONS}"));
    }
    if let Err(what) = check_graph(version, &objects) {
        return wrong(what);
    }
    Ok(Box::new(PageLoad { version, objects, connections }))
}

/// Whether files can be loaded one after the other as they name each other, from where they are.
///
/// # Errors
/// Which file cannot be, counted from 0, and what would be right.
fn check_graph(version: Version, objects: &[Object]) -> Result<(), String> {
    let takes_any = matches!(version, Version::Two | Version::Three);
    for (number, object) in objects.iter().enumerate() {
        let Object { after, origin, .. } = object;
        if *after >= number.max(1) {
            return Err(format!("`after` of object {number} is {after}; it must name an object before it"));
        }
        if *origin >= MOST_ORIGINS {
            return Err(format!("`origin` of object {number} is {origin}; it must be below {MOST_ORIGINS}"));
        }
        if !(takes_any || object.is_flat()) {
            return Err(format!(
                "object {number} has `after` or `origin`, which `http` \"{}\" does not take; choose \"2\" or \"3\"",
                version.name()
            ));
        }
    }
    Ok(())
}

impl PageLoad {
    /// The same at both ends.
    fn page(&self, session: &Session) -> Page {
        Page::new(self.objects.clone(), session.ctx.seed)
    }
}

impl Application for PageLoad {
    fn message_bytes(&self) -> u32 {
        0
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        let (name, stack_name) = (self.version.name(), stack.name());
        let wrong = |why: &str| {
            SpecError::new(format!("`app_params` of `page`: `http` is \"{name}\", which needs {why}"))
        };
        match (carrier(stack)?.is_quic(), self.version.needs_quic()) {
            (false, true) => Err(wrong(&format!(
                "QUIC, which `{stack_name}` is not; choose the stack `quic-quinn`, or `http` \"1.1-fresh\", \"1.1\" or \
                 \"2\""
            ))),
            (true, false) => Err(wrong(&format!(
                "TCP, SCTP or TLS, and `{stack_name}` is QUIC; choose another stack, or `http` \"3\" or \"3-fresh\""
            ))),
            _ => Ok(()),
        }
    }

    fn opens_many_sessions(&self) -> bool {
        true
    }

    fn receiver_asks(&self) -> bool {
        true
    }

    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        _start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        let site = Rc::new(Site::new(self.page(session), session.ctx.clock));
        let shared: Rc<dyn transports::Site> = Rc::<Site>::clone(&site);
        let served = carrying(stack)?.serve(session, &shared, self.version);
        result.sent = site.sent();
        match session.failure() {
            Some(failure) => Err(failure),
            None if session.last_session_is_over() => Ok(()),
            None => served,
        }
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let browser = Browser::new(self.page(session), session);
        let outcome = carrying(stack)
            .and_then(|carrier| carrier.load(session, &browser, self.version, self.connections));
        session.announce_last_session_over();
        let Loaded { exchanges, received } = browser.over(outcome.as_ref().err());
        (result.exchanges, result.received) = (exchanges, received);
        outcome.and_then(|()| whole(&result.exchanges))
    }
}

/// What carries HTTP over a transport.
///
/// # Errors
/// A sentence: nothing does, and what would; or a parameter is in the way.
fn carrier(stack: &dyn Stack) -> Result<&dyn HttpCarrier, SpecError> {
    stack.http()?.ok_or_else(|| {
        SpecError::new(format!(
            "`page` goes over `tcp`, `sctp`, `tls` or `quic-quinn`, and `{}` is none of them",
            stack.name()
        ))
    })
}

/// The same for a flow that was checked.
fn carrying(stack: &dyn Stack) -> Result<&dyn HttpCarrier, Failure> {
    carrier(stack).map_err(|error| Failure::new(error.to_string()))
}

/// A page without one of its files did not load.
///
/// # Errors
/// How many files are missing, and why the first of them.
fn whole(exchanges: &[Exchange]) -> Result<(), Failure> {
    let missing = exchanges.iter().filter(|exchange| exchange.failed()).count();
    match exchanges.iter().find(|exchange| exchange.failed()) {
        None => Ok(()),
        Some(first) if missing == exchanges.len() => Err(Failure::new(first.outcome.clone())),
        Some(first) => Err(Failure::new(format!(
            "{missing} of {} files did not arrive, the first of them ({}) because: {}",
            exchanges.len(),
            first.object,
            first.outcome
        ))),
    }
}
