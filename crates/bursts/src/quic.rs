//! QUIC (quinn-proto) under test: its sans-IO endpoint as a host of the simulated network.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant as StdInstant};

use bytes::{Bytes, BytesMut};
use quinn_proto::congestion::{BbrConfig, CubicConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig,
    Event, ServerConfig, StreamId, Transmit, TransportConfig,
};
use restp_proto::{Ecn, Instant};
use restp_sim::pair::{client_ip, pattern, server_ip};
use restp_sim::{Host, HostId, Network, Outgoing, Packet};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::attempt::{Try, message, message_number};
use crate::grid::Messages;

/// UDP port of both hosts.
const PORT: u16 = 443;
/// Windows in bytes: as much as ResTP's file presets grant (8192 packets).
const WINDOW_BYTES: u32 = 8192 * 1200;
/// Segments that one call may produce, as for ResTP.
const SEGMENTS: usize = 10;

/// Which congestion controller.
#[derive(Clone, Copy, Debug)]
pub enum Control {
    Cubic,
    Bbr,
}

/// TLS of both sides. The certificate is Ed25519: its signatures are all of the same length, as a replay demands.
fn credentials() -> &'static (Arc<QuicServerConfig>, Arc<QuicClientConfig>) {
    static CREDENTIALS: OnceLock<(Arc<QuicServerConfig>, Arc<QuicClientConfig>)> = OnceLock::new();
    CREDENTIALS.get_or_init(|| {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
        let params = rcgen::CertificateParams::new(vec!["server".into()]).expect("a name");
        let certificate = CertificateDer::from(params.self_signed(&key).expect("a certificate"));
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = [&rustls::version::TLS13];
        let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .expect("TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .expect("a key that fits");
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).expect("a certificate");
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .expect("TLS 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let server = QuicServerConfig::try_from(server).expect("TLS 1.3");
        let client = QuicClientConfig::try_from(client).expect("TLS 1.3");
        (Arc::new(server), Arc::new(client))
    })
}

fn transport(control: Control) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(None)
        .stream_receive_window(WINDOW_BYTES.into())
        .receive_window((2 * WINDOW_BYTES).into())
        .send_window(WINDOW_BYTES.into());
    match control {
        Control::Cubic => transport.congestion_controller_factory(Arc::new(CubicConfig::default())),
        Control::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
    };
    Arc::new(transport)
}

/// An end of a connection with its application: it sends what it was given and keeps what arrives.
struct QuicHost {
    epoch: StdInstant,
    own: SocketAddr,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    connected: bool,
    stream: Option<StreamId>,
    queue: VecDeque<Bytes>,
    /// What arrived on a stream and was not taken yet.
    arrived: Vec<u8>,
    /// Datagrams that arrived.
    datagrams: Vec<Bytes>,
    buffer: Vec<u8>,
    waiting: VecDeque<Outgoing>,
}

impl QuicHost {
    fn new(own: SocketAddr, server: Option<Control>, seed: [u8; 32]) -> Self {
        let server = server.map(|control| {
            let mut config = ServerConfig::with_crypto(credentials().0.clone());
            config.transport_config(transport(control));
            Arc::new(config)
        });
        Self {
            epoch: StdInstant::now(),
            own,
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some(seed)),
            connection: None,
            connected: false,
            stream: None,
            queue: VecDeque::new(),
            arrived: Vec::new(),
            datagrams: Vec::new(),
            buffer: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    fn at(&self, now: Instant) -> StdInstant {
        self.epoch + now.saturating_since(Instant::ZERO)
    }

    fn connect(&mut self, now: Instant, remote: SocketAddr, control: Control) {
        let mut config = ClientConfig::new(credentials().1.clone());
        config.transport_config(transport(control));
        let now = self.at(now);
        self.connection =
            Some(self.endpoint.connect(now, config, remote, "server").expect("a valid address"));
    }

    fn send_datagram(&mut self, bytes: Bytes) {
        if let Some((_, connection)) = &mut self.connection {
            // What does not fit displaces the oldest, as live data want it.
            connection.datagrams().send(bytes, true).expect("datagrams are on by default");
        }
    }

    /// Lets events, streams and the endpoint catch up.
    fn turn(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            self.connected |= matches!(event, Event::Connected);
        }
        if self.connected && self.stream.is_none() && !self.queue.is_empty() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        if let Some(stream) = self.stream {
            while let Some(mut bytes) = self.queue.pop_front() {
                let written = connection.send_stream(stream).write(&bytes).unwrap_or(0);
                if written < bytes.len() {
                    self.queue.push_front(bytes.split_off(written));
                    break;
                }
            }
        }
        while let Some(bytes) = connection.datagrams().recv() {
            self.datagrams.push(bytes);
        }
        self.read();
    }

