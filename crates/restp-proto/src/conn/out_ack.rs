//! Packets out: acknowledgements, their reports, and what rides on them.

use super::output::{AckNumber, Outgoing};
use super::path::{Stage, Timer};
use super::{Connection, Cx, LocalFin, Role};
use crate::path::{Ecn, Transmit};
use crate::profile::{AckReport, Profile};
use crate::seq;
use crate::time::Instant;
use crate::wire::{
    Arq, DssMapping, ErrorBits, Flags, JoinStep, MpCapable, MpJoin, MpPriority, Multipath, Packet,
    Protection, Report, STRICT_HEADER_WORDS, SackBlocks, Sequence, SnackBuilder, WORD_BYTES,
};

/// Most SACK blocks that a tuning may ask for.
const BLOCK_ROOM: usize = 64;
/// Words of SNACK vector at most: 2048 packets beyond the first hole (answer F5), which are 10 Mbit/s over a geostationary
/// satellite with room for a queue. What is not reported in time is sent again in vain.
const VECTOR_WORDS: usize = 64;
/// And where a header has no room for as many.
const STRICT_VECTOR_WORDS: usize = 2;

/// From this many packets beyond the oldest that is missing on, SNACK tells of none. The peer's limit is taken to be this end's.
///
/// SACK tells of the newest first; with NACK all behind the first hole is unknown, and judged by its age alone.
// R-ARQ-5
pub(super) fn nameable(profile: &Profile) -> u64 {
    if profile.ack_report != AckReport::Snack {
        return u64::MAX;
    }
    let words = if profile.tuning.strict_header { STRICT_VECTOR_WORDS } else { VECTOR_WORDS };
    1 + (words * WORD_BYTES * 8) as u64
}

impl Connection {
    pub(super) fn poll_ack(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        let path = &self.paths[index];
        let locked = self.seal.as_ref().is_some_and(|seal| !seal.is_ready());
        if locked || !path.ack.now || path.stage == Stage::SynSent || path.stage == Stage::Closed {
            return None;
        }
        self.send_ack(cx, index, AckNumber::Next, out)
    }

    /// A packet without payload.
    // R-ACK-5, R-ACK-6, R-MP-9
    pub(super) fn send_ack(
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
        let unconfirmed =
            self.role == Role::Initiator && !path.handshake.confirmed && number == AckNumber::Next;
        let number = if unconfirmed { AckNumber::First } else { number };
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
        if self.closing.local == LocalFin::Sent && self.multi.is_some() {
            self.add_data_fin(index, &mut packet);
        }
        // The third message of a protected handshake takes the place of everything that is not needed yet.
        let third =
            self.seal.as_ref().filter(|_| number == AckNumber::First).and_then(|seal| seal.third.clone());
        if let Some(message) = &third {
            packet.payload = message;
            packet.fec = None;
            packet.protection = Some(Protection { epoch: 0, subflow: 0, packet_number: 0 });
        }
        let limit = if strict { STRICT_HEADER_WORDS } else { crate::wire::MAX_HEADER_WORDS };
        let room = packet.report_room_words(limit);
        // The report borrows from these, so they live until the packet is written.
        let mut blocks = [[0; 8]; BLOCK_ROOM];
        let mut snack = SnackBuilder::<VECTOR_WORDS>::new();
        let mut small = SnackBuilder::<STRICT_VECTOR_WORDS>::new();
        if path.rx.has_hole() && !probe && third.is_none() {
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
                    } else if room > STRICT_VECTOR_WORDS {
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
    // R-ACK-1
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
    pub(super) fn acknowledged(&mut self, now: Instant, index: usize) {
        let granted = self.assembler.next() + u64::from(self.assembler.window());
        let repeats = self.composition.profile().duplicate_acks;
        for path in self.paths.iter_mut() {
            path.ack.granted = granted;
        }
        let path = &mut self.paths[index];
        path.ack.now = false;
        path.ack.pending = 0;
        path.ack.echo_once = false;
        path.ack.corruption = false;
        path.ack.fec_range = None;
        path.timers.stop(Timer::Ack);
        if repeats && path.ack.repeats > 0 {
            // Answer E5. R-ACK-4
            let wait = path.rtt.rto().max(std::time::Duration::from_millis(200));
            path.timers.set(Timer::DuplicateAck, now + wait);
        }
    }

    /// The third acknowledgement, and everything like it until the peer is known to have state.
    // R-MP-1
    pub(super) fn add_confirmation(&self, index: usize, packet: &mut Packet<'_>) {
        let path = &self.paths[index];
        let Some(multi) = &self.multi else { return };
        if path.handshake.confirmed || self.role != Role::Initiator {
            return;
        }
        packet.multipath = match (&path.join, multi.peer_key) {
            (None, Some(responder_key)) => Some(Multipath::Capable(MpCapable::BothKeys {
                flags: multi.flags(),
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

    pub(super) fn add_data_fin(&self, index: usize, packet: &mut Packet<'_>) {
        let (Some(multi), Some(dss)) = (&self.multi, &mut packet.dss) else { return };
        dss.mapping = Some(DssMapping {
            data_sequence: multi.local_number(self.outbox.next()),
            subflow_sequence: seq::to_wire(self.paths[index].local_isn, self.paths[index].tx.next()),
            length: 0,
            data_fin: true,
            payload_crc: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Tuning;

    // R-ARQ-5
    #[test]
    fn a_vector_names_its_hole_and_a_packet_a_bit_and_others_are_judged_whatever_they_are() {
        let reach = |ack_report, strict_header| {
            let tuning = Tuning { strict_header, ..Tuning::default() };
            nameable(&Profile { ack_report, tuning, ..Profile::file_arq() })
        };
        assert_eq!((reach(AckReport::Snack, false), reach(AckReport::Snack, true)), (2049, 65));
        assert_eq!((reach(AckReport::Sack, false), reach(AckReport::Nack, true)), (u64::MAX, u64::MAX));
    }
}
