//! Messages as cFE's software bus has them: a CCSDS primary header (of the library `spacepackets`) and cFS's secondary
//! header for commands or telemetry. Headers are big-endian; payloads are what the flight processor has in memory.
//!
//! Facts from nasa/cFE, modules/msg at 1c57d32 (`option_inc/default_cfe_msg_sechdr.h`, `default_cfe_msg_hdr_pri.h`) and
//! 146d8c4 (`fsw/src/cfe_msg_*.c`).

use std::fmt;

use spacepackets::{CcsdsPacket, PacketId, PacketSequenceControl, SpHeader};

use crate::time::{FlightTime, Subseconds};

/// Octets of the primary header.
pub const PRIMARY_OCTETS: usize = 6;

/// Octets of primary header and command secondary header: the shortest message that CI_LAB takes (nasa/ci_lab 9be2cbe,
/// `ci_lab_passthru_decode.c`).
pub const COMMAND_HEADER_OCTETS: usize = 8;

/// The length field is the octets of the whole message less this (`CFE_MSG_SIZE_OFFSET`, `cfe_msg_ccsdspri.c`).
const LENGTH_OFFSET: usize = 7;

/// The longest message that the length field can name.
pub const LARGEST_OCTETS: usize = u16::MAX as usize + LENGTH_OFFSET;

/// The greatest valid message id (`CFE_PLATFORM_SB_HIGHEST_VALID_MSGID`, nasa/cFE `cfe_sb` default configuration).
pub const HIGHEST_MESSAGE_ID: u16 = 0x1FFF;

/// Function codes have seven bits (`CFE_MSG_FC_MASK`, `cfe_msg_sechdr_fc.c`).
const FUNCTION_CODE_MASK: u8 = 0x7F;

/// Sequence flags of a message that is whole (`CFE_MSG_SEGFLG_UNSEG`, `cfe_msg_ccsdspri.c`).
const UNSEGMENTED: u16 = 0xC000;

/// A message id in cFE's first mapping, the default: the first 16 bits of the primary header as they stand, so that it
/// holds version, type, secondary header flag and APID (`cfe_msg_msgid_v1.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u16);

impl MessageId {
    /// The type bit of the primary header: set in commands, clear in telemetry.
    const COMMAND: u16 = 0x1000;
    /// The secondary header flag.
    const SECONDARY: u16 = 0x0800;

    /// Whether the software bus routes it: not zero, and not above [`HIGHEST_MESSAGE_ID`].
    #[must_use]
    pub fn is_valid(self) -> bool {
        self.0 != 0 && self.0 <= HIGHEST_MESSAGE_ID
    }

    /// Whether it is a command with a secondary header.
    #[must_use]
    pub fn is_command(self) -> bool {
        self.0 & (Self::COMMAND | Self::SECONDARY) == Self::COMMAND | Self::SECONDARY
    }

    /// Whether it is telemetry with a secondary header.
    #[must_use]
    pub fn is_telemetry(self) -> bool {
        self.0 & (Self::COMMAND | Self::SECONDARY) == Self::SECONDARY
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// Why octets are no message, or values make none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Fewer octets than the header has.
    #[error("a message has a header of {needed} octets, but only {octets} came")]
    TooShort {
        /// Octets there are.
        octets: usize,
        /// Octets of the header.
        needed: usize,
    },
    /// The length field is above the octets that came.
    #[error("the length field says that the message has {says} octets, but only {octets} came")]
    LengthField {
        /// Octets by the length field.
        says: usize,
        /// Octets there are.
        octets: usize,
    },
    /// More octets than the length field can say.
    #[error("a message has at most {LARGEST_OCTETS} octets, not {octets}")]
    TooLong {
        /// Octets it would have.
        octets: usize,
    },
    /// The message id is not of the wanted kind.
    #[error("{id} is not the message id of {wanted} with a secondary header")]
    WrongKind {
        /// The message id.
        id: MessageId,
        /// `a command` or `telemetry`.
        wanted: &'static str,
    },
    /// A function code above seven bits.
    #[error("function code {code} does not fit seven bits: the greatest is 127")]
    FunctionCode {
        /// The code.
        code: u8,
    },
}

/// A message in octets. The header is there and its length is that of the octets; nothing more is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    header: SpHeader,
    octets: &'a [u8],
}

impl<'a> Message<'a> {
    /// Reads the message that begins with `octets`; what follows it is left out, as CI_LAB does.
    ///
    /// # Errors
    /// If the header is not whole, or names more octets than there are.
    pub fn parse(octets: &'a [u8]) -> Result<Self, MessageError> {
        let too_short = MessageError::TooShort { octets: octets.len(), needed: PRIMARY_OCTETS };
        let (header, _) = SpHeader::from_be_bytes(octets).map_err(|_| too_short)?;
        let says = usize::from(header.data_len) + LENGTH_OFFSET;
        let octets = octets.get(..says).ok_or(MessageError::LengthField { says, octets: octets.len() })?;
        Ok(Self { header, octets })
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> MessageId {
        MessageId(u16::from(self.header.ccsds_version().value()) << 13 | self.header.packet_id.raw())
    }

    /// Its sequence count, 14 bits.
    #[must_use]
    pub fn sequence(&self) -> u16 {
        self.header.psc.raw() & !UNSEGMENTED
    }

    /// All its octets.
    #[must_use]
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// It as a command.
    ///
    /// # Errors
    /// If its id is not a command's, or its header is not whole.
    pub fn command(&self) -> Result<Command<'a>, MessageError> {
        let id = self.id();
        if !id.is_command() {
            return Err(MessageError::WrongKind { id, wanted: "a command" });
        }
        let Some((&[.., code, checksum], payload)) = self.octets.split_first_chunk::<COMMAND_HEADER_OCTETS>()
        else {
            let octets = self.octets.len();
            return Err(MessageError::TooShort { octets, needed: COMMAND_HEADER_OCTETS });
        };
        Ok(Command {
            id,
            sequence: self.sequence(),
            code: code & FUNCTION_CODE_MASK,
            checksum,
            payload,
            checksum_holds: checksum_of(self.octets) == 0,
        })
    }

