//! The protected profile within a connection: its handshake messages, and opening of sealed packets.

use std::sync::Arc;

use super::path::Stage;
use super::{Connection, Cx, Role};
use crate::event::CloseReason;
use crate::protected::{Advance, Keys, PublicKey, Seal};
use crate::seq;
use crate::wire::{Decoded, Flags, Flow, Packet, PayloadCheck, Sequence};

impl Connection {
    /// Begins the handshake of the protected profile: its first message travels in our SYN.
    pub fn protect(&mut self, keys: &Arc<Keys>, seed: [u8; 32]) -> Option<()> {
        let mut syn = Vec::new();
        self.syn_packet(0).encode(&mut syn, None).ok()?;
        self.seal = Some(Box::new(Seal::initiator(keys, &syn, seed)?));
        Some(())
    }

    /// The public key that the peer proved to have.
    pub fn peer_public_key(&self) -> Option<PublicKey> {
        self.seal.as_ref()?.peer()
    }

    /// What a packet of the protected profile says, or `None` if nothing of it may take effect.
    // R-PROT-7, R-PROT-8
    pub(super) fn unseal<'p>(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        decoded: &Decoded<'p>,
        datagram: &[u8],
        plain: &'p mut Vec<u8>,
    ) -> Option<Decoded<'p>> {
        let protection = decoded.packet.protection?;
        if protection.epoch == 0 {
            return if index == 0 { self.on_handshake_packet(cx, index, decoded) } else { None };
        }
        let path = self.paths.get_mut(index)?;
        if protection.subflow != path.id.0 {
            self.stats.unauthentic += 1;
            return None;
        }
        let rto = path.rtt.rto();
        let seal = self.seal.as_mut()?;
        if !seal.open(cx.now, rto, &protection, datagram, decoded.header_bytes, plain) {
            self.stats.unauthentic += 1;
            if seal.is_worn_out() {
                // R-PROT-4
                self.finish(cx, CloseReason::Unauthenticated);
            }
            return None;
        }
        Some(Decoded { packet: Packet { payload: plain, ..decoded.packet }, ..*decoded })
    }

    /// True if the SYN of a join may be believed: in clear text its MACs speak for it, else the keys of the connection.
    // R-PROT-8
    pub(super) fn opens_join(
        &mut self,
        cx: &mut Cx<'_>,
        decoded: &Decoded<'_>,
        datagram: &[u8],
        id: u8,
    ) -> bool {
        let Some(protection) = decoded.packet.protection else { return self.seal.is_none() };
        let Some(seal) = &mut self.seal else { return false };
        let rto = self.paths[0].rtt.rto();
        let genuine = protection.epoch > 0
            && protection.subflow == id
            && seal.open(cx.now, rto, &protection, datagram, decoded.header_bytes, cx.scratch);
        self.stats.unauthentic += u64::from(!genuine);
        genuine
    }

    /// A packet in clear text that carries the handshake: only what the state of the handshake expects is taken.
    fn on_handshake_packet<'p>(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        decoded: &Decoded<'p>,
    ) -> Option<Decoded<'p>> {
        let packet = &decoded.packet;
        let flags = packet.header.flags;
        let Sequence::Arq(arq) = packet.sequence else { return None };
        let path = self.paths.get_mut(index)?;
        let without_message = Decoded { packet: Packet { payload: &[], ..*packet }, ..*decoded };
        if decoded.payload_check == PayloadCheck::Corrupt {
            return None;
        }
        match (self.role, path.stage) {
            (Role::Initiator, Stage::SynSent) => {
                let proves = seq::from_wire(path.local_isn, arq.acknowledgement, 1) == Some(1);
                if !flags.contains(Flags::ACK) || !proves {
                    return None;
                }
                if flags.contains(Flags::SYN) && !packet.header.flow.contains(Flow::CKI) {
                    self.advance(cx, packet.payload)?;
                }
                Some(without_message)
            }
            (Role::Initiator, Stage::Established) if flags.contains(Flags::SYN) => {
                if path.handshake.confirmed {
                    path.ack.now = true;
                } else {
                    path.wants.confirm = true;
                }
                None
            }
            (Role::Responder, Stage::SynReceived) if flags.contains(Flags::SYN) => {
                path.wants.syn_ack |= arq.sequence == path.peer_isn;
                None
            }
            (Role::Responder, Stage::SynReceived) if flags.contains(Flags::ACK) => {
                // The third message of XX.
                self.advance(cx, packet.payload)?;
                Some(without_message)
            }
            _ => None,
        }
    }

    /// Takes the peer's message of the handshake; who proves a key that is not taken ends the connection.
    // R-PROT-10
    fn advance(&mut self, cx: &mut Cx<'_>, message: &[u8]) -> Option<()> {
        match self.seal.as_mut()?.advance(message) {
            Advance::Good => return Some(()),
            Advance::Wrong => {}
            // An impostor is told nothing; a client that is not taken has a right to know.
            Advance::Stranger if self.role == Role::Initiator => {
                self.finish(cx, CloseReason::Unauthenticated)
            }
            Advance::Stranger => self.abort_with(cx, CloseReason::Unauthenticated),
        }
        self.stats.unauthentic += 1;
        None
    }
}

