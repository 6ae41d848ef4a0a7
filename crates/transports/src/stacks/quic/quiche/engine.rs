//! quiche's connections, tied to the clock of the run and to a socket.
//!
//! quiche reads the process's clock by itself, about once a datagram. In a guest that is the run's clock, which stands
//! still while something is computed and moves by one step (256 ns) when it is read: what the library takes for now is
//! some steps after the instant that this engine is given.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, Header, RecvInfo, Type};

use super::tls::KeyWriter;
use crate::epoch::Epoch;
use crate::error::Failure;
use crate::peers::same_end;
use crate::qlog::{Qlogs, Side};
use crate::secure::KeyLines;
use crate::stacks::quic::driver::Engine;
use crate::stacks::quic::sentence::{Cause, Loss};
use crate::stacks::quic::socket::{Batch, Datagram, UdpSocket};

/// Longest UDP payload that is sent, and that the other side is asked to send: that of the library's own client and
/// server (MAX_DATAGRAM_SIZE of its `apps`).
pub(super) const LONGEST_BYTES: usize = 1350;

/// Length of the connection identifiers that an end chooses for itself, as the library's own server has it.
const ID_BYTES: usize = 16;

/// A release instant this near is now: the library's clock readings of some dozen datagrams lie between. It is what a
/// packet takes at 540 Mbit/s.
const NEAR: Duration = Duration::from_micros(20);

/// A transport error that says no more than that (INTERNAL_ERROR; RFC 9000, section 20.1).
const INTERNAL_ERROR: u64 = 0x1;

/// A datagram with the instant before which it is not to leave.
struct Timed {
    at: Instant,
    to: SocketAddr,
    bytes: Vec<u8>,
}

/// One connection of an endpoint.
pub(super) struct Link {
    pub(super) quic: Connection,
    /// When the handshake was over.
    pub(super) connected_ns: Option<i64>,
    /// The identifier by which the other side called this end before it knew better.
    first_id: ConnectionId<'static>,
    /// What the library paces.
    held: Option<Timed>,
    /// The library has nothing to send until something happens to it.
    silent: bool,
    /// Nobody asks for it any more.
    abandoned: bool,
}

impl Link {
    fn new(quic: Connection, first_id: ConnectionId<'static>) -> Self {
        Self { quic, connected_ns: None, first_id, held: None, silent: false, abandoned: false }
    }

    /// The library's connection, to change its state: it may then have something to send.
    pub(super) fn stir(&mut self) -> &mut Connection {
        self.silent = false;
        &mut self.quic
    }

    fn is_called(&self, id: &ConnectionId<'_>) -> bool {
        self.first_id == *id || self.quic.source_ids().any(|own| own == id)
    }

    /// Why the connection is over, if it is.
    pub(super) fn loss(&self) -> Option<Loss> {
        let words = |code: u64, reason: &[u8]| match String::from_utf8_lossy(reason) {
            reason if reason.is_empty() => format!("QUIC error 0x{code:x}"),
            reason => format!("{reason}, QUIC error 0x{code:x}"),
        };
        let cause = |code, reason: &[u8]| Cause::of_code(code, words(code, reason));
        if let Some(error) = self.quic.peer_error() {
            let code = error.error_code;
            return Some(match error.is_app {
                true => Loss::Application(code),
                false => Loss::Remote(cause(code, &error.reason)),
            });
        }
        if self.quic.is_timed_out() {
            return Some(Loss::TimedOut);
        }
        if let Some(error) = self.quic.local_error().filter(|error| !error.is_app) {
            return Some(Loss::Local(cause(error.error_code, &error.reason)));
        }
        // What is left is a stateless reset (RFC 9000, section 10.3).
        (self.quic.is_closed() || self.quic.is_draining()).then_some(Loss::Reset)
    }

    /// The next datagram that may leave by `now`.
    fn next(&mut self, now: Instant) -> Option<Timed> {
        if self.held.is_none() && !self.silent {
            self.held = self.write();
        }
        // Nobody waits until the word that a connection is over may leave.
        let at_once = self.abandoned;
        self.held.take_if(|datagram| at_once || datagram.at <= now + NEAR)
    }

