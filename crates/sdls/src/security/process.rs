//! ProcessSecurity: from the octets of a protected frame to a frame with clear data, or a reason to refuse it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Security;
use super::association::{SaState, Service};
use super::keys::KeyError;
use crate::channel::Gvcid;
use crate::crypto::CryptoError;
use crate::frame::{FrameError, TransferFrame};

/// A frame that was checked and, if it was encrypted, decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processed<F> {
    /// The frame with clear data, without padding.
    pub frame: F,
    /// The association it came under.
    pub spi: u16,
    /// Its number against replay: the sequence number, or the IV if there is none.
    pub number: Option<u128>,
}

/// Why a frame was refused. The checks are made in this order: FECF, association, lengths, MAC, window, padding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// The octets are no frame of the channel.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The frame has no room for a security header and trailer.
    #[error("the data field has {octets} octets, but security header and trailer take {needed}")]
    TooShort {
        /// Octets of the data field.
        octets: usize,
        /// Octets of header and trailer.
        needed: usize,
    },
    /// There is no such association.
    #[error("there is no security association {spi}")]
    UnknownSpi {
        /// Its number.
        spi: u16,
    },
    /// The association does not protect now.
    #[error("security association {spi} is {state}, not operational")]
    NotOperational {
        /// Its number.
        spi: u16,
        /// Its state.
        state: SaState,
    },
    /// The association does not serve the frame's channel.
    #[error("security association {spi} does not serve {gvcid}")]
    WrongChannel {
        /// Its number.
        spi: u16,
        /// The frame's channel.
        gvcid: Gvcid,
    },
    /// The association's key cannot be used any more.
    #[error("security association {spi}: {error}")]
    Key {
        /// Its number.
        spi: u16,
        /// Why not.
        error: KeyError,
    },
    /// The message authentication code does not hold: the frame was changed, or made with another key.
    #[error("the message authentication code of a frame under security association {spi} does not hold")]
    BadMac {
        /// The association.
        spi: u16,
    },
    /// The frame is authentic, but its number came before, or is too far ahead.
    #[error(
        "the number of a frame under security association {spi} was used before, or is too old{}",
        too_far(*.window)
    )]
    Replay {
        /// The association.
        spi: u16,
        /// Its window.
        window: u64,
    },
    /// The pad length is above the octets there are, or what the association never adds.
    #[error(
        "the pad length of a frame under security association {spi} is {padding}, but its text has {text} octets"
    )]
    BadPadding {
        /// The association.
        spi: u16,
        /// Pad length.
        padding: usize,
        /// Octets of text and padding.
        text: usize,
    },
    /// Link security does not apply to the frame.
    #[error("link security does not apply to control commands and truncated frames")]
    NotProtectable,
    /// The engine refused.
    #[error("security association {spi}: {error}")]
    Crypto {
        /// The association.
        spi: u16,
        /// Why.
        error: CryptoError,
    },
}

/// What else can be wrong with a number; nothing where the window has no end that a counter reaches.
fn too_far(window: u64) -> String {
    match window {
        u64::MAX => String::new(),
        _ => format!(", or is outside of the window of {window}, too far ahead"),
    }
}

impl ProcessError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Frame(error) => error.code(),
            Self::TooShort { .. } => "field-too-short",
            Self::UnknownSpi { .. } => "spi-unknown",
            Self::NotOperational { .. } => "sa-not-operational",
            Self::WrongChannel { .. } => "sa-wrong-channel",
            Self::Key { error, .. } => error.code(),
            Self::BadMac { .. } => "mac",
            Self::Replay { .. } => "replay",
            Self::BadPadding { .. } => "padding",
            Self::NotProtectable => "not-protectable",
            Self::Crypto { .. } => "engine",
        }
    }

    /// The tag of its log entry.
    fn log_tag(&self) -> u8 {
        match self {
            Self::UnknownSpi { .. } => 1,
            Self::NotOperational { .. } => 2,
            Self::WrongChannel { .. } => 3,
            Self::Key { .. } => 4,
            Self::BadMac { .. } => 5,
            Self::Replay { .. } => 6,
            Self::BadPadding { .. } => 7,
            _ => 0,
        }
    }

    fn spi(&self) -> Option<u16> {
        match *self {
            Self::UnknownSpi { spi }
            | Self::NotOperational { spi, .. }
            | Self::WrongChannel { spi, .. }
            | Self::Key { spi, .. }
            | Self::BadMac { spi }
            | Self::Replay { spi, .. }
            | Self::BadPadding { spi, .. }
            | Self::Crypto { spi, .. } => Some(spi),
            Self::Frame(_) | Self::TooShort { .. } | Self::NotProtectable => None,
        }
    }
}

