//! The procedures' protocol data units: a tag, a length, a value.

use alloc::vec::Vec;

/// In what unit the length field counts. The standard says bits (as LeoDOS reads it, and as CryptoLib writes replies);
/// the commands of CryptoLib's tests count octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LengthUnit {
    /// Bits, always a multiple of eight.
    #[default]
    Bits,
    /// Octets.
    Octets,
}

/// What a data unit is about: service group and procedure. The numbers are those of tables in nasa/CryptoLib
/// (`crypto_config.h`) and LeoDOS (`sdls/ep.rs`), which agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Procedure {
    /// Over-the-air rekeying: uploads session keys under a master key.
    Otar,
    /// Activates keys.
    KeyActivation,
    /// Deactivates keys.
    KeyDeactivation,
    /// Asks for a proof that keys are right.
    KeyVerification,
    /// Erases keys.
    KeyDestruction,
    /// Asks for the states of keys.
    KeyInventory,
    /// Makes an association.
    SaCreate,
    /// Removes it.
    SaDelete,
    /// Gives it a key.
    SaRekey,
    /// Takes its key away.
    SaExpire,
    /// Lets it protect.
    SaStart,
    /// Ends that.
    SaStop,
    /// Sets the last accepted number.
    SetSequence,
    /// Sets the window.
    SetWindow,
    /// Asks for the last accepted number.
    ReadSequence,
    /// Asks which procedure changed an association last.
    SaStatus,
    /// Asks for a sign of life.
    Ping,
    /// Asks how full the log is.
    LogStatus,
    /// Asks for the log.
    DumpLog,
    /// Empties the log.
    EraseLog,
    /// Runs known answers through the algorithms.
    SelfTest,
    /// Resets the alarm of the frame security report.
    ResetAlarm,
}

/// Procedure with service group and number in it.
const NUMBERS: [(Procedure, u8); 22] = [
    (Procedure::Otar, 0x01),
    (Procedure::KeyActivation, 0x02),
    (Procedure::KeyDeactivation, 0x03),
    (Procedure::KeyVerification, 0x04),
    (Procedure::KeyDestruction, 0x06),
    (Procedure::KeyInventory, 0x07),
    (Procedure::ReadSequence, 0x10),
    (Procedure::SaCreate, 0x11),
    (Procedure::SaDelete, 0x14),
    (Procedure::SetWindow, 0x15),
    (Procedure::SaRekey, 0x16),
    (Procedure::SaExpire, 0x19),
    (Procedure::SetSequence, 0x1A),
    (Procedure::SaStart, 0x1B),
    (Procedure::SaStop, 0x1E),
    (Procedure::SaStatus, 0x1F),
    (Procedure::Ping, 0x31),
    (Procedure::LogStatus, 0x32),
    (Procedure::DumpLog, 0x33),
    (Procedure::EraseLog, 0x34),
    (Procedure::SelfTest, 0x35),
    (Procedure::ResetAlarm, 0x37),
];

impl Procedure {
    /// Every procedure.
    pub fn all() -> impl Iterator<Item = Self> {
        NUMBERS.iter().map(|(procedure, _)| *procedure)
    }

    /// Service group and number, the lower six bits of a tag.
    #[must_use]
    pub fn number(self) -> u8 {
        NUMBERS.iter().find(|(procedure, _)| *procedure == self).map_or(0, |(_, number)| *number)
    }

    /// The procedure of a number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        NUMBERS.iter().find(|(_, known)| *known == number).map(|(procedure, _)| *procedure)
    }
}

