//! One connection: the services of its composition around a set of paths.

mod ack_in;
mod application;
mod assembler;
mod cause;
mod close;
mod data_in;
mod failover;
mod fec;
pub(crate) mod handshake;
mod headers;
mod input;
mod joins;
pub(crate) mod moving;
pub(crate) mod multipath;
mod out_ack;
mod out_data;
mod out_handshake;
mod output;
mod pacer;
pub(crate) mod path;
mod protection;
mod receiver;
mod sender;
pub(crate) mod shape;
pub(crate) mod sizes;
mod timers;

pub use assembler::Message;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use rand_chacha::ChaCha12Rng;

use crate::arena::Arena;
use crate::cc::Controller;
use crate::endpoint::Share;
use crate::event::{CloseReason, ConnId, EventKind};
use crate::log::{LogEvent, Observer};
use crate::path::{PathAddr, PathId};
use crate::profile::{Composition, Management, Ordering};
use crate::protected::Seal;
use crate::stats::{ConnStats, PathStats};
use crate::time::Instant;
use crate::wire::{Cookie, PseudoHeader};
use assembler::Assembler;
use multipath::Multi;
use path::{Path, Stage, Timer};
use shape::Shape;

/// Events that wait to be polled, at most; further news of paths and losses are counted and dropped.
const MAX_EVENTS: usize = 64;
/// Outer MTU that received messages are budgeted with, in bytes.
const BUDGET_BYTES_PER_PACKET: usize = 1500;

/// What a connection needs from its endpoint while it works.
pub(crate) struct Cx<'a> {
    pub now: Instant,
    pub id: ConnId,
    pub rng: &'a mut ChaCha12Rng,
    pub arena: &'a mut Arena,
    /// Where sealed packets are opened.
    pub scratch: &'a mut Vec<u8>,
    pub observer: &'a mut Option<Box<dyn Observer + Send>>,
    pub horizon: Duration,
    /// Builds the pseudo-header of a packet of a given length, over raw IP.
    pub pseudo: fn(&PathAddr) -> Option<PseudoHeader>,
}

impl Cx<'_> {
    pub fn log(&mut self, event: LogEvent) {
        if let Some(observer) = self.observer {
            observer.event(self.now, self.id, &event);
        }
    }
}

/// Which side opened the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Initiator,
    Responder,
}

/// How far the connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waiting for a cookie; nothing is open yet.
    CookieRequest,
    Handshake,
    Established,
    Closed,
}

/// A message, or a piece of the stream, that has not been numbered yet.
#[derive(Debug)]
struct Queued {
    payload: Bytes,
    push: bool,
    deadline: Instant,
}

/// What became of our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LocalFin {
    Open,
    /// `close` was called; the FIN follows the queued data.
    Wanted,
    Sent,
    Acked,
}

/// A connection.
pub(crate) struct Connection {
    composition: Composition,
    shape: Shape,
    role: Role,
    phase: Phase,
    paths: Vec<Path>,
    /// Path in use in hot standby, first choice in overflow, next in turn when spreading.
    active: usize,
    queue: VecDeque<Queued>,
    queue_bytes: usize,
    /// Number of the next new message.
    next_data: u64,
    /// First message number that the peer has not granted.
    flow_limit: u64,
    /// Send one packet although the peer grants none.
    window_probe: bool,
    local_fin: LocalFin,
    /// Message number of the peer's FIN.
    remote_fin: Option<u64>,
    remote_finished: bool,
    /// We closed first, so that we keep the memory of the connection (answer D12).
    closed_first: bool,
    farewell_said: bool,
    assembler: Assembler,
    /// The receiving half of the wait for a hole, as the application set it.
    hold: Duration,
    ack_every: u32,
    configured_cause: crate::profile::LossCause,
    reported_cause: crate::profile::LossCause,
    multi: Option<Box<Multi>>,
    cookie: Option<Cookie>,
    cookie_refreshes: u32,
    ecn_agreed: bool,
    link_rate_pps: Option<f64>,
    events: VecDeque<EventKind>,
    readable_told: bool,
    wants_writable: bool,
    abandoned_untold: u64,
    idle_at: Instant,
    keepalive_at: Instant,
    hole_at: Instant,
    data_fin_at: Instant,
    data_fin_tries: u32,
    /// The path by which the end of the data left.
    data_fin_path: usize,
    challenge_at: Instant,
    reset: Option<usize>,
    /// What the application says in it.
    reset_code: Option<u32>,
    stats: ConnStats,
    seal: Option<Box<Seal>>,
    /// The application has heard of the connection; the responder of a protected handshake waits for proof first.
    announced: bool,
}

