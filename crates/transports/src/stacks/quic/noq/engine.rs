//! noq's protocol core with its connections, tied to the clock of the run.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use noq_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, EndpointEvent, Event, FourTuple, PathEvent, ServerConfig, StreamEvent, VarInt,
};

use super::calls::batch;
use super::paths::{Opened, Paths};
use crate::epoch::Epoch;
use crate::error::Failure;
use crate::peers::same_end;
use crate::stacks::quic::driver::Engine;
use crate::stacks::quic::socket::{Datagram, UdpSocket};

/// One connection of an endpoint.
pub(super) struct Link {
    pub(super) quic: Connection,
    /// When the handshake was over.
    pub(super) connected_ns: Option<i64>,
    /// Why it is over.
    pub(super) lost: Option<ConnectionError>,
    /// What had no room may have some now.
    pub(super) writable: bool,
    /// Its paths, at the end that opened it.
    opened: Option<Opened>,
    /// Nobody asks for it any more.
    abandoned: bool,
    /// The library is done with it. Its endpoint is told when it is abandoned: until then no other connection may have its
    /// handle.
    drained: Option<EndpointEvent>,
}

impl Link {
    fn new(quic: Connection, opened: Option<Opened>) -> Self {
        Self {
            quic,
            connected_ns: None,
            lost: None,
            writable: false,
            opened,
            abandoned: false,
            drained: None,
        }
    }

    /// Takes in what happened.
    fn note(&mut self, event: Event, now_ns: i64) {
        match event {
            Event::Connected => self.connected_ns = Some(now_ns),
            Event::ConnectionLost { reason } => self.lost = Some(reason),
            Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Stopped { .. }) => self.writable = true,
            Event::Path(PathEvent::Abandoned { id, .. }) => {
                if let Some(opened) = &mut self.opened {
                    opened.gone(id, now_ns);
                }
            }
            // What the other end keeps in reserve, this one keeps too: both directions take the same path.
            Event::Path(PathEvent::RemoteStatus { id, status, .. }) => {
                // A path that is gone meanwhile needs no status.
                let _ = self.quic.set_path_status(id, status);
            }
            _ => {}
        }
    }
}

/// An endpoint and its connections.
pub(super) struct NoqEngine {
    endpoint: Endpoint,
    links: BTreeMap<ConnectionHandle, Link>,
    arrived: VecDeque<ConnectionHandle>,
    /// Whose connections are taken, or to whom they are opened.
    paths: Paths,
    epoch: Epoch,
    /// Where transmissions are put together.
    outbox: Vec<u8>,
}

