//! What all connections of a server share, and who is let in.

use std::sync::Arc;

use super::quic_connections::Connections;
use crate::counters::{Counters, Gauge, Inside};
use crate::limits::{Limit, Limits};
use crate::site::Site;

/// What all connections share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) counters: Arc<Counters>,
    pub(super) site: Site,
    pub(super) early_data: bool,
    /// Those of quinn, which counts what they take by itself.
    pub(super) quic: Connections,
}

impl Shared {
    /// Whether a client whose address is not validated is sent a Retry packet.
    pub(super) fn retries(&self) -> bool {
        let in_flight = usize::try_from(self.counters.handshakes.now()).unwrap_or(usize::MAX);
        self.limits.retry.applies(in_flight)
    }

    /// Lets a connection in, unless there are as many as may be.
    pub(super) fn admit(&self) -> Result<Admitted, Limit> {
        let at = |gauge: &Gauge, bound: usize| usize::try_from(gauge.now()).is_ok_and(|now| now >= bound);
        let counters = &self.counters;
        let full = if at(&counters.connections, self.limits.connections) {
            Some(Limit::Connections)
        } else if at(&counters.handshakes, self.limits.handshakes_in_flight) {
            Some(Limit::HandshakesInFlight)
        } else {
            None
        };
        if let Some(limit) = full {
            counters.refuse(limit);
            return Err(limit);
        }
        counters.handshakes_begun.one();
        Ok(Admitted {
            counters: Arc::clone(counters),
            open: Gauge::enter(&counters.connections),
            handshake: Gauge::enter(&counters.handshakes),
        })
    }
}

/// A connection in its handshake.
pub(super) struct Admitted {
    counters: Arc<Counters>,
    open: Inside,
    handshake: Inside,
}

impl Admitted {
    /// The handshake is over; the connection is open as long as what is returned.
    pub(super) fn completed(self) -> Inside {
        self.counters.handshakes_completed.one();
        drop(self.handshake);
        self.open
    }

    /// The handshake failed, perhaps because a limit ended it.
    pub(super) fn failed(self, limit: Option<Limit>) {
        self.counters.handshakes_failed.one();
        if let Some(limit) = limit {
            self.counters.refuse(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(connections: usize, handshakes_in_flight: usize) -> Shared {
        Shared {
            limits: Limits { connections, handshakes_in_flight, ..Limits::default() },
            ..Shared::default()
        }
    }

    #[test]
    fn as_many_handshakes_are_let_in_as_may_be_in_flight() {
        let shared = shared(10, 2);
        let first = shared.admit().expect("there is room");
        let _second = shared.admit().expect("there is room");
        assert_eq!(shared.admit().err(), Some(Limit::HandshakesInFlight));
        let _open = first.completed();
        let third = shared.admit().expect("one is over");
        third.failed(Some(Limit::HandshakeTimeout));
        let counters = &shared.counters;
        assert_eq!((counters.handshakes_begun.get(), counters.handshakes_completed.get()), (3, 1));
        assert_eq!((counters.handshakes_failed.get(), counters.handshakes.now()), (1, 1));
        assert_eq!(counters.connections.now(), 2);
        assert_eq!(Limit::ALL.map(|limit| counters.refused(limit)), [0, 1, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn as_many_connections_are_let_in_as_may_be_open() {
        let shared = shared(2, 10);
        let open = shared.admit().expect("there is room").completed();
        let _in_its_handshake = shared.admit().expect("there is room");
        assert_eq!(shared.admit().err(), Some(Limit::Connections));
        drop(open);
        assert!(shared.admit().is_ok());
    }
}
