//! s2n-quic's endpoint on a socket of the run, driven by the thread of the application.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use s2n_endpoint::{Endpoint, Outlet, Slot};
use s2n_quic::{Connection, Server};

use crate::peers::same_end;
use crate::session::Session;
use crate::stacks::quic::driver::Engine;
use crate::stacks::quic::socket::{Batch, Datagram, UdpSocket};

/// An endpoint and, at the receiver, the connections that arrived.
pub(super) struct S2nEngine {
    endpoint: Endpoint,
    server: Option<Server>,
    arrived: VecDeque<Connection>,
    /// Whose connections are taken.
    peer: SocketAddr,
    session: Arc<Session>,
    /// The run's time when the endpoint's began.
    zero_ns: i64,
}

impl S2nEngine {
    /// Takes over the endpoint that was started into `slot`, with the handle through which connections are accepted.
    /// Now is `now_ns`. `None` when nothing was started.
    pub(super) fn new(
        session: &Arc<Session>,
        slot: &Slot,
        server: Option<Server>,
        peer: SocketAddr,
        now_ns: i64,
    ) -> Option<Self> {
        let (arrived, session) = (VecDeque::new(), Arc::clone(session));
        Some(Self { endpoint: slot.take()?, server, arrived, peer, session, zero_ns: now_ns })
    }

    /// The endpoint's time.
    fn since_zero(&self, now_ns: i64) -> Duration {
        Duration::from_nanos((now_ns - self.zero_ns).max(0) as u64)
    }

    /// The flow that it serves.
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Takes the oldest connection that the peer opened off the list.
    pub(super) fn next_arrived(&mut self) -> Option<Connection> {
        while let Some(connection) = self.arrived.pop_front() {
            if connection.remote_addr().is_ok_and(|address| same_end(&address.into(), self.peer)) {
                return Some(connection);
            }
        }
        None
    }

    /// Whether a connection has arrived that nobody asked for yet.
    pub(super) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }
}

impl Engine for S2nEngine {
    fn advance(&mut self, mut inbox: Vec<Datagram>, _socket: &mut UdpSocket, now_ns: i64) {
        if !inbox.is_empty() {
            let came = inbox.iter_mut().map(|datagram| s2n_endpoint::Datagram {
                from: datagram.from,
                ecn: datagram.ecn,
                octets: &mut datagram.bytes,
            });
            let now = self.since_zero(now_ns);
            self.endpoint.receive(&mut came.collect::<Vec<_>>(), now);
        }
    }

    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool {
        let now = self.since_zero(now_ns);
        while socket.has_room() && self.endpoint.transmit(socket, now) {}
        let mut told = false;
        if let Some(server) = &mut self.server {
            let mut context = Context::from_waker(Waker::noop());
            while let Poll::Ready(Some(connection)) = server.poll_accept(&mut context) {
                self.arrived.push_back(connection);
                told = true;
            }
        }
        told
    }

    fn due_ns(&mut self) -> i64 {
        self.endpoint.timeout().map_or(i64::MAX, |due| self.zero_ns + due.as_nanos() as i64)
    }
}

impl Outlet for UdpSocket {
    fn segments(&self) -> usize {
        self.segments()
    }

    fn is_full(&self) -> bool {
        self.is_full()
    }

    fn send(&mut self, batch: &s2n_endpoint::Batch<'_>) {
        let s2n_endpoint::Batch { to, ecn, segment_octets: segment_bytes, octets: bytes } = *batch;
        self.send(&Batch { to, ecn, segment_bytes, bytes });
    }
}
