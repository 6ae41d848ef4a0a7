//! Packets in: checks that every packet must pass, then dispatch.

use super::copies::is_stub;
use super::path::{Path, Stage, Timer};
use super::{Connection, Cx, Phase, Role};
use crate::event::CloseReason;
use crate::log::LogEvent;
use crate::path::{Ecn, PathAddr};
use crate::profile::Management;
use crate::seq;
use crate::time::Instant;
use crate::wire::{
    Cookie, Decoded, Flags, Flow, MpCapable, Multipath, Packet, PayloadCheck, Sequence, Version,
};

/// The numbers of a packet, unwrapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Its own number, if it has one.
    pub own: Option<u64>,
    /// Everything before this has arrived at the peer.
    pub ack: Option<u64>,
}

impl Connection {
    /// Handles a packet that belongs to path `index` and came on `to`, which may not be its address any more, or not yet. Returns a cookie to be remembered for this peer.
    pub fn handle(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        to: &PathAddr,
        ecn: Ecn,
        decoded: &Decoded<'_>,
        datagram: &[u8],
    ) -> Option<Cookie> {
        self.credit(index, datagram.len());
        if decoded.packet.header.version == Version::Clear {
            return self.handle_open(cx, index, to, ecn, decoded, datagram.len());
        }
        let mut plain = std::mem::take(cx.scratch);
        let opened = self.unseal(cx, index, decoded, datagram, &mut plain);
        let cookie =
            opened.and_then(|decoded| self.handle_open(cx, index, to, ecn, &decoded, datagram.len()));
        *cx.scratch = plain;
        cookie
    }

    /// Handles a packet in clear text, or one that was opened.
    fn handle_open(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        to: &PathAddr,
        ecn: Ecn,
        decoded: &Decoded<'_>,
        bytes: usize,
    ) -> Option<Cookie> {
        let packet = &decoded.packet;
        self.stats.packets_received += 1;
        self.stats.bytes_received += bytes as u64;
        self.log_received(cx, index, packet);
        if packet.header.flow.contains(Flow::CXF) {
            self.stats.custody_bits += 1;
        }
        let answer = self.paths[index].stage == Stage::SynSent;
        if answer && index == 0 {
            let cookie = self.on_answer(cx, packet);
            if self.paths[0].stage == Stage::SynSent || self.phase == Phase::Closed {
                return cookie;
            }
        } else if answer {
            self.on_join_answer(cx, index, packet);
            return None;
        }
        if self.phase == Phase::Closed || self.paths[index].stage == Stage::Closed {
            return None;
        }
        // Answer A15. R-HDR-8
        if packet.frozen_bits() != self.shape.frozen {
            self.stats.frozen_mismatch += 1;
            return None;
        }
        self.on_packet(cx, index, to, ecn, decoded);
        None
    }

    fn log_received(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        if cx.observer.is_none() {
            return;
        }
        let (seq, ack) = match packet.sequence {
            Sequence::Arq(arq) => (arq.sequence, arq.acknowledgement),
            Sequence::Seq(seq) => (seq, 0),
            Sequence::None => (0, 0),
        };
        cx.log(LogEvent::PacketReceived {
            path: self.paths[index].id.0,
            flags: packet.header.flags.bits(),
            seq,
            ack,
            payload_bytes: packet.payload.len(),
        });
    }

    fn numbers(&self, index: usize, packet: &Packet<'_>) -> Option<Numbers> {
        let path = &self.paths[index];
        let own = match packet.sequence.number() {
            Some(wire) => Some(seq::from_wire(path.peer_isn, wire, path.rx.next())?),
            None => None,
        };
        let ack = match packet.sequence {
            Sequence::Arq(arq) if packet.header.flags.contains(Flags::ACK) => {
                Some(seq::from_wire(path.local_isn, arq.acknowledgement, path.tx.first())?)
            }
            _ => None,
        };
        Some(Numbers { own, ack })
    }

