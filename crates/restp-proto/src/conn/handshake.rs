//! The beginning of a connection: SYN, SYN-ACK, third acknowledgement, cookies.

use std::net::SocketAddr;

use super::multipath::Multi;
use super::path::{Path, Stage, Timer};
use super::shape::{Shape, agreed};
use super::{Connection, Cx, LocalFin, Phase, Role};
use crate::crypto;
use crate::event::{CloseReason, EventKind};
use crate::path::{PathAddr, PathId};
use crate::profile::{Composition, FecKind, FlowControl, JoinHash, Management};
use crate::protected::Seal;
use crate::seq;
use crate::time::Instant;
use crate::wire::{CapableFlags, Cookie, Flags, Flow, MpCapable, Multipath, Packet, Sequence};

/// Bytes that may be answered per byte received before an address is proven (answer D10).
pub(super) const AMPLIFICATION: usize = 3;

/// What a responder learns from the packet that opens a connection.
pub(crate) struct Opening {
    pub addr: PathAddr,
    /// Our port and the peer's.
    pub ports: (u16, u16),
    /// Our initial number and the peer's.
    pub isns: (u32, u32),
    /// What MP_CAPABLE told, if several paths were agreed.
    pub keys: Option<Keys>,
    /// Window of that packet.
    pub window: Option<u16>,
}

/// Why a SYN is answered with a reset: the number of that reset (specification, R-CM-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No listener, or no connection of that name.
    NothingHere = 0,
    /// The services asked for, or one that is missing.
    Services = 1,
    /// Too many paths or joins.
    Limit = 2,
    /// The keys of a protected handshake.
    Keys = 3,
}

/// What a responder knows of a connection over several paths.
pub(crate) struct Keys {
    pub own: u64,
    pub peer: u64,
    /// The initiator's offer.
    pub flags: CapableFlags,
}

/// How a responder knows that the peer's address is not forged.
pub(crate) enum Proof {
    /// It acknowledged our initial number.
    Acknowledged,
    /// It presented a valid cookie; a fresh one lifts the limit on what may be sent to it.
    Cookie { fresh: bool },
    /// It sent the first message of a protected handshake, which proves nothing about the address yet unless it came with
    /// a fresh cookie. It has until `until` to send the next.
    Protected { seal: Box<Seal>, fresh: bool, until: Instant },
}

impl Connection {
    /// Begins a connection to `addr`.
    pub fn connect(
        cx: &Cx<'_>,
        composition: Composition,
        addr: PathAddr,
        ports: (u16, u16),
        isn: u32,
        cookie: Option<Cookie>,
        local_key: u64,
    ) -> Self {
        let mut path = Path::new(PathId(0), addr, &composition, isn, cx.now);
        let management = composition.profile().management;
        path.wants.syn = management != Management::Connectionless;
        let mut conn = Self::new(composition, Role::Initiator, ports, path, cx.now);
        conn.phase = match management {
            Management::Connectionless => Phase::Established,
            Management::Opportunistic if cookie.is_none() => Phase::CookieRequest,
            _ => Phase::Handshake,
        };
        if management == Management::Connectionless {
            conn.paths[0].stage = Stage::Established;
            conn.paths[0].handshake.confirmed = true;
            conn.tell(EventKind::Connected);
        }
        conn.paths[0].handshake.early = cookie.is_some();
        conn.negotiation.cookie = cookie;
        if conn.composition.several_paths() {
            conn.multi = Some(Box::new(Multi::new(&conn.composition, local_key)));
        }
        conn
    }

    /// Takes a connection that a peer opened, after its address was proven.
    pub fn accept(cx: &Cx<'_>, composition: Composition, opening: Opening, proof: Proof) -> Self {
        let Opening { addr, ports, isns, keys, window } = opening;
        let mut path = Path::new(PathId(0), addr, &composition, isns.0, cx.now);
        path.peer_isn = isns.1;
        let multi = keys.map(|Keys { own, peer, flags }| {
            let mut multi = Multi::new(&composition, own);
            multi.learn(peer);
            multi.hear_flags(flags, &composition);
            Box::new(multi)
        });
        let acknowledged = matches!(proof, Proof::Acknowledged);
        let protected = matches!(proof, Proof::Protected { .. });
        let (mut seal, mut unproven_until) = (None, Instant::FAR_FUTURE);
        match proof {
            Proof::Protected { seal: handshake, fresh, until } => {
                path.stage = Stage::SynReceived;
                path.allowance_bytes = (!fresh).then_some(0);
                path.wants.syn_ack = true;
                seal = Some(handshake);
                unproven_until = until;
            }
            Proof::Acknowledged => {
                path.stage = Stage::Established;
                path.handshake.confirmed = true;
                if path.sizes.is_some() {
                    path.timers.set(Timer::Search, cx.now);
                }
                // The initiator repeats its acknowledgement until it hears from us.
                path.ack.now = true;
            }
            Proof::Cookie { fresh } => {
                path.stage = Stage::SynReceived;
                // The packet that opened the connection is credited when it is handled.
                path.allowance_bytes = (!fresh).then_some(0);
                path.wants.syn_ack = true;
            }
        }
        let mut conn = Self::new(composition, Role::Responder, ports, path, cx.now);
        conn.multi = multi;
        conn.seal = seal;
        // Only what is authentic moves it.
        conn.silence.idle_at = conn.silence.idle_at.min(unproven_until);
        if acknowledged {
            conn.phase = Phase::Established;
        }
        conn.notices.keep_secret();
        if !protected {
            conn.announce();
        }
        // The window of the first packet counts from our first message.
        conn.outbox.set_limit(window.map_or(u64::MAX, u64::from));
        conn
    }

