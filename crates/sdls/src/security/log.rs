//! The security log: what was refused, until it is full.

use alloc::vec::Vec;

/// Entries that the log holds; refusals beyond are only counted in the alarm of the report.
const ROOM: usize = 64;

/// What was refused. Tags and layout are this library's own, which the standard leaves to each mission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogEntry {
    /// 1 unknown association, 2 not operational, 3 wrong channel, 4 key, 5 MAC, 6 replay, 7 padding, 0 anything else.
    pub tag: u8,
    /// The association.
    pub spi: u16,
}

/// The log of one end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    entries: Vec<LogEntry>,
}

impl Log {
    pub(crate) fn refused(&mut self, tag: u8, spi: u16) {
        if self.entries.len() < ROOM {
            self.entries.push(LogEntry { tag, spi });
        }
    }

    /// What is in it, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[LogEntry] {
        &self.entries
    }

    /// Entries that still fit.
    #[must_use]
    pub fn room(&self) -> usize {
        ROOM - self.entries.len()
    }

    pub(crate) fn erase(&mut self) {
        self.entries.clear();
    }
}
