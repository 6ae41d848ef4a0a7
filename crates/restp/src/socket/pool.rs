//! Receive buffers whose contents are handed on without a copy, and which come back when nobody holds them any more.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Buffers that may be away at a time; while so many are, what arrives is copied. It bounds what a peer can make an
/// endpoint hold beyond the bytes that count in its receive windows: 4 MB.
const MOST_LENT: usize = 64;
/// Buffers that wait for their next use.
const MOST_KEPT: usize = 8;

/// Buffers of one length.
#[derive(Clone, Default)]
pub(crate) struct Pool(Arc<Mutex<Stock>>);

#[derive(Default)]
struct Stock {
    kept: Vec<Vec<u8>>,
    lent: usize,
}

impl Pool {
    fn stock(&self) -> std::sync::MutexGuard<'_, Stock> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first `filled` bytes of `buffer` as a value that may be kept, another buffer in its place; `None` while too many
    /// are away.
    pub fn lend(&self, buffer: &mut Vec<u8>, filled: usize) -> Option<Bytes> {
        let mut stock = self.stock();
        if stock.lent == MOST_LENT {
            return None;
        }
        stock.lent += 1;
        let other = stock.kept.pop();
        drop(stock);
        let other = other.unwrap_or_else(|| vec![0; buffer.len()]);
        let bytes = std::mem::replace(buffer, other);
        Some(Bytes::from_owner(Lent { bytes, pool: self.clone() }).slice(..filled))
    }
}

/// A buffer that is away.
struct Lent {
    bytes: Vec<u8>,
    pool: Pool,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut stock = self.pool.stock();
        stock.lent -= 1;
        if stock.kept.len() < MOST_KEPT {
            stock.kept.push(std::mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_when_the_last_part_of_it_is_dropped() {
        let (pool, mut buffer) = (Pool::default(), vec![1; 100]);
        let place = buffer.as_ptr();
        let lent = pool.lend(&mut buffer, 60).unwrap();
        assert_eq!((&lent[..], lent.as_ptr(), buffer.len()), (&[1; 60][..], place, 100));
        let part = lent.slice(10..20);
        drop(lent);
        assert!(pool.stock().kept.is_empty(), "somebody still reads");
        drop(part);
        let stock = pool.stock();
        assert_eq!((stock.kept[0].as_ptr(), stock.lent), (place, 0));
    }

    #[test]
    fn who_keeps_everything_gets_copies_in_the_end() {
        let (pool, mut buffer) = (Pool::default(), vec![1; 10]);
        let held: Vec<Bytes> = (0..MOST_LENT).map(|_| pool.lend(&mut buffer, 10).unwrap()).collect();
        assert!(pool.lend(&mut buffer, 10).is_none());
        drop(held);
        assert_eq!(pool.stock().kept.len(), MOST_KEPT);
        assert!(pool.lend(&mut buffer, 10).is_some());
    }
}