/// Why octets are no data unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PduError {
    /// Fewer octets than a tag and a length.
    #[error("the data unit has {octets} octets; tag and length alone have 3")]
    TooShort {
        /// Octets there are.
        octets: usize,
    },
    /// The length field does not agree with the octets there are.
    #[error("the data unit's length field says {says} octets of value, but there are {found}")]
    Length {
        /// Octets by the length field.
        says: usize,
        /// Octets there are.
        found: usize,
    },
    /// The length in bits is no number of octets.
    #[error("the data unit's length field is {bits} bits, which are no whole octets")]
    NoOctets {
        /// The field.
        bits: u16,
    },
    /// No procedure has this tag.
    #[error("no procedure has the tag {tag:#04x}")]
    Tag {
        /// The tag.
        tag: u8,
    },
    /// The value is too short or too long for its procedure.
    #[error("the value of {octets} octets does not fit the procedure: {reason}")]
    Value {
        /// Octets of the value.
        octets: usize,
        /// Why not.
        reason: &'static str,
    },
}

impl PduError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooShort { .. } => "pdu-too-short",
            Self::Length { .. } | Self::NoOctets { .. } => "pdu-length",
            Self::Tag { .. } => "pdu-tag",
            Self::Value { .. } => "pdu-value",
        }
    }
}

/// A data unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Whether it is a reply.
    pub reply: bool,
    /// What it is about.
    pub procedure: Procedure,
    /// Its value.
    pub value: Vec<u8>,
}

impl Pdu {
    /// Writes the unit, with its length in bits.
    ///
    /// # Errors
    /// If the value has more than 8,191 octets.
    pub fn encode(&self) -> Result<Vec<u8>, PduError> {
        let octets = self.value.len();
        let too_long = PduError::Value { octets, reason: "the length field holds 8,191 octets" };
        let bits = u16::try_from(octets * 8).map_err(|_| too_long)?;
        let mut unit = alloc::vec![u8::from(self.reply) << 7 | self.procedure.number()];
        unit.extend(bits.to_be_bytes());
        unit.extend_from_slice(&self.value);
        Ok(unit)
    }

    /// Reads a unit.
    ///
    /// # Errors
    /// If tag or length are not those of a unit; tags with the user flag are nobody's.
    pub fn decode(octets: &[u8], unit: LengthUnit) -> Result<Self, PduError> {
        let Some((&[tag, high, low], value)) = octets.split_first_chunk::<3>() else {
            return Err(PduError::TooShort { octets: octets.len() });
        };
        let length = u16::from_be_bytes([high, low]);
        let says = match unit {
            LengthUnit::Octets => length.into(),
            LengthUnit::Bits if !length.is_multiple_of(8) => return Err(PduError::NoOctets { bits: length }),
            LengthUnit::Bits => usize::from(length / 8),
        };
        if says != value.len() {
            return Err(PduError::Length { says, found: value.len() });
        }
        let procedure = Procedure::of(tag & 0x7F).ok_or(PduError::Tag { tag })?;
        Ok(Self { reply: tag >> 7 != 0, procedure, value: value.to_vec() })
    }
}

/// Reads a value from its front, with one error for whatever is missing.
pub(super) struct Reader<'a> {
    octets: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(octets: &'a [u8]) -> Self {
        Self { octets, whole: octets.len() }
    }

    pub(super) fn bad(&self, reason: &'static str) -> PduError {
        PduError::Value { octets: self.whole, reason }
    }

    pub(super) fn take(&mut self, octets: usize) -> Result<&'a [u8], PduError> {
        let (front, rest) = self.octets.split_at_checked(octets).ok_or(self.bad("it ends too early"))?;
        self.octets = rest;
        Ok(front)
    }

    pub(super) fn chunk<const N: usize>(&mut self) -> Result<[u8; N], PduError> {
        let (front, rest) = self.octets.split_first_chunk::<N>().ok_or(self.bad("it ends too early"))?;
        self.octets = rest;
        Ok(*front)
    }

    pub(super) fn u8(&mut self) -> Result<u8, PduError> {
        self.chunk::<1>().map(|[octet]| octet)
    }

    pub(super) fn u16(&mut self) -> Result<u16, PduError> {
        self.chunk().map(u16::from_be_bytes)
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.octets)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.octets.is_empty()
    }

    pub(super) fn end(&self) -> Result<(), PduError> {
        if self.octets.is_empty() { Ok(()) } else { Err(self.bad("octets are left over")) }
    }
}
