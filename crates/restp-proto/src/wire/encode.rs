//! Writing packets.

use super::WORD_BYTES;
use super::acknowledge::Report;
use super::bits::{ErrorBits, Flags, Version};
use super::crc::{PseudoHeader, payload_crc};
use super::decode::{
    CHALLENGE_RULE, CHALLENGE_WORDS, DSS_BESIDE_COOKIE_RULE, DSS_CRC_RULE, SUBFLOW_BACKUP, has_other_check,
};
use super::error::{EncodeError, Extension};
use super::extension::Sequence;
use super::header::{BASE_BYTES, Derived};
use super::multipath::{CapableFlags, Dss, JoinStep, MpCapable, Multipath};
use super::packet::Packet;
use super::presence::{MultipathForm, Numbering, Presence};
use super::protected::{PROTECTION_WORDS, fill_checksums};

impl Packet<'_> {
    /// Appends the packet to `out` and returns the length of its header in bytes.
    ///
    /// A sealed packet (version 1, epoch above 0) is written with its plaintext and 16 zero octets for the tag.
    ///
    /// # Errors
    /// [`EncodeError`] if header bits and extensions disagree or a value is too wide; `out` is then unchanged.
    pub fn encode(&self, out: &mut Vec<u8>, pseudo: Option<&PseudoHeader>) -> Result<usize, EncodeError> {
        let start = out.len();
        let header_words = self.header_words();
        let header_bytes = header_words * WORD_BYTES;
        // The payload is written where nothing was: to clear its place first would cost as much again.
        out.reserve(header_bytes + self.body_bytes());
        out.resize(start + header_bytes, 0);
        out.extend_from_slice(self.payload);
        out.resize(start + header_bytes + self.body_bytes(), 0);
        let (header, body) = out[start..].split_at_mut(header_bytes);
        let result = self.write_header(header_words, header, body, pseudo);
        if result.is_err() {
            out.truncate(start);
        }
        result
    }

    /// Writes the packet to the start of `out`, which must have at least [`Packet::encoded_len`] bytes, and returns the
    /// length of its header in bytes.
    ///
    /// # Errors
    /// [`EncodeError`] if `out` is too small, header bits and extensions disagree or a value is too wide.
    pub fn encode_into(&self, out: &mut [u8], pseudo: Option<&PseudoHeader>) -> Result<usize, EncodeError> {
        let header_words = self.header_words();
        let header_bytes = header_words * WORD_BYTES;
        let needed = header_bytes + self.body_bytes();
        let available = out.len();
        let out = out.get_mut(..needed).ok_or(EncodeError::BufferTooSmall { needed, available })?;
        let (header, body) = out.split_at_mut(header_bytes);
        body[..self.payload.len()].copy_from_slice(self.payload);
        body[self.payload.len()..].fill(0);
        self.write_header(header_words, header, body, pseudo)
    }

    /// Writes the header of a packet whose body stands where it belongs.
    fn write_header(
        &self,
        header_words: usize,
        header: &mut [u8],
        body: &[u8],
        pseudo: Option<&PseudoHeader>,
    ) -> Result<usize, EncodeError> {
        let words =
            u8::try_from(header_words).map_err(|_| EncodeError::HeaderTooLong { words: header_words })?;
        let presence = self.presence()?;
        self.check_extensions(&presence)?;
        let derived =
            Derived { words, window: self.window.is_some(), mpt: self.mpt(), dss: self.dss.is_some() };
        let mut writer = Writer { rest: &mut *header };
        writer.put(&self.header.write(derived)?);
        if let Some(protection) = self.protection {
            writer.put(&protection.to_wire()?);
        }
        writer.zeros(presence.crc_words * WORD_BYTES);
        self.write_extensions(&mut writer)?;

        if presence.crc_words > 0 {
            let protection = if self.protection.is_some() { PROTECTION_WORDS * WORD_BYTES } else { 0 };
            let filled = fill_checksums(header, BASE_BYTES + protection, body, pseudo);
            filled.ok_or(EncodeError::Missing(Extension::Crc))?;
        }
        Ok(header.len())
    }

    /// Header bits and extensions must say the same, or the receiver would read one extension as another.
    fn check_extensions(&self, presence: &Presence) -> Result<(), EncodeError> {
        let agree = |announced: bool, held: bool, extension| match (announced, held) {
            (true, false) => Err(EncodeError::Missing(extension)),
            (false, true) => Err(EncodeError::Unannounced(extension)),
            _ => Ok(()),
        };
        agree(self.header.version == Version::Protected, self.protection.is_some(), Extension::Protection)?;
        agree(presence.cookie, self.cookie.is_some(), Extension::Cookie)?;
        let challenge = self.cookie.filter(|_| !self.header.flags.contains(Flags::SYN));
        if challenge.is_some_and(|cookie| cookie.words() != CHALLENGE_WORDS) {
            return Err(EncodeError::Contradiction { rule: CHALLENGE_RULE });
        }
        agree(presence.fec, self.fec.is_some(), Extension::Fec)?;
        let numbering = self.sequence.numbering();
        agree(presence.numbering == Numbering::Arq, numbering == Numbering::Arq, Extension::Arq)?;
        agree(presence.numbering == Numbering::Seq, numbering == Numbering::Seq, Extension::Sequence)?;
        let form = self.multipath.map_or(MultipathForm::None, |multipath| multipath.form());
        if presence.multipath != form {
            return Err(EncodeError::Missing(Extension::Multipath));
        }
        self.check_dss()?;
        self.check_report(presence)
    }

    // B4, C4. R-COOKIE-3, R-DSS-4
    fn check_dss(&self) -> Result<(), EncodeError> {
        let Some(dss) = self.dss else { return Ok(()) };
        let dss_crc = dss.mapping.is_some_and(|mapping| mapping.payload_crc.is_some());
        if dss_crc && has_other_check(&self.header) {
            return Err(EncodeError::Contradiction { rule: DSS_CRC_RULE });
        }
        let opens = self.cookie.is_some() && self.header.flags.contains(Flags::SYN);
        if opens && (dss_crc || dss.data_ack.is_some() || dss.mapping.is_none()) {
            return Err(EncodeError::Contradiction { rule: DSS_BESIDE_COOKIE_RULE });
        }
        Ok(())
    }

    fn check_report(&self, presence: &Presence) -> Result<(), EncodeError> {
        let error = self.header.error;
        let (sak, nak) = (error.contains(ErrorBits::SAK), error.contains(ErrorBits::NAK));
        let fits = match self.report {
            Report::None => true,
            Report::Sack(blocks) => presence.report && sak && !nak && !blocks.is_empty(),
            Report::Snack(snack) => presence.report && nak && (sak || snack.vector.is_empty()),
        };
        if !fits {
            return Err(EncodeError::Unannounced(Extension::Report));
        }
        if matches!(self.report, Report::Snack(snack) if snack.hole.size == 0) {
            return Err(EncodeError::Contradiction { rule: "a reported hole has at least one packet" });
        }
        Ok(())
    }

    fn write_extensions(&self, writer: &mut Writer<'_>) -> Result<(), EncodeError> {
        // B1: the order is fixed. R-EXT-1
        if let Some(window) = self.window {
            writer.put(&window.to_be_bytes());
            writer.zeros(2);
        }
        if let Some(cookie) = &self.cookie {
            writer.put(cookie.as_bytes());
        }
        if let Some(multipath) = &self.multipath {
            write_multipath(writer, multipath);
        }
        if let Some(dss) = &self.dss {
            write_dss(writer, dss);
        }
        if let Some(fec) = self.fec {
            if fec.range >= 1 << 24 {
                return Err(EncodeError::TooWide { field: "FEC range", bits: 24 });
            }
            writer.put(&(u32::from(fec.kind) << 24 | fec.range).to_be_bytes());
        }
        match self.sequence {
            Sequence::None => {}
            Sequence::Seq(sequence) => writer.put(&sequence.to_be_bytes()),
            Sequence::Arq(arq) => {
                writer.put(&arq.sequence.to_be_bytes());
                writer.put(&arq.acknowledgement.to_be_bytes());
            }
        }
        match self.report {
            Report::None => {}
            Report::Sack(blocks) => writer.put(blocks.wire().as_flattened()),
            Report::Snack(snack) => {
                writer.put(&snack.hole.offset.to_be_bytes());
                writer.put(&snack.hole.size.to_be_bytes());
                writer.put(snack.vector);
                writer.zeros(snack.vector.len().next_multiple_of(WORD_BYTES) - snack.vector.len());
            }
        }
        Ok(())
    }
}

