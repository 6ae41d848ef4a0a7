//! The instants of libraries that count from the process's clock, and the run's.

use std::time::{Duration, Instant};

/// One instant under both names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Epoch {
    instant: Instant,
    ns: i64,
}

impl Epoch {
    /// Now is `now_ns`.
    pub(crate) fn new(now_ns: i64) -> Self {
        Self { instant: Instant::now(), ns: now_ns }
    }

    /// An instant of the run as the library's; none before the epoch.
    pub(crate) fn instant(self, ns: i64) -> Instant {
        self.instant + Duration::from_nanos((ns - self.ns).max(0) as u64)
    }

    /// The other way round.
    pub(crate) fn ns(self, instant: Instant) -> i64 {
        self.ns + instant.saturating_duration_since(self.instant).as_nanos() as i64
    }
}
