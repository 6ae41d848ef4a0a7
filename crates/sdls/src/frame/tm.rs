//! Telemetry transfer frames (CCSDS 132.0-B): six octets of header, perhaps a secondary header, one length for all.

use alloc::vec::Vec;

use super::{
    FrameError, FrameKind, Sections, TransferFrame, fits, fixed_length, ocf_octets, split_tail, tail_octets,
};
use crate::channel::Gvcid;

const KIND: FrameKind = FrameKind::Tm;
const HEADER_OCTETS: usize = 6;

/// The longest telemetry frame (CCSDS 132.0-B).
const LARGEST: usize = 2048;

/// Managed parameters of a telemetry channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmParameters {
    /// Octets of every frame, at most 2,048.
    pub frame: usize,
    /// Whether frames end with a FECF.
    pub fecf: bool,
}

impl TmParameters {
    /// No frame is written or read where every one would be too long.
    fn check(&self) -> Result<(), FrameError> {
        fits(KIND, "the frame length", self.frame as u64, LARGEST as u64)
    }
}

/// The data field status: how packets lie in the data field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataStatus {
    /// Packets, octet by octet.
    Packets {
        /// Octet of the data field at which the first packet begins; 0x7FF if none does, 0x7FE if all is idle.
        first_header: u16,
    },
    /// A virtual channel access service: the eleven bits of segment length and pointer mean what its users agree on.
    Access {
        /// Packet order flag, segment length identifier and pointer.
        bits: u16,
    },
}

/// A telemetry frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmFrame {
    /// Spacecraft identifier, ten bits.
    pub spacecraft: u16,
    /// Virtual channel, three bits.
    pub channel: u8,
    /// Count of the frames of the master channel.
    pub master_count: u8,
    /// Count of the frames of the virtual channel.
    pub channel_count: u8,
    /// How packets lie in the data.
    pub status: DataStatus,
    /// Data of the secondary header, 1 to 63 octets.
    pub secondary: Option<Vec<u8>>,
    /// Data.
    pub data: Vec<u8>,
    /// Operational control field.
    pub ocf: Option<[u8; 4]>,
}

impl TransferFrame for TmFrame {
    type Parameters = TmParameters;

    const KIND: FrameKind = KIND;

    fn channel(&self) -> (Gvcid, Option<u8>) {
        (Gvcid { version: 0, spacecraft: self.spacecraft, channel: self.channel }, None)
    }

    fn header(&self, parameters: &TmParameters, field_octets: usize) -> Result<Vec<u8>, FrameError> {
        fits(KIND, "the spacecraft identifier", self.spacecraft.into(), 0x3FF)?;
        fits(KIND, "the virtual channel", self.channel.into(), 7)?;
        parameters.check()?;
        let first = self.spacecraft << 4 | u16::from(self.channel) << 1 | u16::from(self.ocf.is_some());
        let mut status = u16::from(self.secondary.is_some()) << 15;
        status |= match self.status {
            DataStatus::Packets { first_header } => {
                fits(KIND, "the first header pointer", first_header.into(), 0x7FF)?;
                0b11 << 11 | first_header
            }
            DataStatus::Access { bits } => {
                fits(KIND, "the data field status", bits.into(), 0x3FFF)?;
                1 << 14 | bits
            }
        };
        let [a, b] = first.to_be_bytes();
        let [c, d] = status.to_be_bytes();
        let mut header = alloc::vec![a, b, self.master_count, self.channel_count, c, d];
        if let Some(secondary) = &self.secondary {
            if secondary.is_empty() {
                return Err(FrameError::Invalid { kind: KIND, what: "an empty secondary header" });
            }
            fits(KIND, "the secondary header's length", secondary.len() as u64, 63)?;
            header.push(u8::try_from(secondary.len()).unwrap_or(63));
            header.extend_from_slice(secondary);
        }
        let octets = header.len() + field_octets + tail_octets(self.ocf.is_some(), parameters.fecf);
        fixed_length(KIND, octets, parameters.frame)?;
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

    fn has_fecf(&self, parameters: &TmParameters) -> bool {
        parameters.fecf
    }

    fn is_protectable(&self) -> bool {
        true
    }

    fn locate(octets: &[u8], parameters: &TmParameters) -> Result<(Self, Sections), FrameError> {
        let &[a, b, master_count, channel_count, c, d, ..] = octets else {
            return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed: HEADER_OCTETS });
        };
        parameters.check()?;
        fixed_length(KIND, octets.len(), parameters.frame)?;
        if a >> 6 != 0 {
            return Err(FrameError::Version { kind: KIND, version: a >> 6 });
        }
        let first = u16::from_be_bytes([a, b]);
        let bits = u16::from_be_bytes([c, d]);
        let mut header = HEADER_OCTETS;
        let mut secondary = None;
        if bits >> 15 != 0 {
            let length = usize::from(octets.get(header).map_or(0, |octet| octet & 0x3F));
            let data = octets.get(header + 1..header + 1 + length);
            let Some(data) = data else {
                let needed = header + 1 + length;
                return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed });
            };
            if length == 0 || octets[header] >> 6 != 0 {
                return Err(FrameError::Invalid {
                    kind: KIND,
                    what: "a secondary header of that version or length",
                });
            }
            secondary = Some(data.to_vec());
            header += 1 + length;
        }
        let sections = split_tail(KIND, octets, header, first & 1 != 0, parameters.fecf)?;
        let status = if bits >> 14 & 1 == 0 {
            if bits >> 11 & 0b111 != 0b011 {
                return Err(FrameError::Invalid {
                    kind: KIND,
                    what: "packets with that packet order or segment length",
                });
            }
            DataStatus::Packets { first_header: bits & 0x7FF }
        } else {
            DataStatus::Access { bits: bits & 0x3FFF }
        };
        let frame = Self {
            spacecraft: first >> 4 & 0x3FF,
            channel: u8::try_from(first >> 1 & 7).unwrap_or(0),
            master_count,
            channel_count,
            status,
            secondary,
            data: octets[sections.field.clone()].to_vec(),
            ocf: ocf_octets(octets, &sections),
        };
        Ok((frame, sections))
    }
}
