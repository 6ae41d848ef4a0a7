//! Packets out: what leaves next, on which path, when, and onto the wire.

use super::path::{Path, Stage, Timer};
use super::{Connection, Cx, LocalFin, Phase};
use crate::log::LogEvent;
use crate::path::{Ecn, PathAddr, Transmit};
use crate::profile::{Congestion, Management};
use crate::time::Instant;
use crate::wire::{ErrorBits, Flags, Packet, PseudoHeader};

/// The number that a packet without payload carries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AckNumber {
    /// The next one to be used.
    Next,
    /// The one before, so that the peer must answer.
    Previous,
    /// The first one: the third packet of a handshake, from which a responder without state finds the initial number.
    First,
}

/// What kind of packet leaves.
#[derive(Clone, Copy)]
pub(super) struct Outgoing {
    pub index: usize,
    pub ecn: Ecn,
    pub retransmission: bool,
}

impl Connection {
    /// Appends the next packets for one path to `out`, at most `max_segments` and all but the last of the same length.
    pub fn poll_transmit(
        &mut self,
        cx: &mut Cx<'_>,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some(index) = self.closing.reset.take() {
            return self.send_reset(cx, index, out);
        }
        if self.phase == Phase::Closed {
            return None;
        }
        for index in 0..self.paths.len() {
            if let Some(transmit) = self.poll_control(cx, index, out) {
                return Some(transmit);
            }
        }
        if self.may_send_data() || self.phase == Phase::Established {
            for index in 0..self.paths.len() {
                if let Some(transmit) = self.poll_repeats(cx, index, max_segments, out) {
                    return Some(transmit);
                }
            }
            if self.may_send_new()
                && let Some(transmit) = self.poll_new(cx, max_segments, out)
            {
                return Some(transmit);
            }
        }
        for index in 0..self.paths.len() {
            if let Some(transmit) = self.poll_ack(cx, index, out) {
                return Some(transmit);
            }
        }
        self.watch_standby(cx.now);
        self.check_closed(cx);
        None
    }

    /// Repetitions, encoded packets and the FIN of path `index`.
    pub(super) fn poll_repeats(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let path = &self.paths[index];
        if !path.carries_data() || path.outage.is_some() {
            return None;
        }
        let encoded = path.has_encoded();
        let gives_way = self.encoded_gives_way();
        if encoded && !gives_way {
            return self.send_encoded(cx, index, cx.now, out);
        }
        if self.retransmittable(cx.now, index).is_some() && self.paths[index].has_room() {
            let release_at = self.pace(cx, index)?;
            return self.send_batch(
                cx,
                index,
                release_at,
                max_segments,
                out,
                |conn, cx, index, room, out| conn.send_retransmission(cx, index, room, out),
            );
        }
        if let Some(fin) = self.fin_packet(index) {
            return self.send_fin(cx, index, fin, out);
        }
        // R-HARQ-4
        if encoded && gives_way && !self.more_follows() {
            self.paths[index].forget_useless_encoded();
            if !self.paths[index].has_encoded() {
                return None;
            }
            let release_at = self.pace(cx, index)?;
            return self.send_encoded(cx, index, release_at, out);
        }
        None
    }

    /// The next packet of path `index` that is worth repeating.
    pub(super) fn retransmittable(&mut self, now: Instant, index: usize) -> Option<u64> {
        // On several paths nobody would tell the peer that it need not wait for the number on this one.
        let repeats_all = self.multi.is_some();
        let path = &mut self.paths[index];
        let mut abandoned = 0;
        let found = loop {
            let Some(number) = path.tx.next_lost() else { break None };
            // Answer F6: what comes too late is not repeated. R-ARQ-7
            if !repeats_all && path.tx.get(number).is_some_and(|sent| now > sent.deadline) {
                path.tx.abandon(number);
                abandoned += 1;
                continue;
            }
            break Some(number);
        };
        self.stats.abandoned += abandoned;
        found
    }

    /// New and re-injected messages, on the path that the scheduler picks.
    pub(super) fn poll_new(
        &mut self,
        cx: &mut Cx<'_>,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.clean_reinjections();
        self.fill_from_streams();
        let copies = self.sends_copies();
        if copies && let Some(transmit) = self.poll_copies(cx, max_segments, out) {
            return Some(transmit);
        }
        if !self.has_new() {
            if self.closing.local == LocalFin::Wanted && self.multi.is_some() && self.wants_fin() {
                return self.send_data_fin(cx, out);
            }
            if self.closing.local == LocalFin::Wanted && !self.connected() && self.outbox.is_empty() {
                self.finish(cx, crate::event::CloseReason::Graceful);
            }
            self.await_window(cx.now);
            return None;
        }
        if copies {
            return None;
        }
        let horizon = cx.now + cx.horizon;
        let acknowledges = self.composition.acknowledges();
        let paced = |path: &Path| !path.rate.pacer.is_held() || path.rate.pacer.release_at(cx.now) <= horizon;
        let ready = |path: &Path| (!acknowledges || path.has_room()) && paced(path);
        let index = match self.pick_path(|path| ready(path)) {
            Some(index) => index,
            None => {
                let index = self.pick_path(|path| !acknowledges || path.has_room())?;
                self.pace(cx, index);
                return None;
            }
        };
        let release_at = self.pace(cx, index)?;
        let transmit =
            self.send_batch(cx, index, release_at, max_segments, out, |conn, cx, index, room, out| {
                conn.send_next(cx, index, room, out)
            });
        if transmit.is_some() {
            self.turn_wheel(index);
        }
        transmit
    }

    /// The peer grants nothing and nothing is under way that would bring news: probe after a while (answer J6).
    // R-FC-3
    pub(super) fn await_window(&mut self, now: Instant) {
        let index = self.paths.main();
        let path = &mut self.paths[index];
        let blocked = self.outbox.is_blocked() && path.stage == Stage::Established;
        if blocked && path.tx.is_empty() && !path.timers.is_running(Timer::Retransmit) {
            path.timers.set(Timer::Retransmit, now + path.rtt.rto());
        }
    }

    pub(super) fn connected(&self) -> bool {
        self.composition.profile().management != Management::Connectionless
    }

    pub(super) fn clean_reinjections(&mut self) {
        let Some(multi) = &mut self.multi else { return };
        while multi.reinject.front().is_some_and(|data| *data < multi.data_first) {
            multi.reinject.pop_front();
        }
    }

    /// A message waits, and the peer grants it.
    pub(super) fn has_new(&self) -> bool {
        let reinject = self.multi.as_ref().is_some_and(|multi| !multi.reinject.is_empty());
        reinject || (!self.outbox.is_empty() && self.outbox.may_number() && self.early_limit())
    }

    /// Early data without numbers cannot be told apart, so only the first packet, which is numbered, may leave.
    pub(super) fn early_limit(&self) -> bool {
        self.phase == Phase::Established || self.outbox.next() == 0 || self.numbered(Flags::empty())
    }

    /// Data packets with `flags` carry a number.
    pub(super) fn numbered(&self, flags: Flags) -> bool {
        let header = &self.shape.header;
        header.error.intersects(ErrorBits::ARQ | ErrorBits::FEC)
            || flags.intersects(Flags::CONTROL)
            || header.order != crate::wire::Order::None
            || header.cong.value() != 0
            || self.multi.is_some()
    }

    /// When a packet may leave path `index`; `None` starts the timer that will let it go.
    pub(super) fn pace(&mut self, cx: &Cx<'_>, index: usize) -> Option<Instant> {
        let tuning_paces = self.composition.profile().tuning.pacing;
        let path = &mut self.paths[index];
        if !tuning_paces && !path.rate.pacer.is_held() && self.link_rate_pps.is_none() {
            return Some(cx.now);
        }
        let release_at = path.rate.pacer.release_at(cx.now);
        if release_at > cx.now + cx.horizon {
            path.timers.set(Timer::Pace, release_at);
            return None;
        }
        Some(release_at)
    }

    pub(super) fn spend(&mut self, now: Instant, index: usize) {
        if let Some(rate) = self.pacing_rate_pps(&self.paths[index]) {
            self.paths[index].rate.pacer.spend(now, rate);
        }
    }

    /// Packets per second at which packets leave on a path; `None` where nothing paces them.
    pub(super) fn pacing_rate_pps(&self, path: &Path) -> Option<f64> {
        let tuning_paces = self.composition.profile().tuning.pacing;
        let own = if tuning_paces { path.rate.pacing_rate_pps(&path.rtt) } else { None };
        [own, path.rate.held_pps(&path.rtt), self.link_rate_pps].into_iter().flatten().reduce(f64::min)
    }

    /// Sends one packet and as many more of the same length as possible.
    pub(super) fn send_batch(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        release_at: Instant,
        max_segments: usize,
        out: &mut Vec<u8>,
        mut send: impl FnMut(&mut Self, &mut Cx<'_>, usize, usize, &mut Vec<u8>) -> Option<usize>,
    ) -> Option<Transmit> {
        let start = out.len();
        let segment_size = send(self, cx, index, usize::MAX, out)?;
        let mut segments = 1;
        let acknowledges = self.composition.acknowledges();
        while segments < max_segments {
            let path = &self.paths[index];
            let open = (!acknowledges || path.has_room())
                && path.rate.pacer.release_at(cx.now) <= cx.now + cx.horizon;
            if !open || (path.has_encoded() && !self.encoded_gives_way()) {
                break;
            }
            match send(self, cx, index, segment_size, out) {
                Some(length) => {
                    segments += 1;
                    if length < segment_size {
                        break;
                    }
                }
                None => break,
            }
        }
        self.ack_rode_along(cx.now, index);
        let ecn = self.data_ecn();
        let path = &self.paths[index];
        Some(Transmit { path: path.addr, ecn, size_bytes: out.len() - start, segment_size, release_at })
    }

    /// Data carried the cumulative number; only a report still needs a packet of its own.
    pub(super) fn ack_rode_along(&mut self, now: Instant, index: usize) {
        let path = &self.paths[index];
        let special =
            path.rx.has_hole() || path.ack.corruption || path.ack.fec_range.is_some() || path.wants.priority;
        if !special && self.composition.acknowledges() && path.stage == Stage::Established {
            self.acknowledged(now, index);
        }
    }

    // R-ENCAP-4, R-CC-7
    pub(super) fn data_ecn(&self) -> Ecn {
        if self.negotiation.ecn && self.composition.profile().congestion != Congestion::None {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    pub(super) fn emit(
        &mut self,
        cx: &mut Cx<'_>,
        what: Outgoing,
        packet: &Packet<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some(allowance) = &mut self.paths[what.index].allowance_bytes {
            // Answer D10. R-SEC-1, R-OPT-9
            let length = packet.encoded_len();
            if *allowance < length {
                return None;
            }
            *allowance -= length;
        }
        self.emit_to(cx, what, self.paths[what.index].addr, packet, out)
    }

    /// Writes a packet of a path for another address than the path's own.
    pub(super) fn emit_to(
        &mut self,
        cx: &mut Cx<'_>,
        what: Outgoing,
        addr: PathAddr,
        packet: &Packet<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let start = out.len();
        let pseudo = (cx.pseudo)(&addr);
        self.write(packet, self.paths[what.index].id.0, pseudo.as_ref(), out)?;
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += (out.len() - start) as u64;
        if cx.observer.is_some() {
            let event = LogEvent::PacketSent {
                path: self.paths[what.index].id.0,
                flags: packet.header.flags.bits(),
                seq: packet.sequence.number().unwrap_or(0),
                ack: Self::wire_ack(packet),
                payload_bytes: packet.payload.len(),
                retransmission: what.retransmission,
            };
            cx.log(event);
        }
        let size_bytes = out.len() - start;
        Some(Transmit { path: addr, ecn: what.ecn, size_bytes, segment_size: size_bytes, release_at: cx.now })
    }

    /// Encodes a packet of `subflow` and seals it if the connection is protected.
    pub(super) fn write(
        &mut self,
        packet: &Packet<'_>,
        subflow: u8,
        pseudo: Option<&PseudoHeader>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let start = out.len();
        let encode = |packet: &Packet<'_>, out: &mut Vec<u8>| match packet.encode(out, pseudo) {
            Ok(header_bytes) => Some(header_bytes),
            Err(error) => {
                debug_assert!(false, "a packet could not be written: {error}");
                None
            }
        };
        match self.seal.as_mut().filter(|_| packet.is_sealed()) {
            None => encode(packet, out).map(drop),
            Some(seal) => {
                let protection = seal.next_packet(subflow)?;
                let header_bytes = encode(&Packet { protection: Some(protection), ..*packet }, out)?;
                seal.seal(&protection, &mut out[start..], header_bytes)
            }
        }
    }

    /// A plain acknowledgement of everything that path `index` received, as bytes.
    pub(super) fn last_ack_bytes(
        &mut self,
        index: usize,
        pseudo: fn(&PathAddr) -> Option<PseudoHeader>,
    ) -> Option<Vec<u8>> {
        let packet = self.last_ack(index);
        let mut bytes = Vec::with_capacity(packet.encoded_len());
        let (subflow, addr) = (self.paths[index].id.0, self.paths[index].addr);
        self.write(&packet, subflow, pseudo(&addr).as_ref(), &mut bytes)?;
        Some(bytes)
    }
}
