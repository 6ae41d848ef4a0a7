//! TCP, with any congestion control of the kernel.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use crate::error::{Failure, OrFailure, SpecError};
use crate::http::carrier::HttpCarrier;
use crate::http::stream::{StreamCarrier, TlsEnds};
use crate::kernel::fast_open;
use crate::kernel::socket::{self, size_buffers};
use crate::kernel::stream::{StreamConnection, StreamListener};
use crate::kernel::tcp_info::TcpSampler;
use crate::opening::Opening;
use crate::params::{Buffers, check_dscp, initial_window, parse_params};
use crate::session::Session;
use crate::transport::{Carriage, Connection, InitialWindow, Listener, Service, Stack};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    congestion_control: String,
    #[serde(default = "yes")]
    nodelay: bool,
    #[serde(default)]
    fast_open: bool,
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    #[serde(default, rename = "initial_window_segments", deserialize_with = "initial_window")]
    initial_window: InitialWindow,
    dscp: Option<u8>,
}

fn yes() -> bool {
    true
}

/// TCP with its parameters.
pub(crate) struct Tcp {
    congestion_control: String,
    nodelay: bool,
    fast_open: bool,
    buffers: Buffers,
    initial_window: InitialWindow,
    dscp: Option<u8>,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    Ok(Box::new(Tcp::parse("tcp", params)?))
}

impl Tcp {
    /// TCP as `params` of the stack `owner` describe it.
    pub(crate) fn parse(owner: &str, params: &Map<String, Value>) -> Result<Self, SpecError> {
        let Params {
            congestion_control,
            nodelay,
            fast_open,
            send_buffer_bytes,
            receive_buffer_bytes,
            initial_window,
            dscp,
        } = parse_params("stack_params", owner, params)?;
        let buffers = Buffers::new(send_buffer_bytes, receive_buffer_bytes)?;
        check_dscp(dscp)?;
        Ok(Self { congestion_control, nodelay, fast_open, buffers, initial_window, dscp })
    }

    /// Whether the first data travel with the request.
    pub(crate) fn fast_open(&self) -> bool {
        self.fast_open
    }

    /// A socket bound to `at`.
    fn open(&self, at: std::net::SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("tcp", Type::STREAM, Some(Protocol::TCP), at)?;
        set_congestion_control(&socket, &self.congestion_control)?;
        socket.set_tcp_nodelay(self.nodelay).or_failure("TCP_NODELAY could not be set")?;
        size_buffers(&socket, self.buffers)?;
        socket::write_dscp(&socket, self.dscp, at)?;
        Ok(socket)
    }
}

impl Stack for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn service(&self) -> Service {
        Service::Stream
    }

    fn carriage(&self) -> Option<Carriage> {
        Some(Carriage::Stream)
    }

    fn opening(&self) -> Option<Opening> {
        Some(Opening::TCP)
    }

    fn initial_window(&self) -> InitialWindow {
        self.initial_window
    }

    fn works_on_a_processor(&self) -> bool {
        true
    }

    fn http(&self) -> Result<Option<&dyn HttpCarrier>, SpecError> {
        if self.fast_open {
            return Err(SpecError::new(
                "`page` over `tcp` sends no data with the SYN; leave `fast_open` out of `stack_params`",
            ));
        }
        Ok(Some(self))
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let socket = self.open(session.ctx.destination)?;
        if self.fast_open {
            fast_open::accept(&socket)?;
        }
        socket::listen(&socket)?;
        let wire = session.ctx.wire;
        let session = Arc::clone(session);
        Ok(Box::new(StreamListener { socket, session, wire, make_sampler: TcpSampler::boxed }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let socket = self.open(session.source())?;
        if self.fast_open {
            fast_open::request(&socket)?;
        }
        let socket = socket::connect(socket, session)?;
        Ok(Box::new(StreamConnection::connected(socket, TcpSampler::boxed, self.fast_open)))
    }
}

impl StreamCarrier for Tcp {
    fn at_source(&self, session: &Session) -> Result<Socket, Failure> {
        self.open(session.source())
    }

    fn at_destination(&self, session: &Session) -> Result<Socket, Failure> {
        self.open(session.ctx.destination)
    }

    fn longest_write(&self) -> usize {
        usize::MAX
    }

    fn tls(&self, _: &Session) -> Result<Option<TlsEnds>, Failure> {
        Ok(None)
    }
}

/// Chooses the congestion control of a socket.
pub(crate) fn set_congestion_control(socket: &Socket, name: &str) -> Result<(), Failure> {
    socket.set_tcp_congestion(name.as_bytes()).map_err(|error| {
        let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .map_or_else(
                |_| "unknown, as /proc is not mounted".to_owned(),
                |list| list.trim().replace(' ', ", "),
            );
        Failure::new(format!(
            "the congestion control `{name}` was refused ({error}); this kernel has: {available}"
        ))
    })
}
