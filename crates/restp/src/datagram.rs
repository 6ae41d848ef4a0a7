//! Messages without a connection.

use std::net::SocketAddr;
use std::task::Poll;

use bytes::Bytes;
use restp_proto::{Datagram, PathAddr};

use crate::error::Error;
use crate::state::Hold;
use crate::waiters::seated;

/// Messages handed over but not sent, per endpoint, before `send_to` waits.
const MAX_UNSENT: usize = 256;

/// A connectionless inner port, much like a UDP socket. Made by [`crate::Endpoint::datagrams`].
pub struct DatagramPort {
    hold: Hold,
    port: u16,
    limit_bytes: usize,
}

/// Where a connectionless message came from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    /// Outer address.
    pub addr: SocketAddr,
    /// Inner port.
    pub port: u16,
}

impl std::fmt::Debug for DatagramPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DatagramPort").field("port", &self.port).finish_non_exhaustive()
    }
}

impl DatagramPort {
    pub(crate) fn new(hold: Hold, port: u16, limit_bytes: usize) -> Self {
        Self { hold, port, limit_bytes }
    }

    /// The inner port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Largest packet in bytes, header included; a message has at least 12 bytes less.
    #[must_use]
    pub fn max_packet_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Sends one message. It may be lost, repeated or overtaken; nobody tells. Waits while many have not left yet.
    ///
    /// Cancel safe in that a message whose future is dropped before it has answered was not sent.
    ///
    /// # Errors
    /// [`Error::Send`] if the message does not fit, [`Error::NoAddress`] if the address is of the wrong family.
    pub async fn send_to(&self, payload: impl Into<Bytes>, peer: Peer) -> Result<(), Error> {
        let path: PathAddr = self.hold.socket().lone_path_to(peer.addr)?;
        let datagram =
            Datagram { path, local_port: self.port, remote_port: peer.port, payload: payload.into() };
        seated(|cx, seat| {
            let mut state = self.hold.lock();
            state.check_running()?;
            if state.unsent_datagrams >= MAX_UNSENT {
                state.flushers.add(seat, cx.waker());
                state.wake_driver();
                return Poll::Pending;
            }
            let sent = state.proto.send_datagram(&datagram);
            state.unsent_datagrams += 1;
            state.wake_driver();
            Poll::Ready(sent.map_err(Error::from))
        })
        .await
    }

    /// The next message and who sent it.
    ///
    /// Cancel safe: a message that came is handed out by the next call.
    ///
    /// # Errors
    /// [`Error::Stopped`] if the socket failed.
    pub async fn recv_from(&self) -> Result<(Bytes, Peer), Error> {
        seated(|cx, seat| {
            let mut state = self.hold.lock();
            state.check_running()?;
            let Some(inbox) = state.inboxes.get_mut(&self.port) else {
                return Poll::Ready(Err(Error::Stopped("the port was closed".into())));
            };
            if let Some(datagram) = inbox.waiting.pop_front() {
                let peer = Peer { addr: datagram.path.remote, port: datagram.remote_port };
                return Poll::Ready(Ok((datagram.payload, peer)));
            }
            inbox.readers.add(seat, cx.waker());
            Poll::Pending
        })
        .await
    }
}

impl Drop for DatagramPort {
    fn drop(&mut self) {
        let mut state = self.hold.lock();
        state.proto.unlisten(self.port);
        state.inboxes.remove(&self.port);
    }
}
