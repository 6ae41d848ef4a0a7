//! Telecommand transfer frames (CCSDS 232.0-B): five octets of header, perhaps a segment header, up to 1,024 octets.

use alloc::vec::Vec;

use super::{FrameError, FrameKind, Sections, TransferFrame, fits, split_tail, tail_octets};
use crate::channel::Gvcid;

const KIND: FrameKind = FrameKind::Tc;
const HEADER_OCTETS: usize = 5;

/// The longest telecommand frame: its length field has ten bits.
const LARGEST: usize = 1024;

/// Managed parameters of a telecommand channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcParameters {
    /// Whether frames with data have a segment header.
    pub segment_header: bool,
    /// Whether frames end with a FECF.
    pub fecf: bool,
    /// Octets of the longest frame, at most 1,024.
    pub largest: usize,
}

impl Default for TcParameters {
    fn default() -> Self {
        Self { segment_header: true, fecf: true, largest: LARGEST }
    }
}

/// What a frame asks of the receiver: acceptance in sequence or at once, data or a control command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TcService {
    /// Type AD: data, accepted in sequence.
    SequenceControlled,
    /// Type BD: data, accepted as it comes.
    Expedited,
    /// Type BC: a control command, accepted as it comes.
    Control,
}

/// Whether data are a whole packet or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SequenceFlags {
    /// A middle part.
    Continuing,
    /// The first part.
    First,
    /// The last part.
    Last,
    /// All of it.
    Unsegmented,
}

impl SequenceFlags {
    fn bits(self) -> u8 {
        match self {
            Self::Continuing => 0,
            Self::First => 1,
            Self::Last => 2,
            Self::Unsegmented => 3,
        }
    }

    fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Continuing,
            1 => Self::First,
            2 => Self::Last,
            _ => Self::Unsegmented,
        }
    }
}

/// The segment header: which part of a packet, for which multiplexer access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentHeader {
    /// Which part.
    pub flags: SequenceFlags,
    /// Multiplexer access point, 0 to 63.
    pub map: u8,
}

/// A telecommand frame. Its data are what stands behind the segment header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcFrame {
    /// Kind of service.
    pub service: TcService,
    /// Spacecraft identifier, ten bits.
    pub spacecraft: u16,
    /// Virtual channel, six bits.
    pub channel: u8,
    /// Frame sequence number N(S); 0 for the types BD and BC.
    pub sequence: u8,
    /// Segment header, if the channel has them; never in a control command.
    pub segment: Option<SegmentHeader>,
    /// Data.
    pub data: Vec<u8>,
}

impl TransferFrame for TcFrame {
    type Parameters = TcParameters;

    const KIND: FrameKind = KIND;

    fn channel(&self) -> (Gvcid, Option<u8>) {
        let gvcid = Gvcid { version: 0, spacecraft: self.spacecraft, channel: self.channel };
        (gvcid, self.segment.map(|segment| segment.map))
    }

    fn header(&self, parameters: &TcParameters, field_octets: usize) -> Result<Vec<u8>, FrameError> {
        fits(KIND, "the spacecraft identifier", self.spacecraft.into(), 0x3FF)?;
        fits(KIND, "the virtual channel", self.channel.into(), 0x3F)?;
        let wants_segment = parameters.segment_header && self.service != TcService::Control;
        if self.segment.is_some() != wants_segment {
            return Err(FrameError::NotAsManaged { kind: KIND, what: "segment header" });
        }
        let segment = usize::from(self.segment.is_some());
        let octets = HEADER_OCTETS + segment + field_octets + tail_octets(false, parameters.fecf);
        let largest = parameters.largest.min(LARGEST);
        if octets > largest {
            return Err(FrameError::TooLong { kind: KIND, octets, largest });
        }
        let (bypass, control) = match self.service {
            TcService::SequenceControlled => (0, 0),
            TcService::Expedited => (1, 0),
            TcService::Control => (1, 1),
        };
        let first = (bypass << 13 | control << 12 | self.spacecraft).to_be_bytes();
        let length = u16::try_from(octets - 1).unwrap_or(u16::MAX);
        let second = (u16::from(self.channel) << 10 | length).to_be_bytes();
        let mut header = alloc::vec![first[0], first[1], second[0], second[1], self.sequence];
        if let Some(SegmentHeader { flags, map }) = self.segment {
            fits(KIND, "the multiplexer access point", map.into(), 0x3F)?;
            header.push(flags.bits() << 6 | map);
        }
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
        None
    }

    fn has_fecf(&self, parameters: &TcParameters) -> bool {
        parameters.fecf
    }

    fn is_protectable(&self) -> bool {
        self.service != TcService::Control
    }

    fn locate(octets: &[u8], parameters: &TcParameters) -> Result<(Self, Sections), FrameError> {
        let &[first, second, third, fourth, sequence, ..] = octets else {
            return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed: HEADER_OCTETS });
        };
        if first >> 6 != 0 {
            return Err(FrameError::Version { kind: KIND, version: first >> 6 });
        }
        let says = usize::from(u16::from_be_bytes([third & 3, fourth])) + 1;
        if says != octets.len() {
            return Err(FrameError::LengthField { kind: KIND, says, octets: octets.len() });
        }
        let largest = parameters.largest.min(LARGEST);
        if octets.len() > largest {
            return Err(FrameError::TooLong { kind: KIND, octets: octets.len(), largest });
        }
        let service = match first >> 4 & 3 {
            0 => TcService::SequenceControlled,
            1 => {
                return Err(FrameError::Invalid {
                    kind: KIND,
                    what: "a control command in sequence (type AC)",
                });
            }
            2 => TcService::Expedited,
            _ => TcService::Control,
        };
        if first & 0b1100 != 0 {
            return Err(FrameError::Invalid { kind: KIND, what: "reserved bits set" });
        }
        let has_segment = parameters.segment_header && service != TcService::Control;
        let header = HEADER_OCTETS + usize::from(has_segment);
        let sections = split_tail(KIND, octets, header, false, parameters.fecf)?;
        let segment = has_segment.then(|| {
            let octet = octets[HEADER_OCTETS];
            SegmentHeader { flags: SequenceFlags::of(octet >> 6), map: octet & 0x3F }
        });
        let frame = Self {
            service,
            spacecraft: u16::from_be_bytes([first & 3, second]),
            channel: third >> 2,
            sequence,
            segment,
            data: octets[sections.field.clone()].to_vec(),
        };
        Ok((frame, sections))
    }
}

/// What a frame of type BC tells the receiver's FARM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ControlCommand {
    /// Leave lockout.
    Unlock,
    /// Expect this sequence number next.
    SetVr(u8),
}

impl ControlCommand {
    /// The data of the frame that carries it.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        match self {
            Self::Unlock => alloc::vec![0],
            Self::SetVr(number) => alloc::vec![0x82, 0, number],
        }
    }

    /// Reads a control frame's data; none if they are no command.
    #[must_use]
    pub fn decode(data: &[u8]) -> Option<Self> {
        match *data {
            [0] => Some(Self::Unlock),
            [0x82, 0, number] => Some(Self::SetVr(number)),
            _ => None,
        }
    }
}