impl Connection {
    fn new(composition: Composition, role: Role, ports: (u16, u16), path: Path, now: Instant) -> Self {
        let profile = composition.profile();
        let t = &profile.tuning;
        let connected = profile.management != Management::Connectionless;
        let limit_bytes =
            t.receive_window_packets as usize * t.longest_packet_bytes().max(BUDGET_BYTES_PER_PACKET);
        Self {
            shape: Shape::new(&composition, ports.0, ports.1),
            role,
            phase: Phase::Handshake,
            paths: vec![path],
            active: 0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            next_data: 0,
            flow_limit: u64::MAX,
            window_probe: false,
            local_fin: LocalFin::Open,
            remote_fin: None,
            remote_finished: false,
            closed_first: false,
            farewell_said: false,
            assembler: Assembler::new(profile.ordering, t.receive_window_packets, limit_bytes),
            hold: t.hold,
            ack_every: t.ack_every,
            configured_cause: profile.loss_cause,
            reported_cause: crate::profile::LossCause::Congestion,
            multi: None,
            cookie: None,
            cookie_refreshes: 0,
            ecn_agreed: false,
            link_rate_pps: None,
            events: VecDeque::new(),
            readable_told: false,
            wants_writable: false,
            abandoned_untold: 0,
            // Without a connection nobody answers, so silence says nothing.
            idle_at: t.idle_timeout.filter(|_| connected).map_or(Instant::FAR_FUTURE, |after| now + after),
            keepalive_at: t.keepalive.filter(|_| connected).map_or(Instant::FAR_FUTURE, |after| now + after),
            hole_at: Instant::FAR_FUTURE,
            data_fin_at: Instant::FAR_FUTURE,
            data_fin_tries: 0,
            data_fin_path: 0,
            challenge_at: Instant::ZERO,
            reset: None,
            reset_code: None,
            stats: ConnStats::default(),
            seal: None,
            announced: true,
            composition,
        }
    }

    pub fn composition(&self) -> &Composition {
        &self.composition
    }

    pub fn role(&self) -> Role {
        self.role
    }

    pub fn ports(&self) -> (u16, u16) {
        (self.shape.header.source_port, self.shape.header.destination_port)
    }

    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub fn is_established(&self) -> bool {
        self.phase == Phase::Established
    }

    /// A responder that waits for the first acknowledgement counts against limits.
    pub fn half_open(&self) -> Option<Share> {
        let path = &self.paths[0];
        let waits = self.role == Role::Responder && self.phase == Phase::Handshake;
        waits.then(|| Share { address: path.addr.remote.ip(), proven: path.allowance_bytes.is_none() })
    }

    /// Nothing is left to be read or told.
    pub fn is_drained(&self) -> bool {
        self.is_closed() && self.events.is_empty() && !self.assembler.has_ready() && self.reset.is_none()
    }

    pub fn stats(&self) -> &ConnStats {
        &self.stats
    }

    pub fn path_addrs(&self) -> impl Iterator<Item = (usize, PathAddr)> {
        self.paths.iter().enumerate().map(|(index, path)| (index, path.addr))
    }

    /// True if path `index` is alive and has this address.
    pub fn owns(&self, index: usize, addr: &PathAddr) -> bool {
        self.paths.get(index).is_some_and(|path| path.addr == *addr && path.stage != Stage::Closed)
            || self.phase == Phase::Closed
    }

    pub fn agree_ecn(&mut self, agreed: bool) {
        self.ecn_agreed = agreed;
    }

    pub fn path_stats(&self) -> Vec<(PathId, PathStats)> {
        let base_bytes = self.composition.profile().tuning.max_packet_bytes;
        let describe = |path: &Path| PathStats {
            addr: path.addr,
            usable: path.is_usable(),
            backup: path.backup,
            srtt: path.rtt.measured(),
            rttvar: path.rtt.variation(),
            min_rtt: path.rtt.measured().map(|_| path.rtt.min()),
            rto: path.rtt.rto(),
            window_packets: path.cc.window(),
            slow_start_threshold_packets: path.cc.slow_start_threshold(),
            pacing_rate_pps: self.pacing_rate_pps(path),
            in_flight_packets: path.tx.in_flight(),
            delivered_bytes: path.tx.delivered_bytes(),
            cause: path.cause(self.configured_cause),
            outage: path.outage.is_some(),
            packet_bytes: path.sizes.as_ref().map_or(base_bytes, |sizes| sizes.carried_bytes()),
        };
        self.paths
            .iter()
            .filter(|path| path.stage != Stage::Closed)
            .map(|path| (path.id, describe(path)))
            .collect()
    }

    /// Queues an event. What the application waits for is never dropped: it is queued once, however often it is told.
    fn tell(&mut self, event: EventKind) {
        let repeatable = matches!(
            event,
            EventKind::PathUp(_)
                | EventKind::PathDown(_)
                | EventKind::CauseChanged(_)
                | EventKind::Abandoned { .. }
        );
        if repeatable && self.events.len() >= MAX_EVENTS {
            self.stats.events_dropped += 1;
        } else if repeatable || !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }

    fn tell_readable(&mut self) {
        if !self.readable_told {
            self.readable_told = true;
            self.tell(EventKind::Readable);
        }
    }

