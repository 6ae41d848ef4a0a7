//! One connection without a socket or a clock: datagrams and times go in, datagrams come out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, KeyChange, Keys, Version};
use rustls::{ClientConfig, Side};

use super::keys::DataKeys;
use super::recovery::{Timer, Unacknowledged};
use crate::outcome::Outcome;
use crate::quic_wire::frame::{self, Frame};
use crate::quic_wire::packet::{self, Form, Header, Kind, Outgoing};
use crate::quic_wire::ranges::Ranges;
use crate::quic_wire::transport_parameters::{Granted, Stated};
use crate::quic_wire::varint::Reader;
use crate::quic_wire::{ConnectionId, DATAGRAM_OCTETS, ResetToken, Space, initial};

/// Of all connection IDs of this end.
const ID_OCTETS: usize = 8;
/// CRYPTO and STREAM frames carry at most so much, so that each fits a datagram whatever its header.
const CHUNK_OCTETS: usize = 1000;
/// Acknowledgements name at most so many ranges.
const MOST_RANGES: usize = 32;
/// Less room than this behind another packet is not used.
const LEAST_ROOM: usize = 64;
/// The first octets of a stream that are kept: enough for the status of a response.
const HEAD_OCTETS: usize = 16;

/// Shorter datagrams are no stateless resets (RFC 9000, section 10.3).
const LEAST_RESET_OCTETS: usize = 21;

/// What is acknowledged of 1-RTT packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// What came, at once.
    #[default]
    Prompt,
    /// Nothing.
    Withheld,
    /// All up to the largest that came and so many packets more, which did not.
    Ahead(u64),
}

/// What came of a stream.
#[derive(Clone, Debug, Default)]
pub struct Receive {
    octets: Ranges,
    end: Option<u64>,
    /// Its first octets, at most 16.
    pub head: Vec<u8>,
    /// The server's error code if it gave the stream up.
    pub reset: Option<u64>,
}

impl Receive {
    /// Whether all octets came.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| self.octets.all_below(end))
    }

    fn take(&mut self, offset: u64, data: &[u8], fin: bool) {
        let end = offset.saturating_add(data.len() as u64);
        self.octets.insert(offset, end);
        if fin {
            self.end = Some(end);
        }
        let known = self.head.len() as u64;
        if offset <= known && end > known && self.head.len() < HEAD_OCTETS {
            let new = &data[(known - offset) as usize..];
            let room = HEAD_OCTETS - self.head.len();
            self.head.extend_from_slice(&new[..new.len().min(room)]);
        }
    }
}

/// Frames that wait to be sent together.
struct Queued {
    frames: Vec<u8>,
    /// Whether they are sent again if they are lost.
    reliable: bool,
}

/// Of one packet number space.
#[derive(Default)]
struct Numbers {
    next: u64,
    received: Ranges,
    ack_due: bool,
    queue: VecDeque<Queued>,
    unacknowledged: Unacknowledged,
    /// Where the next octet of TLS goes, and where the next is read.
    crypto_out: u64,
    crypto_in: u64,
    /// TLS that came before what it follows.
    early: BTreeMap<u64, Vec<u8>>,
}

/// A connection ID that the server offers besides its first.
struct Spare {
    sequence: u64,
    id: ConnectionId,
    reset_token: ResetToken,
}

/// One connection.
pub struct Client {
    tls: ClientConnection,
    source: ConnectionId,
    destination: ConnectionId,
    token: Vec<u8>,
    initial: Option<Keys>,
    handshake: Option<Keys>,
    data: Option<DataKeys>,
    /// The last for which keys came.
    newest: Space,
    numbers: [Numbers; 3],
    timer: Timer,
    timer_from: Instant,
    /// When something was sent that wants an answer, if nothing came since.
    unanswered: Option<Instant>,
    granted: Granted,
    /// What was granted by stream since, of streams that this end opened for one direction.
    granted_uni: BTreeMap<u64, u64>,
    opened_bidi: u64,
    opened_uni: u64,
    /// Octets sent on all streams.
    sent_octets: u64,
    /// Octets sent by stream that has not ended.
    offsets: BTreeMap<u64, u64>,
    streams: BTreeMap<u64, Receive>,
    /// Whether a packet of the server was read.
    heard: bool,
    finishes: bool,
    confirmed: bool,
    closing: bool,
    closed: Option<Outcome>,
    /// What is acknowledged of 1-RTT packets.
    pub acks: Acks,
    spares: VecDeque<Spare>,
    /// Sequence number of the server's ID that packets go to.
    in_use: u64,
    /// Of that ID.
    reset_token: Option<ResetToken>,
    /// Octets of stream data that came.
    pub stream_octets: u64,
}

