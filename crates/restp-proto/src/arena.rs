//! Received payloads: parts of the buffer that they arrived in, or copied once into shared blocks, so that a packet costs
//! no allocation of its own.

use bytes::{Bytes, BytesMut};

/// Size of a block. A message that is kept pins its whole block, so this bounds what one kept message can cost.
const BLOCK_BYTES: usize = 32 * 1024;
/// Payloads shorter than this get their own allocation: kept, they would pin a block many times their size.
const SHORT_BYTES: usize = 256;

/// Hands out received payloads as values of their own.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    block: BytesMut,
    /// Datagrams that may be kept where they are.
    lent: Option<Bytes>,
}

impl Arena {
    /// Payloads within `train` need no copy until [`Arena::take_back`].
    pub fn lend(&mut self, train: Bytes) {
        self.lent = Some(train);
    }

    /// What was lent is handed out no more.
    pub fn take_back(&mut self) {
        self.lent = None;
    }

    /// `payload` as a value that lives as long as somebody holds it.
    pub fn store(&mut self, payload: &[u8]) -> Bytes {
        if payload.len() >= SHORT_BYTES
            && let Some(lent) = &self.lent
            && lent.as_ptr_range().contains(&payload.as_ptr())
        {
            return lent.slice_ref(payload);
        }
        if payload.len() < SHORT_BYTES || payload.len() > BLOCK_BYTES / 4 {
            return Bytes::copy_from_slice(payload);
        }
        if self.block.capacity() < payload.len() {
            self.block = BytesMut::with_capacity(BLOCK_BYTES);
        }
        self.block.extend_from_slice(payload);
        self.block.split().freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lent_is_not_copied_unless_it_is_short_or_lies_elsewhere() {
        let mut arena = Arena::default();
        let train = Bytes::from(vec![7; 4000]);
        arena.lend(train.clone());
        let within = arena.store(&train[100..1100]);
        assert_eq!(within.as_ptr(), train[100..].as_ptr());
        assert_ne!(
            arena.store(&train[..SHORT_BYTES - 1]).as_ptr(),
            train.as_ptr(),
            "a short one would pin it"
        );
        assert_eq!(arena.store(&vec![8; 1000]), vec![8; 1000], "opened elsewhere");
        arena.take_back();
        let copy = arena.store(&train[100..1100]);
        assert!(copy == within && copy.as_ptr() != within.as_ptr());
    }

    #[test]
    fn copies_are_independent() {
        let mut arena = Arena::default();
        let copies: Vec<_> = (0..100u8).map(|n| arena.store(&vec![n; 1000])).collect();
        for (n, copy) in copies.iter().enumerate() {
            assert!(copy.len() == 1000 && copy.iter().all(|byte| usize::from(*byte) == n));
        }
    }
}
