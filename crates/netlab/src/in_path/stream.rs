//! Messages in a stream of TCP. It is followed from its SYN on, in order; what comes ahead of a gap belongs to no message
//! that is known yet, and the repetition that fills the gap does.

use super::messages::{Found, Messages, Part};
use super::packet::{Headers, u32_at};

/// What is known of a stream, one way.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Sequence number of the first byte; none until its SYN has come.
    first: Option<u32>,
    /// Messages whose beginning is known: offset in the stream, length, number.
    known: Vec<(u64, u64, u64)>,
    /// Up to where the stream has been seen without a gap.
    seen: u64,
    /// Where the next message begins, and its first bytes as far as they have been seen.
    next: u64,
    head: Vec<u8>,
    lost: bool,
}

/// Sequence number, and whether SYN is set.
fn segment(packet: &[u8], headers: &Headers) -> Option<(u32, bool)> {
    let at = headers.transport_at?;
    Some((u32_at(packet, at + 4)?, packet.get(at + 13)? & 0x02 != 0))
}

impl Stream {
    /// The parts of messages in a segment whose data begin at `payload_at`; `flow` is the place of theirs.
    pub fn parts(
        &mut self,
        flow: usize,
        packet: &[u8],
        headers: &Headers,
        payload_at: usize,
        messages: &dyn Messages,
    ) -> Vec<Part> {
        let Some((mut sequence, syn)) = segment(packet, headers) else { return Vec::new() };
        if syn {
            sequence = sequence.wrapping_add(1);
            if self.first != Some(sequence) {
                *self = Stream { first: Some(sequence), ..Stream::default() };
            }
        }
        let Some(first) = self.first else { return Vec::new() };
        let place = self.place(sequence.wrapping_sub(first));
        let payload = headers.payload(packet);
        self.follow(place, payload, messages);
        self.known_parts(flow, place, payload_at, payload.len())
    }

    /// Where in the stream a byte is that comes so far behind the first one, modulo 2^32: the one nearest to what has been
    /// seen.
    fn place(&self, behind_first: u32) -> i64 {
        let ahead = behind_first.wrapping_sub(self.seen as u32) as i32;
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
    fn known_parts(&self, flow: usize, place: i64, payload_at: usize, length: usize) -> Vec<Part> {
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
