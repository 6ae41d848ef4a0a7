//! quinn's protocol core with its connections, tied to the clock of the run.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamEvent, Transmit, VarInt,
};

use crate::error::Failure;
use crate::stacks::quic::host::Engine;
use crate::stacks::quic::port::{Batch, Datagram, Port};
use crate::stacks::socket::same_end;

/// The library's instants and the run's.
#[derive(Clone, Copy)]
struct Epoch {
    instant: Instant,
    ns: i64,
}

impl Epoch {
    fn instant(self, ns: i64) -> Instant {
        self.instant + Duration::from_nanos((ns - self.ns).max(0) as u64)
    }

    fn ns(self, instant: Instant) -> i64 {
        self.ns + instant.saturating_duration_since(self.instant).as_nanos() as i64
    }
}

/// One connection of an endpoint.
pub(super) struct Link {
    pub(super) quic: Connection,
    /// When the handshake was over.
    pub(super) connected_ns: Option<i64>,
    /// Why it is over.
    pub(super) lost: Option<ConnectionError>,
    /// What had no room may have some now.
    pub(super) writable: bool,
    /// Nobody asks for it any more.
    abandoned: bool,
}

impl Link {
    fn new(quic: Connection) -> Self {
        Self { quic, connected_ns: None, lost: None, writable: false, abandoned: false }
    }
}

/// An endpoint and its connections.
pub(super) struct QuinnEngine {
    endpoint: Endpoint,
    links: BTreeMap<ConnectionHandle, Link>,
    arrived: VecDeque<ConnectionHandle>,
    /// Whose connections are taken, or to whom they are opened.
    peer: SocketAddr,
    epoch: Epoch,
    /// Where transmissions are put together.
    outbox: Vec<u8>,
}

impl QuinnEngine {
    /// An endpoint that talks to `peer`; with a configuration for it, one that takes connections. Now is `now_ns`.
    pub(super) fn new(
        config: Arc<EndpointConfig>,
        server: Option<Arc<ServerConfig>>,
        peer: SocketAddr,
        now_ns: i64,
    ) -> Self {
        Self {
            endpoint: Endpoint::new(config, server, true, None),
            links: BTreeMap::new(),
            arrived: VecDeque::new(),
            peer,
            epoch: Epoch { instant: Instant::now(), ns: now_ns },
            outbox: Vec::new(),
        }
    }

    /// Opens a connection to the peer.
    pub(super) fn connect(
        &mut self,
        config: ClientConfig,
        name: &str,
        now_ns: i64,
    ) -> Result<ConnectionHandle, Failure> {
        let (handle, quic) =
            self.endpoint.connect(self.epoch.instant(now_ns), config, self.peer, name).map_err(|error| {
                Failure::new(format!("no QUIC connection to {} could be opened: {error}", self.peer))
            })?;
        self.links.insert(handle, Link::new(quic));
        Ok(handle)
    }

    /// The oldest connection that arrived and was not asked for yet.
    pub(super) fn next_arrived(&self) -> Option<ConnectionHandle> {
        self.arrived.front().copied()
    }

    /// Takes the connection that [`QuinnEngine::next_arrived`] tells off the list.
    pub(super) fn take_arrived(&mut self) {
        self.arrived.pop_front();
    }

    /// A connection that was not abandoned.
    pub(super) fn link(&mut self, handle: ConnectionHandle) -> &mut Link {
        self.links.get_mut(&handle).expect("a connection stays until it is abandoned")
    }

    /// Ends a connection that nobody asks for any more, with `code` for the other side.
    pub(super) fn abandon(&mut self, handle: ConnectionHandle, code: u32, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        let link = self.link(handle);
        link.abandoned = true;
        link.quic.close(now, VarInt::from_u32(code), Bytes::new());
    }

    fn accept_or_refuse(&mut self, incoming: quinn_proto::Incoming, now: Instant, port: &mut Port) {
        if !same_end(&incoming.remote_address().into(), self.peer) {
            self.endpoint.ignore(incoming);
            return;
        }
        match self.endpoint.accept(incoming, now, &mut self.outbox, None) {
            Ok((handle, quic)) => {
                self.links.insert(handle, Link::new(quic));
                self.arrived.push_back(handle);
            }
            Err(error) => {
                if let Some(response) = error.response {
                    port.send(&batch(&response, &self.outbox));
                }
            }
        }
    }
}

impl Engine for QuinnEngine {
    fn advance(&mut self, inbox: Vec<Datagram>, port: &mut Port, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        for Datagram { from, ecn, bytes } in inbox {
            self.outbox.clear();
            let ecn = EcnCodepoint::from_bits(ecn);
            match self.endpoint.handle(now, from, None, ecn, bytes, &mut self.outbox) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.quic.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.accept_or_refuse(incoming, now, port),
                Some(DatagramEvent::Response(response)) => port.send(&batch(&response, &self.outbox)),
                None => {}
            }
        }
        for link in self.links.values_mut() {
            if link.quic.poll_timeout().is_some_and(|due| due <= now) {
                link.quic.handle_timeout(now);
            }
        }
    }

    fn settle(&mut self, port: &mut Port, now_ns: i64) -> bool {
        let now = self.epoch.instant(now_ns);
        let mut told = false;
        for (handle, link) in &mut self.links {
            while let Some(event) = link.quic.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    link.quic.handle_event(event);
                }
            }
            while let Some(event) = link.quic.poll() {
                told = true;
                match event {
                    Event::Connected => link.connected_ns = Some(now_ns),
                    Event::ConnectionLost { reason } => link.lost = Some(reason),
                    Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Stopped { .. }) => {
                        link.writable = true;
                    }
                    _ => {}
                }
            }
            while port.has_room() {
                self.outbox.clear();
                let Some(transmit) = link.quic.poll_transmit(now, port.segments(), &mut self.outbox) else {
                    break;
                };
                port.send(&batch(&transmit, &self.outbox));
            }
        }
        self.links.retain(|_, link| !(link.abandoned && link.quic.is_drained()));
        told
    }

    fn due_ns(&mut self) -> i64 {
        let epoch = self.epoch;
        let due = self.links.values_mut().filter_map(|link| link.quic.poll_timeout()).min();
        due.map_or(i64::MAX, |due| epoch.ns(due))
    }
}

fn batch<'a>(transmit: &Transmit, contents: &'a [u8]) -> Batch<'a> {
    Batch {
        to: transmit.destination,
        ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
        segment_bytes: transmit.segment_size.unwrap_or(transmit.size),
        bytes: &contents[..transmit.size],
    }
}
