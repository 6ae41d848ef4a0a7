//! What is sent.

use bytes::Bytes;

/// A piece of content that is sent again and again: 64 kB, not all zero.
pub fn piece() -> Bytes {
    (0..64 << 10).map(|index: u32| (index.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect::<Vec<_>>().into()
}