impl Client {
    /// A connection whose ClientHello waits to be sent.
    ///
    /// # Errors
    /// If rustls refuses it.
    pub fn new(
        config: &Arc<ClientConfig>,
        server_name: &ServerName<'static>,
        (source, destination): (ConnectionId, ConnectionId),
        stated: &Stated,
        now: Instant,
    ) -> Result<Self, rustls::Error> {
        let parameters = stated.encode(&source);
        let tls = ClientConnection::new(Arc::clone(config), Version::V1, server_name.clone(), parameters)?;
        let mut client = Self {
            tls,
            source,
            destination,
            token: Vec::new(),
            initial: Some(initial::keys(&destination, Side::Client)),
            handshake: None,
            data: None,
            newest: Space::Initial,
            numbers: Default::default(),
            timer: Timer::default(),
            timer_from: now,
            unanswered: None,
            granted: Granted::default(),
            granted_uni: BTreeMap::new(),
            opened_bidi: 0,
            opened_uni: 0,
            sent_octets: 0,
            offsets: BTreeMap::new(),
            streams: BTreeMap::new(),
            heard: false,
            finishes: true,
            confirmed: false,
            closing: false,
            closed: None,
            acks: Acks::Prompt,
            spares: VecDeque::new(),
            in_use: 0,
            reset_token: None,
            stream_octets: 0,
        };
        client.speak_tls();
        Ok(client)
    }

    /// Never sends this end's last words of the handshake (Finished).
    pub fn never_finish(&mut self) {
        self.finishes = false;
    }

    /// Whether the server's first words came, so that there are keys for the rest of the handshake.
    #[must_use]
    pub fn has_handshake_keys(&self) -> bool {
        self.handshake.is_some()
    }

