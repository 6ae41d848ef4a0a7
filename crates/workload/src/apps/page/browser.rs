//! What a browser knows of the objects that it asks for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use transports::{Failure, Opened, Session};

use super::content::Page;
use crate::exchange::{Exchange, OK};
use crate::ledger::Received;

/// A browser with its page.
pub(super) struct Browser {
    page: Page,
    session: Arc<Session>,
    notes: RefCell<Loaded>,
    /// Bytes of each object so far.
    arrived_bytes: RefCell<Vec<u64>>,
    /// The objects that each object names.
    names: Vec<Vec<usize>>,
    /// Those that can be asked for.
    known: RefCell<VecDeque<usize>>,
    /// Where each object that was asked for stands among the exchanges.
    rows: RefCell<Vec<Option<usize>>>,
}

/// What became of a page.
pub(super) struct Loaded {
    /// The objects that were asked for, in order.
    pub(super) exchanges: Vec<Exchange>,
    /// Totals.
    pub(super) received: Received,
}

impl Browser {
    /// A browser that is to load `page`.
    pub(super) fn new(page: Page, session: &Arc<Session>) -> Self {
        let arrived_bytes = RefCell::new(vec![0; page.len()]);
        let notes = RefCell::new(Loaded { exchanges: Vec::new(), received: Received::new(false) });
        let mut names = vec![Vec::new(); page.len()];
        for object in 1..page.len() {
            names[page.object(object).after].push(object);
        }
        let known = RefCell::new(VecDeque::from([0]));
        let rows = RefCell::new(vec![None; page.len()]);
        Self { page, session: Arc::clone(session), notes, arrived_bytes, names, known, rows }
    }

    /// What became of the page. Objects that are under way failed for the reason that `ended` the flow.
    pub(super) fn over(self, ended: Option<&Failure>) -> Loaded {
        let mut loaded = self.notes.into_inner();
        for exchange in &mut loaded.exchanges {
            if exchange.outcome.is_empty() {
                exchange.outcome =
                    ended.map_or_else(|| "the page was over".to_owned(), |failure| failure.to_string());
            }
        }
        loaded
    }

    fn note(&self, object: usize, note: impl FnOnce(&mut Exchange)) {
        let row = self.rows.borrow()[object].expect("only an object that was asked for is told of");
        note(&mut self.notes.borrow_mut().exchanges[row]);
    }
}

impl transports::Browser for Browser {
    fn known(&self) -> usize {
        self.known.borrow().len()
    }

    fn ask(&self, now_ns: i64) -> Option<usize> {
        let number = self.known.borrow_mut().pop_front()?;
        let exchanges = &mut self.notes.borrow_mut().exchanges;
        self.rows.borrow_mut()[number] = Some(exchanges.len());
        let object = self.page.object(number);
        exchanges.push(Exchange::begun(object.name.clone(), object.size_bytes, now_ns, String::new()));
        Some(number)
    }

    fn origin(&self, object: usize) -> usize {
        self.page.object(object).origin
    }

    fn path(&self, object: usize) -> String {
        self.page.path(object)
    }

    fn opened(&self, object: usize, opened: Opened) {
        self.note(object, |row| {
            (row.connected_ns, row.secured_ns) = (opened.connected_ns, opened.secured_ns);
        });
    }

    fn answered(&self, object: usize, now_ns: i64) {
        self.note(object, |row| row.first_byte_ns = Some(now_ns));
    }

    fn take(&self, object: usize, bytes: &[u8], now_ns: i64) -> Result<(), Failure> {
        let so_far = &mut self.arrived_bytes.borrow_mut()[object];
        if !self.page.matches(object, *so_far, bytes) {
            return Err(Failure::new(format!("the object arrived altered after {so_far} bytes")));
        }
        *so_far += bytes.len() as u64;
        let received = &mut self.notes.borrow_mut().received;
        received.bytes += bytes.len() as u64;
        received.note_arrival(now_ns);
        self.session.report_progress(now_ns, received.bytes);
        Ok(())
    }

    fn over(&self, object: usize, outcome: Result<(), Failure>, now_ns: i64) {
        let size_bytes = self.page.object(object).size_bytes;
        let so_far = self.arrived_bytes.borrow()[object];
        let outcome = outcome.and_then(|()| {
            if so_far == size_bytes {
                return Ok(());
            }
            Err(Failure::new(format!("the answer ended after {so_far} of {size_bytes} bytes")))
        });
        match outcome {
            Ok(()) => {
                self.note(object, |row| {
                    row.completed_ns = Some(now_ns);
                    row.outcome = OK.to_owned();
                });
                self.notes.borrow_mut().received.messages += 1;
                self.known.borrow_mut().extend(&self.names[object]);
            }
            Err(failure) => {
                // What ended the flow says more than what it did to the connection.
                let failure = self.session.failure().unwrap_or(failure);
                self.note(object, |row| row.outcome = failure.to_string());
            }
        }
    }
}
