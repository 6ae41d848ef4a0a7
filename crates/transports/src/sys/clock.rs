//! The two kernel clocks, and sleeping until an instant.

use std::io;

use nix::errno::Errno;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_getres, clock_gettime, clock_nanosleep};

/// Nanoseconds of a clock's reading.
fn nanoseconds(reading: nix::Result<TimeSpec>) -> i64 {
    reading.expect("the clock exists on every Linux").num_nanoseconds()
}

/// Nanoseconds in a timespec.
pub(crate) fn timespec_ns(time: &libc::timespec) -> i64 {
    TimeSpec::from(*time).num_nanoseconds()
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn monotonic_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::CLOCK_MONOTONIC))
}

/// CLOCK_REALTIME in nanoseconds: the clock of the kernel's packet stamps.
pub(crate) fn realtime_ns() -> i64 {
    nanoseconds(clock_gettime(ClockId::CLOCK_REALTIME))
}

/// Sleeps until CLOCK_MONOTONIC reaches `instant_ns`; returns at once when it has passed.
pub(crate) fn sleep_until(instant_ns: i64) {
    let until = TimeSpec::new(instant_ns / 1_000_000_000, instant_ns % 1_000_000_000);
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &until) == Err(Errno::EINTR) {}
}

/// The length of the kernel's tick (1 s / HZ): the resolution of its coarse clocks.
pub(crate) fn tick_ns() -> i64 {
    nanoseconds(clock_getres(ClockId::CLOCK_MONOTONIC_COARSE))
}

/// Makes sleeps of this thread end when they were asked to: a thread's sleeps are otherwise up to
/// 50 microseconds late (the kernel's default timer slack, prctl(2)).
///
/// # Errors
/// The kernel refuses.
pub fn exact_sleeps() -> io::Result<()> {
    Ok(nix::sys::prctl::set_timerslack(1)?)
}