#[cfg(feature = "protected")]
#[cfg(test)]
mod tests {
    use crate::event::{CloseReason, EventKind};
    use crate::path::{Ecn, PathAddr};
    use crate::profile::Protection;
    use crate::protected::Keys;
    use crate::{Endpoint, EndpointConfig, Instant, Profile};

    fn endpoint(seed: u8) -> Endpoint {
        let config = EndpointConfig { keys: Some(Keys::shared([1; 32])), ..EndpointConfig::default() };
        Endpoint::new(config, [seed; 32])
    }

    fn ways() -> (PathAddr, PathAddr) {
        let there = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 0, 2], 1).into() };
        (there, PathAddr { local: there.remote, remote: there.local })
    }

    #[test]
    fn sealed_packets_of_one_length_leave_as_one_train_whether_or_not_the_profile_asks_for_a_crc() {
        for crc in [false, true] {
            let profile = Profile { protection: Protection::Protected, crc, ..Profile::voice() };
            let composition = profile.validate().unwrap();
            let (mut client, mut server) = (endpoint(1), endpoint(2));
            server.listen(7, composition.clone(), false).unwrap();
            let (there, back) = ways();
            let now = Instant::ZERO;
            let conn = client.connect(now, there, 9, 7, &composition).unwrap();
            for _ in 0..4 {
                let mut out = Vec::new();
                if client.poll_transmit(now, 1, &mut out).is_some() {
                    server.handle(now, back, Ecn::NotEct, &out);
                }
                out.clear();
                if server.poll_transmit(now, 1, &mut out).is_some() {
                    client.handle(now, there, Ecn::NotEct, &out);
                }
            }
            for _ in 0..8 {
                client.send(now, conn, vec![7; 160].into(), Default::default()).unwrap();
            }
            let train = client.poll_transmit(now, 64, &mut Vec::new()).unwrap();
            assert_eq!(train.size_bytes, 8 * train.segment_size, "CRC {crc}");
        }
    }

    // R-PROT-4
    #[test]
    fn a_connection_whose_keys_are_worn_out_ends() {
        let profile = Profile { protection: Protection::Protected, ..Profile::file_arq() };
        let composition = profile.validate().unwrap();
        let (mut client, mut server) = (endpoint(1), endpoint(2));
        server.listen(7, composition.clone(), false).unwrap();
        let (there, back) = ways();
        let now = Instant::ZERO;
        let conn = client.connect(now, there, 9, 7, &composition).unwrap();
        let mut last = Vec::new();
        for _ in 0..8 {
            let mut out = Vec::new();
            if client.poll_transmit(now, 1, &mut out).is_some() {
                server.handle(now, back, Ecn::NotEct, &out);
                last = out;
            }
            let mut out = Vec::new();
            if server.poll_transmit(now, 1, &mut out).is_some() {
                client.handle(now, there, Ecn::NotEct, &out);
            }
        }
        assert!(client.is_established(conn));
        let accepted = server.poll_event().unwrap().conn;
        // A number that was not seen, and a tag that does not fit it.
        last[14] ^= 1;
        server.handle(now, back, Ecn::NotEct, &last);
        assert!(server.is_established(accepted), "one forgery is nothing");
        server.inside(accepted).and_then(|conn| conn.seal.as_mut()).unwrap().wear();
        server.handle(now, back, Ecn::NotEct, &last);
        let ended = std::iter::from_fn(|| server.poll_event()).last().map(|event| event.kind);
        assert_eq!(ended, Some(EventKind::Closed(CloseReason::Unauthenticated)));
    }
}
