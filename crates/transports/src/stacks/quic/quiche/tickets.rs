//! Tickets of a flow's sessions, with which a sender takes up the keys of an earlier session (RFC 8446, section 2.2).

use std::sync::{Mutex, PoisonError};

use quiche::Connection as Quic;

/// What the sender of a flow has to resume a session with. As in the library's own client, a ticket serves until a newer
/// one has come; the receiver takes it each time.
#[derive(Default)]
pub(super) struct Tickets(Mutex<Option<Vec<u8>>>);

impl Tickets {
    /// Keeps the latest ticket that came over a connection, if one did.
    pub(super) fn keep(&self, quic: &Quic) {
        if let Some(ticket) = quic.session() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(ticket.to_vec());
        }
    }

    /// The ticket of the next connection.
    pub(super) fn latest(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
