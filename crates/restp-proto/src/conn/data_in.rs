//! Data packets in: numbering, repair, delivery, and what must be acknowledged when.

use super::assembler::Inserted;
use super::fec::{Coded, Repair};
use super::input::Numbers;
use super::path::{Path, Timer};
use super::shape::fec_kind;
use super::{Connection, Cx};
use crate::log::LogEvent;
use crate::path::Ecn;
use crate::profile::{AckTiming, FecKind, Ordering};
use crate::wire::{Decoded, ErrorBits, Flags, Packet, PayloadCheck};

impl Connection {
    /// A packet with payload.
    pub(super) fn on_payload(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        ecn: Ecn,
        decoded: &Decoded<'_>,
        numbers: Numbers,
    ) {
        let packet = &decoded.packet;
        let path = &mut self.paths[index];
        if ecn == Ecn::Ce && self.negotiation.ecn && !path.ack.echo {
            path.ack.echo = true;
            path.ack.now = true;
        }
        if packet.header.flags.contains(Flags::CWR) {
            path.ack.echo = ecn == Ecn::Ce;
        }
        if decoded.payload_check == PayloadCheck::Corrupt {
            // Evidence of bit errors (answer C3); the number counts as not received. R-CRC-6
            self.stats.corrupt_payloads += 1;
            path.cause.on_corruption();
            path.ack.corruption = true;
            path.ack.now = true;
            return;
        }
        if packet.header.error.contains(ErrorBits::ENC) {
            self.on_encoded(cx, index, packet, numbers);
            return;
        }
        if self.lacks_check(index, packet) {
            self.stats.out_of_window += 1;
            return;
        }
        if packet.header.flags.contains(Flags::URG) {
            self.on_part(cx, index, ecn, decoded, numbers);
            return;
        }
        let payload = packet.payload;
        match numbers.own {
            None => self.deliver_unnumbered(cx, payload),
            Some(number) => {
                let Some(data) = self.data_index(packet, number) else {
                    self.stats.out_of_window += 1;
                    return;
                };
                let push = packet.header.flags.contains(Flags::PSH);
                self.on_numbered(cx, index, number, data, payload, push);
            }
        }
    }

    /// A payload without the check that was agreed; what left before the peer knew of the agreement is excused.
    // R-DSS-4
    fn lacks_check(&self, index: usize, packet: &Packet<'_>) -> bool {
        let agreed = self.multi.as_ref().is_some_and(|multi| multi.checks);
        let mapping = packet.dss.and_then(|dss| dss.mapping);
        agreed
            && self.paths[index].handshake.confirmed
            && mapping.is_none_or(|mapping| mapping.payload_crc.is_none())
    }

    /// The message number of packet `number`.
    pub(super) fn data_index(&self, packet: &Packet<'_>, number: u64) -> Option<u64> {
        match &self.multi {
            None => number.checked_sub(1),
            Some(multi) => {
                let mapping = packet.dss?.mapping?;
                let offset = packet.sequence.number()?.wrapping_sub(mapping.subflow_sequence);
                if offset >= u32::from(mapping.length) {
                    return None;
                }
                multi.peer_index(mapping.data_sequence.wrapping_add(offset), self.assembler.next())
            }
        }
    }

    fn deliver_unnumbered(&mut self, cx: &mut Cx<'_>, payload: &[u8]) {
        let index = self.assembler.next();
        let payload = cx.arena.store(payload);
        let early = self.is_early();
        match self.assembler.insert(cx.now, index, payload, early) {
            Inserted::Readable => self.tell_readable(),
            _ => self.stats.no_room += 1,
        }
    }

    fn on_numbered(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        data: u64,
        payload: &[u8],
        push: bool,
    ) {
        let path = &mut self.paths[index];
        if path.rx.contains(number) {
            // A repetition means that our acknowledgement was lost or late.
            self.stats.duplicates += 1;
            path.ack.now = true;
            return;
        }
        let verdict = self.assembler.probe(data, payload.len());
        if verdict == Inserted::Refused || !path.rx.accepts(number) {
            // Not acknowledged, so it comes again; the answer tells the window (answer J6).
            self.stats.no_room += 1;
            path.ack.now = true;
            return;
        }
        let payload = cx.arena.store(payload);
        if path.decoder.is_some() {
            let data_number = self.multi.as_ref().map_or(0, |multi| multi.peer_number(data));
            let coded = Coded { data_number, push, payload: payload.clone() };
            let path = &mut self.paths[index];
            if let Some(decoder) = &mut path.decoder {
                decoder.keep(number, coded);
            }
        }
        self.take(cx, index, number, data, payload);
    }

    /// Takes a packet that was checked, be it received or repaired.
    fn take(&mut self, cx: &mut Cx<'_>, index: usize, number: u64, data: u64, payload: bytes::Bytes) {
        let early = self.is_early() && self.role == super::Role::Responder;
        let path = &mut self.paths[index];
        let had_hole = path.rx.has_hole();
        path.rx.insert(number);
        let disorder = had_hole || path.rx.has_hole();
        match self.assembler.insert(cx.now, data, payload, early) {
            Inserted::Readable => self.tell_readable(),
            Inserted::Held => {}
            Inserted::Duplicate => self.stats.duplicates += 1,
            Inserted::Late => self.stats.late += 1,
            Inserted::Refused => self.stats.no_room += 1,
        }
        self.owe_ack(cx, index, disorder);
        if disorder && !self.composition.profile().reliability.retransmits() {
            self.give_up_reordered(cx, index);
        }
        self.arm_hole_timer();
    }

