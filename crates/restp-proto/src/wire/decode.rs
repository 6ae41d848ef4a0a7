//! Reading packets.

use super::acknowledge::{Hole, Report, SackBlocks, Snack};
use super::bits::{ErrorBits, Flags, Version};
use super::crc::{PseudoHeader, payload_crc, received_header_crc};
use super::error::{DecodeError, Extension};
use super::extension::{Arq, Cookie, Fec, Sequence};
use super::header::{BASE_BYTES, Header, RawHeader};
use super::multipath::{CapableFlags, Dss, DssMapping, JoinStep, MpCapable, MpJoin, MpPriority, Multipath};
use super::packet::{Decoded, Packet, PayloadCheck};
use super::presence::{Inputs, MultipathForm, Numbering, Presence};
use super::protected::{PROTECTION_WORDS, Protection, TAG_BYTES, is_sealed};
use super::{BASE_WORDS, WORD_BYTES};

/// C4: one checksum a payload.
pub(super) const DSS_CRC_RULE: &str =
    "the data sequence signal has a CRC although the CRC extension is in use";

/// B4: what keeps the cookie's length known.
pub(super) const DSS_BESIDE_COOKIE_RULE: &str =
    "beside a cookie the data sequence signal must hold a mapping and neither data ACK nor CRC";
const DSS_BESIDE_COOKIE_WORDS: usize = 3;
/// Length of the cookie on a packet without SYN.
pub(super) const CHALLENGE_WORDS: usize = 4;
pub(super) const CHALLENGE_RULE: &str = "a cookie has 4 words on a packet without SYN";

/// The B bit of MP_JOIN and subflow priority: last of the four flag bits (H2).
pub(super) const SUBFLOW_BACKUP: u8 = 0x10;

type Word = [u8; WORD_BYTES];

impl<'a> Packet<'a> {
    /// Reads one datagram: everything the network delivered, without outer headers.
    ///
    /// The header CRC, if the CRC bit is set, is checked before any other field is believed (B1, C3). The payload CRC
    /// is reported, not enforced: a corrupt payload behind a good header is evidence of corruption on the path.
    ///
    /// # Errors
    /// [`DecodeError`] says why the datagram must be dropped.
    // R-HDR-10
    pub fn decode(datagram: &'a [u8], pseudo: Option<&PseudoHeader>) -> Result<Decoded<'a>, DecodeError> {
        let Opened { raw, header_bytes, body } = open(datagram, pseudo)?;
        let header = raw.header()?;
        let (words, _) = header_bytes.as_chunks::<WORD_BYTES>();
        let mut reader = Reader { rest: words.get(BASE_WORDS..).unwrap_or_default() };
        let mut packet = Packet::new(header);
        packet.payload = body;
        if header.version == Version::Protected {
            let protection = read_protection(&mut reader)?;
            packet.protection = Some(protection);
            if protection.epoch > 0 {
                let ciphertext = body.len().checked_sub(TAG_BYTES).and_then(|bytes| body.get(..bytes));
                packet.payload = ciphertext.ok_or(DecodeError::TagCut { bytes: body.len() })?;
            }
        }
        let inputs = Inputs {
            header: &header,
            mpt: raw.mpt(),
            dss: raw.has_dss(),
            body_bytes: body.len(),
            sealed: packet.is_sealed(),
            payload_bytes: packet.payload.len(),
        };
        let presence = inputs.presence().map_err(|rule| DecodeError::Contradiction { rule })?;

        let mut payload_check = PayloadCheck::Absent;
        if presence.crc_words > 0 {
            payload_check = read_crc(&mut reader, presence.crc_words, body)?;
        }
        read_extensions(&mut reader, &mut packet, &raw, &presence)?;
        if let Some(Dss { mapping: Some(DssMapping { payload_crc: Some(expected), .. }), .. }) = packet.dss {
            payload_check = judge(expected, packet.payload);
        }
        Ok(Decoded { packet, payload_check, header_bytes: header_bytes.len() })
    }
}

/// A datagram whose length fields are sound and whose header CRC, if there is one, is good.
struct Opened<'a> {
    raw: RawHeader,
    header_bytes: &'a [u8],
    body: &'a [u8],
}

