//! TLS 1.3 over TCP (any congestion control of the kernel) or over SCTP, by rustls.
//!
//! The receiver's certificate, and on request the sender's, is of an authority made for the flow ([`crate::secure`]).
//! Session set-up has two instants: the transport's handshake and that of TLS.

mod connection;
mod early;

use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};
use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::Socket;

use self::connection::{Carrier, TlsConnection};
use crate::error::{Failure, OrFailure, SpecError};
use crate::http::carrier::HttpCarrier;
use crate::http::stream::{StreamCarrier, TlsEnds};
use crate::kernel::socket;
use crate::opening::Opening;
use crate::params::{self, parse_params};
use crate::secure::{Fault, Pki, SERVER_NAME, tls_failure};
use crate::session::Session;
use crate::stacks::sctp::{self, Sctp};
use crate::stacks::tcp::{self, Tcp};
use crate::transport::{Connection, InitialWindow, Listener, Service, Stack};

/// Early data that a receiver accepts in one session: a message of 10 kB and more fits (a choice).
const MOST_EARLY_BYTES: u32 = 64 * 1024;

/// The parameters beside those of the transport.
const OWN: &[&str] = &["transport", "client_auth", "resumption", "early_data", "fault"];

#[derive(Deserialize)]
struct Params {
    #[serde(default)]
    transport: Carrier,
    #[serde(default)]
    client_auth: bool,
    #[serde(default)]
    resumption: bool,
    #[serde(default)]
    early_data: bool,
    fault: Option<Fault>,
    /// The parameters of the transport.
    #[serde(flatten)]
    below: Map<String, Value>,
}

/// TLS with its parameters.
pub(crate) struct Tls {
    carrier: Carrier,
    initial_window: InitialWindow,
    below: Box<dyn StreamCarrier + Send + Sync>,
    client_auth: bool,
    resumption: bool,
    early_data: bool,
    fault: Option<Fault>,
    configs: OnceLock<Result<Configs, Failure>>,
}

/// The configurations of both ends. All sessions of a flow share them, and so the tickets for resumption.
struct Configs {
    server: Arc<ServerConfig>,
    client: Arc<ClientConfig>,
}

/// TCP's parameters that TLS over it has too.
const OF_TCP: &[&str] = &["congestion_control", "initial_window_segments", "dscp"];

/// The names of its parameters: its own, those that both of its transports have, and some of TCP's.
pub(crate) fn parameters() -> Vec<&'static str> {
    let sctp = params::parameters::<sctp::Params>();
    let below = params::parameters::<tcp::Params>().into_iter();
    let shared = below.filter(|name| sctp.contains(name) || OF_TCP.contains(name));
    OWN.iter().copied().chain(shared).collect()
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    Ok(Box::new(Tls::parse("tls", params)?))
}

impl Tls {
    /// TLS as `params` of the stack `owner` describe it.
    pub(crate) fn parse(owner: &str, params: &Map<String, Value>) -> Result<Self, SpecError> {
        let Params { transport, client_auth, resumption, early_data, fault, below } =
            parse_params("stack_params", owner, params)?;
        let wrong = |why: &str| SpecError::new(format!("`stack_params` of `{owner}`: {why}"));
        let mut initial_window = InitialWindow::Own;
        let below: Box<dyn StreamCarrier + Send + Sync> = match transport {
            Carrier::Tcp => {
                let tcp = Tcp::parse(owner, &below)?;
                if tcp.fast_open() {
                    return Err(wrong("`fast_open` is not a parameter of TLS; leave it out"));
                }
                initial_window = tcp.initial_window();
                Box::new(tcp)
            }
            Carrier::Sctp => {
                let sctp = Sctp::parse(owner, &below)?;
                if sctp.streams() > 1 {
                    return Err(wrong("TLS needs everything in order, so `streams` must be 1"));
                }
                Box::new(sctp)
            }
        };
        if early_data && !resumption {
            return Err(wrong(
                "`early_data` needs the ticket of an earlier session; set `resumption` to true",
            ));
        }
        let (carrier, configs) = (transport, OnceLock::new());
        Ok(Self { carrier, initial_window, below, client_auth, resumption, early_data, fault, configs })
    }

