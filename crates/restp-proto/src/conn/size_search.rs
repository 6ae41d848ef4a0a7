//! The search for how long the packets of a path may be: probes (RFC 8899), a retreat where long ones vanish, and parts of
//! packets that were numbered when longer ones still passed.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use rand_core::Rng;

use super::input::Numbers;
use super::output::Outgoing;
use super::path::Timer;
use super::sender::Sent;
use super::sizes::{PART_HEAD_BYTES, Probe, join};
use super::{Connection, Cx};
use crate::path::{Ecn, Transmit};
use crate::wire::{Cookie, Decoded, Flags, Flow, Packet};

/// Probes of a size without answer after which it does not pass (MAX_PROBES, RFC 8899 section 5.1.2).
const TRIES: u32 = 3;
/// Least wait for the answer to a probe (PROBE_TIMER, RFC 8899 section 5.1.1).
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// After this time a path is searched again for longer packets (PMTU_RAISE_TIMER, RFC 8899 section 5.1.1).
const RAISE_AFTER: Duration = Duration::from_secs(600);
/// From this transmission on a long packet is taken to vanish because of its length.
const SUSPICIOUS_TRANSMISSIONS: u32 = 2;

impl Connection {
    /// A path is confirmed, or goes on elsewhere: what passes there is to be found out.
    // R-SIZE-2
    pub(super) fn search_sizes(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if let Some(sizes) = path.sizes.as_mut().filter(|_| path.handshake.confirmed) {
            sizes.retreat();
            self.next_size(cx, index);
        }
    }

    fn next_size(&mut self, cx: &mut Cx<'_>, index: usize) {
        // Parts need a number.
        let numbered = self.numbered(Flags::empty());
        let path = &mut self.paths[index];
        path.timers.stop(Timer::Search);
        let Some(sizes) = path.sizes.as_mut().filter(|_| numbered) else { return };
        match sizes.candidate() {
            Some(bytes) => {
                let mut nonce = [0; 16];
                cx.rng.fill_bytes(&mut nonce);
                nonce[0] &= 0x7F;
                sizes.probe = Cookie::new(&nonce).map(|nonce| Probe { bytes, nonce, tries: 0, due: true });
            }
            None if sizes.carried_bytes < sizes.ceiling_bytes => {
                path.timers.set(Timer::Search, cx.now + RAISE_AFTER)
            }
            None => {}
        }
    }

