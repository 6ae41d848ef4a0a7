//! What came of a start.

use std::borrow::Cow;
use std::io;

/// What came of a start: all that is not [`Outcome::Ok`] counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was to do: a handshake or a request was answered, a frame went out.
    Ok,
    /// The time-out passed first.
    Timeout,
    /// Nobody listens there, or nobody took the connection.
    Refused,
    /// The server reset the connection (in QUIC by a stateless reset) or the stream.
    Reset,
    /// The server closed the connection, in QUIC and HTTP/2 with this error code.
    Closed(Option<u64>),
    /// What wanted an answer got none: in QUIC a server may end a connection without a word.
    Silent,
    /// TLS failed.
    Tls,
    /// The server answered with another status than 200.
    Status,
    /// The server answered a request that was not whole.
    Answered,
    /// The server's limits left no room for it: no stream to open, or no connection.
    Blocked,
    /// This machine had no port, descriptor or memory for it: the attacker's fault, not the server's.
    Local,
}

impl Outcome {
    /// The word in the log.
    #[must_use]
    pub fn key(self) -> Cow<'static, str> {
        match self {
            Self::Ok => "ok".into(),
            Self::Timeout => "timeout".into(),
            Self::Refused => "refused".into(),
            Self::Reset => "reset".into(),
            Self::Closed(None) => "closed".into(),
            Self::Closed(Some(code)) => format!("closed_{code:#x}").into(),
            Self::Silent => "silent".into(),
            Self::Tls => "tls".into(),
            Self::Status => "status".into(),
            Self::Answered => "answered".into(),
            Self::Blocked => "blocked".into(),
            Self::Local => "local".into(),
        }
    }
}

impl From<io::Error> for Outcome {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Refused,
            io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
                Self::Reset
            }
            io::ErrorKind::UnexpectedEof => Self::Closed(None),
            io::ErrorKind::TimedOut => Self::Timeout,
            _ => Self::Local,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_ports_is_the_attackers_fault() {
        let no_port = io::Error::from(nix::errno::Errno::EADDRNOTAVAIL);
        assert_eq!(Outcome::from(no_port), Outcome::Local);
        assert_eq!(Outcome::from(io::Error::from(io::ErrorKind::ConnectionRefused)), Outcome::Refused);
    }

    #[test]
    fn an_error_code_stands_in_the_log() {
        assert_eq!(Outcome::Closed(Some(10)).key(), "closed_0xa");
    }
}
