//! Settings of an endpoint: limits on everything that a peer can make grow, and its place below.

use std::net::IpAddr;
use std::time::Duration;

use crate::path::PathAddr;
use crate::protected::Keys;
use crate::wire::{IP_PROTOCOL, PseudoHeader};

/// What carries ResTP packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
// R-ENCAP-1, R-ENCAP-2
pub enum Encapsulation {
    /// UDP payloads (answer K2).
    Udp,
    /// IP payloads, protocol number 253 (answer K1).
    RawIp,
}

impl Encapsulation {
    /// Builds the pseudo-header of packets that *leave* on a path.
    pub(crate) fn outgoing(self) -> fn(&PathAddr) -> Option<PseudoHeader> {
        match self {
            Self::Udp => |_| None,
            Self::RawIp => |addr| between(addr.local.ip(), addr.remote.ip()),
        }
    }

    /// Builds the pseudo-header of packets that *arrived* on a path.
    pub(crate) fn incoming(self) -> fn(&PathAddr) -> Option<PseudoHeader> {
        match self {
            Self::Udp => |_| None,
            Self::RawIp => |addr| between(addr.remote.ip(), addr.local.ip()),
        }
    }
}

fn between(source: IpAddr, destination: IpAddr) -> Option<PseudoHeader> {
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            Some(PseudoHeader::V4 { source, destination, protocol: IP_PROTOCOL })
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            Some(PseudoHeader::V6 { source, destination, protocol: IP_PROTOCOL })
        }
        _ => None,
    }
}

/// Settings of an endpoint. The values named are the defaults.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// What carries the packets: UDP.
    pub encapsulation: Encapsulation,
    /// Connections at the same time, at most: 65,536.
    pub max_connections: usize,
    /// Connections that hold a slot before their peer has proven itself (opportunistic and protected), at most: 1024. Protected
    /// ones are asked for a cookie from half of it on; beyond it opportunistic ones get the three-way treatment.
    pub max_half_open: usize,
    /// Of these, from one address (IPv6: from the same 64 bits), at most: 64; as many again with a proven address.
    pub max_half_open_per_address: usize,
    /// Protected handshakes of peers without the right keys that are computed per second, at most: 100; a tenth of them at
    /// once. Beyond it a cookie is asked for first, and who shows one may fail a tenth as often for each address (IPv6: for the
    /// same 64 bits), once a second at least. 0 asks everybody for a cookie.
    pub max_failed_openings_per_s: u32,
    /// How long a protected connection may take to be proven: 10 s.
    pub half_open_lifetime: Duration,
    /// Openings remembered against replay, at most, of each kind: 65,536; beyond, opportunistic ones get the three-way treatment
    /// (answer D9) and the oldest protected ones are forgotten.
    pub max_replay_entries: usize,
    /// Three-way openings remembered while their first packets could open another connection, at most: 1,048,576. Beyond, the secret
    /// behind initial numbers changes: handshakes under way fail, old packets open nothing.
    pub max_openings: usize,
    /// How long a cookie is good: 24 hours (answer D8).
    pub cookie_lifetime: Duration,
    /// Cookies of servers that a client remembers, at most: 1024.
    pub max_cached_cookies: usize,
    /// Closed connections remembered for 2 MSL, at most: 16,384; the oldest are forgotten first (answer D12).
    pub max_lingering: usize,
    /// Connectionless messages that wait to be read, per port, at most: 1024.
    pub max_datagrams: usize,
    /// SYN-ACKs per second to peers without state, at most: 10,000; a tenth of them at once.
    pub max_syn_acks_per_s: u32,
    /// Cookies granted per second, at most: 10,000; a tenth of them at once.
    pub max_cookies_per_s: u32,
    /// Resets per second for what belongs to nothing, at most: 1000; a tenth of them at once.
    pub max_resets_per_s: u32,
    /// How far ahead of time packets may be handed over with a release time.
    ///
    /// Zero, the default, unless the socket layer can hold packets back (`SO_TXTIME`, or its own queue).
    pub release_horizon: Duration,
    /// Keys of the protected profile: none.
    pub keys: Option<Keys>,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            encapsulation: Encapsulation::Udp,
            max_connections: 65_536,
            max_half_open: 1024,
            max_half_open_per_address: 64,
            max_failed_openings_per_s: 100,
            half_open_lifetime: Duration::from_secs(10),
            max_replay_entries: 65_536,
            max_openings: 1 << 20,
            cookie_lifetime: Duration::from_secs(24 * 3600),
            max_cached_cookies: 1024,
            max_lingering: 16_384,
            max_datagrams: 1024,
            max_syn_acks_per_s: 10_000,
            max_cookies_per_s: 10_000,
            max_resets_per_s: 1000,
            release_horizon: Duration::ZERO,
            keys: None,
        }
    }
}
