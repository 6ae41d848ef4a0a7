//! Waiting for a socket, with an end and with a way to be called off.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

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

/// Waits at most `timeout_ns` for `events` (POLLIN, POLLOUT) on one of `fds`, or until `call_off` can be read.
pub(crate) fn wait(
    fds: &[BorrowedFd<'_>],
    events: libc::c_short,
    call_off: BorrowedFd<'_>,
    timeout_ns: i64,
) -> io::Result<Woken> {
    let fds: Vec<_> = fds.iter().map(|fd| (*fd, events)).collect();
    wait_each(&fds, call_off, timeout_ns).map(|(woken, _)| woken)
}

/// The same where each descriptor has events of its own. Tells which of them are ready, or have an error to report.
pub(crate) fn wait_each(
    fds: &[(BorrowedFd<'_>, libc::c_short)],
    call_off: BorrowedFd<'_>,
    timeout_ns: i64,
) -> io::Result<(Woken, Vec<bool>)> {
    let switch = libc::pollfd { fd: call_off.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut polled = vec![switch];
    polled.extend(fds.iter().map(|(fd, events)| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: *events,
        revents: 0,
    }));
    let timeout_ns = timeout_ns.max(0);
    let timeout = libc::timespec { tv_sec: timeout_ns / 1_000_000_000, tv_nsec: timeout_ns % 1_000_000_000 };
    // SAFETY: the structures live across the call and the count is theirs.
    let ready =
        unsafe { libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &timeout, std::ptr::null()) };
    let woken = match ready {
        0 => Woken::TimedOut,
        1.. if polled[0].revents != 0 => Woken::CalledOff,
        1.. => Woken::Ready,
        _ => return Err(io::Error::last_os_error()),
    };
    Ok((woken, polled[1..].iter().map(|fd| fd.revents != 0).collect()))
}

/// A switch that many threads can wait for: once thrown it stays thrown.
#[derive(Debug)]
pub(crate) struct Switch(OwnedFd);

impl Switch {
    /// A switch that has not been thrown.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes two integers and returns a new descriptor or -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and owned by nothing else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes everyone who waits, now and later.
    pub(crate) fn throw(&self) {
        let one = 1_u64;
        // SAFETY: an eventfd takes the eight bytes of an integer. The counter cannot overflow: a flow throws
        // its switch a few times at most.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// The descriptor to wait for.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }
}
