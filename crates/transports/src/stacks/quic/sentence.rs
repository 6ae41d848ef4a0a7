//! Sentences for QUIC connections that do not come about or break.

use std::net::SocketAddr;

use rustls::{AlertDescription, CertificateError, Error};

use crate::error::Failure;
use crate::secure::tls_failure;

/// Why a connection is over, in words that the libraries share.
pub(super) enum Loss {
    /// This end gave the handshake or the connection up: a TLS alert, or an error of QUIC in the library's words.
    Local(Cause),
    /// The other end did.
    Remote(Cause),
    /// The other application closed the connection with this code.
    Application(u64),
    /// The other side does not know the connection any more (a stateless reset).
    Reset,
    /// Nothing was heard for the idle time-out.
    TimedOut,
    /// The library's own words.
    Other(String),
}

/// What was wrong.
pub(super) enum Cause {
    /// TLS alert (RFC 9001, section 4.8).
    Alert(u8),
    /// Another error.
    Quic(String),
}

impl Cause {
    /// The cause behind a transport error code (RFC 9000, section 20.1), which the library explains in `words`.
    pub(super) fn of_code(code: u64, words: String) -> Self {
        match code {
            0x100..=0x1ff => Self::Alert(code as u8),
            _ => Self::Quic(words),
        }
    }
}

/// The failure of a connection that was lost while `doing` something ("the handshake", "sending").
pub(super) fn lost(doing: &str, loss: Loss) -> Failure {
    match loss {
        Loss::Local(Cause::Alert(alert)) => tls_failure(doing, &refusal(AlertDescription::from(alert))),
        Loss::Remote(Cause::Alert(alert)) => tls_failure(doing, &Error::AlertReceived(alert.into())),
        Loss::Local(Cause::Quic(words)) => Failure::new(format!("{doing} failed: {words}")),
        Loss::Remote(Cause::Quic(words)) => {
            Failure::Echo(format!("{doing} failed: the other side broke the connection off ({words})"))
        }
        Loss::Application(code) => Failure::reset(format!("(code {code}) while {doing} was under way")),
        Loss::Reset => Failure::Reset(format!(
            "reset: the other side does not know the connection any more (noticed while {doing} was under way)"
        )),
        Loss::TimedOut => Failure::timed_out(format!("while {doing} was under way")),
        Loss::Other(words) => Failure::new(format!("{doing} failed: {words}")),
    }
}

/// The failure of a connection of which nobody took notice.
pub(super) fn unanswered(to: SocketAddr) -> Failure {
    Failure::TimedOut(format!(
        "timed out: {to} did not answer the connection request (nothing listens there, or nothing gets through)"
    ))
}

/// What made this end send an alert.
fn refusal(alert: AlertDescription) -> Error {
    match alert {
        AlertDescription::UnknownCA => Error::InvalidCertificate(CertificateError::UnknownIssuer),
        AlertDescription::CertificateExpired => Error::InvalidCertificate(CertificateError::Expired),
        AlertDescription::CertificateRequired => Error::NoCertificatesPresented,
        other => Error::General(format!("this side sent the alert {other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_refused_certificate_say_whose_fault_it_was() {
        let here = lost("the handshake", Loss::Local(Cause::of_code(0x130, String::new())));
        let there = lost("the handshake", Loss::Remote(Cause::of_code(0x130, String::new())));
        assert!(matches!((&here, &there), (Failure::Other(_), Failure::Echo(_))));
        let (here, there) = (here.to_string(), there.to_string());
        assert!(here.contains("signed by an authority that is not trusted here"), "{here}");
        assert!(there.contains("the other side turned it down"), "{there}");
    }

    #[test]
    fn errors_of_quic_keep_the_words_of_the_library() {
        let words = lost("sending", Loss::Remote(Cause::of_code(0x3, "flow control".into()))).to_string();
        assert!(words.contains("flow control"), "{words}");
    }
}