    fn write(&mut self) -> Option<Timed> {
        let mut bytes = vec![0; LONGEST_BYTES];
        match self.quic.send(&mut bytes) {
            Ok((count, about)) => {
                bytes.truncate(count);
                Some(Timed { at: about.at, to: about.to, bytes })
            }
            Err(quiche::Error::Done) => {
                self.silent = true;
                None
            }
            Err(_) => {
                // It may be closed for another reason already, which then stands.
                let _ = self.quic.close(false, INTERNAL_ERROR, b"");
                None
            }
        }
    }

    /// Sends what may leave by `now`, put together in `outbox`.
    fn send(&mut self, socket: &mut UdpSocket, now: Instant, outbox: &mut Vec<u8>) {
        while socket.has_room() {
            outbox.clear();
            let mut open: Option<(SocketAddr, usize)> = None;
            for _ in 0..socket.segments() {
                let Some(next) = self.next(now) else { break };
                let (to, segment_bytes) = *open.get_or_insert((next.to, next.bytes.len()));
                if next.to != to || next.bytes.len() > segment_bytes {
                    self.held = Some(next);
                    break;
                }
                outbox.extend_from_slice(&next.bytes);
                // Only the last datagram of a batch may be shorter.
                if next.bytes.len() < segment_bytes {
                    break;
                }
            }
            let Some((to, segment_bytes)) = open else { break };
            socket.send(&Batch { to, ecn: 0, segment_bytes, bytes: outbox });
        }
    }
}

/// An endpoint and its connections.
pub(super) struct QuicheEngine {
    config: Config,
    side: Side,
    links: BTreeMap<u64, Link>,
    arrived: VecDeque<u64>,
    opened: u64,
    local: SocketAddr,
    /// Whose connections are taken, or to whom they are opened.
    peer: SocketAddr,
    /// Something arrived, and the application was not asked yet.
    unasked: bool,
    epoch: Epoch,
    keys: Option<Arc<KeyLines>>,
    qlog: Option<Arc<Qlogs>>,
    /// Where transmissions are put together.
    outbox: Vec<u8>,
    /// The kernel has no room.
    full: bool,
}

impl QuicheEngine {
    /// The endpoint of one side at `local`, which talks to `peer`. Now is `now_ns`.
    pub(super) fn new(config: Config, side: Side, local: SocketAddr, peer: SocketAddr, now_ns: i64) -> Self {
        Self {
            config,
            side,
            links: BTreeMap::new(),
            arrived: VecDeque::new(),
            opened: 0,
            local,
            peer,
            unasked: false,
            epoch: Epoch::new(now_ns),
            keys: None,
            qlog: None,
            outbox: Vec::new(),
            full: false,
        }
    }

    /// Has the secrets and the events of its connections written, as far as they are to be kept.
    pub(super) fn noting(self, keys: Option<Arc<KeyLines>>, qlog: Option<Arc<Qlogs>>) -> Self {
        Self { keys, qlog, ..self }
    }

    /// Opens a connection to the peer, with the ticket of an earlier one if there is one.
    pub(super) fn connect(&mut self, name: &str, ticket: Option<&[u8]>) -> Result<u64, Failure> {
        let refused = |error: &dyn std::fmt::Display| {
            Failure::new(format!("no QUIC connection to {} could be opened: {error}", self.peer))
        };
        let id = own_id().map_err(|error| refused(&error))?;
        let mut quic = quiche::connect(Some(name), &id, self.local, self.peer, &mut self.config)
            .map_err(|error| refused(&error))?;
        if let Some(ticket) = ticket {
            quic.set_session(ticket).map_err(|error| refused(&error))?;
        }
        Ok(self.add(quic, id))
    }

    /// The oldest connection that arrived and was not asked for yet.
    pub(super) fn next_arrived(&self) -> Option<u64> {
        self.arrived.front().copied()
    }

    /// Takes the connection that [`QuicheEngine::next_arrived`] tells off the list.
    pub(super) fn take_arrived(&mut self) {
        self.arrived.pop_front();
    }

