//! QUIC by quinn's protocol core: ground opens the connection, space takes it. Messages go on one stream a direction, or
//! each in a datagram of its own (RFC 9221).

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use flight::security::{LinkSecurity, Output, Refusal};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    Incoming, ServerConfig, StreamId, TransportConfig, WriteError,
};

use crate::credentials::{Credentials, SPACE_NAME};
use crate::link::{Link, State, check, too_long, wait};
use crate::packets::Packets;
use crate::suite::{Provider, Suite};
use crate::tls_config::{self, SetupError};

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// On one stream a direction: in order, and sent again when lost.
    Stream,
    /// Each in a datagram: as it comes, and lost when lost.
    Datagram,
}

/// What is the same for all connections of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicOptions {
    /// How messages travel.
    pub delivery: Delivery,
    /// Octets of the longest UDP payload, at least 1,200. It is not searched for.
    pub mtu_octets: u16,
    /// After how long without a word a connection is over; never, if there is none.
    pub idle_timeout: Option<Duration>,
}

impl QuicOptions {
    /// With 1,452 octets a datagram (what Ethernet carries over IPv6) and no idle time-out.
    #[must_use]
    pub fn new(delivery: Delivery) -> Self {
        Self { delivery, mtu_octets: 1452, idle_timeout: None }
    }

    fn transport(&self) -> Result<Arc<TransportConfig>, SetupError> {
        let mut transport = TransportConfig::default();
        let idle = self.idle_timeout.map(TryInto::try_into).transpose();
        let idle =
            idle.map_err(|error| SetupError::Quic(format!("the idle time-out is too long: {error}")))?;
        transport.max_idle_timeout(idle).initial_mtu(self.mtu_octets).mtu_discovery_config(None);
        Ok(Arc::new(transport))
    }
}

/// Both ends' addresses as QUIC sees them: the link has no others.
pub(crate) const GROUND: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 1234);
pub(crate) const SPACE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 1234);

/// Connections that space keeps at once, at most: the present one, and those that may take its place.
pub(crate) const MOST_CONNECTIONS: usize = 4;

/// What the ground end of several connections shares: settings, and the tickets of earlier sessions.
#[derive(Clone)]
pub struct QuicGround {
    options: QuicOptions,
    config: ClientConfig,
}

impl QuicGround {
    /// Settings of ground.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses something.
    pub fn new(
        suite: &Suite,
        credentials: &Credentials,
        options: QuicOptions,
        metered: bool,
    ) -> Result<Self, SetupError> {
        let tls = Arc::new(tls_config::ground(suite, credentials, metered)?);
        let initial = tls_config::initial(suite.provider).ok_or_else(no_initial)?;
        let crypto = QuicClientConfig::with_initial(tls, initial)
            .map_err(|error| SetupError::Quic(error.to_string()))?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(options.transport()?);
        Ok(Self { options, config })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// If the library refuses it.
    pub fn open(&self, now: Duration) -> Result<Quic, SetupError> {
        let mut quic = Quic::new(self.options.delivery, None, SPACE, now);
        let at = quic.instant(now);
        let (handle, connection) = quic
            .endpoint
            .connect(at, self.config.clone(), SPACE, SPACE_NAME)
            .map_err(|error| SetupError::Quic(error.to_string()))?;
        quic.early = connection.has_0rtt();
        quic.active = Some(handle);
        quic.connections.insert(handle, Peer::new(connection));
        quic.settle();
        Ok(quic)
    }
}

/// What space's ends share: settings, and the sessions that may be taken up.
#[derive(Clone)]
pub struct QuicSpace {
    options: QuicOptions,
    config: Arc<ServerConfig>,
}

impl QuicSpace {
    /// Settings of space.
    ///
    /// # Errors
    /// If a library does not have the suite, or refuses something.
    pub fn new(
        suite: &Suite,
        credentials: &Credentials,
        options: QuicOptions,
        metered: bool,
    ) -> Result<Self, SetupError> {
        Self::with_tls(tls_config::space(suite, credentials, metered)?, suite.provider, options)
    }

    /// With settings of TLS that were made before.
    pub(crate) fn with_tls(
        tls: rustls::ServerConfig,
        provider: Provider,
        options: QuicOptions,
    ) -> Result<Self, SetupError> {
        let initial = tls_config::initial(provider).ok_or_else(no_initial)?;
        let crypto = QuicServerConfig::with_initial(Arc::new(tls), initial)
            .map_err(|error| SetupError::Quic(error.to_string()))?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(options.transport()?);
        Ok(Self { options, config: Arc::new(config) })
    }

