//! Why a datagram is not a ResTP packet, and why a packet cannot be written.

use core::fmt;

use super::{BASE_WORDS, MAX_HEADER_WORDS};

/// The extensions by name, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extension {
    /// Protection extension of version 1.
    Protection,
    /// CRC extension.
    Crc,
    /// Window extension.
    Window,
    /// Cookie extension.
    Cookie,
    /// MP_CAPABLE, MP_JOIN or subflow priority.
    Multipath,
    /// Data sequence signal.
    Dss,
    /// FEC extension.
    Fec,
    /// Sequence-number extension.
    Sequence,
    /// ARQ extension.
    Arq,
    /// SACK or SNACK extension.
    Report,
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Protection => "protection",
            Self::Crc => "CRC",
            Self::Window => "window",
            Self::Cookie => "cookie",
            Self::Multipath => "multipath",
            Self::Dss => "data sequence signal",
            Self::Fec => "FEC",
            Self::Sequence => "sequence-number",
            Self::Arq => "ARQ",
            Self::Report => "SACK/SNACK",
        })
    }
}

/// Why a datagram was refused. Every refusal is a silent drop that the receiver counts (A12, C3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DecodeError {
    /// Shorter than the base header.
    #[error("the datagram has {bytes} bytes but a ResTP base header needs {}", BASE_WORDS * 4)]
    TooShort {
        /// Bytes received.
        bytes: usize,
    },
    /// A version this decoder does not speak.
    #[error("the version field is {version} but only 0 (clear) and 1 (protected) are known")]
    UnknownVersion {
        /// The Version nibble.
        version: u8,
    },
    /// HL and HLX describe a header shorter than the base header.
    #[error("the header length is {words} words but the base header alone has {BASE_WORDS}")]
    HeaderTooSmall {
        /// HLX·16 + HL.
        words: usize,
    },
    /// HL and HLX describe a header longer than the datagram.
    #[error("the header length is {words} words but the datagram has only {bytes} bytes")]
    HeaderBeyondDatagram {
        /// HLX·16 + HL.
        words: usize,
        /// Bytes received.
        bytes: usize,
    },
    /// The header CRC does not match.
    #[error("the header CRC-16 does not match, so no header field can be trusted")]
    HeaderCorrupt,
    /// A field that must be zero is not.
    #[error("the reserved bits of the {field} are not zero as this version requires")]
    ReservedBits {
        /// Name of the field.
        field: &'static str,
    },
    /// Two header bits exclude each other.
    #[error("the header contradicts itself: {rule}")]
    Contradiction {
        /// The rule that was broken.
        rule: &'static str,
    },
    /// The header ends inside an extension that its bits announce.
    #[error("the header ends before the end of the {extension} extension that its bits announce")]
    ExtensionCut {
        /// The extension that does not fit.
        extension: Extension,
    },
    /// Words are left after the last announced extension.
    #[error("{words} header words belong to no announced extension")]
    UnclaimedWords {
        /// Words left over.
        words: usize,
    },
    /// The cookie's length is out of range.
    #[error("the cookie has {words} words but 1 to 4 are allowed")]
    CookieLength {
        /// Words found.
        words: usize,
    },
    /// SACK edges do not come in pairs.
    #[error("the SACK extension has {words} words but every block needs 2")]
    SackLength {
        /// Words found.
        words: usize,
    },
    /// A bit vector where only a single hole may be reported.
    #[error("a SNACK bit vector is present but SAK is not set beside NAK")]
    VectorWithoutSak,
    /// A NACK that reports nothing.
    #[error("the reported hole has size 0 but a hole has at least one packet")]
    EmptyHole,
    /// A protected packet too short for its tag.
    #[error("a protected packet must end with a 16-byte tag but only {bytes} bytes follow the header")]
    TagCut {
        /// Bytes after the header.
        bytes: usize,
    },
}

/// Why a packet cannot be written; always a mistake of the caller, never of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum EncodeError {
    /// The header bits announce an extension that the packet does not hold.
    #[error("the header bits require the {0} extension, which the packet does not hold")]
    Missing(Extension),
    /// The packet holds an extension that the header bits do not announce.
    #[error("the packet holds the {0} extension, which the header bits do not announce")]
    Unannounced(Extension),
    /// The packet would be refused by every receiver.
    #[error("the header contradicts itself: {rule}")]
    Contradiction {
        /// The rule that is broken.
        rule: &'static str,
    },
    /// A field holds a value that its width cannot carry.
    #[error("the value of the {field} does not fit into its {bits} bits")]
    TooWide {
        /// Name of the field.
        field: &'static str,
        /// Width of the field in bits.
        bits: u8,
    },
    /// The header would be longer than HL and HLX can say.
    #[error("the header needs {words} words but at most {MAX_HEADER_WORDS} can be announced")]
    HeaderTooLong {
        /// Words needed.
        words: usize,
    },
    /// The output has no room.
    #[error("the packet needs {needed} bytes but the buffer has {available}")]
    BufferTooSmall {
        /// Bytes needed.
        needed: usize,
        /// Bytes available.
        available: usize,
    },
}
