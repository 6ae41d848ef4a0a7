//! ResTP endpoints in the simulator, and a ready-made pair of them.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use restp_proto::wire::{Flags, Packet as Decoded};
use restp_proto::{
    CloseReason, ConnId, Endpoint, EndpointConfig, Event, EventKind, Instant, Message, PathAddr, Profile,
    SendError, SendOptions,
};

use crate::link::{LinkConfig, LinkId};
use crate::network::{Host, HostId, Network};
use crate::packet::{Outgoing, Packet};

/// Inner port on which servers of this module listen.
pub const SERVER_PORT: u16 = 7;
/// UDP port of all hosts.
pub const UDP_PORT: u16 = restp_proto::wire::UDP_PORT;
/// Segments that one call may produce, as with segmentation offload.
const SEGMENTS: usize = 10;

/// A host with a ResTP endpoint; its application is whoever holds the network.
#[derive(Debug)]
pub struct RestpHost {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Events in the order in which they came.
    pub events: Vec<Event>,
    buffer: Vec<u8>,
    waiting: VecDeque<Outgoing>,
}

impl RestpHost {
    /// A host around `endpoint`.
    #[must_use]
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, events: Vec::new(), buffer: Vec::new(), waiting: Default::default() }
    }

    /// Takes the events that came so far.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

impl Host for RestpHost {
    fn receive(&mut self, now: Instant, packet: &Packet) {
        let path = PathAddr { local: packet.destination, remote: packet.source };
        self.endpoint.handle(now, path, packet.ecn, &packet.data);
    }

    fn transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if self.waiting.is_empty() {
            self.buffer.clear();
            if let Some(transmit) = self.endpoint.poll_transmit(now, SEGMENTS, &mut self.buffer) {
                for segment in self.buffer[..transmit.size_bytes].chunks(transmit.segment_size) {
                    self.waiting.push_back(Outgoing {
                        packet: Packet {
                            source: transmit.path.local,
                            destination: transmit.path.remote,
                            ecn: transmit.ecn,
                            data: segment.to_vec(),
                        },
                        release_at: transmit.release_at,
                    });
                }
            }
        }
        let next = self.waiting.pop_front();
        if next.is_none() {
            while let Some(event) = self.endpoint.poll_event() {
                self.events.push(event);
            }
        }
        next
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.endpoint.poll_timeout()
    }

    fn wake(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }
}

/// True if the packet has exactly these control flags among SYN, ACK, FIN, RST.
pub fn has_flags(packet: &Packet, flags: Flags) -> bool {
    Decoded::decode(&packet.data, None)
        .is_ok_and(|decoded| decoded.packet.header.flags & Flags::CONTROL == flags)
}

/// True if the packet carries application data.
pub fn has_payload(packet: &Packet) -> bool {
    Decoded::decode(&packet.data, None).is_ok_and(|decoded| !decoded.packet.payload.is_empty())
}

/// Address of the client on path `index`.
#[must_use]
pub fn client_ip(index: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, index, 0, 1))
}

/// Address of the server on path `index`.
#[must_use]
pub fn server_ip(index: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, index, 0, 2))
}

/// Both ends of path `index`, seen from the client.
#[must_use]
pub fn client_path(index: u8) -> PathAddr {
    PathAddr {
        local: SocketAddr::new(client_ip(index), UDP_PORT),
        remote: SocketAddr::new(server_ip(index), UDP_PORT),
    }
}

/// A client and a server with one or more paths between them.
#[derive(Debug)]
pub struct Pair {
    /// The network.
    pub net: Network<RestpHost>,
    /// The host that connects.
    pub client: HostId,
    /// The host that listens on [`SERVER_PORT`].
    pub server: HostId,
    /// For each path the link to the server and the link back.
    pub links: Vec<(LinkId, LinkId)>,
    profile: Profile,
    next_port: u16,
}

impl Pair {
    /// A pair with one path, the same in both directions; the server takes its local settings from `profile` too.
    ///
    /// # Panics
    /// If the profile is not valid.
    #[must_use]
    pub fn new(seed: u64, profile: &Profile, link: &LinkConfig) -> Self {
        Self::with_paths(seed, profile, &[(link.clone(), link.clone())])
    }

