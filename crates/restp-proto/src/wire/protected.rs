//! Version 1, the protected profile: the Protection extension, associated data and late checksums.
//!
//! The codec does no cryptography. To send a sealed packet: `encode` it with its plaintext (the CRC fields stay zero and
//! room for the tag is appended), seal the body in place with the header as associated data, then call
//! [`seal_checksums`]. To receive one: `decode`, build the associated data with [`associated_data`], open the body.

use super::crc::{PseudoHeader, header_crc, payload_crc};
use super::error::{DecodeError, EncodeError};
use super::header::{BASE_BYTES, RawHeader};
use super::{MAX_HEADER_BYTES, WORD_BYTES};

/// Words of the Protection extension.
pub(super) const PROTECTION_WORDS: usize = 2;
/// Offset of the CRC extension in version 1.
const CRC_OFFSET: usize = BASE_BYTES + PROTECTION_WORDS * WORD_BYTES;
/// Bytes of the AEAD tag at the end of a sealed packet (both AEADs of the Noise framework have 128-bit tags).
pub const TAG_BYTES: usize = 16;

/// The Protection extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protection {
    /// Key epoch: 0 during the handshake (not sealed), then 1 to 255, after which 1 follows.
    pub epoch: u8,
    /// Subflow whose counter the packet number belongs to; the address id of MP_JOIN, 0 for the first subflow.
    pub subflow: u8,
    /// Packet number, 48 bits; never twice with the same epoch and subflow.
    pub packet_number: u64,
}

impl Protection {
    /// The largest packet number.
    pub const MAX_PACKET_NUMBER: u64 = (1 << 48) - 1;

    /// The 64-bit AEAD nonce: an octet of zero, the subflow, the packet number.
    #[must_use]
    // R-PROT-5
    pub fn nonce(&self) -> u64 {
        u64::from(self.subflow) << 48 | (self.packet_number & Self::MAX_PACKET_NUMBER)
    }

    pub(super) fn to_wire(self) -> Result<[u8; 8], EncodeError> {
        if self.packet_number > Self::MAX_PACKET_NUMBER {
            return Err(EncodeError::TooWide { field: "packet number", bits: 48 });
        }
        Ok((u64::from(self.epoch) << 56 | self.nonce()).to_be_bytes())
    }

    pub(super) fn from_wire(bytes: [u8; 8]) -> Self {
        let [epoch, subflow, ..] = bytes;
        let packet_number = u64::from_be_bytes(bytes) & Self::MAX_PACKET_NUMBER;
        Self { epoch, subflow, packet_number }
    }
}

/// The header of a received version 1 packet as associated data: a copy whose HEC and payload CRC are zero, because both
/// are computed after sealing.
///
/// # Errors
/// [`DecodeError`] if `datagram` is no version 1 packet that [`super::Packet::decode`] accepts.
// R-PROT-6
pub fn associated_data<'b>(
    datagram: &[u8],
    buffer: &'b mut [u8; MAX_HEADER_BYTES],
) -> Result<&'b [u8], DecodeError> {
    let raw = RawHeader::read(datagram)?;
    let header_bytes = raw.words() * WORD_BYTES;
    let header = datagram.get(..header_bytes);
    let header =
        header.ok_or(DecodeError::HeaderBeyondDatagram { words: raw.words(), bytes: datagram.len() })?;
    let copy = &mut buffer[..header_bytes];
    copy.copy_from_slice(header);
    if raw.has_crc() {
        let crc = copy.get_mut(CRC_OFFSET..CRC_OFFSET + 2 * WORD_BYTES);
        crc.ok_or(DecodeError::ExtensionCut { extension: super::Extension::Crc })?.fill(0);
    }
    Ok(copy)
}

/// Fills HEC and payload CRC of a version 1 packet that was encoded and then sealed; without CRC bit it does nothing.
///
/// `datagram` is exactly what `encode` wrote, with the body sealed in place.
///
/// # Errors
/// [`DecodeError`] if `datagram` is not such a packet.
pub fn seal_checksums(datagram: &mut [u8], pseudo: Option<&PseudoHeader>) -> Result<(), DecodeError> {
    let raw = RawHeader::read(datagram)?;
    let header_bytes = raw.words() * WORD_BYTES;
    if raw.has_crc() {
        let datagram_bytes = datagram.len();
        let split = datagram.split_at_mut_checked(header_bytes);
        let (header, body) =
            split.ok_or(DecodeError::HeaderBeyondDatagram { words: raw.words(), bytes: datagram_bytes })?;
        fill_checksums(header, CRC_OFFSET, body, pseudo)
            .ok_or(DecodeError::ExtensionCut { extension: super::Extension::Crc })?;
    }
    Ok(())
}

/// Writes payload CRC (if there is a body) and HEC into the CRC extension at `offset`; `None` if it does not fit.
pub(super) fn fill_checksums(
    header: &mut [u8],
    offset: usize,
    body: &[u8],
    pseudo: Option<&PseudoHeader>,
) -> Option<()> {
    let datagram_bytes = header.len() + body.len();
    header.get_mut(offset..offset + WORD_BYTES)?.fill(0);
    if !body.is_empty() {
        let field = header.get_mut(offset + WORD_BYTES..offset + 2 * WORD_BYTES)?;
        field.copy_from_slice(&payload_crc(body).to_be_bytes());
    }
    let hec = header_crc(header, datagram_bytes, pseudo);
    header[offset..offset + 2].copy_from_slice(&hec.to_be_bytes());
    Some(())
}
