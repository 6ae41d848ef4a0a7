//! Moments that the caller supplies, and the millisecond stamps that RaSTA puts on the wire.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment in nanoseconds since an origin that the caller chooses (only differences matter).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The caller's origin.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The moment `millis` milliseconds after the origin.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`, zero if `earlier` lies in the future.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// Whole milliseconds since the origin, modulo 2^32: what a time stamp counts.
    pub(crate) const fn millis_wrapping(self) -> u32 {
        (self.0 / 1_000_000) as u32
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, rhs: Instant) -> Duration {
        self.saturating_since(rhs)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{:06} ms", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// `duration` in whole milliseconds, as configuration and stamps count; longer ones saturate.
pub(crate) fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_count_milliseconds_and_wrap_after_2_to_the_32() {
        let turn = Instant::from_millis(1 << 32);
        assert_eq!(turn.millis_wrapping(), 0);
        assert_eq!((turn + Duration::from_micros(7999)).millis_wrapping(), 7);
    }

    #[test]
    fn the_past_is_zero_away_from_the_future() {
        assert_eq!(Instant::ZERO - Instant::from_millis(5), Duration::ZERO);
        assert_eq!(Instant::from_millis(5) - Instant::ZERO, Duration::from_millis(5));
    }
}
