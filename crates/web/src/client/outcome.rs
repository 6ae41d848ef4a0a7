//! How a request ended, in one word for all protocols.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind};

use h3::error::StreamError;
use nix::errno::Errno;
use quinn::{ConnectionError, TransportErrorCode};
use serde::Serialize;

/// The word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The whole answer is there.
    Ok,
    /// It was not there when the time was over: the delay is at least that.
    Timeout,
    /// Nobody listens, or a QUIC server refused the connection.
    Refused,
    /// The server reset the connection or the answer.
    Reset,
    /// The server ended the connection before the whole answer was there.
    Closed,
    /// The handshake failed.
    Tls,
    /// The answer is another one than that there is what was asked for.
    Status,
    /// What came is no HTTP.
    Protocol,
    /// The client could not ask: it has no descriptor or port left.
    Local,
}

/// That a request failed, and how.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) outcome: Outcome,
    pub(super) sentence: String,
}

impl Failed {
    pub(super) fn new(outcome: Outcome, sentence: impl Display) -> Self {
        Self { outcome, sentence: sentence.to_string() }
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::new(of_io(&error).unwrap_or(Outcome::Protocol), whole(&error))
    }
}

impl From<hyper::Error> for Failed {
    fn from(error: hyper::Error) -> Self {
        Self::new(of_hyper(&error), whole(&error))
    }
}

impl From<ConnectionError> for Failed {
    fn from(error: ConnectionError) -> Self {
        Self::new(of_quic(&error), whole(&error))
    }
}

impl From<StreamError> for Failed {
    fn from(error: StreamError) -> Self {
        let outcome = match error {
            StreamError::RemoteTerminate { .. } => Outcome::Reset,
            StreamError::RemoteClosing { .. } => Outcome::Closed,
            _ => Outcome::Protocol,
        };
        Self::new(outcome, whole(&error))
    }
}

/// What an error says, and what those say that it came from.
fn whole(error: &dyn Error) -> String {
    let mut sentence = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !sentence.contains(&more) {
            sentence = format!("{sentence}: {more}");
        }
        source = error.source();
    }
    sentence
}

fn of_io(error: &io::Error) -> Option<Outcome> {
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return Some(Outcome::Tls);
    }
    let own = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM, Errno::EADDRNOTAVAIL];
    if error.raw_os_error().is_some_and(|code| own.contains(&Errno::from_raw(code))) {
        return Some(Outcome::Local);
    }
    match error.kind() {
        ErrorKind::ConnectionRefused => Some(Outcome::Refused),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::NotConnected => Some(Outcome::Reset),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionAborted => Some(Outcome::Closed),
        _ => None,
    }
}

fn of_h2(error: &h2::Error) -> Option<Outcome> {
    match error.get_io() {
        Some(error) => of_io(error),
        None if error.is_reset() => Some(Outcome::Reset),
        None if error.is_go_away() => Some(Outcome::Closed),
        None => None,
    }
}

fn of_hyper(error: &hyper::Error) -> Outcome {
    let mut source = error.source();
    while let Some(cause) = source {
        let io = || cause.downcast_ref::<io::Error>().and_then(of_io);
        let known = cause.downcast_ref::<h2::Error>().and_then(of_h2).or_else(io);
        if let Some(outcome) = known {
            return outcome;
        }
        source = cause.source();
    }
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return Outcome::Closed;
    }
    Outcome::Protocol
}

fn of_quic(error: &ConnectionError) -> Outcome {
    let of_code = |code: TransportErrorCode, other| match code {
        TransportErrorCode::CONNECTION_REFUSED => Outcome::Refused,
        // Alerts of TLS (RFC 9001, section 4.8).
        code if (0x100..0x200).contains(&u64::from(code)) => Outcome::Tls,
        _ => other,
    };
    match error {
        ConnectionError::TimedOut => Outcome::Timeout,
        ConnectionError::Reset => Outcome::Reset,
        ConnectionError::ConnectionClosed(close) => of_code(close.error_code, Outcome::Closed),
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => Outcome::Closed,
        ConnectionError::TransportError(error) => of_code(error.code, Outcome::Protocol),
        ConnectionError::VersionMismatch => Outcome::Protocol,
        ConnectionError::CidsExhausted => Outcome::Local,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_has_a_word() {
        let of = |errno: Errno| Failed::from(io::Error::from(errno)).outcome;
        assert_eq!(of(Errno::ECONNREFUSED), Outcome::Refused);
        assert_eq!(of(Errno::ECONNRESET), Outcome::Reset);
        assert_eq!(of(Errno::EPIPE), Outcome::Reset);
        assert_eq!(of(Errno::EMFILE), Outcome::Local);
        assert_eq!(of(Errno::EADDRNOTAVAIL), Outcome::Local);
        assert_eq!(Failed::from(io::Error::from(ErrorKind::UnexpectedEof)).outcome, Outcome::Closed);
        let tls = io::Error::new(ErrorKind::InvalidData, rustls::Error::DecryptError);
        assert_eq!(Failed::from(tls).outcome, Outcome::Tls);
    }

    #[test]
    fn what_quic_says_has_a_word() {
        assert_eq!(Failed::from(ConnectionError::TimedOut).outcome, Outcome::Timeout);
        assert_eq!(Failed::from(ConnectionError::Reset).outcome, Outcome::Reset);
        assert_eq!(Failed::from(ConnectionError::CidsExhausted).outcome, Outcome::Local);
        assert_eq!(Failed::from(ConnectionError::LocallyClosed).outcome, Outcome::Closed);
    }

    #[test]
    fn a_sentence_says_once_what_came_from_what() {
        let inner = io::Error::other("no room");
        assert_eq!(whole(&io::Error::other(inner)), "no room");
    }
}