impl NoqEngine {
    /// An endpoint that talks to its peer over `paths`; with a configuration for it, one that takes connections. Now is
    /// `now_ns`.
    pub(super) fn new(
        config: Arc<EndpointConfig>,
        server: Option<Arc<ServerConfig>>,
        paths: Paths,
        now_ns: i64,
    ) -> Self {
        Self {
            endpoint: Endpoint::new(config, server, true),
            links: BTreeMap::new(),
            arrived: VecDeque::new(),
            paths,
            epoch: Epoch::new(now_ns),
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
        let peer = self.paths.first;
        let now = self.epoch.instant(now_ns);
        let (handle, quic) = self.endpoint.connect(now, config, peer, name).map_err(|error| {
            Failure::new(format!("no QUIC connection to {peer} could be opened: {error}"))
        })?;
        self.links.insert(handle, Link::new(quic, Some(Opened::new(self.paths.clone()))));
        Ok(handle)
    }

    /// The connections that arrived and were not asked for yet, the oldest first.
    pub(super) fn arrived(&self) -> Vec<ConnectionHandle> {
        self.arrived.iter().copied().collect()
    }

    /// Takes a connection of [`NoqEngine::arrived`] off the list.
    pub(super) fn take_arrived(&mut self, handle: ConnectionHandle) {
        self.arrived.retain(|other| *other != handle);
    }

    /// Whether a connection has arrived whose handshake is over.
    pub(super) fn has_arrived(&self) -> bool {
        let is_open = |link: &Link| link.connected_ns.is_some() || link.lost.is_some();
        self.arrived.iter().any(|handle| self.links.get(handle).is_some_and(is_open))
    }

    /// A connection that was not abandoned.
    pub(super) fn link(&mut self, handle: ConnectionHandle) -> &mut Link {
        self.links.get_mut(&handle).expect("a connection stays until it is abandoned")
    }

    /// Ends a connection that nobody asks for any more, with `code` for the other side.
    pub(super) fn abandon(&mut self, handle: ConnectionHandle, code: u32, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        let link = self.link(handle);
        link.quic.close(now, VarInt::from_u32(code), Bytes::new());
        link.abandoned = true;
    }

    fn accept_or_refuse(&mut self, incoming: noq_proto::Incoming, now_ns: i64, socket: &mut UdpSocket) {
        if !same_end(&incoming.remote_address().into(), self.paths.first) {
            self.endpoint.ignore(incoming);
            return;
        }
        match self.endpoint.accept(incoming, self.epoch.instant(now_ns), &mut self.outbox, None) {
            Ok((handle, quic)) => {
                self.links.insert(handle, Link::new(quic, None));
                self.arrived.push_back(handle);
            }
            Err(error) => {
                if let Some(response) = error.response {
                    socket.send(&batch(&response, &self.outbox));
                }
            }
        }
    }
}

impl Engine for NoqEngine {
    fn advance(&mut self, inbox: Vec<Datagram>, socket: &mut UdpSocket, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        for Datagram { from, ecn, bytes } in inbox {
            self.outbox.clear();
            let (path, ecn) = (FourTuple::from_remote(from), EcnCodepoint::from_bits(ecn));
            match self.endpoint.handle(now, path, ecn, bytes, &mut self.outbox) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.quic.handle_event(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    self.accept_or_refuse(incoming, now_ns, socket);
                }
                Some(DatagramEvent::Response(response)) => socket.send(&batch(&response, &self.outbox)),
                None => {}
            }
        }
        for link in self.links.values_mut() {
            if link.quic.poll_timeout().is_some_and(|due| due <= now) {
                link.quic.handle_timeout(now);
            }
        }
    }

    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool {
        let now = self.epoch.instant(now_ns);
        let segments = NonZeroUsize::new(socket.segments()).unwrap_or(NonZeroUsize::MIN);
        let mut told = false;
        for (handle, link) in &mut self.links {
            while let Some(event) = link.quic.poll_endpoint_events() {
                if event.is_drained() {
                    link.drained = Some(event);
                } else if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    link.quic.handle_event(event);
                }
            }
            while let Some(event) = link.quic.poll() {
                told = true;
                link.note(event, now_ns);
            }
            if let Some(opened) = link.opened.as_mut().filter(|_| link.connected_ns.is_some()) {
                opened.open_missing(&mut link.quic, now, now_ns);
            }
            while socket.has_room() {
                self.outbox.clear();
                let Some(transmit) = link.quic.poll_transmit(now, segments, &mut self.outbox) else { break };
                socket.send(&batch(&transmit, &self.outbox));
            }
        }
        let endpoint = &mut self.endpoint;
        self.links.retain(|handle, link| match link.drained.take_if(|_| link.abandoned) {
            Some(event) => {
                endpoint.handle_event(*handle, event);
                false
            }
            None => true,
        });
        told
    }

    fn due_ns(&mut self) -> i64 {
        let epoch = self.epoch;
        let due_ns = |link: &Link| {
            let library_ns = link.quic.poll_timeout().map_or(i64::MAX, |due| epoch.ns(due));
            let paths_ns =
                link.opened.as_ref().filter(|_| link.connected_ns.is_some() && link.lost.is_none());
            library_ns.min(paths_ns.map_or(i64::MAX, Opened::due_ns))
        };
        self.links.values().map(due_ns).min().unwrap_or(i64::MAX)
    }
}
