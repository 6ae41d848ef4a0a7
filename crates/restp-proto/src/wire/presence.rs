//! Presence rules: which extensions a packet carries, from header bits and lengths alone (B12).

use super::bits::{ErrorBits, Flags, Flow, MptCode, Order, Version};
use super::header::Header;

/// Everything the rules look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inputs<'h> {
    pub header: &'h Header,
    pub mpt: MptCode,
    pub dss: bool,
    /// Bytes after the header.
    pub body_bytes: usize,
    /// An AEAD protects header and body.
    pub sealed: bool,
    /// Bytes of application data or encoded payload, without an AEAD tag.
    pub payload_bytes: usize,
}

/// Which form of the multipath extension the packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultipathForm {
    None,
    CapableOneKey,
    CapableBothKeys,
    JoinSyn,
    JoinSynAck,
    JoinAck,
    Priority,
}

/// How the packet is numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    None,
    Seq,
    Arq,
}

impl MultipathForm {
    /// Length in words (H1, H2).
    pub fn words(self) -> usize {
        match self {
            Self::None => 0,
            Self::CapableOneKey | Self::JoinSyn => 3,
            Self::CapableBothKeys => 5,
            Self::JoinSynAck => 4,
            Self::JoinAck => 6,
            Self::Priority => 1,
        }
    }
}

impl Numbering {
    /// Length in words.
    pub fn words(self) -> usize {
        match self {
            Self::None => 0,
            Self::Seq => 1,
            Self::Arq => 2,
        }
    }
}

/// The extensions that the bits announce; WIN, D and the version speak for themselves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presence {
    /// 0, 1 (HEC) or 2 (HEC and payload CRC) words.
    pub crc_words: usize,
    pub cookie: bool,
    pub multipath: MultipathForm,
    pub fec: bool,
    pub numbering: Numbering,
    /// Whether left-over words may be a SACK, NACK or SNACK.
    pub report: bool,
}

impl Inputs<'_> {
    /// Applies the rules, or names the one that the bits break.
    pub fn presence(&self) -> Result<Presence, &'static str> {
        self.check_bits()?;
        let Header { flags, error, flow, .. } = *self.header;
        let syn = flags.contains(Flags::SYN);
        let ack = flags.contains(Flags::ACK);

        // C5. R-CRC-4
        let crc_words = match (error.contains(ErrorBits::CRC) && !self.sealed, self.body_bytes) {
            (false, _) => 0,
            (true, 0) => 1,
            (true, _) => 2,
        };
        // D5: the client presents, or the server grants; anything else with CKI has one if it is no request. R-COOKIE-1
        let cki = flow.contains(Flow::CKI);
        let cookie = if syn && flow.contains(Flow::OPT) { ack == cki } else { cki };
        // B10. R-FEC-1
        let fec = error.contains(ErrorBits::FEC)
            && (syn
                || error.contains(ErrorBits::ENC)
                || (error.contains(ErrorBits::ARQ) && ack && self.payload_bytes == 0));
        // B5: at most one extension of variable length, hence none on a SYN, where the cookie may be.
        let report = ack && !syn && error.intersects(ErrorBits::NAK | ErrorBits::SAK);
        Ok(Presence {
            crc_words,
            cookie,
            multipath: self.multipath_form()?,
            fec,
            numbering: self.numbering(),
            report,
        })
    }

    /// B8 and B9. Unlike B8, every SYN, FIN and RST is numbered: both ends need the numbers of control packets even
    /// if data are not, and the number of a cookie request lets the client tell its answer from a forged one.
    // R-SEQ-1, R-ARQ-1
    fn numbering(&self) -> Numbering {
        let Header { flags, error, order, cong, .. } = *self.header;
        if error.contains(ErrorBits::ARQ) || flags.intersects(Flags::CONTROL) {
            return Numbering::Arq;
        }
        let needs_number =
            error.contains(ErrorBits::FEC) || order != Order::None || cong.value() != 0 || self.dss;
        if self.payload_bytes > 0 && needs_number { Numbering::Seq } else { Numbering::None }
    }

    /// B2, H1, H2, H6.
    // R-MPC-1, R-MPJ-1
    fn multipath_form(&self) -> Result<MultipathForm, &'static str> {
        let flags = self.header.flags;
        let syn = flags.contains(Flags::SYN);
        let ack = flags.contains(Flags::ACK);
        let rst = flags.contains(Flags::RST);
        Ok(match self.mpt {
            MptCode::None => MultipathForm::None,
            MptCode::Capable if syn || rst => MultipathForm::CapableOneKey,
            MptCode::Capable if ack => MultipathForm::CapableBothKeys,
            MptCode::Capable => return Err("MP_CAPABLE needs SYN, ACK or RST"),
            MptCode::Join if rst => return Err("MP_JOIN and RST exclude each other"),
            MptCode::Join if syn && ack => MultipathForm::JoinSynAck,
            MptCode::Join if syn => MultipathForm::JoinSyn,
            MptCode::Join if ack => MultipathForm::JoinAck,
            MptCode::Join => return Err("MP_JOIN needs SYN or ACK"),
            MptCode::Priority if ack && !syn && !rst => MultipathForm::Priority,
            MptCode::Priority => return Err("a subflow priority needs ACK without SYN or RST"),
        })
    }

    /// Combinations that no sender may produce.
    // R-HDR-5, R-HDR-6
    fn check_bits(&self) -> Result<(), &'static str> {
        let Header { flags, flow, error, .. } = *self.header;
        let syn = flags.contains(Flags::SYN);
        let one_of =
            u8::from(syn) + u8::from(flags.contains(Flags::FIN)) + u8::from(flags.contains(Flags::RST));
        let connection = flow.intersects(Flow::CON | Flow::OPT);
        let multipath = self.header.path_mode.is_multipath();
        let checked_ack = flags.contains(Flags::ACK) && error.contains(ErrorBits::CRC);
        forbid(one_of > 1, "SYN, FIN and RST exclude each other")?;
        forbid(flow.contains(Flow::CON | Flow::OPT), "CON and OPT exclude each other")?;
        forbid(flags.intersects(Flags::CONTROL) && !connection, "control flags need CON or OPT")?;
        let plain_ack = flags.contains(Flags::ACK) && one_of == 0 && !error.contains(ErrorBits::ENC);
        let opening = syn && (flow.contains(Flow::OPT) || self.header.version == Version::Protected);
        forbid(
            flow.contains(Flow::CKI) && !(opening || plain_ack),
            "CKI needs SYN with OPT or in version 1, or ACK without FIN, RST and ENC",
        )?;
        forbid(self.header.corruption_echo && !checked_ack, "COR needs ACK and CRC")?;
        if error.contains(ErrorBits::ENC) {
            forbid(!error.contains(ErrorBits::FEC), "ENC needs FEC")?;
            forbid(self.payload_bytes == 0, "ENC needs a payload")?;
            forbid(one_of > 0, "ENC excludes SYN, FIN and RST")?;
        }
        forbid(!multipath && self.mpt != MptCode::None, "a multipath extension needs MP?")?;
        forbid(!multipath && self.dss, "a data sequence signal needs MP?")
    }
}

/// Names the rule if it is broken.
fn forbid(broken: bool, rule: &'static str) -> Result<(), &'static str> {
    if broken { Err(rule) } else { Ok(()) }
}
