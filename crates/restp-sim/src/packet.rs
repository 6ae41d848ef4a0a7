//! Packets as the network sees them.

use std::net::SocketAddr;

use restp_proto::{Ecn, Instant};

/// One datagram on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Where it comes from.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// ECN field; links may change `Ect0` and `Ect1` to `Ce`.
    pub ecn: Ecn,
    /// Transport header and payload, without IP and UDP.
    pub data: Vec<u8>,
}

/// A packet that a host hands over.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The packet.
    pub packet: Packet,
    /// When it leaves the host; at once if that is in the past.
    pub release_at: Instant,
}
