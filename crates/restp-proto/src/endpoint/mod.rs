//! An endpoint: many connections over one set of addresses, driven from outside with packets and the time.

mod budget;
mod cookie;
mod failures;
mod half_open;
mod handles;
mod incoming;
mod linger;
mod opening;
mod stranger;
mod streams;
mod table;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

use crate::arena::Arena;
use crate::config::EndpointConfig;
use crate::conn::multipath::Multi;
use crate::conn::{Connection, Cx, Role};
use crate::crypto::{Purpose, Secret};
use crate::error::{ConnectError, ListenError};
use crate::event::{ConnId, Datagram, Event};
use crate::log::Observer;
use crate::path::{Ecn, PathAddr, Transmit};
use crate::profile::{Composition, Management, Protection};
use crate::protected::Keys;
use crate::stats::EndpointStats;
use crate::time::Instant;
use crate::wire::Cookie;
use budget::{Answer, Budgets};
use cookie::{CookieCache, CookieJar, FirstMessages, ReplaySet};
use failures::Failures;
use half_open::HalfOpen;
pub(crate) use half_open::Share;
use linger::Linger;
pub(crate) use linger::{Farewell, Remains};
use table::{Key, MOVABLE_PER_PORTS, SecretState, Table};

/// Length of one slot of the coarse clock in initial numbers: two slots bound how old an answer may be.
const ISN_SLOT: Duration = Duration::from_secs(64);

/// A port on which peers may connect.
struct Listener {
    composition: Composition,
    /// Only what the profile itself offers is accepted.
    exact: bool,
    datagrams: VecDeque<Datagram>,
}

/// Outgoing bytes that belong to no connection.
struct Stateless {
    path: PathAddr,
    bytes: Vec<u8>,
}

/// Many connections, both initiated and accepted. See the crate's first page for an example.
///
/// After every call that changes something, call [`Endpoint::poll_transmit`] until it answers `None`, then
/// [`Endpoint::poll_event`] likewise, then wait for a packet or until [`Endpoint::poll_timeout`].
pub struct Endpoint {
    config: EndpointConfig,
    rng: ChaCha12Rng,
    secret: Secret,
    arena: Arena,
    scratch: Vec<u8>,
    keys: Option<Arc<Keys>>,
    observer: Option<Box<dyn Observer + Send>>,
    table: Table,
    tokens: BTreeMap<u32, ConnId>,
    /// Connections by their inner ports, to find a peer that moved; bounded per pair of ports.
    by_ports: BTreeMap<(u16, u16), Vec<ConnId>>,
    listeners: BTreeMap<u16, Listener>,
    jar: CookieJar,
    replays: ReplaySet,
    /// Three-way openings whose third packet could still be taken for a new one.
    openings: ReplaySet,
    /// Changes when `openings` is full, and initial numbers with it.
    isn_epoch: u64,
    cookies: CookieCache,
    linger: Linger,
    half_open: HalfOpen,
    first_messages: FirstMessages,
    /// Key agreements with strangers that came to nothing.
    failures: Failures,
    /// SYN-ACKs leave before everything else.
    syn_acks: VecDeque<Stateless>,
    stateless: VecDeque<Stateless>,
    budgets: Budgets,
    stats: EndpointStats,
}

