//! One connection: the services of its composition around a set of paths.

mod ack_in;
mod application;
mod assembler;
mod cause;
mod close;
mod closing;
mod copies;
mod data_in;
mod data_level;
mod failover;
mod fec;
pub(crate) mod handshake;
mod headers;
mod input;
mod joins;
pub(crate) mod moving;
pub(crate) mod multipath;
mod negotiation;
mod notices;
mod out_ack;
mod out_data;
mod out_handshake;
mod outbox;
mod output;
mod pacer;
pub(crate) mod path;
mod path_set;
mod proof;
mod protection;
mod receiver;
mod sender;
pub(crate) mod shape;
mod silence;
mod size_search;
pub(crate) mod sizes;
mod stream_calls;
mod streams;
mod timers;

pub use assembler::Message;
pub(crate) use streams::Streams;

use std::time::Duration;

use rand_chacha::ChaCha12Rng;

use crate::arena::Arena;
use crate::endpoint::Share;
use crate::event::{CloseReason, ConnId, EventKind};
use crate::log::{LogEvent, Observer};
use crate::path::{PathAddr, PathId};
use crate::profile::{Composition, Management, Ordering};
use crate::protected::Seal;
use crate::stats::{ConnStats, PathStats};
use crate::time::Instant;
use crate::wire::PseudoHeader;
use assembler::{Assembler, HoleWait};
use cause::Cause;
use closing::{Closing, LocalFin};
use multipath::Multi;
use negotiation::Negotiation;
use notices::Notices;
use outbox::Outbox;
use path::{Path, Stage};
use path_set::PathSet;
use shape::Shape;
use silence::Silence;

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

/// A connection.
pub(crate) struct Connection {
    composition: Composition,
    shape: Shape,
    role: Role,
    phase: Phase,
    paths: PathSet,
    multi: Option<Box<Multi>>,
    seal: Option<Box<Seal>>,
    negotiation: Negotiation,
    outbox: Outbox,
    assembler: Assembler,
    /// Between the two and the application, where the connection carries streams.
    streams: Option<Box<Streams>>,
    hole: HoleWait,
    ack_every: u32,
    cause: Cause,
    link_rate_pps: Option<f64>,
    silence: Silence,
    closing: Closing,
    notices: Notices,
    stats: ConnStats,
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
            paths: PathSet::new(path),
            multi: None,
            seal: None,
            negotiation: Negotiation::default(),
            outbox: Outbox::new(),
            assembler: Assembler::new(profile.ordering, t.receive_window_packets, limit_bytes),
            streams: (profile.ordering == Ordering::Streams)
                .then(|| Box::new(Streams::new(role == Role::Responder, t))),
            hole: HoleWait { patience: t.hold, at: Instant::FAR_FUTURE },
            ack_every: t.ack_every,
            cause: Cause::new(profile.loss_cause),
            link_rate_pps: None,
            silence: Silence::new(now, t, connected),
            closing: Closing::new(),
            notices: Notices::new(),
            stats: ConnStats::default(),
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
        let unread = self.streams.as_ref().is_some_and(|streams| streams.has_unread());
        !unread
            && self.is_closed()
            && self.notices.is_empty()
            && !self.assembler.has_ready()
            && self.closing.reset.is_none()
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
        self.negotiation.ecn = agreed;
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
            window_packets: path.rate.window(),
            slow_start_threshold_packets: path.rate.slow_start_threshold(),
            pacing_rate_pps: self.pacing_rate_pps(path),
            in_flight_packets: path.tx.in_flight(),
            delivered_bytes: path.tx.delivered_bytes(),
            cause: path.cause(self.cause.configured),
            outage: path.outage.is_some(),
            packet_bytes: path.sizes.as_ref().map_or(base_bytes, |sizes| sizes.carried_bytes()),
        };
        self.paths.live().map(|path| (path.id, describe(path))).collect()
    }

    /// Queues an event, or counts it where there is no room.
    fn tell(&mut self, event: EventKind) {
        self.stats.events_dropped += u64::from(!self.notices.tell(event));
    }

    fn tell_readable(&mut self) {
        // Payloads with frames go to their streams at once.
        if !self.notices.readable_told && self.streams.is_none() {
            self.notices.readable_told = true;
            self.tell(EventKind::Readable);
        }
    }

    pub fn poll_event(&mut self) -> Option<EventKind> {
        self.notices.poll()
    }

    /// Tells the application of a connection that a peer opened, before everything else.
    fn announce(&mut self) {
        self.notices.announce(self.ports().0);
    }

    fn note_cause(&mut self) {
        let cause = self.paths[self.paths.main()].cause(self.cause.configured);
        if self.cause.is_news(cause) {
            self.tell(EventKind::CauseChanged(cause));
        }
    }

    fn finish(&mut self, cx: &mut Cx<'_>, reason: CloseReason) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        for path in self.paths.iter_mut() {
            path.timers.stop_all();
            path.stage = Stage::Closed;
        }
        self.outbox.clear();
        self.silence.stop();
        self.hole.at = Instant::FAR_FUTURE;
        self.closing.data_fin.at = Instant::FAR_FUTURE;
        self.notices.end(EventKind::Closed(reason));
        cx.log(LogEvent::Closed { reason });
    }

    // R-OPT-8
    fn is_early(&self) -> bool {
        self.phase != Phase::Established && self.composition.profile().management == Management::Opportunistic
    }

    fn ack_delay(&self) -> Duration {
        self.composition.profile().tuning.ack_delay
    }

    #[cfg(test)]
    pub fn set_deadline(&mut self, at: Instant) {
        self.paths[0].timers.set(path::Timer::Pace, at);
    }

    /// The earliest moment at which `handle_timeout` has something to do.
    pub fn deadline(&self) -> Instant {
        self.paths
            .iter()
            .map(|path| path.timers.deadline())
            .chain([self.silence.idle_at, self.silence.keepalive_at, self.hole.at, self.closing.data_fin.at])
            .min()
            .unwrap_or(Instant::FAR_FUTURE)
    }

    /// Starts the wait for the oldest hole.
    fn arm_hole_timer(&mut self) {
        let profile = self.composition.profile();
        self.hole.at = match self.assembler.hole_since() {
            None => Instant::FAR_FUTURE,
            Some(since) if !profile.reliability.retransmits() => since + self.hole_patience(),
            // Only news for the application: it decides when to ask.
            Some(since) if profile.ordering == Ordering::Partial && !self.notices.readable_told => {
                since + self.hole.patience
            }
            Some(_) => Instant::FAR_FUTURE,
        };
    }

    /// How long a receiver without retransmission waits for a hole: reordering, or the encoded packet, may fill it.
    fn hole_patience(&self) -> Duration {
        let profile = self.composition.profile();
        let base = self.hole.patience.max(self.ack_delay());
        if profile.reliability.fec().is_none() {
            return base;
        }
        let rtt = self.paths.iter().map(|path| path.rtt.smoothed()).max().unwrap_or_default();
        base.max(rtt / profile.tuning.fec_timer_divisor * 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-SEC-2
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
        assert!(conn.notices.len() <= Notices::MOST + 3 && conn.stats.events_dropped > 0);
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
        assert!(bytes < 1820, "{bytes}");
    }
}
