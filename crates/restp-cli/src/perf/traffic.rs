//! What both sides of a measurement do on its connection.

use std::time::Instant;

use bytes::{BufMut, Bytes, BytesMut};
use restp::{Connection, Error};

use super::figures::{Delays, Moved, cpu_time, wall_clock_ns};
use crate::frames::Frames;

/// Length of the content that repeats: a prime, so that pieces in the wrong place show.
const PATTERN_BYTES: usize = 65_521;
/// Pieces that are taken from the connection at once.
const PIECES: usize = 256;
/// Delays that are remembered, at most.
const MAX_DELAYS: usize = 1 << 20;
/// Time of departure and number at the head of a message.
pub const STAMP_BYTES: usize = 16;

/// Content that both sides know.
pub struct Pattern {
    /// The pattern twice, so that any piece of it is one slice.
    twice: Bytes,
}

impl Pattern {
    /// Computes it.
    pub fn new() -> Self {
        let once =
            (0..PATTERN_BYTES as u64).map(|index| (index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8);
        let once: Vec<u8> = once.collect();
        Self { twice: [&once[..], &once[..]].concat().into() }
    }

    /// `length` bytes of the content from `offset`, at most one pattern.
    pub fn slice(&self, offset: u64, length: usize) -> Bytes {
        let start = (offset % PATTERN_BYTES as u64) as usize;
        self.twice.slice(start..start + length.min(PATTERN_BYTES))
    }

    fn matches(&self, offset: u64, piece: &[u8]) -> bool {
        let mut offset = offset;
        piece.chunks(PATTERN_BYTES).all(|chunk| {
            let same = self.slice(offset, chunk.len()) == chunk;
            offset += chunk.len() as u64;
            same
        })
    }
}

/// Sends `size_bytes` bytes of the pattern in pieces that fit, closes, and waits until all is delivered.
///
/// # Errors
/// As [`Connection::send`] and [`Connection::finish`].
pub async fn pour(connection: &Connection, size_bytes: u64) -> Result<(), Error> {
    let pattern = Pattern::new();
    let fixed = Frames::new(connection.clone()).is_fixed();
    let most = if fixed { connection.max_message_bytes().unwrap_or(1) } else { PATTERN_BYTES };
    let mut offset = 0;
    while offset < size_bytes {
        let length = most.min(usize::try_from(size_bytes - offset).unwrap_or(most));
        connection.send(pattern.slice(offset, length)).await?;
        offset += length as u64;
    }
    connection.finish().await
}

/// Receives the pattern until the peer closes.
///
/// # Errors
/// As [`Connection::recv`].
pub async fn drain(connection: &Connection, expected_bytes: u64) -> Result<Moved, Error> {
    let pattern = Pattern::new();
    let cpu_before = cpu_time();
    let (mut size_bytes, mut messages, mut intact) = (0, 0, true);
    let (mut first, mut last) = (None, Instant::now());
    let mut pieces = Vec::new();
    while connection.recv_many(&mut pieces, PIECES).await? > 0 {
        last = Instant::now();
        first.get_or_insert(last);
        for piece in pieces.drain(..) {
            intact &= pattern.matches(size_bytes, &piece.payload);
            size_bytes += piece.payload.len() as u64;
            messages += 1;
        }
    }
    let duration_s = first.map_or(0.0, |first| (last - first).as_secs_f64());
    Ok(Moved {
        size_bytes,
        messages,
        duration_s,
        throughput_bps: if duration_s > 0.0 { size_bytes as f64 * 8.0 / duration_s } else { 0.0 },
        intact: intact && size_bytes == expected_bytes,
        receiver_cpu_s: (cpu_time() - cpu_before).as_secs_f64(),
    })
}

/// Answers each request of `request_bytes` with `response_bytes`.
///
/// # Errors
/// As [`Connection::recv`].
pub async fn respond(frames: &mut Frames, request_bytes: usize, response_bytes: usize) -> Result<(), Error> {
    let response = Bytes::from(vec![0x52; response_bytes]);
    while frames.recv(request_bytes).await?.is_some() {
        frames.send(response.clone()).await?;
    }
    Ok(())
}

/// A message of `size_bytes` bytes that says when it left.
pub fn stamped(number: u64, size_bytes: usize) -> Bytes {
    let mut message = BytesMut::zeroed(size_bytes.max(STAMP_BYTES));
    let mut head = &mut message[..STAMP_BYTES];
    head.put_u64(number);
    head.put_u64(wall_clock_ns());
    message.freeze()
}

/// Receives stamped messages until the peer closes.
///
/// # Errors
/// As [`Connection::recv`].
pub async fn clock(frames: &mut Frames, message_bytes: usize) -> Result<Delays, Error> {
    let mut delays_s = Vec::new();
    while let Some(message) = frames.recv(message_bytes).await? {
        let stamp = message.get(8..STAMP_BYTES).and_then(|bytes| bytes.try_into().ok());
        if let Some(stamp) = stamp.map(u64::from_be_bytes).filter(|_| delays_s.len() < MAX_DELAYS) {
            // Signed: clocks that disagree give negative delays, which shall be seen.
            delays_s.push(wall_clock_ns().wrapping_sub(stamp) as i64 as f64 / 1e9);
        }
    }
    Ok(Delays::of(delays_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_shows_displaced_and_damaged_pieces() {
        let pattern = Pattern::new();
        let piece = pattern.slice(70_000, 1100);
        assert!(pattern.matches(70_000, &piece));
        assert!(!pattern.matches(71_100, &piece));
        let mut damaged = piece.to_vec();
        damaged[1000] ^= 1;
        assert!(!pattern.matches(70_000, &damaged));
        let long = [pattern.slice(5, PATTERN_BYTES), pattern.slice(5 + PATTERN_BYTES as u64, 100)].concat();
        assert!(pattern.matches(5, &long));
    }

    #[test]
    fn stamps_lie_in_the_past() {
        let message = stamped(3, 4);
        assert_eq!(message.len(), STAMP_BYTES);
        let stamp = u64::from_be_bytes(message[8..].try_into().unwrap());
        assert!(stamp <= wall_clock_ns() && message[7] == 3);
    }
}
