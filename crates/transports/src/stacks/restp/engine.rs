//! Drives the protocol: packets from the sockets and the time go in, packets and events come out. One thread a side.
//!
//! The protocol's core is driven by this loop rather than by the library's endpoint, whose thread would have to wake the
//! application's thread for each arrival: a wake-up of a guest costs as much wall time as handling a packet.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use restp_proto::{CloseReason, ConnId, Endpoint, EndpointConfig, EventKind, Instant, Transmit};

use super::instants::{instant, nanoseconds};
use super::paths::Ways;
use super::socket::{Outer, receive_batch};
use crate::error::Failure;
use crate::session::Session;
use crate::sys::batch::RecvBatch;

/// Packets of equal length that the protocol hands out at once; they leave with one system call.
const TRAIN_PACKETS: usize = 64;

/// The protocol, which the sampling thread may look at too.
pub(super) type Shared = Arc<Mutex<Endpoint>>;

/// The lock of the protocol. A panic elsewhere ends the run anyway.
pub(super) fn lock(proto: &Shared) -> MutexGuard<'_, Endpoint> {
    proto.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A ResTP endpoint, driven by the thread that calls it; one connection at a time is in use.
pub(super) struct Engine {
    pub(super) session: Arc<Session>,
    pub(super) proto: Shared,
    sockets: Vec<Outer>,
    inbound: RecvBatch,
    outbound: Vec<u8>,
    /// The time as last seen.
    now_ns: i64,
    states: BTreeMap<ConnId, State>,
    /// Connections that peers opened and nobody has accepted yet.
    backlog: VecDeque<ConnId>,
    /// Paths beside the first of the connection that is in use.
    pub(super) ways: Ways,
    next_port: u16,
}

/// What the protocol has told of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct State {
    pub(super) connected: bool,
    /// The peer will send nothing more.
    pub(super) finished: bool,
    pub(super) closed: Option<CloseReason>,
}

/// Where an endpoint waits between two of its connections: what it has learnt from one (the cookies of servers) serves
/// the next.
pub(super) type Pool = Arc<Mutex<Option<Engine>>>;

/// An endpoint in use by a connection; it goes to its pool afterwards.
pub(super) struct Leased {
    engine: Option<Engine>,
    pool: Pool,
}

impl Leased {
    pub(super) fn new(engine: Engine, pool: &Pool) -> Self {
        Self { engine: Some(engine), pool: Arc::clone(pool) }
    }
}

/// Why a lease always has its engine.
const LEASED: &str = "an endpoint is there until its lease ends";

impl Deref for Leased {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        self.engine.as_ref().expect(LEASED)
    }
}

impl DerefMut for Leased {
    fn deref_mut(&mut self) -> &mut Engine {
        self.engine.as_mut().expect(LEASED)
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        *self.pool.lock().unwrap_or_else(PoisonError::into_inner) = self.engine.take();
    }
}

