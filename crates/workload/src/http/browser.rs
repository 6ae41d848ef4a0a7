//! What a browser knows of the objects that it asks for.

use std::cell::RefCell;
use std::sync::Arc;

use super::page::Page;
use crate::error::Failure;
use crate::exchange::{Exchange, OK};
use crate::ledger::Received;
use crate::session::Session;

/// A browser with its page.
pub(crate) struct Browser {
    pub(super) page: Page,
    session: Arc<Session>,
    notes: RefCell<Loaded>,
    /// Bytes of each object so far.
    arrived_bytes: RefCell<Vec<u64>>,
}

/// What became of a page.
pub(crate) struct Loaded {
    /// The objects that were asked for, in order.
    pub(crate) exchanges: Vec<Exchange>,
    /// Totals.
    pub(crate) received: Received,
}

/// The instants of a connection that was opened for an object.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Opened {
    pub(super) connected_ns: Option<i64>,
    pub(super) secured_ns: Option<i64>,
}

impl Browser {
    /// A browser that is to load `page`.
    pub(crate) fn new(page: Page, session: &Arc<Session>) -> Self {
        let arrived_bytes = RefCell::new(vec![0; page.len()]);
        let notes = RefCell::new(Loaded { exchanges: Vec::new(), received: Received::new(false) });
        Self { page, session: Arc::clone(session), notes, arrived_bytes }
    }

    /// What became of the page. Objects that are under way failed for the reason that `ended` the flow.
    pub(crate) fn over(self, ended: Option<&Failure>) -> Loaded {
        let mut loaded = self.notes.into_inner();
        for exchange in &mut loaded.exchanges {
            if exchange.outcome.is_empty() {
                exchange.outcome =
                    ended.map_or_else(|| "the page was over".to_owned(), |failure| failure.to_string());
            }
        }
        loaded
    }

    /// Notes that the next object is asked for: objects are asked for in their order.
    pub(super) fn ask(&self, now_ns: i64) -> Asked<'_> {
        let exchanges = &mut self.notes.borrow_mut().exchanges;
        let index = exchanges.len();
        let object = self.page.object(index);
        exchanges.push(Exchange {
            object: object.name.clone(),
            size_bytes: object.size_bytes,
            requested_ns: now_ns,
            connected_ns: None,
            secured_ns: None,
            first_byte_ns: None,
            completed_ns: None,
            outcome: String::new(),
        });
        Asked { browser: self, index }
    }

    /// How many objects were not asked for yet.
    pub(super) fn left(&self) -> usize {
        self.page.len() - self.notes.borrow().exchanges.len()
    }

    /// Whether the first object, which names the others, is there.
    pub(super) fn knows_the_others(&self) -> bool {
        self.notes.borrow().exchanges.first().is_some_and(|first| first.outcome == OK)
    }
}

/// An object that was asked for.
pub(super) struct Asked<'a> {
    browser: &'a Browser,
    pub(super) index: usize,
}

impl Asked<'_> {
    fn note(&self, note: impl FnOnce(&mut Exchange)) {
        note(&mut self.browser.notes.borrow_mut().exchanges[self.index]);
    }

    /// The path to ask for.
    pub(super) fn path(&self) -> String {
        self.browser.page.path(self.index)
    }

    /// Notes the connection that was opened for it.
    pub(super) fn opened(&self, opened: Opened) {
        self.note(|row| {
            (row.connected_ns, row.secured_ns) = (opened.connected_ns, opened.secured_ns);
        });
    }

    /// Notes that the head of the answer is there.
    ///
    /// # Errors
    /// A sentence: the answer is that there is no such object.
    pub(super) fn answered(&self, status: hyper::StatusCode, now_ns: i64) -> Result<(), Failure> {
        if status != hyper::StatusCode::OK {
            return Err(Failure::new(format!("the server answered {status} instead of 200 OK")));
        }
        self.note(|row| row.first_byte_ns = Some(now_ns));
        Ok(())
    }

    /// Checks and counts bytes that came.
    ///
    /// # Errors
    /// A sentence: they are not the object's.
    pub(super) fn take(&self, bytes: &[u8], now_ns: i64) -> Result<(), Failure> {
        let Browser { page, session, notes, arrived_bytes } = self.browser;
        let so_far = &mut arrived_bytes.borrow_mut()[self.index];
        if !page.matches(self.index, *so_far, bytes) {
            return Err(Failure::new(format!("the object arrived altered after {so_far} bytes")));
        }
        *so_far += bytes.len() as u64;
        let received = &mut notes.borrow_mut().received;
        received.bytes += bytes.len() as u64;
        received.note_arrival(now_ns);
        session.report_progress(now_ns, received.bytes);
        Ok(())
    }

    /// Notes how it ended: whole, unless it is too short or something went wrong.
    pub(super) fn over(self, outcome: Result<(), Failure>, now_ns: i64) {
        let size_bytes = self.browser.page.object(self.index).size_bytes;
        let so_far = self.browser.arrived_bytes.borrow()[self.index];
        let outcome = outcome.and_then(|()| {
            if so_far == size_bytes {
                return Ok(());
            }
            Err(Failure::new(format!("the answer ended after {so_far} of {size_bytes} bytes")))
        });
        match outcome {
            Ok(()) => {
                self.note(|row| {
                    row.completed_ns = Some(now_ns);
                    row.outcome = OK.to_owned();
                });
                self.browser.notes.borrow_mut().received.messages += 1;
            }
            Err(failure) => {
                // What ended the flow says more than what it did to the connection.
                let failure = self.browser.session.failure().unwrap_or(failure);
                self.note(|row| row.outcome = failure.to_string());
            }
        }
    }
}

/// The headers that every request has besides its path.
pub(super) fn request(path: &str) -> hyper::http::request::Builder {
    hyper::Request::get(path)
        .header("accept", "*/*")
        .header("user-agent", concat!("gauntlet/", env!("CARGO_PKG_VERSION")))
}