fn open<'a>(datagram: &'a [u8], pseudo: Option<&PseudoHeader>) -> Result<Opened<'a>, DecodeError> {
    let raw = RawHeader::read(datagram)?;
    let version = raw.version()?;
    let words = raw.words();
    // A6. R-HDR-3
    if words < BASE_WORDS {
        return Err(DecodeError::HeaderTooSmall { words });
    }
    let (header_bytes, body) = datagram
        .split_at_checked(words * WORD_BYTES)
        .ok_or(DecodeError::HeaderBeyondDatagram { words, bytes: datagram.len() })?;
    // R-PROT-6
    let sealed = version == Version::Protected && is_sealed(datagram);
    if raw.has_crc() && !sealed {
        let protection_words = if version == Version::Protected { PROTECTION_WORDS } else { 0 };
        let offset = BASE_BYTES + protection_words * WORD_BYTES;
        let crc_bytes = if body.is_empty() { 1 } else { 2 } * WORD_BYTES;
        // The whole extension is looked for: its length follows from HL and HLX, which steer this far anyway.
        if header_bytes.len() < offset + crc_bytes {
            return Err(DecodeError::ExtensionCut { extension: Extension::Crc });
        }
        check_header_crc(header_bytes, offset, datagram.len(), pseudo)?;
    }
    Ok(Opened { raw, header_bytes, body })
}

// C2, C3. R-CRC-2, R-CRC-5
fn check_header_crc(
    header: &[u8],
    offset: usize,
    datagram_bytes: usize,
    pseudo: Option<&PseudoHeader>,
) -> Result<(), DecodeError> {
    let cut = DecodeError::ExtensionCut { extension: Extension::Crc };
    let field = header.get(offset..offset + WORD_BYTES).ok_or(cut)?;
    let expected = u16::from_be_bytes([field[0], field[1]]);
    if received_header_crc(header, offset, datagram_bytes, pseudo) == expected {
        Ok(())
    } else {
        Err(DecodeError::HeaderCorrupt)
    }
}

fn read_crc(reader: &mut Reader<'_>, words: usize, body: &[u8]) -> Result<PayloadCheck, DecodeError> {
    let [_, _, pad @ ..] = reader.word(Extension::Crc)?;
    require_zero(pad, "CRC extension")?;
    if words < 2 {
        return Ok(PayloadCheck::Absent);
    }
    Ok(judge(reader.u32(Extension::Crc)?, body))
}

fn judge(expected: u32, body: &[u8]) -> PayloadCheck {
    if payload_crc(body) == expected { PayloadCheck::Good } else { PayloadCheck::Corrupt }
}

fn read_protection(reader: &mut Reader<'_>) -> Result<Protection, DecodeError> {
    Ok(Protection::from_wire(reader.u64(Extension::Protection)?.to_be_bytes()))
}

// B1. R-EXT-1
fn read_extensions<'a>(
    reader: &mut Reader<'a>,
    packet: &mut Packet<'a>,
    raw: &RawHeader,
    presence: &Presence,
) -> Result<(), DecodeError> {
    if raw.has_window() {
        packet.window = Some(read_window(reader)?);
    }
    let syn = packet.header.flags.contains(Flags::SYN);
    if presence.cookie {
        packet.cookie =
            Some(if syn { read_cookie(reader, presence, raw.has_dss())? } else { read_challenge(reader)? });
    }
    packet.multipath = read_multipath(reader, presence.multipath)?;
    if raw.has_dss() {
        packet.dss = Some(read_dss(reader, &packet.header, presence.cookie && syn)?);
    }
    if presence.fec {
        let word = reader.u32(Extension::Fec)?;
        packet.fec = Some(Fec { kind: (word >> 24) as u8, range: word & 0x00FF_FFFF });
    }
    packet.sequence = match presence.numbering {
        Numbering::None => Sequence::None,
        Numbering::Seq => Sequence::Seq(reader.u32(Extension::Sequence)?),
        Numbering::Arq => Sequence::Arq(Arq {
            sequence: reader.u32(Extension::Arq)?,
            acknowledgement: reader.u32(Extension::Arq)?,
        }),
    };
    packet.report = read_report(reader, &packet.header, presence)?;
    Ok(())
}