    /// A packet for the first path while its SYN is unanswered. Returns a cookie to be remembered.
    pub(super) fn on_answer(&mut self, cx: &mut Cx<'_>, packet: &Packet<'_>) -> Option<Cookie> {
        let flags = packet.header.flags;
        let Sequence::Arq(arq) = packet.sequence else { return None };
        let path = &mut self.paths[0];
        let ack = seq::from_wire(path.local_isn, arq.acknowledgement, 1)?;
        // An answer that does not acknowledge our SYN is forged or old (RFC 5961).
        let proves = flags.contains(Flags::ACK) && ack >= 1 && ack <= path.tx.next();
        if !proves {
            self.stats.out_of_window += 1;
            // The peer still has an old connection: it must forget it first (RFC 9293 section 3.10.7.3).
            let stale = flags.contains(Flags::ACK) && !flags.intersects(Flags::RST | Flags::SYN);
            path.wants.refuse = stale.then_some(arq.acknowledgement);
            return None;
        }
        if flags.contains(Flags::RST) {
            let keys = self.seal.is_some() && arq.sequence == Refusal::Keys as u32;
            let reason = match arq.sequence {
                number if number == Refusal::NothingHere as u32 => CloseReason::NotListening,
                _ if keys => CloseReason::Unauthenticated,
                _ => CloseReason::Refused,
            };
            self.finish(cx, reason);
            return None;
        }
        if !flags.contains(Flags::SYN) {
            return None;
        }
        if packet.header.flow.contains(Flow::CKI) {
            return self.on_cookie(cx, packet);
        }
        if self.phase == Phase::CookieRequest {
            return None;
        }
        self.on_syn_ack(cx, packet, arq.sequence);
        None
    }

    // Answers D6 and D7. R-OPT-1, R-OPT-5
    fn on_cookie(&mut self, cx: &mut Cx<'_>, packet: &Packet<'_>) -> Option<Cookie> {
        let cookie = packet.cookie?;
        if !self.negotiation.refresh(cookie) {
            self.finish(cx, CloseReason::Refused);
            return None;
        }
        self.phase = Phase::Handshake;
        let path = &mut self.paths[0];
        path.wants.syn = true;
        if self.seal.is_some() {
            // The same first message again; nothing was sent early, and the cookie is for this connection only.
            return None;
        }
        path.handshake.early = true;
        path.handshake.begin_next();
        path.timers.stop(Timer::Handshake);
        // What was sent with the refused cookie was discarded; that says nothing about the network.
        path.tx.lose_all();
        path.timers.stop(Timer::Retransmit);
        path.timers.stop(Timer::Tail);
        Some(cookie)
    }

    fn on_syn_ack(&mut self, cx: &mut Cx<'_>, packet: &Packet<'_>, sequence: u32) {
        let Some(composition) = agreed(packet, &self.composition) else {
            self.abort_with(cx, CloseReason::Refused);
            return;
        };
        self.adopt(composition);
        // The first data packet doubles as SYN-ACK; its number is one past the initial one (answer D3).
        let peer_isn = if packet.payload.is_empty() { sequence } else { sequence.wrapping_sub(1) };
        if let Some(multi) = &mut self.multi {
            match packet.multipath {
                Some(Multipath::Capable(MpCapable::OneKey { flags, key })) if multi.accepts(flags) => {
                    multi.learn(key);
                    multi.hear_flags(flags, &self.composition);
                }
                _ => {
                    self.abort_with(cx, CloseReason::Refused);
                    return;
                }
            }
        }
        let profile = self.composition.profile();
        let ecn = profile.tuning.ecn
            && packet.header.flags.contains(Flags::ECE)
            && !packet.header.flags.contains(Flags::CWR);
        if profile.flow_control == FlowControl::Window {
            self.outbox.set_limit(0);
        }
        self.negotiation.ecn = ecn;
        let path = &mut self.paths[0];
        path.peer_isn = peer_isn;
        path.stage = Stage::Established;
        path.health.begin(cx.now);
        path.on_handshake_answer(cx.now, &profile.tuning);
        path.handshake.begin_next();
        path.timers.stop(Timer::Handshake);
        path.wants.confirm = true;
        self.phase = Phase::Established;
        self.tell(EventKind::Connected);
    }