    fn on_packet(&mut self, cx: &mut Cx<'_>, index: usize, to: &PathAddr, ecn: Ecn, decoded: &Decoded<'_>) {
        let packet = &decoded.packet;
        let flags = packet.header.flags;
        let Some(numbers) = self.numbers(index, packet) else {
            self.stats.out_of_window += 1;
            return;
        };
        if flags.contains(Flags::RST) {
            self.on_reset(cx, index, decoded, numbers);
            return;
        }
        if !self.plausible(index, numbers) {
            self.stats.out_of_window += 1;
            self.challenge(cx.now, index);
            return;
        }
        if flags.contains(Flags::SYN) && !self.expected_syn(cx.now, index, packet, numbers) {
            return;
        }
        self.note_followed(cx.now, index, to, packet);
        self.heard(cx, index, packet, numbers);
        if let Some(ack) = numbers.ack
            && !(flags.contains(Flags::SYN)
                && packet.payload.is_empty()
                && self.paths[index].handshake.confirmed)
        {
            self.on_ack(cx, index, packet, ack);
        }
        if self.phase == Phase::Closed {
            return;
        }
        self.on_multipath(cx, index, packet);
        self.on_challenge(cx, index, packet);
        if self.on_stub(index, packet, numbers.own) {
            // It has nothing else to say.
        } else if packet.payload.is_empty() {
            self.on_bare(index, packet, numbers);
        } else if !Self::is_padded(packet) {
            self.on_payload(cx, index, ecn, decoded, numbers);
            self.feed_streams(cx);
        }
        if flags.contains(Flags::FIN)
            && let Some(number) = numbers.own
        {
            // A FIN carries no payload; its number is its own.
            self.on_fin(cx, index, number);
        }
        if self.closing.remote.is_some() || self.multi.is_some() {
            self.check_fin(cx);
        }
    }

    /// Numbers that an honest peer can have: nobody acknowledges what was never sent (RFC 5961 section 5).
    // R-SEC-4
    fn plausible(&self, index: usize, numbers: Numbers) -> bool {
        let path = &self.paths[index];
        let window = u64::from(u16::MAX);
        let ack_fine = numbers.ack.is_none_or(|ack| ack <= path.tx.next() && ack + window >= path.tx.first());
        let own_fine = numbers.own.is_none_or(|own| {
            own + window >= path.rx.next() && own <= path.rx.next().max(path.rx.end()) + window
        });
        ack_fine && own_fine
    }

    /// A SYN on an open path is either the other half of a doubled SYN, or an attempt to disturb.
    // R-OPT-4
    fn expected_syn(&mut self, now: Instant, index: usize, packet: &Packet<'_>, numbers: Numbers) -> bool {
        let path = &mut self.paths[index];
        let flags = packet.header.flags;
        let from_initiator = !flags.contains(Flags::ACK);
        let fits_role = from_initiator == (self.role == Role::Responder);
        let number = if packet.payload.is_empty() { 0 } else { 1 };
        if !fits_role || numbers.own != Some(number) {
            self.stats.out_of_window += 1;
            self.challenge(now, index);
            return false;
        }
        if !packet.payload.is_empty() {
            return true;
        }
        // A repeated SYN wants the SYN-ACK again, a repeated SYN-ACK the third acknowledgement.
        match self.role {
            Role::Responder if path.stage == Stage::SynReceived => path.wants.syn_ack = true,
            Role::Responder => path.ack.now = true,
            Role::Initiator if path.handshake.confirmed => path.ack.now = true,
            Role::Initiator if !path.wants.confirm && !path.timers.is_running(Timer::Handshake) => {
                path.wants.confirm = true;
            }
            Role::Initiator => {}
        }
        self.role == Role::Initiator && !path.handshake.confirmed
    }

    /// Asks the peer, if it is the peer, to show the right numbers.
    pub(super) fn challenge(&mut self, now: Instant, index: usize) {
        if self.silence.may_challenge(now) && self.paths[index].is_open() {
            self.silence.on_challenge(now);
            self.paths[index].ack.now = true;
        }
    }

