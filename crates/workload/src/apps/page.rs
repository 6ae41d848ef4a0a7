//! `page`: a browser loads the files of one web page over HTTP. Its KPI is the download time of the page.
//!
//! The receiving half of the flow is the browser, which opens the connections; the sending half is the server. Each file
//! is an exchange with instants as the browser sees them: the first file names the others, so it is loaded first.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::App;
use crate::error::{Failure, SpecError};
use crate::exchange::Exchange;
use crate::flow::{ClientResult, ServerResult};
use crate::http::{self, Browser, Loaded, Object, Page, Site, Version};
use crate::session::Session;
use crate::spec::parse_params;
use crate::stacks::Stack;

/// Most connections at a time that a browser keeps to a server with HTTP/1.1: what Chrome and Firefox allow themselves.
const MOST_CONNECTIONS: usize = 6;

/// Most files of a page: far more than any page has.
const MOST_OBJECTS: usize = 100_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
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

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn App>, SpecError> {
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
    Ok(Box::new(PageLoad { version, objects, connections }))
}

impl PageLoad {
    /// The same at both ends.
    fn page(&self, session: &Session) -> Page {
        Page::new(self.objects.clone(), session.ctx.seed)
    }
}

impl App for PageLoad {
    fn name(&self) -> &'static str {
        "page"
    }

    fn message_bytes(&self) -> u32 {
        0
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        http::check(self.version, stack)
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
        let site = Site::new(self.page(session), session.ctx.clock);
        let outcome = http::serve(stack, session, &site, self.version);
        result.sent = site.sent();
        outcome
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let browser = Browser::new(self.page(session), session);
        let outcome = http::load(stack, session, &browser, self.version, self.connections);
        session.announce_last_session_over();
        let Loaded { exchanges, received } = browser.over(outcome.as_ref().err());
        (result.exchanges, result.received) = (exchanges, received);
        outcome.and_then(|()| whole(&result.exchanges))
    }
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