    /// Whether this end has the whole handshake, and streams can be opened.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.data.is_some()
    }

    /// Whether the server has it, too (RFC 9001, section 4.1.2).
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// How the connection ended, if it did.
    #[must_use]
    pub fn closed(&self) -> Option<Outcome> {
        self.closed
    }

    /// Since when an answer is waited for; never, if none is, or none is wanted since nothing is acknowledged.
    #[must_use]
    pub fn unanswered_since(&self) -> Option<Instant> {
        if self.acks == Acks::Withheld { None } else { self.unanswered }
    }

    /// Ends the connection as one that the server has ended without a word. Nothing more is said to it.
    pub fn end_silently(&mut self) {
        self.closed.get_or_insert(Outcome::Silent);
    }

    /// Opens a stream of both directions; none if the server allows no more.
    pub fn open_bidi(&mut self) -> Option<u64> {
        let id = self.opened_bidi * 4;
        (self.opened_bidi < self.granted.max_streams_bidi).then(|| {
            self.opened_bidi += 1;
            id
        })
    }

    /// Opens a stream of one direction; none if the server allows no more.
    pub fn open_uni(&mut self) -> Option<u64> {
        let id = self.opened_uni * 4 + 2;
        (self.opened_uni < self.granted.max_streams_uni).then(|| {
            self.opened_uni += 1;
            id
        })
    }

    /// Whether the server has room for so many octets on a new stream.
    #[must_use]
    pub fn allows(&self, octets: usize) -> bool {
        let octets = octets as u64;
        octets <= self.granted.max_stream_data && self.sent_octets + octets <= self.granted.max_data
    }

    /// Whether the server has room for so many octets more on a stream of one direction.
    #[must_use]
    pub fn allows_on(&self, id: u64, octets: usize) -> bool {
        let octets = octets as u64;
        let most = self.granted_uni.get(&id).copied().unwrap_or(self.granted.max_stream_data_uni);
        self.sent_on(id) + octets <= most && self.sent_octets + octets <= self.granted.max_data
    }

    /// Sends octets on a stream, and its end. Whether the server has room is for [`Self::allows`] and
    /// [`Self::allows_on`] to ask.
    pub fn send(&mut self, id: u64, data: &[u8], fin: bool) {
        let offset = self.offsets.entry(id).or_default();
        let mut chunks = data.chunks(CHUNK_OCTETS).peekable();
        loop {
            let chunk = chunks.next().unwrap_or_default();
            let is_last = chunks.peek().is_none();
            let mut frames = Vec::with_capacity(chunk.len() + 16);
            frame::stream(&mut frames, id, *offset, chunk, fin && is_last);
            *offset += chunk.len() as u64;
            self.sent_octets += chunk.len() as u64;
            self.numbers[Space::Data as usize].queue.push_back(Queued { frames, reliable: true });
            if is_last {
                break;
            }
        }
        if fin {
            self.offsets.remove(&id);
        }
    }

    /// Octets sent on a stream that has not ended.
    #[must_use]
    pub fn sent_on(&self, id: u64) -> u64 {
        self.offsets.get(&id).copied().unwrap_or_default()
    }

    /// Keeps account of what comes on a stream from now on.
    pub fn watch(&mut self, id: u64) {
        self.streams.insert(id, Receive::default());
    }

    /// What came on a stream that is watched.
    #[must_use]
    pub fn received(&self, id: u64) -> Option<&Receive> {
        self.streams.get(&id)
    }

    /// Forgets a stream.
    pub fn forget(&mut self, id: u64) {
        self.streams.remove(&id);
        self.offsets.remove(&id);
    }

    /// Sends frames as they are in one 1-RTT packet; again if they are lost and `reliable`.
    pub fn send_frames(&mut self, frames: Vec<u8>, reliable: bool) {
        self.queue(Space::Data, frames, reliable);
    }

    /// Asks for an acknowledgement under the newest keys that a handshake in progress has.
    pub fn ping(&mut self) {
        let mut frames = Vec::new();
        frame::ping(&mut frames);
        self.queue(self.speaking(), frames, false);
    }

    /// Closes the connection.
    pub fn close(&mut self, code: u64) {
        let space = self.speaking();
        let mut frames = Vec::new();
        frame::connection_close(&mut frames, space, code);
        self.queue(space, frames, false);
        self.closing = true;
    }

    fn queue(&mut self, space: Space, frames: Vec<u8>, reliable: bool) {
        self.numbers[space as usize].queue.push_back(Queued { frames, reliable });
    }

    fn speaking(&self) -> Space {
        match (&self.data, &self.handshake) {
            (Some(_), _) => Space::Data,
            (None, Some(_)) => Space::Handshake,
            (None, None) => Space::Initial,
        }
    }

    /// Gives TLS what came and queues what it says.
    fn speak_tls(&mut self) {
        loop {
            let space = self.newest;
            let mut said = Vec::new();
            let change = self.tls.write_hs(&mut said);
            let finishing = space == Space::Handshake && !self.finishes;
            if !finishing {
                self.put_crypto(space, &said);
            }
            match change {
                Some(KeyChange::Handshake { keys }) => {
                    self.handshake = Some(keys);
                    self.newest = Space::Handshake;
                }
                Some(KeyChange::OneRtt { .. }) if finishing => return,
                Some(KeyChange::OneRtt { keys, next }) => {
                    self.data = Some(DataKeys::new(keys, next));
                    self.newest = Space::Data;
                    let granted = self.tls.quic_transport_parameters().and_then(Granted::decode);
                    self.granted = granted.unwrap_or_default();
                    self.reset_token = self.granted.reset_token;
                }
                None if said.is_empty() => return,
                None => {}
            }
        }
    }

    fn put_crypto(&mut self, space: Space, said: &[u8]) {
        for chunk in said.chunks(CHUNK_OCTETS) {
            let numbers = &mut self.numbers[space as usize];
            let mut frames = Vec::with_capacity(chunk.len() + 8);
            frame::crypto(&mut frames, numbers.crypto_out, chunk);
            numbers.crypto_out += chunk.len() as u64;
            numbers.queue.push_back(Queued { frames, reliable: true });
        }
    }

    /// Fills a datagram with what waits to be sent; false if nothing does.
    pub fn transmit(&mut self, now: Instant, datagram: &mut Vec<u8>) -> bool {
        datagram.clear();
        if self.handshake.is_some() {
            // From its first Handshake packet on a client has no use for Initial ones (RFC 9001, section 4.9.1).
            self.initial = None;
            self.numbers[Space::Initial as usize] = Numbers::default();
        }
        let token = std::mem::take(&mut self.token);
        for space in Space::ALL {
            self.put_packet(space, &token, now, datagram);
        }
        self.token = token;
        !datagram.is_empty()
    }

    fn put_packet(&mut self, space: Space, token: &[u8], now: Instant, datagram: &mut Vec<u8>) {
        let form = match space {
            Space::Initial if self.initial.is_some() => Form::Initial { token },
            Space::Handshake if self.handshake.is_some() => Form::Handshake,
            Space::Data => match &self.data {
                Some(keys) => Form::Short { key_phase: keys.outgoing().1 },
                None => return,
            },
            _ => return,
        };
        let number = self.numbers[space as usize].next;
        let outgoing = Outgoing { form, destination: self.destination, source: self.source, number };
        let room = DATAGRAM_OCTETS.saturating_sub(datagram.len() + outgoing.overhead());
        if room < LEAST_ROOM {
            return;
        }
        let mut payload = Vec::with_capacity(room);
        self.put_frames(space, now, room, &mut payload);
        if payload.is_empty() {
            return;
        }
        if space == Space::Initial {
            payload.resize(room, 0);
        }
        let sealed = match (space, &self.initial, &self.handshake, &self.data) {
            (Space::Initial, Some(keys), _, _) | (Space::Handshake, _, Some(keys), _) => {
                outgoing.seal(datagram, &payload, &*keys.local.header, &*keys.local.packet)
            }
            (_, _, _, Some(keys)) => outgoing.seal(datagram, &payload, &*keys.header_out, keys.outgoing().0),
            _ => return,
        };
        self.numbers[space as usize].next += 1;
        if sealed.is_err() {
            self.closed = Some(Outcome::Tls);
        }
    }

    fn put_frames(&mut self, space: Space, now: Instant, room: usize, payload: &mut Vec<u8>) {
        let numbers = &mut self.numbers[space as usize];
        if std::mem::take(&mut numbers.ack_due) {
            match (space, self.acks) {
                (Space::Data, Acks::Withheld) => {}
                (Space::Data, Acks::Ahead(lead)) => {
                    let mut claimed = Ranges::default();
                    claimed.insert(0, numbers.received.last().unwrap_or_default() + 1 + lead);
                    frame::ack(payload, &claimed);
                }
                _ => frame::ack(payload, &numbers.received),
            }
        }
        let before = payload.len();
        let mut reliable = Vec::new();
        while numbers.queue.front().is_some_and(|queued| payload.len() + queued.frames.len() <= room)
            && let Some(queued) = numbers.queue.pop_front()
        {
            payload.extend_from_slice(&queued.frames);
            if queued.reliable {
                reliable.extend_from_slice(&queued.frames);
            }
        }
        if payload.len() > before {
            self.timer_from = now;
            self.unanswered.get_or_insert(now);
        }
        if !reliable.is_empty() {
            numbers.unacknowledged.sent(numbers.next, now, reliable);
        }
    }

    /// Takes a datagram of the server.
    pub fn receive(&mut self, now: Instant, datagram: &mut [u8]) {
        if self.is_stateless_reset(datagram) {
            self.closed = Some(Outcome::Reset);
            return;
        }
        let mut rest = datagram;
        while !rest.is_empty() && self.closed.is_none() {
            let Some(header) = packet::parse(rest, ID_OCTETS) else { return };
            let (packet, behind) = rest.split_at_mut(header.end);
            match header.kind {
                Kind::VersionNegotiation if !self.heard => self.closed = Some(Outcome::Refused),
                Kind::Retry => self.retry(&header, packet),
                Kind::Initial => self.open(Space::Initial, &header, packet, now),
                Kind::Handshake => self.open(Space::Handshake, &header, packet, now),
                Kind::Short => self.open(Space::Data, &header, packet, now),
                Kind::VersionNegotiation | Kind::ZeroRtt => {}
            }
            rest = behind;
        }
    }

    /// Whether the server says that it knows nothing of the connection: by chance no packet ends like that.
    fn is_stateless_reset(&self, datagram: &[u8]) -> bool {
        datagram.len() >= LEAST_RESET_OCTETS
            && self.reset_token.is_some_and(|token| datagram.ends_with(&token))
    }

    /// Begins again with the server's token. Its integrity tag keeps others from sending it; on loopback there are none.
    fn retry(&mut self, header: &Header, packet: &[u8]) {
        if self.heard || !self.token.is_empty() {
            return;
        }
        self.token = packet[header.token.clone()].to_vec();
        self.destination = header.source;
        self.initial = Some(initial::keys(&self.destination, Side::Client));
        let numbers = &mut self.numbers[Space::Initial as usize];
        for frames in numbers.unacknowledged.take_all() {
            numbers.queue.push_back(Queued { frames, reliable: true });
        }
    }

    fn open(&mut self, space: Space, header: &Header, packet: &mut [u8], now: Instant) {
        let numbers = &mut self.numbers[space as usize];
        let header_key = match space {
            Space::Initial => self.initial.as_ref().map(|keys| &keys.remote.header),
            Space::Handshake => self.handshake.as_ref().map(|keys| &keys.remote.header),
            Space::Data => self.data.as_ref().map(|keys| &keys.header_in),
        };
        let Some(header_key) = header_key else { return };
        let expected = numbers.received.last().map_or(0, |last| last + 1);
        let Some(revealed) = packet::reveal(packet, header.number_at, &**header_key, expected) else {
            return;
        };
        if numbers.received.contains(revealed.number) {
            return;
        }
        let (associated, body) = packet.split_at_mut(revealed.body_at);
        let length = match (space, &self.initial, &self.handshake, &mut self.data) {
            (Space::Initial, Some(keys), _, _) | (Space::Handshake, _, Some(keys), _) => {
                let plain = keys.remote.packet.decrypt_in_place(revealed.number, associated, body);
                plain.ok().map(<[u8]>::len)
            }
            (_, _, _, Some(keys)) => keys.open(&revealed, associated, body),
            _ => None,
        };
        let Some(length) = length else { return };
        numbers.received.insert(revealed.number, revealed.number + 1);
        numbers.received.keep(MOST_RANGES);
        self.unanswered = None;
        if !self.heard {
            self.heard = true;
            self.destination = header.source;
        }
        self.read_frames(space, &body[..length], now);
    }

    fn read_frames(&mut self, space: Space, payload: &[u8], now: Instant) {
        let mut reader = Reader::new(payload);
        while !reader.rest().is_empty() {
            let Some(frame) = frame::read(&mut reader) else { return };
            if frame.is_eliciting() {
                self.numbers[space as usize].ack_due = true;
            }
            match frame {
                Frame::Ack { packets } => self.acknowledged(space, &packets, now),
                Frame::Crypto { offset, data } => self.hear_tls(space, offset, data),
                Frame::Stream { id, offset, data, fin } => {
                    self.stream_octets += data.len() as u64;
                    if let Some(stream) = self.streams.get_mut(&id) {
                        stream.take(offset, data, fin);
                    }
                }
                Frame::ResetStream { id, code } => {
                    if let Some(stream) = self.streams.get_mut(&id) {
                        stream.reset = Some(code);
                    }
                }
                Frame::MaxData(most) => self.granted.max_data = self.granted.max_data.max(most),
                Frame::MaxStreamData { id, most } if id % 4 == 2 => {
                    let known = self.granted_uni.entry(id).or_default();
                    *known = most.max(*known);
                }
                Frame::MaxStreamsBidi(most) => {
                    self.granted.max_streams_bidi = self.granted.max_streams_bidi.max(most);
                }
                Frame::MaxStreamsUni(most) => {
                    self.granted.max_streams_uni = self.granted.max_streams_uni.max(most);
                }
                Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token } => {
                    self.spares.push_back(Spare { sequence, id, reset_token });
                    self.retire_below(retire_prior_to);
                }
                Frame::PathChallenge(data) => {
                    let mut frames = Vec::with_capacity(9);
                    frame::path_response(&mut frames, data);
                    self.queue(Space::Data, frames, false);
                }
                Frame::ConnectionClose { code } => self.closed = Some(Outcome::Closed(Some(code))),
                Frame::HandshakeDone => {
                    self.confirmed = true;
                    self.handshake = None;
                    self.numbers[Space::Handshake as usize] = Numbers::default();
                }
                Frame::Padding
                | Frame::PathResponse(_)
                | Frame::Ping
                | Frame::MaxStreamData { .. }
                | Frame::RetireConnectionId { .. }
                | Frame::StopSending { .. }
                | Frame::Other => {}
            }
        }
    }

    fn acknowledged(&mut self, space: Space, packets: &Ranges, now: Instant) {
        let numbers = &mut self.numbers[space as usize];
        let (lost, at) = numbers.unacknowledged.acknowledged(packets);
        for frames in lost {
            numbers.queue.push_back(Queued { frames, reliable: true });
        }
        if let Some(at) = at {
            self.timer.measured(now.saturating_duration_since(at));
        }
        self.timer.progress();
    }

    fn hear_tls(&mut self, space: Space, offset: u64, data: &[u8]) {
        let numbers = &mut self.numbers[space as usize];
        numbers.early.insert(offset, data.to_vec());
        while let Some(first) = numbers.early.first_entry()
            && *first.key() <= numbers.crypto_in
        {
            let (offset, data) = first.remove_entry();
            let known = (numbers.crypto_in - offset) as usize;
            let Some(new) = data.get(known..).filter(|new| !new.is_empty()) else { continue };
            numbers.crypto_in += new.len() as u64;
            if self.tls.read_hs(new).is_err() {
                self.closed = Some(Outcome::Tls);
                return;
            }
        }
        self.speak_tls();
    }

    /// Gives the server's connection IDs with lower numbers back, and sends to another if need be.
    fn retire_below(&mut self, sequence: u64) {
        let mut frames = Vec::new();
        while self.spares.front().is_some_and(|spare| spare.sequence < sequence)
            && let Some(spare) = self.spares.pop_front()
        {
            frame::retire_connection_id(&mut frames, spare.sequence);
        }
        if self.in_use < sequence
            && let Some(spare) = self.spares.pop_front()
        {
            frame::retire_connection_id(&mut frames, self.in_use);
            (self.in_use, self.destination) = (spare.sequence, spare.id);
            self.reset_token = Some(spare.reset_token);
        }
        if !frames.is_empty() {
            self.queue(Space::Data, frames, true);
        }
    }

    /// Takes a connection ID that the server offers and that is not used: its sequence number.
    pub fn take_spare_id(&mut self) -> Option<u64> {
        self.spares.pop_front().map(|spare| spare.sequence)
    }

    /// When [`Self::on_timeout`] is to be called; never, if nothing is waited for.
    #[must_use]
    pub fn timeout(&self) -> Option<Instant> {
        let stalls = !self.finishes && self.handshake.is_some();
        if self.closed.is_some() || self.closing || stalls {
            return None;
        }
        let waits = !self.confirmed || !self.numbers[Space::Data as usize].unacknowledged.is_empty();
        waits.then(|| self.timer_from + self.timer.timeout())
    }

    /// Sends what is not acknowledged again, or asks for a sign of life, if it is time to.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.timeout().is_none_or(|at| now < at) {
            return;
        }
        self.timer.expire();
        self.timer_from = now;
        let mut probed = false;
        for numbers in &mut self.numbers {
            for frames in numbers.unacknowledged.take_all() {
                numbers.queue.push_front(Queued { frames, reliable: true });
                probed = true;
            }
        }
        if !probed {
            let mut frames = Vec::new();
            frame::ping(&mut frames);
            // A server that may send no more waits for this (RFC 9002, section 6.2.2.1).
            let space = if self.handshake.is_some() { Space::Handshake } else { self.speaking() };
            self.queue(space, frames, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client that has sent nothing yet.
    fn opening(now: Instant) -> Client {
        let config = crate::tls::client(None, "h3").unwrap();
        let ids = (ConnectionId::of([1; 8]), ConnectionId::of([2; 8]));
        let name = "localhost".try_into().unwrap();
        Client::new(&config, &name, ids, &Stated::default(), now).unwrap()
    }

    #[test]
    fn a_stream_is_complete_with_all_its_octets() {
        let mut stream = Receive::default();
        stream.take(3, b"def", true);
        assert!(!stream.is_complete() && stream.head.is_empty());
        stream.take(0, b"abcd", false);
        assert!(stream.is_complete());
        assert_eq!(stream.head, b"abcd", "what came early is not kept");
        stream.take(2, b"cdef", true);
        assert_eq!(stream.head, b"abcdef");
    }

    #[test]
    fn the_first_datagram_is_a_padded_initial_and_goes_out_again_when_unanswered() {
        let now = Instant::now();
        let mut client = opening(now);
        let mut datagram = Vec::new();
        assert!(client.transmit(now, &mut datagram));
        assert_eq!((datagram.len(), datagram[0] & 0xf0), (DATAGRAM_OCTETS, 0xc0));
        let mut again = Vec::new();
        assert!(!client.transmit(now, &mut again));
        let at = client.timeout().unwrap();
        client.on_timeout(at);
        assert!(client.transmit(at, &mut again));
        assert_eq!(again.len(), DATAGRAM_OCTETS);
        assert_ne!(again, datagram, "another packet number");
        assert!(client.timeout().unwrap() - at > at - now, "it doubles");
    }

    #[test]
    fn a_retry_is_answered_with_its_token() {
        let now = Instant::now();
        let mut client = opening(now);
        let mut datagram = Vec::new();
        client.transmit(now, &mut datagram);
        let mut retry = vec![0xf0, 0, 0, 0, 1, 8, 1, 1, 1, 1, 1, 1, 1, 1, 4, 9, 9, 9, 9];
        retry.extend_from_slice(b"token");
        retry.extend_from_slice(&[0; 16]);
        client.receive(now, &mut retry.clone());
        assert!(client.transmit(now, &mut datagram));
        assert_eq!(datagram[5..10], [4, 9, 9, 9, 9], "to the server's new ID");
        assert_eq!(datagram[19..25], *b"\x05token");
        assert_eq!(datagram.len(), DATAGRAM_OCTETS);
        client.receive(now, &mut retry);
        assert!(!client.transmit(now, &mut datagram), "a second Retry is ignored");
    }

    /// Octets without meaning, and a token behind them.
    fn stateless_reset(octets: usize, token: ResetToken) -> Vec<u8> {
        let mut datagram = vec![0x41; octets - token.len()];
        datagram.extend_from_slice(&token);
        datagram
    }

    /// The server offers its connection ID of this number.
    fn offer(client: &mut Client, sequence: u64, retire_prior_to: u64, token: ResetToken, now: Instant) {
        let mut frames = Vec::new();
        let id = ConnectionId::of([sequence as u8; 8]);
        frame::new_connection_id(&mut frames, sequence, retire_prior_to, &id, &token);
        client.read_frames(Space::Data, &frames, now);
    }

    #[test]
    fn a_stateless_reset_ends_with_the_token_of_the_id_in_use() {
        let now = Instant::now();
        let (first, second) = ([3; 16], [4; 16]);
        let after = |offered: &[(u64, u64, ResetToken)], octets, token| {
            let mut client = opening(now);
            client.reset_token = Some(first);
            for (sequence, retire_prior_to, token) in offered {
                offer(&mut client, *sequence, *retire_prior_to, *token, now);
            }
            client.receive(now, &mut stateless_reset(octets, token));
            client.closed()
        };
        assert_eq!(after(&[], 21, first), Some(Outcome::Reset));
        assert_eq!(after(&[], 1200, first), Some(Outcome::Reset));
        assert_eq!(after(&[], 20, first), None, "too short");
        assert_eq!(after(&[], 40, second), None);
        assert_eq!(after(&[(1, 0, second)], 40, second), None, "nothing was sent to that ID");
        assert_eq!(after(&[(1, 1, second)], 40, second), Some(Outcome::Reset));
        assert_eq!(after(&[(1, 1, second)], 40, first), None, "its ID is given back");
    }

    #[test]
    fn without_a_token_nothing_is_a_stateless_reset() {
        let now = Instant::now();
        let mut client = opening(now);
        client.receive(now, &mut stateless_reset(40, [0; 16]));
        assert_eq!(client.closed(), None);
    }
}