impl std::fmt::Debug for Endpoint {
    /// Keys and secrets are left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("encapsulation", &self.config.encapsulation)
            .field("listeners", &self.listeners.keys())
            .field("connections", &self.table.len())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// An endpoint whose randomness all comes from `seed`: keep it secret outside of simulations.
    #[must_use]
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Self {
        let mut rng = ChaCha12Rng::from_seed(seed);
        let mut key = [0; 16];
        rng.fill_bytes(&mut key);
        let secret = Secret::new(key);
        rng.fill_bytes(&mut key);
        let jar = CookieJar::new(Secret::new(key), config.cookie_lifetime);
        let state = SecretState::new(&secret);
        Self {
            replays: ReplaySet::new(config.max_replay_entries, config.cookie_lifetime),
            openings: ReplaySet::new(config.max_openings, ISN_SLOT * 2),
            isn_epoch: 0,
            cookies: CookieCache::new(config.max_cached_cookies),
            linger: Linger::new(state.clone(), config.max_lingering),
            failures: Failures::new(state.clone(), config.max_failed_openings_per_s),
            table: Table::new(state),
            rng,
            secret,
            arena: Arena::default(),
            scratch: Vec::new(),
            keys: config.keys.clone().map(Arc::new),
            observer: None,
            tokens: BTreeMap::new(),
            by_ports: BTreeMap::new(),
            listeners: BTreeMap::new(),
            jar,
            half_open: HalfOpen::default(),
            first_messages: FirstMessages::new(config.max_replay_entries),
            syn_acks: VecDeque::new(),
            stateless: VecDeque::new(),
            budgets: Budgets::new(&config),
            stats: EndpointStats::default(),
            config,
        }
    }

    /// Lets `observer` hear every step of every connection.
    pub fn observe(&mut self, observer: Box<dyn Observer + Send>) {
        self.observer = Some(observer);
    }

    /// Takes the observer back.
    pub fn unobserve(&mut self) -> Option<Box<dyn Observer + Send>> {
        self.observer.take()
    }

    /// Accepts connections on `port`. With a connectionless composition, messages of strangers are queued instead.
    ///
    /// What shows on the wire is chosen by the peer as long as it is valid; everything else (congestion control,
    /// timers, limits, cause of losses) is taken from `composition`. With `exact` only the services of the composition
    /// itself are offered, and peers that ask for more are offered less (answer D1).
    ///
    /// # Errors
    /// [`ListenError`] if the port is taken or keys are missing.
    pub fn listen(&mut self, port: u16, composition: Composition, exact: bool) -> Result<(), ListenError> {
        if self.listeners.contains_key(&port) {
            return Err(ListenError::InUse { port });
        }
        if composition.profile().protection == Protection::Protected {
            let keys = self.keys.as_ref().ok_or(ListenError::NoKeys)?;
            if !keys.can_listen() {
                return Err(ListenError::UnusableKeys);
            }
        }
        self.listeners.insert(port, Listener { composition, exact, datagrams: VecDeque::new() });
        Ok(())
    }

