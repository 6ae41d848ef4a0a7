//! What the application has not been told yet.

use std::collections::VecDeque;

use crate::event::EventKind;

/// Events that wait to be polled, at most; further news of paths and losses are counted and dropped.
const MAX_EVENTS: usize = 64;

/// News for the application.
#[derive(Debug)]
pub(crate) struct Notices {
    events: VecDeque<EventKind>,
    /// It was told to read and has not found the end since.
    pub readable_told: bool,
    /// Messages that the receiver passed over, of which no event speaks yet.
    abandoned: u64,
    /// It has heard of the connection; the responder of a protected handshake waits for proof first.
    announced: bool,
}

impl Notices {
    pub fn new() -> Self {
        Self { events: VecDeque::new(), readable_told: false, abandoned: 0, announced: true }
    }

    /// Queues an event; `false` if there was no room. What the application waits for is never dropped: it is queued
    /// once, however often it is told.
    // R-SEC-2
    pub fn tell(&mut self, event: EventKind) -> bool {
        let repeatable = matches!(
            event,
            EventKind::PathUp(_)
                | EventKind::PathDown(_)
                | EventKind::CauseChanged(_)
                | EventKind::Abandoned { .. }
        );
        if repeatable && self.events.len() >= MAX_EVENTS {
            return false;
        }
        if repeatable || !self.events.contains(&event) {
            self.events.push_back(event);
        }
        true
    }

    /// Counts messages that the receiver passed over; returns the event that is due, if none waits.
    pub fn note_abandoned(&mut self, messages: u64) -> Option<EventKind> {
        self.abandoned += messages;
        let waits = self.events.iter().any(|event| matches!(event, EventKind::Abandoned { .. }));
        (!waits).then(|| EventKind::Abandoned { messages: std::mem::take(&mut self.abandoned) })
    }

    // R-PROT-11
    pub fn poll(&mut self) -> Option<EventKind> {
        if !self.announced {
            return None;
        }
        let event = self.events.pop_front();
        if event.is_none() {
            // An idle connection keeps no memory.
            self.events = VecDeque::new();
        }
        event
    }

    /// The application hears nothing before [`Notices::announce`].
    pub fn keep_secret(&mut self) {
        self.announced = false;
    }

    pub fn is_announced(&self) -> bool {
        self.announced
    }

    /// Tells of a connection that a peer opened on `port`, before everything else.
    pub fn announce(&mut self, port: u16) {
        self.announced = true;
        self.events.push_front(EventKind::Accepted { port });
    }

    /// The last event, which must not be lost, whatever waits; nobody who has not heard of it needs to hear of its end.
    pub fn end(&mut self, last: EventKind) {
        if self.announced {
            self.events.push_back(last);
        } else {
            self.events.clear();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    #[cfg(test)]
    pub const MOST: usize = MAX_EVENTS;
}
