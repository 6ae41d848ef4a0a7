//! Datagrams in: to their connection, or, without one, to the handshake that keeps no state.

use bytes::Bytes;

use super::budget::Answer;
use super::linger::Late;
use super::stranger::Stranger;
use super::table::Key;
use super::{Endpoint, Stateless};
use crate::conn::handshake::Refusal;
use crate::conn::shape;
use crate::error::SendError;
use crate::event::{ConnId, Datagram};
use crate::path::{Ecn, PathAddr};
use crate::profile::Management;
use crate::time::Instant;
use crate::wire::{
    Arq, Decoded, Fec, Flags, Flow, Header, JoinStep, MpJoin, Multipath, Packet, PayloadCheck, Protection,
    Sequence, Version,
};

impl Endpoint {
    /// Takes a datagram that arrived on `path` with the ECN field `ecn`.
    // R-ERR-1, R-PROT-1
    pub fn handle(&mut self, now: Instant, path: PathAddr, ecn: Ecn, datagram: &[u8]) {
        self.stats.datagrams += 1;
        let pseudo = (self.config.encapsulation.incoming())(&path);
        let Ok(decoded) = Packet::decode(datagram, pseudo.as_ref()) else {
            // Answers A6, A12, C3: no reaction of any kind. R-CRC-5, R-HDR-2
            self.stats.undecodable += 1;
            return;
        };
        let header = &decoded.packet.header;
        let key = Key { addr: path, local_port: header.destination_port, remote_port: header.source_port };
        let stranger = Stranger { now, key, ecn, decoded: &decoded, datagram };
        if let Some((id, index)) = self.table.find(&key) {
            let conn = self.table.get(id);
            let ended = conn.is_some_and(|conn| conn.is_closed());
            if ended && !begins_anew(header.flags) {
                // What it still holds its application has yet to read; its peer asks the memory of it.
                self.answer_lingering(&stranger);
                return;
            }
            if !ended && conn.is_some_and(|conn| conn.owns(index, &path)) {
                self.deliver(now, (id, index), &path, ecn, &decoded, datagram);
                return;
            }
            self.table.unbind(&key);
        }
        if header.flow.intersects(Flow::CON | Flow::OPT) {
            self.on_stranger(&stranger);
        } else {
            self.on_datagram(&stranger);
        }
    }

    /// Takes datagrams that arrived together: `train` cut into pieces of `stride` bytes, the last of which may be shorter.
    ///
    /// What [`Endpoint::handle`] would copy stays where it is: messages that the application holds hold all of `train`. So
    /// lend what is full, and bound what is lent at a time, since a peer decides how much of a train is worth keeping.
    pub fn handle_train(&mut self, now: Instant, path: PathAddr, ecn: Ecn, train: &Bytes, stride: usize) {
        self.arena.lend(train.clone());
        for datagram in train.chunks(stride.max(1)) {
            self.handle(now, path, ecn, datagram);
        }
        self.arena.take_back();
    }

    pub(super) fn deliver(
        &mut self,
        now: Instant,
        (id, index): (ConnId, usize),
        path: &PathAddr,
        ecn: Ecn,
        decoded: &Decoded<'_>,
        datagram: &[u8],
    ) {
        let cookie =
            self.with(now, id, |conn, cx| conn.handle(cx, index, path, ecn, decoded, datagram)).flatten();
        if let Some(cookie) = cookie
            && let Some(server) = self.table.get(id).and_then(|conn| conn.path_addrs().next())
        {
            self.remember_cookie(server.1.remote, cookie);
        }
    }

