//! Errors of this crate, each a sentence that says what would be right.

use std::io;

use restp_proto::{CloseReason, Conflict, ConnectError, ListenError, PathError, SendError, StreamError};
use thiserror::Error;

/// What is said of a call for messages, or for the one stream of a profile without streams.
pub(crate) const STREAMS_INSTEAD: &str = "the connection carries streams of its own: use open_stream and accept_stream, or a profile without streams";

/// Why something did not work.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted, and what to check.
        what: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Raw IP without the right to it.
    #[error(
        "raw IP (protocol 253) needs the capability CAP_NET_RAW: run as root, `setcap cap_net_raw+ep` the program, or \
         use the encapsulation in UDP"
    )]
    NoRawIp,
    /// A name that stands for no usable address.
    #[error("the address stands for no {family} address; the endpoint is bound to {family}, so give it one")]
    NoAddress {
        /// `IPv4` or `IPv6`.
        family: &'static str,
    },
    /// UDP port 0 of a peer, where nobody can listen.
    #[error("nothing can be sent to {0}: UDP port 0 stands for any; name the port that the peer is bound to")]
    NoRemotePort(std::net::SocketAddr),
    /// Services that contradict each other.
    #[error("the profile cannot run: {}", sentences(.0))]
    Profile(Vec<Conflict>),
    /// A connection could not be begun.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A port could not be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A message was not taken.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A path could not be opened, closed or changed.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Something could not be done with a stream of the connection.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Closed(CloseReason),
    /// The peer is there, but nobody listens on the port.
    #[error("{addr} refused the connection: nobody listens on its inner port {port}; check the port")]
    NotListening {
        /// The peer's outer address.
        addr: std::net::SocketAddr,
        /// The inner port that was asked for.
        port: u16,
    },
    /// One end is protected and the other is not, the listener does not take the services of the profile otherwise, or it
    /// has no room; the peer does not say which.
    #[error(
        "{addr} refused the connection: one end has keys and the other none, or the listener on its inner port {port} \
         lacks a service that the profile requires, or can take no more connections; compare the keys of both ends, \
         mark services as dispensable, or try again later"
    )]
    Refused {
        /// The peer's outer address.
        addr: std::net::SocketAddr,
        /// The inner port that was asked for.
        port: u16,
    },
    /// Messages on a stream that cannot be read or written.
    #[error("{0}")]
    Record(String),
    /// A service that has its own call.
    #[error("{0}")]
    WrongService(&'static str),
    /// The endpoint's driver stopped.
    #[error("the endpoint has stopped: {0}; bind a new one")]
    Stopped(String),
    /// All inner ports for outgoing connections are taken.
    #[error(
        "all {0} inner ports for outgoing connections to this peer are in use; close some, or bind a second endpoint"
    )]
    NoPorts(usize),
    /// A call with a limit waited longer than it was told to.
    #[error("nothing happened within {0:?}")]
    TimedOut(std::time::Duration),
}

