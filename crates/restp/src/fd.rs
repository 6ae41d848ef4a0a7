//! File descriptors in the runtime's reactor: the one place of this crate that promises something to the compiler.
#![allow(unsafe_code)]

use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use nix::sys::timerfd::TimerFd;
use tokio::io::unix::AsyncFd;

/// Owns a file descriptor; gives access to the inner value only by shared reference, so it cannot be exchanged.
pub(crate) struct Owned<T>(T);

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: AsFd> AsRawFd for Owned<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Types that keep the same descriptor open as long as they live.
pub(crate) trait KeepsFd: AsFd {}

impl KeepsFd for TimerFd {}
impl KeepsFd for socket2::Socket {}

/// Lets the current runtime watch `inner` for reading and writing.
///
/// # Errors
/// What the reactor says, for instance that no more descriptors can be watched.
pub(crate) fn register<T: KeepsFd>(inner: T) -> io::Result<AsyncFd<Owned<T>>> {
    // SAFETY: a `KeepsFd` owns its descriptor and keeps it open while it lives, and `Owned` never gives out a mutable
    // reference through which it could be exchanged for another.
    unsafe { AsyncFd::register(Owned(inner)) }.map_err(|error| error.into_parts().1)
}
