//! Packets out: what leaves next, on which path, and how its header looks.

use bytes::{Bytes, BytesMut};

use super::multipath::Stored;
use super::path::{Path, Stage, Timer};
use super::sender::Sent;
use super::shape::{fec_code, report_bits};
use super::{Connection, Cx, LocalFin, Phase, Role};
use crate::cc::Controller;
use crate::crypto;
use crate::log::LogEvent;
use crate::path::{Ecn, Transmit};
use crate::profile::{AckReport, Congestion, Framing, Management};
use crate::seq;
use crate::time::Instant;
use crate::wire::{
    Arq, BASE_WORDS, Dss, DssMapping, ErrorBits, Fec, Flags, Flow, JoinStep, MpCapable, MpJoin, MpPriority,
    Multipath, Packet, Report, STRICT_HEADER_WORDS, SackBlocks, Sequence, SnackBuilder, TAG_BYTES, Version,
    WORD_BYTES,
};

/// Most SACK blocks that a tuning may ask for.
const BLOCK_ROOM: usize = 64;
/// Words of SNACK vector: 256 packets beyond the first hole (answer F5).
const VECTOR_WORDS: usize = 8;
/// Packets that carry an acknowledgement although nobody needs one, so that the loss of the third acknowledgement of a
/// handshake does not cost a round trip.
const CONFIRMING_PACKETS: u64 = 16;

/// The number that a packet without payload carries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AckNumber {
    /// The next one to be used.
    Next,
    /// The one before, so that the peer must answer.
    Previous,
    /// The first one: the third packet of a handshake, from which a responder without state finds the initial number.
    First,
}

/// What kind of packet leaves.
#[derive(Clone, Copy)]
struct Outgoing {
    index: usize,
    ecn: Ecn,
    retransmission: bool,
}