    /// An end that waits for ground.
    #[must_use]
    pub fn wait(&self, now: Duration) -> Quic {
        Quic::new(self.options.delivery, Some(Arc::clone(&self.config)), GROUND, now)
    }
}

fn no_initial() -> SetupError {
    SetupError::Quic("the provider has no AES-128-GCM for the first packets".to_owned())
}

/// A connection with its streams.
struct Peer {
    quic: Connection,
    connected: bool,
    outgoing: Option<StreamId>,
    /// What the stream had no room for.
    backlog: VecDeque<u8>,
    incoming: Option<StreamId>,
    packets: Packets,
}

impl Peer {
    fn new(quic: Connection) -> Self {
        let (outgoing, incoming) = (None, None);
        Self {
            quic,
            connected: false,
            outgoing,
            backlog: VecDeque::new(),
            incoming,
            packets: Packets::default(),
        }
    }

    /// Writes what the stream has room for.
    fn write(&mut self) {
        if self.outgoing.is_none() {
            self.outgoing = self.quic.streams().open(Dir::Uni);
        }
        let Some(stream) = self.outgoing else { return };
        while !self.backlog.is_empty() {
            match self.quic.send_stream(stream).write(self.backlog.make_contiguous()) {
                Ok(octets) => drop(self.backlog.drain(..octets)),
                // Room comes with acknowledgements; a connection that is over tells so by an event.
                Err(WriteError::Blocked | WriteError::Stopped(_) | WriteError::ClosedStream) => return,
            }
        }
    }

    /// Reads whatever came.
    fn read(&mut self, outputs: &mut VecDeque<Output>) {
        while let Some(message) = self.quic.datagrams().recv() {
            outputs.push_back(Output::Message(message.to_vec()));
        }
        if self.incoming.is_none() {
            self.incoming = self.quic.streams().accept(Dir::Uni);
        }
        let Some(stream) = self.incoming else { return };
        let mut stream = self.quic.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.packets.take(&chunk.bytes, |message| outputs.push_back(Output::Message(message)));
        }
        // Permission for more leaves with the next packet.
        let _ = chunks.finalize();
    }
}

/// One end of a link that QUIC protects.
pub struct Quic {
    delivery: Delivery,
    endpoint: Endpoint,
    connections: BTreeMap<ConnectionHandle, Peer>,
    /// Where messages go: the connection that ground opened, or the last one that was proven to space.
    active: Option<ConnectionHandle>,
    remote: SocketAddr,
    /// The library's time at zero of the link's.
    zero: Instant,
    now: Duration,
    due: Option<Duration>,
    state: State,
    /// Ground may send before the handshake is over.
    early: bool,
    /// What it sent so: space may not have taken it.
    sent_early: Vec<Vec<u8>>,
    waiting: VecDeque<Vec<u8>>,
    outputs: VecDeque<Output>,
    scratch: Vec<u8>,
}

