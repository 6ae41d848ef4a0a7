//! Messages on their way: which bytes of which packet belong to the n-th message of a flow.
//!
//! Whoever knows a flow offers [`Messages`]: how long the message is that begins with given bytes. Where the next one
//! begins follows from that: in a datagram nowhere, in a stream behind it. A stream is followed from its SYN on, in
//! order; what comes ahead of a gap belongs to no message that is known yet, and the repetition that fills the gap does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;

use super::packet::{Headers, TCP, UDP, u32_at};

/// How the messages of a flow lie in what its transport carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// Each datagram of UDP is a message.
    Datagrams,
    /// They follow each other in a stream of TCP.
    Stream,
}

/// What the first bytes of a message tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Not enough yet: so many bytes from its beginning on are needed.
    Needs(usize),
    /// A message.
    Message {
        /// Its length, at least 1.
        bytes: u64,
        /// The number that it bears itself, if it does; else it is counted.
        number: Option<u64>,
    },
    /// No message of this flow: the stream is not followed any further.
    Stranger,
}

/// Where the messages of a flow begin: what an application or a transport tells of them.
pub trait Messages: Send {
    /// What is known of the message that begins with these bytes.
    fn begins(&self, head: &[u8]) -> Found;
}

/// A flow whose messages rules speak of.
pub struct MessageFlow {
    /// Its name.
    pub id: String,
    /// How they lie in it.
    pub carriage: Carriage,
    /// Where it is sent from; any port if it is 0.
    pub source: SocketAddr,
    /// Where to.
    pub destination: SocketAddr,
    /// Where they begin.
    pub messages: Box<dyn Messages>,
}

/// A part of a message in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The flow, by its place among those that the node knows.
    pub flow: usize,
    /// The message's number, from 1 on.
    pub number: u64,
    /// Where the message begins, from the packet's first byte: before it, if an earlier packet has its beginning.
    pub begins_at: i64,
    /// Which bytes of the packet are its own.
    pub within: Range<usize>,
}

/// Follows the messages of one flow.
pub(crate) struct Tracker {
    flow: MessageFlow,
    /// Datagrams so far, for messages that bear no number.
    datagrams: u64,
    /// One for each source port.
    streams: BTreeMap<u16, Stream>,
}

#[derive(Debug, Default)]
struct Stream {
    /// Sequence number of the first byte.
    first: u32,
    /// Messages whose beginning is known: offset in the stream, length, number.
    known: Vec<(u64, u64, u64)>,
    /// Up to where the stream has been seen without a gap.
    seen: u64,
    /// Where the next message begins, and its first bytes as far as they have been seen.
    next: u64,
    head: Vec<u8>,
    lost: bool,
}

impl Tracker {
    pub fn new(flow: MessageFlow) -> Self {
        Tracker { flow, datagrams: 0, streams: BTreeMap::new() }
    }

    /// The parts of messages in a packet; `flow` is this one's place.
    pub fn parts(&mut self, flow: usize, packet: &[u8], headers: &Headers) -> Vec<Part> {
        let (source, destination) = (self.flow.source, self.flow.destination);
        let Some((from, to)) = headers.ports(packet) else { return Vec::new() };
        let ours = headers.source == source.ip()
            && headers.destination == destination.ip()
            && to == destination.port()
            && (source.port() == 0 || from == source.port());
        let Some(payload_at) = headers.payload_at.filter(|_| ours && !headers.fragment) else {
            return Vec::new();
        };
        match self.flow.carriage {
            Carriage::Datagrams if headers.protocol == UDP => {
                self.datagrams += 1;
                let number = match self.flow.messages.begins(headers.payload(packet)) {
                    Found::Message { number, .. } => number.map_or(self.datagrams, |number| number + 1),
                    Found::Needs(_) | Found::Stranger => return Vec::new(),
                };
                let within = payload_at..headers.end;
                vec![Part { flow, number, begins_at: payload_at as i64, within }]
            }
            Carriage::Stream if headers.protocol == TCP => {
                let Some((sequence, syn)) = segment(packet, headers) else { return Vec::new() };
                if syn {
                    let first = sequence.wrapping_add(1);
                    if self.streams.get(&from).is_none_or(|stream| stream.first != first) {
                        self.streams.insert(from, Stream { first, ..Stream::default() });
                    }
                }
                let Some(stream) = self.streams.get_mut(&from) else { return Vec::new() };
                let sequence = if syn { sequence.wrapping_add(1) } else { sequence };
                let place = stream.place(sequence);
                let payload = headers.payload(packet);
                stream.follow(place, payload, self.flow.messages.as_ref());
                stream.parts(flow, place, payload_at, payload.len())
            }
            _ => Vec::new(),
        }
    }
}

/// Sequence number, and whether SYN is set.
fn segment(packet: &[u8], headers: &Headers) -> Option<(u32, bool)> {
    let at = headers.transport_at?;
    Some((u32_at(packet, at + 4)?, packet.get(at + 13)? & 0x02 != 0))
}

impl Stream {
    /// Where in the stream a sequence number is, relative to what has been seen: numbers wrap.
    fn place(&self, sequence: u32) -> i64 {
        let ahead = sequence.wrapping_sub(self.first).wrapping_sub(self.seen as u32) as i32;
        self.seen as i64 + i64::from(ahead)
    }

