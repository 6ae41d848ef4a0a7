//! The sending half of a stream.

use super::pieces::Pieces;
use crate::stream::{Priority, StreamError};

/// Bytes that wait, and how far they may go.
#[derive(Debug)]
pub(super) struct SendHalf {
    pub waiting: Pieces,
    /// Offset of the first byte that waits.
    pub next: u64,
    /// Offset that the peer has not granted.
    pub limit: u64,
    /// The end follows what waits.
    pub fin: bool,
    /// The peer wants no more.
    pub stopped: Option<u32>,
    pub priority: Priority,
    /// Its place among incremental streams of the same urgency.
    pub turn: u64,
    /// The application was turned away and wants to hear of room.
    pub wants_room: bool,
}

impl SendHalf {
    pub fn new(limit: u64) -> Self {
        Self {
            waiting: Pieces::default(),
            next: 0,
            limit,
            fin: false,
            stopped: None,
            priority: Priority::default(),
            turn: 0,
            wants_room: false,
        }
    }

    /// Bytes that may be taken from the application while at most `most` wait.
    ///
    /// # Errors
    /// [`StreamError`] if none.
    pub fn room(&mut self, most: usize) -> Result<usize, StreamError> {
        if let Some(code) = self.stopped {
            return Err(StreamError::Stopped(code));
        }
        if self.fin {
            return Err(StreamError::Unknown);
        }
        let room = most.saturating_sub(self.waiting.len());
        if room == 0 {
            self.wants_room = true;
            return Err(StreamError::Blocked);
        }
        Ok(room)
    }

    /// Something of it may leave as far as its own credit goes.
    pub fn is_ready(&self) -> bool {
        let granted = !self.waiting.is_empty() && self.next < self.limit;
        granted || (self.fin && self.waiting.is_empty())
    }

    /// Nothing of it waits.
    pub fn is_drained(&self) -> bool {
        self.waiting.is_empty() && !self.fin
    }
}