    /// Decides when the acknowledgement leaves.
    // R-ACK-2, R-ACK-3
    fn owe_ack(&mut self, cx: &mut Cx<'_>, index: usize, disorder: bool) {
        if !self.composition.acknowledges() {
            return;
        }
        let profile = self.composition.profile();
        let t = &profile.tuning;
        let path = &mut self.paths[index];
        path.ack.pending += 1;
        path.ack.repeats = t.duplicate_ack_limit;
        let wait = match profile.ack_timing {
            AckTiming::Delayed => {
                // Answer E4: a quarter of the RTT where that is known and shorter.
                path.rtt.measured().map_or(t.delayed_ack_period, |srtt| t.delayed_ack_period.min(srtt / 4))
            }
            _ if disorder || path.ack.pending >= self.ack_every => {
                path.ack.now = true;
                return;
            }
            _ => t.ack_delay,
        };
        path.timers.start(Timer::Ack, cx.now + wait);
    }

    /// Without retransmission a hole is given up once so many later packets have come that it is no reordering.
    ///
    /// One more than the sender needs to count the loss by duplicate acknowledgements; with FEC two groups, so that
    /// the encoded packet can still repair it.
    fn give_up_reordered(&mut self, cx: &mut Cx<'_>, index: usize) {
        let profile = self.composition.profile();
        let patience = match profile.reliability.fec() {
            None => 4,
            Some(FecKind::Xor) => profile.tuning.fec_group * 2,
            Some(FecKind::Interleaved) => profile.tuning.fec_group * 4,
        };
        let path = &mut self.paths[index];
        while path.rx.held() >= patience {
            let Some(after) = path.rx.after_hole() else { break };
            path.rx.skip_to(after);
            path.ack.now |= self.composition.acknowledges();
        }
        if self.multi.is_none() {
            self.follow_path(cx);
        }
    }

    /// On one path the messages are passed over together with their packets.
    pub(super) fn follow_path(&mut self, cx: &mut Cx<'_>) {
        let target = self.paths[0].rx.next() - 1;
        self.stats.passed_over += self.assembler.skip_to(cx.now, target);
        if self.assembler.has_ready() {
            self.tell_readable();
        }
    }

    /// The oldest hole has lasted too long.
    pub(super) fn on_hole_timer(&mut self, cx: &mut Cx<'_>) {
        let profile = self.composition.profile();
        if profile.reliability.retransmits() {
            // Partial order: the application is told that asking would pass over the hole.
            debug_assert!(profile.ordering == Ordering::Partial);
            self.tell_readable();
            return;
        }
        self.stats.passed_over += self.assembler.skip_hole(cx.now, std::time::Duration::ZERO);
        if self.assembler.has_ready() {
            self.tell_readable();
        }
        let acknowledges = self.composition.acknowledges();
        let target = self.assembler.next() + 1;
        let several = self.multi.is_some();
        for path in self.paths.iter_mut() {
            let target = if several { path.rx.after_hole().unwrap_or(0) } else { target };
            path.rx.skip_to(target);
            path.ack.now |= acknowledges && path.is_open();
        }
        self.arm_hole_timer();
        self.check_fin(cx);
    }

    // R-FEC-4, R-HARQ-1
    fn on_encoded(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>, numbers: Numbers) {
        let (Some(fec), Some(first)) = (packet.fec, numbers.own) else { return };
        let agreed = self.composition.profile().reliability.fec();
        let most = if agreed == Some(FecKind::Interleaved) { 8 } else { 16 };
        let (Some(kind), 1..) = (fec_kind(fec.kind).filter(|kind| Some(*kind) == agreed), fec.range) else {
            return;
        };
        if fec.range > most {
            return;
        }
        if self.multi.as_ref().is_some_and(|multi| multi.checks) {
            // What an encoded packet yields would be the only data without a check. R-DSS-4
            return;
        }
        let several = self.multi.is_some();
        let path = &mut self.paths[index];
        let Some(decoder) = &path.decoder else { return };
        let rx = &path.rx;
        let repair =
            decoder.repair(kind, first, fec.range, packet.payload, several, |number| rx.contains(number));
        let harq = self.composition.profile().reliability.retransmits();
        match repair {
            // Not answered: the acknowledgement would pass for a packet of data that left the network.
            Repair::Complete => {}
            Repair::Failed { last_missing } => {
                self.stats.repair_failed += 1;
                // Answer G6: from the next expected number to the last lost one, both included.
                let range = last_missing.saturating_sub(path.rx.next()) + 1;
                path.ack.fec_range = harq.then(|| u32::try_from(range).unwrap_or(0).min((1 << 24) - 1));
                path.ack.now |= harq;
            }
            Repair::Repaired(number, coded) => self.on_repaired(cx, index, number, coded, harq),
        }
    }

    fn on_repaired(&mut self, cx: &mut Cx<'_>, index: usize, number: u64, coded: Coded, harq: bool) {
        let data = match &self.multi {
            None => number.checked_sub(1),
            Some(multi) => multi.peer_index(coded.data_number, self.assembler.next()),
        };
        let path: &mut Path = &mut self.paths[index];
        let Some(data) = data.filter(|_| path.rx.accepts(number)) else { return };
        if self.assembler.probe(data, coded.payload.len()) == Inserted::Refused {
            return;
        }
        self.stats.repaired += 1;
        if harq {
            path.ack.fec_range = Some(0);
            path.ack.now = true;
        }
        // The sender must learn of the loss that the repair hides (answer G7).
        path.ack.echo_once = self.composition.acknowledges();
        let id = path.id.0;
        if let Some(decoder) = &mut path.decoder {
            decoder.keep(number, coded.clone());
        }
        cx.log(LogEvent::Repaired { path: id });
        self.take(cx, index, number, data, coded.payload);
    }
}
