//! QUIC version 1 on the wire (RFC 9000, RFC 9001): as much as an attacker needs, on the keys of [`rustls::quic`].

pub mod frame;
pub mod initial;
pub mod packet;
pub mod ranges;
pub mod transport_parameters;
pub mod varint;

use std::fmt;

/// QUIC's version 1.
pub const VERSION_1: u32 = 1;

/// A datagram that carries an Initial has to be at least as long (RFC 9000, section 14.1), and every path carries it.
pub const DATAGRAM_OCTETS: usize = 1200;

/// What a stateless reset ends with: a server gives one to each of its connection IDs (RFC 9000, section 10.3).
pub type ResetToken = [u8; 16];

/// A connection ID: 0 to 20 octets.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    octets: [u8; Self::MOST_OCTETS],
    length: u8,
}

impl ConnectionId {
    /// The longest of version 1.
    pub const MOST_OCTETS: usize = 20;

    /// Of these octets; none if they are too many.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut id = Self { octets: [0; Self::MOST_OCTETS], length: octets.len() as u8 };
        id.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(id)
    }

    /// Of eight octets, as this crate's own are.
    #[must_use]
    pub fn of(value: [u8; 8]) -> Self {
        let mut id = Self { octets: [0; Self::MOST_OCTETS], length: 8 };
        id.octets[..8].copy_from_slice(&value);
        id
    }

    /// Its octets.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Packets are numbered and protected apart in three spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The first words, under keys that all can know.
    Initial,
    /// The rest of the handshake.
    Handshake,
    /// Everything else (1-RTT).
    Data,
}

impl Space {
    /// In the order in which keys come.
    pub const ALL: [Self; 3] = [Self::Initial, Self::Handshake, Self::Data];
}
