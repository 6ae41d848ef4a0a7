//! Outer addresses of a path, and packets ready for the network.

use std::net::SocketAddr;

use crate::time::Instant;

/// The two ends of a path as the network sees them. Over raw IP the ports are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathAddr {
    /// Our address.
    pub local: SocketAddr,
    /// The peer's address.
    pub remote: SocketAddr,
}

/// Names a path within its connection: 0 is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u8);

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 1.
    Ect1,
    /// ECN-capable, codepoint 0.
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits of the IP header; the others of `bits` are ignored.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// The two bits of the IP header.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }
}

/// One or more packets for the same path, written to the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// Where they go.
    pub path: PathAddr,
    /// How they are marked.
    pub ecn: Ecn,
    /// Bytes that were appended to the buffer.
    pub size_bytes: usize,
    /// Length of each packet in bytes; the last may be shorter. Equal to `size_bytes` if there is one packet.
    pub segment_size: usize,
    /// When the first packet should leave; not later than the time passed in plus
    /// [`crate::EndpointConfig::release_horizon`].
    pub release_at: Instant,
}