/// Takes the endpoint out of its pool, if there is one.
pub(super) fn take(pool: &Pool) -> Option<Engine> {
    pool.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Inner ports of flows that leave the choice to the endpoint: the dynamic range of RFC 6335.
const FIRST_DYNAMIC_PORT: u16 = 49_152;

impl Engine {
    /// An endpoint over these sockets; its packets have at most `packet_bytes`.
    pub(super) fn new(
        session: &Arc<Session>,
        config: EndpointConfig,
        seed: [u8; 32],
        sockets: Vec<Outer>,
        packet_bytes: usize,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            proto: Arc::new(Mutex::new(Endpoint::new(config, seed))),
            sockets,
            inbound: receive_batch(packet_bytes),
            outbound: Vec::new(),
            now_ns: session.ctx.clock.now_ns(),
            states: BTreeMap::new(),
            backlog: VecDeque::new(),
            ways: Ways::default(),
            next_port: FIRST_DYNAMIC_PORT,
        }
    }

    /// What is known of a connection.
    pub(super) fn state(&self, conn: Option<ConnId>) -> State {
        conn.and_then(|conn| self.states.get(&conn)).copied().unwrap_or_default()
    }

    /// The oldest connection that a peer opened and nobody has accepted.
    pub(super) fn accepted(&mut self) -> Option<ConnId> {
        self.backlog.pop_front()
    }

    /// Forgets a connection that is over.
    pub(super) fn forget(&mut self, conn: Option<ConnId>) {
        if let Some(conn) = conn {
            self.states.remove(&conn);
        }
    }

    /// The address of the first socket, and the inner port for a further connection: `wanted`, or one of its own choice.
    pub(super) fn own_ends(&mut self, wanted: u16) -> (std::net::SocketAddr, u16) {
        let local = self.sockets[0].local();
        if wanted != 0 {
            return (local, wanted);
        }
        let port = self.next_port;
        self.next_port = port.checked_add(1).unwrap_or(FIRST_DYNAMIC_PORT);
        (local, port)
    }

    /// The time now, for a caller that has let none pass since the engine last waited, and for a first call.
    pub(super) fn now_ns(&mut self) -> i64 {
        self.now_ns = self.session.ctx.clock.after(self.now_ns);
        self.now_ns
    }

    /// The time, after the caller may have waited elsewhere.
    pub(super) fn look_at_clock(&mut self) -> i64 {
        self.now_ns = self.session.ctx.clock.now_ns();
        self.now_ns
    }

    /// Runs `step` on the protocol at the present time.
    pub(super) fn with<T>(&mut self, step: impl FnOnce(&mut Endpoint, Instant) -> T) -> T {
        let now = instant(self.now_ns());
        step(&mut lock(&self.proto), now)
    }

    /// Sends everything that may leave now, and takes note of what the protocol tells.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let now = instant(self.now_ns());
        loop {
            loop {
                self.outbound.clear();
                let transmit = lock(&self.proto).poll_transmit(now, TRAIN_PACKETS, &mut self.outbound);
                let Some(transmit) = transmit else { break };
                self.send(&transmit)?;
            }
            self.take_events();
            if !self.ways.act(&mut lock(&self.proto), self.now_ns)? {
                return Ok(());
            }
        }
    }

    /// Takes note of what the protocol tells.
    fn take_events(&mut self) {
        let mut proto = lock(&self.proto);
        while let Some(event) = proto.poll_event() {
            self.ways.note(self.now_ns, event.conn, &event.kind);
            let state = self.states.entry(event.conn).or_default();
            match event.kind {
                EventKind::Accepted { .. } => {
                    state.connected = true;
                    self.backlog.push_back(event.conn);
                }
                EventKind::Connected => state.connected = true,
                EventKind::Finished => state.finished = true,
                EventKind::Closed(reason) => state.closed = Some(reason),
                _ => {}
            }
        }
    }

    fn send(&mut self, transmit: &Transmit) -> Result<(), Failure> {
        match self.sockets.iter_mut().find(|socket| socket.local() == transmit.path.local) {
            Some(socket) => socket.send(transmit, &self.outbound),
            None => Ok(()),
        }
    }

    /// Waits for a packet, a timer of the protocol or `until_ns`, whichever is first, and lets the protocol act on it.
    ///
    /// # Errors
    /// A sentence: the other half failed, or the limit was reached while `doing`.
    pub(super) fn turn(&mut self, until_ns: i64, doing: &str) -> Result<(), Failure> {
        self.flush()?;
        let deadline_ns = lock(&self.proto).poll_timeout().map_or(i64::MAX, nanoseconds);
        let wake_ns = deadline_ns.min(until_ns).min(self.ways.next_ns());
        if wake_ns > self.now_ns {
            let fds: Vec<_> = self.sockets.iter().map(|socket| (socket.fd(), libc::POLLIN)).collect();
            match self.session.wait_each(&fds, self.now_ns, wake_ns, doing)? {
                Some(ready) => self.take_packets(&ready)?,
                None => {
                    self.look_at_clock();
                }
            }
        } else if self.now_ns >= self.session.ctx.limit_ns {
            return Err(self.session.limit_reached(doing));
        }
        if deadline_ns <= self.now_ns {
            lock(&self.proto).handle_timeout(instant(self.now_ns));
        }
        self.flush()
    }

    /// Hands packets that arrived on the sockets that are `ready` to the protocol. To ask the others costs as much as
    /// a packet, and in virtual time a call that finds nothing takes a microsecond. Where time stands still meanwhile,
    /// the latest stamp is the time now, and the clock need not be read: in a guest that costs as much as anything else
    /// done for a packet.
    fn take_packets(&mut self, ready: &[bool]) -> Result<(), Failure> {
        let clock = self.session.ctx.clock;
        let mut now_ns = self.now_ns;
        let mut told = false;
        let mut proto = lock(&self.proto);
        for (socket, _) in self.sockets.iter().zip(ready).filter(|(_, ready)| **ready) {
            socket.receive(&mut self.inbound, |path, ecn, packet, stamp_ns| {
                if let Some(stamp_ns) = stamp_ns {
                    now_ns = now_ns.max(clock.after(clock.from_realtime_ns(stamp_ns)));
                    told = true;
                }
                proto.handle(instant(now_ns), path, ecn, packet);
            })?;
        }
        drop(proto);
        self.now_ns = now_ns;
        if !told {
            self.look_at_clock();
        }
        Ok(())
    }

    /// The sentence for a connection that ended before its work was done.
    pub(super) fn broken(&self, reason: CloseReason, doing: &str) -> Failure {
        let to = self.session.ctx.destination;
        self.session.failure().unwrap_or_else(|| match reason {
            CloseReason::Reset | CloseReason::Aborted => Failure::reset(format!("while {doing}")),
            CloseReason::Refused | CloseReason::NotListening | CloseReason::Unreachable => {
                Failure::Refused(format!("refused while {doing}: {reason} ({to})"))
            }
            CloseReason::TimedOut | CloseReason::Idle | CloseReason::Outage => {
                Failure::TimedOut(format!("timed out while {doing}: {reason}"))
            }
            _ => Failure::new(format!("the connection ended while {doing}: {reason}")),
        })
    }
}