    /// Takes in what is new in these bytes of the stream, if no gap is before them.
    fn follow(&mut self, place: i64, payload: &[u8], messages: &dyn Messages) {
        let Ok(skip) = usize::try_from(self.seen as i64 - place) else { return };
        let mut new = payload.get(skip..).unwrap_or_default();
        while !new.is_empty() && !self.lost {
            // Within a message whose length is known nothing is looked at.
            let inside = self.next.saturating_sub(self.seen).min(new.len() as u64) as usize;
            self.seen += inside as u64;
            new = &new[inside..];
            let Some((&byte, rest)) = new.split_first() else { return };
            self.head.push(byte);
            self.seen += 1;
            new = rest;
            match messages.begins(&self.head) {
                Found::Needs(_) => {}
                Found::Message { bytes, number } => {
                    let counted = self.known.len() as u64;
                    self.known.push((self.next, bytes.max(1), number.unwrap_or(counted) + 1));
                    self.next += bytes.max(1);
                    self.head.clear();
                }
                Found::Stranger => self.lost = true,
            }
        }
    }

    /// The parts of known messages in `length` bytes at `place`.
    fn parts(&self, flow: usize, place: i64, payload_at: usize, length: usize) -> Vec<Part> {
        let end = place + length as i64;
        let after = self.known.partition_point(|(begin, bytes, _)| (begin + bytes) as i64 <= place);
        self.known[after..]
            .iter()
            .take_while(|(begin, _, _)| (*begin as i64) < end)
            .map(|&(begin, bytes, number)| {
                let here = |offset: i64| payload_at + (offset - place) as usize;
                let within = here((begin as i64).max(place))..here(((begin + bytes) as i64).min(end));
                Part { flow, number, begins_at: payload_at as i64 + begin as i64 - place, within }
            })
            .collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::in_path::packet::tests::{ipv4, tcp, udp};

    /// A length of one byte in front of each message, which counts itself.
    pub(crate) struct Framed;

    impl Messages for Framed {
        fn begins(&self, head: &[u8]) -> Found {
            match head.first() {
                None => Found::Needs(1),
                Some(0) => Found::Stranger,
                Some(&bytes) => Found::Message { bytes: bytes.into(), number: None },
            }
        }
    }

    pub(crate) fn flow(carriage: Carriage) -> MessageFlow {
        MessageFlow {
            id: "f0".into(),
            carriage,
            source: ([10, 0, 1, 1], 40_000).into(),
            destination: ([10, 0, 2, 1], 5000).into(),
            messages: Box::new(Framed),
        }
    }

    fn parts(tracker: &mut Tracker, transport: Vec<u8>, protocol: u8) -> Vec<(u64, i64, Range<usize>)> {
        let packet = ipv4(protocol, &transport);
        let headers = Headers::of(&packet).expect("it is whole");
        let start = headers.payload_at.expect("it has data");
        let found = tracker.parts(0, &packet, &headers).into_iter();
        found
            .map(|part| {
                let within = part.within.start - start..part.within.end - start;
                (part.number, part.begins_at - start as i64, within)
            })
            .collect()
    }

    const PORTS: (u16, u16) = (40_000, 5000);

    #[test]
    fn each_datagram_is_a_message() {
        let mut tracker = Tracker::new(flow(Carriage::Datagrams));
        assert_eq!(parts(&mut tracker, udp(40_000, 5000, &[2, 0]), UDP), [(1, 0, 0..2)]);
        assert_eq!(parts(&mut tracker, udp(40_001, 5000, &[2, 0]), UDP), []);
        assert_eq!(parts(&mut tracker, udp(40_000, 5000, &[1]), UDP), [(2, 0, 0..1)]);
    }

    #[test]
    fn a_stream_is_followed_over_segments_gaps_and_repetitions() {
        let mut tracker = Tracker::new(flow(Carriage::Stream));
        let isn = u32::MAX - 3;
        let mut at = |offset: u32, flags: u8, payload: &[u8]| {
            parts(&mut tracker, tcp(PORTS, isn.wrapping_add(offset), flags, payload), TCP)
        };
        assert_eq!(at(0, 0x02, b""), []);
        // Three messages of 4, 3 and 5 bytes, cut within the second one.
        assert_eq!(at(1, 0x10, &[4, 0, 0, 0, 3]), [(1, 0, 0..4), (2, 4, 4..5)]);
        // Ahead of a gap nothing is known of the third.
        assert_eq!(at(8, 0x10, &[5, 0, 0, 0, 0]), []);
        assert_eq!(at(6, 0x10, &[0, 0, 5]), [(2, -1, 0..2), (3, 2, 2..3)]);
        assert_eq!(at(8, 0x10, &[5, 0, 0, 0, 0]), [(3, 0, 0..5)]);
        // A repetition is the same message again.
        assert_eq!(at(1, 0x10, &[4, 0, 0, 0, 3]), [(1, 0, 0..4), (2, 4, 4..5)]);
    }

    #[test]
    fn strangers_end_the_stream_and_without_its_beginning_there_is_none() {
        let mut tracker = Tracker::new(flow(Carriage::Stream));
        assert_eq!(parts(&mut tracker, tcp(PORTS, 1, 0x10, &[2, 0]), TCP), []);
        assert_eq!(parts(&mut tracker, tcp(PORTS, 0, 0x02, b""), TCP), []);
        assert_eq!(parts(&mut tracker, tcp(PORTS, 1, 0x10, &[2, 0, 0, 2]), TCP), [(1, 0, 0..2)]);
        assert_eq!(parts(&mut tracker, tcp(PORTS, 5, 0x10, &[2, 0]), TCP), []);
    }
}