    /// A pair with several paths, each given as the link to the server and the link back.
    ///
    /// # Panics
    /// If the profile is not valid.
    #[must_use]
    pub fn with_paths(seed: u64, profile: &Profile, paths: &[(LinkConfig, LinkConfig)]) -> Self {
        Self::with_config(seed, profile, profile, paths, &EndpointConfig::default())
    }

    /// A pair whose ends have different profiles.
    ///
    /// # Panics
    /// If a profile is not valid.
    #[must_use]
    pub fn with_config(
        seed: u64,
        profile: &Profile,
        server_profile: &Profile,
        paths: &[(LinkConfig, LinkConfig)],
        config: &EndpointConfig,
    ) -> Self {
        let mut net = Network::new(seed);
        let client = Endpoint::new(config.clone(), net.rng().seed_bytes());
        let mut server = Endpoint::new(config.clone(), net.rng().seed_bytes());
        let composition = match server_profile.clone().validate() {
            Ok(composition) => composition,
            Err(conflicts) => panic!("the profile is not valid: {conflicts:?}"),
        };
        if let Err(error) = server.listen(SERVER_PORT, composition, false) {
            panic!("{error}");
        }
        let indices: Vec<u8> = (0..).take(paths.len()).collect();
        let client_ips: Vec<IpAddr> = indices.iter().map(|index| client_ip(*index)).collect();
        let server_ips: Vec<IpAddr> = indices.iter().map(|index| server_ip(*index)).collect();
        let client = net.add_host(RestpHost::new(client), &client_ips);
        let server = net.add_host(RestpHost::new(server), &server_ips);
        let links = indices
            .iter()
            .zip(paths)
            .map(|(index, (there, back))| {
                net.connect(client_ip(*index), server_ip(*index), there.clone(), back.clone())
            })
            .collect();
        Self { net, client, server, links, profile: profile.clone(), next_port: 40_000 }
    }

    /// Opens a connection over the first path.
    ///
    /// # Panics
    /// If the profile is not valid or the endpoint refuses.
    pub fn connect(&mut self) -> ConnId {
        let port = self.next_port;
        self.next_port += 1;
        let composition = match self.profile.clone().validate() {
            Ok(composition) => composition,
            Err(conflicts) => panic!("the profile is not valid: {conflicts:?}"),
        };
        self.net.with(self.client, |host, now| {
            match host.endpoint.connect(now, client_path(0), port, SERVER_PORT, &composition) {
                Ok(id) => id,
                Err(error) => panic!("{error}"),
            }
        })
    }

    /// The server's connection, once a client was accepted: the newest.
    pub fn accepted(&mut self) -> Option<ConnId> {
        let events = &self.net.host(self.server).events;
        events
            .iter()
            .rev()
            .find(|event| matches!(event.kind, EventKind::Accepted { .. }))
            .map(|event| event.conn)
    }

    /// Sends on one host's connection.
    ///
    /// # Errors
    /// As [`Endpoint::send`].
    pub fn send(&mut self, host: HostId, conn: ConnId, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let payload = payload.into();
        self.net.with(host, |host, now| host.endpoint.send(now, conn, payload, SendOptions::default()))
    }

    /// Everything that can be read now.
    pub fn receive(&mut self, host: HostId, conn: ConnId) -> Vec<Message> {
        self.net.with(host, |host, now| {
            let mut messages = Vec::new();
            while let Some(message) = host.endpoint.recv(now, conn) {
                messages.push(message);
            }
            messages
        })
    }

