//! Bytes in pieces, as they came.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Pieces up to this length are joined, so that many small ones do not cost more than they hold.
const SMALL_BYTES: usize = 512;

/// A queue of bytes.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    queue: VecDeque<Bytes>,
    bytes: usize,
}

impl Pieces {
    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.bytes += piece.len();
        match self.queue.back_mut() {
            Some(last) if last.len() + piece.len() <= SMALL_BYTES => {
                let mut joined = BytesMut::with_capacity(last.len() + piece.len());
                joined.extend_from_slice(last);
                joined.extend_from_slice(&piece);
                *last = joined.freeze();
            }
            _ => self.queue.push_back(piece),
        }
    }

    /// The first piece, or as much of it as `limit_bytes` allow.
    pub fn take(&mut self, limit_bytes: usize) -> Option<Bytes> {
        let first = self.queue.front_mut()?;
        let taken = first.split_to(first.len().min(limit_bytes));
        if first.is_empty() {
            self.queue.pop_front();
        }
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
        self.bytes -= taken.len();
        Some(taken)
    }

    /// Moves the first `count` bytes to the end of `out`.
    pub fn move_to(&mut self, mut count: usize, out: &mut Vec<u8>) {
        while count > 0
            && let Some(piece) = self.take(count)
        {
            count -= piece.len();
            out.extend_from_slice(&piece);
        }
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}
