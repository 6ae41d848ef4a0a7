//! The check code at the end of every message of the redundancy layer.

use crc::{Algorithm, CRC_16_ARC, CRC_16_KERMIT, CRC_32_ISCSI, Crc, Table};

/// Option b): no entry of the CRC catalogue has this polynomial, so its parameters stand here as `rastacrc.c` of
/// Railway-CCS/rasta-protocol has them; `check` is the value that its test expects.
const OPTION_B: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0xEE5B_42FD,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x0E7C_650A,
    residue: 0,
};

static B: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&OPTION_B);
static C: Crc<u32, Table<1>> = Crc::<u32, Table<1>>::new(&CRC_32_ISCSI);
static D: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_KERMIT);
static E: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_ARC);

/// Options a) to e) of the redundancy layer's check code (`redcty_red_config_types.h` of SBB's stack).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CheckCode {
    /// Option a): none. The safety code above still finds damage.
    #[default]
    A,
    /// Option b): CRC-32 with polynomial `EE5B42FD`.
    B,
    /// Option c): CRC-32 with polynomial `1EDC6F41` (Castagnoli, CRC-32C).
    C,
    /// Option d): CRC-16 with polynomial `1021` (reflected, initial value 0).
    D,
    /// Option e): CRC-16 with polynomial `8005`.
    E,
}

impl CheckCode {
    /// All options, in the standard's order.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// Octets that the code takes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::A => 0,
            Self::B | Self::C => 4,
            Self::D | Self::E => 2,
        }
    }

    /// The code of `data`, in the low bits.
    #[must_use]
    pub fn compute(self, data: &[u8]) -> u32 {
        match self {
            Self::A => 0,
            Self::B => B.checksum(data),
            Self::C => C.checksum(data),
            Self::D => D.checksum(data).into(),
            Self::E => E.checksum(data).into(),
        }
    }

    /// Appends the code of what `data` holds so far, the lowest octet first.
    pub(crate) fn append(self, data: &mut Vec<u8>) {
        let code = self.compute(data).to_le_bytes();
        data.extend_from_slice(&code[..self.bytes()]);
    }

    /// Whether `code` is that of `data`.
    pub(crate) fn verify(self, data: &[u8], code: &[u8]) -> bool {
        self.compute(data).to_le_bytes()[..self.bytes()] == *code
    }
}