// R-WIN-1
fn read_window(reader: &mut Reader<'_>) -> Result<u16, DecodeError> {
    let [high, low, pad @ ..] = reader.word(Extension::Window)?;
    require_zero(pad, "window extension")?;
    Ok(u16::from_be_bytes([high, low]))
}

/// The cookie is what the extensions of known length leave over. All of them are known on a SYN, because the only other
/// extension of variable length, the data sequence signal, is restricted to its mapping beside a cookie: the sender
/// has nothing to acknowledge yet and no checks are negotiated.
// B4. R-COOKIE-2, R-COOKIE-3
fn read_cookie(reader: &mut Reader<'_>, presence: &Presence, dss: bool) -> Result<Cookie, DecodeError> {
    let after = presence.multipath.words()
        + if dss { DSS_BESIDE_COOKIE_WORDS } else { 0 }
        + usize::from(presence.fec)
        + presence.numbering.words();
    // Too little for the others leaves no cookie either; it is not known which of them is cut.
    let words = reader.rest.len().saturating_sub(after);
    let bytes = reader.words(words, Extension::Cookie)?.as_flattened();
    Cookie::new(bytes).ok_or(DecodeError::CookieLength { words })
}

/// Behind a SYN a report may follow, so there the length is fixed.
// R-COOKIE-4
fn read_challenge(reader: &mut Reader<'_>) -> Result<Cookie, DecodeError> {
    let bytes = reader.words(CHALLENGE_WORDS, Extension::Cookie)?.as_flattened();
    Cookie::new(bytes).ok_or(DecodeError::CookieLength { words: CHALLENGE_WORDS })
}

// H1, H2, H6. R-MPC-2, R-MPJ-2, R-MPP-1
fn read_multipath(reader: &mut Reader<'_>, form: MultipathForm) -> Result<Option<Multipath>, DecodeError> {
    if form == MultipathForm::None {
        return Ok(None);
    }
    let extension = Extension::Multipath;
    let reader = &mut Reader { rest: reader.words(form.words(), extension)? };
    let [flags, address_id, pad @ ..] = reader.word(extension)?;
    require_zero(pad, "multipath extension")?;
    if let MultipathForm::CapableOneKey | MultipathForm::CapableBothKeys = form {
        require_zero([address_id], "MP_CAPABLE extension")?;
        let unknown = DecodeError::ReservedBits { field: "MP_CAPABLE extension" };
        let flags = CapableFlags::from_bits(flags).ok_or(unknown)?;
        let key = reader.u64(extension)?;
        return Ok(Some(Multipath::Capable(if form == MultipathForm::CapableOneKey {
            MpCapable::OneKey { flags, key }
        } else {
            MpCapable::BothKeys { flags, initiator_key: key, responder_key: reader.u64(extension)? }
        })));
    }
    require_zero([flags & !SUBFLOW_BACKUP], "MP_JOIN extension")?;
    let backup = flags & SUBFLOW_BACKUP != 0;
    let step = match form {
        MultipathForm::JoinSyn => {
            JoinStep::Syn { token: reader.u32(extension)?, nonce: reader.u32(extension)? }
        }
        MultipathForm::JoinSynAck => {
            JoinStep::SynAck { mac: reader.u64(extension)?.to_be_bytes(), nonce: reader.u32(extension)? }
        }
        MultipathForm::JoinAck => {
            let mut mac = [0; 20];
            mac.copy_from_slice(reader.words(5, extension)?.as_flattened());
            JoinStep::Ack { mac }
        }
        _ => return Ok(Some(Multipath::Priority(MpPriority { backup, address_id }))),
    };
    Ok(Some(Multipath::Join(MpJoin { backup, address_id, step })))
}

