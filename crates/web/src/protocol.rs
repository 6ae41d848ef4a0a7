//! The three protocols, by the names of the command line.

use clap::ValueEnum;
use serde::Serialize;

/// What HTTP goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// HTTP/1.1 over TLS over TCP.
    H1,
    /// HTTP/2 over TLS over TCP.
    H2,
    /// HTTP/3 over QUIC.
    H3,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::H1, Self::H2, Self::H3];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }

    /// The name that both ends agree on in the handshake (ALPN; RFC 7301, RFC 9113, RFC 9114).
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Self::H1 => b"http/1.1",
            Self::H2 => b"h2",
            Self::H3 => b"h3",
        }
    }

    /// Whether it goes over QUIC.
    pub fn is_quic(self) -> bool {
        self == Self::H3
    }
}
