//! s2n-quic's endpoint without its runtime: an input-and-output provider that hands the endpoint over, so that the
//! thread of the application can drive it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use s2n_quic::provider::io::Provider;
use s2n_quic::{Connection, Server};
use s2n_quic_core::endpoint::Endpoint;
use s2n_quic_core::inet::datagram::Header;
use s2n_quic_core::inet::{ExplicitCongestionNotification, SocketAddress};
use s2n_quic_core::io::{rx, tx};
use s2n_quic_core::path::{Handle as _, LocalAddress, Tuple, mtu};
use s2n_quic_core::time::{Clock as _, StdClock, Timestamp};

use crate::peers::same_end;
use crate::session::Session;
use crate::stacks::quic::driver::Engine;
use crate::stacks::quic::socket::{Batch, Datagram, UdpSocket};

/// Longest UDP payload: an Ethernet frame's 1500 bytes less the headers of IPv4 and UDP.
pub(super) const LONGEST_BYTES: usize = 1472;

/// Datagrams that one turn of the endpoint may write.
const TURN_DATAGRAMS: usize = 64;

/// What the loop asks of an endpoint, whatever its type.
trait Drive: Send {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp);
    fn transmit(&mut self, outbox: &mut Outbox<'_>, now: Timestamp);
    fn timeout(&self) -> Option<Timestamp>;
}

struct Driven<E>(E);

impl<E: Endpoint<PathHandle = Tuple>> Drive for Driven<E> {
    fn receive(&mut self, inbox: &mut Inbox, now: Timestamp) {
        self.0.receive(inbox, &now);
    }

    fn transmit(&mut self, outbox: &mut Outbox<'_>, now: Timestamp) {
        // What the application did is taken up first. An endpoint that is closed has nothing to take up.
        let _ = self.0.poll_wakeups(&mut Context::from_waker(Waker::noop()), &now);
        self.0.transmit(outbox, &now);
    }

    fn timeout(&self) -> Option<Timestamp> {
        self.0.timeout()
    }
}

/// Where an endpoint is put when it is started.
#[derive(Clone)]
pub(super) struct Slot {
    endpoint: Arc<Mutex<Option<Box<dyn Drive>>>>,
    local: SocketAddr,
}

impl Slot {
    pub(super) fn new(local: SocketAddr) -> Self {
        Self { endpoint: Arc::default(), local }
    }
}

impl Provider for Slot {
    type PathHandle = Tuple;
    type Error = String;

    fn start<E: Endpoint<PathHandle = Tuple>>(self, mut endpoint: E) -> Result<SocketAddress, String> {
        let config = mtu::Config::builder().build().map_err(|error| error.to_string())?;
        endpoint.set_mtu_config(config);
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(Driven(endpoint)));
        Ok(self.local.into())
    }
}

/// The library's instants, which count whole microseconds, and the run's.
#[derive(Clone, Copy)]
struct Epoch {
    timestamp: Timestamp,
    ns: i64,
}

impl Epoch {
    fn timestamp(self, ns: i64) -> Timestamp {
        self.timestamp + Duration::from_nanos((ns - self.ns).max(0) as u64)
    }

    fn ns(self, timestamp: Timestamp) -> i64 {
        self.ns + timestamp.saturating_duration_since(self.timestamp).as_nanos() as i64
    }
}

/// An endpoint and, at the receiver, the connections that arrived.
pub(super) struct S2nEngine {
    endpoint: Box<dyn Drive>,
    local: LocalAddress,
    server: Option<Server>,
    arrived: VecDeque<Connection>,
    /// Whose connections are taken.
    peer: SocketAddr,
    session: Arc<Session>,
    epoch: Epoch,
    /// Where datagrams are put together.
    buffer: Vec<u8>,
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
        let endpoint = slot.endpoint.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Self {
            endpoint,
            local: SocketAddress::from(slot.local).into(),
            server,
            arrived: VecDeque::new(),
            peer,
            session: Arc::clone(session),
            epoch: Epoch { timestamp: StdClock::default().get_time(), ns: now_ns },
            buffer: Vec::new(),
        })
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
    fn advance(&mut self, inbox: Vec<Datagram>, _socket: &mut UdpSocket, now_ns: i64) {
        if !inbox.is_empty() {
            let mut inbox = Inbox { datagrams: inbox, local: self.local };
            self.endpoint.receive(&mut inbox, self.epoch.timestamp(now_ns));
        }
    }

    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool {
        let now = self.epoch.timestamp(now_ns);
        while socket.has_room() {
            let segments = socket.segments();
            let mut outbox =
                Outbox { socket, buffer: &mut self.buffer, open: None, segments, left: TURN_DATAGRAMS };
            self.endpoint.transmit(&mut outbox, now);
            outbox.close();
            // The endpoint stops by itself when it has nothing to say.
            if outbox.left > 0 {
                break;
            }
        }
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
        self.endpoint.timeout().map_or(i64::MAX, |due| self.epoch.ns(due))
    }
}