fn sentences(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl Error {
    /// Wraps what the system said.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// True if the peer or the network broke off what this program began: the peer refused, reset or did not understand a
    /// connection or a stream, or is not heard any more. False for what this program did or was set to, for an end in
    /// which both sides agree ([`CloseReason::Graceful`]), and for keys that do not fit
    /// ([`CloseReason::Unauthenticated`]), which may be wrong on either side.
    #[must_use]
    pub fn is_peer(&self) -> bool {
        match self {
            Self::Closed(reason) => {
                !matches!(reason, CloseReason::Aborted | CloseReason::Graceful | CloseReason::Unauthenticated)
            }
            Self::Stream(error) => matches!(error, StreamError::Reset(_) | StreamError::Stopped(_)),
            other => matches!(other, Self::Refused { .. } | Self::NotListening { .. }),
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { source, .. } => source.kind(),
            Error::NoRawIp => io::ErrorKind::PermissionDenied,
            Error::Connect(ConnectError::InUse)
            | Error::Listen(ListenError::InUse { .. })
            | Error::NoPorts(_) => io::ErrorKind::AddrInUse,
            Error::Connect(ConnectError::TooMany { .. }) => io::ErrorKind::QuotaExceeded,
            Error::NoAddress { .. }
            | Error::NoRemotePort(_)
            | Error::Profile(_)
            | Error::WrongService(_)
            | Error::Connect(_)
            | Error::Listen(_) => io::ErrorKind::InvalidInput,
            Error::Refused { .. } | Error::NotListening { .. } => io::ErrorKind::ConnectionRefused,
            Error::Closed(reason) => kind_of_end(*reason),
            Error::TimedOut(_) => io::ErrorKind::TimedOut,
            Error::Send(SendError::Closed | SendError::Unknown) => io::ErrorKind::BrokenPipe,
            Error::Send(_) | Error::Path(_) | Error::Record(_) => io::ErrorKind::InvalidInput,
            Error::Stream(StreamError::Reset(_)) => io::ErrorKind::ConnectionReset,
            Error::Stream(StreamError::Stopped(_) | StreamError::Unknown) => io::ErrorKind::BrokenPipe,
            Error::Stream(_) => io::ErrorKind::InvalidInput,
            Error::Stopped(_) => io::ErrorKind::NotConnected,
        };
        Self::new(kind, error)
    }
}

fn kind_of_end(reason: CloseReason) -> io::ErrorKind {
    match reason {
        CloseReason::NotListening | CloseReason::Refused | CloseReason::Unreachable => {
            io::ErrorKind::ConnectionRefused
        }
        CloseReason::Reset | CloseReason::Application(_) => io::ErrorKind::ConnectionReset,
        CloseReason::Unauthenticated => io::ErrorKind::PermissionDenied,
        CloseReason::Aborted => io::ErrorKind::ConnectionAborted,
        CloseReason::Graceful => io::ErrorKind::BrokenPipe,
        CloseReason::Violation => io::ErrorKind::InvalidData,
        CloseReason::TimedOut | CloseReason::Idle | CloseReason::Outage => io::ErrorKind::TimedOut,
        _ => io::ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use restp_proto::{Profile, profile::Framing};

    #[test]
    fn all_conflicts_of_a_profile_are_told_in_sentences() {
        let profile = Profile { framing: Framing::Coalesce, ..Profile::voice() };
        let text = Error::Profile(profile.validate().unwrap_err()).to_string();
        assert!(
            text.starts_with("the profile cannot run: A coalesced byte stream has no boundaries"),
            "{text}"
        );
    }

    #[test]
    fn who_is_to_blame_is_the_peer_only_where_that_is_known() {
        let addr = ([192, 0, 2, 1], 7).into();
        for (error, peer) in [
            (Error::Closed(CloseReason::Reset), true),
            (Error::Closed(CloseReason::Application(4)), true),
            (Error::Closed(CloseReason::TimedOut), true),
            (Error::Closed(CloseReason::Violation), true),
            (Error::Closed(CloseReason::Graceful), false),
            (Error::Closed(CloseReason::Aborted), false),
            (Error::Closed(CloseReason::Unauthenticated), false),
            (Error::NotListening { addr, port: 7 }, true),
            (Error::Refused { addr, port: 7 }, true),
            (Error::Stream(StreamError::Reset(4)), true),
            (Error::Stream(StreamError::Stopped(4)), true),
            (Error::Stream(StreamError::Blocked), false),
            (Error::Send(SendError::Empty), false),
            (Error::TimedOut(std::time::Duration::ZERO), false),
        ] {
            assert_eq!(error.is_peer(), peer, "{error}");
        }
    }

    #[test]
    fn the_kind_of_an_io_error_survives() {
        let error: io::Error = Error::Closed(CloseReason::Reset).into();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert!(error.to_string().contains("reset by the peer"), "{error}");
    }

    #[test]
    fn the_kind_of_an_io_error_says_what_to_do_about_it() {
        use io::ErrorKind::{
            AddrInUse, ConnectionRefused, InvalidData, InvalidInput, PermissionDenied, QuotaExceeded,
            TimedOut,
        };
        for (error, kind) in [
            (Error::Connect(ConnectError::InUse), AddrInUse),
            (Error::Connect(ConnectError::TooMany { limit: 1 }), QuotaExceeded),
            (Error::Connect(ConnectError::UnusableKeys), InvalidInput),
            (Error::Listen(ListenError::InUse { port: 7 }), AddrInUse),
            (Error::Listen(ListenError::NoKeys), InvalidInput),
            (Error::Closed(CloseReason::NotListening), ConnectionRefused),
            (Error::Closed(CloseReason::Refused), ConnectionRefused),
            (Error::Closed(CloseReason::Violation), InvalidData),
            (Error::Closed(CloseReason::Unauthenticated), PermissionDenied),
            (Error::Closed(CloseReason::Idle), TimedOut),
        ] {
            let text = error.to_string();
            assert_eq!(io::Error::from(error).kind(), kind, "{text}");
        }
    }
}
