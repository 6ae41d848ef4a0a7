//! Time of a run.

use crate::sys::clock;

/// Time of a run: nanoseconds since the instant at which the run's timeline is zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: i64,
    realtime_offset_ns: i64,
    stands_still: bool,
}

impl Clock {
    /// A clock whose zero is the instant `origin_ns` of CLOCK_MONOTONIC. `stands_still` says that time stands
    /// still while a program computes (virtual time): then a sleep ends at the very instant it was asked to,
    /// and the clock need not be read again.
    ///
    /// The kernel stamps packets with CLOCK_REALTIME; the distance between the two clocks is taken here, once.
    pub fn new(origin_ns: i64, stands_still: bool) -> Self {
        let before = clock::monotonic_ns();
        let realtime = clock::realtime_ns();
        let middle = before + (clock::monotonic_ns() - before) / 2;
        Self { origin_ns, realtime_offset_ns: realtime - middle, stands_still }
    }

    /// A clock whose zero is now.
    pub fn starting_now(stands_still: bool) -> Self {
        Self::new(clock::monotonic_ns(), stands_still)
    }

    /// Nanoseconds since the start of the run.
    pub fn now_ns(&self) -> i64 {
        clock::monotonic_ns() - self.origin_ns
    }

    /// An instant of CLOCK_REALTIME as time of the run.
    pub fn from_realtime_ns(&self, realtime_ns: i64) -> i64 {
        realtime_ns - self.realtime_offset_ns - self.origin_ns
    }

    /// Time of the run as an instant of CLOCK_MONOTONIC.
    pub fn monotonic_ns(&self, instant_ns: i64) -> i64 {
        instant_ns + self.origin_ns
    }

    /// The time after some computing that followed the instant `now_ns`.
    pub fn after(&self, now_ns: i64) -> i64 {
        if self.stands_still { now_ns } else { self.now_ns() }
    }

    /// Sleeps until `instant_ns` and returns the time then.
    pub fn sleep_until(&self, instant_ns: i64) -> i64 {
        clock::sleep_until(self.monotonic_ns(instant_ns));
        self.after(instant_ns)
    }
}
