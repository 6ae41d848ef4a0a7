//! The extensions of a single path: cookie, FEC, sequence number and ARQ.

use super::WORD_BYTES;
use super::presence::Numbering;

/// Shortest cookie (B4).
pub const COOKIE_MIN_BYTES: usize = 4;
/// Longest cookie, also the default (B4).
pub const COOKIE_MAX_BYTES: usize = 16;

/// A cookie of 4, 8, 12 or 16 bytes (B4), copied out of the datagram because it outlives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cookie {
    bytes: [u8; COOKIE_MAX_BYTES],
    words: u8,
}

impl Cookie {
    /// A cookie of `bytes`, or `None` if they are not 4, 8, 12 or 16.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let words = bytes.len() / WORD_BYTES;
        if !bytes.len().is_multiple_of(WORD_BYTES) || !(1..=4).contains(&words) {
            return None;
        }
        let mut cookie = [0; COOKIE_MAX_BYTES];
        cookie[..bytes.len()].copy_from_slice(bytes);
        Some(Self { bytes: cookie, words: u8::try_from(words).ok()? })
    }

    /// The cookie's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.words() * WORD_BYTES]
    }

    /// The answer to this challenge, or `None` if it is an answer itself: its first bit is 1.
    // R-ENCAP-3
    #[must_use]
    pub fn answered(self) -> Option<Self> {
        let mut answer = self;
        answer.bytes[0] |= 0x80;
        (answer != self).then_some(answer)
    }

    /// Length in words.
    pub(super) fn words(&self) -> usize {
        usize::from(self.words)
    }
}

/// The FEC word.
///
/// On an encoded packet (ENC) the range is the number of packets encoded; on a pure ACK of HARQ it is the loss range,
/// 0 if everything was recovered (G6); on a SYN the type is an offer and the range 0.
// R-FEC-2
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fec {
    /// FEC type: 0 disabled, 1 basic XOR, 2 interleaved XOR; other values are legal to carry (G9).
    pub kind: u8,
    /// FEC Range, 24 bits.
    pub range: u32,
}

impl Fec {
    /// Type 1: XOR of up to 16 consecutive packets.
    pub const BASIC_XOR: u8 = 1;
    /// Type 2: XOR of up to 8 packets, every other one.
    pub const INTERLEAVED_XOR: u8 = 2;
}

/// The ARQ extension.
// R-ARQ-2
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Arq {
    /// Number of this packet (E1: packets, not bytes).
    pub sequence: u32,
    /// Next number the sender of this packet expects; valid only with the ACK flag (E2), else sent as 0.
    pub acknowledgement: u32,
}

/// How a packet is numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// Not numbered.
    #[default]
    None,
    /// SEQ extension.
    Seq(u32),
    /// ARQ extension.
    Arq(Arq),
}

impl Sequence {
    /// The sequence number, if there is one.
    #[must_use]
    pub fn number(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Seq(number) => Some(number),
            Self::Arq(arq) => Some(arq.sequence),
        }
    }

    pub(super) fn numbering(self) -> Numbering {
        match self {
            Self::None => Numbering::None,
            Self::Seq(_) => Numbering::Seq,
            Self::Arq(_) => Numbering::Arq,
        }
    }
}