    /// Goes over to what the responder accepts.
    fn adopt(&mut self, composition: Composition) {
        if composition == self.composition {
            return;
        }
        let ports = self.ports();
        self.shape = Shape::new(&composition, ports.0, ports.1);
        let profile = composition.profile();
        let t = &profile.tuning;
        let path = &mut self.paths[0];
        if !composition.several_paths() {
            self.multi = None;
        }
        if profile.congestion != self.composition.profile().congestion {
            path.rate.use_controller_of(profile);
        }
        path.tx.expect_bare_answers(profile.has_bare_answers());
        match profile.reliability.fec() {
            None => {
                path.encoder = None;
                path.decoder = None;
            }
            Some(kind) => {
                let most = if kind == FecKind::Interleaved { 8 } else { 16 };
                let encoder =
                    super::fec::Encoder::new(kind, t.fec_group.min(most), composition.several_paths());
                path.encoder = Some(Box::new(encoder));
            }
        }
        self.composition = composition;
    }

    /// The peer has shown that it holds state for path `index`.
    pub(super) fn confirm(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if path.handshake.confirmed {
            return;
        }
        path.handshake.confirmed = true;
        if let Some(seal) = &mut self.seal {
            seal.third = None;
        }
        path.allowance_bytes = None;
        path.wants.confirm = false;
        path.timers.stop(Timer::Handshake);
        if path.stage == Stage::SynReceived {
            path.stage = Stage::Established;
            path.wants.syn_ack = false;
            // The initiator repeats its acknowledgement until it hears from us.
            path.ack.now = true;
            path.on_handshake_answer(cx.now, &self.composition.profile().tuning);
        }
        let id = path.id;
        self.search_sizes(cx, index);
        if index == 0 {
            self.phase = Phase::Established;
            if !self.notices.is_announced() {
                self.announce();
            }
            if self.role == Role::Initiator && self.multi.is_some() {
                self.tell(EventKind::PathsAllowed);
            }
        } else {
            self.tell(EventKind::PathUp(id));
            self.rescue_frozen(cx);
        }
    }

    /// Bytes arrived on an unproven path: as many again, threefold, may be answered.
    // R-SEC-1
    pub(super) fn credit(&mut self, index: usize, bytes: usize) {
        if let Some(allowance) = &mut self.paths[index].allowance_bytes {
            *allowance = allowance.saturating_add(bytes * AMPLIFICATION);
        }
    }

    /// The network says that nothing arrives at `remote`: the next timer ends an attempt that nobody has answered.
    // R-CM-4
    pub fn note_unreachable(&mut self, remote: SocketAddr) {
        let path = &mut self.paths[0];
        path.handshake.unreachable |= path.stage == Stage::SynSent && path.addr.remote == remote;
    }

    /// The handshake timer of path `index` expired.
    pub(super) fn on_handshake_timer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let limit = self.composition.profile().tuning.max_handshake_tries;
        let path = &mut self.paths[index];
        let exhausted = path.handshake.tries() >= limit;
        match path.stage {
            Stage::SynSent if path.handshake.unreachable && index == 0 => {
                self.finish(cx, CloseReason::Unreachable)
            }
            Stage::SynSent | Stage::SynReceived if exhausted => {
                if index == 0 {
                    let forged = self.stats.unauthentic > 0;
                    let reason = if forged { CloseReason::Unauthenticated } else { CloseReason::TimedOut };
                    self.finish(cx, reason);
                } else {
                    self.drop_path(cx, index);
                }
            }
            Stage::SynSent => path.wants.syn = true,
            Stage::SynReceived => path.wants.syn_ack = true,
            // A third acknowledgement that is never answered is not fatal: data has its own timers.
            Stage::Established if !path.handshake.confirmed && !exhausted => path.wants.confirm = true,
            Stage::Established if !path.handshake.confirmed && index != 0 => self.drop_path(cx, index),
            Stage::Established | Stage::Closed => {}
        }
    }

    /// True if the application's data may be numbered and sent.
    // R-OPT-2
    pub(super) fn may_send_data(&self) -> bool {
        match self.phase {
            Phase::Established => true,
            // Early data: the client shows its cookie, the server has seen one.
            Phase::Handshake => {
                self.composition.profile().management == Management::Opportunistic
                    && (self.role == Role::Responder || self.negotiation.cookie.is_some())
            }
            Phase::CookieRequest | Phase::Closed => false,
        }
    }

    /// False while data that are the SYN wait for their answer.
    pub(super) fn may_send_new(&self) -> bool {
        let waits =
            self.role == Role::Initiator && self.phase == Phase::Handshake && self.paths[0].tx.next() > 1;
        self.composition.profile().tuning.syn_first || !waits
    }

    // R-CM-6, R-STR-12
    pub(super) fn wants_fin(&self) -> bool {
        self.closing.local == LocalFin::Wanted
            && self.nothing_waits()
            && self.phase == Phase::Established
            && self.connected()
    }
}

/// The hash for joins, if both ends know one (answer H3).
pub(crate) fn agreed_hash(composition: &Composition, offered: CapableFlags) -> Option<JoinHash> {
    let own = composition.profile().join_hash;
    offered.contains(crypto::capable_flags(own)).then_some(own)
}
