//! Headers of outgoing packets, and how much payload fits behind them.

use super::out_data::CONFIRMING_PACKETS;
use super::path::Stage;
use super::sender::Sent;
use super::{Connection, Role};
use crate::profile::{Congestion, Management};
use crate::seq;
use crate::wire::{
    Arq, BASE_WORDS, Dss, DssMapping, ErrorBits, Flags, Packet, Protection, Sequence, TAG_BYTES, Version,
    WORD_BYTES,
};

impl Connection {
    /// The flags of data packets on path `index`.
    pub(super) fn data_flags(&self, index: usize) -> Flags {
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

    pub(super) fn sequence(&self, index: usize, number: u64, flags: Flags) -> Sequence {
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
    // R-DSS-2, R-DSS-3, R-NUM-4, R-OPT-3
    pub(super) fn data_packet<'a>(&self, index: usize, number: u64, sent: &'a Sent) -> Packet<'a> {
        let mut flags = self.data_flags(index);
        let path = &self.paths[index];
        if sent.push {
            flags |= Flags::PSH;
        }
        if sent.fin {
            flags |= Flags::FIN | Flags::ACK;
        }
        if path.rate.cwr {
            flags |= Flags::CWR;
        }
        let opportunistic = self.composition.profile().management == Management::Opportunistic;
        let doubles_syn = opportunistic
            && index == 0
            && number == 1
            && !sent.fin
            && match self.role {
                Role::Initiator => path.stage == Stage::SynSent,
                Role::Responder => !path.handshake.confirmed,
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
                packet.cookie = self.negotiation.cookie;
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
            let mapping = DssMapping {
                data_sequence: multi.local_number(sent.data_index),
                subflow_sequence: seq::to_wire(path.local_isn, number),
                length: 1,
                data_fin: false,
                payload_crc: None,
            };
            // Early data leave before the peer's wish is known; beside a cookie a DSS has no room for a check.
            let checked = multi.checks && packet.cookie.is_none();
            let mapping = if checked { mapping.with_payload_crc(&sent.payload) } else { mapping };
            packet.dss = Some(Dss { data_ack, mapping: Some(mapping) });
        }
        packet
    }

    /// A packet with everything that does not depend on its kind.
    pub(super) fn base(&self, flags: Flags) -> Packet<'static> {
        let mut header = self.shape.header;
        header.flags = flags;
        header.k = self.paths.established().max(1);
        let window = self.shape.window.then(|| self.assembler.window().min(65_535) as u16);
        let ack = flags.contains(Flags::ACK);
        let multi = self.multi.as_ref().filter(|_| !flags.intersects(Flags::SYN | Flags::RST));
        let dss = multi.map(|multi| Dss {
            data_ack: ack.then(|| multi.peer_number(self.assembler.next())),
            mapping: None,
        });
        // SYNs carry the handshake of a protected connection; everything after it is sealed.
        let protection =
            (header.version == Version::Protected).then(|| self.protection(!flags.contains(Flags::SYN)));
        Packet { window, dss, protection, ..Packet::new(header) }
    }

    /// The Protection extension before subflow and number are known, which are set on sealing.
    fn protection(&self, sealed: bool) -> Protection {
        let sealed = sealed && self.seal.as_ref().is_some_and(|seal| seal.is_ready());
        Protection { epoch: u8::from(sealed), subflow: 0, packet_number: 0 }
    }

    /// The SYN and SYN-ACK of a join are sealed with the keys of the connection.
    // R-PROT-8
    pub(super) fn seal_join(&self, index: usize, packet: &mut Packet<'_>) {
        if index != 0 && packet.protection.is_some() {
            packet.protection = Some(self.protection(true));
            packet.payload = &[];
        }
    }

    /// Bytes besides the payload of an ordinary data packet on path `index`.
    pub(super) fn header_bytes(&self, index: usize) -> usize {
        let flags = self.data_flags(index);
        let header = &self.shape.header;
        // Sealed packets, which all data of the protected profile travel in, have no checksums. R-PROT-6
        let words = BASE_WORDS
            + match header.version {
                Version::Protected => 2,
                Version::Clear if header.error.contains(ErrorBits::CRC) => 2,
                Version::Clear => 0,
            }
            + usize::from(self.shape.window)
            + match (&self.multi, flags.contains(Flags::ACK)) {
                (None, _) => 0,
                (Some(multi), ack) => 3 + usize::from(ack) + usize::from(multi.checks),
            }
            + match self.sequence(index, 0, flags) {
                Sequence::Arq(_) => 2,
                Sequence::Seq(_) => 1,
                Sequence::None => 0,
            };
        let tag = if header.version == Version::Protected { TAG_BYTES } else { 0 };
        words * WORD_BYTES + tag
    }

    /// Payload bytes of one packet; `smallest` is the size that fits every packet of the connection.
    // R-NUM-4
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
        overhead += self.multi.as_ref().map_or(0, |multi| (4 + usize::from(multi.checks)) * WORD_BYTES);
        overhead += 2 * WORD_BYTES;
        if profile.reliability.fec().is_some() {
            overhead += WORD_BYTES + super::fec::prefix_bytes(several);
        }
        // The first packet may carry a cookie and keys.
        if smallest || self.outbox.next() == 0 {
            overhead += if profile.management == Management::Opportunistic { 4 * WORD_BYTES } else { 0 };
            overhead += if several { 5 * WORD_BYTES } else { 0 };
        }
        let packet_bytes = if smallest {
            profile.tuning.max_packet_bytes
        } else {
            self.paths.packet_bytes(profile.tuning.max_packet_bytes)
        };
        packet_bytes - overhead.min(packet_bytes - 1)
    }
}
