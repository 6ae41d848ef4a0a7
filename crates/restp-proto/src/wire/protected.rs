//! Version 1, the protected profile: the Protection extension, and where checksums stand.
//!
//! The codec does no cryptography. To send a sealed packet: `encode` it with its plaintext (room for the tag is
//! appended), then seal the body in place with the header as associated data. To receive one: `decode`, then open the
//! body with the header. A sealed packet has no checksums: the AEAD finds every change.

use super::WORD_BYTES;
use super::crc::{PseudoHeader, header_crc, payload_crc};
use super::error::EncodeError;
use super::header::BASE_BYTES;

/// Words of the Protection extension.
pub(super) const PROTECTION_WORDS: usize = 2;
/// True if `datagram` of version 1 is sealed: its epoch, the first octet of the extension, is not 0.
pub(super) fn is_sealed(datagram: &[u8]) -> bool {
    datagram.get(BASE_BYTES).is_some_and(|epoch| *epoch > 0)
}

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
