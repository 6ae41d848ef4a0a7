//! The base header (layout W0, A1): three words that every packet starts with.

use super::bits::{Cong, ErrorBits, Flags, Flow, MptCode, Order, PathMode, Scheduler, Version};
use super::error::{DecodeError, EncodeError};
use super::{BASE_WORDS, WORD_BYTES};

/// Bytes of the base header.
pub(super) const BASE_BYTES: usize = BASE_WORDS * WORD_BYTES;

/// The fields of the base header that a sender chooses.
///
/// The fields that follow from the rest of a packet (HL, HLX, WIN, MPT, D) are not here: the codec writes them and
/// [`super::Packet`] shows them as the presence of the window, multipath and data-sequence extensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Header {
    /// Clear or protected packet.
    pub version: Version,
    /// TCP's flags.
    pub flags: Flags,
    /// Ordering service.
    pub order: Order,
    /// Connection management.
    pub flow: Flow,
    /// Error control and acknowledgement format.
    pub error: ErrorBits,
    /// Path mode.
    pub path_mode: PathMode,
    /// Packet scheduler while spreading.
    pub scheduler: Scheduler,
    /// Congestion control of the sender.
    pub cong: Cong,
    /// COR: since its last ACK the sender received a packet with a good header and a corrupt payload; only with ACK and
    /// CRC.
    pub corruption_echo: bool,
    /// Established subflows as the sender sees them, 0 to 15; never used for parsing (A10).
    pub k: u8,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// The base header as received: the sender's fields and those that steer the decoder.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawHeader {
    /// First word, most significant bit first.
    word0: u32,
    /// Second word.
    word1: u32,
    /// Third word: the ports.
    word2: u32,
}

/// What the encoder adds to a [`Header`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Derived {
    /// Length of the whole header in words.
    pub words: u8,
    /// WIN: a window extension is present.
    pub window: bool,
    /// Which multipath extension is present.
    pub mpt: MptCode,
    /// D: a data sequence signal is present.
    pub dss: bool,
}

impl RawHeader {
    /// Reads the three words; no field is judged yet.
    pub fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let too_short = DecodeError::TooShort { bytes: bytes.len() };
        let (words, _) = bytes.as_chunks::<WORD_BYTES>();
        match words {
            [a, b, c, ..] => Ok(Self {
                word0: u32::from_be_bytes(*a),
                word1: u32::from_be_bytes(*b),
                word2: u32::from_be_bytes(*c),
            }),
            _ => Err(too_short),
        }
    }

    /// The version, or the reason to drop (A12).
    // R-HDR-2
    pub fn version(self) -> Result<Version, DecodeError> {
        match self.word0 >> 28 {
            0 => Ok(Version::Clear),
            1 => Ok(Version::Protected),
            other => Err(DecodeError::UnknownVersion { version: low8(other) }),
        }
    }

    /// HLX·16 + HL (A5).
    // R-HDR-3
    pub fn words(self) -> usize {
        let hl = (self.word0 >> 24) & 0xF;
        let hlx = (self.word1 >> 8) & 0xF;
        (hlx * 16 + hl) as usize
    }

    /// Whether the CRC bit is set; needed before the header can be trusted.
    pub fn has_crc(self) -> bool {
        ErrorBits::from_bits_retain(low8(self.word0)).contains(ErrorBits::CRC)
    }

    /// WIN.
    pub fn has_window(self) -> bool {
        self.word1 & (1 << 20) != 0
    }

    /// D.
    pub fn has_dss(self) -> bool {
        self.word1 & (1 << 5) != 0
    }

    /// MPT.
    pub fn mpt(self) -> MptCode {
        match (self.word1 >> 6) & 3 {
            0 => MptCode::None,
            1 => MptCode::Capable,
            2 => MptCode::Join,
            _ => MptCode::Priority,
        }
    }

    /// Judges the reserved bits and splits the fields; call it only after the HEC was found good.
    // R-HDR-1, R-HDR-4, R-HDR-7
    pub fn header(self) -> Result<Header, DecodeError> {
        let reserved = |field| DecodeError::ReservedBits { field };
        let flow = Flow::from_bits(low8(self.word0 >> 8) & 0x3F).ok_or(reserved("Flow field"))?;
        let error = ErrorBits::from_bits(low8(self.word0)).ok_or(reserved("Error field"))?;
        if self.word1 & (0xE << 20) != 0 {
            return Err(reserved("FC field"));
        }
        if self.word1 & (0xF << 12) != 0 {
            return Err(reserved("Reserved field"));
        }
        if self.word1 & 0xF != 0 {
            return Err(reserved("last four bits of the second word"));
        }
        let order = match (self.word0 >> 14) & 3 {
            0 => Order::None,
            1 => Order::Full,
            2 => Order::Partial,
            _ if flow.contains(Flow::CON) && error.contains(ErrorBits::ARQ) => Order::Streams,
            _ => return Err(DecodeError::Contradiction { rule: "PAR with FUL needs CON and ARQ" }),
        };
        let path_mode = match self.word1 >> 30 {
            0 => PathMode::Single,
            2 => PathMode::HotStandby,
            3 => PathMode::Spreading,
            _ => return Err(DecodeError::Contradiction { rule: "MPM needs MP? set" }),
        };
        let scheduler = match (self.word1 >> 28) & 3 {
            0 => Scheduler::Unset,
            1 => Scheduler::LowestRtt,
            2 => Scheduler::RoundRobin,
            _ => Scheduler::Both,
        };
        Ok(Header {
            version: self.version()?,
            flags: Flags::from_bits_retain(low8(self.word0 >> 16)),
            order,
            flow,
            error,
            path_mode,
            scheduler,
            cong: Cong::new(low8(self.word1 >> 24) & 0xF).unwrap_or_default(),
            corruption_echo: self.word1 & (1 << 4) != 0,
            k: low8(self.word1 >> 16) & 0xF,
            source_port: low16(self.word2 >> 16),
            destination_port: low16(self.word2),
        })
    }
}

