//! Messages of the redundancy layer: length, reserve, sequence number, what is carried, check code.

use crate::check_code::CheckCode;

/// Octets before what a frame carries: length (2), reserve (2), sequence number (4).
pub const FRAME_HEADER_BYTES: usize = 8;

/// A message of the redundancy layer, as it travels over each transport channel. All numbers have their lowest octet
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Counts the frames of a redundancy channel from 0, modulo 2^32.
    pub sequence_number: u32,
    /// A message of the safety and retransmission layer.
    pub payload: &'a [u8],
}

/// Why octets are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// Fewer octets than header and check code take.
    #[error("{bytes} octets are too few for a frame: at least {needed}")]
    Short {
        /// Octets that there are.
        bytes: usize,
        /// Octets of the shortest frame.
        needed: usize,
    },
    /// The length field says something else than what came.
    #[error("the length field says {declared} octets, {bytes} came")]
    Length {
        /// What the field says.
        declared: usize,
        /// What came.
        bytes: usize,
    },
    /// The check code is not that of the octets.
    #[error("the check code is wrong")]
    CheckCode,
}

impl<'a> Frame<'a> {
    /// The octets of the frame.
    ///
    /// # Panics
    /// If header, payload and check code take more than 65,535 octets, which the length field cannot say; messages
    /// that [`Config`](crate::Config) allows are shorter.
    #[must_use]
    pub fn encode(&self, check_code: CheckCode) -> Vec<u8> {
        let bytes = FRAME_HEADER_BYTES + self.payload.len() + check_code.bytes();
        let length = u16::try_from(bytes).expect("the configuration bounds a frame");
        let mut frame = Vec::with_capacity(bytes);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(&self.sequence_number.to_le_bytes());
        frame.extend_from_slice(self.payload);
        check_code.append(&mut frame);
        frame
    }

    /// Reads a frame that fills `octets`; the reserve is not looked at.
    ///
    /// # Errors
    /// What makes it none.
    pub fn decode(octets: &'a [u8], check_code: CheckCode) -> Result<Self, FrameError> {
        let bytes = octets.len();
        let needed = FRAME_HEADER_BYTES + check_code.bytes();
        if bytes < needed {
            return Err(FrameError::Short { bytes, needed });
        }
        let declared = usize::from(u16::from_le_bytes([octets[0], octets[1]]));
        if declared != bytes {
            return Err(FrameError::Length { declared, bytes });
        }
        let (data, code) = octets.split_at(bytes - check_code.bytes());
        if !check_code.verify(data, code) {
            return Err(FrameError::CheckCode);
        }
        let sequence_number = u32::from_le_bytes([octets[4], octets[5], octets[6], octets[7]]);
        Ok(Self { sequence_number, payload: &data[FRAME_HEADER_BYTES..] })
    }
}
