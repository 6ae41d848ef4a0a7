//! ApplySecurity: from a frame with clear data to the octets of a protected frame.

use alloc::vec::Vec;

use super::Security;
use super::association::{SaState, Service};
use super::keys::KeyError;
use crate::channel::Gvcid;
use crate::crypto::CryptoError;
use crate::frame::{FrameError, LONGEST_TAIL, TransferFrame};

/// Why a frame was not protected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// There is no such association.
    #[error("there is no security association {spi}")]
    UnknownSpi {
        /// Its number.
        spi: u16,
    },
    /// The association does not protect now.
    #[error("security association {spi} is {state}; start it first")]
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
    /// All initialisation vectors were used: none may come twice under one key.
    #[error("security association {spi} has used all its initialisation vectors; give it another key")]
    IvExhausted {
        /// Its number.
        spi: u16,
    },
    /// All sequence numbers were used.
    #[error("security association {spi} has used all its sequence numbers; give it another key")]
    SequenceExhausted {
        /// Its number.
        spi: u16,
    },
    /// The frame cannot be protected.
    #[error("link security does not apply to control commands and truncated frames")]
    NotProtectable,
    /// The frame cannot be written.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The engine refused.
    #[error("security association {spi}: {error}")]
    Crypto {
        /// Its number.
        spi: u16,
        /// Why.
        error: CryptoError,
    },
}

impl ApplyError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownSpi { .. } => "spi-unknown",
            Self::NotOperational { .. } => "sa-not-operational",
            Self::WrongChannel { .. } => "sa-wrong-channel",
            Self::Key { error, .. } => error.code(),
            Self::IvExhausted { .. } => "iv-exhausted",
            Self::SequenceExhausted { .. } => "sequence-exhausted",
            Self::NotProtectable => "not-protectable",
            Self::Frame(error) => error.code(),
            Self::Crypto { .. } => "engine",
        }
    }
}

impl Security {
    /// Protects `frame` under association `spi` and writes it. Frames of fixed length must have
    /// [`overhead`](super::SaParameters::overhead) fewer octets of data than without protection.
    ///
    /// # Errors
    /// If the association cannot protect it, or the frame cannot be written; no IV and no sequence number is used then,
    /// unless it was the engine that failed.
    pub fn apply<F: TransferFrame>(
        &mut self,
        spi: u16,
        frame: &F,
        managed: &F::Parameters,
    ) -> Result<Vec<u8>, ApplyError> {
        let association = self.associations.get_mut(&spi).ok_or(ApplyError::UnknownSpi { spi })?;
        let (SaState::Operational, Some(key), Some(prepared)) =
            (association.state, association.key, &association.prepared)
        else {
            return Err(ApplyError::NotOperational { spi, state: association.state });
        };
        if !frame.is_protectable() {
            return Err(ApplyError::NotProtectable);
        }
        let (gvcid, map) = frame.channel();
        if !association.serves(gvcid, map) {
            return Err(ApplyError::WrongChannel { spi, gvcid });
        }
        let parameters = &association.parameters;
        self.keys.usable(key, parameters.key_kind()).map_err(|error| ApplyError::Key { spi, error })?;

        let text = frame.data();
        let padding = parameters.padding(text.len());
        let field_octets = text.len() + parameters.overhead(text.len());
        let mut octets = frame.header(managed, field_octets)?;
        let header = octets.len();
        octets.reserve_exact(field_octets + LONGEST_TAIL);

        // Both counters are looked at before either is taken.
        if association.iv.octets() > 0 && association.iv.next().is_none() {
            return Err(ApplyError::IvExhausted { spi });
        }
        if association.sequence.octets() > 0 && association.sequence.next().is_none() {
            return Err(ApplyError::SequenceExhausted { spi });
        }
        let iv = association.iv.take();
        if let (Some(iv), true) = (iv, parameters.algorithm.encrypts()) {
            self.keys.spend_iv(key, iv);
        }
        let (iv, iv_from) = association.iv.write(iv.unwrap_or(0));
        let sequence = association.sequence.take().unwrap_or(0).to_be_bytes();

        octets.extend(spi.to_be_bytes());
        octets.extend_from_slice(&iv[16 - association.iv.transmitted()..]);
        octets.extend_from_slice(&sequence[16 - association.sequence.transmitted()..]);
        octets.extend_from_slice(&padding.to_be_bytes()[size_of::<usize>() - parameters.pad_length_octets..]);
        let text_from = octets.len();
        octets.extend_from_slice(text);
        octets.resize(octets.len() + padding, 0);

        let text_to = octets.len();
        let rest = association.sequence.transmitted() + parameters.pad_length_octets;
        let covered_to = if parameters.service == Service::Authentication { text_to } else { text_from };
        let covered = parameters.mask.covered(
            F::KIND,
            header,
            association.iv.transmitted(),
            rest,
            &octets[..covered_to],
        );
        octets.resize(text_to + parameters.mac_octets, 0);
        let (before, mac) = octets.split_at_mut(text_to);
        prepared
            .seal(&iv[iv_from..], &covered, &mut before[covered_to..], mac)
            .map_err(|error| ApplyError::Crypto { spi, error })?;
        frame.finish(managed, &mut octets);
        Ok(octets)
    }
}