    fn configs(&self, session: &Session) -> Result<&Configs, Failure> {
        self.configs.get_or_init(|| self.make_configs(session)).as_ref().map_err(Clone::clone)
    }

    fn make_configs(&self, session: &Session) -> Result<Configs, Failure> {
        let pki = Pki::new(session.ctx.destination.ip(), self.fault)?;
        let mut server = pki.server_config(self.client_auth)?;
        let mut client = pki.client_config(self.client_auth, session.keys())?;
        if self.early_data {
            server.max_early_data_size = MOST_EARLY_BYTES;
            client.enable_early_data = true;
        }
        if !self.resumption {
            server.send_tls13_tickets = 0;
            client.resumption = Resumption::disabled();
        }
        Ok(Configs { server: Arc::new(server), client: Arc::new(client) })
    }
}

impl Stack for Tls {
    fn name(&self) -> &'static str {
        "tls"
    }

    fn opening(&self) -> Option<Opening> {
        Some(match self.carrier {
            Carrier::Tcp => Opening::TCP,
            Carrier::Sctp => Opening::SCTP,
        })
    }

    fn initial_window(&self) -> InitialWindow {
        self.initial_window
    }

    fn service(&self) -> Service {
        Service::Stream
    }

    fn works_on_a_processor(&self) -> bool {
        self.carrier == Carrier::Tcp
    }

    fn http(&self) -> Result<Option<&dyn HttpCarrier>, SpecError> {
        if self.early_data {
            return Err(SpecError::new(
                "`page` over `tls` sends no early data; leave `early_data` out of `stack_params`",
            ));
        }
        Ok(Some(self))
    }

    fn prepare(&self, session: &Session) -> Result<(), Failure> {
        self.configs(session).map(drop)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let config = Arc::clone(&self.configs(session)?.server);
        let socket = self.below.at_destination(session)?;
        socket::listen(&socket)?;
        Ok(Box::new(TlsListener { socket, session: Arc::clone(session), config, carrier: self.carrier }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let config = Arc::clone(&self.configs(session)?.client);
        let socket = socket::connect(self.below.at_source(session)?, session)?;
        // From here on each call says whether it waits.
        socket.set_nonblocking(false).or_failure("a socket could not be set up")?;
        let name = ServerName::try_from(SERVER_NAME).map_err(|e| Failure::new(e.to_string()))?;
        let client =
            ClientConnection::new(config, name).map_err(|error| tls_failure("the TLS handshake", &error))?;
        let connection = TlsConnection::open(socket, client.into(), self.carrier, false)?;
        Ok(Box::new(connection))
    }
}

impl StreamCarrier for Tls {
    fn at_source(&self, session: &Session) -> Result<Socket, Failure> {
        self.below.at_source(session)
    }

    fn at_destination(&self, session: &Session) -> Result<Socket, Failure> {
        self.below.at_destination(session)
    }

    fn longest_write(&self) -> usize {
        self.below.longest_write()
    }

    fn tls(&self, session: &Session) -> Result<Option<TlsEnds>, Failure> {
        let Configs { server, client } = self.configs(session)?;
        Ok(Some(TlsEnds { server: Arc::clone(server), client: Arc::clone(client) }))
    }
}

struct TlsListener {
    socket: Socket,
    session: Arc<Session>,
    config: Arc<ServerConfig>,
    carrier: Carrier,
}

impl Listener for TlsListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let socket = socket::accept(&self.socket, &self.session)?;
        let ctx = &self.session.ctx;
        // Which TCP bytes a record took is known here, so the packets that brought them tell when it could be read.
        let wire = ctx.wire && self.carrier == Carrier::Tcp;
        let server = ServerConnection::new(Arc::clone(&self.config))
            .map_err(|error| tls_failure("the TLS handshake", &error))?;
        Ok(Box::new(TlsConnection::open(socket, server.into(), self.carrier, wire)?))
    }
}
