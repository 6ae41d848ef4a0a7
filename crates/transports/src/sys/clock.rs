//! The two kernel clocks, and sleeping until an instant.

use std::io;

fn read_clock(id: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec that the call fills.
    let status = unsafe { libc::clock_gettime(id, &mut now) };
    debug_assert_eq!(status, 0, "both clocks exist on every Linux");
    timespec_ns(&now)
}

/// Nanoseconds in a timespec.
pub(crate) fn timespec_ns(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// CLOCK_MONOTONIC in nanoseconds.
pub(crate) fn monotonic_ns() -> i64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME in nanoseconds: the clock of the kernel's packet stamps.
pub(crate) fn realtime_ns() -> i64 {
    read_clock(libc::CLOCK_REALTIME)
}

/// Sleeps until CLOCK_MONOTONIC reaches `instant_ns`; returns at once when it has passed.
pub(crate) fn sleep_until(instant_ns: i64) {
    let until = libc::timespec { tv_sec: instant_ns / 1_000_000_000, tv_nsec: instant_ns % 1_000_000_000 };
    loop {
        // SAFETY: `until` is a valid timespec; the remainder is not asked for.
        let status = unsafe {
            libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut())
        };
        if status != libc::EINTR {
            return;
        }
    }
}

/// The length of the kernel's tick (1 s / HZ): the resolution of its coarse clocks.
pub(crate) fn tick_ns() -> i64 {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `tick` is a valid timespec that the call fills.
    let status = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &mut tick) };
    debug_assert_eq!(status, 0, "the clock exists on every Linux");
    timespec_ns(&tick)
}

/// Makes sleeps of this thread end when they were asked to: a thread's sleeps are otherwise up to
/// 50 microseconds late (the kernel's default timer slack, prctl(2)).
///
/// # Errors
/// The kernel refuses.
pub fn exact_sleeps() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
