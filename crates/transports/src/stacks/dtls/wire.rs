//! The UDP socket below a DTLS session.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use socket2::{Protocol, Socket, Type};

use crate::error::{Failure, OrFailure};
use crate::kernel::datagram::{self, no_stamp};
use crate::kernel::socket::{self, size_buffers};
use crate::params::Buffers;
use crate::peers::{broken, same_end};
use crate::session::{Guarded, Session};
use crate::sys::batch::{self, PerMessage, RecvBatch};
use crate::sys::options;

/// What a plan calls DTLS.
pub(super) const NAME: &str = "dtls";

/// Datagrams taken with one call, and room for each: nobody makes longer ones than an Ethernet takes whole.
const RECEIVE_DATAGRAMS: usize = 32;
const SLOT_BYTES: usize = 1500;

/// The socket of one end.
pub(super) struct Wire {
    socket: Guarded,
    /// Where the other end is said to be; port 0: any.
    peer: SocketAddr,
    /// Where datagrams go that a receiver sends; a sender's socket is connected.
    to: Option<SocketAddr>,
    connected: bool,
    inbound: RecvBatch,
    /// What the socket had no room for.
    waiting: VecDeque<Vec<u8>>,
    /// Datagrams that the own kernel dropped.
    dropped: u64,
}

impl Wire {
    /// The receiver's: it answers whoever is at `peer`.
    pub(super) fn bound(
        session: &Arc<Session>,
        own: SocketAddr,
        peer: SocketAddr,
        buffers: Buffers,
    ) -> Result<Self, Failure> {
        Self::new(session, open(own, buffers)?, peer, false)
    }

    /// The sender's, connected to the destination.
    pub(super) fn connected(
        session: &Arc<Session>,
        own: SocketAddr,
        buffers: Buffers,
    ) -> Result<Self, Failure> {
        let socket = open(own, buffers)?;
        datagram::connect(&socket, session)?;
        Self::new(session, socket, session.ctx.destination, true)
    }

    fn new(
        session: &Arc<Session>,
        socket: Socket,
        peer: SocketAddr,
        connected: bool,
    ) -> Result<Self, Failure> {
        options::enable(socket.as_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
            .or_failure("receive stamps could not be switched on")?;
        let socket = Guarded::new(socket, session)?;
        let inbound = RecvBatch::new(RECEIVE_DATAGRAMS, SLOT_BYTES);
        Ok(Self { socket, peer, to: None, connected, inbound, waiting: VecDeque::new(), dropped: 0 })
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.fd()
    }

    /// Whether something waits for room in the socket.
    pub(super) fn is_full(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sends a datagram, or keeps it until there is room.
    ///
    /// # Errors
    /// A sentence: nobody is there.
    pub(super) fn send(&mut self, datagram: &[u8]) -> Result<(), Failure> {
        self.waiting.push_back(datagram.to_vec());
        self.flush()
    }

    /// Sends what waits, as far as there is room.
    ///
    /// # Errors
    /// As for [`Wire::send`].
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let mut again = false;
        while let Some(datagram) = self.waiting.front() {
            let fd = self.socket.fd();
            let sent = match self.to {
                _ if self.connected => {
                    batch::send(fd, datagram, datagram.len(), PerMessage::Nothing, libc::MSG_DONTWAIT)
                }
                Some(to) => batch::send_to(fd, to, datagram, datagram.len()),
                // Nobody has spoken yet, so nobody is answered.
                None => Ok(0),
            };
            match sent {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::BrokenPipe) =>
                {
                    return Err(broken(self.socket.session(), "sending", &error));
                }
                // The first one may be a report about an earlier datagram.
                Err(error) if !again && error.raw_os_error() != Some(libc::ENOBUFS) => {
                    again = true;
                    continue;
                }
                Err(_) => self.dropped += 1,
            }
            again = false;
            self.waiting.pop_front();
        }
        Ok(())
    }

    /// What has come from the other end, with the kernel's stamps (CLOCK_REALTIME).
    ///
    /// # Errors
    /// A sentence: nobody is there, or the flow has failed.
    pub(super) fn receive(&mut self) -> Result<Vec<(Vec<u8>, i64)>, Failure> {
        let mut found = Vec::new();
        let mut again = false;
        loop {
            datagram::take_reports(&self.socket)?;
            let fd = self.socket.fd();
            let count = match self.inbound.receive(fd, RECEIVE_DATAGRAMS, libc::MSG_DONTWAIT) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
                // A report may have come in between.
                Err(_) if !again => {
                    again = true;
                    continue;
                }
                Err(error) => return Err(broken(self.socket.session(), "receiving", &error)),
            };
            for index in 0..count {
                let datagram = self.inbound.message(index);
                // A socket that was shut down brings nothing, again and again.
                if let Some(failure) = self.socket.session().failure().filter(|_| datagram.bytes.is_empty()) {
                    return Err(failure);
                }
                if !self.connected {
                    let Some(from) = datagram.from.filter(|from| same_end(&(*from).into(), self.peer)) else {
                        continue;
                    };
                    self.to = Some(from);
                }
                found.push((datagram.bytes.to_vec(), datagram.realtime_ns.ok_or_else(no_stamp)?));
            }
            if count < RECEIVE_DATAGRAMS {
                return Ok(found);
            }
        }
    }
}

fn open(at: SocketAddr, buffers: Buffers) -> Result<Socket, Failure> {
    let socket = socket::open(NAME, Type::DGRAM, Some(Protocol::UDP), at)?;
    size_buffers(&socket, buffers)?;
    Ok(socket)
}
