//! What is known of the lengths that pass on a path, and parts of packets that were numbered when longer ones still passed.

use std::collections::VecDeque;

use bytes::Bytes;

use super::sender::Sent;
use crate::profile::Tuning;
use crate::wire::Cookie;

/// The search ends when what passes and what does not lie this close together, in bytes.
const STEP_BYTES: usize = 16;
/// Offset and total length before the bytes of a part.
pub(super) const PART_HEAD_BYTES: usize = 4;
/// Packets of a path of which parts are kept; the oldest is forgotten first.
const MAX_PARTIAL: usize = 4;

/// A probe without answer so far.
#[derive(Debug)]
pub(super) struct Probe {
    pub bytes: usize,
    pub nonce: Cookie,
    pub tries: u32,
    /// It has not left yet.
    pub due: bool,
}

/// What is known of the lengths that pass.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(super) base_bytes: usize,
    pub(super) ceiling_bytes: usize,
    /// Largest packet that passes.
    pub(super) carried_bytes: usize,
    /// Smallest packet that does not.
    pub(super) refused_bytes: usize,
    pub(super) probe: Option<Probe>,
    /// Parts that have not left yet, each as a packet with its number.
    pub(super) parts: VecDeque<(u64, Sent)>,
}

impl Sizes {
    /// A path before the search, if the profile asks for one.
    pub fn new(tuning: &Tuning) -> Option<Box<Self>> {
        let ceiling_bytes = tuning.search_packet_bytes.filter(|bytes| *bytes > tuning.max_packet_bytes)?;
        Some(Box::new(Self {
            base_bytes: tuning.max_packet_bytes,
            ceiling_bytes,
            carried_bytes: tuning.max_packet_bytes,
            refused_bytes: ceiling_bytes + 1,
            probe: None,
            parts: VecDeque::new(),
        }))
    }

    /// Largest packet that passes.
    pub fn carried_bytes(&self) -> usize {
        self.carried_bytes
    }

    /// The size to be tried next, if the search goes on: the largest first, then half way.
    pub(super) fn candidate(&self) -> Option<usize> {
        if self.refused_bytes > self.ceiling_bytes {
            return Some(self.ceiling_bytes).filter(|bytes| *bytes > self.carried_bytes);
        }
        let gap = self.refused_bytes - self.carried_bytes;
        (gap > STEP_BYTES).then(|| self.carried_bytes + gap / 2)
    }

    /// Nothing longer than the base counts as passing any more.
    pub(super) fn retreat(&mut self) {
        self.carried_bytes = self.base_bytes;
        self.refused_bytes = self.ceiling_bytes + 1;
        self.probe = None;
    }
}

/// A packet of which some parts have arrived.
#[derive(Debug)]
pub(crate) struct Partial {
    number: u64,
    bytes: Vec<u8>,
    arrived: Vec<bool>,
}

/// Notes a part of packet `number`; returns the packet's payload when nothing of it is missing any more.
pub(super) fn join(
    partial: &mut VecDeque<Partial>,
    number: u64,
    head: [u8; PART_HEAD_BYTES],
    piece: &[u8],
) -> Option<Bytes> {
    let [a, b, c, d] = head;
    let (offset, total) = (usize::from(u16::from_be_bytes([a, b])), usize::from(u16::from_be_bytes([c, d])));
    let end = offset + piece.len();
    if piece.is_empty() || end > total {
        return None;
    }
    let known = partial.iter().position(|known| known.number == number && known.bytes.len() == total);
    let place = known.unwrap_or_else(|| {
        partial.retain(|known| known.number != number);
        if partial.len() == MAX_PARTIAL {
            partial.pop_front();
        }
        partial.push_back(Partial { number, bytes: vec![0; total], arrived: vec![false; total] });
        partial.len() - 1
    });
    let entry = &mut partial[place];
    entry.bytes[offset..end].copy_from_slice(piece);
    entry.arrived[offset..end].fill(true);
    if entry.arrived.contains(&false) {
        return None;
    }
    partial.remove(place).map(|entry| Bytes::from(entry.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> Box<Sizes> {
        Sizes::new(&Tuning { search_packet_bytes: Some(1452), ..Tuning::default() }).unwrap()
    }

    /// What the search finds on a path that carries `mtu` bytes, and in how many probes.
    fn search(mtu: usize) -> (usize, u32) {
        let (mut sizes, mut probes) = (sizes(), 0);
        while let Some(bytes) = sizes.candidate() {
            probes += 1;
            if bytes <= mtu { sizes.carried_bytes = bytes } else { sizes.refused_bytes = bytes }
        }
        (sizes.carried_bytes, probes)
    }

    // R-SIZE-2
    #[test]
    fn the_search_finds_what_passes_to_within_a_step_and_never_more() {
        assert_eq!(search(1452), (1452, 1), "the largest is tried first");
        for mtu in 1200..1452 {
            let (found, probes) = search(mtu);
            assert!(found <= mtu && mtu - found < STEP_BYTES, "{mtu}: {found}");
            assert!(probes <= 6, "{mtu}: {probes}");
        }
        assert!(Sizes::new(&Tuning { search_packet_bytes: Some(1200), ..Tuning::default() }).is_none());
    }

    fn part(offset: u16, total: u16) -> [u8; 4] {
        let ([a, b], [c, d]) = (offset.to_be_bytes(), total.to_be_bytes());
        [a, b, c, d]
    }

    // R-SIZE-4
    #[test]
    fn parts_join_in_any_order_and_cut_however_they_are() {
        let mut partial = VecDeque::new();
        assert_eq!(join(&mut partial, 9, part(4, 6), b"ef"), None);
        assert_eq!(join(&mut partial, 9, part(0, 6), b"abc"), None);
        assert_eq!(join(&mut partial, 9, part(0, 6), b"abc"), None, "a copy adds nothing");
        assert_eq!(join(&mut partial, 9, part(2, 6), b"cde"), Some(Bytes::from_static(b"abcdef")));
        assert!(partial.is_empty());
    }

    // R-SIZE-4, R-SEC-2
    #[test]
    fn parts_that_lie_are_ignored_and_what_is_kept_is_bounded() {
        let mut partial = VecDeque::new();
        for (head, piece) in
            [(part(4, 6), &b"efg"[..]), (part(0, 0), b"a"), (part(0, 6), b""), (part(9, 6), b"a")]
        {
            assert_eq!(join(&mut partial, 1, head, piece), None);
            assert!(partial.is_empty());
        }
        for number in 0..100 {
            assert_eq!(join(&mut partial, number, part(0, 60_000), b"abc"), None);
        }
        assert_eq!(partial.len(), MAX_PARTIAL);
        // Another length under the same number begins anew.
        assert_eq!(join(&mut partial, 99, part(0, 4), b"ab"), None);
        assert_eq!(partial.len(), MAX_PARTIAL);
        assert_eq!(join(&mut partial, 99, part(2, 4), b"cd"), Some(Bytes::from_static(b"abcd")));
    }
}
