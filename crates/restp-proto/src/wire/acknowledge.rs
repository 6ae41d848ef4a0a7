//! Selective reports on ACKs: SACK blocks, NACK and SNACK with its bit vector.

use super::WORD_BYTES;

/// One SACK block: both edges are received packets, the right one inclusive (F1).
// R-SACK-1
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SackBlock {
    /// First received packet of the block.
    pub left: u32,
    /// Last received packet of the block.
    pub right: u32,
}

impl SackBlock {
    /// The block as it stands in a packet.
    #[must_use]
    pub fn to_wire(self) -> [u8; 8] {
        (u64::from(self.left) << 32 | u64::from(self.right)).to_be_bytes()
    }

    fn from_wire(bytes: [u8; 8]) -> Self {
        let value = u64::from_be_bytes(bytes);
        Self { left: (value >> 32) as u32, right: (value & 0xFFFF_FFFF) as u32 }
    }
}

/// SACK blocks as they stand in a packet, the most recent first (F1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SackBlocks<'a>(&'a [[u8; 8]]);

impl<'a> SackBlocks<'a> {
    /// Blocks prepared with [`SackBlock::to_wire`].
    #[must_use]
    pub fn new(wire: &'a [[u8; 8]]) -> Self {
        Self(wire)
    }

    /// The blocks in packet order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SackBlock> + use<'a> {
        self.0.iter().map(|bytes| SackBlock::from_wire(*bytes))
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn wire(&self) -> &'a [[u8; 8]] {
        self.0
    }
}

/// The first hole of a NACK or SNACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hole {
    /// First missing number minus the acknowledgement number (F2).
    pub offset: u16,
    /// Missing packets, at least 1.
    pub size: u16,
}

/// A NACK (empty vector) or SNACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Snack<'a> {
    /// Hole 1.
    pub hole: Hole,
    /// Bit vector from the first packet after hole 1, most significant bit first, 1 received, 0 missing (F3); its
    /// length is a multiple of 4 octets, and zeros after the last 1 say nothing.
    pub vector: &'a [u8],
}

impl<'a> Snack<'a> {
    /// The numbers reported missing, for a packet with this acknowledgement number.
    #[must_use]
    // R-SNACK-3
    pub fn missing(&self, acknowledgement: u32) -> Missing<'a> {
        let first = acknowledgement.wrapping_add(u32::from(self.hole.offset));
        let after_hole = first.wrapping_add(u32::from(self.hole.size));
        Missing {
            next: first,
            hole_end: after_hole,
            bit: 0,
            bits: meaningful_bits(self.vector),
            snack: *self,
        }
    }

    /// The first number that this report does not speak about.
    #[must_use]
    pub fn end(&self, acknowledgement: u32) -> u32 {
        acknowledgement
            .wrapping_add(u32::from(self.hole.offset))
            .wrapping_add(u32::from(self.hole.size))
            .wrapping_add(meaningful_bits(self.vector))
    }
}

/// Bits of the vector up to and with its last 1.
fn meaningful_bits(vector: &[u8]) -> u32 {
    let last = vector.iter().rposition(|octet| *octet != 0);
    // A header has at most 255 words, so the count fits easily.
    last.map_or(0, |index| (index as u32 + 1) * 8 - vector[index].trailing_zeros())
}

/// Iterator over the numbers a SNACK reports missing, oldest first.
#[derive(Clone, Debug)]
pub struct Missing<'a> {
    next: u32,
    hole_end: u32,
    bit: u32,
    bits: u32,
    snack: Snack<'a>,
}

impl Iterator for Missing<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.next != self.hole_end {
            let number = self.next;
            self.next = number.wrapping_add(1);
            return Some(number);
        }
        while self.bit < self.bits {
            let bit = self.bit;
            self.bit += 1;
            let octet = self.snack.vector[(bit / 8) as usize];
            if octet & (0x80 >> (bit % 8)) == 0 {
                return Some(self.hole_end.wrapping_add(bit));
            }
        }
        None
    }
}

/// Builds a SNACK from what a receiver holds beyond its acknowledgement number.
///
/// `WORDS` is the room for the vector. Oldest holes come first; what does not fit waits for the next ACK (F5).
///
/// ```
/// use restp_proto::wire::SnackBuilder;
/// let received = [14, 15, 17];
/// let mut builder = SnackBuilder::<4>::new();
/// let snack = builder.build(10, 17, |number| received.contains(&number)).unwrap();
/// assert_eq!((snack.hole.offset, snack.hole.size), (0, 4));
/// assert_eq!(snack.vector, [0xD0, 0, 0, 0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SnackBuilder<const WORDS: usize> {
    vector: [[u8; WORD_BYTES]; WORDS],
}

impl<const WORDS: usize> Default for SnackBuilder<WORDS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const WORDS: usize> SnackBuilder<WORDS> {
    /// A builder with room for `WORDS` words of bit vector.
    #[must_use]
    pub const fn new() -> Self {
        Self { vector: [[0; WORD_BYTES]; WORDS] }
    }

    /// The report on the numbers from `acknowledgement` to `highest` (the highest received), or `None` if nothing is
    /// missing. A vector is written only if there is a second hole, as NACK alone says the rest (F4).
    // R-SNACK-1, R-SNACK-2, R-SNACK-5
    pub fn build(
        &mut self,
        acknowledgement: u32,
        highest: u32,
        received: impl Fn(u32) -> bool,
    ) -> Option<Snack<'_>> {
        let span = highest.wrapping_sub(acknowledgement);
        if span >= 1 << 31 {
            return None;
        }
        let number = |offset: u32| acknowledgement.wrapping_add(offset);
        let first = (0..span).find(|offset| !received(number(*offset)))?;
        let widest = span.min(first.saturating_add(u32::from(u16::MAX)));
        let after = (first..widest).find(|offset| received(number(*offset))).unwrap_or(widest);
        let hole = Hole { offset: u16::try_from(first).ok()?, size: u16::try_from(after - first).ok()? };

        self.vector = [[0; WORD_BYTES]; WORDS];
        let room = u32::try_from(WORDS * WORD_BYTES * 8).ok()?;
        let mut second_hole = false;
        let mut used_bits = 0;
        for (bit, offset) in (after..=span).enumerate().take(room as usize) {
            if received(number(offset)) {
                self.vector.as_flattened_mut()[bit / 8] |= 0x80 >> (bit % 8);
                used_bits = bit + 1;
            } else {
                second_hole = true;
            }
        }
        let words = if second_hole { used_bits.div_ceil(WORD_BYTES * 8) } else { 0 };
        Some(Snack { hole, vector: self.vector[..words].as_flattened() })
    }
}

/// The selective report of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Report<'a> {
    /// None.
    #[default]
    None,
    /// SACK.
    Sack(SackBlocks<'a>),
    /// NACK or SNACK.
    Snack(Snack<'a>),
}

impl Report<'_> {
    pub(super) fn words(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Sack(blocks) => blocks.len() * 2,
            Self::Snack(snack) => 1 + snack.vector.len().div_ceil(WORD_BYTES),
        }
    }
}
