//! What the driver and all handles of an endpoint share: the protocol, and who waits for what.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::task::Waker;
use std::time::Duration;

use restp_proto::profile::Ordering;
use restp_proto::{
    CloseReason, Composition, ConnId, ConnStats, Datagram, Endpoint, EventKind, Instant, PathAddr,
};

use tokio::runtime::Handle;

use crate::Error;
use crate::clock::Clock;
use crate::socket::Socket;
use crate::waiters::{StreamWaiters, Waiters};

/// How long after the beginning of a connection reports of the network are looked for: they come within a round trip,
/// and are heeded when the SYN would be repeated.
pub(crate) const REPORTS_WANTED: Duration = Duration::from_secs(10);
/// How long a connection whose handles were all dropped may take to deliver what was sent, before it is reset.
const FAREWELL: Duration = Duration::from_secs(30);
/// Accepted connections that wait for `accept`, per port; further ones are reset.
const MAX_BACKLOG: usize = 1024;
/// Events that wait for `next_event`, per connection; the oldest are forgotten first.
const MAX_EVENTS: usize = 64;
/// Connectionless messages that wait for `recv_from`, per port; what comes when all are taken is dropped.
const MAX_DATAGRAMS: usize = 1024;

/// What is left of a connection when it ended.
pub(crate) struct Ended {
    pub reason: CloseReason,
    pub stats: ConnStats,
    pub composition: Option<Composition>,
    #[cfg(feature = "protected")]
    pub peer: Option<restp_proto::protected::PublicKey>,
}

/// The user's side of a connection.
#[derive(Default)]
pub(crate) struct Slot {
    pub readers: Waiters,
    pub writers: Waiters,
    /// Wait for the connection to begin, to end, or for an event.
    pub watchers: Waiters,
    pub connected: bool,
    pub finished: bool,
    pub ended: Option<Box<Ended>>,
    pub events: VecDeque<EventKind>,
    pub streams: Option<Box<StreamWaiters>>,
    /// All handles were dropped: nobody will read or send.
    orphan: bool,
}

impl Slot {
    fn wake_streams(&mut self) {
        if let Some(mut streams) = self.streams.take() {
            streams.wake_all();
        }
    }
}

/// Accepted connections that nobody has taken yet.
#[derive(Default)]
pub(crate) struct Backlog {
    pub waiting: VecDeque<(ConnId, PathAddr)>,
    pub acceptors: Waiters,
}

/// Connectionless messages that nobody has read yet.
#[derive(Default)]
pub(crate) struct Inbox {
    pub waiting: VecDeque<Datagram>,
    pub readers: Waiters,
}

/// Everything behind the lock.
pub(crate) struct State {
    pub proto: Endpoint,
    /// A table is up to twice as large as what is in it, so that the slots themselves stand elsewhere.
    pub slots: HashMap<ConnId, Box<Slot>>,
    /// Slots whose connection has not ended.
    open: usize,
    pub listeners: HashMap<u16, Backlog>,
    pub inboxes: HashMap<u16, Inbox>,
    /// Connections without handles, with the end of their patience, oldest first.
    farewells: VecDeque<(Instant, ConnId)>,
    /// Something changed that the driver has not seen.
    pub news: bool,
    /// The driver, while it sleeps.
    pub driver: Option<Waker>,
    /// The socket after the endpoint was bound anew, until the driver takes it.
    pub rebound: Option<Arc<Socket>>,
    /// Handles that exist: endpoints, listeners, connections, datagram ports.
    handles: usize,
    /// Wait for all connections to end.
    pub idlers: Waiters,
    /// Wait for the queue of connectionless messages to leave.
    pub flushers: Waiters,
    /// Connectionless messages handed over since the driver last sent everything.
    pub unsent_datagrams: usize,
    /// Largest packet that any connection of this endpoint may send, in bytes.
    pub largest_packet_bytes: usize,
    /// Next inner port to try for an outgoing connection.
    pub next_port: u16,
    /// Until when a report of the network may end an attempt to connect.
    pub reports_until: Instant,
    /// Why the driver stopped.
    pub stopped: Option<String>,
}

/// Everything that handles and driver share.
pub(crate) struct Shared {
    state: Mutex<State>,
    socket: RwLock<Arc<Socket>>,
    /// Where sockets are registered.
    runtime: Handle,
    pub clock: Clock,
}

