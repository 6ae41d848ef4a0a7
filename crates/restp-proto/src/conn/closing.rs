//! How far the end of a connection has come, in both directions.

use crate::time::Instant;

/// What became of our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalFin {
    Open,
    /// `close` was called; the FIN follows the queued data.
    Wanted,
    Sent,
    Acked,
}

/// The announcement of the end of the data of several paths, until it is acknowledged (answer H10).
#[derive(Debug)]
pub(crate) struct DataFin {
    /// When it is repeated.
    pub at: Instant,
    pub tries: u32,
    /// The path by which it left.
    pub path: usize,
}

/// The end of a connection.
#[derive(Debug)]
pub(crate) struct Closing {
    pub local: LocalFin,
    /// Message number of the peer's FIN.
    pub remote: Option<u64>,
    /// Everything before the peer's FIN has arrived.
    pub remote_finished: bool,
    /// We closed before we had everything of the peer, so that we keep the memory of the connection (answer D12).
    pub first: bool,
    pub farewell_said: bool,
    pub data_fin: DataFin,
    /// The path by which a reset is to leave.
    pub reset: Option<usize>,
    /// What the application says in it.
    pub reset_code: Option<u32>,
}

impl Closing {
    pub fn new() -> Self {
        Self {
            local: LocalFin::Open,
            remote: None,
            remote_finished: false,
            first: false,
            farewell_said: false,
            data_fin: DataFin { at: Instant::FAR_FUTURE, tries: 0, path: 0 },
            reset: None,
            reset_code: None,
        }
    }

    /// The application closes our direction; what it sent goes first.
    pub fn want(&mut self) {
        self.local = LocalFin::Wanted;
        self.first = !self.remote_finished;
    }

    pub fn on_acked(&mut self) {
        self.local = LocalFin::Acked;
        self.data_fin.at = Instant::FAR_FUTURE;
    }

    /// Our FIN is on its way or has arrived.
    pub fn has_sent(&self) -> bool {
        matches!(self.local, LocalFin::Sent | LocalFin::Acked)
    }

    /// Both directions have ended.
    pub fn is_complete(&self) -> bool {
        self.local == LocalFin::Acked && self.remote_finished
    }

    /// True once: everything up to the message `next` has arrived, the peer's FIN with it.
    pub fn finishes(&mut self, next: u64) -> bool {
        let finishes = !self.remote_finished && self.remote.is_some_and(|fin| next > fin);
        self.remote_finished |= finishes;
        finishes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-CM-5
    #[test]
    fn an_end_that_closes_before_it_has_everything_closes_first() {
        for (next, first) in [(5, true), (6, false)] {
            let mut closing = Closing::new();
            // The end of the peer's data is known, and with 5 next something before it is missing.
            closing.remote = Some(5);
            assert_eq!(closing.finishes(next), !first);
            closing.want();
            assert_eq!(closing.first, first);
        }
    }
}
