//! Messages on their way: which bytes of which packet belong to the n-th message of a flow.

use std::collections::BTreeMap;

use super::chunks::Chunks;
use super::messages::{Carriage, Found, MessageFlow, Part};
use super::packet::{Headers, SCTP, TCP, UDP};
use super::rasta;
use super::stream::Stream;

/// Follows the messages of one flow.
pub(crate) struct Tracker {
    flow: MessageFlow,
    /// Messages in datagrams so far, for those that bear no number.
    datagrams: u64,
    /// One for each source port.
    streams: BTreeMap<u16, Stream>,
    /// One for each source port.
    associations: BTreeMap<u16, Chunks>,
}

impl Tracker {
    pub fn new(flow: MessageFlow) -> Self {
        Tracker { flow, datagrams: 0, streams: BTreeMap::new(), associations: BTreeMap::new() }
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
            Carriage::Rasta if headers.protocol == UDP => {
                let messages = self.flow.messages.as_ref();
                rasta::parts(flow, packet, payload_at..headers.end, messages, &mut self.datagrams)
            }
            Carriage::Stream if headers.protocol == TCP => {
                let stream = self.streams.entry(from).or_default();
                stream.parts(flow, packet, headers, payload_at, self.flow.messages.as_ref())
            }
            Carriage::Chunks if headers.protocol == SCTP => {
                let chunks = self.associations.entry(from).or_default();
                chunks.parts(flow, packet, payload_at..headers.end, self.flow.messages.as_ref())
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::in_path::messages::tests::flow;
    use crate::in_path::packet::tests::{ipv4, tcp, udp};

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
    fn each_chunk_of_sctp_is_a_message() {
        let mut tracker = Tracker::new(flow(Carriage::Chunks));
        let mut sent = |from: u16, number: u8| {
            let header = [&from.to_be_bytes()[..], &5000_u16.to_be_bytes(), &[0; 8]].concat();
            let chunk = [0, 0x03, 0, 18, 0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
            parts(&mut tracker, [&header[..], &chunk].concat(), SCTP)
        };
        assert_eq!(sent(40_000, 1), [(1, 16, 16..18)]);
        assert_eq!(sent(40_001, 2), []);
        assert_eq!(sent(40_000, 2), [(2, 16, 16..18)]);
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
