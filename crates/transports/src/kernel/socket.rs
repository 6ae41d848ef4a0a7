//! What all kernel sockets have in common: opening, binding, connecting, buffers, and sentences for errors.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};

use crate::clock::Clock;
use crate::error::{Failure, OrFailure};
use crate::params::Buffers;
use crate::peers::{connect_failure, ended_by_the_other_side, same_end};
use crate::session::{Guarded, Session};
use crate::sys::batch;

/// Applies buffer sizes. The kernel silently caps them, which would be a wrong experiment: that is an error here.
pub(crate) fn size_buffers(socket: &Socket, buffers: Buffers) -> Result<(), Failure> {
    if let Some(bytes) = buffers.send_bytes {
        socket.set_send_buffer_size(bytes as usize).or_failure("the send buffer could not be set")?;
        check_buffer("send_buffer_bytes", bytes, socket.send_buffer_size(), "net.core.wmem_max")?;
    }
    if let Some(bytes) = buffers.receive_bytes {
        socket.set_recv_buffer_size(bytes as usize).or_failure("the receive buffer could not be set")?;
        check_buffer("receive_buffer_bytes", bytes, socket.recv_buffer_size(), "net.core.rmem_max")?;
    }
    Ok(())
}

fn check_buffer(key: &str, asked: u32, got: io::Result<usize>, sysctl: &str) -> Result<(), Failure> {
    let got = got.or_failure("a buffer size could not be read")?;
    // The kernel doubles what is asked, for its own book-keeping (socket(7)).
    if got < 2 * asked as usize {
        return Err(Failure::new(format!(
            "`{key}` is {asked}, more than the {} that the node allows; raise `{sysctl}` in the run's sysctls",
            got / 2
        )));
    }
    Ok(())
}

/// The same port of every address of the node. Which of them a packet comes from, the route to its destination says.
pub(crate) fn everywhere(at: SocketAddr) -> SocketAddr {
    let ip = if at.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, at.port())
}

/// Opens a socket of a transport and binds it to `at`.
pub(crate) fn open(
    name: &str,
    kind: Type,
    protocol: Option<Protocol>,
    at: SocketAddr,
) -> Result<Socket, Failure> {
    let socket = Socket::new(Domain::for_address(at), kind, protocol).map_err(|error| {
        if matches!(
            error.raw_os_error(),
            Some(libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::ENOPROTOOPT)
        ) {
            Failure::new(format!("this kernel has no `{name}`; use a kernel that is built with it"))
        } else {
            Failure::system(format!("no `{name}` socket could be opened"), &error)
        }
    })?;
    // For a stream socket: an earlier connection at this address may still be in TIME_WAIT. Between datagram sockets it
    // would let a second one take what is meant for the first.
    socket
        .set_reuse_address(kind == Type::STREAM)
        .and_then(|()| socket.bind(&at.into()))
        .or_failure(format_args!("{at} could not be bound for `{name}`"))?;
    Ok(socket)
}

/// What a sender does that [`pause_watching`] lets wait.
pub(crate) const BETWEEN_MESSAGES: &str = "waiting for the next message";

/// As [`crate::Connection::pause_watching`], for a connection that is one socket; what comes is thrown away. `broken` makes a
/// sentence of what reading failed by.
pub(crate) fn pause_watching(
    socket: &Guarded,
    clock: &Clock,
    instant_ns: i64,
    broken: impl Fn(&io::Error) -> Failure,
) -> Result<i64, Failure> {
    let mut scrap = [0; 4096];
    while socket.wait_until_readable(instant_ns)? {
        match batch::read(socket.fd(), &mut scrap, libc::MSG_DONTWAIT) {
            Ok(0) => return Err(ended_by_the_other_side()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(broken(&error)),
        }
    }
    Ok(clock.now_ns())
}

/// Has a socket write a DSCP into its packets; a connection that it accepts does the same. ECN is left to the transport.
pub(crate) fn write_dscp(socket: &Socket, dscp: Option<u8>, at: SocketAddr) -> Result<(), Failure> {
    let Some(dscp) = dscp else { return Ok(()) };
    let octet = u32::from(dscp) << 2;
    let written = if at.is_ipv4() { socket.set_tos_v4(octet) } else { socket.set_tclass_v6(octet) };
    written.or_failure("the DSCP could not be set")
}

/// Listens for the connections of one sender, of which it opens one at a time.
pub(crate) fn listen(socket: &Socket) -> Result<(), Failure> {
    socket.listen(1).and_then(|()| socket.set_nonblocking(true)).or_failure("the receiver could not listen")
}

/// Waits for the connection that the sender opens; others are closed. The new socket blocks.
pub(crate) fn accept(listener: &Socket, session: &Arc<Session>) -> Result<Guarded, Failure> {
    loop {
        session.wait(
            listener,
            libc::POLLIN,
            session.ctx.clock.now_ns(),
            i64::MAX,
            "nobody connected to the receiver",
        )?;
        match listener.accept() {
            Ok((socket, peer)) if same_end(&peer, session.expected_source()) => {
                socket.set_nonblocking(false).or_failure("an accepted socket could not be set up")?;
                return Guarded::new(socket, session);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {}
            Err(error) => return Err(Failure::system("the receiver could not accept a connection", &error)),
        }
    }
}

/// Connects a socket to the destination, waiting at most until the limit. The socket does not block afterwards.
pub(crate) fn connect(socket: Socket, session: &Arc<Session>) -> Result<Guarded, Failure> {
    let to = session.ctx.destination;
    let describe = |error: &io::Error| connect_failure(to, error);
    socket.set_nonblocking(true).or_failure("a socket could not be set up")?;
    match socket.connect(&to.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {
            session.wait(
                &socket,
                libc::POLLOUT,
                session.ctx.clock.now_ns(),
                i64::MAX,
                &format!("{to} did not answer the connection request"),
            )?;
            if let Some(error) = socket.take_error().unwrap_or_else(Some) {
                return Err(describe(&error));
            }
        }
        Err(error) => return Err(describe(&error)),
    }
    Guarded::new(socket, session)
}
