//! Packets over frames of fixed length (TM, AOS, USLP): a virtual channel's data fields are one run of octets, and a
//! pointer in each says where its first packet begins, so that a receiver finds its place again after a loss.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::packet::packet_octets;

/// The pointer of a data field in which no packet begins, as eleven bits.
pub const NO_HEADER: u16 = 0x7FF;

/// The pointer of a data field with idle data only, as eleven bits.
pub const ONLY_IDLE: u16 = 0x7FE;

/// Octets of the shortest packet: a header and one octet.
const SHORTEST: usize = 7;

/// Fills data fields with packets, and with idle packets where there are none.
#[derive(Clone, Debug)]
pub struct PacketStream {
    field: usize,
    waiting: VecDeque<u8>,
    /// Where packets begin, as distances from the front of `waiting`.
    starts: VecDeque<usize>,
}

impl PacketStream {
    /// A stream into data fields of `field` octets, 7 to 2,046; other values are moved into that range.
    #[must_use]
    pub fn new(field: usize) -> Self {
        let field = field.clamp(SHORTEST, usize::from(ONLY_IDLE));
        Self { field, waiting: VecDeque::new(), starts: VecDeque::new() }
    }

    /// Takes a packet.
    pub fn push(&mut self, packet: &[u8]) {
        self.starts.push_back(self.waiting.len());
        self.waiting.extend(packet);
    }

    /// Octets that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The next data field with its first header pointer. If fewer octets wait than it has, an idle packet fills it.
    pub fn next_field(&mut self) -> (u16, Vec<u8>) {
        if self.waiting.len() < self.field {
            let missing = (self.field - self.waiting.len()).max(SHORTEST);
            self.push(&idle(missing));
        }
        let pointer = self.starts.front().filter(|start| **start < self.field).copied();
        while self.starts.front().is_some_and(|start| *start < self.field) {
            self.starts.pop_front();
        }
        for start in &mut self.starts {
            *start -= self.field;
        }
        let field = self.waiting.drain(..self.field).collect();
        (pointer.and_then(|start| u16::try_from(start).ok()).unwrap_or(NO_HEADER), field)
    }
}

/// An idle packet of `octets` octets, at least seven: application identifier 2,047, unsegmented.
fn idle(octets: usize) -> Vec<u8> {
    let mut packet = alloc::vec![0x07, 0xFF, 0xC0, 0x00];
    packet.extend(u16::try_from(octets - SHORTEST).unwrap_or(u16::MAX).to_be_bytes());
    packet.resize(octets, 0);
    packet
}

/// Whether a packet is an idle one.
#[must_use]
pub fn is_idle(packet: &[u8]) -> bool {
    matches!(packet, [first, second, ..] if first & 7 == 7 && *second == 0xFF)
}

/// Takes packets out of the data fields of one virtual channel.
#[derive(Clone, Debug, Default)]
pub struct PacketSink {
    partial: Vec<u8>,
    last_count: Option<u32>,
    lost_frames: u64,
    lost_packets: u64,
}

impl PacketSink {
    /// A sink that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Frames that were missing by their counts.
    #[must_use]
    pub fn lost_frames(&self) -> u64 {
        self.lost_frames
    }

    /// Packets of which a part came and the rest was lost.
    #[must_use]
    pub fn lost_packets(&self) -> u64 {
        self.lost_packets
    }

    /// Takes a data field with its pointer and its frame's count, which goes up to `largest_count` before it begins anew.
    /// Returns the packets that it ends, without idle ones.
    pub fn take(&mut self, count: u32, largest_count: u32, pointer: u16, field: &[u8]) -> Vec<Vec<u8>> {
        let round = u64::from(largest_count) + 1;
        let missing =
            self.last_count.map_or(0, |last| (u64::from(count) + round - u64::from(last) - 1) % round);
        self.last_count = Some(count);
        self.lost_frames += missing;
        if missing > 0 {
            self.drop_partial();
        }
        if pointer == ONLY_IDLE {
            self.drop_partial();
            return Vec::new();
        }
        let start = if pointer == NO_HEADER { field.len() } else { field.len().min(pointer.into()) };
        let (end_of_last, beginnings) = field.split_at(start);
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(end_of_last);
            if pointer != NO_HEADER && packet_octets(&self.partial) != Some(self.partial.len()) {
                // The pointer contradicts the length of the packet under way: trust the pointer.
                self.drop_partial();
            }
        }
        self.partial.extend_from_slice(beginnings);
        let mut packets = Vec::new();
        while let Some(end) = packet_octets(&self.partial).filter(|end| *end <= self.partial.len()) {
            let rest = self.partial.split_off(end);
            let packet = core::mem::replace(&mut self.partial, rest);
            if !is_idle(&packet) {
                packets.push(packet);
            }
        }
        packets
    }

    fn drop_partial(&mut self) {
        self.lost_packets += u64::from(!self.partial.is_empty() && !is_idle(&self.partial));
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u8, octets: usize) -> Vec<u8> {
        let mut packet = alloc::vec![0x08, number, 0xC0, number];
        packet.extend(u16::try_from(octets - 1).unwrap().to_be_bytes());
        packet.resize(6 + octets, number);
        packet
    }

    #[test]
    fn packets_come_out_as_they_went_in() {
        let (mut stream, mut sink) = (PacketStream::new(50), PacketSink::new());
        let packets: Vec<_> = (0..40).map(|number| packet(number, 1 + usize::from(number) * 7)).collect();
        let mut found = Vec::new();
        for (count, packet) in packets.iter().enumerate() {
            stream.push(packet);
            let (pointer, field) = stream.next_field();
            assert_eq!(field.len(), 50);
            found.extend(sink.take(u32::try_from(count).unwrap() % 16, 15, pointer, &field));
        }
        let mut count = 40;
        while stream.waiting() > 0 {
            let (pointer, field) = stream.next_field();
            found.extend(sink.take(count % 16, 15, pointer, &field));
            count += 1;
        }
        assert_eq!(found, packets);
        assert_eq!((sink.lost_frames(), sink.lost_packets()), (0, 0));
    }

    #[test]
    fn a_lost_frame_costs_only_the_packets_in_it() {
        let (mut stream, mut sink) = (PacketStream::new(40), PacketSink::new());
        let packets: Vec<_> = (0..12).map(|number| packet(number, 20)).collect();
        packets.iter().for_each(|packet| stream.push(packet));
        let mut found = Vec::new();
        for count in 0..8 {
            let (pointer, field) = stream.next_field();
            if count != 3 {
                found.extend(sink.take(count, 255, pointer, &field));
            }
        }
        assert_eq!(sink.lost_frames(), 1);
        assert_eq!(sink.lost_packets(), 1);
        let missing: Vec<_> = packets.iter().filter(|packet| !found.contains(packet)).collect();
        assert!(missing.len() <= 3 && found.len() + missing.len() == 12, "{} are missing", missing.len());
    }
}
