//! QUIC by quinn: one bidirectional stream as a byte stream, or messages in unreliable datagrams (RFC 9221).
//!
//! What is driven is `quinn-proto`, the protocol core of quinn, and not its asynchronous layer, for three reasons. Its
//! timers are then exact, where a runtime rounds them to milliseconds; a wake-up costs two or three system calls and no
//! hand-over between tasks; and a blocking transport in the thread of its application fits [`Connection`] as it is. The
//! asynchronous layer adds input and output only: congestion control, pacing, recovery and flow control are the core's.
//!
//! All settings are the library's own unless a parameter says otherwise. Randomness comes from getrandom(2) alone
//! (`rand`, `ring`), so that the same seed gives the same bytes in a guest.

mod bearers;
mod calls;
mod config;
mod engine;
mod events;
mod link;
mod observed;
mod sampler;
pub(crate) mod web;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, EndpointConfig, ServerConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::bearers::Bearers;
use self::config::{CongestionControl, LongDelay, Transport};
use self::engine::QuinnEngine;
use self::events::{Acceptor, Events};
use self::link::QuinnLink;
use self::observed::Counts;
use super::connection::{QuicConnection, QuicListener};
use super::credentials::{Credentials, PROTOCOL, TlsOptions};
use super::driver::Driver;
use super::socket::UdpSocket;
use super::{idle_timeout, no_initial_suite};
use crate::error::{Failure, SpecError};
use crate::http::carrier::HttpCarrier;
use crate::kernel::socket;
use crate::params::{Buffers, nanoseconds, parse_params};
use crate::qlog::Side;
use crate::secure::{Fault, SERVER_NAME};
use crate::session::Session;
use crate::sys::path_manager;
use crate::transport::{Connection, Listener, Service, Stack};

const NAME: &str = "quic-quinn";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    #[serde(default)]
    congestion_control: CongestionControl,
    #[serde(default)]
    datagrams: bool,
    #[serde(default)]
    client_auth: bool,
    #[serde(default)]
    resumption: bool,
    #[serde(default)]
    early_data: bool,
    idle_timeout_s: Option<f64>,
    /// The round trip that is assumed before one was measured.
    initial_rtt_s: Option<f64>,
    /// For how long the other end is asked to hold back an acknowledgement at most.
    max_ack_delay_s: Option<f64>,
    /// The congestion window of the first flight.
    initial_window_bytes: Option<u32>,
    /// Whether packets behind the handshake are padded to the longest that the path takes.
    #[serde(default)]
    pad_to_mtu: bool,
    /// The silence after which the end that opened the connection goes on over the next address of its peer; without it,
    /// it never does.
    migrate_after_s: Option<f64>,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    fault: Option<Fault>,
}

/// QUIC by quinn with its parameters.
pub(crate) struct Quinn {
    transport: Transport,
    datagrams: bool,
    early_data: bool,
    migrate_after: Option<Duration>,
    credentials: Credentials,
    /// The sender's TLS, kept so that later connections know the tickets of earlier ones.
    client: Mutex<Option<ClientConfig>>,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = parse_params("stack_params", NAME, params)?;
    let Params { client_auth, resumption, early_data, fault, .. } = params;
    let idle_timeout = params.idle_timeout_s.map(|value_s| idle_timeout(NAME, value_s)).transpose()?;
    let buffers = Buffers::new(params.send_buffer_bytes, params.receive_buffer_bytes)?;
    let congestion_control = params.congestion_control;
    let long = LongDelay {
        initial_rtt: params
            .initial_rtt_s
            .map(|value_s| at_least_a_millisecond("initial_rtt_s", value_s))
            .transpose()?,
        max_ack_delay: params
            .max_ack_delay_s
            .map(|value_s| at_least_a_millisecond("max_ack_delay_s", value_s))
            .transpose()?,
        initial_window_bytes: params.initial_window_bytes,
    };
    Ok(Box::new(Quinn {
        transport: Transport {
            congestion_control,
            idle_timeout,
            buffers,
            long,
            pad_to_mtu: params.pad_to_mtu,
        },
        datagrams: params.datagrams,
        early_data,
        migrate_after: params
            .migrate_after_s
            .map(|value_s| at_least_a_millisecond("migrate_after_s", value_s))
            .transpose()?,
        credentials: Credentials::new(TlsOptions { client_auth, resumption, early_data, fault }),
        client: Mutex::new(None),
    }))
}

/// A duration that quinn takes as it is; not below a millisecond, which is the library's timer granularity (RFC 9002,
/// section 6.1.2).
fn at_least_a_millisecond(key: &str, value_s: f64) -> Result<Duration, SpecError> {
    let value_ns = nanoseconds(key, value_s, 1e-3)
        .map_err(|error| SpecError::new(format!("`stack_params` of `{NAME}`: {error}")))?;
    Ok(Duration::from_nanos(value_ns as u64))
}