/// Datagrams that arrived, as the endpoint reads them.
struct Inbox {
    datagrams: Vec<Datagram>,
    local: LocalAddress,
}

impl rx::Queue for Inbox {
    type Handle = Tuple;

    fn for_each<F: FnMut(Header<Tuple>, &mut [u8])>(&mut self, mut on_packet: F) {
        for mut datagram in self.datagrams.drain(..) {
            let path = Tuple {
                remote_address: SocketAddress::from(datagram.from).into(),
                local_address: self.local,
            };
            let ecn = ExplicitCongestionNotification::new(datagram.ecn);
            on_packet(Header { path, ecn }, &mut datagram.bytes);
        }
    }

    fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }
}

/// What the endpoint writes, handed to the socket in batches.
struct Outbox<'a> {
    socket: &'a mut UdpSocket,
    buffer: &'a mut Vec<u8>,
    open: Option<Open>,
    segments: usize,
    left: usize,
}

/// A batch to which datagrams may still be added.
struct Open {
    path: Tuple,
    ecn: ExplicitCongestionNotification,
    segment_bytes: usize,
    count: usize,
}

impl Outbox<'_> {
    /// Sends the open batch.
    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.socket.send(&Batch {
                to: open.path.remote_address().0.into(),
                ecn: open.ecn as u8,
                segment_bytes: open.segment_bytes,
                bytes: self.buffer,
            });
        }
        self.buffer.clear();
    }
}

impl tx::Queue for Outbox<'_> {
    type Handle = Tuple;

    const SUPPORTS_ECN: bool = true;

    fn push<M: tx::Message<Handle = Tuple>>(&mut self, mut message: M) -> Result<tx::Outcome, tx::Error> {
        if !self.has_capacity() {
            return Err(tx::Error::AtCapacity);
        }
        let (path, ecn) = (*message.path_handle(), message.ecn());
        // A probe of the path's MTU goes alone: the kernel refuses a batch as a whole when one is too long for the link.
        let probe = !message.can_gso(usize::MAX, 0);
        let fits = self.open.as_ref().is_some_and(|open| {
            message.can_gso(open.segment_bytes, open.count) && path.strict_eq(&open.path) && ecn == open.ecn
        });
        if !fits {
            self.close();
        }
        let start = self.buffer.len();
        let (longest, count) =
            self.open.as_ref().map_or((LONGEST_BYTES, 0), |open| (open.segment_bytes, open.count));
        self.buffer.resize(start + longest, 0);
        let written = message.write_payload(tx::PayloadBuffer::new(&mut self.buffer[start..]), count);
        let bytes = *written.as_ref().unwrap_or(&0);
        self.buffer.truncate(start + bytes);
        if written? == 0 {
            return Err(tx::Error::EmptyPayload);
        }
        let open = self.open.get_or_insert(Open { path, ecn, segment_bytes: bytes, count: 0 });
        open.count += 1;
        // Only the last datagram of a batch may be shorter.
        let last = probe || open.count >= self.segments || bytes < open.segment_bytes;
        self.left -= 1;
        if last {
            self.close();
        }
        Ok(tx::Outcome { len: bytes, index: 0 })
    }

    fn flush(&mut self) {
        self.close();
    }

    fn capacity(&self) -> usize {
        if self.socket.is_full() { 0 } else { self.left }
    }
}
