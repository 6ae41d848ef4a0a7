//! Multipath TCP: one byte stream over every subflow that the nodes' path managers open.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use super::socket;
use super::stream::{StreamConnection, StreamListener};
use super::tcp::set_congestion_control;
use super::tcp_info::MptcpSampler;
use super::{Connection, Listener, Service, Stack};
use crate::error::{Failure, SpecError};
use crate::session::Session;
use crate::spec::parse_params;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mptcp {
    congestion_control: String,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    Ok(Box::new(parse_params::<Mptcp>("stack_params", "mptcp", params)?))
}

impl Mptcp {
    fn open(&self, at: std::net::SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("mptcp", Type::STREAM, Some(Protocol::MPTCP), at)?;
        set_congestion_control(&socket, &self.congestion_control)?;
        socket.set_tcp_nodelay(true).map_err(|e| Failure::system("TCP_NODELAY could not be set", &e))?;
        Ok(socket)
    }
}

impl Stack for Mptcp {
    fn name(&self) -> &'static str {
        "mptcp"
    }

    fn service(&self) -> Service {
        Service::Stream
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let socket = self.open(session.ctx.destination)?;
        socket::listen(&socket)?;
        let session = Arc::clone(session);
        // Subflow sequence numbers do not tell where a byte stands in the MPTCP stream, so a capture does not help.
        Ok(Box::new(StreamListener { socket, session, wire: false, make_sampler: MptcpSampler::boxed }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let socket = socket::connect(self.open(session.ctx.source)?, session)?;
        Ok(Box::new(StreamConnection::connected(socket, MptcpSampler::boxed)))
    }
}
