//! UDP. The kernel holds datagrams until their release times where fq stands on the sender's interface.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use socket2::{Protocol, Socket, Type};

use super::socket::{self, size_buffers};
use crate::context::Context;
use crate::error::{Failure, SpecError};
use crate::params::{self, Buffers, parse_params};
use crate::peers::broken;
use crate::session::{Guarded, Session, bound_receive};
use crate::sys::batch::{self, LONGEST_BATCH, PerMessage, RecvBatch};
use crate::sys::options::{self, Plain};
use crate::sys::qdisc;
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Listener, Sampler, Service, Stack, Take};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    send_buffer_bytes: Option<u32>,
    receive_buffer_bytes: Option<u32>,
}

struct Udp {
    buffers: Buffers,
}

/// The names of its parameters.
pub(crate) fn parameters() -> Vec<&'static str> {
    params::parameters::<Params>()
}

pub(crate) fn build(params: &Map<String, Value>) -> Result<Box<dyn Stack>, SpecError> {
    let Params { send_buffer_bytes, receive_buffer_bytes } = parse_params("stack_params", "udp", params)?;
    let buffers = Buffers { send_bytes: send_buffer_bytes, receive_bytes: receive_buffer_bytes }.check()?;
    Ok(Box::new(Udp { buffers }))
}

impl Udp {
    fn open(&self, at: SocketAddr) -> Result<Socket, Failure> {
        let socket = socket::open("udp", Type::DGRAM, Some(Protocol::UDP), at)?;
        size_buffers(&socket, self.buffers)?;
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

    fn carries_in_clear(&self) -> bool {
        true
    }

    fn wants_release_times(&self) -> bool {
        true
    }

    fn listen(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Listener>, Failure> {
        let socket = self.open(session.ctx.destination)?;
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .map_err(|e| Failure::system("receive stamps could not be switched on", &e))?;
        Ok(Box::new(UdpListener { socket: Some(socket), session: Arc::clone(session), message_bytes }))
    }

    fn connect(&self, session: &Arc<Session>, message_bytes: u32) -> Result<Box<dyn Connection>, Failure> {
        let socket = self.open(session.ctx.source)?;
        report_local_losses(&socket, session.ctx.source)
            .map_err(|e| Failure::system("UDP error reports could not be switched on", &e))?;
        let to = session.ctx.destination;
        socket
            .connect(&to.into())
            .map_err(|e| Failure::system(format!("{to} cannot be reached from this node"), &e))?;
        let releases = self.prepare_releases(&socket, message_bytes)?;
        Ok(Box::new(UdpConnection {
            socket: Guarded::new(socket, session)?,
            releases,
            wake_for_each: false,
            batch: RecvBatch::new(0, 1),
            refused: 0,
        }))
    }
}

/// Has the kernel tell the sender when its own queue drops a datagram; otherwise a full queue goes unnoticed
/// (udp(7), IP_RECVERR).
fn report_local_losses(socket: &Socket, local: SocketAddr) -> std::io::Result<()> {
    let fd = socket.as_fd();
    if local.is_ipv4() {
        options::enable(fd, libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        options::enable(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
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

/// How far ahead a release time may lie. fq drops what lies beyond 10 s (its default horizon, tc-fq(8)).
const HORIZON_NS: i64 = 5_000_000_000;

impl Udp {
    /// Switches release times on where the interface obeys them; tells whether they are on.
    fn prepare_releases(&self, socket: &Socket, message_bytes: u32) -> Result<bool, Failure> {
        let local = socket
            .local_addr()
            .ok()
            .and_then(|address| address.as_socket())
            .ok_or_else(|| Failure::new("the address of a UDP socket could not be read"))?;
        let fq = qdisc::is_fq(local)
            .map_err(|e| Failure::system("the queueing discipline of the sender could not be read", &e))?;
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
        socket
            .set_send_buffer_size(waiting_bytes)
            .map_err(|e| Failure::system("the send buffer could not be set", &e))
    }
}

struct UdpListener {
    socket: Option<Socket>,
    session: Arc<Session>,
    message_bytes: u32,
}

impl Listener for UdpListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let socket = self
            .socket
            .take()
            .ok_or_else(|| Failure::new("a UDP receiver serves one flow and was asked for a second"))?;
        bound_receive(&socket, LOOK_UP_NS)?;
        let socket = Guarded::new(socket, &self.session)?;
        let batch = RecvBatch::new(LONGEST_BATCH, self.message_bytes as usize + 1);
        let wake_for_each = self.session.ctx.wake;
        Ok(Box::new(UdpConnection { socket, releases: false, wake_for_each, batch, refused: 0 }))
    }
}

/// How often a receiver in silence looks whether the sender is done.
const LOOK_UP_NS: i64 = 1_000_000_000;

struct UdpConnection {
    socket: Guarded,
    releases: bool,
    wake_for_each: bool,
    batch: RecvBatch,
    /// Datagrams that the sender's own kernel dropped.
    refused: u64,
}

impl UdpConnection {
    /// Sends a batch. A datagram that the sender's own queue drops has been handed over all the same, and is counted.
    fn send(
        &mut self,
        block: &[u8],
        message_bytes: usize,
        extra: PerMessage<'_>,
        flags: libc::c_int,
    ) -> Result<usize, Failure> {
        let mut taken = 0;
        let mut last_error = None;
        while taken * message_bytes < block.len() {
            let rest = &block[taken * message_bytes..];
            match batch::send(self.socket.fd(), rest, message_bytes, extra.from(taken), flags) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::BrokenPipe) =>
                {
                    return Err(broken(self.socket.session(), "sending", &error));
                }
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    return Err(Failure::new(format!(
                        "a datagram of {message_bytes} bytes is too long for UDP on this path; \
                         choose a smaller `message_size_bytes`"
                    )));
                }
                // The second try of the same datagram tells its own fate from a report about an earlier one.
                Err(error) => {
                    let again = last_error.replace(taken) == Some(taken);
                    if again || error.raw_os_error() == Some(libc::ENOBUFS) {
                        taken += 1;
                        self.refused += 1;
                    }
                }
            }
        }
        Ok((taken * message_bytes).min(block.len()))
    }
}

impl Connection for UdpConnection {
    fn established_ns(&self) -> Option<i64> {
        None
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        self.send(block, message_bytes, PerMessage::Nothing, libc::MSG_DONTWAIT)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.socket.wait_until_writable(now_ns, until_ns)
    }

