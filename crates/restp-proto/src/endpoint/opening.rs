//! How connections are opened for strangers: without state where that is possible, by cookie, or protected.

use rand_core::Rng;

use super::budget::Answer;
use super::stranger::Stranger;
use super::table::Key;
use super::{Endpoint, ISN_SLOT, Listener, Share};
use crate::cc::INITIAL_WINDOW;
use crate::conn::handshake::Refusal;
use crate::conn::handshake::{Keys, Opening, Proof, agreed_hash};
use crate::conn::multipath::checks_flag;
use crate::conn::{Connection, shape};
use crate::crypto::{self, Purpose};
use crate::profile::Composition;
use crate::protected::Seal;
use crate::time::Instant;
use crate::wire::{Arq, Fec, Flags, Flow, MpCapable, Multipath, Packet, PayloadCheck, Sequence, Version};

impl Endpoint {
    /// The initial number of the responder, recomputable from the acknowledgement of it.
    /// Whether ECN was agreed is part of it, so that this too needs no memory.
    fn responder_number(&self, key: &Key, peer_isn: u32, slot: u64, ecn: bool) -> u32 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let ends = format!("{}{}", key.addr.local, key.addr.remote);
        let parts: [&[u8]; 7] = [
            b"responder",
            &self.isn_epoch.to_be_bytes(),
            ends.as_bytes(),
            &ports,
            &peer_isn.to_be_bytes(),
            &slot.to_be_bytes(),
            &[u8::from(ecn)],
        ];
        self.secret.derive(Purpose::InitialNumber, &parts) as u32
    }

    /// Our key of a connection with several paths, recomputable in the same way.
    fn responder_key(&self, key: &Key, peer_isn: u32, peer_key: u64) -> u64 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let ends = format!("{}{}", key.addr.local, key.addr.remote);
        let parts: [&[u8]; 4] = [ends.as_bytes(), &ports, &peer_isn.to_be_bytes(), &peer_key.to_be_bytes()];
        self.secret.derive(Purpose::PathKey, &parts) as u64
    }

    fn slot(now: Instant) -> u64 {
        now.as_nanos() / ISN_SLOT.as_nanos() as u64
    }

    fn requested(&self, stranger: &Stranger<'_>) -> Option<Composition> {
        let listener: &Listener = self.listeners.get(&stranger.key.local_port)?;
        shape::requested(&stranger.decoded.packet, &listener.composition, listener.exact)
    }

    /// A SYN: with a good cookie it opens a connection, otherwise it is answered without keeping state.
    pub(super) fn on_syn(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let Some(composition) = self.requested(stranger) else {
            self.refuse(stranger, Refusal::Services);
            return;
        };
        if packet.header.version == Version::Protected {
            self.open_protected(stranger, &composition);
            return;
        }
        let opportunistic = packet.header.flow.contains(Flow::OPT);
        if opportunistic {
            let client = stranger.key.addr.remote.ip();
            let good = packet.cookie.is_some_and(|cookie| self.jar.check(stranger.now, client, &cookie));
            if !good {
                self.stats.cookies_refused += 1;
                self.grant_cookie(stranger);
                return;
            }
            if self.open_with_cookie(stranger, &composition) {
                return;
            }
        }
        self.answer_syn(stranger, &composition);
    }

    /// Answers the handshake of the protected profile; it needs state, so it is limited like opportunistic openings.
    // R-PROT-2, R-PROT-9, R-SEC-2
    fn open_protected(&mut self, stranger: &Stranger<'_>, composition: &Composition) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        let Some(keys) = self.keys.clone() else {
            self.refuse(stranger, Refusal::Services);
            return;
        };
        if stranger.decoded.payload_check == PayloadCheck::Corrupt {
            return;
        }
        let client = stranger.key.addr.remote.ip();
        let proven = packet.cookie.is_some_and(|cookie| self.jar.is_fresh(stranger.now, client, &cookie));
        let share = Share { address: client, proven };
        let (message, ends) = self.first_message(&stranger.key, packet.payload);
        let busy = self.half_open.total() * 2 >= self.config.max_half_open;
        let crowded = self.half_open.of(share) >= self.config.max_half_open_per_address;
        let failed_often = self.failures.are_enough(stranger.now, share);
        if !proven && (busy || crowded || failed_often || self.first_messages.is_copy(message, ends)) {
            self.grant_cookie(stranger);
            return;
        }
        if crowded || failed_often || !self.has_slot() {
            self.stats.limit_refusals += 1;
            return;
        }
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let Some(seal) = Seal::responder(&keys, stranger.datagram, packet.payload, seed) else {
            // Whoever does not have the right keys learns that, and nothing else.
            self.failures.note(stranger.now, share);
            self.stats.unauthentic += 1;
            self.refuse(stranger, Refusal::Keys);
            return;
        };
        let ecn = ecn_wanted(packet, composition);
        let local_isn = self.responder_number(&stranger.key, arq.sequence, Self::slot(stranger.now), ecn);
        self.first_messages.note(message, ends);
        let until = stranger.now + self.config.half_open_lifetime;
        let proof = Proof::Protected { seal: Box::new(seal), fresh: proven, until };
        self.open(stranger, composition, (local_isn, arq.sequence), ecn, proof);
    }

    /// What is remembered of a first message: itself, and the ends that it came from.
    fn first_message(&self, key: &Key, message: &[u8]) -> (u128, u128) {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let ends = format!("{}{}", key.addr.local, key.addr.remote);
        let derive = |parts: &[&[u8]]| self.secret.derive(Purpose::FirstMessage, parts);
        (derive(&[message]), derive(&[ends.as_bytes(), &ports]))
    }

    /// There is room for one more half-open connection.
    fn has_slot(&self) -> bool {
        self.half_open.total() < self.config.max_half_open && self.table.len() < self.config.max_connections
    }

    /// Opens an opportunistic connection unless limits or the replay set forbid it.
    // R-OPT-7, R-SEC-2
    fn open_with_cookie(&mut self, stranger: &Stranger<'_>, composition: &Composition) -> bool {
        let packet = &stranger.decoded.packet;
        let (Sequence::Arq(arq), Some(cookie)) = (packet.sequence, packet.cookie) else { return false };
        if stranger.decoded.payload_check == PayloadCheck::Corrupt {
            return false;
        }
        let peer_isn = arq.sequence.wrapping_sub(u32::from(!packet.payload.is_empty()));
        let fresh = self.jar.is_fresh(stranger.now, stranger.key.addr.remote.ip(), &cookie);
        let share = Share { address: stranger.key.addr.remote.ip(), proven: fresh };
        if !self.has_slot() || self.half_open.of(share) >= self.config.max_half_open_per_address {
            self.stats.limit_refusals += 1;
            return false;
        }
        if !self.replays.admit(stranger.now, self.opening(&stranger.key, peer_isn)) {
            self.stats.replays_refused += 1;
            return false;
        }
        let ecn = ecn_wanted(packet, composition);
        let local_isn = self.responder_number(&stranger.key, peer_isn, Self::slot(stranger.now), ecn);
        let opened = self.open(stranger, composition, (local_isn, peer_isn), ecn, Proof::Cookie { fresh });
        if opened {
            // Its later packets must not open it once more, either.
            self.note_opening(stranger, peer_isn);
        }
        opened
    }

    /// What tells one opening from every other: the cookie does not, as its connection may have opened without it.
    fn opening(&self, key: &Key, peer_isn: u32) -> u128 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let remote = key.addr.remote.to_string();
        let parts: [&[u8]; 3] = [&peer_isn.to_be_bytes(), &ports, remote.as_bytes()];
        self.secret.derive(Purpose::TableHash, &parts)
    }

    /// Answers a SYN with a SYN-ACK whose number is all the state there is.
    // R-CM-2, R-SEC-5
    fn answer_syn(&mut self, stranger: &Stranger<'_>, composition: &Composition) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        let peer_isn = arq.sequence.wrapping_sub(u32::from(!packet.payload.is_empty()));
        let shape = shape::Shape::new(composition, stranger.key.local_port, stranger.key.remote_port);
        let mut reply = Packet::new(shape.header);
        reply.header.flags = Flags::SYN | Flags::ACK;
        let profile = composition.profile();
        let ecn = ecn_wanted(packet, composition);
        reply.header.flags.set(Flags::ECE, ecn);
        reply.sequence = Sequence::Arq(Arq {
            sequence: self.responder_number(&stranger.key, peer_isn, Self::slot(stranger.now), ecn),
            acknowledgement: peer_isn.wrapping_add(1),
        });
        reply.window = shape.window.then_some(profile.tuning.receive_window_packets.min(65_535) as u16);
        reply.fec = profile.reliability.fec().map(|kind| Fec { kind: shape::fec_code(kind), range: 0 });
        if composition.several_paths() {
            let Some(Multipath::Capable(MpCapable::OneKey { flags, key })) = packet.multipath else { return };
            if agreed_hash(composition, flags).is_none() {
                self.refuse(stranger, Refusal::Services);
                return;
            }
            reply.multipath = Some(Multipath::Capable(MpCapable::OneKey {
                flags: crypto::capable_flags(profile.join_hash) | checks_flag(profile.asks_checks()),
                key: self.responder_key(&stranger.key, peer_isn, key),
            }));
        }
        if self.encode_answer(stranger, Answer::SynAck, &reply) {
            self.stats.stateless_answers += 1;
        }
    }

    /// The first acknowledgement: if it acknowledges the number that we would have chosen, the address is proven.
    // R-CM-2
    pub(super) fn on_first_ack(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        // Data and the end of data may overtake what was lost before them.
        let numbered = !packet.payload.is_empty() || packet.header.flags.contains(Flags::FIN);
        let Some((isns, ecn)) = self.recognise(&stranger.key, stranger.now, arq, numbered) else {
            if numbered {
                // Perhaps the client's first packets were all lost: it repeats them.
                self.stats.stray += 1;
            } else {
                self.refuse(stranger, Refusal::Services);
            }
            return;
        };
        let Some(composition) = self.requested(stranger) else {
            self.refuse(stranger, Refusal::Services);
            return;
        };
        if self.table.len() >= self.config.max_connections {
            self.stats.limit_refusals += 1;
            return;
        }
        if self.is_late(stranger, isns.1) {
            self.stats.replays_refused += 1;
            return;
        }
        let opportunistic = packet.header.flow.contains(Flow::OPT);
        if self.open(stranger, &composition, isns, ecn, Proof::Acknowledged) {
            self.note_opening(stranger, isns.1);
            if opportunistic {
                // Its first flight was turned down; a copy of it has a good cookie for as long as that lives. R-OPT-7
                self.replays.admit(stranger.now, self.opening(&stranger.key, isns.1));
            }
        }
    }

    /// True for packets that opened a connection before: it is over, and they are late (answer D12).
    // R-CM-10
    fn is_late(&self, stranger: &Stranger<'_>, peer_isn: u32) -> bool {
        self.openings.contains(self.opening(&stranger.key, peer_isn))
    }

    fn note_opening(&mut self, stranger: &Stranger<'_>, peer_isn: u32) {
        let opening = self.opening(&stranger.key, peer_isn);
        self.openings.admit(stranger.now, opening);
        if self.openings.is_full() {
            // What was answered so far is recognised no more, so nothing of it need be remembered.
            self.openings.clear();
            self.isn_epoch += 1;
        }
    }

    /// Both initial numbers, and whether ECN was agreed, from a packet that acknowledges the number we would have chosen.
    ///
    /// The third acknowledgement has the number after the initial one; data of the first flight have one of the next
    /// few, so that the loss of the third acknowledgement costs nothing.
    fn recognise(&self, key: &Key, now: Instant, arq: Arq, numbered: bool) -> Option<((u32, u32), bool)> {
        let local_isn = arq.acknowledgement.wrapping_sub(1);
        let slot = Self::slot(now);
        let flight = if numbered { INITIAL_WINDOW + 1 } else { 1 };
        for ahead in 1..=flight {
            let peer_isn = arq.sequence.wrapping_sub(ahead);
            for (slot, ecn) in
                [(slot, true), (slot, false), (slot.wrapping_sub(1), true), (slot.wrapping_sub(1), false)]
            {
                if self.responder_number(key, peer_isn, slot, ecn) == local_isn {
                    return Some(((local_isn, peer_isn), ecn));
                }
            }
        }
        None
    }

    /// Puts a proven connection into the table and gives it its first packet.
    fn open(
        &mut self,
        stranger: &Stranger<'_>,
        composition: &Composition,
        isns: (u32, u32),
        ecn: bool,
        proof: Proof,
    ) -> bool {
        let packet = &stranger.decoded.packet;
        let keys = if composition.several_paths() {
            let (flags, peer_key, shown) = match packet.multipath {
                Some(Multipath::Capable(MpCapable::OneKey { flags, key })) => (flags, key, None),
                Some(Multipath::Capable(MpCapable::BothKeys { flags, initiator_key, responder_key })) => {
                    (flags, initiator_key, Some(responder_key))
                }
                _ => return false,
            };
            let own = self.responder_key(&stranger.key, isns.1, peer_key);
            if agreed_hash(composition, flags).is_none() || shown.is_some_and(|shown| shown != own) {
                self.refuse(stranger, Refusal::Services);
                return false;
            }
            Some(Keys { own, peer: peer_key, flags })
        } else {
            None
        };
        let key = stranger.key;
        let id = self.table.next_id();
        let (cx, _) = self.split(stranger.now, id);
        let opening = Opening {
            addr: key.addr,
            ports: (key.local_port, key.remote_port),
            isns,
            keys,
            window: packet.window,
        };
        let mut conn = Connection::accept(&cx, composition.clone(), opening, proof);
        conn.agree_ecn(ecn);
        if let Some(share) = conn.half_open() {
            self.half_open.begin(share);
        }
        if let Some(token) = conn.multi().map(|multi| multi.token()) {
            self.tokens.insert(token, id);
        }
        let id = self.table.insert(conn);
        self.table.bind(key, id, 0);
        self.note_ports(key.local_port, key.remote_port, id);
        let (addr, decoded) = (&stranger.key.addr, stranger.decoded);
        self.deliver(stranger.now, (id, 0), addr, stranger.ecn, decoded, stranger.datagram);
        true
    }
}

/// The SYN asks for ECN and the composition has a use for it (answer I9).
fn ecn_wanted(packet: &Packet<'_>, composition: &Composition) -> bool {
    packet.header.flags.contains(Flags::ECE | Flags::CWR) && composition.profile().tuning.ecn
}
