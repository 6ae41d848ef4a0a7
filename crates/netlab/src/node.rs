//! A node that stands: its namespace, and threads and sockets in it.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::Error;
use crate::namespace::Namespace;
use crate::netlink::Netlink;

/// A node of a network: a namespace.
pub struct Node {
    name: String,
    address: Option<IpAddr>,
    namespace: Namespace,
    netlink: Mutex<Netlink>,
}

impl Node {
    pub(crate) fn new(name: &str, address: Option<IpAddr>) -> Result<Self, Error> {
        let namespace = Namespace::new()?;
        let netlink = namespace.enter(Netlink::open)??;
        Ok(Node { name: name.to_owned(), address, namespace, netlink: Mutex::new(netlink) })
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address by which it is reached, if it has one: the first that the plan gives it.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Runs `f` on the calling thread inside the node. Sockets opened, threads started and programs run by it
    /// belong to the node for good.
    ///
    /// # Errors
    /// [`Error::System`] if the namespace cannot be entered, or what `f` fails with (named after the node).
    pub fn enter<T, E: Into<std::io::Error>>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<T, Error> {
        let result = self.namespace.enter(f)?;
        result.map_err(|e| Error::System { what: format!("node \"{}\"", self.name), source: e.into() })
    }

    /// Starts a thread inside the node.
    ///
    /// # Errors
    /// [`Error::System`] if the thread cannot be started.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, Error> {
        self.namespace.spawn(name, f)
    }

    pub(crate) fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    pub(crate) fn netlink(&self) -> MutexGuard<'_, Netlink> {
        lock(&self.netlink)
    }
}

/// What these mutexes guard is whole at any time, so a panic elsewhere does not spoil it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