    fn takes_release_times(&self) -> bool {
        self.releases
    }

    fn offer_released(
        &mut self,
        block: &[u8],
        message_bytes: usize,
        releases_ns: &[i64],
    ) -> Result<(usize, i64), Failure> {
        let Context { clock, limit_ns, .. } = &self.socket.session().ctx;
        let now_ns = clock.now_ns();
        if now_ns >= *limit_ns {
            return Err(self.socket.session().limit_reached("the sender was still sending"));
        }
        let near = releases_ns.iter().take_while(|at| **at < now_ns + HORIZON_NS).count();
        if near == 0 {
            clock.sleep_until((releases_ns[0] - HORIZON_NS).min(*limit_ns));
            return Ok((0, now_ns));
        }
        let block = &block[..block.len().min(near.min(LONGEST_BATCH) * message_bytes)];
        let instants: Vec<i64> = releases_ns.iter().map(|at| clock.monotonic_ns(*at)).collect();
        let taken = self.send(block, message_bytes, PerMessage::Releases(&instants), 0)?;
        Ok((taken, now_ns))
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        Ok(None)
    }

    fn instants(&self) -> DeliveryInstants {
        if self.wake_for_each { DeliveryInstants::Application } else { DeliveryInstants::Kernel }
    }

    fn receive(
        &mut self,
        most_messages: u64,
        _most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let most = if self.wake_for_each { 1 } else { most_messages.min(LONGEST_BATCH as u64) as usize };
        let count = match self.batch.receive(self.socket.fd(), most, 0) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Arrival::Silence),
            Err(error) => return Err(broken(self.socket.session(), "receiving", &error)),
        };
        for index in 0..count {
            let message = self.batch.message(index);
            // A socket that was shut down because the flow failed brings nothing, again and again.
            if let Some(failure) = self.socket.session().failure().filter(|_| message.bytes.is_empty()) {
                return Err(failure);
            }
            let clock = &self.socket.session().ctx.clock;
            let t_ns = if self.wake_for_each {
                clock.now_ns()
            } else {
                clock.from_realtime_ns(message.realtime_ns.ok_or_else(no_stamp)?)
            };
            take(message.bytes, Some(t_ns))?;
        }
        Ok(Arrival::Data)
    }

    fn sender_dropped_messages(&mut self) -> Option<u64> {
        Some(self.refused)
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}

/// The failure of a message without a receive stamp.
pub(crate) fn no_stamp() -> Failure {
    Failure::new("the kernel gave a message no receive stamp, so its instant is unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The send buffer of a socket whose datagrams of 1000 bytes wait for their release times, as the kernel counts it.
    fn send_buffer_bytes(send_bytes: Option<u32>) -> usize {
        let udp = Udp { buffers: Buffers { send_bytes, receive_bytes: None } };
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