// H12, C4. R-DSS-1, R-DSS-4
fn read_dss(reader: &mut Reader<'_>, header: &Header, beside_cookie: bool) -> Result<Dss, DecodeError> {
    let cut = DecodeError::ExtensionCut { extension: Extension::Dss };
    let [flags, zero, length @ ..] = *reader.rest.first().ok_or(cut)?;
    let [fin, mapped, acked, checked] = [0x80, 0x40, 0x20, 0x10].map(|bit| flags & bit != 0);
    let words = 1 + usize::from(acked) + 2 * usize::from(mapped) + usize::from(checked);
    let reader = &mut Reader { rest: reader.words(words, Extension::Dss)?.get(1..).unwrap_or_default() };
    require_zero([flags & 0x0F, zero], "data sequence signal")?;
    let length = u16::from_be_bytes(length);
    let rules = [
        (fin && !mapped, "a DATA_FIN needs a mapping"),
        (checked && !mapped, "a CRC in the data sequence signal needs a mapping"),
        (length != 0 && !mapped, "a data-level length needs a mapping"),
        (checked && has_other_check(header), DSS_CRC_RULE),
        (beside_cookie && (acked || checked || !mapped), DSS_BESIDE_COOKIE_RULE),
    ];
    if let Some((_, rule)) = rules.iter().find(|(broken, _)| *broken) {
        return Err(DecodeError::Contradiction { rule });
    }
    let data_ack = if acked { Some(reader.u32(Extension::Dss)?) } else { None };
    let mapping = if mapped {
        Some(DssMapping {
            data_sequence: reader.u32(Extension::Dss)?,
            subflow_sequence: reader.u32(Extension::Dss)?,
            length,
            data_fin: fin,
            payload_crc: if checked { Some(reader.u32(Extension::Dss)?) } else { None },
        })
    } else {
        None
    };
    Ok(Dss { data_ack, mapping })
}

/// Whether a payload is checked by the CRC extension or by an AEAD.
pub(super) fn has_other_check(header: &Header) -> bool {
    header.error.contains(ErrorBits::CRC) || header.version == Version::Protected
}

/// All words that are left are the report (B5, B6).
// R-EXT-3, R-SACK-2, R-SNACK-4
fn read_report<'a>(
    reader: &mut Reader<'a>,
    header: &Header,
    presence: &Presence,
) -> Result<Report<'a>, DecodeError> {
    let words = reader.rest.len();
    if words == 0 {
        return Ok(Report::None);
    }
    if !presence.report {
        return Err(DecodeError::UnclaimedWords { words });
    }
    let rest = reader.words(words, Extension::Report)?;
    let selective = header.error.contains(ErrorBits::SAK);
    if !header.error.contains(ErrorBits::NAK) {
        let (blocks, odd) = rest.as_flattened().as_chunks::<8>();
        return if odd.is_empty() {
            Ok(Report::Sack(SackBlocks::new(blocks)))
        } else {
            Err(DecodeError::SackLength { words })
        };
    }
    let Some(([a, b, c, d], vector)) = rest.split_first() else {
        return Ok(Report::None);
    };
    if !vector.is_empty() && !selective {
        return Err(DecodeError::VectorWithoutSak);
    }
    let hole = Hole { offset: u16::from_be_bytes([*a, *b]), size: u16::from_be_bytes([*c, *d]) };
    if hole.size == 0 {
        return Err(DecodeError::EmptyHole);
    }
    Ok(Report::Snack(Snack { hole, vector: vector.as_flattened() }))
}

/// Padding and unused bits are zero, so that every accepted packet has exactly one spelling (A12, B7).
// R-EXT-2
fn require_zero<const N: usize>(bytes: [u8; N], field: &'static str) -> Result<(), DecodeError> {
    if bytes == [0; N] { Ok(()) } else { Err(DecodeError::ReservedBits { field }) }
}

/// Takes whole words from the front of the header.
struct Reader<'a> {
    rest: &'a [Word],
}

impl<'a> Reader<'a> {
    fn words(&mut self, count: usize, extension: Extension) -> Result<&'a [Word], DecodeError> {
        let (head, tail) =
            self.rest.split_at_checked(count).ok_or(DecodeError::ExtensionCut { extension })?;
        self.rest = tail;
        Ok(head)
    }

    fn word(&mut self, extension: Extension) -> Result<Word, DecodeError> {
        let (head, tail) = self.rest.split_first().ok_or(DecodeError::ExtensionCut { extension })?;
        self.rest = tail;
        Ok(*head)
    }

    fn u32(&mut self, extension: Extension) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.word(extension)?))
    }

    fn u64(&mut self, extension: Extension) -> Result<u64, DecodeError> {
        Ok(u64::from(self.u32(extension)?) << 32 | u64::from(self.u32(extension)?))
    }
}
