//! The receiving half of a stream: bytes in any order in, bytes in order out.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::pieces::Pieces;
use super::violation::Violation;
use super::window::Window;

/// What has arrived, and how far it may go.
#[derive(Debug)]
pub(super) struct ReceiveHalf {
    ready: Pieces,
    /// Offset of the first byte that is missing.
    next: u64,
    /// Pieces behind holes by their offset; they do not overlap.
    held: BTreeMap<u64, Bytes>,
    /// The highest offset counts as used.
    pub window: Window,
    /// Length of the whole stream, once it is known.
    pub end: Option<u64>,
    /// The peer reset the stream.
    pub reset: Option<u32>,
    /// The application wants no more.
    pub stopped: bool,
    /// It was told to read and has not found nothing since.
    pub told: bool,
}

/// How an arrival changed a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    /// By how much the highest offset rose: what counts against the credit of the connection.
    pub grown: u64,
    /// By how much the number of pieces behind holes changed.
    pub held: isize,
}

impl ReceiveHalf {
    pub fn new(window: Window) -> Self {
        Self {
            ready: Pieces::default(),
            next: 0,
            held: BTreeMap::new(),
            window,
            end: None,
            reset: None,
            stopped: false,
            told: false,
        }
    }

    /// Notes that the stream has `end` bytes.
    // R-STR-8
    fn set_end(&mut self, end: u64) -> Result<(), Violation> {
        if self.end.is_some_and(|known| known != end) || end < self.window.used() {
            return Err(Violation("a stream has two ends"));
        }
        self.end = Some(end);
        Ok(())
    }

    /// The highest offset is at least `end`; returns by how much it rose.
    fn reach(&mut self, end: u64) -> Result<u64, Violation> {
        if self.end.is_some_and(|known| end > known) {
            return Err(Violation("bytes beyond the end of a stream"));
        }
        let grown = end.saturating_sub(self.window.used());
        if self.window.use_up(grown) {
            Ok(grown)
        } else {
            Err(Violation("more bytes of a stream than granted"))
        }
    }

    /// Takes bytes; each is sent once, so none may come twice.
    // R-STR-5, R-STR-6, R-STR-8
    pub fn insert(&mut self, offset: u64, data: Bytes, fin: bool) -> Result<Arrived, Violation> {
        let end = offset + data.len() as u64;
        let grown = self.reach(end)?;
        if fin {
            self.set_end(end)?;
        }
        let mut arrived = Arrived { grown, held: 0 };
        if data.is_empty() || self.reset.is_some() || self.stopped {
            return Ok(arrived);
        }
        let before = self.held.range(..end).next_back();
        let overlaps = before.is_some_and(|(start, held)| start + held.len() as u64 > offset);
        if offset < self.next || overlaps {
            return Err(Violation("bytes of a stream came twice"));
        }
        if offset > self.next {
            self.held.insert(offset, data);
            arrived.held = 1;
            return Ok(arrived);
        }
        self.next = end;
        self.ready.push(data);
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() == self.next) {
            let data = entry.remove();
            self.next += data.len() as u64;
            self.ready.push(data);
            arrived.held -= 1;
        }
        Ok(arrived)
    }

    /// The peer ends the stream at `end` bytes, before its time.
    // R-STR-8
    pub fn on_reset(&mut self, code: u32, end: u64) -> Result<Arrived, Violation> {
        let ended = self.is_whole();
        self.set_end(end)?;
        let grown = self.reach(end)?;
        if ended {
            // All of it is here, its end too: that it was broken off makes no difference any more.
            return Ok(Arrived { grown, held: 0 });
        }
        self.reset = Some(code);
        Ok(Arrived { grown, held: self.drop_all() })
    }

    /// Everything up to the end has arrived.
    fn is_whole(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Drops what was not read; returns the change of pieces behind holes.
    pub fn drop_all(&mut self) -> isize {
        self.ready.clear();
        let held = std::mem::take(&mut self.held).len();
        -(held as isize)
    }

    /// Bytes, the end, or a reset can be read.
    pub fn is_readable(&self) -> bool {
        !self.stopped && (!self.ready.is_empty() || self.reset.is_some() || self.is_whole())
    }

    /// Some bytes were not read.
    pub fn has_unread(&self) -> bool {
        !self.ready.is_empty()
    }

    /// At most `limit_bytes` in order.
    pub fn take(&mut self, limit_bytes: usize) -> Option<Bytes> {
        let taken = self.ready.take(limit_bytes)?;
        self.window.consume(taken.len() as u64);
        Some(taken)
    }

    /// Read to its end.
    pub fn is_read(&self) -> bool {
        self.ready.is_empty() && self.is_whole()
    }
}
