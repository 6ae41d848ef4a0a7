//! USLP transfer frames (CCSDS 732.1-B): seven to fourteen octets of header, or four in a truncated frame, perhaps an
//! insert zone; then the transfer frame data field (TFDF), which has a header of its own.

use alloc::vec::Vec;

use super::{
    FrameError, FrameKind, Sections, TransferFrame, fits, fixed_length, ocf_octets, split_tail, tail_octets,
};
use crate::channel::Gvcid;

const KIND: FrameKind = FrameKind::Uslp;
const VERSION: u8 = 12;
const FIXED_OCTETS: usize = 7;
const TRUNCATED_OCTETS: usize = 4;

/// The longest USLP frame: its length field has sixteen bits.
const LARGEST: usize = 65_536;

/// Whether frames of a channel have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UslpLength {
    /// Each has these octets.
    Fixed(usize),
    /// Up to these.
    UpTo(usize),
}

/// Managed parameters of a USLP channel. The FECF of 32 bits is not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UslpParameters {
    /// Lengths of frames.
    pub length: UslpLength,
    /// Octets of the insert zone.
    pub insert_zone: usize,
    /// Whether frames end with a FECF of 16 bits.
    pub fecf: bool,
    /// Octets of a truncated frame, if the channel has them; they have neither insert zone nor OCF.
    pub truncated: Option<usize>,
}

/// Whether the spacecraft identifier is that of the sender or of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceOrDestination {
    /// Of the sender.
    Source,
    /// Of the receiver.
    Destination,
}

/// What a frame's header has besides the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UslpHeader {
    /// All fields.
    Full {
        /// Whether the receiver takes the frame as it comes instead of in sequence.
        expedited: bool,
        /// Whether the data are a command of the protocol itself.
        control: bool,
        /// Octets of the frame count, 0 to 7.
        count_octets: u8,
        /// Frame count of the virtual channel.
        count: u64,
    },
    /// The first four octets only.
    Truncated,
}

/// A USLP frame. Its data are the transfer frame data field, to be read with [`Tfdf`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UslpFrame {
    /// Spacecraft identifier, sixteen bits.
    pub spacecraft: u16,
    /// Whose identifier it is.
    pub identifies: SourceOrDestination,
    /// Virtual channel, six bits; 63 carries idle data only.
    pub channel: u8,
    /// Multiplexer access point, four bits.
    pub map: u8,
    /// The rest of the header.
    pub header: UslpHeader,
    /// Insert zone.
    pub insert: Vec<u8>,
    /// Transfer frame data field.
    pub data: Vec<u8>,
    /// Operational control field.
    pub ocf: Option<[u8; 4]>,
}

impl TransferFrame for UslpFrame {
    type Parameters = UslpParameters;

    const KIND: FrameKind = KIND;

    fn channel(&self) -> (Gvcid, Option<u8>) {
        (Gvcid { version: VERSION, spacecraft: self.spacecraft, channel: self.channel }, Some(self.map))
    }

    fn header(&self, parameters: &UslpParameters, field_octets: usize) -> Result<Vec<u8>, FrameError> {
        fits(KIND, "the virtual channel", self.channel.into(), 0x3F)?;
        fits(KIND, "the multiplexer access point", self.map.into(), 0xF)?;
        let truncated = self.header == UslpHeader::Truncated;
        let identifier = u32::from(VERSION) << 28
            | u32::from(self.spacecraft) << 12
            | u32::from(self.identifies == SourceOrDestination::Destination) << 11
            | u32::from(self.channel) << 5
            | u32::from(self.map) << 1
            | u32::from(truncated);
        let mut header = identifier.to_be_bytes().to_vec();
        let UslpHeader::Full { expedited, control, count_octets, count } = self.header else {
            return self.truncated_header(parameters, header, field_octets);
        };
        if self.insert.len() != parameters.insert_zone {
            return Err(FrameError::NotAsManaged { kind: KIND, what: "insert zone" });
        }
        fits(KIND, "the frame count's length", count_octets.into(), 7)?;
        fits(KIND, "the frame count", count, (1_u64 << (8 * u32::from(count_octets))) - 1)?;
        let octets = FIXED_OCTETS
            + usize::from(count_octets)
            + self.insert.len()
            + field_octets
            + tail_octets(self.ocf.is_some(), parameters.fecf);
        check_length(parameters.length, octets)?;
        header.extend(u16::try_from(octets - 1).unwrap_or(u16::MAX).to_be_bytes());
        header.push(
            u8::from(expedited) << 7
                | u8::from(control) << 6
                | u8::from(self.ocf.is_some()) << 3
                | count_octets,
        );
        header.extend_from_slice(&count.to_be_bytes()[8 - usize::from(count_octets)..]);
        header.extend_from_slice(&self.insert);
        Ok(header)
    }