impl Shared {
    pub fn new(socket: Arc<Socket>, proto: Endpoint, clock: Clock, first_port: u16) -> Self {
        let state = State {
            proto,
            slots: HashMap::new(),
            open: 0,
            listeners: HashMap::new(),
            inboxes: HashMap::new(),
            farewells: VecDeque::new(),
            news: false,
            driver: None,
            handles: 0,
            idlers: Waiters::default(),
            flushers: Waiters::default(),
            unsent_datagrams: 0,
            largest_packet_bytes: 0,
            next_port: first_port,
            reports_until: Instant::ZERO,
            stopped: None,
            rebound: None,
        };
        let runtime = Handle::current();
        Self { state: Mutex::new(state), socket: RwLock::new(socket), runtime, clock }
    }

    /// The socket, as long as the endpoint is not bound anew.
    pub fn socket(&self) -> Arc<Socket> {
        Arc::clone(&self.socket.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a new socket, made by `bind`, in the place of the present one, and all paths of all connections on it.
    ///
    /// A path that the new socket cannot serve stays as it is: to the protocol it is one that does not answer.
    pub fn rebind(&self, bind: impl FnOnce() -> Result<Socket, Error>) -> Result<(), Error> {
        let socket = {
            let _entered = self.runtime.enter();
            Arc::new(bind()?)
        };
        let mut state = self.lock();
        state.check_running()?;
        *self.socket.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&socket);
        let now = self.clock.now();
        for conn in state.slots.keys().copied().collect::<Vec<_>>() {
            for (path, stats) in state.proto.path_stats(conn) {
                if let Ok(addr) = socket.path_to(stats.addr.remote) {
                    // A second path to the same address has nowhere to go.
                    let _ = state.proto.rebind_path(now, conn, path, addr.local);
                }
            }
        }
        state.rebound = Some(socket);
        state.wake_driver();
        Ok(())
    }

    /// A panic elsewhere does not make the state wrong: every change to it is complete before anything can panic.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handle's share in the endpoint: the driver ends when the last one is gone and all connections have ended.
pub(crate) struct Hold(Arc<Shared>);

impl Hold {
    pub fn new(shared: Arc<Shared>) -> Self {
        shared.lock().handles += 1;
        Self(shared)
    }
}

impl Clone for Hold {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.handles -= 1;
        if state.handles == 0 {
            state.wake_driver();
        }
    }
}

impl std::ops::Deref for Hold {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl State {
    /// Lets the driver do what follows from a change.
    pub fn wake_driver(&mut self) {
        self.news = true;
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// # Errors
    /// [`Error::Stopped`] once the driver gave up.
    pub fn check_running(&self) -> Result<(), Error> {
        match &self.stopped {
            Some(reason) => Err(Error::Stopped(reason.clone())),
            None => Ok(()),
        }
    }

    /// True when nobody can ask for anything any more and nothing is under way.
    pub fn is_over(&self) -> bool {
        self.handles == 0 && self.slots.is_empty()
    }

    /// Gives up: every waiter hears the reason.
    pub fn stop(&mut self, reason: String) {
        self.stopped = Some(reason);
        for slot in self.slots.values_mut() {
            slot.readers.wake();
            slot.writers.wake();
            slot.watchers.wake();
            slot.wake_streams();
        }
        self.listeners.values_mut().for_each(|backlog| backlog.acceptors.wake());
        self.inboxes.values_mut().for_each(|inbox| inbox.readers.wake());
        self.idlers.wake();
        self.flushers.wake();
    }

    /// Hands out everything that the protocol has to tell.
    pub fn dispatch(&mut self, now: Instant) {
        while let Some(event) = self.proto.poll_event() {
            self.dispatch_one(now, event.conn, event.kind);
        }
        for (&port, inbox) in &mut self.inboxes {
            let before = inbox.waiting.len();
            while inbox.waiting.len() < MAX_DATAGRAMS
                && let Some(datagram) = self.proto.recv_datagram(port)
            {
                inbox.waiting.push_back(datagram);
            }
            if inbox.waiting.len() > before {
                inbox.readers.wake();
            }
        }
        if self.open == 0 {
            self.idlers.wake();
        }
    }

    /// Connections that have not ended.
    pub fn open_connections(&self) -> usize {
        self.open
    }

    /// Makes room for the user's side of a new connection.
    pub fn insert_slot(&mut self, conn: ConnId, connected: bool) {
        self.slots.insert(conn, Box::new(Slot { connected, ..Slot::default() }));
        self.open += 1;
    }

    /// Whether what comes on a connection are streams and not messages.
    pub fn carries_streams(&self, conn: ConnId) -> bool {
        let services = self.proto.composition(conn);
        services.is_some_and(|services| services.profile().ordering == Ordering::Streams)
    }

    /// Forgets a connection on both sides; a peer that does not know its end yet gets a reset.
    pub fn forget(&mut self, now: Instant, conn: ConnId) {
        self.proto.forget(now, conn);
        if self.slots.remove(&conn).is_some_and(|slot| slot.ended.is_none()) {
            self.open -= 1;
        }
        self.news = true;
    }

    fn dispatch_one(&mut self, now: Instant, conn: ConnId, kind: EventKind) {
        if let EventKind::Accepted { port } = kind {
            self.accept(now, conn, port);
            return;
        }
        let Some(slot) = self.slots.get_mut(&conn) else { return };
        match kind {
            EventKind::Connected => {
                slot.connected = true;
                slot.watchers.wake();
                slot.writers.wake();
            }
            EventKind::Readable if slot.orphan => {
                while self.proto.recv(now, conn).is_some() {}
                self.news = true;
            }
            EventKind::Readable => slot.readers.wake(),
            EventKind::Writable => slot.writers.wake(),
            EventKind::Streams => {
                while let Some(event) = self.proto.poll_stream_event(now, conn) {
                    slot.streams.get_or_insert_default().on_event(event);
                }
            }
            EventKind::Finished => {
                slot.finished = true;
                slot.readers.wake();
                slot.wake_streams();
            }
            EventKind::Closed(reason) => {
                if slot.orphan {
                    self.forget(now, conn);
                    return;
                }
                self.open -= 1;
                slot.ended = Some(Box::new(Ended {
                    reason,
                    stats: self.proto.conn_stats(conn).cloned().unwrap_or_default(),
                    composition: self.proto.composition(conn).cloned(),
                    #[cfg(feature = "protected")]
                    peer: self.proto.peer_public_key(conn),
                }));
                slot.readers.wake();
                slot.writers.wake();
                slot.watchers.wake();
                slot.wake_streams();
            }
            other => {
                if slot.events.len() == MAX_EVENTS {
                    slot.events.pop_front();
                }
                slot.events.push_back(other);
                slot.watchers.wake();
            }
        }
    }

    fn accept(&mut self, now: Instant, conn: ConnId, port: u16) {
        let backlog = self.listeners.get_mut(&port).filter(|backlog| backlog.waiting.len() < MAX_BACKLOG);
        // A connection that was reset in the meantime has no path left; nobody needs to hear of it.
        let path = self.proto.path_stats(conn).first().map(|(_, stats)| stats.addr);
        match backlog.zip(path) {
            Some((backlog, path)) => {
                backlog.waiting.push_back((conn, path));
                backlog.acceptors.wake();
                self.insert_slot(conn, true);
            }
            None => self.proto.forget(now, conn),
        }
    }

    /// The last handle of `conn` was dropped: what was sent is still delivered, what comes is thrown away.
    pub fn abandon(&mut self, now: Instant, conn: ConnId) {
        let Some(slot) = self.slots.get_mut(&conn) else { return };
        if slot.ended.is_some() {
            self.forget(now, conn);
        } else {
            slot.orphan = true;
            self.proto.close(now, conn);
            while self.proto.recv(now, conn).is_some() {}
            self.farewells.push_back((now + FAREWELL, conn));
        }
        self.wake_driver();
    }

    /// Resets connections without handles that took too long.
    pub fn end_farewells(&mut self, now: Instant) {
        while let Some((until, conn)) = self.farewells.front().copied() {
            if !self.slots.contains_key(&conn) {
                self.farewells.pop_front();
            } else if until <= now {
                self.farewells.pop_front();
                self.forget(now, conn);
            } else {
                return;
            }
        }
    }

    /// When the protocol or a farewell is due.
    pub fn deadline(&mut self) -> Option<Instant> {
        let farewell = self.farewells.front().map(|(until, _)| *until);
        self.proto.poll_timeout().into_iter().chain(farewell).min()
    }
}
