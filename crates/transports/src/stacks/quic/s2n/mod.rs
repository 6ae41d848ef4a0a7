//! QUIC by s2n-quic: one bidirectional stream as a byte stream.
//!
//! The library's endpoint is driven without the runtime that it brings along (crate `s2n-endpoint`): the thread of the
//! application hands it datagrams and the time, and takes datagrams from it.
//!
//! All settings are the library's own unless a parameter says otherwise; only the cryptography of TLS and of packets is
//! `ring` in place of AWS-LC, whose generator mixes in timing jitter and the processor's RDRAND: with it no two runs
//! would give the same bytes. AWS-LC still protects the first packets, whose keys follow from the connection id.

mod engine;
mod link;
mod metrics;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use s2n_endpoint::{LONGEST_OCTETS, Slot};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Bbr, Cubic, Provider as CongestionProvider};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls as tls;
use s2n_quic::{Client, Server};
use serde::Deserialize;
use serde_json::{Map, Value};

use self::engine::S2nEngine;
use self::link::S2nLink;
use self::metrics::Metrics;
use super::connection::QuicListener;
use super::credentials::{Credentials, TlsOptions};
use super::driver::Driver;
use super::idle_timeout;
use super::socket::UdpSocket;
use crate::error::{Failure, SpecError};
use crate::params::{Buffers, parse_params};
use crate::secure::{Fault, SERVER_NAME};
use crate::session::Session;
use crate::transport::{Connection, Listener, Service, Stack};

const NAME: &str = "quic-s2n";

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CongestionControl {
    #[default]
    Cubic,
    Bbr,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Params {
    #[serde(default)]
    congestion_control: CongestionControl,
    #[serde(default)]
    client_auth: bool,
    idle_timeout_s: Option<f64>,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    fault: Option<Fault>,
}

struct S2n {
    congestion_control: CongestionControl,
    idle_timeout: Option<Duration>,
    buffers: Buffers,
    credentials: Credentials,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let params: Params = parse_params("stack_params", NAME, params)?;
    let Params { client_auth, fault, .. } = params;
    let idle_timeout = params.idle_timeout_s.map(|value_s| idle_timeout(NAME, value_s)).transpose()?;
    let buffers = Buffers::new(params.send_buffer_bytes, params.receive_buffer_bytes)?;
    Ok(Box::new(S2n {
        congestion_control: params.congestion_control,
        idle_timeout,
        buffers,
        // The library passes over tickets, but with a feature that it calls unstable.
        credentials: Credentials::new(TlsOptions { client_auth, fault, ..TlsOptions::default() }),
    }))
}

impl S2n {
    fn limits(&self) -> Result<Limits, Failure> {
        let mut limits = Limits::new();
        let refused = |error| Failure::new(format!("s2n-quic refuses a limit: {error}"));
        if let Some(timeout) = self.idle_timeout {
            limits = limits.with_max_idle_timeout(timeout).map_err(refused)?;
        }
        if let Some(bytes) = self.buffers.send_bytes {
            limits = limits.with_max_send_buffer_size(bytes).map_err(refused)?;
        }
        if let Some(bytes) = self.buffers.receive_bytes {
            limits = limits
                .with_data_window(u64::from(bytes))
                .and_then(|limits| limits.with_bidirectional_local_data_window(u64::from(bytes)))
                .and_then(|limits| limits.with_bidirectional_remote_data_window(u64::from(bytes)))
                .map_err(refused)?;
        }
        Ok(limits)
    }

    fn start_server<C: CongestionProvider>(
        &self,
        session: &Session,
        slot: Slot,
        congestion: C,
    ) -> Result<Server, Failure> {
        let tls: tls::Server = self.credentials.server(session)?.into();
        let Ok(builder) = Server::builder().with_tls(tls);
        let Ok(builder) = builder.with_io(slot);
        let Ok(builder) = builder.with_congestion_controller(congestion);
        let Ok(builder) = builder.with_limits(self.limits()?);
        builder.start().map_err(not_started)
    }

    fn start_client<C: CongestionProvider>(
        &self,
        session: &Session,
        slot: Slot,
        congestion: C,
        metrics: Metrics,
    ) -> Result<Client, Failure> {
        let tls: tls::Client = self.credentials.client(session)?.into();
        let Ok(builder) = Client::builder().with_tls(tls);
        let Ok(builder) = builder.with_io(slot);
        let Ok(builder) = builder.with_congestion_controller(congestion);
        let Ok(builder) = builder.with_limits(self.limits()?);
        let Ok(builder) = builder.with_event(metrics);
        builder.start().map_err(not_started)
    }
}

fn not_started(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("s2n-quic could not be started: {error}"))
}

impl Stack for S2n {
    fn name(&self) -> &'static str {
        NAME
    }

    fn service(&self) -> Service {
        Service::Stream
    }

    fn works_on_a_processor(&self) -> bool {
        true
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.credentials.pki(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let (source, destination) = (session.expected_source(), session.ctx.destination);
        let slot = Slot::new(destination);
        let server = match self.congestion_control {
            CongestionControl::Cubic => self.start_server(session, slot.clone(), Cubic::default()),
            CongestionControl::Bbr => self.start_server(session, slot.clone(), Bbr::default()),
        }?;
        let driver = open(session, [destination, source], &slot, Some(server))?;
        Ok(Box::new(QuicListener { driver, accept: S2nLink::accept, datagrams: false }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let (source, destination) = (session.source(), session.ctx.destination);
        let slot = Slot::new(source);
        let metrics = Metrics::default();
        let client = match self.congestion_control {
            CongestionControl::Cubic => {
                self.start_client(session, slot.clone(), Cubic::default(), metrics.clone())
            }
            CongestionControl::Bbr => {
                self.start_client(session, slot.clone(), Bbr::default(), metrics.clone())
            }
        }?;
        let driver = open(session, [source, destination], &slot, None)?;
        let attempt = client.connect(Connect::new(destination).with_server_name(SERVER_NAME));
        Ok(Box::new(S2nLink::open(driver, client, attempt, destination, metrics)?))
    }
}

/// Puts the endpoint that was started into `slot` on a socket at the first of its `ends`; the other is the peer's.
fn open(
    session: &Arc<Session>,
    [at, peer]: [SocketAddr; 2],
    slot: &Slot,
    server: Option<Server>,
) -> Result<Driver<S2nEngine>, Failure> {
    let socket = UdpSocket::open(NAME, session, at, LONGEST_OCTETS)?;
    let now_ns = session.ctx.clock.now_ns();
    let listens = server.is_some();
    let engine = S2nEngine::new(session, slot, server, peer, now_ns)
        .ok_or_else(|| not_started("it opened no endpoint"))?;
    Ok(Driver::new(session, socket, engine, listens, now_ns))
}