// H1, H2, H6. R-MPC-2, R-MPJ-2, R-MPP-1
fn write_multipath(writer: &mut Writer<'_>, multipath: &Multipath) {
    let subflow_word =
        |backup: bool, address_id: u8| [if backup { SUBFLOW_BACKUP } else { 0 }, address_id, 0, 0];
    match multipath {
        Multipath::Capable(MpCapable::OneKey { flags, key }) => {
            writer.put(&[flags.bits() & CapableFlags::all().bits(), 0, 0, 0]);
            writer.put(&key.to_be_bytes());
        }
        Multipath::Capable(MpCapable::BothKeys { flags, initiator_key, responder_key }) => {
            writer.put(&[flags.bits() & CapableFlags::all().bits(), 0, 0, 0]);
            writer.put(&initiator_key.to_be_bytes());
            writer.put(&responder_key.to_be_bytes());
        }
        Multipath::Join(join) => {
            writer.put(&subflow_word(join.backup, join.address_id));
            match &join.step {
                JoinStep::Syn { token, nonce } => {
                    writer.put(&token.to_be_bytes());
                    writer.put(&nonce.to_be_bytes());
                }
                JoinStep::SynAck { mac, nonce } => {
                    writer.put(mac);
                    writer.put(&nonce.to_be_bytes());
                }
                JoinStep::Ack { mac } => writer.put(mac),
            }
        }
        Multipath::Priority(priority) => writer.put(&subflow_word(priority.backup, priority.address_id)),
    }
}