    /// Sends `size_bytes` of a known pattern from client to server over a new connection, closes both ends, and waits for
    /// at most `limit`. Further paths of the pair are opened once a profile of several paths may use them.
    ///
    /// # Errors
    /// [`Incomplete`] unless exactly what was sent arrived, in order; it holds what did arrive.
    pub fn transfer(&mut self, size_bytes: usize, limit: Duration) -> Result<Transferred, Incomplete> {
        let start = self.net.now();
        let heard = [self.client, self.server].map(|host| self.net.host(host).events.len());
        let conn = self.connect();
        let sent: Vec<u8> = (0..size_bytes).map(pattern).collect();
        let mut pieces = self.pieces(conn, &sent);
        let (mut received, mut delivered) = (Vec::new(), None);
        let (client, server) = (self.client, self.server);
        let (mut ends, mut accepted, mut refused) = ([None, None], None, None);
        let mut one_path = self.links.len() > 1;
        while ends.contains(&None) && self.net.next_event().is_some_and(|at| at <= start + limit) {
            while let Some(piece) = pieces.pop_front() {
                match self.send(client, conn, piece) {
                    Ok(()) => continue,
                    Err(SendError::Full(piece)) => pieces.push_front(piece),
                    Err(error) => {
                        // What follows would be out of its place.
                        refused = Some(error);
                        pieces.clear();
                    }
                }
                break;
            }
            if pieces.is_empty() {
                self.net.with(client, |host, now| host.endpoint.close(now, conn));
            }
            if one_path && self.has_happened(client, conn, |kind| *kind == EventKind::PathsAllowed) {
                one_path = false;
                self.open_paths(conn);
            }
            accepted = accepted.or_else(|| self.accepted_since(heard[1]));
            if let Some(accepted) = accepted {
                let messages = self.receive(server, accepted);
                received.extend(messages.iter().flat_map(|message| &message.payload[..]));
                if received.len() >= size_bytes {
                    delivered = delivered.or_else(|| Some(self.net.now() - start));
                }
                if self.has_happened(server, accepted, |kind| *kind == EventKind::Finished) {
                    self.net.with(server, |host, now| host.endpoint.close(now, accepted));
                }
                ends[1] = self.end_of(server, accepted);
            }
            ends[0] = self.end_of(client, conn);
            if ends.contains(&None) {
                self.net.step();
            }
        }
        if received == sent {
            let took = self.net.now() - start;
            Ok(Transferred { bytes: received, delivered: delivered.unwrap_or(took), took })
        } else {
            Err(Incomplete { sent_bytes: size_bytes, received, ends, refused })
        }
    }

    /// Opens all paths beside the first for the client's connection `conn`, which has been told that it may
    /// ([`EventKind::PathsAllowed`]). One that cannot be opened is left out.
    pub fn open_paths(&mut self, conn: ConnId) {
        for (index, _) in (0..).zip(&self.links).skip(1) {
            self.net.with(self.client, |host, now| {
                let _ = host.endpoint.open_path(now, conn, client_path(index), false);
            });
        }
    }

    /// `bytes` in messages of the size that the connection takes.
    fn pieces(&mut self, conn: ConnId, bytes: &[u8]) -> VecDeque<Bytes> {
        let limit = self.net.host(self.client).endpoint.max_message_bytes(conn).unwrap_or(bytes.len()).max(1);
        bytes.chunks(limit).map(Bytes::copy_from_slice).collect()
    }

    /// The connection that the server accepted after it had told `heard` events.
    fn accepted_since(&mut self, heard: usize) -> Option<ConnId> {
        let mut events = self.net.host(self.server).events.iter().skip(heard);
        events.find(|event| matches!(event.kind, EventKind::Accepted { .. })).map(|event| event.conn)
    }

    fn has_happened(&mut self, host: HostId, conn: ConnId, is: impl Fn(&EventKind) -> bool) -> bool {
        self.net.host(host).events.iter().any(|event| event.conn == conn && is(&event.kind))
    }

    /// Why a connection ended, if it did.
    fn end_of(&mut self, host: HostId, conn: ConnId) -> Option<CloseReason> {
        self.net.host(host).events.iter().find_map(|event| match event.kind {
            EventKind::Closed(reason) if event.conn == conn => Some(reason),
            _ => None,
        })
    }
}

/// Everything that was sent has arrived, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transferred {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Simulated time from the call of `connect` until the receiving application had the last byte.
    pub delivered: Duration,
    /// Simulated time from the call of `connect` to the end of both ends, so with the closing; the limit, where one of them
    /// had not ended by then.
    pub took: Duration,
}

