//! The run's clock: nanoseconds from the start of the run, exact sleeping, and the kernel's packet stamps in
//! the same count.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};

use crate::Error;
use crate::error::Attempt;

const NS_PER_S: i64 = 1_000_000_000;

/// Zero of a run, in the kernel's two clocks: a whole second of `CLOCK_MONOTONIC`.
///
/// In virtual time the kernel's clock moves in steps of 256 ns and its timers in ticks of some milliseconds.
/// A whole second is a multiple of both, so each run of a guest begins in the same phase and can repeat
/// another one exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunClock {
    monotonic_start_ns: i64,
    /// `CLOCK_REALTIME` less `CLOCK_MONOTONIC`: nobody sets a guest's clock, so it stays.
    realtime_ahead_ns: i64,
}

impl RunClock {
    /// Waits for the next whole second and starts a run there.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel has no clock.
    pub fn start() -> Result<Self, Error> {
        // Each reading takes a moment (256 ns in virtual time), so the one in the middle is compared with the
        // mean.
        let before_ns = read(ClockId::CLOCK_MONOTONIC)?;
        let realtime_ns = read(ClockId::CLOCK_REALTIME)?;
        let after_ns = read(ClockId::CLOCK_MONOTONIC)?;
        let clock = RunClock {
            monotonic_start_ns: (after_ns / NS_PER_S + 1) * NS_PER_S,
            realtime_ahead_ns: realtime_ns - (before_ns + after_ns) / 2,
        };
        Alarm::new()?.sleep_until(&clock, 0)?;
        Ok(clock)
    }

    /// Nanoseconds since the start of the run.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel has no clock.
    pub fn now_ns(&self) -> Result<i64, Error> {
        Ok(read(ClockId::CLOCK_MONOTONIC)? - self.monotonic_start_ns)
    }

    /// An instant of the run in `CLOCK_MONOTONIC`, as `SO_TXTIME` with the fq discipline and absolute sleeps
    /// want it.
    pub fn to_monotonic_ns(&self, run_ns: i64) -> i64 {
        run_ns + self.monotonic_start_ns
    }

    /// An instant of `CLOCK_REALTIME`, such as the kernel's packet stamps, in nanoseconds since the start of
    /// the run.
    pub fn from_realtime_ns(&self, realtime_ns: i64) -> i64 {
        realtime_ns - self.realtime_ahead_ns - self.monotonic_start_ns
    }
}

fn read(clock: ClockId) -> Result<i64, Error> {
    let t = clock_gettime(clock).attempt(|| "cannot read the clock".into())?;
    Ok(t.tv_sec() * NS_PER_S + t.tv_nsec())
}

/// Seconds to nanoseconds, rounded; used for all times of a plan.
pub(crate) fn seconds_to_ns(seconds: f64) -> i64 {
    (seconds * NS_PER_S as f64).round() as i64
}

/// Nanoseconds to seconds.
pub(crate) fn ns_to_seconds(ns: i64) -> f64 {
    ns as f64 / NS_PER_S as f64
}

/// What ended a sleep: what was waited for, or a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    Awaited,
    Called,
}

/// Sleeps until an instant or until another thread calls. A timerfd has no timer slack, unlike every other
/// way to sleep (50 microseconds by default), and it waits for two things at once.
pub(crate) struct Alarm {
    timer: TimerFd,
    bell: EventFd,
}

impl Alarm {
    pub fn new() -> Result<Self, Error> {
        Ok(Alarm {
            timer: TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
                .attempt(|| "cannot make a timer".into())?,
            bell: EventFd::from_flags(EfdFlags::EFD_CLOEXEC).attempt(|| "cannot make an event".into())?,
        })
    }

    /// Wakes the sleeper, now and for ever.
    pub fn call(&self) -> Result<(), Error> {
        self.bell.write(1).map(drop).attempt(|| "cannot wake a sleeping thread".into())
    }

    /// Sleeps until `instant_ns` of the run; returns at once if that has passed.
    pub fn sleep_until(&self, clock: &RunClock, instant_ns: i64) -> Result<Woken, Error> {
        let at = on_timer(clock.to_monotonic_ns(instant_ns));
        self.timer
            .set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
            .attempt(|| "cannot set a timer".into())?;
        self.wait_for(self.timer.as_fd())
    }

    /// Sleeps until there is something to read from `fd`.
    pub fn sleep_until_readable(&self, fd: &impl AsFd) -> Result<Woken, Error> {
        self.wait_for(fd.as_fd())
    }

    /// Sleeps until there is something to read from one of `fds`.
    pub fn sleep_until_any_readable<'a>(
        &self,
        fds: impl IntoIterator<Item = BorrowedFd<'a>>,
    ) -> Result<Woken, Error> {
        let bell = PollFd::new(self.bell.as_fd(), PollFlags::POLLIN);
        let fds = fds.into_iter().map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let mut fds: Vec<PollFd<'_>> = fds.chain([bell]).collect();
        wait(&mut fds)
    }

    /// Sleeps until an instant, if there is one, or until there is something to read from `fd`.
    pub fn sleep_until_or_readable(
        &self,
        clock: &RunClock,
        instant_ns: Option<i64>,
        fd: &impl AsFd,
    ) -> Result<Woken, Error> {
        self.sleep_until_monotonic_or_readable(
            instant_ns.map(|instant_ns| clock.to_monotonic_ns(instant_ns)),
            fd,
        )
    }

    /// The same for an instant of `CLOCK_MONOTONIC`.
    pub fn sleep_until_monotonic_or_readable(
        &self,
        instant_ns: Option<i64>,
        fd: &impl AsFd,
    ) -> Result<Woken, Error> {
        match instant_ns.map(on_timer) {
            Some(at) => self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME),
            None => self.timer.unset(),
        }
        .attempt(|| "cannot set a timer".into())?;
        let mut fds = [
            PollFd::new(fd.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.timer.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.bell.as_fd(), PollFlags::POLLIN),
        ];
        wait(&mut fds)
    }

    fn wait_for(&self, fd: BorrowedFd<'_>) -> Result<Woken, Error> {
        let mut fds = [PollFd::new(fd, PollFlags::POLLIN), PollFd::new(self.bell.as_fd(), PollFlags::POLLIN)];
        wait(&mut fds)
    }
}

/// An instant of `CLOCK_MONOTONIC` as a timer wants it.
fn on_timer(instant_ns: i64) -> TimeSpec {
    // An instant of zero or less would disarm the timer.
    let at_ns = instant_ns.max(1);
    TimeSpec::new(at_ns / NS_PER_S, at_ns % NS_PER_S)
}

/// Waits for one of several; the last one is the bell.
fn wait(fds: &mut [PollFd<'_>]) -> Result<Woken, Error> {
    loop {
        match poll(fds, PollTimeout::NONE) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e).attempt(|| "cannot wait for an event".into()),
        }
    }
    let called = fds.last().is_some_and(|bell| bell.any().unwrap_or(false));
    Ok(if called { Woken::Called } else { Woken::Awaited })
}
