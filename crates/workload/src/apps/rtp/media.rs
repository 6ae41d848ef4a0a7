//! What a source of media sends: packets with the instants at which they are due, frames that are made of them, and the
//! bytes of each.

use std::ops::Range;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::header::{HEADER_BYTES, Header};

/// A packet of media. Instants count from the start of the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// When it is ready.
    pub ready_ns: i64,
    /// Its length without the header.
    pub payload_bytes: u32,
    /// When it was captured, by the clock of its payload.
    pub timestamp: u32,
    pub marker: bool,
}

/// Packets that are of use together only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What the record calls it.
    pub object: &'static str,
    pub ready_ns: i64,
    pub size_bytes: u64,
    /// Its packets, by their numbers.
    pub packets: Range<u32>,
}

/// All that one source sends.
#[derive(Debug, PartialEq, Eq)]
pub struct Media {
    pub payload_type: u8,
    /// In their order, at most as many as 32 bits can number.
    pub packets: Vec<Packet>,
    /// None of a source each of whose packets is of use by itself.
    pub frames: Vec<Frame>,
}

/// How a packet lies in what its transport carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// It is a message of the transport.
    Whole,
    /// Behind its length, 16 bits (RFC 4571), for byte streams.
    Length,
}

/// Bytes in front of a packet under [`Framing::Length`].
pub(super) const LENGTH_BYTES: usize = 2;

/// The bytes of a source's packets.
pub(super) struct Packetizer {
    pub(super) media: Media,
    ssrc: u32,
    /// What every payload begins with.
    filling: Vec<u8>,
    framing: Framing,
}

impl Packetizer {
    /// The bytes follow from `seed`, whatever else the source drew from it.
    pub(super) fn new(media: Media, seed: u64, framing: Framing) -> Self {
        let longest = media.packets.iter().map(|packet| packet.payload_bytes).max().unwrap_or(0);
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        let ssrc = generator.next_u32();
        let mut filling = vec![0; longest as usize];
        generator.fill_bytes(&mut filling);
        Self { media, ssrc, filling, framing }
    }

    /// Writes packet `number` as it is handed over, in place of what `into` held.
    pub(super) fn write(&self, number: u32, into: &mut Vec<u8>) {
        let packet = self.media.packets[number as usize];
        into.clear();
        if self.framing == Framing::Length {
            into.extend((HEADER_BYTES as u16 + packet.payload_bytes as u16).to_be_bytes());
        }
        let header = Header {
            marker: packet.marker,
            payload_type: self.media.payload_type,
            // From 0 on, as the timestamp: whoever looks at packets on their way knows each number from the header alone.
            sequence: number as u16,
            timestamp: packet.timestamp,
            ssrc: self.ssrc,
        };
        into.extend(header.bytes());
        into.extend(&self.filling[..packet.payload_bytes as usize]);
    }

    /// The number of a packet of RTP; `None` when this source cannot have sent it. The 16 bits of its header are those of
    /// several packets of a long flow: its timestamp tells which.
    pub(super) fn recognise(&self, packet: &[u8]) -> Option<u32> {
        let (header, payload) = Header::parse(packet)?;
        let packets = &self.media.packets;
        let number = (usize::from(header.sequence)..packets.len())
            .step_by(1 << 16)
            .find(|number| packets[*number].timestamp == header.timestamp)?;
        let of_source = header.ssrc == self.ssrc
            && header.payload_type == self.media.payload_type
            && header.marker == packets[number].marker;
        let whole = payload == &self.filling[..packets[number].payload_bytes as usize];
        (of_source && whole).then_some(number as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet each 20 ms, of 8000 ticks a second.
    fn voice(packets: u32) -> Media {
        let packet = |number: u32| Packet {
            ready_ns: i64::from(number) * 20_000_000,
            payload_bytes: 160,
            timestamp: number * 160,
            marker: number == 0,
        };
        Media { payload_type: 0, packets: (0..packets).map(packet).collect(), frames: Vec::new() }
    }

    #[test]
    fn numbers_beyond_sixteen_bits_are_told_by_the_timestamp() {
        let packetizer = Packetizer::new(voice(140_000), 3, Framing::Whole);
        let mut bytes = Vec::new();
        for number in [0, 1, 65_535, 65_536, 131_073, 139_999] {
            packetizer.write(number, &mut bytes);
            assert_eq!(bytes.len(), 172);
            assert_eq!(packetizer.recognise(&bytes), Some(number));
        }
    }

    #[test]
    fn one_altered_bit_is_noticed() {
        let packetizer = Packetizer::new(voice(3), 3, Framing::Whole);
        let mut bytes = Vec::new();
        packetizer.write(1, &mut bytes);
        for at in 0..bytes.len() {
            bytes[at] ^= 0x10;
            assert_eq!(packetizer.recognise(&bytes), None, "byte {at}");
            bytes[at] ^= 0x10;
        }
        assert_eq!(packetizer.recognise(&bytes[..171]), None);
        let other = Packetizer::new(voice(3), 4, Framing::Whole);
        assert_eq!(other.recognise(&bytes), None, "it is another flow's");
    }

    #[test]
    fn in_a_stream_its_length_stands_in_front() {
        let packetizer = Packetizer::new(voice(2), 3, Framing::Length);
        let mut bytes = Vec::new();
        packetizer.write(1, &mut bytes);
        assert_eq!((bytes.len(), &bytes[..3]), (174, &[0, 172, 0x80][..]));
        assert_eq!(packetizer.recognise(&bytes[LENGTH_BYTES..]), Some(1));
    }
}