/// Not everything has arrived, or not in order.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incomplete {
    /// Bytes that should have arrived.
    pub sent_bytes: usize,
    /// What arrived, in the order of receipt.
    pub received: Vec<u8>,
    /// Why client and server ended; `None` for an end that had not when time was up.
    pub ends: [Option<CloseReason>; 2],
    /// Why the client's connection did not take a part of it; nothing was sent after that.
    pub refused: Option<SendError>,
}

impl std::fmt::Debug for Incomplete {
    /// The sentence: nobody wants to read the bytes in the message of a panic.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Incomplete {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes were sent and {} arrived", self.sent_bytes, self.received.len())?;
        if self.received.iter().enumerate().any(|(place, byte)| *byte != pattern(place)) {
            write!(f, ", not all of them in their place")?;
        }
        for (name, end) in ["client", "server"].iter().zip(self.ends) {
            match end {
                Some(reason) => write!(f, "; the {name}'s connection was {reason}")?,
                None => write!(f, "; the {name} had not ended when time was up")?,
            }
        }
        if let Some(refused) = &self.refused {
            write!(f, "; {refused}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Incomplete {}

/// Byte `place` of the test pattern: no two nearby packets look alike.
#[must_use]
pub fn pattern(place: usize) -> u8 {
    let mixed = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Outage;

    #[test]
    fn a_transfer_that_stops_half_way_is_an_error_with_what_arrived() {
        let from = Instant::ZERO + Duration::from_millis(300);
        let outages = vec![Outage { from, until: Instant::FAR_FUTURE }];
        let link = LinkConfig { outages, ..LinkConfig::new(1_000_000, Duration::from_millis(20)) };
        let mut pair = Pair::new(3, &Profile::file_arq(), &link);
        let error = pair.transfer(200_000, Duration::from_secs(5)).unwrap_err();
        assert!(!error.received.is_empty() && error.received.len() < 200_000);
        let text = error.to_string();
        assert!(
            text.starts_with("200000 bytes were sent and") && text.contains("when time was up"),
            "{text}"
        );
    }

    #[test]
    fn a_transfer_uses_all_paths_of_a_profile_of_several() {
        let link = LinkConfig::new(5_000_000, Duration::from_millis(10));
        let paths = [(link.clone(), link.clone()), (link.clone(), link)];
        for (profile, several) in [(Profile::multipath(), true), (Profile::file_arq(), false)] {
            let mut pair = Pair::with_paths(3, &profile, &paths);
            pair.transfer(500_000, Duration::from_secs(30)).unwrap();
            let carried = pair.net.link_stats(pair.links[1].0).passed;
            assert_eq!(carried > 100, several, "{carried} packets over the second path of {}", profile.name);
        }
    }

    #[test]
    fn a_transfer_that_the_connection_refuses_says_why() {
        let mut pair = Pair::new(3, &Profile::file_arq().with_streams(), &LinkConfig::ideal(Duration::ZERO));
        let error = pair.transfer(1000, Duration::from_secs(5)).unwrap_err();
        assert_eq!(error.refused, Some(SendError::Streams), "{error}");
        assert!(error.to_string().contains("; the connection carries streams"), "{error}");
    }

    #[test]
    fn a_transfer_is_delivered_before_it_is_closed() {
        let rtt = Duration::from_millis(40);
        let mut pair = Pair::new(3, &Profile::file_arq(), &LinkConfig::ideal(rtt / 2));
        let transferred = pair.transfer(1000, Duration::from_secs(60)).unwrap();
        // A round trip for the handshake, and half of one for the data.
        assert_eq!(transferred.delivered, rtt * 3 / 2);
        assert!(transferred.took >= rtt * 5 / 2, "{:?}", transferred.took);
    }

    #[test]
    fn a_second_transfer_of_a_pair_is_judged_by_its_own_events() {
        let link = LinkConfig::new(1_000_000, Duration::from_millis(20));
        let mut pair = Pair::new(3, &Profile::file_arq(), &link);
        let first = pair.transfer(20_000, Duration::from_secs(60)).unwrap();
        let second = pair.transfer(100_000, Duration::from_secs(60)).unwrap();
        assert_eq!((first.bytes.len(), second.bytes.len()), (20_000, 100_000));
        assert!(second.took > first.took && second.took < Duration::from_secs(10), "{:?}", second.took);
    }
}
