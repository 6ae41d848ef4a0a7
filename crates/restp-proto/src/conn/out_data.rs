//! Packets out: data for the first time and again, encoded packets, FIN.

use bytes::Bytes;

use super::copies::carrier;
use super::fec::TAIL_PACKETS;
use super::multipath::Stored;
use super::output::{AckNumber, Outgoing};
use super::path::Timer;
use super::sender::Sent;
use super::{Connection, Cx, LocalFin};
use crate::path::{Ecn, Transmit};
use crate::profile::Framing;
use crate::time::Instant;
use crate::wire::{ErrorBits, Fec, Flags};

/// Packets that carry an acknowledgement although nobody needs one, so that the loss of the third acknowledgement of a
/// handshake does not cost a round trip.
pub(super) const CONFIRMING_PACKETS: u64 = 16;

impl Connection {
    /// Repeats the oldest lost packet of path `index` if it is no longer than `room`.
    pub(super) fn send_retransmission(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let number = self.retransmittable(cx.now, index)?;
        self.repeat(cx, index, number, room, out)
    }

    pub(super) fn repeat(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let sent = self.paths[index].tx.get(number)?.clone();
        let spared = self.is_spared(cx.now, index, &sent);
        let mut packet = self.data_packet(index, number, &sent);
        if spared {
            self.make_stub(&mut packet);
        }
        let mut packet_bytes = packet.encoded_len();
        if packet_bytes > room {
            return None;
        }
        self.doubt_size(cx, index, packet_bytes, &sent);
        if self.leaves_in_parts(index, packet_bytes) {
            packet_bytes = self.send_in_parts(cx, index, number, &sent, packet_bytes, out)?;
        } else {
            self.emit(cx, Outgoing { index, ecn: self.data_ecn(), retransmission: true }, &packet, out)?;
        }
        self.stats.retransmitted += 1;
        self.stats.stubs += u64::from(spared);
        self.paths[index].tx.retransmit(cx.now, number);
        self.spend(cx.now, index);
        if !self.paths[index].timers.is_running(Timer::Retransmit) {
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
    pub(super) fn send_next(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        self.fill_from_streams();
        if self.sends_copies()
            && let Some(copy) = self.send_copy(cx, index, room, out)
        {
            return copy;
        }
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
        let framing = self.composition.profile().framing;
        if room != usize::MAX && self.header_bytes(index) + self.outbox.next_bytes(framing, segment) > room {
            return None;
        }
        let queued = self.outbox.cut(framing, segment)?;
        let sent = Sent::new(self.outbox.next(), queued.payload.clone(), false, queued.push, queued.deadline);
        let Some(length) = self.send_new(cx, index, sent, usize::MAX, out) else {
            // The peer's address is not proven and may not be sent more for now.
            self.outbox.put_back(queued);
            return None;
        };
        let stored = Stored {
            payload: queued.payload,
            push: queued.push,
            deadline: queued.deadline,
            carriers: carrier(index),
            arrived: false,
        };
        if let Some(multi) = &mut self.multi {
            multi.store.push_back(stored);
        }
        self.outbox.count();
        self.stats.data_sent += 1;
        self.tell_writable();
        Some(length)
    }

    pub(super) fn tell_writable(&mut self) {
        let t = &self.composition.profile().tuning;
        let half = (t.send_buffer_packets as usize).div_ceil(2);
        let roomy = self.outbox.len() <= half && self.outbox.bytes() <= half * self.max_message_bytes();
        if self.outbox.wants_room && roomy {
            self.outbox.wants_room = false;
            self.tell(crate::event::EventKind::Writable);
        }
    }

    pub(super) fn next_reinjection(&self) -> Option<Sent> {
        let multi = self.multi.as_ref()?;
        multi.packet_of(*multi.reinject.front()?)
    }

    pub(super) fn send_new(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        sent: Sent,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let number = self.paths[index].tx.next();
        let packet = self.data_packet(index, number, &sent);
        let mut length = packet.encoded_len();
        if length > room {
            return None;
        }
        if self.leaves_in_parts(index, length) {
            length = self.send_in_parts(cx, index, number, &sent, length, out)?;
        } else {
            self.emit(cx, Outgoing { index, ecn: self.data_ecn(), retransmission: false }, &packet, out)?;
        }
        self.encode_later(cx, index, number, &sent);
        let app_limited = self.nothing_waits();
        let numbered = self.numbered(Flags::empty()) || packet_is_numbered(number);
        let tracked = self.composition.acknowledges();
        let keeps_payload = self.composition.profile().reliability.retransmits();
        let path = &mut self.paths[index];
        path.rate.cwr = false;
        if tracked {
            let mut sent = sent;
            if !keeps_payload {
                sent.payload = Bytes::new();
            }
            path.tx.transmit(cx.now, sent, app_limited);
            if !path.timers.is_running(Timer::Retransmit) {
                self.arm_retransmit(cx.now, index);
            }
        } else if numbered {
            path.tx.pass();
        }
        self.spend(cx.now, index);
        Some(length)
    }

    /// Only what ends a transfer is encoded, if the profile has it so.
    fn encodes_ends_only(&self) -> bool {
        let profile = self.composition.profile();
        profile.reliability.retransmits() && profile.tuning.tail_fec
    }

    /// The end of the data is known: encoded packets follow it and hold up none of them. In a flow that goes on they
    /// would wait for a pause that may not come.
    // R-HARQ-4
    pub(super) fn encoded_gives_way(&self) -> bool {
        self.encodes_ends_only() && self.closing.local != LocalFin::Open
    }

    /// More data wait that the peer grants.
    pub(super) fn more_follows(&self) -> bool {
        !self.nothing_waits() && !self.outbox.is_blocked()
    }

    /// Where no more data will come, what was gathered is encoded without waiting for them.
    // R-HARQ-4
    pub(super) fn end_groups(&mut self) {
        if !self.encoded_gives_way() || !self.nothing_waits() {
            return;
        }
        for path in self.paths.iter_mut() {
            if let Some(encoder) = &mut path.encoder {
                encoder.flush();
            }
        }
    }

    /// Under HARQ only what ends a transfer is encoded: in its midst a repetition costs one packet and holds up nobody,
    /// while at its end a loss costs a round trip. Without repetition everything is.
    // R-HARQ-4
    fn is_worth_encoding(&self, index: usize) -> bool {
        if !self.encodes_ends_only() {
            return true;
        }
        if self.outbox.turned_away && self.closing.local == LocalFin::Open {
            return false;
        }
        let profile = self.composition.profile();
        let waiting = match (profile.framing, &self.streams) {
            (_, Some(streams)) => streams.waiting_bytes() / self.max_message_bytes().max(1),
            (Framing::Fixed, None) => self.outbox.len(),
            (Framing::Coalesce, None) => self.outbox.bytes() / self.max_message_bytes().max(1),
        };
        let path = &self.paths[index];
        (waiting == 0 && path.has_room()) || waiting + (path.tx.in_flight() as usize) < TAIL_PACKETS
    }

    pub(super) fn encode_later(&mut self, cx: &Cx<'_>, index: usize, number: u64, sent: &Sent) {
        if self.paths[index].encoder.is_none() || !self.is_worth_encoding(index) {
            return;
        }
        let tuning = &self.composition.profile().tuning;
        let divisor = tuning.fec_timer_divisor;
        // What waits will join the group: on a slow line the timer would make a group of every packet. R-HARQ-4
        let ends_only = self.encodes_ends_only();
        let goes_on = ends_only && self.more_follows();
        let timed = tuning.fec_timer && !goes_on;
        let data_number = self.multi.as_ref().map_or(0, |multi| multi.local_number(sent.data_index));
        let path = &mut self.paths[index];
        let wait = path.rtt.smoothed() / divisor;
        let share = path.tx.loss_share();
        if ends_only {
            // Those that wait for the end of the data are no more than packets on their way.
            path.forget_useless_encoded();
        }
        let Some(encoder) = &mut path.encoder else { return };
        encoder.adapt(share);
        let coded = super::fec::Coded { data_number, push: sent.push, payload: sent.payload.clone() };
        encoder.add(cx.now, wait, number, &coded);
        let due = encoder.due_at;
        path.timers.set(Timer::Fec, due.filter(|_| timed).unwrap_or(Instant::FAR_FUTURE));
        self.end_groups();
    }

    // R-FEC-5
    pub(super) fn send_encoded(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        release_at: Instant,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let encoded = self.paths[index].encoder.as_mut()?.pop()?;
        let mut packet = self.base(self.data_flags(index));
        packet.header.error |= ErrorBits::ENC;
        packet.fec = self.offered_fec().map(|fec| Fec { range: encoded.count, ..fec });
        packet.sequence = self.sequence(index, encoded.first, packet.header.flags);
        packet.payload = &encoded.payload;
        self.stats.encoded_sent += 1;
        let outgoing = Outgoing { index, ecn: self.data_ecn(), retransmission: false };
        let transmit = self.emit(cx, outgoing, &packet, out);
        let transmit = transmit.map(|transmit| Transmit { release_at, ..transmit });
        self.spend(cx.now, index);
        transmit
    }

    pub(super) fn send_fin(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        fin: Sent,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
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
    pub(super) fn send_data_fin(&mut self, cx: &mut Cx<'_>, out: &mut Vec<u8>) -> Option<Transmit> {
        self.closing.local = LocalFin::Sent;
        let index = self.pick_path(|_| true).unwrap_or(self.paths.active);
        let path = &mut self.paths[index];
        self.closing.data_fin.at = cx.now + path.rtt.rto();
        self.closing.data_fin.path = index;
        self.copy_data_fin();
        self.send_ack(cx, index, AckNumber::Next, out)
    }
}

/// The first packets of a connection are numbered even if the rest is not, because they carry ACK or SYN.
fn packet_is_numbered(number: u64) -> bool {
    number <= CONFIRMING_PACKETS
}
