//! Waiting for a socket, with an end and with a way to be called off.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The socket is ready, or has an error to report.
    Ready,
    /// The wait was called off.
    CalledOff,
    /// The time is over.
    TimedOut,
}

/// Waits at most `timeout_ns` for one of `fds`, each with its events (POLLIN, POLLOUT), or until `call_off` can be read.
/// Tells which of them are ready, or have an error to report.
pub(crate) fn wait(
    fds: &[(BorrowedFd<'_>, libc::c_short)],
    call_off: BorrowedFd<'_>,
    timeout_ns: i64,
) -> io::Result<(Woken, Vec<bool>)> {
    let mut polled = vec![PollFd::new(call_off, PollFlags::POLLIN)];
    polled.extend(fds.iter().map(|(fd, events)| PollFd::new(*fd, PollFlags::from_bits_truncate(*events))));
    let timeout = Duration::from_nanos(timeout_ns.max(0) as u64);
    let count = ppoll(&mut polled, Some(timeout.into()), None)?;
    // Events that nix has no name for are an answer too.
    let ready: Vec<bool> = polled.iter().map(|fd| fd.any().unwrap_or(true)).collect();
    let woken = match count {
        0 => Woken::TimedOut,
        _ if ready[0] => Woken::CalledOff,
        _ => Woken::Ready,
    };
    Ok((woken, ready[1..].to_vec()))
}

/// Whether a descriptor has an error to report; does not wait.
pub(crate) fn has_error(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = [PollFd::new(fd, PollFlags::empty())];
    ppoll(&mut polled, Some(Duration::ZERO.into()), None)?;
    Ok(polled[0].revents().is_some_and(|found| found.contains(PollFlags::POLLERR)))
}

/// A switch that many threads can wait for: once thrown it stays thrown.
#[derive(Debug)]
pub(crate) struct Switch(EventFd);

impl Switch {
    /// A switch that has not been thrown.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?))
    }

    /// Wakes everyone who waits, now and later.
    pub(crate) fn throw(&self) {
        // The counter cannot overflow: a flow throws its switch a few times at most.
        let _ = self.0.write(1);
    }

    /// The descriptor to wait for.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
