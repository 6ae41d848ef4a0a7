//! A whole packet: base header, extensions, payload.

use super::acknowledge::Report;
use super::bits::{ErrorBits, MptCode, Version};
use super::error::EncodeError;
use super::extension::{Cookie, Fec, Sequence};
use super::header::Header;
use super::multipath::{Dss, Multipath};
use super::presence::{Inputs, Presence};
use super::protected::{PROTECTION_WORDS, Protection, TAG_BYTES};
use super::{BASE_WORDS, MAX_HEADER_WORDS, WORD_BYTES};

/// A packet to send, or one received; the payload and long reports are borrowed.
///
/// The CRC extension has no field: the codec computes and checks it wherever [`ErrorBits::CRC`] is set and no AEAD does more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Base header.
    pub header: Header,
    /// Protection extension, on version 1 only.
    pub protection: Option<Protection>,
    /// Window in packets from the acknowledgement number (J6, J7); its presence is the WIN bit.
    pub window: Option<u16>,
    /// Cookie.
    pub cookie: Option<Cookie>,
    /// MP_CAPABLE, MP_JOIN or subflow priority.
    pub multipath: Option<Multipath>,
    /// Data sequence signal.
    pub dss: Option<Dss>,
    /// FEC extension.
    pub fec: Option<Fec>,
    /// SEQ or ARQ extension.
    pub sequence: Sequence,
    /// SACK, NACK or SNACK.
    pub report: Report<'a>,
    /// Application data, or an encoded payload if ENC is set. On a received sealed packet (version 1 with an epoch
    /// above 0) this is the ciphertext without its tag.
    pub payload: &'a [u8],
}

/// What the payload CRC says, apart from the header (C3: a corrupt payload behind a good header is evidence).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PayloadCheck {
    /// No CRC covers the payload, or there is no payload.
    Absent,
    /// The CRC matches.
    Good,
    /// The CRC does not match: use the header, drop the payload.
    Corrupt,
}

/// A received packet and what its checks found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The packet.
    pub packet: Packet<'a>,
    /// Result of the payload CRC, be it in the CRC extension or in the data sequence signal.
    pub payload_check: PayloadCheck,
    /// Length of the header; the rest of the datagram is payload, or ciphertext and tag.
    pub header_bytes: usize,
}

impl<'a> Packet<'a> {
    /// A packet of `header` without extensions and payload, to be completed by struct update.
    #[must_use]
    pub fn new(header: Header) -> Self {
        Self {
            header,
            protection: None,
            window: None,
            cookie: None,
            multipath: None,
            dss: None,
            fec: None,
            sequence: Sequence::None,
            report: Report::None,
            payload: &[],
        }
    }

    /// Whether the payload travels under an AEAD: version 1 after its handshake.
    #[must_use]
    pub fn is_sealed(&self) -> bool {
        self.protection.is_some_and(|protection| protection.epoch > 0)
    }

    /// Bytes after the header: the payload, and the tag if the packet is sealed.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        self.payload.len() + if self.is_sealed() { TAG_BYTES } else { 0 }
    }

    /// Length of the header in words.
    #[must_use]
    pub fn header_words(&self) -> usize {
        let crc = match (self.header.error.contains(ErrorBits::CRC) && !self.is_sealed(), self.body_bytes()) {
            (false, _) => 0,
            (true, 0) => 1,
            (true, _) => 2,
        };
        let protection = if self.header.version == Version::Protected { PROTECTION_WORDS } else { 0 };
        BASE_WORDS
            + protection
            + crc
            + usize::from(self.window.is_some())
            + self.cookie.map_or(0, |cookie| cookie.words())
            + self.multipath.map_or(0, |multipath| multipath.form().words())
            + self.dss.map_or(0, |dss| dss.words())
            + usize::from(self.fec.is_some())
            + self.sequence.numbering().words()
            + self.report.words()
    }

    /// Length of the whole datagram in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.header_words() * WORD_BYTES + self.body_bytes()
    }

    /// Words left for a SACK or SNACK in a header of at most `limit_words`, e.g.
    /// [`super::STRICT_HEADER_WORDS`] for the `strict_hl` option (A5).
    // R-HDR-9
    #[must_use]
    pub fn report_room_words(&self, limit_words: usize) -> usize {
        let without_report = self.header_words() - self.report.words();
        limit_words.min(MAX_HEADER_WORDS).saturating_sub(without_report)
    }

    /// The bits that a handshake freezes (A15): those of [`Header::frozen_bits`] and WIN.
    #[must_use]
    pub fn frozen_bits(&self) -> u32 {
        self.header.frozen_bits() | u32::from(self.window.is_some()) << 28
    }

    pub(super) fn mpt(&self) -> MptCode {
        match self.multipath {
            None => MptCode::None,
            Some(Multipath::Capable(_)) => MptCode::Capable,
            Some(Multipath::Join(_)) => MptCode::Join,
            Some(Multipath::Priority(_)) => MptCode::Priority,
        }
    }

    /// The presence rules for this packet's bits, or the rule that they break.
    pub(super) fn presence(&self) -> Result<Presence, EncodeError> {
        let inputs = Inputs {
            header: &self.header,
            mpt: self.mpt(),
            dss: self.dss.is_some(),
            body_bytes: self.body_bytes(),
            sealed: self.is_sealed(),
            payload_bytes: self.payload.len(),
        };
        inputs.presence().map_err(|rule| EncodeError::Contradiction { rule })
    }
}