    /// Only a reset with exactly the next expected number is obeyed; one that is near is challenged (RFC 5961; D12).
    // R-SEC-3, R-MP-11
    fn on_reset(&mut self, cx: &mut Cx<'_>, index: usize, decoded: &Decoded<'_>, numbers: Numbers) {
        let packet = &decoded.packet;
        let path = &self.paths[index];
        let exact = numbers.own == Some(path.rx.next());
        let near = numbers.own.is_some_and(|own| own.abs_diff(path.rx.next()) <= u64::from(u16::MAX));
        if !exact {
            self.stats.out_of_window += 1;
            if near {
                self.challenge(cx.now, index);
            }
            return;
        }
        let whole = match (&self.multi, packet.multipath) {
            (None, _) => true,
            (Some(multi), Some(Multipath::Capable(MpCapable::OneKey { key, .. }))) => {
                if !multi.is_local_key(key) {
                    self.stats.unauthentic += 1;
                    return;
                }
                true
            }
            (Some(_), _) => false,
        };
        let alone = self.paths.iter().filter(|path| path.is_open()).count() <= 1;
        if whole || alone {
            let reason = if self.closing.is_complete() || self.is_last_ack() {
                // The peer had nothing left to do and has forgotten the connection already.
                CloseReason::Graceful
            } else if self.phase == Phase::Handshake && self.role == Role::Initiator {
                CloseReason::Refused
            } else if self.seal.is_some()
                && self.role == Role::Initiator
                && !self.paths[index].handshake.confirmed
            {
                // The responder of XX saw our key last, and does not take it.
                CloseReason::Unauthenticated
            } else {
                // R-CM-11
                let whole = decoded.payload_check != PayloadCheck::Corrupt;
                let code = packet.payload.try_into().ok().filter(|_| whole).map(u32::from_be_bytes);
                code.map_or(CloseReason::Reset, CloseReason::Application)
            };
            self.finish(cx, reason);
        } else {
            self.drop_path(cx, index);
        }
    }

    /// A packet with credible numbers arrived: the path and the peer are alive.
    fn heard(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>, numbers: Numbers) {
        self.silence.broken(cx.now, &self.composition.profile().tuning);
        let path = &mut self.paths[index];
        path.cause.on_packet();
        path.rate.on_packet();
        let flags = packet.header.flags;
        let begins_anew = path.progress.on_end_of_silence(cx.now, path.health.heard_at());
        if begins_anew && path.timers.is_running(Timer::Tail) {
            // R-ARQ-4
            path.timers.set(Timer::Tail, cx.now);
        }
        let answer = path.health.hear(cx.now, is_probe(path, packet, numbers));
        if let (Some(at), true) = (answer, path.tx.is_empty()) {
            // On a path without data only probes tell the RTT.
            path.rtt.sample(cx.now.saturating_since(at));
        }
        if path.outage.is_some() {
            self.leave_outage(cx, index);
        }
        let fresh = !flags.contains(Flags::SYN)
            && (flags.contains(Flags::ACK) || packet.header.version == Version::Protected);
        let connectionless = self.composition.profile().management == Management::Connectionless;
        let proves = index != 0 || self.role == Role::Initiator || numbers.ack.is_some_and(|ack| ack >= 1);
        if fresh
            && proves
            && !connectionless
            && !self.paths[index].handshake.confirmed
            && self.confirmable(index, packet)
        {
            self.confirm(cx, index);
        }
        self.note_cause();
    }

    /// Probes and keepalives carry a number before the window and want an answer; nothing else without payload does.
    // R-CM-8
    fn on_bare(&mut self, index: usize, packet: &Packet<'_>, numbers: Numbers) {
        let path = &mut self.paths[index];
        let plain = is_plain(packet);
        let probe = is_probe(path, packet, numbers);
        // A third acknowledgement that comes again: ours of it was lost, and nothing else will confirm it.
        let confirm = self.role == Role::Responder && path.rx.next() == 1 && path.tx.first() == 1;
        if plain && path.is_open() && (probe || confirm) {
            path.ack.now = true;
        }
    }
}

/// Nothing of it takes a number.
fn is_plain(packet: &Packet<'_>) -> bool {
    packet.payload.is_empty() && !is_stub(packet) && !packet.header.flags.intersects(Flags::SYN | Flags::FIN)
}

/// It carries a number before the window, and wants an answer.
// R-CM-8
fn is_probe(path: &Path, packet: &Packet<'_>, numbers: Numbers) -> bool {
    is_plain(packet) && numbers.own.is_some_and(|own| own + 1 == path.rx.next())
}
