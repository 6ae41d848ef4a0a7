//! Network namespaces: making one, and doing things inside it.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread::{self, JoinHandle};

use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;
use crate::error::Attempt;

/// A network namespace; it goes when this and everything opened inside are gone.
#[derive(Debug)]
pub(crate) struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes an empty one. Needs root (`CAP_SYS_ADMIN`) and `/proc`.
    pub fn new() -> Result<Self, Error> {
        let _back = Back { to: current()? };
        unshare(CloneFlags::CLONE_NEWNET)
            .attempt(|| "cannot make a network namespace (are you root?)".into())?;
        Ok(Namespace { fd: current()? })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Runs `f` on the calling thread with this as its namespace, then goes back, also after a panic.
    pub fn enter<T>(&self, f: impl FnOnce() -> T) -> Result<T, Error> {
        let _back = Back { to: current()? };
        setns(&self.fd, CloneFlags::CLONE_NEWNET).attempt(|| "cannot enter a network namespace".into())?;
        Ok(f())
    }

    /// Starts a thread that lives inside.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, Error> {
        // A thread is born in the namespace of the one that starts it.
        self.enter(|| thread::Builder::new().name(name.to_owned()).spawn(f))?
            .attempt(|| format!("cannot start the thread \"{name}\""))
    }
}

/// The namespace of the calling thread.
fn current() -> Result<OwnedFd, Error> {
    let file = File::open("/proc/thread-self/ns/net");
    Ok(file.attempt(|| "cannot open /proc/thread-self/ns/net (is /proc mounted?)".into())?.into())
}

struct Back {
    to: OwnedFd,
}

impl Drop for Back {
    fn drop(&mut self) {
        // Going on in the wrong namespace would wreck whatever comes next, so nothing may come next.
        setns(&self.to, CloneFlags::CLONE_NEWNET)
            .expect("a thread can go back to the namespace that it came from");
    }
}
