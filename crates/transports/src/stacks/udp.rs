//! UDP. The kernel holds datagrams until their release times where fq stands on the sender's interface.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use crate::error::{Failure, OrFailure, SpecError};
use crate::kernel::datagram::{self, DatagramConnection, DatagramListener};
use crate::kernel::socket::{self, size_buffers};
use crate::params::{Buffers, check_dscp, parse_params};
use crate::session::Session;
use crate::sys::options::{self, Plain};
use crate::sys::qdisc;
use crate::transport::{Carriage, Connection, Listener, Service, Stack};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
    dscp: Option<u8>,
}

struct Udp {
    buffers: Buffers,
    dscp: Option<u8>,
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let Params { send_buffer_bytes, receive_buffer_bytes, dscp } =
        parse_params("stack_params", "udp", params)?;
    check_dscp(dscp)?;
    let buffers = Buffers::new(send_buffer_bytes, receive_buffer_bytes)?;
    Ok(Box::new(Udp { buffers, dscp }))
}

impl Udp {
    fn open(&self, at: SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("udp", Type::DGRAM, Some(Protocol::UDP), at)?;
        size_buffers(&socket, self.buffers)?;
        socket::write_dscp(&socket, self.dscp, at)?;
        Ok(socket)
    }
}

impl Stack for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn service(&self) -> Service {
        Service::Datagrams
    }

    fn carriage(&self) -> Option<Carriage> {
        Some(Carriage::Datagrams)
    }

    fn wants_release_times(&self) -> bool {
        true
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        DatagramListener::boxed(self.open(session.ctx.destination)?, session, message_bytes)
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let socket = self.open(session.ctx.source)?;
        datagram::connect(&socket, session)?;
        let releases = self.prepare_releases(&socket, message_bytes)?;
        DatagramConnection::boxed(socket, session, releases)
    }
}

// SAFETY: `repr(C)`, a clock number and flags.
#[allow(unsafe_code)]
unsafe impl Plain for libc::sock_txtime {}

/// Datagrams that may wait for their release times at once where no `send_buffer_bytes` says how many. A fq with its
/// defaults holds at most 100 of one flow (flow_limit, tc-fq(8)) and drops the rest.
const WAITING_DATAGRAMS: usize = 64;

/// What the kernel's book-keeping adds to a datagram in the send buffer, at least (socket buffer and headers).
const OVERHEAD_BYTES: usize = 512;

impl Udp {
    /// Switches release times on where the interface obeys them; tells whether they are on.
    fn prepare_releases(&self, socket: &Socket, message_bytes: u32) -> Result<bool, Failure> {
        let local = socket
            .local_addr()
            .ok()
            .and_then(|address| address.as_socket())
            .ok_or_else(|| Failure::new("the address of a UDP socket could not be read"))?;
        let fq = qdisc::is_fq(local).or_failure("the queueing discipline of the sender could not be read")?;
        let txtime = libc::sock_txtime { clockid: libc::CLOCK_MONOTONIC, flags: 0 };
        if !fq || options::set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TXTIME, &txtime).is_err() {
            return Ok(false);
        }
        self.bound_waiting(socket, message_bytes)?;
        Ok(true)
    }

    /// The send buffer bounds how many datagrams wait in fq: a buffer that was asked for, as it is.
    fn bound_waiting(&self, socket: &Socket, message_bytes: u32) -> Result<(), Failure> {
        if self.buffers.send_bytes.is_some() {
            return Ok(());
        }
        // The kernel doubles what is asked.
        let waiting_bytes = WAITING_DATAGRAMS * (message_bytes as usize + OVERHEAD_BYTES) / 2;
        socket.set_send_buffer_size(waiting_bytes).or_failure("the send buffer could not be set")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The send buffer of a socket whose datagrams of 1000 bytes wait for their release times, as the kernel counts it.
    fn send_buffer_bytes(send_bytes: Option<u32>) -> usize {
        let udp = Udp { buffers: Buffers { send_bytes, receive_bytes: None }, dscp: None };
        let socket = udp.open(([127, 0, 0, 1], 0).into()).expect("a port is left");
        udp.bound_waiting(&socket, 1000).expect("the kernel takes the size");
        socket.send_buffer_size().expect("the kernel tells the size")
    }

    #[test]
    fn a_send_buffer_that_was_asked_for_is_left_as_it_is() {
        assert_eq!(send_buffer_bytes(None), WAITING_DATAGRAMS * (1000 + OVERHEAD_BYTES));
        assert_eq!(send_buffer_bytes(Some(20_000)), 2 * 20_000);
        assert_eq!(send_buffer_bytes(Some(200_000)), 2 * 200_000);
    }
}
