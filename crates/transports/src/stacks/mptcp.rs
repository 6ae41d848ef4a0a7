//! Multipath TCP: one byte stream over every subflow that the nodes' path managers open.
//!
//! A receiver whose node has further addresses announces them, and the sender's kernel opens a subflow to each; on a
//! network whose hosts have one address, nothing of this happens and there is one subflow. How many of them get a
//! subflow, and which are backups, the flow says.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use super::tcp::set_congestion_control;
use crate::error::{Failure, OrFailure, SpecError};
use crate::kernel::socket;
use crate::kernel::stream::{StreamConnection, StreamListener};
use crate::kernel::tcp_info::MptcpSampler;
use crate::opening::Opening;
use crate::params::{initial_window, parse_params};
use crate::session::Session;
use crate::sys::path_manager;
use crate::transport::{Connection, InitialWindow, Listener, Service, Stack};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mptcp {
    congestion_control: String,
    #[serde(default, rename = "initial_window_segments", deserialize_with = "initial_window")]
    initial_window: InitialWindow,
    /// How many paths carry data, the first ones; those behind them are backups (RFC 8684, section 3.3.8). By default
    /// all do.
    #[serde(default)]
    active_paths: Option<usize>,
    /// Most subflows beside the first; by default one to each further address.
    #[serde(default)]
    further_subflows: Option<usize>,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let mptcp = parse_params::<Mptcp>("stack_params", "mptcp", params)?;
    for (key, asked, least) in
        [("active_paths", mptcp.active_paths, 1), ("further_subflows", mptcp.further_subflows, 0)]
    {
        let most = least + path_manager::MOST;
        if let Some(number) = asked.filter(|number| !(least..=most).contains(number)) {
            return Err(SpecError::new(format!("`{key}` is {number}; it must be from {least} to {most}")));
        }
    }
    Ok(Box::new(mptcp))
}

impl Mptcp {
    /// The further addresses of the receiver to which there is a subflow.
    fn further<'a>(&self, session: &'a Session) -> &'a [IpAddr] {
        let all = &session.ctx.destination_further;
        &all[..self.further_subflows.map_or(all.len(), |most| most.min(all.len()))]
    }

    fn open(&self, at: SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("mptcp", Type::STREAM, Some(Protocol::MPTCP), at)?;
        set_congestion_control(&socket, &self.congestion_control)?;
        socket.set_tcp_nodelay(true).or_failure("TCP_NODELAY could not be set")?;
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

    fn opening(&self) -> Option<Opening> {
        Some(Opening::TCP)
    }

    fn initial_window(&self) -> InitialWindow {
        self.initial_window
    }

    fn homes(&self) -> usize {
        1 + self.further_subflows.unwrap_or(path_manager::MOST)
    }

    fn listen(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let further = self.further(session);
        let mut at = session.ctx.destination;
        if !further.is_empty() {
            // Subflows come in at the further addresses, at the same port.
            at = socket::everywhere(at);
            let active = self.active_paths.map_or(further.len(), |paths| paths - 1);
            path_manager::announce(further, active)
                .and_then(|()| path_manager::allow(further.len()))
                .map_err(|e| no_subflows(further, &e))?;
        }
        let socket = self.open(at)?;
        socket::listen(&socket)?;
        let session = Arc::clone(session);
        // Subflow sequence numbers do not tell where a byte stands in the MPTCP stream, so a capture does not help.
        Ok(Box::new(StreamListener { socket, session, wire: false, make_sampler: MptcpSampler::boxed }))
    }

    fn connect(&self, session: &Arc<Session>, _message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let further = self.further(session);
        if !further.is_empty() {
            path_manager::allow(further.len()).map_err(|e| no_subflows(further, &e))?;
        }
        let socket = socket::connect(self.open(session.source())?, session)?;
        Ok(Box::new(StreamConnection::connected(socket, MptcpSampler::boxed, false)))
    }
}

fn no_subflows(to: &[IpAddr], error: &std::io::Error) -> Failure {
    let list: Vec<_> = to.iter().map(ToString::to_string).collect();
    Failure::system(format!("the kernel's MPTCP path manager refused subflows to {}", list.join(", ")), error)
}
