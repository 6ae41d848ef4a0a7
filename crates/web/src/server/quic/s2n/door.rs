//! Who is let in, and what came of it.
//!
//! The library asks about a first packet before it makes a connection of it, and tells of the connection right after
//! that. Whose packet brings the token of a Retry it does not ask about, so that tokens have to ask.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use s2n_quic::connection::Error;
use s2n_quic::provider::address_token::{self, Context, Format, Provider as _};
use s2n_quic::provider::endpoint_limits::{ConnectionAttempt, Limiter, Outcome};
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic_core::connection::{InitialId, LocalId};

use crate::counters::Inside;
use crate::limits::Limit;
use crate::server::shared::{Admitted, Shared};

/// Lets connections in, and follows their handshakes.
#[derive(Clone)]
pub(super) struct Door {
    shared: Arc<Shared>,
    /// Who was let in and is no connection yet.
    admitted: Arc<Mutex<Option<Admitted>>>,
}

impl Door {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), admitted: Arc::default() }
    }

    /// Whether there is room for a connection; then it is one of those that are let in.
    fn admits(&self) -> bool {
        let admitted = self.shared.admit().ok();
        let room = admitted.is_some();
        *self.admitted.lock().unwrap_or_else(PoisonError::into_inner) = admitted;
        room
    }

    fn take(&self) -> Option<Admitted> {
        self.admitted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Limiter for Door {
    fn on_connection_attempt(&mut self, _: &ConnectionAttempt<'_>) -> Outcome {
        if self.shared.retries() {
            Outcome::retry()
        } else if self.admits() {
            Outcome::allow()
        } else {
            Outcome::close()
        }
    }
}

/// The library's tokens, for clients that there is room for. One whose client was turned away is used up.
pub(super) struct Tokens {
    inner: address_token::default::Format,
    door: Door,
}

impl Tokens {
    pub(super) fn new(door: &Door) -> Self {
        let Ok(inner) = address_token::Default::default().start();
        Self { inner, door: door.clone() }
    }
}

impl address_token::Provider for Tokens {
    type Format = Self;
    type Error = Infallible;

    fn start(self) -> Result<Self, Infallible> {
        Ok(self)
    }
}

impl Format for Tokens {
    const TOKEN_LEN: usize = address_token::default::Format::TOKEN_LEN;

    fn generate_new_token(
        &mut self,
        context: &mut Context<'_>,
        source: &LocalId,
        token: &mut [u8],
    ) -> Option<()> {
        self.inner.generate_new_token(context, source, token)
    }

    fn generate_retry_token(
        &mut self,
        context: &mut Context<'_>,
        original_destination: &InitialId,
        token: &mut [u8],
    ) -> Option<()> {
        self.inner.generate_retry_token(context, original_destination, token)
    }

    fn validate_token(&mut self, context: &mut Context<'_>, token: &[u8]) -> Option<InitialId> {
        let original_destination = self.inner.validate_token(context, token)?;
        self.door.admits().then_some(original_destination)
    }
}

/// How far a connection is.
pub(super) enum Progress {
    /// In its handshake.
    Handshake(Admitted),
    /// Its handshake is over, and nobody took it yet.
    Open(Inside),
    /// It was taken, or is over.
    Over,
}

impl Progress {
    fn replace(&mut self, next: impl FnOnce(Self) -> Self) {
        *self = next(std::mem::replace(self, Self::Over));
    }

    fn complete(&mut self) {
        self.replace(|now| match now {
            Self::Handshake(admitted) => Self::Open(admitted.completed()),
            other => other,
        });
    }

    fn close(&mut self, limit: Option<Limit>) {
        if let Self::Handshake(admitted) = std::mem::replace(self, Self::Over) {
            admitted.failed(limit);
        }
    }

    /// That the connection is open, as long as what is returned; nothing if it no longer is.
    pub(super) fn take_open(&mut self) -> Option<Inside> {
        match std::mem::replace(self, Self::Over) {
            Self::Open(open) => Some(open),
            Self::Handshake(_) | Self::Over => None,
        }
    }
}

impl Subscriber for Door {
    type ConnectionContext = Progress;

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo<'_>) -> Progress {
        self.take().map_or(Progress::Over, Progress::Handshake)
    }

    fn on_datagram_received(&mut self, _: &mut Progress, _: &ConnectionMeta, _: &events::DatagramReceived) {
        self.shared.counters.datagrams_taken.one();
    }

    fn on_handshake_status_updated(
        &mut self,
        progress: &mut Progress,
        _: &ConnectionMeta,
        event: &events::HandshakeStatusUpdated,
    ) {
        if matches!(event.status, events::HandshakeStatus::Complete { .. }) {
            progress.complete();
        }
    }

    fn on_connection_closed(
        &mut self,
        progress: &mut Progress,
        _: &ConnectionMeta,
        event: &events::ConnectionClosed,
    ) {
        let late = matches!(event.error, Error::MaxHandshakeDurationExceeded { .. });
        progress.close(late.then_some(Limit::HandshakeTimeout));
    }

    fn on_endpoint_packet_sent(&mut self, _: &events::EndpointMeta, event: &events::EndpointPacketSent) {
        if matches!(event.packet_header, events::PacketHeader::Retry { .. }) {
            self.shared.counters.retries.one();
        }
    }

    /// The packet that was let in is none of a client's first.
    fn on_endpoint_connection_attempt_failed(
        &mut self,
        _: &events::EndpointMeta,
        _: &events::EndpointConnectionAttemptFailed,
    ) {
        if let Some(admitted) = self.take() {
            admitted.failed(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn door(handshakes_in_flight: usize) -> Door {
        let limits = Limits { handshakes_in_flight, ..Limits::default() };
        Door::new(&Arc::new(Shared { limits, ..Shared::default() }))
    }

    fn begin(door: &Door) -> Progress {
        assert!(door.admits());
        door.take().map_or(Progress::Over, Progress::Handshake)
    }

    #[test]
    fn who_was_let_in_counts_until_its_handshake_is_over_and_then_as_open() {
        let door = door(1);
        let counters = &door.shared.counters;
        let mut progress = begin(&door);
        assert!(!door.admits() && door.take().is_none());
        assert_eq!(counters.refused(Limit::HandshakesInFlight), 1);
        progress.complete();
        let open = progress.take_open();
        assert!(open.is_some() && progress.take_open().is_none());
        assert_eq!((counters.handshakes_completed.get(), counters.handshakes.now()), (1, 0));
        assert_eq!(counters.connections.now(), 1);
        progress.close(None);
        drop(open);
        assert_eq!((counters.handshakes_failed.get(), counters.connections.now()), (0, 0));
    }

    #[test]
    fn a_connection_that_is_closed_before_failed_once_and_says_for_which_limit() {
        let door = door(10);
        let counters = &door.shared.counters;
        let mut progress = begin(&door);
        progress.close(Some(Limit::HandshakeTimeout));
        progress.close(Some(Limit::HandshakeTimeout));
        assert_eq!((counters.handshakes_failed.get(), counters.refused(Limit::HandshakeTimeout)), (1, 1));
        let mut untaken = begin(&door);
        untaken.complete();
        untaken.close(None);
        assert_eq!((counters.handshakes_failed.get(), counters.connections.now()), (1, 0));
    }
}