// H12. R-DSS-1
fn write_dss(writer: &mut Writer<'_>, dss: &Dss) {
    let mapping = dss.mapping.as_ref();
    let fin = mapping.is_some_and(|mapping| mapping.data_fin);
    let crc = mapping.and_then(|mapping| mapping.payload_crc);
    let flags = u8::from(fin) << 7
        | u8::from(mapping.is_some()) << 6
        | u8::from(dss.data_ack.is_some()) << 5
        | u8::from(crc.is_some()) << 4;
    let [high, low] = mapping.map_or(0, |mapping| mapping.length).to_be_bytes();
    writer.put(&[flags, 0, high, low]);
    if let Some(data_ack) = dss.data_ack {
        writer.put(&data_ack.to_be_bytes());
    }
    if let Some(mapping) = mapping {
        writer.put(&mapping.data_sequence.to_be_bytes());
        writer.put(&mapping.subflow_sequence.to_be_bytes());
    }
    if let Some(crc) = crc {
        writer.put(&crc.to_be_bytes());
    }
}

impl super::DssMapping {
    /// This mapping with the CRC of `payload` in it, for connections that asked for checks but not for the CRC extension.
    #[must_use]
    pub fn with_payload_crc(mut self, payload: &[u8]) -> Self {
        self.payload_crc = Some(payload_crc(payload));
        self
    }
}

/// Fills a header from front to back; its length was computed beforehand from the same packet.
struct Writer<'b> {
    rest: &'b mut [u8],
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (head, tail) = core::mem::take(&mut self.rest).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.rest = tail;
    }

    fn zeros(&mut self, count: usize) {
        let (head, tail) = core::mem::take(&mut self.rest).split_at_mut(count);
        head.fill(0);
        self.rest = tail;
    }
}