impl Connection {
    /// Appends the next packets for one path to `out`, at most `max_segments` and all but the last of the same length.
    pub fn poll_transmit(
        &mut self,
        cx: &mut Cx<'_>,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if let Some(index) = self.reset.take() {
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
            if let Some(transmit) = self.poll_new(cx, max_segments, out) {
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

    // ---- control packets ----

    fn poll_control(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        let wants = self.paths[index].wants;
        if wants.syn {
            self.paths[index].wants.syn = false;
            return self.send_syn(cx, index, out);
        }
        if wants.syn_ack {
            self.paths[index].wants.syn_ack = false;
            return self.send_syn_ack(cx, index, out);
        }
        if wants.confirm {
            self.paths[index].wants.confirm = false;
            self.start_handshake_timer(cx.now, index);
            return self.send_ack(cx, index, AckNumber::First, out);
        }
        if wants.probe {
            let path = &mut self.paths[index];
            path.wants.probe = false;
            path.probe_sent_at = Some(cx.now);
            return self.send_ack(cx, index, AckNumber::Previous, out);
        }
        if wants.priority {
            self.paths[index].ack.now = true;
        }
        self.poll_resend(cx, index, out)
    }

    fn start_handshake_timer(&mut self, now: Instant, index: usize) {
        let t = &self.composition.profile().tuning;
        let (initial, max) = (t.initial_rto, t.max_rto);
        let path = &mut self.paths[index];
        let wait = initial.saturating_mul(1 << path.handshake_tries.min(16)).min(max);
        path.handshake_tries += 1;
        path.syn_sent_at = now;
        path.set(Timer::Handshake, now + wait);
    }

    fn send_syn(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        self.start_handshake_timer(cx.now, index);
        let mut packet = self.base(Flags::SYN);
        packet.sequence = Sequence::Arq(Arq { sequence: self.paths[index].local_isn, acknowledgement: 0 });
        let opportunistic = self.composition.profile().management == Management::Opportunistic;
        if opportunistic && index == 0 {
            match self.cookie {
                Some(cookie) => packet.cookie = Some(cookie),
                None => packet.header.flow |= Flow::CKI,
            }
        }
        if opportunistic && index != 0 {
            // Presence of a cookie follows from the bits alone; a join shows the one of its connection.
            packet.cookie = self.cookie;
        }
        if self.composition.profile().tuning.ecn && self.composition.profile().congestion != Congestion::None
        {
            packet.header.flags |= Flags::ECE | Flags::CWR;
        }
        packet.fec = self.offered_fec();
        packet.multipath = self.syn_multipath(index);
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    fn offered_fec(&self) -> Option<Fec> {
        self.composition.profile().reliability.fec().map(|kind| Fec { kind: fec_code(kind), range: 0 })
    }

    fn syn_multipath(&self, index: usize) -> Option<Multipath> {
        let multi = self.multi.as_ref()?;
        let path = &self.paths[index];
        match &path.join {
            None if self.phase == Phase::CookieRequest => None,
            None => Some(Multipath::Capable(MpCapable::OneKey {
                flags: crypto::capable_flags(multi.hash),
                key: multi.local_key,
            })),
            Some(join) => Some(Multipath::Join(MpJoin {
                backup: path.backup,
                address_id: path.id.0,
                step: JoinStep::Syn {
                    token: crypto::token(multi.hash, multi.peer_key?),
                    nonce: join.local_nonce,
                },
            })),
        }
    }

    fn send_syn_ack(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        self.start_handshake_timer(cx.now, index);
        let mut packet = self.base(Flags::SYN | Flags::ACK);
        let path = &self.paths[index];
        packet.sequence = Sequence::Arq(Arq {
            sequence: path.local_isn,
            acknowledgement: seq::to_wire(path.peer_isn, path.rx.next()),
        });
        packet.header.error |= report_bits(self.composition.profile().ack_report);
        packet.fec = self.offered_fec();
        packet.multipath = match (&self.multi, &path.join) {
            (Some(multi), None) => Some(Multipath::Capable(MpCapable::OneKey {
                flags: crypto::capable_flags(multi.hash),
                key: multi.local_key,
            })),
            (Some(_), Some(join)) => {
                let proof = self.join_proof(index)?;
                let mut mac = [0; 8];
                mac.copy_from_slice(&proof[..8]);
                let step = JoinStep::SynAck { mac, nonce: join.local_nonce };
                Some(Multipath::Join(MpJoin { backup: path.backup, address_id: path.id.0, step }))
            }
            (None, _) => None,
        };
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    fn send_reset(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = &self.paths[index];
        let knows_peer = path.confirmed || path.stage != Stage::SynSent;
        let mut packet = self.base(Flags::RST);
        if knows_peer {
            packet.header.flags |= Flags::ACK;
        }
        packet.sequence = Sequence::Arq(Arq {
            sequence: seq::to_wire(path.local_isn, path.tx.next()),
            acknowledgement: if knows_peer { seq::to_wire(path.peer_isn, path.rx.next()) } else { 0 },
        });
        packet.window = self.shape.window.then_some(0);
        if packet.header.error.contains(ErrorBits::FEC | ErrorBits::ARQ) && knows_peer {
            packet.fec = self.offered_fec();
        }
        if let Some(multi) = self.multi.as_ref().filter(|_| self.phase == Phase::Closed)
            && let Some(key) = multi.peer_key
        {
            // The peer's own key proves the right to end the whole connection (answer H6).
            packet.multipath =
                Some(Multipath::Capable(MpCapable::OneKey { flags: crypto::capable_flags(multi.hash), key }));
        }
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    fn poll_ack(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = &self.paths[index];
        if !path.ack.now || path.stage == Stage::SynSent || path.stage == Stage::Closed {
            return None;
        }
        self.send_ack(cx, index, AckNumber::Next, out)
    }

    /// A packet without payload.
    fn send_ack(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: AckNumber,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let strict = self.composition.profile().tuning.strict_header;
        let kind = self.composition.profile().ack_report;
        let blocks_wanted = self.composition.profile().tuning.max_sack_blocks.min(BLOCK_ROOM);
        let mut packet = self.last_ack(index);
        let path = &self.paths[index];
        if let Sequence::Arq(arq) = &mut packet.sequence {
            match number {
                AckNumber::Next => {}
                AckNumber::Previous => arq.sequence = arq.sequence.wrapping_sub(1),
                AckNumber::First => arq.sequence = seq::to_wire(path.local_isn, 1),
            }
        }
        let probe = number == AckNumber::Previous;
        packet.header.corruption_echo = path.ack.corruption && packet.header.error.contains(ErrorBits::CRC);
        if path.ack.echo || path.ack.echo_once {
            packet.header.flags |= Flags::ECE;
        }
        if let Some(fec) = &mut packet.fec {
            fec.range = path.ack.fec_range.unwrap_or(0);
        }
        self.add_confirmation(index, &mut packet);
        if path.wants.priority && packet.multipath.is_none() {
            packet.multipath =
                Some(Multipath::Priority(MpPriority { backup: path.backup, address_id: path.id.0 }));
        }
        if self.local_fin == LocalFin::Sent && self.multi.is_some() {
            self.add_data_fin(index, &mut packet);
        }
        let limit = if strict { STRICT_HEADER_WORDS } else { crate::wire::MAX_HEADER_WORDS };
        let room = packet.report_room_words(limit);
        // The report borrows from these, so they live until the packet is written.
        let mut blocks = [[0; 8]; BLOCK_ROOM];
        let mut snack = SnackBuilder::<VECTOR_WORDS>::new();
        let mut small = SnackBuilder::<2>::new();
        if path.rx.has_hole() && !probe {
            match kind {
                AckReport::Cumulative => {}
                AckReport::Sack => {
                    let most = blocks_wanted.min(room / 2);
                    let count = path.rx.sack(path.peer_isn, &mut blocks[..most]);
                    if count > 0 {
                        packet.report = Report::Sack(SackBlocks::new(&blocks[..count]));
                    }
                }
                AckReport::Nack | AckReport::Snack if room > 0 => {
                    let (next, end, isn) = (path.rx.next(), path.rx.end(), path.peer_isn);
                    let received = |wire: u32| {
                        seq::from_wire(isn, wire, next).is_some_and(|number| path.rx.contains(number))
                    };
                    let (ack, highest) = (seq::to_wire(isn, next), seq::to_wire(isn, end - 1));
                    let built = if room > VECTOR_WORDS {
                        snack.build(ack, highest, received)
                    } else if room > 2 {
                        small.build(ack, highest, received)
                    } else {
                        None
                    };
                    if let Some(mut report) = built {
                        if kind == AckReport::Nack {
                            report.vector = &[];
                        }
                        // On an acknowledgement the bits describe its content (answer B6).
                        packet.header.error -= ErrorBits::SAK;
                        if !report.vector.is_empty() {
                            packet.header.error |= ErrorBits::SAK;
                        }
                        packet.report = Report::Snack(report);
                    }
                }
                AckReport::Nack | AckReport::Snack => {}
            }
        }
        let transmit =
            self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out);
        self.paths[index].wants.priority = false;
        self.acknowledged(cx.now, index);
        transmit
    }

    /// A plain acknowledgement of everything that path `index` received.
    pub(super) fn last_ack(&self, index: usize) -> Packet<'static> {
        let path = &self.paths[index];
        let mut packet = self.base(Flags::ACK);
        packet.sequence = Sequence::Arq(Arq {
            sequence: seq::to_wire(path.local_isn, path.tx.next()),
            acknowledgement: seq::to_wire(path.peer_isn, path.rx.next()),
        });
        if packet.header.error.contains(ErrorBits::FEC | ErrorBits::ARQ) {
            packet.fec = self.offered_fec();
        }
        packet
    }

    /// An acknowledgement left on path `index`.
    fn acknowledged(&mut self, now: Instant, index: usize) {
        let granted = self.assembler.next() + u64::from(self.assembler.window());
        let repeats = self.composition.profile().duplicate_acks;
        for path in &mut self.paths {
            path.ack.granted = granted;
        }
        let path = &mut self.paths[index];
        path.ack.now = false;
        path.ack.pending = 0;
        path.ack.echo_once = false;
        path.ack.corruption = false;
        path.ack.fec_range = None;
        path.stop(Timer::Ack);
        if repeats && path.ack.repeats > 0 {
            // Answer E5. R-ACK-5
            let wait = path.rtt.rto().max(std::time::Duration::from_millis(200));
            path.set(Timer::DuplicateAck, now + wait);
        }
    }

    /// The third acknowledgement, and everything like it until the peer is known to have state.
    fn add_confirmation(&self, index: usize, packet: &mut Packet<'_>) {
        let path = &self.paths[index];
        let Some(multi) = &self.multi else { return };
        if path.confirmed || self.role != Role::Initiator {
            return;
        }
        packet.multipath = match (&path.join, multi.peer_key) {
            (None, Some(responder_key)) => Some(Multipath::Capable(MpCapable::BothKeys {
                flags: crypto::capable_flags(multi.hash),
                initiator_key: multi.local_key,
                responder_key,
            })),
            (Some(_), _) => self.join_proof(index).map(|mac| {
                let step = JoinStep::Ack { mac };
                Multipath::Join(MpJoin { backup: path.backup, address_id: path.id.0, step })
            }),
            (None, None) => None,
        };
        if packet.payload.is_empty() {
            packet.dss = None;
        }
    }

    fn add_data_fin(&self, index: usize, packet: &mut Packet<'_>) {
        let (Some(multi), Some(dss)) = (&self.multi, &mut packet.dss) else { return };
        dss.mapping = Some(DssMapping {
            data_sequence: multi.local_number(self.next_data),
            subflow_sequence: seq::to_wire(self.paths[index].local_isn, self.paths[index].tx.next()),
            length: 0,
            data_fin: true,
            payload_crc: None,
        });
    }

    // ---- data ----

    /// Repetitions, encoded packets and the FIN of path `index`.
    fn poll_repeats(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        max_segments: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let path = &mut self.paths[index];
        if !path.carries_data() || path.outage.is_some() {
            return None;
        }
        if path.encoder.as_ref().is_some_and(|encoder| encoder.has_ready()) {
            return self.send_encoded(cx, index, out);
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
        None
    }

    /// The next packet of path `index` that is worth repeating.
    fn retransmittable(&mut self, now: Instant, index: usize) -> Option<u64> {
        let path = &mut self.paths[index];
        let mut abandoned = 0;
        let found = loop {
            let Some(number) = path.tx.next_lost() else { break None };
            // Answer F6: what comes too late is not repeated. R-PART-2
            if path.tx.get(number).is_some_and(|sent| now > sent.deadline) {
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
    fn poll_new(&mut self, cx: &mut Cx<'_>, max_segments: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        self.clean_reinjections();
        if !self.has_new() {
            if self.local_fin == LocalFin::Wanted && self.multi.is_some() && self.wants_fin() {
                return self.send_data_fin(cx, out);
            }
            if self.local_fin == LocalFin::Wanted && !self.connected() && self.queue.is_empty() {
                self.finish(cx, crate::event::CloseReason::Graceful);
            }
            self.await_window(cx.now);
            return None;
        }
        let horizon = cx.now + cx.horizon;
        let acknowledges = self.composition.acknowledges();
        let paced = |path: &Path| path.forced_pace_pps.is_none() || path.pacer.release_at(cx.now) <= horizon;
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
    fn await_window(&mut self, now: Instant) {
        let active = self.active;
        let path = &mut self.paths[active];
        let blocked =
            !self.queue.is_empty() && self.next_data >= self.flow_limit && path.stage == Stage::Established;
        if blocked && path.tx.is_empty() && !path.is_running(Timer::Retransmit) {
            path.set(Timer::Retransmit, now + path.rtt.rto());
        }
    }

    fn connected(&self) -> bool {
        self.composition.profile().management != Management::Connectionless
    }

    fn clean_reinjections(&mut self) {
        let Some(multi) = &mut self.multi else { return };
        while multi.reinject.front().is_some_and(|data| *data < multi.data_first) {
            multi.reinject.pop_front();
        }
    }

    /// A message waits, and the peer grants it.
    fn has_new(&self) -> bool {
        let reinject = self.multi.as_ref().is_some_and(|multi| !multi.reinject.is_empty());
        let granted = self.next_data < self.flow_limit || self.window_probe;
        reinject || (!self.queue.is_empty() && granted && self.early_limit())
    }

    /// Early data without numbers cannot be told apart, so only the first packet, which is numbered, may leave.
    fn early_limit(&self) -> bool {
        self.phase == Phase::Established || self.next_data == 0 || self.numbered(Flags::empty())
    }

    /// Data packets with `flags` carry a number.
    fn numbered(&self, flags: Flags) -> bool {
        let header = &self.shape.header;
        header.error.intersects(ErrorBits::ARQ | ErrorBits::FEC)
            || flags.intersects(Flags::CONTROL)
            || header.order != crate::wire::Order::None
            || header.cong.value() != 0
            || self.multi.is_some()
    }

    /// When a packet may leave path `index`; `None` starts the timer that will let it go.
    fn pace(&mut self, cx: &Cx<'_>, index: usize) -> Option<Instant> {
        let tuning_paces = self.composition.profile().tuning.pacing;
        let path = &mut self.paths[index];
        if !tuning_paces && path.forced_pace_pps.is_none() && self.link_rate_pps.is_none() {
            return Some(cx.now);
        }
        let release_at = path.pacer.release_at(cx.now);
        if release_at > cx.now + cx.horizon {
            path.set(Timer::Pace, release_at);
            return None;
        }
        Some(release_at)
    }

    fn spend(&mut self, now: Instant, index: usize) {
        let tuning_paces = self.composition.profile().tuning.pacing;
        let link_rate = self.link_rate_pps;
        let path = &mut self.paths[index];
        let own = if tuning_paces { path.cc.pacing_rate_pps(&path.rtt) } else { None };
        let rate = [own, path.forced_pace_pps, link_rate].into_iter().flatten().reduce(f64::min);
        if let Some(rate) = rate {
            path.pacer.spend(now, rate);
        }
    }

    /// Sends one packet and as many more of the same length as possible.
    fn send_batch(
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
            let open =
                (!acknowledges || path.has_room()) && path.pacer.release_at(cx.now) <= cx.now + cx.horizon;
            if !open || path.encoder.as_ref().is_some_and(|encoder| encoder.has_ready()) {
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
    fn ack_rode_along(&mut self, now: Instant, index: usize) {
        let path = &self.paths[index];
        let special =
            path.rx.has_hole() || path.ack.corruption || path.ack.fec_range.is_some() || path.wants.priority;
        if !special && self.composition.acknowledges() && path.stage == Stage::Established {
            self.acknowledged(now, index);
        }
    }

    fn data_ecn(&self) -> Ecn {
        if self.ecn_agreed && self.composition.profile().congestion != Congestion::None {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// Repeats the oldest lost packet of path `index` if it is no longer than `room`.
    fn send_retransmission(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let number = self.retransmittable(cx.now, index)?;
        self.repeat(cx, index, number, room, out)
    }

    fn repeat(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let sent = self.paths[index].tx.get(number)?.clone();
        let packet = self.data_packet(index, number, &sent);
        if packet.encoded_len() > room {
            return None;
        }
        let packet_bytes = packet.encoded_len();
        self.emit(cx, Outgoing { index, ecn: self.data_ecn(), retransmission: true }, &packet, out)?;
        self.stats.retransmitted += 1;
        self.paths[index].tx.retransmit(cx.now, number);
        self.spend(cx.now, index);
        if !self.paths[index].is_running(Timer::Retransmit) {
            self.arm_retransmit(cx.now, index);
        }
        Some(packet_bytes)
    }

    /// The outage probe, and the tail probe, of path `index`: packet `number` once more, whatever the window says.
    pub(super) fn probe_with(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let start = out.len();
        let segment_size = self.repeat(cx, index, number, usize::MAX, out)?;
        let path = &self.paths[index];
        Some(Transmit {
            path: path.addr,
            ecn: self.data_ecn(),
            size_bytes: out.len() - start,
            segment_size,
            release_at: cx.now,
        })
    }

    /// Sends the next re-injected or new message on path `index` if its packet is no longer than `room`.
    fn send_next(&mut self, cx: &mut Cx<'_>, index: usize, room: usize, out: &mut Vec<u8>) -> Option<usize> {
        if !self.has_new() {
            return None;
        }
        if let Some(sent) = self.next_reinjection() {
            let length = self.send_new(cx, index, sent, room, out)?;
            if let Some(multi) = &mut self.multi {
                multi.reinject.pop_front();
            }
            self.stats.reinjected += 1;
            return Some(length);
        }
        let segment = self.segment_bytes(false);
        if room != usize::MAX && self.header_bytes(index) + self.next_segment_bytes(segment) > room {
            return None;
        }
        let queued = self.cut_segment(segment)?;
        let stored = Stored { payload: queued.payload, push: queued.push, deadline: queued.deadline };
        let sent = Sent::new(self.next_data, stored.payload.clone(), false, stored.push, stored.deadline);
        let length = self.send_new(cx, index, sent, usize::MAX, out)?;
        if let Some(multi) = &mut self.multi {
            multi.store.push_back(stored);
        }
        self.next_data += 1;
        self.window_probe = false;
        self.stats.data_sent += 1;
        self.tell_writable();
        Some(length)
    }

    fn tell_writable(&mut self) {
        let t = &self.composition.profile().tuning;
        let half = (t.send_buffer_packets as usize).div_ceil(2);
        let roomy = self.queue.len() <= half && self.queue_bytes <= half * self.max_message_bytes();
        if self.wants_writable && roomy {
            self.wants_writable = false;
            self.tell(crate::event::EventKind::Writable);
        }
    }

    fn next_reinjection(&self) -> Option<Sent> {
        let multi = self.multi.as_ref()?;
        let data = *multi.reinject.front()?;
        let stored = multi.stored(data)?;
        Some(Sent::new(data, stored.payload.clone(), false, stored.push, stored.deadline))
    }

    fn send_new(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        sent: Sent,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let number = self.paths[index].tx.next();
        let packet = self.data_packet(index, number, &sent);
        let length = packet.encoded_len();
        if length > room {
            return None;
        }
        self.emit(cx, Outgoing { index, ecn: self.data_ecn(), retransmission: false }, &packet, out)?;
        self.encode_later(cx, index, number, &sent);
        let app_limited = self.queue.is_empty();
        let numbered = self.numbered(Flags::empty()) || packet_is_numbered(number);
        let tracked = self.composition.acknowledges();
        let keeps_payload = self.composition.profile().reliability.retransmits();
        let path = &mut self.paths[index];
        path.cwr = false;
        if tracked {
            let mut sent = sent;
            if !keeps_payload {
                sent.payload = Bytes::new();
            }
            path.tx.transmit(cx.now, sent, app_limited);
            if !path.is_running(Timer::Retransmit) {
                self.arm_retransmit(cx.now, index);
            }
        } else if numbered {
            path.tx.pass();
        }
        self.spend(cx.now, index);
        Some(length)
    }

    fn encode_later(&mut self, cx: &Cx<'_>, index: usize, number: u64, sent: &Sent) {
        let divisor = self.composition.profile().tuning.fec_timer_divisor;
        let data_number = self.multi.as_ref().map_or(0, |multi| multi.local_number(sent.data_index));
        let path = &mut self.paths[index];
        let wait = path.rtt.smoothed() / divisor;
        let Some(encoder) = &mut path.encoder else { return };
        let coded = super::fec::Coded { data_number, push: sent.push, payload: sent.payload.clone() };
        encoder.add(cx.now, wait, number, &coded);
        let due = encoder.due_at;
        path.set(Timer::Fec, due.unwrap_or(Instant::FAR_FUTURE));
    }

    // R-FEC-4
    fn send_encoded(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        let encoded = self.paths[index].encoder.as_mut()?.pop()?;
        let mut packet = self.base(self.data_flags(index));
        packet.header.error |= ErrorBits::ENC;
        packet.fec = self.offered_fec().map(|fec| Fec { range: encoded.count, ..fec });
        packet.sequence = self.sequence(index, encoded.first, packet.header.flags);
        packet.payload = &encoded.payload;
        self.stats.encoded_sent += 1;
        let outgoing = Outgoing { index, ecn: self.data_ecn(), retransmission: false };
        let transmit = self.emit(cx, outgoing, &packet, out);
        self.spend(cx.now, index);
        transmit
    }

    fn send_fin(&mut self, cx: &mut Cx<'_>, index: usize, fin: Sent, out: &mut Vec<u8>) -> Option<Transmit> {
        let number = self.paths[index].tx.next();
        let packet = self.data_packet(index, number, &fin);
        let outgoing = Outgoing { index, ecn: Ecn::NotEct, retransmission: false };
        let transmit = self.emit(cx, outgoing, &packet, out);
        self.paths[index].tx.transmit(cx.now, fin, true);
        self.ack_rode_along(cx.now, index);
        self.arm_retransmit(cx.now, index);
        transmit
    }

    /// Announces the end of the data of several paths (answer H10).
    fn send_data_fin(&mut self, cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Option<Transmit> {
        self.local_fin = LocalFin::Sent;
        let index = self.pick_path(|_| true).unwrap_or(self.active);
        let path = &mut self.paths[index];
        self.data_fin_at = cx.now + path.rtt.rto();
        self.send_ack(cx, index, AckNumber::Next, out)
    }

    // ---- headers ----

    /// The flags of data packets on path `index`.
    fn data_flags(&self, index: usize) -> Flags {
        let path = &self.paths[index];
        let mut flags = Flags::empty();
        let synchronised = path.stage == Stage::Established || self.role == Role::Responder;
        let confirming = path.tx.next() <= CONFIRMING_PACKETS && self.role == Role::Initiator;
        if synchronised && self.connected() && (self.composition.acknowledges() || confirming) {
            flags |= Flags::ACK;
        }
        if path.ack.echo && flags.contains(Flags::ACK) {
            flags |= Flags::ECE;
        }
        flags
    }

    fn sequence(&self, index: usize, number: u64, flags: Flags) -> Sequence {
        let path = &self.paths[index];
        let sequence = seq::to_wire(path.local_isn, number);
        if self.shape.header.error.contains(ErrorBits::ARQ) || flags.intersects(Flags::CONTROL) {
            let acknowledgement =
                if flags.contains(Flags::ACK) { seq::to_wire(path.peer_isn, path.rx.next()) } else { 0 };
            Sequence::Arq(Arq { sequence, acknowledgement })
        } else if self.numbered(flags) {
            Sequence::Seq(sequence)
        } else {
            Sequence::None
        }
    }

    /// Packet `number` of path `index`, with the duplicate SYN on the first one (answer D4).
    fn data_packet<'a>(&self, index: usize, number: u64, sent: &'a Sent) -> Packet<'a> {
        let mut flags = self.data_flags(index);
        let path = &self.paths[index];
        if sent.push {
            flags |= Flags::PSH;
        }
        if sent.fin {
            flags |= Flags::FIN | Flags::ACK;
        }
        if path.cwr {
            flags |= Flags::CWR;
        }
        let opportunistic = self.composition.profile().management == Management::Opportunistic;
        let doubles_syn = opportunistic
            && index == 0
            && number == 1
            && !sent.fin
            && match self.role {
                Role::Initiator => path.stage == Stage::SynSent,
                Role::Responder => !path.confirmed,
            };
        if doubles_syn {
            flags |= Flags::SYN;
        }
        let mut packet = self.base(flags);
        packet.sequence = self.sequence(index, number, flags);
        packet.payload = &sent.payload;
        if doubles_syn {
            packet.fec = self.offered_fec();
            packet.multipath = self.syn_multipath(index);
            if self.role == Role::Initiator {
                packet.cookie = self.cookie;
            }
            if self.composition.profile().tuning.ecn
                && self.composition.profile().congestion != Congestion::None
            {
                packet.header.flags |= Flags::ECE;
                if self.role == Role::Initiator {
                    packet.header.flags |= Flags::CWR;
                }
            }
        } else if sent.fin && packet.header.error.contains(ErrorBits::FEC | ErrorBits::ARQ) {
            packet.fec = self.offered_fec();
        }
        if number == 1 && !doubles_syn && self.paths[index].stage == Stage::Established {
            self.add_confirmation(index, &mut packet);
        }
        if let Some(multi) = self.multi.as_ref().filter(|_| !sent.payload.is_empty()) {
            // Beside a cookie, and before anything was received, there is no Data ACK.
            let data_ack = packet.dss.and_then(|dss| dss.data_ack);
            packet.dss = Some(Dss {
                data_ack,
                mapping: Some(DssMapping {
                    data_sequence: multi.local_number(sent.data_index),
                    subflow_sequence: seq::to_wire(path.local_isn, number),
                    length: 1,
                    data_fin: false,
                    payload_crc: None,
                }),
            });
        }
        packet
    }

    /// A packet with everything that does not depend on its kind.
    fn base(&self, flags: Flags) -> Packet<'static> {
        let mut header = self.shape.header;
        header.flags = flags;
        header.k = self.established_paths().max(1);
        let window = self.shape.window.then(|| self.assembler.window().min(65_535) as u16);
        let ack = flags.contains(Flags::ACK);
        let multi = self.multi.as_ref().filter(|_| !flags.intersects(Flags::SYN | Flags::RST));
        let dss = multi.map(|multi| Dss {
            data_ack: ack.then(|| multi.peer_number(self.assembler.next())),
            mapping: None,
        });
        Packet { window, dss, ..Packet::new(header) }
    }

    /// Bytes of header of an ordinary data packet on path `index`.
    fn header_bytes(&self, index: usize) -> usize {
        let flags = self.data_flags(index);
        let header = &self.shape.header;
        let words = BASE_WORDS
            + if header.version == Version::Protected { 2 } else { 0 }
            + if header.error.contains(ErrorBits::CRC) { 2 } else { 0 }
            + usize::from(self.shape.window)
            + match (&self.multi, flags.contains(Flags::ACK)) {
                (None, _) => 0,
                (Some(_), true) => 4,
                (Some(_), false) => 3,
            }
            + match self.sequence(index, 0, flags) {
                Sequence::Arq(_) => 2,
                Sequence::Seq(_) => 1,
                Sequence::None => 0,
            };
        words * WORD_BYTES
    }

    /// Payload bytes of one packet; `smallest` is the size that fits every packet of the connection.
    pub(super) fn segment_bytes(&self, smallest: bool) -> usize {
        let profile = self.composition.profile();
        let header = &self.shape.header;
        let several = self.multi.is_some();
        let mut overhead = BASE_WORDS * WORD_BYTES;
        if header.version == Version::Protected {
            overhead += 2 * WORD_BYTES + TAG_BYTES;
        }
        overhead += if profile.crc { 2 * WORD_BYTES } else { 0 };
        overhead += if self.shape.window { WORD_BYTES } else { 0 };
        overhead += if several { 4 * WORD_BYTES } else { 0 };
        overhead += 2 * WORD_BYTES;
        if profile.reliability.fec().is_some() {
            overhead += WORD_BYTES + super::fec::prefix_bytes(several);
        }
        // The first packet may carry a cookie and keys.
        if smallest || self.next_data == 0 {
            overhead += if profile.management == Management::Opportunistic { 4 * WORD_BYTES } else { 0 };
            overhead += if several { 5 * WORD_BYTES } else { 0 };
        }
        profile.tuning.max_packet_bytes - overhead.min(profile.tuning.max_packet_bytes - 1)
    }

    /// Payload bytes that the next segment will have.
    fn next_segment_bytes(&self, limit: usize) -> usize {
        match self.composition.profile().framing {
            Framing::Fixed => self.queue.front().map_or(0, |queued| queued.payload.len()),
            Framing::Coalesce => self.queue_bytes.min(limit),
        }
    }

    /// Takes the next segment from the queue: a message, or as much of the stream as fits.
    // R-FRM-1, R-FRM-2
    fn cut_segment(&mut self, limit: usize) -> Option<super::Queued> {
        let mut first = self.queue.pop_front()?;
        if self.composition.profile().framing == Framing::Coalesce {
            if first.payload.len() > limit {
                let rest = super::Queued {
                    payload: first.payload.split_off(limit),
                    push: std::mem::replace(&mut first.push, false),
                    deadline: first.deadline,
                };
                self.queue.push_front(rest);
            } else if first.payload.len() < limit && !self.queue.is_empty() {
                first = self.join_small(first, limit);
            }
        }
        self.queue_bytes -= first.payload.len();
        Some(first)
    }

    /// Fills a segment from several small writes.
    fn join_small(&mut self, first: super::Queued, limit: usize) -> super::Queued {
        let mut joined = BytesMut::with_capacity(limit);
        joined.extend_from_slice(&first.payload);
        let mut push = first.push;
        while joined.len() < limit {
            let Some(next) = self.queue.front_mut() else { break };
            let room = limit - joined.len();
            if next.payload.len() > room {
                joined.extend_from_slice(&next.payload.split_to(room));
                break;
            }
            joined.extend_from_slice(&next.payload);
            push |= next.push;
            self.queue.pop_front();
        }
        super::Queued { payload: joined.freeze(), push, deadline: first.deadline }
    }

    // ---- onto the wire ----

    fn emit(
        &mut self,
        cx: &mut Cx<'_>,
        what: Outgoing,
        packet: &Packet<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let length = packet.encoded_len();
        let addr = self.paths[what.index].addr;
        if let Some(allowance) = &mut self.paths[what.index].allowance_bytes {
            // Answer D10. R-CM-10
            if *allowance < length {
                return None;
            }
            *allowance -= length;
        }
        let start = out.len();
        let pseudo = (cx.pseudo)(&addr);
        if let Err(error) = packet.encode(out, pseudo.as_ref()) {
            debug_assert!(false, "a packet could not be written: {error}");
            return None;
        }
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
}

/// The first packets of a connection are numbered even if the rest is not, because they carry ACK or SYN.
fn packet_is_numbered(number: u64) -> bool {
    number <= CONFIRMING_PACKETS
}
