//! The format of captured packets, as in `docs/formats/record.md`: records of one size, little endian, no
//! header.

use super::memory;

/// How much of each packet is kept, from its IP header on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Snap {
    /// The headers: outer IPv4 (20), GRE (4), inner IPv4 (20) or IPv6 (40) and TCP with all its options (60)
    /// fit.
    #[default]
    Headers,
    /// All of a packet of up to 1500 bytes, and some more.
    Full,
}

impl Snap {
    /// Bytes kept of a packet.
    pub const fn bytes(self) -> usize {
        match self {
            Snap::Headers => 112,
            Snap::Full => 1584,
        }
    }

    /// Size of a record.
    pub const fn record_bytes(self) -> usize {
        HEADER_BYTES + self.bytes()
    }
}

/// Bytes of a record in front of the packet.
pub(super) const HEADER_BYTES: usize = 16;

/// Captured packets in the format of `packets.bin`.
#[derive(Debug, Clone)]
pub struct Records {
    snap: Snap,
    // In pieces, each of whole records: memory that grows would be moved, and cannot be asked for ahead.
    pieces: Vec<Vec<u8>>,
}

/// Records of a piece.
const PIECE_RECORDS: usize = 2048;

/// One captured packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Arrival, in nanoseconds from the start of the run.
    pub t_ns: i64,
    /// Number of the tap.
    pub tap: u16,
    /// Length of the whole packet from its IP header on.
    pub length_bytes: u32,
    /// The packet from its IP header on, as far as it was kept.
    pub data: &'a [u8],
}

impl Records {
    pub(super) fn new(snap: Snap) -> Self {
        Records { snap, pieces: Vec::new() }
    }

    /// Takes the content of a `packets.bin` that was captured with `snap`; a torn record at its end is left
    /// out.
    pub fn from_bytes(snap: Snap, mut bytes: Vec<u8>) -> Self {
        bytes.truncate(bytes.len() / snap.record_bytes() * snap.record_bytes());
        Records { snap, pieces: vec![bytes] }
    }

    /// Where the next record goes.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        let full = PIECE_RECORDS * self.snap.record_bytes();
        if self.pieces.last().is_none_or(|piece| piece.len() >= full) {
            self.pieces.push(memory::vector(full));
        }
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len() / self.snap.record_bytes()).sum()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All packets in order.
    pub fn iter(&self) -> impl Iterator<Item = Packet<'_>> {
        self.pieces.iter().flat_map(|piece| piece.chunks_exact(self.snap.record_bytes())).filter_map(parse)
    }
}

fn parse(record: &[u8]) -> Option<Packet<'_>> {
    let (t_ns, rest) = record.split_first_chunk()?;
    let (tap, rest) = rest.split_first_chunk()?;
    let (captured, rest) = rest.split_first_chunk()?;
    let (length, data) = rest.split_first_chunk()?;
    Some(Packet {
        t_ns: i64::from_le_bytes(*t_ns),
        tap: u16::from_le_bytes(*tap),
        length_bytes: u32::from_le_bytes(*length),
        data: data.get(..usize::from(u16::from_le_bytes(*captured)))?,
    })
}

/// Appends one record; `data` is cut to what is kept.
pub(super) fn append(to: &mut Vec<u8>, snap: Snap, t_ns: i64, tap: u16, length_bytes: u32, data: &[u8]) {
    let data = &data[..data.len().min(snap.bytes())];
    to.extend(t_ns.to_le_bytes());
    to.extend(tap.to_le_bytes());
    to.extend((data.len() as u16).to_le_bytes());
    to.extend(length_bytes.to_le_bytes());
    to.extend(data);
    to.resize(to.len() + snap.bytes() - data.len(), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_as_written_and_a_torn_one_is_left_out() {
        let mut bytes = Vec::new();
        let long: Vec<u8> = (0..200).collect();
        append(&mut bytes, Snap::Headers, 1_500_000_001, 3, 1476, &long);
        append(&mut bytes, Snap::Headers, -5, 65535, 40, &[0x45; 40]);
        assert_eq!(bytes.len(), 2 * 128);
        bytes.extend([1; 100]);

        let records = Records::from_bytes(Snap::Headers, bytes);

        let packets: Vec<Packet> = records.iter().collect();
        assert_eq!(records.len(), 2);
        assert_eq!(
            packets[0],
            Packet { t_ns: 1_500_000_001, tap: 3, length_bytes: 1476, data: &long[..112] }
        );
        assert_eq!(packets[1], Packet { t_ns: -5, tap: 65535, length_bytes: 40, data: &[0x45; 40] });
    }

    #[test]
    fn many_records_stay_in_order() {
        let mut records = Records::new(Snap::Headers);
        for t_ns in 0..5000 {
            append(records.tail(), Snap::Headers, t_ns, 0, 40, &[0x45; 40]);
        }
        assert_eq!(records.len(), 5000);
        assert!(records.iter().map(|packet| packet.t_ns).eq(0..5000));
    }

    #[test]
    fn the_layout_is_that_of_the_documented_format() {
        let mut bytes = Vec::new();
        append(&mut bytes, Snap::Full, 0x0102_0304_0506_0708, 0x0a0b, 0x1122_3344, &[0xff; 2]);
        let header = [8, 7, 6, 5, 4, 3, 2, 1, 0x0b, 0x0a, 2, 0, 0x44, 0x33, 0x22, 0x11];
        assert_eq!(bytes[..16], header);
        assert_eq!(bytes[16..19], [0xff, 0xff, 0]);
        assert_eq!(bytes.len(), 1600);
    }
}
