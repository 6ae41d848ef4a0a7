//! Instants as the kernel's monotonic clock counts them, the same for all processes of the machine.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Says instants in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    instant: Instant,
    after_zero: Duration,
}

impl Clock {
    /// Reads it once.
    ///
    /// # Panics
    /// Never on Linux, which has this clock.
    #[must_use]
    pub fn new() -> Self {
        let instant = Instant::now();
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has this clock");
        Self { instant, after_zero: now.into() }
    }

    /// An instant.
    #[must_use]
    pub fn ns(&self, instant: Instant) -> u64 {
        let after = instant.saturating_duration_since(self.instant);
        let before = self.instant.saturating_duration_since(instant);
        (self.after_zero + after - before).as_nanos() as u64
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_between_what_the_clock_said_before_and_after() {
        let read = || Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_nanos() as u64;
        let clock = Clock::new();
        let before = read();
        let now = Instant::now();
        // The clock was read a moment after its instant was taken.
        let late_ns = Duration::from_millis(100).as_nanos() as u64;
        assert!((before..=read() + late_ns).contains(&clock.ns(now)));
        let second = Duration::from_secs(1);
        assert_eq!(clock.ns(now + second) - clock.ns(now), 1_000_000_000);
        assert_eq!(clock.ns(now) - clock.ns(now - second), 1_000_000_000);
    }
}