    // R-PROT-11
    pub fn poll_event(&mut self) -> Option<EventKind> {
        if !self.announced {
            return None;
        }
        let event = self.events.pop_front();
        if event.is_none() {
            // An idle connection keeps no memory.
            self.events = VecDeque::new();
        }
        event
    }

    /// Tells the application of a connection that a peer opened, before everything else.
    fn announce(&mut self) {
        self.announced = true;
        self.events.push_front(EventKind::Accepted { port: self.ports().0 });
    }

    fn note_cause(&mut self) {
        let cause = self.paths[self.main_path()].cause(self.configured_cause);
        if cause != self.reported_cause {
            self.reported_cause = cause;
            self.tell(EventKind::CauseChanged(cause));
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_>, reason: CloseReason) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        for path in &mut self.paths {
            path.stop_all();
            path.stage = Stage::Closed;
        }
        self.queue.clear();
        self.queue_bytes = 0;
        self.idle_at = Instant::FAR_FUTURE;
        self.keepalive_at = Instant::FAR_FUTURE;
        self.hole_at = Instant::FAR_FUTURE;
        self.data_fin_at = Instant::FAR_FUTURE;
        if !self.announced {
            // Nobody has heard of it, so nobody needs to hear of its end.
            self.events.clear();
            cx.log(LogEvent::Closed { reason });
            return;
        }
        // The last event must not be lost, whatever the queue holds.
        self.events.push_back(EventKind::Closed(reason));
        cx.log(LogEvent::Closed { reason });
    }

    // R-OPT-8
    fn is_early(&self) -> bool {
        self.phase != Phase::Established && self.composition.profile().management == Management::Opportunistic
    }

    fn established_paths(&self) -> u8 {
        self.paths.iter().filter(|path| path.stage == Stage::Established).count().min(15) as u8
    }

    /// The path for what concerns the whole connection: the one in use, or the first that is open.
    fn main_path(&self) -> usize {
        if self.paths[self.active].is_open() {
            return self.active;
        }
        self.paths.iter().position(Path::is_open).unwrap_or(self.active)
    }

    fn ack_delay(&self) -> Duration {
        self.composition.profile().tuning.ack_delay
    }

    /// The earliest moment at which `handle_timeout` has something to do.
    pub fn deadline(&self) -> Instant {
        self.paths
            .iter()
            .map(Path::deadline)
            .chain([self.idle_at, self.keepalive_at, self.hole_at, self.data_fin_at])
            .min()
            .unwrap_or(Instant::FAR_FUTURE)
    }

    /// Starts the wait for the oldest hole.
    fn arm_hole_timer(&mut self) {
        let profile = self.composition.profile();
        self.hole_at = match self.assembler.hole_since() {
            None => Instant::FAR_FUTURE,
            Some(since) if !profile.reliability.retransmits() => since + self.hole_patience(),
            // Only news for the application: it decides when to ask.
            Some(since) if profile.ordering == Ordering::Partial && !self.readable_told => since + self.hold,
            Some(_) => Instant::FAR_FUTURE,
        };
    }

    /// How long a receiver without retransmission waits for a hole: reordering, or the encoded packet, may fill it.
    fn hole_patience(&self) -> Duration {
        let profile = self.composition.profile();
        let base = self.hold.max(self.ack_delay());
        if profile.reliability.fec().is_none() {
            return base;
        }
        let rtt = self.paths.iter().map(|path| path.rtt.smoothed()).max().unwrap_or_default();
        base.max(rtt / profile.tuning.fec_timer_divisor * 2)
    }

    fn timer_or_now(path: &mut Path, timer: Timer, at: Instant) {
        if !path.is_running(timer) {
            path.set(timer, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_application_waits_for_is_told_however_much_else_there_is_to_tell() {
        let composition = crate::Profile::file_arq().validate().unwrap();
        let mut endpoint = crate::Endpoint::new(crate::EndpointConfig::default(), [1; 32]);
        let path = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 0, 2], 1).into() };
        let id = endpoint.connect(Instant::ZERO, path, 9, 7, &composition).unwrap();
        let conn = endpoint.inside(id).unwrap();
        for round in 0..200 {
            conn.tell(EventKind::PathDown(PathId(round)));
            conn.tell(EventKind::Readable);
        }
        conn.tell(EventKind::Writable);
        conn.tell(EventKind::Finished);
        assert!(conn.events.len() <= MAX_EVENTS + 3 && conn.stats.events_dropped > 0);
        let told: Vec<EventKind> =
            std::iter::from_fn(|| endpoint.poll_event()).map(|event| event.kind).collect();
        for (event, times) in [(EventKind::Readable, 1), (EventKind::Writable, 1), (EventKind::Finished, 1)] {
            assert_eq!(told.iter().filter(|kind| **kind == event).count(), times, "{event:?}");
        }
    }

    // What an idle connection holds besides these two is empty; the memory test of the crate restp counts all of it.
    #[test]
    fn an_idle_connection_is_small() {
        let bytes = size_of::<Connection>() + size_of::<Path>();
        assert!(bytes < 1800, "{bytes}");
    }
}