    /// Accepts no more connections on `port`; existing ones go on.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.remove(&port);
    }

    /// Opens a connection from `local_port` to `remote_port` at the end of `path`.
    ///
    /// # Errors
    /// [`ConnectError`] if the identity is in use, a limit is reached, or keys are missing.
    pub fn connect(
        &mut self,
        now: Instant,
        path: PathAddr,
        local_port: u16,
        remote_port: u16,
        composition: &Composition,
    ) -> Result<ConnId, ConnectError> {
        let key = Key { addr: path, local_port, remote_port };
        if self.table.has_key(&key) {
            return Err(ConnectError::InUse);
        }
        if self.table.len() >= self.config.max_connections {
            return Err(ConnectError::TooMany { limit: self.config.max_connections });
        }
        let keys = match composition.profile().protection {
            Protection::ClearText => None,
            Protection::Protected => Some(self.keys.clone().ok_or(ConnectError::NoKeys)?),
        };
        if keys.as_ref().is_some_and(|keys| !keys.can_connect()) {
            return Err(ConnectError::UnusableKeys);
        }
        let isn = self.initial_number(now, &key);
        let cookie = match composition.profile().management {
            Management::Opportunistic => self.cookies.get(path.remote),
            _ => None,
        };
        let local_key = self.rng.next_u64();
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let id = self.table.next_id();
        let (cx, _) = self.split(now, id);
        let mut conn = Connection::connect(
            &cx,
            composition.clone(),
            path,
            (local_port, remote_port),
            isn,
            cookie,
            local_key,
        );
        if let Some(keys) = keys {
            conn.protect(&keys, seed).ok_or(ConnectError::UnusableKeys)?;
        }
        let id = self.table.insert(conn);
        self.table.bind(key, id, 0);
        self.note_ports(local_port, remote_port, id);
        self.table.touch(id);
        Ok(id)
    }

    fn note_ports(&mut self, local_port: u16, remote_port: u16, id: ConnId) {
        let list = self.by_ports.entry((local_port, remote_port)).or_insert_with(|| Vec::with_capacity(1));
        if list.len() < MOVABLE_PER_PORTS {
            list.push(id);
        }
    }

    /// The initial number of a connection that we open (RFC 6528): a keyed hash plus a clock of 4 microseconds.
    // R-NUM-3
    fn initial_number(&mut self, now: Instant, key: &Key) -> u32 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let ends = format!("{}{}", key.addr.local, key.addr.remote);
        let hash =
            self.secret.derive(Purpose::InitialNumber, &[b"initiator", ends.as_bytes(), &ports]) as u32;
        hash.wrapping_add((now.as_nanos() / 4000) as u32)
    }

    /// Splits the borrow: what connections need, and the table that holds them.
    fn split(&mut self, now: Instant, id: ConnId) -> (Cx<'_>, &mut Table) {
        let cx = Cx {
            now,
            id,
            rng: &mut self.rng,
            arena: &mut self.arena,
            scratch: &mut self.scratch,
            observer: &mut self.observer,
            horizon: self.config.release_horizon,
            pseudo: self.config.encapsulation.outgoing(),
        };
        (cx, &mut self.table)
    }

    /// Runs `step` on a connection and notes what follows from it.
    fn with<T>(
        &mut self,
        now: Instant,
        id: ConnId,
        step: impl FnOnce(&mut Connection, &mut Cx<'_>) -> T,
    ) -> Option<T> {
        let (mut cx, table) = self.split(now, id);
        let conn = table.get_mut(id)?;
        let share = conn.half_open();
        let result = step(conn, &mut cx);
        let proven = conn.half_open().is_none();
        if let Some(share) = share.filter(|_| proven) {
            self.half_open.end(share);
        }
        self.table.touch(id);
        self.note_end(now, id);
        Some(result)
    }

    /// A connection that we closed first is remembered for a while (answer D12).
    fn note_end(&mut self, now: Instant, id: ConnId) {
        let pseudo = self.config.encapsulation.outgoing();
        let Some(conn) = self.table.get_mut(id).filter(|conn| conn.is_closed()) else { return };
        if let Some(remains) = conn.remains(now, pseudo) {
            self.linger.put(now, remains);
        }
    }

    /// Appends the next packets to `out`, at most `max_segments` of equal length for one path (the last may be shorter).
    ///
    /// Call it until it answers `None`.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some(Stateless { path, bytes }) =
            self.syn_acks.pop_front().or_else(|| self.stateless.pop_front())
        {
            out.extend_from_slice(&bytes);
            return Some(Transmit {
                path,
                ecn: Ecn::NotEct,
                size_bytes: bytes.len(),
                segment_size: bytes.len(),
                release_at: now,
            });
        }
        while let Some(id) = self.table.first_dirty() {
            let (mut cx, table) = self.split(now, id);
            let Some(conn) = table.get_mut(id) else {
                self.table.settle_dirty();
                continue;
            };
            let share = conn.half_open();
            let transmit = conn.poll_transmit(&mut cx, max_segments.max(1), out);
            let ended = conn.half_open().is_none();
            if let Some(share) = share.filter(|_| ended) {
                self.half_open.end(share);
            }
            if transmit.is_some() {
                self.table.rotate_dirty();
                return transmit;
            }
            // Sending may have moved timers or ended the connection.
            self.table.touch(id);
            self.table.settle_dirty();
            self.note_end(now, id);
        }
        None
    }

    /// When [`Endpoint::handle_timeout`] must be called, if ever.
    pub fn poll_timeout(&mut self) -> Option<Instant> {
        self.table.next_deadline()
    }

    /// Does everything that is due at `now`. Afterwards [`Endpoint::poll_timeout`] lies in the future.
    // R-ERR-3
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(id) = self.table.due(now) {
            self.with(now, id, |conn, cx| conn.handle_timeout(cx));
        }
    }

    /// The next event of any connection.
    pub fn poll_event(&mut self) -> Option<Event> {
        while let Some(id) = self.table.first_eventful() {
            if let Some(kind) = self.table.get_mut(id).and_then(Connection::poll_event) {
                return Some(Event { conn: id, kind });
            }
            self.table.settle_eventful();
            self.reap(id);
        }
        None
    }

    /// Forgets a connection that has nothing left to say, and the keys of paths that it dropped.
    fn reap(&mut self, id: ConnId) {
        let Some(conn) = self.table.get(id) else { return };
        if !conn.is_drained() {
            return;
        }
        self.release(id);
    }

    fn release(&mut self, id: ConnId) {
        let Some(conn) = self.table.remove(id) else { return };
        let (local_port, remote_port) = conn.ports();
        for (index, addr) in conn.path_addrs() {
            let key = Key { addr, local_port, remote_port };
            if self.table.find(&key) == Some((id, index)) {
                self.table.unbind(&key);
            }
        }
        if let Some(list) = self.by_ports.get_mut(&(local_port, remote_port)) {
            list.retain(|other| *other != id);
            if list.is_empty() {
                self.by_ports.remove(&(local_port, remote_port));
            }
        }
        if let Some(token) = conn.multi().filter(|_| conn.role() == Role::Responder).map(Multi::token) {
            self.tokens.remove(&token);
        }
    }

    /// Counters of the endpoint.
    #[must_use]
    pub fn stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// Connections that exist at present.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// The next message without a connection that came to the connectionless `port`.
    pub fn recv_datagram(&mut self, port: u16) -> Option<Datagram> {
        self.listeners.get_mut(&port)?.datagrams.pop_front()
    }

    /// Bytes that a peer without state gets back, if the budget allows.
    fn answer(&mut self, now: Instant, kind: Answer, path: PathAddr, bytes: Vec<u8>) -> bool {
        if !self.budgets.take(now, kind) {
            return false;
        }
        let queue = if kind == Answer::SynAck { &mut self.syn_acks } else { &mut self.stateless };
        queue.push_back(Stateless { path, bytes });
        true
    }

    /// The network says that a packet of ours could not be delivered to `remote`; `datagram` is its beginning.
    ///
    /// Anybody could say so, therefore it only shortens the wait of a connection that nobody has answered yet.
    // R-CM-4
    pub fn unreachable(&mut self, now: Instant, remote: SocketAddr, datagram: &[u8]) {
        let Some([a, b, c, d]) = datagram.get(8..12).and_then(|ports| ports.first_chunk()).copied() else {
            return;
        };
        let ports = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        for id in self.by_ports.get(&ports).cloned().unwrap_or_default() {
            self.with(now, id, |conn, _| conn.note_unreachable(remote));
        }
    }

    /// A cookie with which `client` may open connections with data, to be handed over by other means than a handshake.
    #[must_use]
    pub fn cookie_for(&self, now: Instant, client: IpAddr) -> Option<Cookie> {
        self.jar.grant(now, client)
    }

    /// Keeps a cookie for the next opportunistic connections to `server`; handshakes keep theirs by themselves.
    pub fn remember_cookie(&mut self, server: SocketAddr, cookie: Cookie) {
        self.cookies.put(server, cookie);
    }

    /// The inside of a connection.
    #[cfg(test)]
    pub(crate) fn inside(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.table.get_mut(id)
    }
}
