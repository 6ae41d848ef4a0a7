//! Messages in the DATA chunks of SCTP (RFC 9260, section 3.3.1). A chunk is a message or a fragment of one; it says itself
//! whether a message begins in it, and the transmission sequence numbers of a message's fragments follow each other.

use std::collections::BTreeMap;
use std::ops::Range;

use super::messages::{Found, Messages, Part};
use super::packet::{u16_at, u32_at};

/// Types of chunks (RFC 9260, section 3.2).
const DATA: u8 = 0;
const INIT: u8 = 1;
/// A message begins in the chunk (flag B).
const BEGINNING: u8 = 0x02;
/// What stands in front of every chunk, and in front of the data of one.
const CHUNK_HEADER_BYTES: usize = 4;
const DATA_HEADER_BYTES: usize = 16;

/// What is known of the chunks of an association, one way.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// By their transmission sequence numbers.
    known: BTreeMap<u32, Fragment>,
    /// Messages so far, for those that bear no number.
    messages: u64,
}

/// What a chunk carries.
#[derive(Debug, Clone, Copy)]
struct Fragment {
    /// The message's number, from 1 on.
    number: u64,
    /// Where in the message it begins.
    offset: u64,
    bytes: u64,
}

impl Chunks {
    /// The parts of messages in a packet whose chunks stand at `place`; `flow` is the place of theirs. Fragments behind one
    /// that has not come yet belong to no message that is known.
    pub fn parts(
        &mut self,
        flow: usize,
        packet: &[u8],
        place: Range<usize>,
        messages: &dyn Messages,
    ) -> Vec<Part> {
        let mut found = Vec::new();
        for chunk in chunks(packet, place) {
            match packet[chunk.start] {
                // An association anew: its numbers say nothing of those before.
                INIT => self.known.clear(),
                DATA => found.extend(self.part(flow, packet, &chunk, messages)),
                _ => {}
            }
        }
        found
    }

    fn part(
        &mut self,
        flow: usize,
        packet: &[u8],
        chunk: &Range<usize>,
        messages: &dyn Messages,
    ) -> Option<Part> {
        let within = chunk.start + DATA_HEADER_BYTES..chunk.end;
        let data = packet.get(within.clone())?;
        let tsn = u32_at(packet, chunk.start + 4)?;
        let fragment = match self.known.get(&tsn) {
            Some(known) => *known,
            None => {
                let (number, offset) = if packet[chunk.start + 1] & BEGINNING != 0 {
                    (self.number(messages.begins(data))?, 0)
                } else {
                    let before = self.known.get(&tsn.wrapping_sub(1))?;
                    (before.number, before.offset + before.bytes)
                };
                let fragment = Fragment { number, offset, bytes: data.len() as u64 };
                self.known.insert(tsn, fragment);
                fragment
            }
        };
        let begins_at = within.start as i64 - fragment.offset as i64;
        Some(Part { flow, number: fragment.number, begins_at, within })
    }

    fn number(&mut self, found: Found) -> Option<u64> {
        let Found::Message { number, .. } = found else { return None };
        self.messages += 1;
        Some(number.map_or(self.messages, |number| number + 1))
    }
}

/// The chunks that stand whole in a packet, each without its padding.
fn chunks(packet: &[u8], place: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = place.start;
    std::iter::from_fn(move || {
        let bytes = usize::from(u16_at(packet, at + 2)?);
        let chunk = at..at + bytes;
        at += bytes.next_multiple_of(4);
        (bytes >= CHUNK_HEADER_BYTES && chunk.end <= place.end).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_path::messages::tests::Framed;

    /// Flag E: a message ends in the chunk.
    const ENDING: u8 = 0x01;
    const WHOLE: u8 = BEGINNING | ENDING;

    fn chunk(kind: u8, flags: u8, tsn: u32, data: &[u8]) -> Vec<u8> {
        let mut chunk = vec![kind, flags];
        chunk.extend((16 + data.len() as u16).to_be_bytes());
        chunk.extend(tsn.to_be_bytes());
        chunk.extend([0; 8]);
        chunk.extend(data);
        chunk.resize(chunk.len().next_multiple_of(4), 0);
        chunk
    }

    /// Numbers, beginnings and bytes of the parts.
    fn parts(known: &mut Chunks, packet: &[Vec<u8>]) -> Vec<(u64, i64, Range<usize>)> {
        let packet = packet.concat();
        let found = known.parts(0, &packet, 0..packet.len(), &Framed).into_iter();
        found.map(|part| (part.number, part.begins_at, part.within)).collect()
    }

    #[test]
    fn chunks_in_a_packet_are_messages_of_their_own() {
        let mut known = Chunks::default();
        let both = [chunk(DATA, WHOLE, 7, &[2, 0]), chunk(3, 0, 0, &[]), chunk(DATA, WHOLE, 8, &[1])];
        assert_eq!(parts(&mut known, &both), [(1, 16, 16..18), (2, 52, 52..53)]);
        // A repetition is the same message again.
        assert_eq!(parts(&mut known, &both[2..]), [(2, 16, 16..17)]);
    }

    #[test]
    fn fragments_belong_to_the_message_that_began_before_them_also_where_numbers_wrap() {
        let mut known = Chunks::default();
        let first = u32::MAX;
        assert_eq!(parts(&mut known, &[chunk(DATA, ENDING, 0, &[9, 9])]), []);
        assert_eq!(parts(&mut known, &[chunk(DATA, BEGINNING, first, &[6, 0, 0, 0])]), [(1, 16, 16..20)]);
        assert_eq!(parts(&mut known, &[chunk(DATA, ENDING, 0, &[9, 9])]), [(1, 12, 16..18)]);
        assert_eq!(parts(&mut known, &[chunk(DATA, WHOLE, 1, &[1])]), [(2, 16, 16..17)]);
    }

    #[test]
    fn another_association_begins_anew_and_what_is_cut_or_strange_is_no_message() {
        let mut known = Chunks::default();
        parts(&mut known, &[chunk(DATA, BEGINNING, 7, &[6, 0, 0, 0])]);
        parts(&mut known, &[chunk(INIT, 0, 0, &[])]);
        assert_eq!(parts(&mut known, &[chunk(DATA, ENDING, 8, &[9, 9])]), []);
        assert_eq!(parts(&mut known, &[chunk(DATA, WHOLE, 9, &[0])]), []);
        let mut cut = chunk(DATA, WHOLE, 10, &[4, 0, 0, 0]);
        cut.truncate(18);
        assert_eq!(parts(&mut known, &[cut]), []);
        assert_eq!(parts(&mut known, &[vec![DATA, WHOLE, 0, 0]]), []);
    }
}
