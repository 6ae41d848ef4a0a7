//! What all kernel sockets have in common: opening, binding, connecting, buffers, and sentences for errors.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::error::{Failure, SpecError};
use crate::session::{Guarded, Session};

/// Kernel buffer sizes of a socket, in bytes of data; the kernel's own choice when absent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Buffers {
    pub(super) send_bytes: Option<u32>,
    pub(super) receive_bytes: Option<u32>,
}

impl Buffers {
    /// Refuses sizes that mean nothing.
    pub(super) fn check(self) -> Result<Self, SpecError> {
        for (key, size) in
            [("send_buffer_bytes", self.send_bytes), ("receive_buffer_bytes", self.receive_bytes)]
        {
            if size.is_some_and(|bytes| bytes == 0 || bytes > 1 << 30) {
                return Err(SpecError::new(format!("`{key}` must be from 1 to 1073741824 bytes")));
            }
        }
        Ok(self)
    }

    /// Applies the sizes. The kernel silently caps them, which would be a wrong experiment: that is an error here.
    pub(super) fn apply(self, socket: &Socket) -> Result<(), Failure> {
        if let Some(bytes) = self.send_bytes {
            socket
                .set_send_buffer_size(bytes as usize)
                .map_err(|e| Failure::system("the send buffer could not be set", &e))?;
            check_buffer("send_buffer_bytes", bytes, socket.send_buffer_size(), "net.core.wmem_max")?;
        }
        if let Some(bytes) = self.receive_bytes {
            socket
                .set_recv_buffer_size(bytes as usize)
                .map_err(|e| Failure::system("the receive buffer could not be set", &e))?;
            check_buffer("receive_buffer_bytes", bytes, socket.recv_buffer_size(), "net.core.rmem_max")?;
        }
        Ok(())
    }
}

fn check_buffer(key: &str, asked: u32, got: io::Result<usize>, sysctl: &str) -> Result<(), Failure> {
    let got = got.map_err(|e| Failure::system("a buffer size could not be read", &e))?;
    // The kernel doubles what is asked, for its own book-keeping (socket(7)).
    if got < 2 * asked as usize {
        return Err(Failure::new(format!(
            "`{key}` is {asked}, more than the {} that the node allows; raise `{sysctl}` in the run's sysctls",
            got / 2
        )));
    }
    Ok(())
}

/// Opens a socket of a transport and binds it to `at`.
pub(super) fn open(
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
        .map_err(|error| Failure::system(format!("{at} could not be bound for `{name}`"), &error))?;
    Ok(socket)
}

/// Listens for the connections of one sender, of which it opens one at a time.
pub(super) fn listen(socket: &Socket) -> Result<(), Failure> {
    socket
        .listen(1)
        .and_then(|()| socket.set_nonblocking(true))
        .map_err(|error| Failure::system("the receiver could not listen", &error))
}

/// Waits for the connection that the sender opens; others are closed. The new socket blocks.
pub(super) fn accept(listener: &Socket, session: &Arc<Session>) -> Result<Guarded, Failure> {
    loop {
        session.wait(
            listener,
            libc::POLLIN,
            session.ctx.clock.now_ns(),
            i64::MAX,
            "nobody connected to the receiver",
        )?;
        match listener.accept() {
            Ok((socket, peer)) if same_end(&peer, session.ctx.source) => {
                socket
                    .set_nonblocking(false)
                    .map_err(|e| Failure::system("an accepted socket could not be set up", &e))?;
                return Guarded::new(socket, session);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionAborted) => {}
            Err(error) => return Err(Failure::system("the receiver could not accept a connection", &error)),
        }
    }
}

/// Whether a session from `peer` is one of the sender that was told to use `source`.
pub(crate) fn same_end(peer: &SockAddr, source: SocketAddr) -> bool {
    peer.as_socket().is_some_and(|peer| {
        // A sender of many sessions leaves its ports to the kernel.
        [peer.port(), 0].contains(&source.port())
            && (source.ip().is_unspecified() || peer.ip() == source.ip())
    })
}

/// Connects a socket to the destination, waiting at most until the limit. The socket does not block afterwards.
pub(super) fn connect(socket: Socket, session: &Arc<Session>) -> Result<Guarded, Failure> {
    let to = session.ctx.destination;
    let describe = |error: &io::Error| connect_failure(to, error);
    socket.set_nonblocking(true).map_err(|e| Failure::system("a socket could not be set up", &e))?;
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

/// The sentence for a connection to `to` that did not come about.
pub(crate) fn connect_failure(to: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            Failure::new(format!("refused: nothing listens at {to} or it turned the connection down"))
        }
        ErrorKind::TimedOut => Failure::new(format!("timed out: {to} did not answer the connection request")),
        _ => Failure::system(format!("no connection to {to}"), error),
    }
}

/// The sentence for a session that broke while `doing`.
pub(super) fn broken(session: &Session, doing: &str, error: &io::Error) -> Failure {
    if let Some(failure) = session.failure() {
        return failure;
    }
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
            Failure::new(format!("reset: the other side broke the connection off while {doing}"))
        }
        ErrorKind::TimedOut => {
            Failure::new(format!("timed out: the other side stopped answering while {doing}"))
        }
        ErrorKind::ConnectionRefused => Failure::new(format!(
            "refused: nothing listens at {} (noticed while {doing})",
            session.ctx.destination
        )),
        ErrorKind::WouldBlock => session.limit_reached(doing),
        _ => Failure::system(format!("the connection broke while {doing}"), error),
    }
}
