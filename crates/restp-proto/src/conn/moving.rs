//! Peers that speak from another address: they are asked for proof there before anything else is sent to it.

use super::handshake::AMPLIFICATION;
use super::output::Outgoing;
use super::path::Stage;
use super::{Connection, Cx, Phase};
use crate::path::{Ecn, PathAddr, PathId, Transmit};
use crate::seq;
use crate::time::Instant;
use crate::wire::{Cookie, Flags, Flow, Packet, Sequence};

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
        path.addr = addr;
        if let Some(moving) = &mut path.moving {
            moving.settle();
        }
        path.health.forget_probe();
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
        path.addr = addr;
        path.moving = None;
        path.wants.probe |= path.stage == Stage::Established;
        self.search_sizes(cx, index);
    }

    /// The peer asks for proof that we are where it heard us.
    pub(super) fn on_challenge(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        if packet.header.flags.contains(Flags::SYN) {
            return;
        }
        if let Some(answer) = packet.cookie.and_then(Cookie::answered) {
            self.paths[index].proof = Some(Box::new(answer));
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
        if let Some(answer) = self.paths[index].proof.take() {
            let packet = self.cookie_packet(index, *answer);
            return self.emit(cx, what, &packet, out);
        }
        let (addr, challenge) = self.paths[index].moving.as_mut()?.take()?;
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
