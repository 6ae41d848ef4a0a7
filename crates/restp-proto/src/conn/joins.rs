//! Further paths of a connection: opening and authentication.

use rand_core::Rng;

use super::handshake::AMPLIFICATION;
use super::multipath::Join;
use super::path::{Path, Stage, Timer};
use super::{Connection, Cx, Phase, Role};
use crate::crypto;
use crate::error::PathError;
use crate::path::{PathAddr, PathId};
use crate::seq;
use crate::time::Instant;
use crate::wire::{Decoded, Flags, JoinStep, MAX_PATHS, MpJoin, Multipath, Packet, Sequence};

/// Joins that may wait for their proof at the same time.
const MAX_PENDING_JOINS: usize = 4;

impl Connection {
    /// Puts a path into a free place and returns the place.
    fn place(&mut self, path: Path) -> usize {
        match self.paths.iter().position(|old| old.stage == Stage::Closed) {
            Some(index) => {
                self.paths[index] = path;
                if let Some(multi) = &mut self.multi {
                    multi.forget_carrier(index);
                }
                index
            }
            None => {
                self.paths.push(path);
                self.paths.len() - 1
            }
        }
    }

    fn new_path(&mut self, addr: PathAddr, isn: u32, id: u8, now: Instant) -> Path {
        let mut path = Path::new(PathId(id), addr, &self.composition, isn, now);
        path.stage = Stage::SynSent;
        path
    }

    /// Opens a further path; only the initiator may (answer H6). Returns its place.
    pub fn open_path(
        &mut self,
        cx: &mut Cx<'_>,
        addr: PathAddr,
        backup: bool,
        isn: u32,
    ) -> Result<(usize, PathId), PathError> {
        if self.role != Role::Initiator {
            return Err(PathError::NotInitiator);
        }
        let open = self.paths.live().count();
        let Some(multi) = &mut self.multi else { return Err(PathError::SinglePath) };
        // Joins prove knowledge of both keys, which the handshake exchanges (answer H11).
        if self.phase != Phase::Established || multi.peer_key.is_none() || !self.paths[0].handshake.confirmed
        {
            return Err(PathError::TooEarly);
        }
        if self.paths.iter().any(|path| path.addr == addr && path.stage != Stage::Closed) {
            return Err(PathError::Exists);
        }
        if open >= MAX_PATHS {
            return Err(PathError::TooMany { limit: MAX_PATHS });
        }
        let id = multi.next_address_id;
        multi.next_address_id = multi.next_address_id.wrapping_add(1).max(1);
        let mut path = self.new_path(addr, isn, id, cx.now);
        path.backup = backup;
        path.wants.syn = true;
        path.join = Some(Box::new(Join { local_nonce: cx.rng.next_u32(), peer_nonce: 0 }));
        Ok((self.place(path), PathId(id)))
    }

    /// Answers the SYN of a join whose token names this connection; `false` if a limit forbids it.
    // R-MP-3, R-SEC-1
    pub fn accept_join(
        &mut self,
        cx: &mut Cx<'_>,
        addr: PathAddr,
        decoded: &Decoded<'_>,
        datagram: &[u8],
        isn: u32,
    ) -> Option<usize> {
        let packet = &decoded.packet;
        let Some(Multipath::Join(MpJoin { backup, address_id, step: JoinStep::Syn { nonce, .. } })) =
            packet.multipath
        else {
            return None;
        };
        let Sequence::Arq(arq) = packet.sequence else { return None };
        let pending = self.paths.iter().filter(|path| path.stage == Stage::SynReceived).count();
        let open = self.paths.live().count();
        let possible =
            self.phase == Phase::Established && self.role == Role::Responder && self.multi.is_some();
        if !possible || pending >= MAX_PENDING_JOINS || open >= MAX_PATHS {
            return None;
        }
        if packet.frozen_bits() != self.shape.frozen {
            self.stats.frozen_mismatch += 1;
            return None;
        }
        // Two paths of one name would share packet numbers, and 0 is the name of the first.
        let taken = self.paths.iter().any(|path| path.id.0 == address_id && path.stage != Stage::Closed);
        if address_id == 0 || taken {
            return None;
        }
        if !self.opens_join(cx, decoded, datagram, address_id) {
            return None;
        }
        let mut path = self.new_path(addr, isn, address_id, cx.now);
        path.peer_isn = arq.sequence;
        path.stage = Stage::SynReceived;
        path.backup = backup;
        path.wants.syn_ack = true;
        path.allowance_bytes = Some(datagram.len() * AMPLIFICATION);
        path.join = Some(Box::new(Join { local_nonce: cx.rng.next_u32(), peer_nonce: nonce }));
        Some(self.place(path))
    }

    /// A packet for a path whose join is unanswered.
    pub(super) fn on_join_answer(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        let Sequence::Arq(arq) = packet.sequence else { return };
        let flags = packet.header.flags;
        let path = &self.paths[index];
        let acknowledges = seq::from_wire(path.local_isn, arq.acknowledgement, 1) == Some(1);
        if !flags.contains(Flags::ACK) || !acknowledges || packet.frozen_bits() != self.shape.frozen {
            self.stats.out_of_window += 1;
            // The peer still has a path of ours that we have given up: it must forget it first (RFC 9293 section 3.10.7.3).
            let stale = flags.contains(Flags::ACK) && !flags.intersects(Flags::RST | Flags::SYN);
            self.paths[index].wants.refuse = stale.then_some(arq.acknowledgement);
            return;
        }
        if flags.contains(Flags::RST) {
            self.drop_path(cx, index);
            return;
        }
        let Some(Multipath::Join(MpJoin { step: JoinStep::SynAck { mac, nonce }, .. })) = packet.multipath
        else {
            return;
        };
        let (Some(multi), Some(join)) = (&self.multi, &mut self.paths[index].join) else { return };
        join.peer_nonce = nonce;
        let expected = multi.peer_mac(join);
        if !crypto::equal(&mac, &expected[..8]) {
            self.stats.unauthentic += 1;
            return;
        }
        let path = &mut self.paths[index];
        path.peer_isn = arq.sequence;
        path.stage = Stage::Established;
        path.health.begin(cx.now);
        if let Some(rtt) = path.handshake.rtt(cx.now) {
            path.rtt.sample(rtt);
        }
        path.handshake.begin_next();
        path.timers.stop(Timer::Handshake);
        path.wants.confirm = true;
    }

    /// The MAC with which this end proves its keys on path `index`.
    pub(super) fn join_proof(&self, index: usize) -> Option<[u8; 20]> {
        let join = self.paths[index].join.as_ref()?;
        Some(self.multi.as_ref()?.own_mac(join))
    }

    /// True if `packet` may confirm path `index`: on a joined path the initiator must first prove its keys.
    // R-MP-3
    pub(super) fn confirmable(&mut self, index: usize, packet: &Packet<'_>) -> bool {
        if index == 0 || self.role == Role::Initiator {
            return true;
        }
        let (Some(multi), Some(join)) = (&self.multi, &self.paths[index].join) else { return false };
        let Some(Multipath::Join(MpJoin { step: JoinStep::Ack { mac }, .. })) = packet.multipath else {
            return false;
        };
        let expected = multi.peer_mac(join);
        let good = crypto::equal(&mac, &expected);
        if !good {
            self.stats.unauthentic += 1;
        } else {
            self.paths[index].ack.now = true;
        }
        good
    }
}
