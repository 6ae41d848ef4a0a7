//! QUIC by quiche: one bidirectional stream as a byte stream, or messages in unreliable datagrams (RFC 9221). Built with
//! the cargo feature `quiche` only, for it compiles BoringSSL.
//!
//! quiche itself does no input and output: it is driven as it is meant to be. Each datagram that it writes has an
//! instant before which it is not to leave; it is held until then, to some microseconds. quiche has no settings of its
//! own for much that a session needs: those of its own client and server (`apps` of its repository) are taken.
//!
//! BoringSSL mixes numbers of Intel processors (RDRAND) into its randomness. `gauntlet-player` switches that off before
//! anything else; the rest, the keys of tickets among it, comes from getrandom(2), so that the same seed gives the same
//! bytes. All sessions of a receiver share a configuration, and with it the keys of the tickets.

mod engine;
mod link;
mod sampler;
#[cfg(test)]
mod tests;
mod tickets;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quiche::{Config, CongestionControlAlgorithm};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::engine::{LONGEST_BYTES, QuicheEngine};
use self::link::QuicheLink;
use self::tickets::Tickets;
use super::connection::{QuicConnection, QuicListener};
use super::credentials::{Credentials, PROTOCOL, TlsOptions};
use super::driver::Driver;
use super::idle_timeout;
use super::socket::UdpSocket;
use crate::context::Context;
use crate::error::{Failure, SpecError};
use crate::params::{Buffers, parse_params};
use crate::qlog::Side;
use crate::secure::{Fault, SERVER_NAME, TlsCredentials};
use crate::session::Session;
use crate::transport::{Connection, Listener, Service, Stack};

const NAME: &str = "quic-quiche";

/// Silence after which a session counts as dead (`--idle-timeout` of quiche's own client and server).
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Flow control's first windows of a session and of a stream, which the library widens as it goes (`--max-data`,
/// `--max-stream-data` there).
const SESSION_WINDOW_BYTES: u64 = 10_000_000;
const STREAM_WINDOW_BYTES: u64 = 1_000_000;

/// Datagrams that an end keeps, to be sent or to be read, as the library's own client and server do (`enable_dgram` in
/// its `apps`). A sender with as many waits until there is room; a receiver loses the oldest.
const QUEUED: usize = 1000;

/// Streams that the other side may open (`--max-streams-bidi` there).
const STREAMS: u64 = 100;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CongestionControl {
    #[default]
    Cubic,
    Reno,
    /// The second version of BBR, the only one that the library has.
    Bbr,
}

impl CongestionControl {
    fn algorithm(self) -> CongestionControlAlgorithm {
        match self {
            Self::Cubic => CongestionControlAlgorithm::CUBIC,
            Self::Reno => CongestionControlAlgorithm::Reno,
            Self::Bbr => CongestionControlAlgorithm::Bbr2Gcongestion,
        }
    }
}

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
    receive_buffer_bytes: Option<u32>,
    fault: Option<Fault>,
}

struct Quiche {
    congestion_control: CongestionControl,
    datagrams: bool,
    client_auth: bool,
    early_data: bool,
    idle_timeout: Duration,
    receive_bytes: Option<u32>,
    credentials: Credentials,
    /// Kept where later sessions resume earlier ones.
    tickets: Option<Arc<Tickets>>,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = parse_params("stack_params", NAME, params)?;
    let Params { congestion_control, datagrams, client_auth, early_data, fault, .. } = params;
    let idle_timeout_s = params.idle_timeout_s;
    let buffers = Buffers::new(None, params.receive_buffer_bytes)?;
    Ok(Box::new(Quiche {
        congestion_control,
        datagrams,
        client_auth,
        early_data,
        idle_timeout: idle_timeout_s.map_or(Ok(IDLE_TIMEOUT), |value_s| self::idle_timeout(NAME, value_s))?,
        receive_bytes: buffers.receive_bytes,
        credentials: Credentials::new(TlsOptions { client_auth, fault, ..TlsOptions::default() }),
        tickets: (params.resumption || early_data).then(Arc::default),
    }))
}

