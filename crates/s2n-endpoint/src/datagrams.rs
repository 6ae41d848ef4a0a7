//! Datagrams as they are handed to an endpoint, and taken from it.

use std::net::SocketAddr;

/// Octets of the longest UDP payload: an Ethernet frame's 1500 bytes less the headers of IPv4 and UDP.
pub const LONGEST_OCTETS: usize = 1472;

/// A datagram that arrived.
pub struct Datagram<'a> {
    /// Its sender.
    pub from: SocketAddr,
    /// The ECN field of its IP header (RFC 3168).
    pub ecn: u8,
    /// What it holds; the endpoint decrypts it in its place.
    pub octets: &'a mut [u8],
}

/// Datagrams that leave together: all as long as the first, but perhaps the last.
pub struct Batch<'a> {
    /// Whom they are for.
    pub to: SocketAddr,
    /// The ECN field of their IP headers.
    pub ecn: u8,
    /// Octets of the first.
    pub segment_octets: usize,
    /// One behind the other.
    pub octets: &'a [u8],
}

/// Where the datagrams of an endpoint go.
pub trait Outlet {
    /// Datagrams that one batch may hold.
    fn segments(&self) -> usize;

    /// Whether it takes no more now.
    fn is_full(&self) -> bool;

    /// Takes a batch.
    fn send(&mut self, batch: &Batch<'_>);
}