    fn data(&self) -> &[u8] {
        &self.data
    }

    fn into_data(self) -> Vec<u8> {
        self.data
    }

    fn with_data(self, data: Vec<u8>) -> Self {
        Self { data, ..self }
    }

    fn ocf(&self) -> Option<[u8; 4]> {
        self.ocf
    }

    fn has_fecf(&self, parameters: &UslpParameters) -> bool {
        parameters.fecf
    }

    fn is_protectable(&self) -> bool {
        self.header != UslpHeader::Truncated
    }

    fn locate(octets: &[u8], parameters: &UslpParameters) -> Result<(Self, Sections), FrameError> {
        let Some(&first) = octets.first_chunk::<TRUNCATED_OCTETS>() else {
            return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed: TRUNCATED_OCTETS });
        };
        let identifier = u32::from_be_bytes(first);
        if first[0] >> 4 != VERSION {
            return Err(FrameError::Version { kind: KIND, version: first[0] >> 4 });
        }
        let mut frame = Self {
            spacecraft: u16::try_from(identifier >> 12 & 0xFFFF).unwrap_or(0),
            identifies: if identifier >> 11 & 1 == 0 {
                SourceOrDestination::Source
            } else {
                SourceOrDestination::Destination
            },
            channel: u8::try_from(identifier >> 5 & 0x3F).unwrap_or(0),
            map: u8::try_from(identifier >> 1 & 0xF).unwrap_or(0),
            header: UslpHeader::Truncated,
            insert: Vec::new(),
            data: Vec::new(),
            ocf: None,
        };
        if identifier & 1 != 0 {
            fixed_length(KIND, octets.len(), truncated_octets(parameters)?)?;
            let sections = split_tail(KIND, octets, TRUNCATED_OCTETS, false, parameters.fecf)?;
            frame.data = octets[sections.field.clone()].to_vec();
            return Ok((frame, sections));
        }
        let Some(&[.., high, low, flags]) = octets.first_chunk::<FIXED_OCTETS>() else {
            return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed: FIXED_OCTETS });
        };
        let says = usize::from(u16::from_be_bytes([high, low])) + 1;
        if says != octets.len() {
            return Err(FrameError::LengthField { kind: KIND, says, octets: octets.len() });
        }
        check_length(parameters.length, octets.len())?;
        if flags & 0b11_0000 != 0 {
            return Err(FrameError::Invalid { kind: KIND, what: "reserved bits set" });
        }
        let count_octets = flags & 7;
        let insert_at = FIXED_OCTETS + usize::from(count_octets);
        let header = insert_at + parameters.insert_zone;
        let sections = split_tail(KIND, octets, header, flags >> 3 & 1 != 0, parameters.fecf)?;
        let count =
            octets[FIXED_OCTETS..insert_at].iter().fold(0, |count, octet| count << 8 | u64::from(*octet));
        frame.header = UslpHeader::Full {
            expedited: flags >> 7 != 0,
            control: flags >> 6 & 1 != 0,
            count_octets,
            count,
        };
        frame.insert = octets[insert_at..header].to_vec();
        frame.data = octets[sections.field.clone()].to_vec();
        frame.ocf = ocf_octets(octets, &sections);
        Ok((frame, sections))
    }
}

impl UslpFrame {
    fn truncated_header(
        &self,
        parameters: &UslpParameters,
        header: Vec<u8>,
        field_octets: usize,
    ) -> Result<Vec<u8>, FrameError> {
        let expected = truncated_octets(parameters)?;
        if !self.insert.is_empty() || self.ocf.is_some() {
            return Err(FrameError::Invalid {
                kind: KIND,
                what: "a truncated header with insert zone or OCF",
            });
        }
        fixed_length(KIND, header.len() + field_octets + tail_octets(false, parameters.fecf), expected)?;
        Ok(header)
    }
}