    /// A probe was not answered, or it is time to search again.
    // R-SIZE-2
    pub(super) fn on_search_timer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if path.outage.is_some() || path.health.is_suspect() || path.progress.retries > 0 {
            // While nothing passes a probe shows nothing.
            path.timers.set(Timer::Search, cx.now + path.rtt.rto().max(PROBE_WAIT));
            return;
        }
        let Some(sizes) = &mut path.sizes else { return };
        match &mut sizes.probe {
            Some(probe) if probe.tries < TRIES => {
                probe.due = true;
                return;
            }
            Some(probe) => {
                sizes.refused_bytes = probe.bytes;
                sizes.probe = None;
            }
            None => sizes.refused_bytes = sizes.ceiling_bytes + 1,
        }
        self.next_size(cx, index);
    }

    /// The answer to a probe: packets of its length pass.
    // R-SIZE-1, R-SIZE-2
    pub(super) fn on_size_answer(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        let Some(sizes) = &mut self.paths[index].sizes else { return };
        let Some(probe) = sizes.probe.take_if(|probe| probe.nonce.answered() == packet.cookie) else {
            return;
        };
        sizes.carried_bytes = probe.bytes;
        self.stats.size_probes_answered += 1;
        self.next_size(cx, index);
        self.tell_writable();
    }

    /// The payload of a challenge, or of the answer to one, only makes it long.
    // R-SIZE-1
    pub(super) fn is_padded(packet: &Packet<'_>) -> bool {
        packet.header.flow.contains(Flow::CKI) && !packet.header.flags.contains(Flags::SYN)
    }

    /// The next part, or probe, of path `index`.
    pub(super) fn poll_sizes(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let sizes = self.paths[index].sizes.as_mut()?;
        if let Some((number, part)) = sizes.parts.pop_front() {
            let start = out.len();
            self.send_part(cx, index, number, &part, out)?;
            let size_bytes = out.len() - start;
            let path = self.paths[index].addr;
            let ecn = self.data_ecn();
            return Some(Transmit { path, ecn, size_bytes, segment_size: size_bytes, release_at: cx.now });
        }
        let probe = sizes.probe.as_mut().filter(|probe| probe.due)?;
        probe.due = false;
        probe.tries += 1;
        let (bytes, nonce) = (probe.bytes, probe.nonce);
        let path = &mut self.paths[index];
        let wait = path.rtt.rto().max(PROBE_WAIT);
        path.timers.set(Timer::Search, cx.now + wait);
        // A payload changes what stands in the header, hence its length.
        let mut packet = Packet { fec: None, payload: &[0], ..self.cookie_packet(index, nonce) };
        let padding = vec![0; bytes.saturating_sub(packet.encoded_len() - 1)];
        packet.payload = &padding;
        self.stats.size_probes += 1;
        // Its loss says nothing of congestion, so that it stands outside of everything that counts losses.
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    /// A long packet is to leave for the third time: take it that long ones do not pass any more.
    // R-SIZE-3
    pub(super) fn doubt_size(&mut self, cx: &mut Cx<'_>, index: usize, packet_bytes: usize, sent: &Sent) {
        let path = &mut self.paths[index];
        let wait = path.rtt.rto();
        let Some(sizes) = &mut path.sizes else { return };
        let long = packet_bytes > sizes.base_bytes && packet_bytes <= sizes.carried_bytes;
        if long && sent.transmissions >= SUSPICIOUS_TRANSMISSIONS {
            sizes.retreat();
            path.timers.set(Timer::Search, cx.now + wait);
            self.stats.black_holes += 1;
        }
    }

    /// Whether a packet of path `index` is too long for it and must leave in parts.
    pub(super) fn leaves_in_parts(&self, index: usize, packet_bytes: usize) -> bool {
        let sizes = self.paths[index].sizes.as_ref();
        sizes.is_some_and(|sizes| packet_bytes > sizes.carried_bytes)
    }

    /// Cuts a packet of `packet_bytes`, sends its first part, and lets the others follow before everything else.
    // R-SIZE-4
    pub(super) fn send_in_parts(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        sent: &Sent,
        packet_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let total = sent.payload.len();
        let head_bytes = packet_bytes - total + PART_HEAD_BYTES;
        let sizes = self.paths[index].sizes.as_mut()?;
        let room = sizes.carried_bytes.checked_sub(head_bytes).filter(|room| *room > 0)?;
        for offset in (0..total).step_by(room) {
            let piece = &sent.payload[offset..total.min(offset + room)];
            let mut payload = BytesMut::with_capacity(PART_HEAD_BYTES + piece.len());
            payload.put_u16(u16::try_from(offset).ok()?);
            payload.put_u16(u16::try_from(total).ok()?);
            payload.extend_from_slice(piece);
            let mut part = sent.clone();
            part.payload = payload.freeze();
            sizes.parts.push_back((number, part));
        }
        let (number, first) = sizes.parts.pop_front()?;
        self.stats.cut_packets += 1;
        self.send_part(cx, index, number, &first, out)
    }

    fn send_part(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        number: u64,
        part: &Sent,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut packet = self.data_packet(index, number, part);
        packet.header.flags |= Flags::URG;
        let length = packet.encoded_len();
        self.emit(cx, Outgoing { index, ecn: self.data_ecn(), retransmission: true }, &packet, out)?;
        self.spend(cx.now, index);
        Some(length)
    }

    /// A part of packet `number`; once all have arrived they are that packet.
    // R-SIZE-4
    pub(super) fn on_part(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        ecn: Ecn,
        decoded: &Decoded<'_>,
        numbers: Numbers,
    ) {
        let path = &mut self.paths[index];
        let whole = match (numbers.own, decoded.packet.payload.split_first_chunk()) {
            (Some(number), _) if path.rx.contains(number) => {
                self.stats.duplicates += 1;
                path.ack.now = true;
                return;
            }
            (Some(number), Some((head, piece))) => join(&mut path.partial, number, *head, piece),
            _ => None,
        };
        let Some(payload) = whole else { return };
        let mut header = decoded.packet.header;
        header.flags -= Flags::URG;
        let packet = Packet { header, payload: &payload, ..decoded.packet };
        self.on_payload(cx, index, ecn, &Decoded { packet, ..*decoded }, numbers);
    }
}
