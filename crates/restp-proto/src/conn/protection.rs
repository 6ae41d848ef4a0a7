//! The protected profile within a connection: its handshake messages, and opening of sealed packets.

use std::sync::Arc;

use super::path::Stage;
use super::{Connection, Cx, Role};
use crate::event::CloseReason;
use crate::protected::{Advance, Keys, PublicKey, Seal};
use crate::seq;
use crate::wire::{Decoded, Flags, Packet, PayloadCheck, Sequence};

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
        if decoded.payload_check == PayloadCheck::Corrupt {
            // The header was intact, so this is evidence of bit errors; nothing else of the packet is believed.
            self.stats.corrupt_payloads += 1;
            path.cause.on_corruption();
            path.ack.corruption = true;
            path.ack.now |= path.is_open();
            return None;
        }
        let seal = self.seal.as_mut()?;
        if !seal.open(&protection, datagram, decoded.header_bytes, plain) {
            self.stats.unauthentic += 1;
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
        let genuine = protection.epoch > 0
            && protection.subflow == id
            && decoded.payload_check != PayloadCheck::Corrupt
            && seal.open(&protection, datagram, decoded.header_bytes, cx.scratch);
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
                if flags.contains(Flags::SYN) {
                    self.advance(cx, packet.payload)?;
                }
                Some(without_message)
            }
            (Role::Initiator, Stage::Established) if flags.contains(Flags::SYN) => {
                if path.confirmed {
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