/// Octets of a truncated frame.
fn truncated_octets(parameters: &UslpParameters) -> Result<usize, FrameError> {
    parameters.truncated.ok_or(FrameError::NotAsManaged { kind: KIND, what: "truncated header" })
}

fn check_length(length: UslpLength, octets: usize) -> Result<(), FrameError> {
    let managed = match length {
        UslpLength::Fixed(expected) => {
            fixed_length(KIND, octets, expected)?;
            expected
        }
        UslpLength::UpTo(largest) => largest,
    };
    let largest = managed.min(LARGEST);
    if octets > largest {
        return Err(FrameError::TooLong { kind: KIND, octets, largest });
    }
    Ok(())
}

/// How data lie in the data zone (construction rules of the TFDF).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Construction {
    /// Packets over frames of one length; the octet at which the first one begins, 0xFFFF if none does.
    PacketsSpanning(u16),
    /// First part of a service data unit over frames of one length; its last octet, 0xFFFF if it goes on.
    AccessStart(u16),
    /// Further part of such a unit; its last octet, 0xFFFF if it goes on.
    AccessContinuing(u16),
    /// A stream of octets.
    OctetStream,
    /// First segment of a unit.
    FirstSegment,
    /// Middle segment.
    ContinuingSegment,
    /// Last segment.
    LastSegment,
    /// Whole units.
    Unsegmented,
}

/// Why octets are no transfer frame data field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the USLP data field has {octets} octets, but its header alone takes {needed}")]
pub struct TfdfError {
    /// Octets there are.
    pub octets: usize,
    /// Octets of the header.
    pub needed: usize,
}

/// A transfer frame data field: what is encrypted of a USLP frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tfdf {
    /// How data lie in the zone.
    pub construction: Construction,
    /// USLP protocol identifier, five bits: 0 space packets, 5 mission specific, 31 idle, and others of the register.
    pub protocol: u8,
    /// Data zone.
    pub zone: Vec<u8>,
}

impl Tfdf {
    /// Writes the field; only the lower five bits of `protocol` are taken.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (rule, pointer) = match self.construction {
            Construction::PacketsSpanning(pointer) => (0, Some(pointer)),
            Construction::AccessStart(pointer) => (1, Some(pointer)),
            Construction::AccessContinuing(pointer) => (2, Some(pointer)),
            Construction::OctetStream => (3, None),
            Construction::FirstSegment => (4, None),
            Construction::ContinuingSegment => (5, None),
            Construction::LastSegment => (6, None),
            Construction::Unsegmented => (7, None),
        };
        let mut octets = alloc::vec![rule << 5 | self.protocol & 31];
        octets.extend(pointer.into_iter().flat_map(u16::to_be_bytes));
        octets.extend_from_slice(&self.zone);
        octets
    }

    /// Reads the field.
    ///
    /// # Errors
    /// If it is shorter than its header.
    pub fn decode(octets: &[u8]) -> Result<Self, TfdfError> {
        let short = |needed| TfdfError { octets: octets.len(), needed };
        let (&first, rest) = octets.split_first().ok_or(short(1))?;
        let rule = first >> 5;
        let protocol = first & 31;
        if rule < 3 {
            let (pointer, zone) = rest.split_first_chunk::<2>().ok_or(short(3))?;
            let pointer = u16::from_be_bytes(*pointer);
            let construction = match rule {
                0 => Construction::PacketsSpanning(pointer),
                1 => Construction::AccessStart(pointer),
                _ => Construction::AccessContinuing(pointer),
            };
            return Ok(Self { construction, protocol, zone: zone.to_vec() });
        }
        let construction = match rule {
            3 => Construction::OctetStream,
            4 => Construction::FirstSegment,
            5 => Construction::ContinuingSegment,
            6 => Construction::LastSegment,
            _ => Construction::Unsegmented,
        };
        Ok(Self { construction, protocol, zone: rest.to_vec() })
    }
}
