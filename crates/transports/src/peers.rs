//! The two ends of a session: whether a peer is the one that was meant, and sentences for what it does.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use socket2::SockAddr;

use crate::error::Failure;
use crate::session::Session;

/// Whether a session from `peer` is one of the sender that was told to use `source`.
pub(crate) fn same_end(peer: &SockAddr, source: SocketAddr) -> bool {
    peer.as_socket().is_some_and(|peer| {
        // A sender of many sessions leaves its ports to the kernel.
        [peer.port(), 0].contains(&source.port())
            && (source.ip().is_unspecified() || peer.ip() == source.ip())
    })
}

/// The sentence for a connection to `to` that did not come about.
pub(crate) fn connect_failure(to: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            Failure::Refused(format!("refused: nothing listens at {to} or it turned the connection down"))
        }
        ErrorKind::TimedOut => {
            Failure::TimedOut(format!("timed out: {to} did not answer the connection request"))
        }
        _ => Failure::system(format!("no connection to {to}"), error),
    }
}

/// The failure of a sender whose receiver has ended the session before everything was sent.
pub(crate) fn ended_by_the_other_side() -> Failure {
    Failure::Reset("reset: the other side ended the session before everything was sent".to_owned())
}

/// The sentence for a session that broke while `doing`.
pub(crate) fn broken(session: &Session, doing: &str, error: &io::Error) -> Failure {
    if let Some(failure) = session.failure() {
        return failure;
    }
    Failure::broken(format!("while {doing}"), error, || match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused(format!(
            "refused: nothing listens at {} (noticed while {doing})",
            session.ctx.destination
        )),
        ErrorKind::WouldBlock => session.limit_reached(doing),
        _ => Failure::system(format!("the connection broke while {doing}"), error),
    })
}
