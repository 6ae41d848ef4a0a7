//! What a server has, and its notes of what it handed over.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use transports::{Clock, Content};

use super::content::{Body, Page};
use crate::ledger::Sent;

/// A page and the notes of who serves it.
pub(super) struct Site(Rc<Inner>);

struct Inner {
    page: Page,
    clock: Clock,
    sent: RefCell<Sent>,
}

impl Site {
    /// A server's page.
    pub(super) fn new(page: Page, clock: Clock) -> Self {
        Self(Rc::new(Inner { page, clock, sent: RefCell::new(Sent::new(0, false)) }))
    }

    /// What was handed over so far.
    pub(super) fn sent(&self) -> Sent {
        self.0.sent.take()
    }
}

impl transports::Site for Site {
    fn find(&self, path: &str) -> Option<Box<dyn Content>> {
        let body = self.0.page.body(self.0.page.asked_for(path)?);
        if body.left_bytes() == 0 {
            // No piece of it will be asked for.
            self.0.sent.borrow_mut().note(1, 0, self.0.clock.now_ns());
        }
        Some(Box::new(Noted { site: Rc::clone(&self.0), body }))
    }
}

/// The bytes of an object, noted as they are handed over.
struct Noted {
    site: Rc<Inner>,
    body: Body,
}

impl Content for Noted {
    fn left_bytes(&self) -> u64 {
        self.body.left_bytes()
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        let Inner { page, clock, sent } = &*self.site;
        let piece = self.body.next_piece(page)?;
        let whole = u64::from(self.body.left_bytes() == 0);
        let mut sent = sent.borrow_mut();
        sent.bytes += piece.len() as u64;
        sent.note(whole, 0, clock.now_ns());
        Some(piece)
    }
}
