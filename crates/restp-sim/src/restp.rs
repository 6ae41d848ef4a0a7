//! ResTP endpoints in the simulator, and a ready-made pair of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use restp_proto::wire::{Flags, Packet as Decoded};
use restp_proto::{
    ConnId, Endpoint, EndpointConfig, Event, EventKind, Instant, Message, PathAddr, Profile, SendError,
    SendOptions,
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
pub struct RestpHost {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Events in the order in which they came.
    pub events: Vec<Event>,
    buffer: Vec<u8>,
    waiting: std::collections::VecDeque<Outgoing>,
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

    /// Sends `size_bytes` of a known pattern from client to server in pieces, closes both ends, and returns what was
    /// sent and what was received, in the order of receipt, after at most `limit`.
    pub fn transfer(&mut self, size_bytes: usize, limit: Duration) -> (Vec<u8>, Vec<u8>) {
        let conn = self.connect();
        let piece_bytes = self
            .net
            .host(self.client)
            .endpoint
            .max_message_bytes(conn)
            .unwrap_or(size_bytes)
            .min(size_bytes)
            .max(1);
        let sent: Vec<u8> = (0..size_bytes).map(pattern).collect();
        let mut pieces: std::collections::VecDeque<Bytes> =
            sent.chunks(piece_bytes).map(Bytes::copy_from_slice).collect();
        let mut received = Vec::new();
        let (client, server) = (self.client, self.server);
        let end = self.net.now() + limit;
        loop {
            while let Some(piece) = pieces.pop_front() {
                match self.send(client, conn, piece.clone()) {
                    Ok(()) => {}
                    Err(SendError::Full(piece)) => {
                        pieces.push_front(piece);
                        break;
                    }
                    Err(_) => break,
                }
            }
            if pieces.is_empty() {
                self.net.with(client, |host, now| host.endpoint.close(now, conn));
            }
            if let Some(accepted) = self.accepted() {
                for message in self.receive(server, accepted) {
                    received.extend_from_slice(&message.payload);
                }
                let finished =
                    self.net.host(server).events.iter().any(|event| event.kind == EventKind::Finished);
                if finished {
                    self.net.with(server, |host, now| host.endpoint.close(now, accepted));
                }
            }
            let closed =
                |host: &RestpHost| host.events.iter().any(|event| matches!(event.kind, EventKind::Closed(_)));
            let done = closed(self.net.host(client)) && closed(self.net.host(server));
            if done || self.net.next_event().is_none_or(|at| at > end) {
                return (sent, received);
            }
            self.net.step();
        }
    }
}

/// Byte `place` of the test pattern: no two nearby packets look alike.
#[must_use]
pub fn pattern(place: usize) -> u8 {
    let mixed = (place as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8
}
