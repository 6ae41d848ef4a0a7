//! quinn's protocol core with its connections, tied to the clock of the run.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
    EndpointConfig, EndpointEvent, Event, StreamEvent, StreamId, VarInt,
};

use super::bearers::Bearers;
use super::calls::batch;
use super::events::Acceptor;
use crate::epoch::Epoch;
use crate::error::Failure;
use crate::peers::same_end;
use crate::stacks::quic::driver::Engine;
use crate::stacks::quic::socket::{Batch, Datagram, UdpSocket};

/// What a future may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum On {
    /// The end of the handshake.
    Handshake,
    /// A stream that the other side opens.
    Arrival(Dir),
    /// Permission to open a stream.
    Room(Dir),
    /// Something to read.
    Read(StreamId),
    /// Room to write.
    Write(StreamId),
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
    /// Whoever accepts connections found that its handshake was not over.
    pub(super) passed_over: bool,
    /// Nobody asks for it any more.
    abandoned: bool,
    /// The library is done with it. Its endpoint is told when it is abandoned: until then no other connection may have its
    /// handle.
    drained: Option<EndpointEvent>,
    /// Futures that wait.
    waiting: BTreeMap<On, Vec<Waker>>,
}

impl Link {
    fn new(quic: Connection) -> Self {
        let waiting = BTreeMap::new();
        Self {
            quic,
            connected_ns: None,
            lost: None,
            writable: false,
            passed_over: false,
            abandoned: false,
            drained: None,
            waiting,
        }
    }

    /// Wakes a future when `on` happens, or when the connection is over.
    pub(super) fn wake_at(&mut self, on: On, waker: &Waker) {
        let waiting = self.waiting.entry(on).or_default();
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    /// Wakes those who wait for what happened. Tells whether anybody did.
    fn wake(&mut self, event: &Event) -> bool {
        let mut over: Vec<On> = match event {
            Event::Connected => vec![On::Handshake, On::Room(Dir::Bi), On::Room(Dir::Uni)],
            Event::ConnectionLost { .. } => self.waiting.keys().copied().collect(),
            Event::Stream(StreamEvent::Opened { dir }) => vec![On::Arrival(*dir)],
            Event::Stream(StreamEvent::Available { dir }) => vec![On::Room(*dir)],
            Event::Stream(StreamEvent::Readable { id }) => vec![On::Read(*id)],
            Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                vec![On::Write(*id)]
            }
            _ => Vec::new(),
        };
        over.retain(|on| match self.waiting.remove(on) {
            Some(wakers) => {
                wakers.into_iter().for_each(Waker::wake);
                true
            }
            None => false,
        });
        !over.is_empty()
    }
}

/// An endpoint and its connections.
pub(super) struct QuinnEngine {
    endpoint: Endpoint,
    /// Configures the connections that arrive.
    server: Option<Acceptor>,
    links: BTreeMap<ConnectionHandle, Link>,
    arrived: VecDeque<ConnectionHandle>,
    /// A future that waits for a connection to arrive.
    waits_for_arrival: Option<Waker>,
    /// A future was woken since this was asked for.
    woken: bool,
    /// Whose connections are taken, or to whom they are opened.
    peer: SocketAddr,
    /// Packets are padded.
    pads: bool,
    /// The ways to the peer, of an endpoint that may leave one for another.
    bearers: Option<Bearers>,
    epoch: Epoch,
    /// Where transmissions are put together.
    outbox: Vec<u8>,
}

impl QuinnEngine {
    /// An endpoint that talks to `peer`; with a configuration for it, one that takes connections. `pads` says whether
    /// its connections pad their packets. Now is `now_ns`.
    pub(super) fn new(
        config: Arc<EndpointConfig>,
        server: Option<Acceptor>,
        peer: SocketAddr,
        pads: bool,
        now_ns: i64,
    ) -> Self {
        Self {
            endpoint: Endpoint::new(
                config,
                server.as_ref().map(|server| Arc::clone(&server.config)),
                true,
                None,
            ),
            server,
            links: BTreeMap::new(),
            arrived: VecDeque::new(),
            waits_for_arrival: None,
            woken: false,
            peer,
            pads,
            bearers: None,
            epoch: Epoch::new(now_ns),
            outbox: Vec::new(),
        }
    }

