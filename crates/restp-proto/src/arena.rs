//! Received payloads: copied once into shared blocks, so that a packet costs no allocation of its own.

use bytes::{Bytes, BytesMut};

/// Size of a block. A message that is kept pins its whole block, so this bounds what one kept message can cost.
const BLOCK_BYTES: usize = 32 * 1024;
/// Payloads shorter than this get their own allocation: kept, they would pin a block many times their size.
const SHORT_BYTES: usize = 256;

/// Hands out copies of received payloads.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    block: BytesMut,
}

impl Arena {
    /// A copy of `payload` that lives as long as somebody holds it.
    pub fn store(&mut self, payload: &[u8]) -> Bytes {
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
    fn copies_are_independent() {
        let mut arena = Arena::default();
        let copies: Vec<_> = (0..100u8).map(|n| arena.store(&vec![n; 1000])).collect();
        for (n, copy) in copies.iter().enumerate() {
            assert!(copy.len() == 1000 && copy.iter().all(|byte| usize::from(*byte) == n));
        }
    }
}
