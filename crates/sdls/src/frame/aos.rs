//! AOS transfer frames (CCSDS 732.0-B): six octets of header, perhaps two of header error control, perhaps an insert
//! zone, one length for all.

use alloc::vec::Vec;

use super::{
    FrameError, FrameKind, Sections, TransferFrame, fits, fixed_length, ocf_octets, split_tail, tail_octets,
};
use crate::channel::Gvcid;
use crate::check::{FHEC_OCTETS, fhec};

const KIND: FrameKind = FrameKind::Aos;
const HEADER_OCTETS: usize = 6;
const VERSION: u8 = 1;

/// Managed parameters of an AOS channel. Unlike in TM, the header does not tell whether there is an OCF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AosParameters {
    /// Octets of every frame. Unlike in TM the book sets no most: the code of the channel does.
    pub frame: usize,
    /// Whether the header has an error control field.
    pub fhec: bool,
    /// Octets of the insert zone.
    pub insert_zone: usize,
    /// Whether frames of the channel have an OCF.
    pub ocf: bool,
    /// Whether frames end with a FECF.
    pub fecf: bool,
}

/// An AOS frame. Spacecraft identifiers have eight bits (issues of the book before the one that lent them two more).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AosFrame {
    /// Spacecraft identifier, eight bits.
    pub spacecraft: u8,
    /// Virtual channel, six bits; 63 carries idle data only.
    pub channel: u8,
    /// Count of the frames of the virtual channel, 24 bits.
    pub count: u32,
    /// Whether this frame is played back from a store.
    pub replay: bool,
    /// How often the count has begun anew, four bits, if it is used.
    pub cycle: Option<u8>,
    /// Insert zone.
    pub insert: Vec<u8>,
    /// Data.
    pub data: Vec<u8>,
    /// Operational control field.
    pub ocf: Option<[u8; 4]>,
}

impl TransferFrame for AosFrame {
    type Parameters = AosParameters;

    const KIND: FrameKind = KIND;

    fn channel(&self) -> (Gvcid, Option<u8>) {
        (Gvcid { version: VERSION, spacecraft: self.spacecraft.into(), channel: self.channel }, None)
    }

    fn header(&self, parameters: &AosParameters, field_octets: usize) -> Result<Vec<u8>, FrameError> {
        fits(KIND, "the virtual channel", self.channel.into(), 0x3F)?;
        fits(KIND, "the frame count", self.count.into(), 0xFF_FFFF)?;
        fits(KIND, "the frame count cycle", self.cycle.unwrap_or(0).into(), 15)?;
        if self.insert.len() != parameters.insert_zone {
            return Err(FrameError::NotAsManaged { kind: KIND, what: "insert zone" });
        }
        if self.ocf.is_some() != parameters.ocf {
            return Err(FrameError::NotAsManaged { kind: KIND, what: "operational control field" });
        }
        let identifier =
            (u16::from(VERSION) << 14 | u16::from(self.spacecraft) << 6 | u16::from(self.channel))
                .to_be_bytes();
        let [_, high, middle, low] = self.count.to_be_bytes();
        let signalling =
            u8::from(self.replay) << 7 | u8::from(self.cycle.is_some()) << 6 | self.cycle.unwrap_or(0);
        let mut header = alloc::vec![identifier[0], identifier[1], high, middle, low, signalling];
        if parameters.fhec {
            header.extend(fhec(identifier, signalling).to_be_bytes());
        }
        header.extend_from_slice(&self.insert);
        let octets = header.len() + field_octets + tail_octets(parameters.ocf, parameters.fecf);
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

    fn has_fecf(&self, parameters: &AosParameters) -> bool {
        parameters.fecf
    }

    fn is_protectable(&self) -> bool {
        true
    }

    fn locate(octets: &[u8], parameters: &AosParameters) -> Result<(Self, Sections), FrameError> {
        let &[a, b, high, middle, low, signalling, ..] = octets else {
            return Err(FrameError::TooShort { kind: KIND, octets: octets.len(), needed: HEADER_OCTETS });
        };
        fixed_length(KIND, octets.len(), parameters.frame)?;
        if a >> 6 != VERSION {
            return Err(FrameError::Version { kind: KIND, version: a >> 6 });
        }
        let insert_at = HEADER_OCTETS + if parameters.fhec { FHEC_OCTETS } else { 0 };
        let header = insert_at + parameters.insert_zone;
        let sections = split_tail(KIND, octets, header, parameters.ocf, parameters.fecf)?;
        if parameters.fhec {
            let found = u16::from_be_bytes([octets[HEADER_OCTETS], octets[HEADER_OCTETS + 1]]);
            let computed = fhec([a, b], signalling);
            if found != computed {
                return Err(FrameError::BadFhec { found, computed });
            }
        }
        let uses_cycle = signalling >> 6 & 1 != 0;
        if signalling & 0b11_0000 != 0 || !uses_cycle && signalling & 15 != 0 {
            return Err(FrameError::Invalid { kind: KIND, what: "reserved bits set" });
        }
        let identifier = u16::from_be_bytes([a, b]);
        let [_, spacecraft] = (identifier >> 6).to_be_bytes();
        let frame = Self {
            spacecraft,
            channel: b & 0x3F,
            count: u32::from_be_bytes([0, high, middle, low]),
            replay: signalling >> 7 != 0,
            cycle: uses_cycle.then_some(signalling & 15),
            insert: octets[insert_at..header].to_vec(),
            data: octets[sections.field.clone()].to_vec(),
            ocf: ocf_octets(octets, &sections),
        };
        Ok((frame, sections))
    }
}
