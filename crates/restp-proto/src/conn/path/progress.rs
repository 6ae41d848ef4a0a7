//! Whether what one path has in flight is acknowledged, and what was done about it while it was not.

use std::time::Duration;

use crate::time::Instant;

/// How long after the latest acknowledgement probes go on: as long as a timeout of 1 s needs for its first five expiries
/// (1 + 2 + 4 + 8 + 16 s, RFC 6298).
const PROBE_PATIENCE: Duration = Duration::from_secs(31);

/// The latest progress, and tries since.
#[derive(Debug)]
pub(crate) struct Progress {
    /// When something was acknowledged last, or the first of all packets left.
    at: Instant,
    /// Expiries of the retransmission timer in a row without progress.
    pub retries: u32,
    /// Expiries of the tail timer in a row without progress.
    tail_probes: u32,
    /// Acknowledgements in a row of the same number.
    duplicates: u32,
    duplicate_at: Instant,
    /// Packets that the next partial acknowledgement declares lost.
    repairs: u32,
}

impl Progress {
    pub fn new(now: Instant) -> Self {
        Self { at: now, retries: 0, tail_probes: 0, duplicates: 0, duplicate_at: Instant::ZERO, repairs: 1 }
    }

    /// Something was acknowledged; `advanced`: the cumulative number moved.
    pub fn made(&mut self, now: Instant, advanced: bool) {
        self.at = now;
        self.retries = 0;
        self.tail_probes = 0;
        if advanced {
            self.duplicates = 0;
        }
    }

    /// The tail timer may ask for probes once more.
    pub fn may_probe(&self, now: Instant) -> bool {
        now.saturating_since(self.at) <= PROBE_PATIENCE || self.tail_probes == 0
    }

    /// The first probes since the latest progress are still to come.
    pub fn is_unprobed(&self) -> bool {
        self.tail_probes == 0
    }

    /// Counts an expiry of the tail timer; how many there were.
    pub fn count_tail_probe(&mut self) -> u32 {
        self.tail_probes += 1;
        self.tail_probes
    }

    /// An acknowledgement came a second time; how long after the one before that did.
    pub fn on_duplicate(&mut self, now: Instant) -> Duration {
        now.saturating_since(std::mem::replace(&mut self.duplicate_at, now))
    }

    /// Counts it as a sign of loss; how many there are.
    pub fn count_duplicate(&mut self) -> u32 {
        self.duplicates += 1;
        self.duplicates
    }

    /// What is in flight was taken for lost.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Packets that a partial acknowledgement declares lost; the next one twice as many.
    pub fn take_repairs(&mut self) -> u32 {
        let repairs = self.repairs;
        self.repairs = repairs.saturating_mul(2);
        repairs
    }

    /// The recovery is over.
    pub fn forget_repairs(&mut self) {
        self.repairs = 1;
    }
}
