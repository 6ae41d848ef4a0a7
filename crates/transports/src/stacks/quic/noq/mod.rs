//! Multipath QUIC by noq: one bidirectional stream as a byte stream, or messages in unreliable datagrams (RFC 9221), over
//! as many paths as the receiver has addresses (draft-ietf-quic-multipath).
//!
//! As of quinn, from which noq was forked, what is driven is the protocol core. Each path has a congestion control of its
//! own, uncoupled. The library hands data to the first path that has room in its window; a path on which nothing was heard
//! for `path_timeout_s` is given up, what was under way there goes over another one, and a new path is asked for until the
//! address answers again.

mod calls;
mod engine;
mod link;
mod paths;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use noq_proto::congestion::{Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
use noq_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use noq_proto::{ClientConfig, EndpointConfig, ServerConfig, TransportConfig, VarInt};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::engine::NoqEngine;
use self::link::NoqLink;
use self::paths::Paths;
use super::connection::{QuicConnection, QuicListener};
use super::credentials::{Credentials, TlsOptions};
use super::driver::Driver;
use super::socket::UdpSocket;
use super::{idle_timeout, no_initial_suite};
use crate::error::{Failure, SpecError};
use crate::kernel::socket;
use crate::params::{Buffers, nanoseconds, parse_params};
use crate::secure::{Fault, SERVER_NAME};
use crate::session::Session;
use crate::sys::path_manager;
use crate::transport::{Connection, Listener, Service, Stack};

const NAME: &str = "quic-noq";

/// The silence after which a path is given up, unless a flow says another one. The library lengthens it to three probe
/// time-outs of the path where these are longer.
const PATH_TIMEOUT_S: f64 = 1.0;

/// The shortest that is taken: a millisecond, the library's timer granularity (RFC 9002, section 6.1.2).
const SHORTEST_PATH_TIMEOUT_S: f64 = 1e-3;

/// How often within its time-out an idle path is asked whether it is still there.
const ASKED: u32 = 3;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CongestionControl {
    #[default]
    Cubic,
    Newreno,
    Bbr,
}

impl CongestionControl {
    fn factory(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Newreno => Arc::new(NewRenoConfig::default()),
            Self::Bbr => Arc::new(Bbr3Config::default()),
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
    idle_timeout_s: Option<f64>,
    /// How many paths carry data, the first ones; those behind them are backups. By default all do.
    active_paths: Option<usize>,
    path_timeout_s: Option<f64>,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    fault: Option<Fault>,
}

/// QUIC by noq with its parameters.
struct Noq {
    congestion_control: CongestionControl,
    datagrams: bool,
    idle_timeout: Option<Duration>,
    active_paths: usize,
    path_timeout: Duration,
    buffers: Buffers,
    credentials: Credentials,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = parse_params("stack_params", NAME, params)?;
    let most = 1 + path_manager::MOST;
    let active_paths = params.active_paths.unwrap_or(most);
    if !(1..=most).contains(&active_paths) {
        return Err(SpecError::new(format!(
            "`stack_params` of `{NAME}`: `active_paths` is {active_paths}; it must be from 1 to {most}"
        )));
    }
    let path_timeout_s = params.path_timeout_s.unwrap_or(PATH_TIMEOUT_S);
    let path_timeout_ns = nanoseconds("path_timeout_s", path_timeout_s, SHORTEST_PATH_TIMEOUT_S)
        .map_err(|error| SpecError::new(format!("`stack_params` of `{NAME}`: {error}")))?;
    Ok(Box::new(Noq {
        congestion_control: params.congestion_control,
        datagrams: params.datagrams,
        idle_timeout: params.idle_timeout_s.map(|value_s| idle_timeout(NAME, value_s)).transpose()?,
        active_paths,
        path_timeout: Duration::from_nanos(path_timeout_ns as u64),
        buffers: Buffers::new(params.send_buffer_bytes, params.receive_buffer_bytes)?,
        credentials: Credentials::new(TlsOptions {
            client_auth: params.client_auth,
            fault: params.fault,
            ..TlsOptions::default()
        }),
    }))
}

impl Noq {
    /// The paths to `peer`, of an end that is the receiver or sends to it.
    fn paths(&self, session: &Session, peer: SocketAddr) -> Paths {
        let further = session.ctx.destination_further.iter().take(path_manager::MOST);
        Paths {
            first: peer,
            further: further.map(|ip| SocketAddr::new(*ip, peer.port())).collect(),
            active: self.active_paths,
        }
    }

