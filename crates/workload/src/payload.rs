//! The bytes of a message: its number, a mark of the flow, and a pattern that the receiver checks.

use std::ops::Range;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Bytes in front of the pattern: message number and mark, both 32-bit little endian.
pub const HEADER_BYTES: u32 = 8;

/// What every message of one flow looks like.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    /// Message 0 in full; the others differ in their first four bytes.
    model: Vec<u8>,
}

impl Payload {
    /// Messages of `message_bytes` (at least [`HEADER_BYTES`]) that carry the mark of `seed`.
    pub(crate) fn new(seed: u64, message_bytes: u32) -> Self {
        let mut model = vec![0; message_bytes as usize];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut model[4..]);
        Self { model }
    }

    pub(crate) fn message_bytes(&self) -> usize {
        self.model.len()
    }

    /// The number and the bytes of a message match; `None` when this flow's sender cannot have sent it. The last
    /// message of a transfer may be cut short: `seq_if_short` is its number, for when even the header is cut.
    pub(crate) fn recognise(&self, message: &[u8], seq_if_short: Option<u32>) -> Option<u32> {
        let seq = match message.first_chunk::<4>() {
            Some(number) if message.len() >= HEADER_BYTES as usize => u32::from_le_bytes(*number),
            _ => seq_if_short?,
        };
        self.matches(u64::from(seq) * self.model.len() as u64, message).then_some(seq)
    }

    /// Whether these are the bytes that stand at `offset` in the stream of all messages.
    pub(crate) fn matches(&self, mut offset: u64, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let seq = (offset / self.model.len() as u64) as u32;
            let start = (offset % self.model.len() as u64) as usize;
            let count = (self.model.len() - start).min(bytes.len());
            let (here, rest) = bytes.split_at(count);
            let number = seq.to_le_bytes();
            let in_number = number.len().saturating_sub(start).min(count);
            if in_number > 0 && here[..in_number] != number[start..start + in_number] {
                return false;
            }
            if here[in_number..] != self.model[start + in_number..start + count] {
                return false;
            }
            offset += count as u64;
            bytes = rest;
        }
        true
    }
}

/// The sender's copy of the messages to come, filled a stretch at a time.
pub(crate) struct Outbox {
    message_bytes: usize,
    block: Vec<u8>,
    first_seq: u64,
}

/// Size of the stretch: what one system call can hand over.
const BLOCK_BYTES: usize = 1 << 20;

impl Outbox {
    pub(crate) fn new(payload: &Payload) -> Self {
        Self::of(payload, (BLOCK_BYTES / payload.message_bytes()).max(1))
    }

    /// For a sender that hands over one message at a time.
    pub(crate) fn of_single_messages(payload: &Payload) -> Self {
        Self::of(payload, 1)
    }

    fn of(payload: &Payload, messages: usize) -> Self {
        let message_bytes = payload.message_bytes();
        let block = payload.model.repeat(messages);
        let mut outbox = Self { message_bytes, block, first_seq: 0 };
        outbox.number_from(0);
        outbox
    }

    fn number_from(&mut self, first_seq: u64) {
        self.first_seq = first_seq;
        for (index, message) in self.block.chunks_exact_mut(self.message_bytes).enumerate() {
            message[..4].copy_from_slice(&((first_seq + index as u64) as u32).to_le_bytes());
        }
    }

    /// As many of the bytes in this range of the stream as lie side by side (at least one).
    pub(crate) fn bytes(&mut self, range: Range<u64>) -> &[u8] {
        let seq = range.start / self.message_bytes as u64;
        let messages = (self.block.len() / self.message_bytes) as u64;
        if !(self.first_seq..self.first_seq + messages).contains(&seq) {
            self.number_from(seq);
        }
        let base = self.first_seq * self.message_bytes as u64;
        let start = (range.start - base) as usize;
        let end = ((range.end - base).min(self.block.len() as u64)) as usize;
        &self.block[start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn outbox_holds_what_the_receiver_expects(
            message_bytes in 8_u32..3000, start in 0_u64..5_000_000, length in 1_u64..100_000,
        ) {
            let payload = Payload::new(7, message_bytes);
            let mut outbox = Outbox::new(&payload);
            let bytes = outbox.bytes(start..start + length);
            prop_assert!(!bytes.is_empty());
            prop_assert!(payload.matches(start, bytes));
        }

        #[test]
        fn an_outbox_of_single_messages_holds_each_whole(message_bytes in 8_u32..3000, seqs in vec(0_u64..5_000_000, 1..20)) {
            let payload = Payload::new(7, message_bytes);
            let mut outbox = Outbox::of_single_messages(&payload);
            let size = u64::from(message_bytes);
            for seq in seqs {
                let message = outbox.bytes(seq * size..(seq + 1) * size);
                prop_assert_eq!(message.len(), message_bytes as usize);
                prop_assert!(payload.matches(seq * size, message));
            }
        }

        #[test]
        fn one_altered_bit_is_noticed(message_bytes in 8_u32..300, start in 0_u64..3000, at in 0_usize..500, bit in 0_u8..8) {
            let payload = Payload::new(7, message_bytes);
            let mut outbox = Outbox::new(&payload);
            let mut bytes = outbox.bytes(start..start + 500).to_vec();
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(!payload.matches(start, &bytes));
        }
    }

    #[test]
    fn messages_of_another_flow_are_not_recognised() {
        let (mine, other) = (Payload::new(1, 100), Payload::new(2, 100));
        let mut outbox = Outbox::new(&other);
        let message = outbox.bytes(300..400).to_vec();
        assert_eq!(other.recognise(&message, None), Some(3));
        assert_eq!(mine.recognise(&message, None), None);
    }

    #[test]
    fn a_last_message_shorter_than_its_header_is_known_by_its_place() {
        let payload = Payload::new(1, 100);
        let mut outbox = Outbox::new(&payload);
        let message = outbox.bytes(900..903).to_vec();
        assert_eq!(payload.recognise(&message, Some(9)), Some(9));
        assert_eq!(payload.recognise(&message, None), None);
    }
}
