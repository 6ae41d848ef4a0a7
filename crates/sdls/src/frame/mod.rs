//! Transfer frames of the four space data link protocols, and what they have in common.
//!
//! A frame is a header, a data field, perhaps an operational control field (OCF) and perhaps a frame error control field
//! (FECF). What a receiver cannot read from the frame itself - lengths, which fields there are - are its *managed
//! parameters*, one structure a protocol.

mod aos;
mod error;
mod tc;
mod tm;
mod uslp;

pub use aos::{AosFrame, AosParameters};
pub use error::FrameError;
pub use tc::{ControlCommand, SegmentHeader, SequenceFlags, TcFrame, TcParameters, TcService};
pub use tm::{DataStatus, TmFrame, TmParameters};
pub use uslp::{
    Construction, SourceOrDestination, Tfdf, TfdfError, UslpFrame, UslpHeader, UslpLength, UslpParameters,
};

use alloc::vec::Vec;
use core::ops::Range;

use crate::channel::Gvcid;
use crate::check::{FECF_OCTETS, fecf};

/// The four protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Telecommand, CCSDS 232.0-B.
    Tc,
    /// Telemetry, CCSDS 132.0-B.
    Tm,
    /// Advanced orbiting systems, CCSDS 732.0-B.
    Aos,
    /// Unified space data link protocol, CCSDS 732.1-B.
    Uslp,
}

impl FrameKind {
    /// The protocol's usual short name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tc => "TC",
            Self::Tm => "TM",
            Self::Aos => "AOS",
            Self::Uslp => "USLP",
        }
    }
}

/// Where the parts of a frame stand in its octets. The header ends where a security header begins: behind the segment
/// header of TC, the secondary header of TM and the insert zone of AOS and USLP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// Octets of the header.
    pub header: usize,
    /// The data field; in a protected frame with security header and trailer.
    pub field: Range<usize>,
    /// The operational control field.
    pub ocf: Option<Range<usize>>,
    /// The frame error control field.
    pub fecf: Option<Range<usize>>,
}

/// What the four kinds of frame share; [`Security`](crate::security::Security) protects whatever implements it.
pub trait TransferFrame: Sized {
    /// The managed parameters of its channel.
    type Parameters;

    /// The protocol.
    const KIND: FrameKind;

    /// The virtual channel and, where the protocol has one, the multiplexer access point.
    fn channel(&self) -> (Gvcid, Option<u8>);

    /// The header of a frame whose data field has `field_octets`.
    ///
    /// # Errors
    /// If a value does not fit its field, or the frame gets shorter or longer than the parameters allow.
    fn header(&self, parameters: &Self::Parameters, field_octets: usize) -> Result<Vec<u8>, FrameError>;

    /// The data.
    fn data(&self) -> &[u8];

    /// Takes the data out.
    fn into_data(self) -> Vec<u8>;

    /// The same frame with other data.
    #[must_use]
    fn with_data(self, data: Vec<u8>) -> Self;

    /// The operational control field.
    fn ocf(&self) -> Option<[u8; 4]>;

    /// Whether frames of the channel end with a FECF.
    fn has_fecf(&self, parameters: &Self::Parameters) -> bool;

    /// Whether link security applies: not to control commands of TC and to truncated frames of USLP.
    fn is_protectable(&self) -> bool;

    /// Reads a frame and says where its parts stand; its data are the whole data field.
    ///
    /// # Errors
    /// If the octets are no frame of this protocol and these parameters, or its check fields do not hold.
    fn locate(octets: &[u8], parameters: &Self::Parameters) -> Result<(Self, Sections), FrameError>;

    /// Writes the frame without link security.
    ///
    /// # Errors
    /// As [`header`](Self::header).
    fn encode(&self, parameters: &Self::Parameters) -> Result<Vec<u8>, FrameError> {
        let mut octets = self.header(parameters, self.data().len())?;
        octets.reserve_exact(self.data().len() + LONGEST_TAIL);
        octets.extend_from_slice(self.data());
        self.finish(parameters, &mut octets);
        Ok(octets)
    }

    /// Reads a frame without link security.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    fn decode(octets: &[u8], parameters: &Self::Parameters) -> Result<Self, FrameError> {
        Self::locate(octets, parameters).map(|(frame, _)| frame)
    }

    /// Appends OCF and FECF to header and data field.
    fn finish(&self, parameters: &Self::Parameters, octets: &mut Vec<u8>) {
        octets.extend(self.ocf().into_iter().flatten());
        if self.has_fecf(parameters) {
            octets.extend(fecf(octets).to_be_bytes());
        }
    }
}

/// Octets of the operational control field: one report of 32 bits (CCSDS 132.0-B, section 4.1.5).
const OCF_OCTETS: usize = 4;

/// The most octets that stand behind the data field.
pub(crate) const LONGEST_TAIL: usize = OCF_OCTETS + FECF_OCTETS;

/// Octets of what stands behind the data field: OCF and FECF, where a frame has them.
fn tail_octets(has_ocf: bool, has_fecf: bool) -> usize {
    let ocf = if has_ocf { OCF_OCTETS } else { 0 };
    let fecf = if has_fecf { FECF_OCTETS } else { 0 };
    ocf + fecf
}

/// An error if a frame has not the one length of its channel.
fn fixed_length(kind: FrameKind, octets: usize, expected: usize) -> Result<(), FrameError> {
    if octets != expected {
        return Err(FrameError::NotFixedLength { kind, octets, expected });
    }
    Ok(())
}

/// Splits what stands behind the header into data field, OCF and FECF, and checks the latter.
fn split_tail(
    kind: FrameKind,
    octets: &[u8],
    header: usize,
    has_ocf: bool,
    has_fecf: bool,
) -> Result<Sections, FrameError> {
    let needed = header + tail_octets(has_ocf, has_fecf);
    if octets.len() < needed {
        return Err(FrameError::TooShort { kind, octets: octets.len(), needed });
    }
    let end = octets.len();
    let fecf_at = has_fecf.then(|| end - FECF_OCTETS..end);
    let before_fecf = fecf_at.as_ref().map_or(end, |range| range.start);
    let ocf = has_ocf.then(|| before_fecf - OCF_OCTETS..before_fecf);
    let field_end = ocf.as_ref().map_or(before_fecf, |range| range.start);
    if let Some(range) = &fecf_at {
        let found = u16::from_be_bytes([octets[range.start], octets[range.start + 1]]);
        let computed = fecf(&octets[..range.start]);
        if found != computed {
            return Err(FrameError::BadFecf { kind, found, computed });
        }
    }
    Ok(Sections { header, field: header..field_end, ocf, fecf: fecf_at })
}

/// The four octets of the OCF.
fn ocf_octets(octets: &[u8], sections: &Sections) -> Option<[u8; 4]> {
    sections.ocf.clone().and_then(|range| octets[range].try_into().ok())
}

/// An error if `value` is above `largest`.
fn fits(kind: FrameKind, field: &'static str, value: u64, largest: u64) -> Result<(), FrameError> {
    if value > largest {
        return Err(FrameError::OutOfRange { kind, field, value, largest });
    }
    Ok(())
}
