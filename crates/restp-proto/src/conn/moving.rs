//! Peers that speak from another address: they are asked for proof there before anything else is sent to it.

use super::handshake::AMPLIFICATION;
use super::output::Outgoing;
use super::path::{Stage, Timer};
use super::proof::Moving;
use super::{Connection, Cx, Phase};
use crate::path::{Ecn, PathAddr, PathId, Transmit};
use crate::seq;
use crate::time::Instant;
use crate::wire::{Cookie, Flags, Flow, Packet, Sequence};

/// Timeouts after a move that an answer from the address before may take, at most.
const FOLLOWED_AFTER_RTOS: u32 = 3;

impl Connection {
    /// The path that `packet`, from a new address or to a former one of ours, continues: its numbers must lie in the windows
    /// of both directions, or be those of a packet that arrived not long ago.
    // R-ENCAP-3
    pub fn moved_path(&self, addr: &PathAddr, packet: &Packet<'_>) -> Option<usize> {
        if self.phase != Phase::Established || packet.frozen_bits() != self.shape.frozen {
            return None;
        }
        let Sequence::Arq(arq) = packet.sequence else { return None };
        self.paths.iter().position(|path| {
            let own = seq::from_wire(path.peer_isn, arq.sequence, path.rx.next());
            let ack = seq::from_wire(path.local_isn, arq.acknowledgement, path.tx.first());
            let window = u64::from(self.composition.profile().tuning.receive_window_packets);
            path.stage == Stage::Established
                && (path.addr.local == addr.local || path.addr.remote == addr.remote)
                // A repetition of what has arrived comes first where the acknowledgement of it was lost.
                && own.is_some_and(|own| own + window >= path.rx.next() && own < path.rx.next() + window)
                && ack.is_some_and(|ack| ack >= path.tx.first() && ack <= path.tx.next())
        })
    }

    /// The peer spoke from `addr` and has not proven to be there: it is asked, and the path stays where it is.
    // R-ENCAP-3, R-SEC-1
    pub fn ask_for_proof(
        &mut self,
        now: Instant,
        index: usize,
        addr: PathAddr,
        received_bytes: usize,
        challenge: Cookie,
    ) {
        let packet = self.cookie_packet(index, challenge);
        let Some(path) = self.paths.get_mut(index) else { return };
        // The tag of a sealed packet comes on top of what is counted here.
        let fits = packet.encoded_len() + crate::wire::TAG_BYTES <= received_bytes * AMPLIFICATION;
        if fits {
            path.moving.get_or_insert_default().ask(addr, challenge, now);
        }
    }

    /// The peer has proven to be at `addr`: path `index` goes on there.
    // R-ENCAP-3, R-SIZE-2
    pub fn move_path(&mut self, cx: &mut Cx<'_>, index: usize, addr: PathAddr) {
        let Some(path) = self.paths.get_mut(index) else { return };
        let asked_at = path.moving.as_ref().and_then(|moving| moving.asked_at(&addr));
        if let Some(moving) = &mut path.moving {
            moving.settle();
        }
        path.health.forget_probe();
        self.go_another_way(cx, index, addr);
        if let Some(at) = asked_at {
            self.paths[index].guess_rtt(cx.now.saturating_since(at));
            self.arm_retransmit(cx.now, index);
        }
        // The new way may carry less, or more.
        self.search_sizes(cx, index);
    }

    /// The path with this name, unless it was closed.
    pub fn live_path(&self, id: PathId) -> Option<(usize, PathAddr)> {
        let index = self.paths.named(id)?;
        Some((index, self.paths[index].addr))
    }

    /// Our own address on path `index` has changed: the peer hears from the new one at once, and asks for proof.
    // R-ENCAP-3, R-SIZE-2
    pub fn continue_from(&mut self, cx: &mut Cx<'_>, index: usize, addr: PathAddr) {
        let path = &mut self.paths[index];
        if path.stage != Stage::Established {
            path.addr = addr;
        } else {
            path.moving = Some(Box::new(Moving::from_here(cx.now)));
            self.go_another_way(cx, index, addr);
        }
        self.call_after(cx.now, index);
        self.search_sizes(cx, index);
    }

    /// From now on path `index` goes to or from another address: what was learnt of the way before tells nothing of this
    /// one, and what may have been lost there is asked after at once.
    // R-ENCAP-5
    fn go_another_way(&mut self, cx: &Cx<'_>, index: usize, addr: PathAddr) {
        let profile = self.composition.profile();
        let probes = if profile.tuning.tail_probe && profile.reliability.retransmits() {
            profile.tuning.probe_packets
        } else {
            0
        };
        let path = &mut self.paths[index];
        let before = std::mem::replace(&mut path.addr, addr);
        let same_hosts = before.local.ip() == addr.local.ip() && before.remote.ip() == addr.remote.ip();
        path.tx.leave_way();
        if !same_hosts || path.progress.retries > 0 {
            path.learn_anew(&self.composition);
        }
        path.progress.made(true);
        path.rtt.reset_backoff();
        if path.tx.waits() {
            path.wants.tail_probes = probes;
        }
        self.arm_retransmit(cx.now, index);
    }

