//! The clock of an endpoint: protocol instants from the monotonic clock, and a timer finer than a millisecond.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use restp_proto::Instant;
use tokio::io::unix::AsyncFd;

use crate::error::Error;
use crate::fd::{Owned, register};

/// Counts from the creation of the endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    pub fn start() -> Self {
        Self { origin: std::time::Instant::now() }
    }

    pub fn now(&self) -> Instant {
        Instant::ZERO + self.origin.elapsed()
    }
}

/// What `future` answers, or [`Error::TimedOut`] once `limit` has passed.
pub(crate) async fn within<T>(
    limit: Duration,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut future = pin!(future);
    let no_timer = || Error::io("cannot create a timer; the system has no file descriptors left");
    let clock = Clock::start();
    let end = clock.now() + limit;
    let mut timer = Timer::new().map_err(no_timer())?;
    timer.arm(clock.now(), end).map_err(no_timer())?;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(output);
        }
        timer.poll(cx).map(|fired| Err(fired.map_or_else(no_timer(), |()| Error::TimedOut(limit))))
    })
    .await
}

/// One deadline that wakes a task. Built on `timerfd`, because the runtime's own timers count in whole milliseconds,
/// in which a paced sender at 1 Gbit/s has eighty packets to send.
pub(crate) struct Timer {
    fd: AsyncFd<Owned<TimerFd>>,
    /// When it will fire: never later than the deadline that was asked for.
    armed: Option<Instant>,
}

impl Timer {
    pub fn new() -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let fd = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        Ok(Self { fd: register(fd)?, armed: None })
    }

    /// Fires at `deadline` at the latest. An earlier deadline that was asked for before is kept: firing once in vain is
    /// cheaper than a system call whenever a retransmission timer moves back.
    pub fn arm(&mut self, now: Instant, deadline: Instant) -> io::Result<()> {
        if self.armed.is_some_and(|armed| armed <= deadline) {
            return Ok(());
        }
        // Zero would switch the timer off.
        let wait = deadline.saturating_since(now).max(Duration::from_nanos(1));
        self.fd
            .get_ref()
            .set(Expiration::OneShot(TimeSpec::from_duration(wait)), TimerSetTimeFlags::empty())?;
        self.armed = Some(deadline);
        Ok(())
    }

    /// Ready when it has fired.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut guard = match self.fd.poll_read_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending => return Poll::Pending,
            };
            if let Ok(result) = guard.try_io(|fd| fd.get_ref().wait().map_err(io::Error::from)) {
                self.armed = None;
                return Poll::Ready(result);
            }
        }
    }
}