impl Quiche {
    fn config(&self, credentials: &TlsCredentials<'_>) -> Result<Config, Failure> {
        let refused = |error| Failure::new(format!("quiche refuses its configuration: {error}"));
        let tls = tls::context(credentials)?;
        let mut config =
            Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls).map_err(refused)?;
        config.set_application_protos(&[PROTOCOL]).map_err(refused)?;
        config.log_keys();
        config.set_cc_algorithm(self.congestion_control.algorithm());
        config.set_max_idle_timeout(self.idle_timeout.as_millis() as u64);
        config.set_max_recv_udp_payload_size(LONGEST_BYTES);
        config.set_max_send_udp_payload_size(LONGEST_BYTES);
        let window_bytes = self.receive_bytes.map(u64::from);
        config.set_initial_max_data(window_bytes.unwrap_or(SESSION_WINDOW_BYTES));
        let stream_bytes = window_bytes.unwrap_or(STREAM_WINDOW_BYTES);
        config.set_initial_max_stream_data_bidi_local(stream_bytes);
        config.set_initial_max_stream_data_bidi_remote(stream_bytes);
        if let Some(bytes) = window_bytes {
            config.set_max_connection_window(bytes);
            config.set_max_stream_window(bytes);
        }
        config.set_initial_max_streams_bidi(STREAMS);
        if self.early_data {
            config.enable_early_data();
        }
        if self.datagrams {
            config.enable_dgram(true, QUEUED, QUEUED);
        }
        Ok(config)
    }
}

impl Stack for Quiche {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service(&self) -> Service {
        if self.datagrams { Service::Datagrams } else { Service::Stream }
    }

    fn resumes(&self) -> bool {
        self.tickets.is_some()
    }

    fn works_on_a_processor(&self) -> bool {
        true
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.credentials.pki(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let (source, destination) = (session.expected_source(), session.ctx.destination);
        let pki = self.credentials.pki(session)?;
        let config = self.config(&pki.server_credentials(self.client_auth))?;
        let driver = open(session, config, Side::Server, destination, source)?;
        Ok(Box::new(QuicListener { driver, accept: QuicheLink::accept, datagrams: self.datagrams }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let (source, destination) = (session.source(), session.ctx.destination);
        let pki = self.credentials.pki(session)?;
        let config = self.config(&pki.client_credentials(self.client_auth))?;
        let driver = open(session, config, Side::Client, source, destination)?;
        let ticket = self.tickets.as_ref().and_then(|tickets| tickets.latest());
        let handle = driver.lock().engine.connect(SERVER_NAME, ticket.as_deref())?;
        let link = QuicheLink::opening(handle, self.datagrams, self.tickets.clone());
        let mut connection = QuicConnection::opening(driver, link, self.datagrams);
        connection.establish(destination, QuicheLink::ready)?;
        if self.datagrams {
            connection.check_datagram(message_bytes)?;
        }
        Ok(Box::new(connection))
    }
}

/// Opens an endpoint at `at` that talks to `peer`.
fn open(
    session: &Arc<Session>,
    config: Config,
    side: Side,
    at: SocketAddr,
    peer: SocketAddr,
) -> Result<Driver<QuicheEngine>, Failure> {
    let socket = UdpSocket::open(NAME, session, at, LONGEST_BYTES)?;
    let unknown = |error| Failure::system("a UDP socket could not tell its address", &error);
    let local = socket.guarded().local_addr().map_err(unknown)?.as_socket().unwrap_or(at);
    // What the sender knows decrypts both directions.
    let keys = if side == Side::Client { session.keys() } else { None };
    let now_ns = session.ctx.clock.now_ns();
    let engine = QuicheEngine::new(config, side, local, peer, now_ns).noting(keys, session.ctx.qlog.clone());
    Ok(Driver::new(session, socket, engine, side == Side::Server, now_ns))
}