    /// Sends a message without a connection, from a connectionless port that is listened on.
    ///
    /// # Errors
    /// [`SendError`] if the port is not connectionless or the message does not fit.
    // R-CM-1
    pub fn send_datagram(&mut self, datagram: &Datagram) -> Result<(), SendError> {
        let listener = self.listeners.get(&datagram.local_port).ok_or(SendError::Unknown)?;
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
        if self.stateless.len() >= self.config.max_datagrams {
            return Err(SendError::Full(datagram.payload.clone()));
        }
        let pseudo = (self.config.encapsulation.outgoing())(&datagram.path);
        let mut bytes = Vec::with_capacity(packet.encoded_len());
        if packet.encode(&mut bytes, pseudo.as_ref()).is_ok() {
            self.stateless.push_back(Stateless { path: datagram.path, bytes });
        }
        Ok(())
    }

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
            self.refuse(stranger, Refusal::NothingHere);
            return;
        }
        let syn = flags.contains(Flags::SYN);
        let ack = flags.contains(Flags::ACK);
        match (syn, ack) {
            (true, false) if packet.header.flow.contains(Flow::OPT | Flow::CKI) => {
                self.grant_cookie(stranger)
            }
            (true, false) => self.on_syn(stranger),
            (false, true) if packet.header.version == Version::Clear => self.on_first_ack(stranger),
            // The responder of a protected handshake has state from the SYN on.
            (false, true) => self.stats.stray += 1,
            // Early data whose SYN is still missing: the client repeats it with SYN (answer D4).
            (false, false) => self.stats.stray += 1,
            (true, true) => self.refuse(stranger, Refusal::NothingHere),
        }
    }

    /// A FIN, or the data before it, whose acknowledgement was lost gets it again, wherever it comes from.
    // R-CM-5
    fn answer_lingering(&mut self, stranger: &Stranger<'_>) -> bool {
        let pseudo = self.config.encapsulation.outgoing();
        match self.linger.answer(stranger, &mut self.scratch, pseudo) {
            Late::Unknown => return false,
            Late::Silent => {}
            Late::Answer(bytes) => {
                self.answer_stranger(stranger, Answer::Farewell, bytes);
            }
        }
        true
    }

    pub(super) fn encode_answer(
        &mut self,
        stranger: &Stranger<'_>,
        kind: Answer,
        packet: &Packet<'_>,
    ) -> bool {
        let pseudo = (self.config.encapsulation.outgoing())(&stranger.key.addr);
        let mut bytes = Vec::with_capacity(packet.encoded_len());
        if let Err(error) = packet.encode(&mut bytes, pseudo.as_ref()) {
            debug_assert!(false, "an answer could not be written: {error}");
            return false;
        }
        self.answer_stranger(stranger, kind, bytes)
    }

    /// Nobody gets more than three times what was sent in his name.
    // R-SEC-1
    fn answer_stranger(&mut self, stranger: &Stranger<'_>, kind: Answer, bytes: Vec<u8>) -> bool {
        bytes.len() <= stranger.datagram.len() * 3
            && self.answer(stranger.now, kind, stranger.key.addr, bytes)
    }

    /// A reset for a packet that belongs to nothing (RFC 9293 section 3.10.7.1). R-CM-9
    pub(super) fn refuse(&mut self, stranger: &Stranger<'_>, why: Refusal) {
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
            reply.sequence = Sequence::Arq(Arq {
                sequence: why as u32,
                acknowledgement: arq.sequence.wrapping_add(consumed),
            });
        }
        let error = reply.header.error;
        let fec_due = error.contains(crate::wire::ErrorBits::FEC | crate::wire::ErrorBits::ARQ)
            && reply.header.flags.contains(Flags::ACK);
        reply.fec = fec_due.then_some(Fec { kind: 0, range: 0 });
        reply.window = packet.window.map(|_| 0);
        if self.encode_answer(stranger, Answer::Reset, &reply) {
            self.stats.resets_sent += 1;
        }
    }

    // Answers D5, D6, D7. R-OPT-1, R-OPT-5
    pub(super) fn grant_cookie(&mut self, stranger: &Stranger<'_>) {
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
        if self.encode_answer(stranger, Answer::Cookie, &reply) {
            self.stats.cookies_granted += 1;
        }
    }

    /// A SYN or acknowledgement of a join for a path that is not known yet.
    // R-MP-3, R-MP-4
    fn on_join(&mut self, stranger: &Stranger<'_>, join: &MpJoin) {
        let JoinStep::Syn { token, .. } = join.step else {
            self.refuse(stranger, Refusal::NothingHere);
            return;
        };
        let Some(id) = self.tokens.get(&token).copied() else {
            self.refuse(stranger, Refusal::NothingHere);
            return;
        };
        let isn = self.initial_number(stranger.now, &stranger.key);
        let ports = (stranger.key.local_port, stranger.key.remote_port);
        let (addr, decoded, datagram) = (stranger.key.addr, stranger.decoded, stranger.datagram);
        let place = self
            .with(stranger.now, id, |conn, cx| {
                (conn.ports() == ports).then(|| conn.accept_join(cx, addr, decoded, datagram, isn)).flatten()
            })
            .flatten();
        match place {
            Some(index) => self.table.bind(stranger.key, id, index),
            None => {
                self.stats.limit_refusals += 1;
                self.refuse(stranger, Refusal::Limit);
            }
        }
    }

    /// A known peer from a new address: numbers in the window make it heard, the answer to a challenge makes the path follow
    /// (answer K3). Where the peer is known and the address is one that we have left, it is heard and no more.
    // R-ENCAP-3
    fn rebind(&mut self, stranger: &Stranger<'_>) -> bool {
        let flags = stranger.decoded.packet.header.flags;
        if !flags.contains(Flags::ACK) || flags.intersects(Flags::SYN | Flags::RST) {
            return false;
        }
        let key = stranger.key;
        let Some((id, index)) = self.find_moved(&key, &stranger.decoded.packet) else { return false };
        // Its numbers are those of the peer; under protection it must open, too, before anything follows from it.
        let taken = |endpoint: &Self| endpoint.table.get(id).map(|conn| conn.stats().packets_received);
        let before = taken(self);
        let target = (id, index);
        self.deliver(stranger.now, target, &key.addr, stranger.ecn, stranger.decoded, stranger.datagram);
        let known = self.table.get(id).and_then(|conn| conn.path_addrs().nth(index));
        let was_ours = known.is_some_and(|(_, addr)| addr.local != key.addr.local);
        if taken(self) == before || was_ours {
            return true;
        }
        let end = format!("{id} {index} {} {}", key.addr.local, key.addr.remote);
        let answer = stranger.decoded.packet.cookie;
        if answer.is_some_and(|answer| self.jar.is_answer(stranger.now, end.as_bytes(), &answer)) {
            self.move_path(stranger.now, id, index, key);
        } else if let Some(challenge) = self.jar.challenge(stranger.now, end.as_bytes()) {
            let bytes = stranger.datagram.len();
            self.with(stranger.now, id, |conn, cx| {
                conn.ask_for_proof(cx.now, index, key.addr, bytes, challenge)
            });
        }
        true
    }

    fn move_path(&mut self, now: Instant, id: ConnId, index: usize, key: Key) {
        let Some(conn) = self.table.get_mut(id) else { return };
        let old = conn.path_addrs().nth(index).map(|(_, addr)| addr);
        if let Some(addr) = old {
            self.table.unbind(&Key { addr, ..key });
        }
        self.table.bind(key, id, index);
        self.with(now, id, |conn, cx| conn.move_path(cx, index, key.addr));
        self.stats.rebindings += 1;
    }

    fn find_moved(&self, key: &Key, packet: &Packet<'_>) -> Option<(ConnId, usize)> {
        let candidates = self.by_ports.get(&(key.local_port, key.remote_port))?;
        candidates.iter().find_map(|id| {
            let conn = self.table.get(*id)?;
            conn.moved_path(&key.addr, packet).map(|index| (*id, index))
        })
    }
}

/// The flags of a packet with which a connection begins; where one has ended, another does.
fn begins_anew(flags: Flags) -> bool {
    flags.contains(Flags::SYN) && !flags.intersects(Flags::ACK | Flags::RST)
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
