//! From packets to messages: duplicate suppression, order, holes that are waited for or passed over.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::receiver::ReceiveWindow;
use crate::profile::Ordering;
use crate::time::Instant;

/// One message as the application receives it. With coalesced framing it is a piece of the byte stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The data.
    pub payload: Bytes,
    /// It came during an opportunistic handshake and may be a replay (answer D9).
    pub early: bool,
    /// Place in the sender's sequence of messages, from 0.
    pub index: u64,
}

/// What `insert` did with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// New; something may now be read.
    Readable,
    /// New, waits behind a hole.
    Held,
    /// Seen before.
    Duplicate,
    /// Its hole was passed over already (answer J2).
    Late,
    /// No room.
    Refused,
}

/// The wait for a hole to be filled.
#[derive(Debug)]
pub(crate) struct HoleWait {
    /// How long, as the application set it.
    pub patience: Duration,
    /// When it is over.
    pub at: Instant,
}

/// Messages between the network and the application.
#[derive(Debug)]
pub(crate) struct Assembler {
    ordering: Ordering,
    seen: ReceiveWindow,
    /// Out-of-order messages, from `seen.next()` on; unused when unordered.
    waiting: VecDeque<Option<Message>>,
    ready: VecDeque<Message>,
    bytes: usize,
    limit_packets: u32,
    limit_bytes: usize,
    hole_since: Option<Instant>,
    given_up: u64,
}

impl Assembler {
    pub fn new(ordering: Ordering, limit_packets: u32, limit_bytes: usize) -> Self {
        Self {
            ordering,
            // One more than messages: the end of the stream has an index too.
            seen: ReceiveWindow::new(0, limit_packets + 1),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            bytes: 0,
            limit_packets,
            limit_bytes,
            hole_since: None,
            given_up: 0,
        }
    }

    /// The next index expected: everything below was taken or passed over.
    pub fn next(&self) -> u64 {
        self.seen.next()
    }