    fn read(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        // The peer's first stream, the only one there is.
        let stream = StreamId::new(connection.side(), Dir::Uni, 0);
        let stream = StreamId::new(!stream.initiator(), Dir::Uni, 0);
        let mut stream = connection.recv_stream(stream);
        let Ok(mut chunks) = stream.read(true) else { return };
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            self.arrived.extend_from_slice(&chunk.bytes);
        }
        let _ = chunks.finalize();
    }

    fn keep(&mut self, now: Instant, transmit: &Transmit) {
        let segment_bytes = transmit.segment_size.unwrap_or(transmit.size);
        let ecn = match transmit.ecn {
            Some(EcnCodepoint::Ect0) => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) => Ecn::Ect1,
            Some(EcnCodepoint::Ce) => Ecn::Ce,
            None => Ecn::NotEct,
        };
        for segment in self.buffer[..transmit.size].chunks(segment_bytes) {
            let packet =
                Packet { source: self.own, destination: transmit.destination, ecn, data: segment.to_vec() };
            self.waiting.push_back(Outgoing { packet, release_at: now });
        }
    }
}

impl Host for QuicHost {
    fn receive(&mut self, now: Instant, packet: &Packet) {
        let at = self.at(now);
        let ecn = match packet.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        self.buffer.clear();
        let data = BytesMut::from(&packet.data[..]);
        match self.endpoint.handle(at, packet.source, None, ecn, data, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, at, &mut self.buffer, None).ok();
            }
            Some(DatagramEvent::Response(transmit)) => self.keep(now, &transmit),
            None => {}
        }
        self.turn();
    }

    fn transmit(&mut self, now: Instant) -> Option<Outgoing> {
        if self.waiting.is_empty() {
            self.turn();
            let at = self.at(now);
            self.buffer.clear();
            let (_, connection) = self.connection.as_mut()?;
            if let Some(transmit) = connection.poll_transmit(at, SEGMENTS, &mut self.buffer) {
                self.keep(now, &transmit);
            }
        }
        self.waiting.pop_front()
    }

    fn deadline(&mut self) -> Option<Instant> {
        let (_, connection) = self.connection.as_mut()?;
        let due = connection.poll_timeout()?;
        Some(Instant::ZERO + due.saturating_duration_since(self.epoch))
    }

    fn wake(&mut self, now: Instant) {
        let at = self.at(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(at);
        }
        self.turn();
    }
}

fn pair(control: Control, attempt: &Try) -> (Network<QuicHost>, HostId, HostId) {
    let mut net = Network::new(attempt.seed);
    let (client_at, server_at) = (SocketAddr::new(client_ip(0), PORT), SocketAddr::new(server_ip(0), PORT));
    let client = QuicHost::new(client_at, None, net.rng().seed_bytes());
    let server = QuicHost::new(server_at, Some(control), net.rng().seed_bytes());
    let (client, server) = (net.add_host(client, &[client_ip(0)]), net.add_host(server, &[server_ip(0)]));
    net.connect(client_ip(0), server_ip(0), attempt.link.clone(), attempt.link.clone());
    net.with(client, |host, now| host.connect(now, server_at, control));
    (net, client, server)
}

pub fn transfer(control: Control, attempt: &Try, size_bytes: usize, limit: Duration) -> Option<f64> {
    let (mut net, client, server) = pair(control, attempt);
    let start = net.now();
    let data: Bytes = (0..size_bytes).map(pattern).collect();
    net.with(client, |host, _| host.queue.push_back(data));
    while net.host(server).arrived.len() < size_bytes {
        if net.next_event().is_none_or(|at| at > start + limit) {
            return None;
        }
        net.step();
    }
    Some((net.now() - start).as_secs_f64())
}

pub fn messages(control: Control, datagrams: bool, attempt: &Try, flow: &Messages) -> Vec<f64> {
    let (mut net, client, server) = pair(control, attempt);
    let deadline = net.now() + Duration::from_secs(60);
    while !net.host(server).connected && net.next_event().is_some_and(|at| at < deadline) {
        net.step();
    }
    net.run_for(Duration::from_secs(2));
    let start = net.now();
    let end = start + flow.interval() * flow.count as u32 + flow.patience();
    let (mut sent, mut delays_s) = (0, Vec::new());
    while delays_s.len() < flow.count {
        let due = if sent < flow.count { start + flow.interval() * sent as u32 } else { end };
        if net.now() >= due {
            if sent == flow.count {
                break;
            }
            let bytes = Bytes::from(message(sent, flow.size_bytes));
            net.with(client, |host, _| {
                if datagrams {
                    host.send_datagram(bytes);
                } else {
                    host.queue.push_back(bytes);
                    host.turn();
                }
            });
            sent += 1;
        } else if net.next_event().is_some_and(|at| at <= due) {
            net.step();
        } else {
            net.run_until(due);
        }
        let now = net.now();
        net.with(server, |host, _| {
            let whole = host.arrived.len() / flow.size_bytes * flow.size_bytes;
            let arrived: Vec<u8> = host.arrived.drain(..whole).collect();
            let messages =
                arrived.chunks(flow.size_bytes).chain(host.datagrams.iter().map(|bytes| &bytes[..]));
            for number in messages.filter_map(message_number) {
                delays_s.push((now - (start + flow.interval() * number as u32)).as_secs_f64());
            }
            host.datagrams.clear();
        });
    }
    delays_s
}
