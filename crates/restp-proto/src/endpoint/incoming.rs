//! Datagrams in: to their connection, or, without one, to the handshake that keeps no state.

use super::table::Key;
use super::{Endpoint, ISN_SLOT, Listener};
use crate::cc::INITIAL_WINDOW;
use crate::conn::handshake::{Opening, Proof, agreed_hash};
use crate::conn::{Connection, shape};
use crate::crypto::{self, Purpose};
use crate::error::SendError;
use crate::event::{ConnId, Datagram, EventKind};
use crate::path::{Ecn, PathAddr};
use crate::profile::{Composition, Management};
use crate::protected::Seal;
use crate::time::Instant;
use crate::wire::{
    Arq, Cookie, Decoded, Fec, Flags, Flow, Header, JoinStep, MpCapable, MpJoin, Multipath, Packet,
    PayloadCheck, Protection, Sequence, Version,
};
use rand_core::Rng;

/// A datagram that belongs to no connection yet.
struct Stranger<'a> {
    now: Instant,
    key: Key,
    ecn: Ecn,
    decoded: &'a Decoded<'a>,
    datagram: &'a [u8],
}

// R-ERR-1, R-PROT-1
pub(super) fn handle(endpoint: &mut Endpoint, now: Instant, path: PathAddr, ecn: Ecn, datagram: &[u8]) {
    endpoint.stats.datagrams += 1;
    let pseudo = (endpoint.config.encapsulation.incoming())(&path);
    let Ok(decoded) = Packet::decode(datagram, pseudo.as_ref()) else {
        // Answers A6, A12, C3: no reaction of any kind. R-CRC-5, R-HDR-2
        endpoint.stats.undecodable += 1;
        return;
    };
    let header = &decoded.packet.header;
    let key = Key { addr: path, local_port: header.destination_port, remote_port: header.source_port };
    if let Some((id, index)) = endpoint.table.find(&key) {
        if endpoint.table.get(id).is_some_and(|conn| conn.owns(index, &path)) {
            deliver(endpoint, now, id, index, ecn, &decoded, datagram);
            return;
        }
        endpoint.table.unbind(&key);
    }
    let stranger = Stranger { now, key, ecn, decoded: &decoded, datagram };
    if header.flow.intersects(Flow::CON | Flow::OPT) {
        endpoint.on_stranger(&stranger);
    } else {
        endpoint.on_datagram(&stranger);
    }
}

fn deliver(
    endpoint: &mut Endpoint,
    now: Instant,
    id: ConnId,
    index: usize,
    ecn: Ecn,
    decoded: &Decoded<'_>,
    datagram: &[u8],
) {
    let cookie = endpoint.with(now, id, |conn, cx| conn.handle(cx, index, ecn, decoded, datagram)).flatten();
    if let Some(cookie) = cookie
        && let Some(server) = endpoint.table.get(id).and_then(|conn| conn.path_addrs().next())
    {
        endpoint.remember_cookie(server.1.remote, cookie);
    }
}

// R-CM-1
pub(super) fn send_datagram(endpoint: &mut Endpoint, datagram: &Datagram) -> Result<(), SendError> {
    let listener = endpoint.listeners.get(&datagram.local_port).ok_or(SendError::Unknown)?;
    let profile = listener.composition.profile();
    if profile.management != Management::Connectionless {
        return Err(SendError::Unknown);
    }
    let shape = shape::Shape::new(&listener.composition, datagram.local_port, datagram.remote_port);
    let packet = Packet { payload: &datagram.payload, ..Packet::new(shape.header) };
    let header_bytes = packet.encoded_len() - datagram.payload.len();
    let limit_bytes = profile.tuning.max_packet_bytes.saturating_sub(header_bytes);
    if datagram.payload.len() > limit_bytes {
        return Err(SendError::TooLong { size_bytes: datagram.payload.len(), limit_bytes });
    }
    if endpoint.stateless.len() >= endpoint.config.max_datagrams {
        return Err(SendError::Full(datagram.payload.clone()));
    }
    let pseudo = (endpoint.config.encapsulation.outgoing())(&datagram.path);
    let mut bytes = Vec::with_capacity(packet.encoded_len());
    if packet.encode(&mut bytes, pseudo.as_ref()).is_ok() {
        endpoint.stateless.push_back(super::Stateless { path: datagram.path, bytes });
    }
    Ok(())
}