    /// The settings of either end of connections with so many `paths`.
    fn transport(&self, paths: usize) -> Result<Arc<TransportConfig>, Failure> {
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(self.congestion_control.factory());
        if paths > 1 {
            // One that is given up counts until the other end knows.
            transport.max_concurrent_multipath_paths(2 * paths as u32);
            transport.default_path_max_idle_timeout(Some(self.path_timeout));
            transport.default_path_keep_alive_interval(Some(self.path_timeout / ASKED));
        }
        if let Some(timeout) = self.idle_timeout {
            let timeout = timeout
                .try_into()
                .map_err(|error| Failure::new(format!("`idle_timeout_s` is too long for QUIC: {error}")))?;
            transport.max_idle_timeout(Some(timeout));
        }
        if let Some(bytes) = self.buffers.send_bytes {
            transport.send_window(u64::from(bytes));
        }
        if let Some(bytes) = self.buffers.receive_bytes {
            transport.stream_receive_window(VarInt::from_u32(bytes)).receive_window(VarInt::from_u32(bytes));
        }
        Ok(Arc::new(transport))
    }

    /// Opens an endpoint at `at` that talks to its peer over `paths`.
    fn open(
        &self,
        session: &Arc<Session>,
        at: SocketAddr,
        paths: Paths,
        server: Option<Arc<ServerConfig>>,
    ) -> Result<Driver<NoqEngine>, Failure> {
        let config = Arc::new(EndpointConfig::default());
        let at = if paths.most() > 1 { socket::everywhere(at) } else { at };
        let socket = UdpSocket::open(NAME, session, at, config.get_max_udp_payload_size() as usize)?;
        let now_ns = session.ctx.clock.now_ns();
        let listens = server.is_some();
        Ok(Driver::new(session, socket, NoqEngine::new(config, server, paths, now_ns), listens, now_ns))
    }
}

impl Stack for Noq {
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
        1 + path_manager::MOST
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.credentials.pki(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let paths = self.paths(session, session.expected_source());
        let tls = QuicServerConfig::try_from(self.credentials.server(session)?).map_err(no_initial_suite)?;
        let mut server = ServerConfig::with_crypto(Arc::new(tls));
        server.transport_config(self.transport(paths.most())?);
        let driver = self.open(session, session.ctx.destination, paths, Some(Arc::new(server)))?;
        Ok(Box::new(QuicListener { driver, accept: NoqLink::accept, datagrams: self.datagrams }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let destination = session.ctx.destination;
        let paths = self.paths(session, destination);
        let tls = QuicClientConfig::try_from(self.credentials.client(session)?).map_err(no_initial_suite)?;
        let mut client = ClientConfig::new(Arc::new(tls));
        client.transport_config(self.transport(paths.most())?);
        let driver = self.open(session, session.source(), paths, None)?;
        let handle = {
            let mut state = driver.lock();
            let now_ns = state.now_ns();
            state.engine.connect(client, SERVER_NAME, now_ns)?
        };
        let mut connection = QuicConnection::opening(driver, NoqLink::opening(handle), self.datagrams);
        connection.establish(destination, NoqLink::ready)?;
        if self.datagrams {
            connection.check_datagram(message_bytes)?;
        } else {
            connection.with(NoqLink::open_stream);
        }
        Ok(Box::new(connection))
    }
}