impl Quinn {
    /// The receiver's side, for an application `protocol` (ALPN).
    fn server(&self, session: &Session, protocol: &[u8]) -> Result<Acceptor, Failure> {
        let mut tls = self.credentials.server(session)?;
        tls.alpn_protocols = vec![protocol.to_vec()];
        let tls = QuicServerConfig::try_from(tls).map_err(no_initial_suite)?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        config.transport_config(self.transport.config(&Arc::default(), None)?);
        let events = Events::of(session, Side::Server);
        Ok(Acceptor { config: Arc::new(config), transport: self.transport, events })
    }

    /// The sender's side, for an application `protocol` (ALPN).
    fn client(
        &self,
        session: &Session,
        protocol: &[u8],
        counts: &Arc<Counts>,
    ) -> Result<ClientConfig, Failure> {
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let mut config = match &*kept {
            Some(config) => config.clone(),
            None => {
                let mut tls = self.credentials.client(session)?;
                tls.alpn_protocols = vec![protocol.to_vec()];
                let tls = QuicClientConfig::try_from(tls).map_err(no_initial_suite)?;
                kept.insert(ClientConfig::new(Arc::new(tls))).clone()
            }
        };
        let events = Events::of(session, Side::Client).and_then(|events| events.next());
        config.transport_config(self.transport.config(counts, events)?);
        Ok(config)
    }

    /// The receiver's addresses beside the first to which this flow may turn.
    fn further<'a>(&self, session: &'a Session) -> &'a [IpAddr] {
        let all = session.ctx.destination_further.as_slice();
        if self.migrate_after.is_some() { all } else { &[] }
    }

    /// The ways of an end that opens connections to `peer`, where it has a choice.
    fn bearers(&self, session: &Session, peer: SocketAddr, listens: bool) -> Option<Bearers> {
        let further = self.further(session);
        let patience_ns = self.migrate_after.filter(|_| !listens && !further.is_empty())?.as_nanos() as i64;
        let others = further.iter().map(|ip| SocketAddr::new(*ip, peer.port()));
        Some(Bearers::new([peer].into_iter().chain(others).collect(), patience_ns))
    }

    /// Opens an endpoint at `at` that talks to `peer`.
    fn open(
        &self,
        session: &Arc<Session>,
        at: SocketAddr,
        peer: SocketAddr,
        server: Option<Acceptor>,
    ) -> Result<Driver<QuinnEngine>, Failure> {
        let config = Arc::new(EndpointConfig::default());
        let bearers = self.bearers(session, peer, server.is_some());
        let at = if self.further(session).is_empty() { at } else { socket::everywhere(at) };
        let socket = UdpSocket::open(NAME, session, at, config.get_max_udp_payload_size() as usize)?;
        let now_ns = session.ctx.clock.now_ns();
        let listens = server.is_some();
        let engine = QuinnEngine::new(config, server, peer, self.transport.pad_to_mtu, now_ns).over(bearers);
        Ok(Driver::new(session, socket, engine, listens, now_ns))
    }
}

impl Stack for Quinn {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service(&self) -> Service {
        if self.datagrams { Service::Datagrams } else { Service::Stream }
    }

    fn works_on_a_processor(&self) -> bool {
        true
    }

    fn homes(&self) -> usize {
        1 + if self.migrate_after.is_some() { path_manager::MOST } else { 0 }
    }

    fn http(&self) -> Result<Option<&dyn HttpCarrier>, SpecError> {
        if self.datagrams {
            return Err(SpecError::new(
                "`page` over `quic-quinn` needs streams; leave `datagrams` out of `stack_params`",
            ));
        }
        if self.early_data {
            return Err(SpecError::new(
                "`page` over `quic-quinn` sends no early data; leave `early_data` out of `stack_params`",
            ));
        }
        Ok(Some(self))
    }

    fn resumes(&self) -> bool {
        self.credentials.resumes()
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.credentials.pki(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let (source, destination) = (session.expected_source(), session.ctx.destination);
        let server = Some(self.server(session, PROTOCOL)?);
        let driver = self.open(session, destination, source, server)?;
        Ok(Box::new(QuicListener { driver, accept: QuinnLink::accept, datagrams: self.datagrams }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let (source, destination) = (session.source(), session.ctx.destination);
        let counts = Arc::default();
        let config = self.client(session, PROTOCOL, &counts)?;
        let driver = self.open(session, source, destination, None)?;
        let handle = {
            let mut state = driver.lock();
            let now_ns = state.now_ns();
            state.engine.connect(config, SERVER_NAME, now_ns)?
        };
        let link = QuinnLink::opening(handle, counts, self.transport.window_bytes());
        let mut connection = QuicConnection::opening(driver, link, self.datagrams);
        connection
            .establish(destination, |link, engine, now_ns| link.ready(engine, now_ns, self.early_data))?;
        if self.datagrams {
            connection.check_datagram(message_bytes)?;
        } else {
            connection.with(QuinnLink::open_stream);
        }
        Ok(Box::new(connection))
    }
}