impl Endpoint {
    // Answer D16. R-HDR-11
    fn on_datagram(&mut self, stranger: &Stranger<'_>) {
        let limit = self.config.max_datagrams;
        let packet = &stranger.decoded.packet;
        let port = stranger.key.local_port;
        let listener = self
            .listeners
            .get_mut(&port)
            .filter(|listener| listener.composition.profile().management == Management::Connectionless)
            .filter(|_| packet.header.flags.is_empty());
        let Some(listener) = listener else {
            self.stats.stray += 1;
            return;
        };
        if stranger.decoded.payload_check == PayloadCheck::Corrupt || listener.datagrams.len() >= limit {
            self.stats.limit_refusals += 1;
            return;
        }
        listener.datagrams.push_back(Datagram {
            path: stranger.key.addr,
            local_port: port,
            remote_port: stranger.key.remote_port,
            payload: self.arena.store(packet.payload),
        });
    }

    fn on_stranger(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let flags = packet.header.flags;
        if flags.contains(Flags::RST) {
            self.stats.stray += 1;
            return;
        }
        if self.answer_lingering(stranger) || self.rebind(stranger) {
            return;
        }
        if let Some(Multipath::Join(join)) = packet.multipath {
            self.on_join(stranger, &join);
            return;
        }
        let port = stranger.key.local_port;
        let known = self
            .listeners
            .get(&port)
            .is_some_and(|listener| listener.composition.profile().management != Management::Connectionless);
        if !known {
            self.refuse(stranger);
            return;
        }
        let syn = flags.contains(Flags::SYN);
        let ack = flags.contains(Flags::ACK);
        match (syn, ack) {
            (true, false) if packet.header.flow.contains(Flow::CKI) => self.grant_cookie(stranger),
            (true, false) => self.on_syn(stranger),
            (false, true) if packet.header.version == Version::Clear => self.on_first_ack(stranger),
            // The responder of a protected handshake has state from the SYN on.
            (false, true) => self.stats.stray += 1,
            // Early data whose SYN is still missing: the client repeats it with SYN (answer D4).
            (false, false) => self.stats.stray += 1,
            (true, true) => self.refuse(stranger),
        }
    }

    /// A FIN, or the data before it, whose acknowledgement was lost gets it again.
    fn answer_lingering(&mut self, stranger: &Stranger<'_>) -> bool {
        let flags = stranger.decoded.packet.header.flags;
        if flags.contains(Flags::SYN) {
            // A new connection may reuse the identity: its initial number is unrelated (RFC 6528).
            return false;
        }
        let Some(answer) = self.linger.answer(stranger.now, &stranger.key) else { return false };
        let packet = &stranger.decoded.packet;
        let data_fin = packet.dss.and_then(|dss| dss.mapping).is_some_and(|mapping| mapping.data_fin);
        if flags.contains(Flags::FIN) || data_fin || !packet.payload.is_empty() {
            let answer = answer.to_vec();
            self.answer(stranger.now, stranger.key.addr, answer);
        }
        true
    }

    fn encode_answer(&mut self, stranger: &Stranger<'_>, packet: &Packet<'_>) -> bool {
        let pseudo = (self.config.encapsulation.outgoing())(&stranger.key.addr);
        let mut bytes = Vec::with_capacity(packet.encoded_len());
        if let Err(error) = packet.encode(&mut bytes, pseudo.as_ref()) {
            debug_assert!(false, "an answer could not be written: {error}");
            return false;
        }
        // Nobody gets more than three times what was sent in his name. R-SEC-1
        if bytes.len() > stranger.datagram.len() * 3 {
            return false;
        }
        self.answer(stranger.now, stranger.key.addr, bytes)
    }

    /// A reset for a packet that belongs to nothing (RFC 9293 section 3.10.7.1). R-CM-9
    fn refuse(&mut self, stranger: &Stranger<'_>) {
        self.stats.stray += 1;
        let packet = &stranger.decoded.packet;
        let flags = packet.header.flags;
        let Sequence::Arq(arq) = packet.sequence else { return };
        let mut reply = reply_to(packet);
        if flags.contains(Flags::ACK) {
            reply.header.flags = Flags::RST;
            reply.sequence = Sequence::Arq(Arq { sequence: arq.acknowledgement, acknowledgement: 0 });
        } else {
            reply.header.flags = Flags::RST | Flags::ACK;
            let consumed = u32::from(flags.intersects(Flags::SYN | Flags::FIN) || !packet.payload.is_empty());
            reply.sequence =
                Sequence::Arq(Arq { sequence: 0, acknowledgement: arq.sequence.wrapping_add(consumed) });
        }
        let error = reply.header.error;
        let fec_due = error.contains(crate::wire::ErrorBits::FEC | crate::wire::ErrorBits::ARQ)
            && reply.header.flags.contains(Flags::ACK);
        reply.fec = fec_due.then_some(Fec { kind: 0, range: 0 });
        reply.window = packet.window.map(|_| 0);
        if self.encode_answer(stranger, &reply) {
            self.stats.resets_sent += 1;
        }
    }