    /// A connection that was not abandoned.
    pub(super) fn link(&mut self, handle: u64) -> &mut Link {
        self.links.get_mut(&handle).expect("a connection stays until it is abandoned")
    }

    /// Ends a connection that nobody asks for any more, with `code` for the other side.
    pub(super) fn abandon(&mut self, handle: u64, code: u32) {
        let link = self.link(handle);
        link.abandoned = true;
        link.held = None;
        // One that is over already needs no end.
        let _ = link.stir().close(true, u64::from(code), b"");
    }

    fn add(&mut self, mut quic: Connection, first_id: ConnectionId<'static>) -> u64 {
        if let Some(keys) = &self.keys {
            quic.set_keylog(Box::new(KeyWriter(Arc::clone(keys))));
        }
        if let Some(file) = self.qlog.as_ref().and_then(|files| files.open(self.side)) {
            quic.set_qlog(file, format!("quiche, {}", self.side.name()), String::new());
        }
        let handle = self.opened;
        self.opened += 1;
        self.links.insert(handle, Link::new(quic, first_id));
        handle
    }

    /// The connection to which a datagram belongs: one that is there, or a new one.
    fn find(&mut self, header: &Header<'_>, from: SocketAddr) -> Option<u64> {
        let known = self.links.iter().find(|(_, link)| link.is_called(&header.dcid));
        if let Some((handle, _)) = known {
            return Some(*handle);
        }
        let opens = self.side == Side::Server
            && header.ty == Type::Initial
            && quiche::version_is_supported(header.version)
            && same_end(&from.into(), self.peer);
        if !opens {
            return None;
        }
        let quic = quiche::accept(&own_id().ok()?, None, self.local, from, &mut self.config).ok()?;
        let handle = self.add(quic, header.dcid.clone().into_owned());
        self.arrived.push_back(handle);
        Some(handle)
    }
}

fn own_id() -> Result<ConnectionId<'static>, boring::error::ErrorStack> {
    let mut id = vec![0; ID_BYTES];
    boring::rand::rand_bytes(&mut id)?;
    Ok(ConnectionId::from_vec(id))
}

impl Engine for QuicheEngine {
    fn advance(&mut self, inbox: Vec<Datagram>, _socket: &mut UdpSocket, now_ns: i64) {
        for Datagram { from, ecn: _, mut bytes } in inbox {
            let Ok(header) = Header::from_slice(&mut bytes, ID_BYTES) else { continue };
            let Some(handle) = self.find(&header, from) else { continue };
            let about = RecvInfo { from, to: self.local };
            self.unasked = true;
            let link = self.link(handle);
            // What is wrong with a datagram closes the connection, or is of no matter.
            let _ = link.stir().recv(&mut bytes, about);
            if link.connected_ns.is_none() && link.quic.is_established() {
                link.connected_ns = Some(now_ns);
            }
        }
        let now = self.epoch.instant(now_ns);
        for link in self.links.values_mut() {
            if link.quic.timeout_instant().is_some_and(|due| due <= now) {
                link.stir().on_timeout();
            }
        }
    }

    fn settle(&mut self, socket: &mut UdpSocket, now_ns: i64) -> bool {
        // An application that waits for room hands over first. The library fills the congestion window to the last byte:
        // sent before, the rest of the last hand-over would be a packet of its own at every acknowledgement.
        if std::mem::take(&mut self.unasked) {
            return true;
        }
        let now = self.epoch.instant(now_ns);
        for link in self.links.values_mut() {
            link.send(socket, now, &mut self.outbox);
        }
        self.full = socket.is_full();
        self.links.retain(|_, link| !(link.abandoned && link.quic.is_closed()));
        // Only what arrives, and timers, bring something new.
        false
    }

    fn due_ns(&mut self) -> i64 {
        let full = self.full;
        let dues = self.links.values().flat_map(|link| {
            // What is held while the kernel has no room waits for the room.
            let release = link.held.as_ref().filter(|_| !full).map(|datagram| datagram.at);
            [link.quic.timeout_instant(), release]
        });
        dues.flatten().min().map_or(i64::MAX, |due| self.epoch.ns(due))
    }
}