impl Security {
    /// Checks and opens a frame.
    ///
    /// # Errors
    /// If it is refused; the association is as it was before. The reason is counted in the report and the log, but for
    /// octets that are no frame and frames without room: those say nothing of security.
    pub fn process<F: TransferFrame>(
        &mut self,
        octets: &[u8],
        managed: &F::Parameters,
    ) -> Result<Processed<F>, ProcessError> {
        let result = self.open::<F>(octets, managed);
        self.report.bad_sequence = matches!(result, Err(ProcessError::Replay { .. }));
        self.report.bad_mac = matches!(result, Err(ProcessError::BadMac { .. }));
        self.report.bad_association = matches!(
            result,
            Err(ProcessError::UnknownSpi { .. }
                | ProcessError::NotOperational { .. }
                | ProcessError::WrongChannel { .. }
                | ProcessError::Key { .. })
        );
        match &result {
            Ok(processed) => {
                self.report.spi = processed.spi;
                self.report.sequence = processed.number.map_or(0, |number| number.to_be_bytes()[15]);
            }
            Err(error) => {
                if let Some(spi) = error.spi() {
                    self.report.alarm = true;
                    self.report.spi = spi;
                    self.log.refused(error.log_tag(), spi);
                }
            }
        }
        result
    }

    fn open<F: TransferFrame>(
        &mut self,
        octets: &[u8],
        managed: &F::Parameters,
    ) -> Result<Processed<F>, ProcessError> {
        let (frame, sections) = F::locate(octets, managed)?;
        if !frame.is_protectable() {
            return Err(ProcessError::NotProtectable);
        }
        let field = &octets[sections.field.clone()];
        let Some((spi, rest)) = field.split_first_chunk::<2>() else {
            return Err(ProcessError::TooShort { octets: field.len(), needed: 2 });
        };
        let spi = u16::from_be_bytes(*spi);
        let association = self.associations.get_mut(&spi).ok_or(ProcessError::UnknownSpi { spi })?;
        let (SaState::Operational, Some(key), Some(prepared)) =
            (association.state, association.key, &association.prepared)
        else {
            return Err(ProcessError::NotOperational { spi, state: association.state });
        };
        let (gvcid, map) = frame.channel();
        if !association.serves(gvcid, map) {
            return Err(ProcessError::WrongChannel { spi, gvcid });
        }
        let parameters = &association.parameters;
        self.keys.usable(key, parameters.key_kind()).map_err(|error| ProcessError::Key { spi, error })?;

        let security_header = parameters.header_octets();
        let needed = security_header + parameters.mac_octets;
        if field.len() < needed {
            return Err(ProcessError::TooShort { octets: field.len(), needed });
        }
        let (iv_field, rest) = rest.split_at(association.iv.transmitted());
        let (sequence_field, rest) = rest.split_at(association.sequence.transmitted());
        let (pad_length, rest) = rest.split_at(parameters.pad_length_octets);
        let (text, mac) = rest.split_at(rest.len() - parameters.mac_octets);

        // A counter that no round can complete is a replay; it is told so only if the code holds, as far as it can.
        let guard_is_sequence = association.sequence.octets() > 0;
        let whole_iv = association.iv.whole(iv_field);
        let whole_sequence = association.sequence.whole(sequence_field);
        let replay = ProcessError::Replay { spi, window: association.window };
        if association.iv.octets() > 0
            && whole_iv.is_none()
            && association.iv.transmitted() < association.iv.octets()
        {
            return Err(replay);
        }
        let iv_value =
            whole_iv.unwrap_or_else(|| iv_field.iter().fold(0, |n, octet| n << 8 | u128::from(*octet)));
        let (iv, iv_from) = association.iv.write(iv_value);

        let text_from = sections.header + security_header;
        let rest = sequence_field.len() + pad_length.len();
        let covered =
            |octets: &[u8]| parameters.mask.covered(F::KIND, sections.header, iv_field.len(), rest, octets);
        let mut text = text.to_vec();
        let opened = match parameters.service {
            Service::Authentication => {
                prepared.open(&iv[iv_from..], &covered(&octets[..text_from + text.len()]), &mut [], mac)
            }
            Service::AuthenticatedEncryption => {
                prepared.open(&iv[iv_from..], &covered(&octets[..text_from]), &mut text, mac)
            }
            // Counter mode is its own inverse.
            Service::Encryption => prepared.seal(&iv[iv_from..], &[], &mut text, &mut []),
        };
        opened.map_err(|error| match error {
            CryptoError::BadMac => ProcessError::BadMac { spi },
            error => ProcessError::Crypto { spi, error },
        })?;

        let number = if guard_is_sequence { whole_sequence } else { whole_iv };
        let number = number.filter(|_| association.guard().octets() > 0);
        if association.window > 0
            && !number.is_some_and(|number| association.guard().in_window(number, association.window))
        {
            return Err(replay);
        }
        let padding = pad_length.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
        if padding > text.len() || padding >= usize::from(parameters.padding_block) {
            return Err(ProcessError::BadPadding { spi, padding, text: text.len() });
        }
        text.truncate(text.len() - padding);
        if association.window > 0 {
            if let Some(number) = number {
                association.guard_mut().accept(number);
            }
            if guard_is_sequence && let Some(iv) = whole_iv.filter(|_| association.iv.octets() > 0) {
                association.iv.accept(iv);
            }
        }
        Ok(Processed { frame: frame.with_data(text), spi, number })
    }
}

/// The text of a frame, for callers that do not need the rest.
impl<F: TransferFrame> Processed<F> {
    /// Takes the clear data out.
    #[must_use]
    pub fn into_data(self) -> Vec<u8> {
        self.frame.into_data()
    }
}