    /// Speaks to a peer that may not have followed: who has nothing to send would not be heard of again if that was lost,
    /// or came when the peer had asked too often. The wait doubles.
    // R-ENCAP-3
    pub(super) fn call_after(&mut self, now: Instant, index: usize) {
        let longest = self.composition.profile().tuning.max_rto;
        let path = &mut self.paths[index];
        let Some(left_at) = path.moving.as_ref().and_then(|moving| moving.left_at) else { return };
        path.wants.probe = true;
        let wait = now.saturating_since(left_at).max(path.rtt.base_rto()).min(longest);
        path.timers.set(Timer::Follow, now + wait);
    }

    /// The peer sends to `to`: if that is where path `index` went on, it has followed.
    ///
    /// Not at once: what we answered from another address may be under way still, and lead it back there.
    // R-ENCAP-3
    pub(super) fn note_followed(&mut self, now: Instant, index: usize, to: &PathAddr, packet: &Packet<'_>) {
        let path = &mut self.paths[index];
        let Some(left_at) = path.moving.as_ref().and_then(|moving| moving.left_at) else { return };
        if *to == path.addr {
            path.guess_rtt(now.saturating_since(left_at));
        }
        let settled = now.saturating_since(left_at) >= path.rtt.base_rto() * FOLLOWED_AFTER_RTOS;
        // A challenge comes where the peer only supposes us to be.
        if settled && packet.cookie.is_none() && *to == path.addr {
            if let Some(moving) = &mut path.moving {
                moving.left_at = None;
            }
            path.timers.stop(Timer::Follow);
        }
    }

    /// The peer asks for proof that we are where it heard us.
    pub(super) fn on_challenge(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        if packet.header.flags.contains(Flags::SYN) {
            return;
        }
        if let Some(answer) = packet.cookie.and_then(Cookie::answered) {
            self.paths[index].moving.get_or_insert_default().answer = Some(answer);
        } else if packet.cookie.is_some() {
            self.on_size_answer(cx, index, packet);
        }
    }

    /// A challenge or the answer to one, if path `index` owes it.
    pub(super) fn poll_moving(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let what = Outgoing { index, ecn: Ecn::NotEct, retransmission: false };
        let moving = self.paths[index].moving.as_mut()?;
        if let Some(answer) = moving.answer.take() {
            let packet = self.cookie_packet(index, answer);
            return self.emit(cx, what, &packet, out);
        }
        let (addr, challenge) = moving.take()?;
        let packet = self.cookie_packet(index, challenge);
        self.emit_to(cx, what, addr, &packet, out)
    }

    pub(super) fn cookie_packet(&self, index: usize, cookie: Cookie) -> Packet<'static> {
        let mut packet = self.last_ack(index);
        packet.header.flow |= Flow::CKI;
        packet.cookie = Some(cookie);
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-ENCAP-3
    #[test]
    fn an_end_that_moved_calls_until_it_is_sent_to_there_and_not_only_asked() {
        let composition = crate::Profile::file_arq().validate().unwrap();
        let mut endpoint = crate::Endpoint::new(crate::EndpointConfig::default(), [1; 32]);
        let old = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 0, 2], 1).into() };
        let new = PathAddr { local: ([10, 0, 0, 1], 2).into(), ..old };
        let id = endpoint.connect(Instant::ZERO, old, 9, 7, &composition).unwrap();
        let conn = endpoint.inside(id).unwrap();
        conn.paths[0].addr = new;
        conn.paths[0].moving = Some(Box::new(Moving::from_here(Instant::ZERO)));
        let plain = conn.last_ack(0);
        let challenge = conn.cookie_packet(0, Cookie::new(&[7; 16]).unwrap());
        let late = Instant::ZERO + std::time::Duration::from_secs(60);
        for (now, to, packet, follows) in [
            (late, &new, &challenge, false),
            (late, &old, &plain, false),
            (Instant::ZERO, &new, &plain, false),
            (late, &new, &plain, true),
        ] {
            conn.call_after(now, 0);
            conn.note_followed(now, 0, to, packet);
            assert_eq!(!conn.paths[0].timers.is_running(Timer::Follow), follows, "{now:?} {to:?}");
        }
    }

    // R-ENCAP-3, R-SEC-1
    #[test]
    fn a_challenge_is_at_most_three_times_what_it_answers() {
        let composition = crate::Profile::file_arq().validate().unwrap();
        let mut endpoint = crate::Endpoint::new(crate::EndpointConfig::default(), [1; 32]);
        let path = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 0, 2], 1).into() };
        let id = endpoint.connect(Instant::ZERO, path, 9, 7, &composition).unwrap();
        let conn = endpoint.inside(id).unwrap();
        let stranger = PathAddr { remote: ([203, 0, 113, 9], 4000).into(), ..path };
        let challenge = Cookie::new(&[7; 16]).unwrap();
        for (received_bytes, asks) in [(15, false), (60, true)] {
            conn.ask_for_proof(Instant::ZERO, 0, stranger, received_bytes, challenge);
            assert_eq!(conn.paths[0].moving.is_some(), asks, "{received_bytes} bytes");
        }
    }
}