    // Answers D5, D6, D7. R-OPT-1, R-OPT-5
    fn grant_cookie(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        let Some(cookie) = self.jar.grant(stranger.now, stranger.key.addr.remote.ip()) else { return };
        let mut reply = reply_to(packet);
        reply.header.flags = Flags::SYN | Flags::ACK;
        reply.header.flow |= Flow::CKI;
        reply.sequence = Sequence::Arq(Arq { sequence: 0, acknowledgement: arq.sequence.wrapping_add(1) });
        reply.cookie = Some(cookie);
        reply.window = packet.window.map(|_| 0);
        reply.fec = packet.fec;
        if self.encode_answer(stranger, &reply) {
            self.stats.cookies_granted += 1;
        }
    }

    /// The initial number of the responder, recomputable from the acknowledgement of it.
    /// Whether ECN was agreed is part of it, so that this too needs no memory.
    fn responder_number(&self, key: &Key, peer_isn: u32, slot: u64, ecn: bool) -> u32 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let ends = format!("{}{}", key.addr.local, key.addr.remote);
        let parts: [&[u8]; 6] = [
            b"responder",
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
        shape::requested(&stranger.decoded.packet, listener.composition.profile(), listener.exact)
    }

    /// A SYN: with a good cookie it opens a connection, otherwise it is answered without keeping state.
    fn on_syn(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let Some(composition) = self.requested(stranger) else {
            self.refuse(stranger);
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
    // R-PROT-2, R-SEC-2
    fn open_protected(&mut self, stranger: &Stranger<'_>, composition: &Composition) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        let Some(keys) = self.keys.clone() else {
            self.refuse(stranger);
            return;
        };
        if self.half_open >= self.config.max_half_open || self.table.len() >= self.config.max_connections {
            self.stats.limit_refusals += 1;
            return;
        }
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        let Some(seal) = Seal::responder(&keys, stranger.datagram, packet.payload, seed) else {
            // Whoever does not have the right keys learns nothing.
            self.stats.unauthentic += 1;
            return;
        };
        let ecn = ecn_wanted(packet, composition);
        let local_isn = self.responder_number(&stranger.key, arq.sequence, Self::slot(stranger.now), ecn);
        let proof = Proof::Protected { seal: Box::new(seal) };
        self.open(stranger, composition, (local_isn, arq.sequence), ecn, proof);
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
        if self.half_open >= self.config.max_half_open || self.table.len() >= self.config.max_connections {
            self.stats.limit_refusals += 1;
            return false;
        }
        if !self.replays.admit(stranger.now, self.opening(&stranger.key, peer_isn, &cookie)) {
            self.stats.replays_refused += 1;
            return false;
        }
        let fresh = self.jar.is_fresh(stranger.now, stranger.key.addr.remote.ip(), &cookie);
        let ecn = ecn_wanted(packet, composition);
        let local_isn = self.responder_number(&stranger.key, peer_isn, Self::slot(stranger.now), ecn);
        self.open(stranger, composition, (local_isn, peer_isn), ecn, Proof::Cookie { fresh })
    }

    fn opening(&self, key: &Key, peer_isn: u32, cookie: &Cookie) -> u128 {
        let ports = [key.local_port.to_be_bytes(), key.remote_port.to_be_bytes()].concat();
        let remote = key.addr.remote.to_string();
        let parts: [&[u8]; 4] = [cookie.as_bytes(), &peer_isn.to_be_bytes(), &ports, remote.as_bytes()];
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
                self.refuse(stranger);
                return;
            }
            reply.multipath = Some(Multipath::Capable(MpCapable::OneKey {
                flags: crypto::capable_flags(profile.join_hash),
                key: self.responder_key(&stranger.key, peer_isn, key),
            }));
        }
        if self.encode_answer(stranger, &reply) {
            self.stats.stateless_answers += 1;
        }
    }

    /// The first acknowledgement: if it acknowledges the number that we would have chosen, the address is proven.
    // R-CM-2
    fn on_first_ack(&mut self, stranger: &Stranger<'_>) {
        let packet = &stranger.decoded.packet;
        let Sequence::Arq(arq) = packet.sequence else { return };
        // Data and the end of data may overtake what was lost before them.
        let numbered = !packet.payload.is_empty() || packet.header.flags.contains(Flags::FIN);
        let Some((isns, ecn)) = self.recognise(&stranger.key, stranger.now, arq, numbered) else {
            if numbered {
                // Perhaps the client's first packets were all lost: it repeats them.
                self.stats.stray += 1;
            } else {
                self.refuse(stranger);
            }
            return;
        };
        let Some(composition) = self.requested(stranger) else {
            self.refuse(stranger);
            return;
        };
        if self.table.len() >= self.config.max_connections {
            self.stats.limit_refusals += 1;
            return;
        }
        self.open(stranger, &composition, isns, ecn, Proof::Acknowledged);
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
                self.refuse(stranger);
                return false;
            }
            Some((own, peer_key))
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
        conn.announce(EventKind::Accepted { port: key.local_port });
        conn.agree_ecn(ecn);
        if conn.is_half_open() {
            self.half_open += 1;
        }
        if let Some(token) = conn.multi().map(|multi| multi.token()) {
            self.tokens.insert(token, id);
        }
        self.linger.forget(&key);
        let id = self.table.insert(conn);
        self.table.bind(key, id, 0);
        self.note_ports(key.local_port, key.remote_port, id);
        deliver(self, stranger.now, id, 0, stranger.ecn, stranger.decoded, stranger.datagram);
        true
    }

    /// A SYN or acknowledgement of a join for a path that is not known yet.
    // R-MP-3, R-MP-4
    fn on_join(&mut self, stranger: &Stranger<'_>, join: &MpJoin) {
        let JoinStep::Syn { token, .. } = join.step else {
            self.refuse(stranger);
            return;
        };
        let Some(id) = self.tokens.get(&token).copied() else {
            self.refuse(stranger);
            return;
        };
        let isn = self.initial_number(stranger.now, &stranger.key);
        let ports = (stranger.key.local_port, stranger.key.remote_port);
        let packet = &stranger.decoded.packet;
        let (addr, bytes) = (stranger.key.addr, stranger.datagram.len());
        let place = self
            .with(stranger.now, id, |conn, cx| {
                (conn.ports() == ports).then(|| conn.accept_join(cx, addr, packet, isn, bytes)).flatten()
            })
            .flatten();
        match place {
            Some(index) => self.table.bind(stranger.key, id, index),
            None => self.stats.limit_refusals += 1,
        }
    }

    /// A known peer from a new address: it must prove itself with numbers that lie in the window (answer K3).
    // R-ENCAP-3
    fn rebind(&mut self, stranger: &Stranger<'_>) -> bool {
        let flags = stranger.decoded.packet.header.flags;
        if !flags.contains(Flags::ACK) || flags.intersects(Flags::SYN | Flags::RST) {
            return false;
        }
        let key = stranger.key;
        let Some((id, index)) = self.find_moved(&key, &stranger.decoded.packet) else { return false };
        let old = self.table.get(id).and_then(|conn| conn.path_addrs().nth(index)).map(|(_, addr)| addr);
        if let Some(addr) = old {
            self.table.unbind(&Key { addr, ..key });
        }
        self.with(stranger.now, id, |conn, _| conn.move_path(index, key.addr));
        self.table.bind(key, id, index);
        self.stats.rebindings += 1;
        deliver(self, stranger.now, id, index, stranger.ecn, stranger.decoded, stranger.datagram);
        true
    }

    fn find_moved(&self, key: &Key, packet: &Packet<'_>) -> Option<(ConnId, usize)> {
        let candidates = self.by_ports.get(&(key.local_port, key.remote_port))?;
        candidates.iter().find_map(|id| {
            let conn = self.table.get(*id)?;
            conn.moved_path(&key.addr, packet).map(|index| (*id, index))
        })
    }
}

/// The SYN asks for ECN and the composition has a use for it (answer I9).
fn ecn_wanted(packet: &Packet<'_>, composition: &Composition) -> bool {
    packet.header.flags.contains(Flags::ECE | Flags::CWR) && composition.profile().tuning.ecn
}

/// The header of an answer: the peer's, turned round.
fn reply_to(packet: &Packet<'_>) -> Packet<'static> {
    let header = Header {
        source_port: packet.header.destination_port,
        destination_port: packet.header.source_port,
        flags: Flags::empty(),
        flow: packet.header.flow & (Flow::CON | Flow::OPT),
        corruption_echo: false,
        k: 1,
        error: packet.header.error - crate::wire::ErrorBits::ENC,
        ..packet.header
    };
    let protection = packet.protection.map(|_| Protection { epoch: 0, subflow: 0, packet_number: 0 });
    Packet { protection, ..Packet::new(header) }
}