impl Header {
    /// The base header's bytes.
    pub(super) fn write(&self, derived: Derived) -> Result<[u8; BASE_BYTES], EncodeError> {
        if self.k > 15 {
            return Err(EncodeError::TooWide { field: "k", bits: 4 });
        }
        let words = u32::from(derived.words);
        let version: u32 = match self.version {
            Version::Clear => 0,
            Version::Protected => 1,
        };
        let order: u32 = match self.order {
            Order::None => 0,
            Order::Full => 1,
            Order::Partial => 2,
            Order::Streams => 3,
        };
        let path_mode: u32 = match self.path_mode {
            PathMode::Single => 0,
            PathMode::HotStandby => 2,
            PathMode::Spreading => 3,
        };
        let scheduler: u32 = match self.scheduler {
            Scheduler::Unset => 0,
            Scheduler::LowestRtt => 1,
            Scheduler::RoundRobin => 2,
            Scheduler::Both => 3,
        };
        let mpt: u32 = match derived.mpt {
            MptCode::None => 0,
            MptCode::Capable => 1,
            MptCode::Join => 2,
            MptCode::Priority => 3,
        };
        let word0 = version << 28
            | (words % 16) << 24
            | u32::from(self.flags.bits()) << 16
            | order << 14
            | u32::from(self.flow.bits() & 0x3F) << 8
            | u32::from(self.error.bits() & 0xFE);
        let word1 = path_mode << 30
            | scheduler << 28
            | u32::from(self.cong.value()) << 24
            | u32::from(derived.window) << 20
            | u32::from(self.k) << 16
            | (words / 16) << 8
            | mpt << 6
            | u32::from(derived.dss) << 5
            | u32::from(self.corruption_echo) << 4;
        let mut bytes = [0; BASE_BYTES];
        bytes[..4].copy_from_slice(&word0.to_be_bytes());
        bytes[4..8].copy_from_slice(&word1.to_be_bytes());
        bytes[8..10].copy_from_slice(&self.source_port.to_be_bytes());
        bytes[10..].copy_from_slice(&self.destination_port.to_be_bytes());
        Ok(bytes)
    }

    /// The bits that a handshake freezes (A15), packed so that two packets compare in one instruction.
    ///
    /// Version, Ord, CON, OPT, P, CRC, FEC and ARQ. WIN is the presence of the window extension and is compared by
    /// [`super::Packet::frozen_bits`].
    // R-HDR-8
    #[must_use]
    pub fn frozen_bits(&self) -> u32 {
        let version = u32::from(self.version == Version::Protected);
        let order = self.order as u32;
        let flow = u32::from((self.flow & (Flow::CON | Flow::OPT)).bits());
        let path_mode = self.path_mode as u32;
        let error = u32::from((self.error & (ErrorBits::CRC | ErrorBits::FEC | ErrorBits::ARQ)).bits());
        version << 24 | order << 20 | path_mode << 16 | flow << 8 | error
    }
}

fn low8(value: u32) -> u8 {
    (value & 0xFF) as u8
}

fn low16(value: u32) -> u16 {
    (value & 0xFFFF) as u16
}