    /// The same over several ways, of which the connections that it opens use one at a time.
    pub(super) fn over(mut self, bearers: Option<Bearers>) -> Self {
        self.bearers = bearers;
        self
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

    /// The connections that arrived and were not asked for yet, the oldest first.
    pub(super) fn arrived(&self) -> Vec<ConnectionHandle> {
        self.arrived.iter().copied().collect()
    }

    /// Takes a connection of [`QuinnEngine::arrived`] off the list.
    pub(super) fn take_arrived(&mut self, handle: ConnectionHandle) {
        self.arrived.retain(|other| *other != handle);
    }

    /// Whether a connection has arrived, apart from those whose handshake stands still.
    pub(super) fn has_arrived(&self) -> bool {
        let waits = |link: &Link| link.passed_over && link.connected_ns.is_none() && link.lost.is_none();
        self.arrived.iter().any(|handle| self.links.get(handle).is_some_and(|link| !waits(link)))
    }

    /// Wakes a future when a connection arrives.
    pub(super) fn wake_at_arrival(&mut self, waker: &Waker) {
        self.waits_for_arrival = Some(waker.clone());
    }

    /// Whether a future was woken since this was asked last.
    pub(super) fn take_woken(&mut self) -> bool {
        std::mem::take(&mut self.woken)
    }

    /// A connection that was not abandoned.
    pub(super) fn link(&mut self, handle: ConnectionHandle) -> &mut Link {
        self.links.get_mut(&handle).expect("a connection stays until it is abandoned")
    }

    /// Ends a connection that nobody asks for any more, with `code` for the other side.
    pub(super) fn abandon(&mut self, handle: ConnectionHandle, code: u32, now_ns: i64) {
        self.close(handle, VarInt::from_u32(code), Bytes::new(), now_ns);
        self.link(handle).abandoned = true;
    }

    /// Ends a connection, with `code` and `reason` for the other side.
    pub(super) fn close(&mut self, handle: ConnectionHandle, code: VarInt, reason: Bytes, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        self.link(handle).quic.close(now, code, reason);
    }

    fn accept_or_refuse(&mut self, incoming: quinn_proto::Incoming, now: Instant, socket: &mut UdpSocket) {
        if !same_end(&incoming.remote_address().into(), self.peer) {
            self.endpoint.ignore(incoming);
            return;
        }
        let own = self.server.as_ref().and_then(Acceptor::next);
        match self.endpoint.accept(incoming, now, &mut self.outbox, own) {
            Ok((handle, quic)) => {
                self.links.insert(handle, Link::new(quic));
                self.arrived.push_back(handle);
                if let Some(waker) = self.waits_for_arrival.take() {
                    self.woken = true;
                    waker.wake();
                }
            }
            Err(error) => {
                if let Some(response) = error.response {
                    socket.send(&batch(&response, &self.outbox));
                }
            }
        }
    }
}

impl Engine for QuinnEngine {
    fn advance(&mut self, inbox: Vec<Datagram>, socket: &mut UdpSocket, now_ns: i64) {
        let now = self.epoch.instant(now_ns);
        for Datagram { from, ecn, bytes } in inbox {
            self.outbox.clear();
            let ecn = EcnCodepoint::from_bits(ecn);
            let from = self.bearers.as_ref().map_or(from, |bearers| bearers.known(from));
            match self.endpoint.handle(now, from, None, ecn, bytes, &mut self.outbox) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    if let Some(link) = self.links.get_mut(&handle) {
                        link.quic.handle_event(event);
                        if let Some(bearers) = &mut self.bearers {
                            bearers.heard(&link.quic);
                        }
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => self.accept_or_refuse(incoming, now, socket),
                Some(DatagramEvent::Response(response)) => socket.send(&batch(&response, &self.outbox)),
                None => {}
            }
        }
        for link in self.links.values_mut() {
            if link.quic.poll_timeout().is_some_and(|due| due <= now) {
                link.quic.handle_timeout(now);
            }
            if let Some(bearers) = &mut self.bearers {
                bearers.leave_if_silent(&mut link.quic, now_ns);
            }
        }
    }

    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool {
        let now = self.epoch.instant(now_ns);
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
                self.woken |= link.wake(&event);
                if self.pads && brings_data(&event) {
                    link.quic.ping();
                }
                match event {
                    Event::Connected => link.connected_ns = Some(now_ns),
                    Event::ConnectionLost { reason } => link.lost = Some(reason),
                    Event::Stream(StreamEvent::Writable { .. } | StreamEvent::Stopped { .. }) => {
                        link.writable = true;
                    }
                    _ => {}
                }
            }
            while socket.has_room() {
                self.outbox.clear();
                let Some(transmit) = link.quic.poll_transmit(now, socket.segments(), &mut self.outbox) else {
                    break;
                };
                let to = self.bearers.as_ref().map_or(transmit.destination, Bearers::peer);
                socket.send(&Batch { to, ..batch(&transmit, &self.outbox) });
            }
            if let Some(bearers) = &mut self.bearers {
                bearers.sent(&link.quic, now_ns);
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
        let due = self.links.values_mut().filter_map(|link| link.quic.poll_timeout()).min();
        let left_ns = self.bearers.as_ref().map_or(i64::MAX, Bearers::due_ns);
        due.map_or(i64::MAX, |due| epoch.ns(due)).min(left_ns)
    }
}

/// Whether an event tells of data. Who pads acknowledges with packets that count as in flight and that nobody has to
/// acknowledge: without a PING now and then they fill its congestion window, and it can ask for nothing more (RFC 9000,
/// section 13.2.7).
fn brings_data(event: &Event) -> bool {
    matches!(
        event,
        Event::Stream(StreamEvent::Readable { .. } | StreamEvent::Opened { .. }) | Event::DatagramReceived
    )
}
