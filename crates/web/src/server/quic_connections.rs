//! The connections of quinn that are open, and what they took of the datagrams that came.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quinn::Connection;

/// The connections that are open.
#[derive(Default)]
pub(super) struct Connections(Mutex<HashMap<usize, Connection>>);

impl Connections {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(&self, connection: &Connection) {
        self.lock().insert(connection.stable_id(), connection.clone());
    }

    /// Forgets a connection; returns the datagrams that it took.
    pub(super) fn remove(&self, connection: &Connection) -> u64 {
        self.lock().remove(&connection.stable_id());
        taken(connection)
    }

    /// Datagrams that they took, beside the one that opened each, which is counted when it is accepted.
    pub(super) fn datagrams_taken(&self) -> u64 {
        self.lock().values().map(taken).sum()
    }
}

fn taken(connection: &Connection) -> u64 {
    connection.stats().udp_rx.datagrams
}
