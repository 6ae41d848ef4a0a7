//! What waits to be sent for the first time: messages or pieces of the stream, their numbers, and what the peer grants.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use crate::profile::Framing;
use crate::time::Instant;

/// A message, or a piece of the stream, that has not been numbered yet.
#[derive(Debug)]
pub(crate) struct Queued {
    pub payload: Bytes,
    pub push: bool,
    pub deadline: Instant,
}

/// Everything that has no number yet.
#[derive(Debug)]
pub(crate) struct Outbox {
    waiting: VecDeque<Queued>,
    bytes: usize,
    /// Number of the next new message.
    next: u64,
    /// First message number that the peer has not granted.
    limit: u64,
    /// Send one packet although the peer grants none.
    pub probe: bool,
    /// The application was turned away and wants to hear of room.
    pub wants_room: bool,
    /// It was turned away and has not come again: there are more data than wait here.
    pub turned_away: bool,
}

impl Outbox {
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            next: 0,
            limit: u64::MAX,
            probe: false,
            wants_room: false,
            turned_away: false,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Messages, or pieces of the stream, that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Payload bytes that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of the next new message.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// First message number that the peer has not granted.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The peer grants the messages below `limit`, and does not take back what it has granted.
    // R-FC-1
    pub fn grant(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// What the peer grants is `limit`, whatever was assumed before.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The peer takes one more message, or is to be asked whether it does.
    pub fn may_number(&self) -> bool {
        self.next < self.limit || self.probe
    }

    /// Waits for the peer alone.
    pub fn is_blocked(&self) -> bool {
        !self.waiting.is_empty() && self.next >= self.limit
    }

    pub fn push(&mut self, queued: Queued) {
        self.bytes += queued.payload.len();
        self.waiting.push_back(queued);
    }

    /// Returns what could not leave.
    pub fn put_back(&mut self, queued: Queued) {
        self.bytes += queued.payload.len();
        self.waiting.push_front(queued);
    }

    /// What was taken last has left under the number [`Outbox::next`].
    pub fn count(&mut self) {
        self.next += 1;
        self.probe = false;
    }

    /// Payload bytes that the next segment will have.
    pub fn next_bytes(&self, framing: Framing, limit: usize) -> usize {
        match framing {
            Framing::Fixed => self.waiting.front().map_or(0, |queued| queued.payload.len()),
            Framing::Coalesce => self.bytes.min(limit),
        }
    }

    /// Takes the next segment: a message, or as much of the stream as fits.
    // R-FRM-1, R-FRM-2
    pub fn cut(&mut self, framing: Framing, limit: usize) -> Option<Queued> {
        let mut first = self.waiting.pop_front()?;
        if framing == Framing::Coalesce {
            if first.payload.len() > limit {
                let rest = Queued {
                    payload: first.payload.split_off(limit),
                    push: std::mem::replace(&mut first.push, false),
                    deadline: first.deadline,
                };
                self.waiting.push_front(rest);
            } else if first.payload.len() < limit && !self.waiting.is_empty() {
                first = self.join_small(first, limit);
            }
        }
        self.bytes -= first.payload.len();
        Some(first)
    }

    /// Fills a segment from several small writes.
    fn join_small(&mut self, first: Queued, limit: usize) -> Queued {
        let mut joined = BytesMut::with_capacity(limit);
        joined.extend_from_slice(&first.payload);
        let mut push = first.push;
        while joined.len() < limit {
            let Some(next) = self.waiting.front_mut() else { break };
            let room = limit - joined.len();
            if next.payload.len() > room {
                joined.extend_from_slice(&next.payload.split_to(room));
                break;
            }
            joined.extend_from_slice(&next.payload);
            push |= next.push;
            self.waiting.pop_front();
        }
        Queued { payload: joined.freeze(), push, deadline: first.deadline }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }

    /// An idle connection keeps no memory.
    pub fn release_if_empty(&mut self) {
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
    }
}