    /// It as telemetry whose time has this format.
    ///
    /// # Errors
    /// If its id is not telemetry's, or its header is not whole.
    pub fn telemetry(&self, format: Subseconds) -> Result<Telemetry<'a>, MessageError> {
        let id = self.id();
        if !id.is_telemetry() {
            return Err(MessageError::WrongKind { id, wanted: "telemetry" });
        }
        let needed = telemetry_header_octets(format);
        let Some((header, payload)) = self.octets.split_at_checked(needed) else {
            return Err(MessageError::TooShort { octets: self.octets.len(), needed });
        };
        let time = FlightTime::decode(&header[PRIMARY_OCTETS..], format);
        Ok(Telemetry { id, sequence: self.sequence(), time, payload })
    }
}

/// A command as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command<'a> {
    /// Message id.
    pub id: MessageId,
    /// Sequence count.
    pub sequence: u16,
    /// Function code, seven bits.
    pub code: u8,
    /// Checksum as it stood there.
    pub checksum: u8,
    /// Whether it holds. cFE as it is delivered does not ask (`cfe_msg_integrity.c` at 48101c8).
    pub checksum_holds: bool,
    /// Payload.
    pub payload: &'a [u8],
}

/// Telemetry as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry<'a> {
    /// Message id.
    pub id: MessageId,
    /// Sequence count.
    pub sequence: u16,
    /// When it was made, on the flight clock.
    pub time: FlightTime,
    /// Payload.
    pub payload: &'a [u8],
}

/// The checksum over a message: 255 combined with every octet by exclusive or. Over a message whose checksum holds it
/// is 0 (`CFE_MSG_ComputeCheckSum`, `cfe_msg_sechdr_checksum.c`).
#[must_use]
pub fn checksum_of(octets: &[u8]) -> u8 {
    octets.iter().fold(0xFF, |checksum, octet| checksum ^ octet)
}

/// Octets before telemetry's payload: primary header and time, and spare octets up to a boundary of 64 bits. 16 with
/// cFE's time of 48 bits (`CFE_MSG_TelemetryHeader`, `default_cfe_msg_hdr_pri.h`), and taken to be so with the longer
/// ones, whose releases left the padding to the compiler.
#[must_use]
pub fn telemetry_header_octets(format: Subseconds) -> usize {
    (PRIMARY_OCTETS + format.time_octets()).next_multiple_of(8)
}

/// Writes a command with its checksum.
///
/// # Errors
/// If `id` is not a command's, the function code has more than seven bits, or the payload is too long.
pub fn command(id: MessageId, sequence: u16, code: u8, payload: &[u8]) -> Result<Vec<u8>, MessageError> {
    if !id.is_command() {
        return Err(MessageError::WrongKind { id, wanted: "a command" });
    }
    if code > FUNCTION_CODE_MASK {
        return Err(MessageError::FunctionCode { code });
    }
    let mut octets = header(id, sequence, COMMAND_HEADER_OCTETS + payload.len())?;
    octets.extend([code, 0]);
    octets.extend_from_slice(payload);
    octets[COMMAND_HEADER_OCTETS - 1] = checksum_of(&octets);
    Ok(octets)
}

/// Writes telemetry.
///
/// # Errors
/// If `id` is not telemetry's, or the payload is too long.
pub fn telemetry(
    id: MessageId,
    sequence: u16,
    time: FlightTime,
    format: Subseconds,
    payload: &[u8],
) -> Result<Vec<u8>, MessageError> {
    if !id.is_telemetry() {
        return Err(MessageError::WrongKind { id, wanted: "telemetry" });
    }
    let before = telemetry_header_octets(format);
    let mut octets = header(id, sequence, before + payload.len())?;
    time.encode(format, &mut octets);
    octets.resize(before, 0);
    octets.extend_from_slice(payload);
    Ok(octets)
}

fn header(id: MessageId, sequence: u16, octets: usize) -> Result<Vec<u8>, MessageError> {
    let length = octets
        .checked_sub(LENGTH_OFFSET)
        .and_then(|length| u16::try_from(length).ok())
        .ok_or(MessageError::TooLong { octets })?;
    let control = PacketSequenceControl::from(UNSEGMENTED | sequence);
    let mut header = SpHeader::new(PacketId::from(id.0), control, length).to_vec();
    // A message id may hold a version other than 0, which the library's identifier leaves out.
    header[0] = id.0.to_be_bytes()[0];
    Ok(header)
}
