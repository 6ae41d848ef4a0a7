//! A safety message: its fields, and how they lie in its bytes (little endian).
//!
//! ```text
//! 0        4      5         6            8        12         16           24         32
//! number   kind   version   length       sender   receiver   time stamp   place      filler ...
//! u32      u8     u8 = 1    u16 bytes    u32      u32        i64 ns       u64 mm     of the flow's seed
//! ```

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

/// Bytes in front of the filler: the shortest message.
pub(super) const FIELDS_BYTES: u32 = 32;
/// Longest message: its length has 16 bits.
pub(super) const LONGEST_BYTES: u32 = 65_507;

/// The shortest interval, bound and delay: what stamps of a machine can tell apart.
pub(super) const SHORTEST_S: f64 = 1e-6;

const VERSION: u8 = 1;
/// Who authorises movements.
pub(super) const TRACKSIDE: u32 = 1;
/// How far a train comes from one message to the next, in millimetres, and how far beyond it may go.
const STEP_MM: u64 = 50_000;
const AHEAD_MM: u64 = 2_000_000;

/// What a message says. The numbers are those of the ETCS messages that these are like (SUBSET-026, chapter 8:
/// NID_MESSAGE 136 and 3); nothing else of them is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// Where a train is, to the trackside.
    PositionReport,
    /// How far a train may go, to the train.
    MovementAuthority,
}

impl Kind {
    const ALL: [(Kind, u8, &'static str); 2] =
        [(Kind::PositionReport, 136, "position-report"), (Kind::MovementAuthority, 3, "movement-authority")];

    fn code(self) -> u8 {
        if self == Kind::PositionReport { Self::ALL[0].1 } else { Self::ALL[1].1 }
    }

    /// The word for it.
    pub(super) fn name(self) -> &'static str {
        if self == Kind::PositionReport { Self::ALL[0].2 } else { Self::ALL[1].2 }
    }
}

/// What the fields of a message say, whoever made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) number: u32,
    /// None: there is no such kind.
    pub(super) kind: Option<Kind>,
    pub(super) version: u8,
    pub(super) length: u16,
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) stamp_ns: i64,
    pub(super) place_mm: u64,
}

impl Fields {
    /// Reads them; none if there are fewer bytes than they take.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let head: &[u8; FIELDS_BYTES as usize] = bytes.first_chunk()?;
        let four = |at: usize| [head[at], head[at + 1], head[at + 2], head[at + 3]];
        let eight = |at: usize| {
            let [[a, b, c, d], [e, f, g, h]] = [four(at), four(at + 4)];
            [a, b, c, d, e, f, g, h]
        };
        Some(Self {
            number: u32::from_le_bytes(four(0)),
            kind: Kind::ALL.iter().find(|(_, code, _)| *code == head[4]).map(|(kind, ..)| *kind),
            version: head[5],
            length: u16::from_le_bytes([head[6], head[7]]),
            from: u32::from_le_bytes(four(8)),
            to: u32::from_le_bytes(four(12)),
            stamp_ns: i64::from_le_bytes(eight(16)),
            place_mm: u64::from_le_bytes(eight(24)),
        })
    }

    /// Whether it is a message of this protocol at all, in so many bytes.
    pub(super) fn well_formed(&self, bytes: usize) -> bool {
        self.kind.is_some() && self.version == VERSION && usize::from(self.length) == bytes
    }
}

/// The messages of one flow.
pub(super) struct Messages {
    kind: Kind,
    /// Sender and receiver.
    ends: [u32; 2],
    /// A message whose number, time stamp and place are 0.
    model: Vec<u8>,
}

impl Messages {
    /// Those of a train; `seed` gives the filler.
    pub(super) fn new(kind: Kind, train: u32, bytes: u32, seed: u64) -> Self {
        let ends = match kind {
            Kind::PositionReport => [train, TRACKSIDE],
            Kind::MovementAuthority => [TRACKSIDE, train],
        };
        let mut model = vec![0; bytes as usize];
        model[4] = kind.code();
        model[5] = VERSION;
        model[6..8].copy_from_slice(&(bytes as u16).to_le_bytes());
        model[8..12].copy_from_slice(&ends[0].to_le_bytes());
        model[12..16].copy_from_slice(&ends[1].to_le_bytes());
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut model[FIELDS_BYTES as usize..]);
        Self { kind, ends, model }
    }

    /// Who sends them, and to whom.
    pub(super) fn ends(&self) -> [u32; 2] {
        self.ends
    }

    /// Message `number` as it is sent at `stamp_ns`.
    pub(super) fn at(&self, number: u32, stamp_ns: i64) -> Vec<u8> {
        let ahead_mm = if self.kind == Kind::MovementAuthority { AHEAD_MM } else { 0 };
        let place_mm = u64::from(number) * STEP_MM + ahead_mm;
        let mut message = self.model.clone();
        message[..4].copy_from_slice(&number.to_le_bytes());
        message[16..24].copy_from_slice(&stamp_ns.to_le_bytes());
        message[24..32].copy_from_slice(&place_mm.to_le_bytes());
        message
    }

    /// Whether these are the bytes of the message whose number and time stamp they bear.
    pub(super) fn sent_so(&self, bytes: &[u8], fields: &Fields) -> bool {
        self.at(fields.number, fields.stamp_ns) == bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> Messages {
        Messages::new(Kind::MovementAuthority, 7, 100, 5)
    }

    #[test]
    fn a_message_says_what_it_was_made_of() {
        let bytes = messages().at(4, 1_500_000_000);
        let fields = Fields::of(&bytes).expect("it is whole");
        let right = Fields {
            number: 4,
            kind: Some(Kind::MovementAuthority),
            version: 1,
            length: 100,
            from: TRACKSIDE,
            to: 7,
            stamp_ns: 1_500_000_000,
            place_mm: 2_200_000,
        };
        assert_eq!(fields, right);
        assert!(fields.well_formed(100) && !fields.well_formed(99));
        assert_eq!(Fields::of(&bytes[..31]), None);
    }

    proptest! {
        #[test]
        fn a_bit_that_turns_over_is_known_but_where_it_makes_another_time_stamp(at in 0_usize..100, bit in 0_u8..8) {
            let mut bytes = messages().at(4, 99);
            bytes[at] ^= 1 << bit;
            let fields = Fields::of(&bytes).expect("it is whole");
            prop_assert_eq!(messages().sent_so(&bytes, &fields), (16..24).contains(&at));
        }
    }
}