impl Quic {
    fn new(delivery: Delivery, server: Option<Arc<ServerConfig>>, remote: SocketAddr, now: Duration) -> Self {
        Self {
            delivery,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server, true, None),
            connections: BTreeMap::new(),
            active: None,
            remote,
            zero: Instant::now(),
            now,
            due: None,
            state: State::Handshaking,
            early: false,
            sent_early: Vec::new(),
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
            scratch: Vec::new(),
        }
    }

    fn instant(&mut self, now: Duration) -> Instant {
        self.now = self.now.max(now);
        self.zero + self.now
    }

    fn accept(&mut self, incoming: Incoming, at: Instant) {
        if self.connections.len() >= MOST_CONNECTIONS {
            self.endpoint.ignore(incoming);
            return;
        }
        self.scratch.clear();
        match self.endpoint.accept(incoming, at, &mut self.scratch, None) {
            Ok((handle, connection)) => {
                self.connections.insert(handle, Peer::new(connection));
            }
            Err(error) => {
                let answer = error.response.map(|transmit| self.scratch[..transmit.size].to_vec());
                self.outputs.extend(answer.map(Output::Datagram));
            }
        }
    }

    /// Takes note of what connections tell, reads what came and sends what waits.
    fn settle(&mut self) {
        for (handle, peer) in &mut self.connections {
            while let Some(event) = peer.quic.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    peer.quic.handle_event(event);
                }
            }
            while let Some(event) = peer.quic.poll() {
                match event {
                    Event::Connected => {
                        peer.connected = true;
                        let early = std::mem::take(&mut self.early) && peer.quic.accepted_0rtt();
                        if !early {
                            let again = self.sent_early.drain(..).rev();
                            again.for_each(|message| self.waiting.push_front(message));
                            (peer.outgoing, peer.backlog) = (None, VecDeque::new());
                        }
                        self.sent_early.clear();
                        self.active = Some(*handle);
                        self.state = State::Established { early };
                    }
                    Event::ConnectionLost { reason }
                        if self.active.is_none_or(|active| active == *handle) =>
                    {
                        self.active = None;
                        self.state = State::Failed(reason.to_string());
                    }
                    _ => {}
                }
            }
            peer.read(&mut self.outputs);
        }
        self.connections.retain(|_, peer| !peer.quic.is_drained());
        self.send_waiting();
    }

    fn send_waiting(&mut self) {
        let Some(peer) = self.active.and_then(|active| self.connections.get_mut(&active)) else { return };
        if !peer.connected && !self.early {
            return;
        }
        while let Some(message) = self.waiting.pop_front() {
            match self.delivery {
                Delivery::Stream => peer.backlog.extend(&message),
                // One that is too long was refused before, unless the path became narrower; the oldest gives way.
                Delivery::Datagram => {
                    drop(peer.quic.datagrams().send(Bytes::copy_from_slice(&message), true))
                }
            }
            if !peer.connected {
                self.sent_early.push(message);
            }
        }
        peer.write();
    }

    /// Octets of the longest message that a datagram holds; none before the handshake is over, or if the other end takes
    /// no datagrams.
    pub fn longest_datagram(&mut self) -> Option<usize> {
        let peer = self.active.and_then(|active| self.connections.get_mut(&active))?;
        peer.quic.datagrams().max_size()
    }

    fn check_size(&mut self, message: &[u8]) -> Result<(), Refusal> {
        let most = match (self.delivery, self.longest_datagram()) {
            (Delivery::Datagram, Some(most)) if message.len() > most => most,
            _ => return Ok(()),
        };
        Err(too_long(message, &format!("a QUIC datagram of at most {most} octets"), "a stream"))
    }
}

impl LinkSecurity for Quic {
    fn name(&self) -> &'static str {
        match self.delivery {
            Delivery::Stream => "quic-stream",
            Delivery::Datagram => "quic-datagram",
        }
    }

    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        self.instant(now);
        check(&self.state, message)?;
        self.check_size(message)?;
        wait(&mut self.waiting, message)?;
        self.send_waiting();
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        let at = self.instant(now);
        self.scratch.clear();
        match self.endpoint.handle(at, self.remote, None, None, BytesMut::from(datagram), &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(peer) = self.connections.get_mut(&handle) {
                    peer.quic.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(incoming, at),
            Some(DatagramEvent::Response(transmit)) => {
                self.outputs.push_back(Output::Datagram(self.scratch[..transmit.size].to_vec()));
            }
            None => {}
        }
        self.settle();
        Ok(())
    }

    fn poll(&mut self) -> Option<Output> {
        if let Some(output) = self.outputs.pop_front() {
            return Some(output);
        }
        let at = self.zero + self.now;
        for peer in self.connections.values_mut() {
            self.scratch.clear();
            if let Some(transmit) = peer.quic.poll_transmit(at, 1, &mut self.scratch) {
                return Some(Output::Datagram(self.scratch[..transmit.size].to_vec()));
            }
        }
        let due = self.connections.values_mut().filter_map(|peer| peer.quic.poll_timeout()).min();
        self.due = due.map(|due| due.saturating_duration_since(self.zero));
        None
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.due
    }

    fn handle_timeout(&mut self, now: Duration) {
        let at = self.instant(now);
        for peer in self.connections.values_mut() {
            if peer.quic.poll_timeout().is_some_and(|due| due <= at) {
                peer.quic.handle_timeout(at);
            }
        }
        self.due = None;
        self.settle();
    }
}

impl Link for Quic {
    fn state(&self) -> State {
        self.state.clone()
    }
}