    /// Packets that fit, counted from `next` (answer J7).
    pub fn window(&self) -> u32 {
        if self.bytes >= self.limit_bytes {
            return 0;
        }
        self.limit_packets.saturating_sub(self.ready.len() as u32)
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Since when the oldest hole exists.
    pub fn hole_since(&self) -> Option<Instant> {
        self.hole_since
    }

    /// Says what `insert` would do with `index`, without doing it.
    pub fn probe(&self, index: u64, bytes: usize) -> Inserted {
        if index < self.seen.next() {
            // Below `next` what was passed over and what was delivered cannot be told apart any more; both are old.
            return if self.given_up > 0 { Inserted::Late } else { Inserted::Duplicate };
        }
        if self.seen.contains(index) {
            return Inserted::Duplicate;
        }
        let fits =
            index - self.seen.next() < u64::from(self.window()) && self.bytes + bytes <= self.limit_bytes;
        if !fits { Inserted::Refused } else { Inserted::Readable }
    }

    /// The message `index` has arrived or was passed over.
    pub fn has_taken(&self, index: u64) -> bool {
        index < self.seen.next() || self.seen.contains(index)
    }

    /// Takes the message `index`.
    // R-ORD-1, R-ORD-2, R-ORD-4, R-MP-13
    pub fn insert(&mut self, now: Instant, index: u64, payload: Bytes, early: bool) -> Inserted {
        let verdict = self.probe(index, payload.len());
        if verdict != Inserted::Readable {
            return verdict;
        }
        self.bytes += payload.len();
        let message = Message { payload, early, index };
        let in_order = index == self.seen.next();
        let as_it_comes = matches!(self.ordering, Ordering::Unordered | Ordering::Streams);
        if as_it_comes || (in_order && self.waiting.is_empty()) {
            self.seen.insert(index);
            self.ready.push_back(message);
            self.note_hole(now);
            return Inserted::Readable;
        }
        let place = (index - self.seen.next()) as usize;
        if place >= self.waiting.len() {
            self.waiting.resize(place + 1, None);
        }
        self.waiting[place] = Some(message);
        let before = self.seen.next();
        self.seen.insert(index);
        self.release(before);
        self.note_hole(now);
        if in_order { Inserted::Readable } else { Inserted::Held }
    }

    /// The stream ends before `index`; the end counts like a message without content.
    pub fn insert_end(&mut self, now: Instant, index: u64) {
        if self.seen.accepts(index) {
            let before = self.seen.next();
            self.seen.insert(index);
            self.release(before);
            self.note_hole(now);
        }
    }

    /// Moves what lies below the new `next` to the application's queue.
    fn release(&mut self, before: u64) {
        for _ in before..self.seen.next() {
            if let Some(Some(message)) = self.waiting.pop_front() {
                self.ready.push_back(message);
            }
        }
    }

    fn note_hole(&mut self, now: Instant) {
        if !self.seen.has_hole() {
            self.hole_since = None;
        } else if self.hole_since.is_none() {
            self.hole_since = Some(now);
        }
    }

    /// Passes over everything missing below `index`.
    pub fn skip_to(&mut self, now: Instant, index: u64) -> u64 {
        let before = self.seen.next();
        let missed = self.seen.skip_to(index);
        self.release(before);
        self.given_up += missed;
        if missed > 0 {
            self.hole_since = None;
        }
        self.note_hole(now);
        missed
    }

    /// Passes over the first hole if it is at least `hold` old; returns the indices given up (answer J1).
    pub fn skip_hole(&mut self, now: Instant, hold: Duration) -> u64 {
        match (self.hole_since, self.seen.after_hole()) {
            (Some(since), Some(after)) if now.saturating_since(since) >= hold => self.skip_to(now, after),
            _ => 0,
        }
    }

    pub fn pop(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.bytes -= message.payload.len();
        if self.ready.is_empty() {
            // An idle connection keeps no memory.
            self.ready = VecDeque::new();
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn data(index: u64) -> Bytes {
        Bytes::from(format!("{index}"))
    }

    fn taken(assembler: &mut Assembler) -> Vec<u64> {
        std::iter::from_fn(|| assembler.pop()).map(|message| message.index).collect()
    }

    #[test]
    fn full_order_waits_for_the_hole() {
        let mut a = Assembler::new(Ordering::Full, 16, 1000);
        assert_eq!(a.insert(Instant::ZERO, 0, data(0), false), Inserted::Readable);
        assert_eq!(a.insert(Instant::ZERO, 2, data(2), false), Inserted::Held);
        assert_eq!(a.insert(Instant::ZERO, 2, data(2), false), Inserted::Duplicate);
        assert_eq!(taken(&mut a), [0]);
        assert_eq!(a.insert(Instant::ZERO, 1, data(1), false), Inserted::Readable);
        assert_eq!(taken(&mut a), [1, 2]);
    }

    #[test]
    fn unordered_delivers_at_once_and_only_once() {
        let mut a = Assembler::new(Ordering::Unordered, 16, 1000);
        for index in [3, 0, 3, 1] {
            a.insert(Instant::ZERO, index, data(index), false);
        }
        assert_eq!(taken(&mut a), [3, 0, 1]);
    }

    #[test]
    fn j1_a_hole_is_passed_over_when_it_is_old_enough_and_j2_what_comes_later_is_dropped() {
        let mut a = Assembler::new(Ordering::Partial, 16, 1000);
        a.insert(Instant::ZERO, 1, data(1), false);
        assert_eq!(a.skip_hole(Instant::ZERO + MS * 9, MS * 10), 0);
        assert_eq!(a.skip_hole(Instant::ZERO + MS * 10, MS * 10), 1);
        assert_eq!(taken(&mut a), [1]);
        assert_eq!(a.insert(Instant::ZERO, 0, data(0), false), Inserted::Late);
    }

    #[test]
    fn memory_is_bounded_in_packets_and_in_bytes() {
        let mut a = Assembler::new(Ordering::Full, 4, 10);
        assert_eq!(a.insert(Instant::ZERO, 4, data(4), false), Inserted::Refused);
        a.insert(Instant::ZERO, 0, Bytes::from_static(b"12345678"), false);
        assert_eq!(a.insert(Instant::ZERO, 1, Bytes::from_static(b"123"), false), Inserted::Refused);
        assert_eq!(a.window(), 3);
        a.pop();
        assert_eq!(a.window(), 4);
    }
}
