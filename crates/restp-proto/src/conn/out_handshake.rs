//! Packets out: SYN, SYN-ACK, reset, and the order of control packets.

use rand_core::Rng;

use super::output::{AckNumber, Outgoing};
use super::path::{Stage, Timer};
use super::shape::{fec_code, report_bits};
use super::{Connection, Cx, Phase};
use crate::crypto;
use crate::path::{Ecn, Transmit};
use crate::profile::{Congestion, Management};
use crate::seq;
use crate::wire::{
    Arq, ErrorBits, Fec, Flags, Flow, JoinStep, MpCapable, MpJoin, Multipath, Order, Packet, Sequence,
};

/// Width of the interval, as a share of the wait, from which the next transmission of a SYN is drawn (R-CM-4).
const JITTER: f64 = 0.25;

impl Connection {
    pub(super) fn poll_control(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let wants = self.paths[index].wants;
        if let Some(number) = self.paths[index].wants.refuse.take() {
            let mut packet = self.base(Flags::RST);
            packet.sequence = Sequence::Arq(Arq { sequence: number, acknowledgement: 0 });
            return self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out);
        }
        if wants.syn {
            self.paths[index].wants.syn = false;
            if !self.first_data_are_the_syn(index) {
                return self.send_syn(cx, index, out);
            }
            self.start_handshake_timer(cx, index);
        }
        if wants.syn_ack {
            self.paths[index].wants.syn_ack = false;
            return self.send_syn_ack(cx, index, out);
        }
        if wants.confirm {
            self.paths[index].wants.confirm = false;
            self.start_handshake_timer(cx, index);
            return self.send_ack(cx, index, AckNumber::First, out);
        }
        if wants.probe {
            self.paths[index].wants.probe = false;
            let transmit = self.send_ack(cx, index, AckNumber::Previous, out);
            if transmit.is_some() {
                self.paths[index].health.on_probe_sent(cx.now);
            }
            return transmit;
        }
        if wants.priority {
            self.paths[index].ack.now = true;
        }
        if let Some(transmit) = self.poll_moving(cx, index, out) {
            return Some(transmit);
        }
        if let Some(transmit) = self.poll_sizes(cx, index, out) {
            return Some(transmit);
        }
        self.poll_resend(cx, index, out)
    }

    /// True before the first packet of an opening that has no SYN of its own. What is repeated is an ordinary SYN.
    fn first_data_are_the_syn(&self, index: usize) -> bool {
        let profile = self.composition.profile();
        let opportunistic = profile.management == Management::Opportunistic && self.phase == Phase::Handshake;
        !profile.tuning.syn_first && opportunistic && index == 0 && self.paths[index].handshake.tries() == 0
    }

    // R-CM-4
    pub(super) fn start_handshake_timer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let t = &self.composition.profile().tuning;
        let (initial, max) = (t.initial_rto, t.max_rto);
        let (even, jitter) = (t.even_handshake_tries, t.handshake_jitter);
        let path = &mut self.paths[index];
        let doublings = path.handshake.tries().saturating_sub(even).min(16);
        let wait = initial.saturating_mul(1 << doublings).min(max);
        path.handshake.on_sent(cx.now);
        // Many ends that lost the same peer at the same moment must not come back at the same moment.
        let share = if jitter {
            1.0 + JITTER * (f64::from(cx.rng.next_u32()) / f64::from(u32::MAX) - 0.5)
        } else {
            1.0
        };
        path.timers.set(Timer::Handshake, cx.now + wait.mul_f64(share));
    }

    pub(super) fn send_syn(&mut self, cx: &mut Cx<'_>, index: usize, out: &mut Vec<u8>) -> Option<Transmit> {
        self.start_handshake_timer(cx, index);
        let message = self.handshake_message();
        let mut packet = Packet { payload: &message, ..self.syn_packet(index) };
        self.seal_join(index, &mut packet);
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    /// The SYN of path `index`, without the message of a protected handshake.
    pub(super) fn syn_packet(&self, index: usize) -> Packet<'static> {
        let mut packet = self.base(Flags::SYN);
        packet.sequence = Sequence::Arq(Arq { sequence: self.paths[index].local_isn, acknowledgement: 0 });
        let opportunistic = self.composition.profile().management == Management::Opportunistic;
        if opportunistic && index == 0 {
            match self.negotiation.cookie {
                Some(cookie) => packet.cookie = Some(cookie),
                None => packet.header.flow |= Flow::CKI,
            }
        }
        if let Some(cookie) = self.negotiation.cookie.filter(|_| self.seal.is_some() && index == 0) {
            packet.cookie = Some(cookie);
            packet.header.flow |= Flow::CKI;
        }
        if opportunistic && index != 0 {
            // Presence of a cookie follows from the bits alone; a join shows the one of its connection.
            packet.cookie = self.negotiation.cookie;
        }
        if self.composition.profile().tuning.ecn && self.composition.profile().congestion != Congestion::None
        {
            packet.header.flags |= Flags::ECE | Flags::CWR;
        }
        packet.fec = self.offered_fec();
        packet.multipath = self.syn_multipath(index);
        if index == 0 && packet.header.order == Order::Streams {
            // Asked for so that who does not know streams answers without them. R-STR-1
            packet.header.order = Order::None;
            packet.header.flags |= Flags::URG;
        }
        packet
    }

    /// Our message of the protected handshake, empty if there is none.
    fn handshake_message(&self) -> Vec<u8> {
        self.seal.as_ref().map(|seal| seal.message.clone()).unwrap_or_default()
    }

    pub(super) fn offered_fec(&self) -> Option<Fec> {
        self.composition.profile().reliability.fec().map(|kind| Fec { kind: fec_code(kind), range: 0 })
    }

    // R-MP-12
    pub(super) fn syn_multipath(&self, index: usize) -> Option<Multipath> {
        let multi = self.multi.as_ref()?;
        let path = &self.paths[index];
        match &path.join {
            None if self.phase == Phase::CookieRequest => None,
            None => {
                Some(Multipath::Capable(MpCapable::OneKey { flags: multi.flags(), key: multi.local_key }))
            }
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

    pub(super) fn send_syn_ack(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        self.start_handshake_timer(cx, index);
        let mut packet = self.base(Flags::SYN | Flags::ACK);
        let path = &self.paths[index];
        packet.sequence = Sequence::Arq(Arq {
            sequence: path.local_isn,
            acknowledgement: seq::to_wire(path.peer_isn, path.rx.next()),
        });
        packet.header.error |= report_bits(self.composition.profile().ack_report);
        packet.fec = self.offered_fec();
        packet.multipath = match (&self.multi, &path.join) {
            (Some(multi), None) => {
                Some(Multipath::Capable(MpCapable::OneKey { flags: multi.flags(), key: multi.local_key }))
            }
            (Some(_), Some(join)) => {
                let proof = self.join_proof(index)?;
                let mut mac = [0; 8];
                mac.copy_from_slice(&proof[..8]);
                let step = JoinStep::SynAck { mac, nonce: join.local_nonce };
                Some(Multipath::Join(MpJoin { backup: path.backup, address_id: path.id.0, step }))
            }
            (None, _) => None,
        };
        let message = self.handshake_message();
        let mut packet = Packet { payload: &message, ..packet };
        self.seal_join(index, &mut packet);
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }

    pub(super) fn send_reset(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let path = &self.paths[index];
        let knows_peer = path.handshake.confirmed || path.stage != Stage::SynSent;
        let mut packet = self.base(Flags::RST);
        if knows_peer {
            packet.header.flags |= Flags::ACK;
        }
        packet.sequence = Sequence::Arq(Arq {
            sequence: seq::to_wire(path.local_isn, path.tx.next()),
            acknowledgement: if knows_peer { seq::to_wire(path.peer_isn, path.rx.next()) } else { 0 },
        });
        packet.window = self.shape.window.then_some(0);
        // R-CM-11
        let code = self.closing.reset_code.filter(|_| knows_peer).map(u32::to_be_bytes);
        packet.payload = code.as_ref().map_or(&[], |code| code);
        if packet.header.error.contains(ErrorBits::FEC | ErrorBits::ARQ) && knows_peer && code.is_none() {
            packet.fec = self.offered_fec();
        }
        if let Some(multi) = self.multi.as_ref().filter(|_| self.phase == Phase::Closed)
            && let Some(key) = multi.peer_key
        {
            // The peer's own key proves the right to end the whole connection (answer H6).
            packet.multipath = Some(Multipath::Capable(MpCapable::OneKey { flags: multi.flags(), key }));
        }
        self.emit(cx, Outgoing { index, ecn: Ecn::NotEct, retransmission: false }, &packet, out)
    }
}
