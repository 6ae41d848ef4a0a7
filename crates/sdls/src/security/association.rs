//! Security associations: what is protected how, under which key, and where in its life the association is.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::counter::{Counter, CounterError};
use super::keys::{KeyError, KeyKind};
use super::mask::{AuthMask, SPI_OCTETS};
use crate::channel::{ChannelId, Gvcid};
use crate::crypto::{Algorithm, CryptoError, PreparedKey, Shape};

/// What an association gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// Whoever changes or makes up a frame is found out; whoever listens can read it.
    Authentication,
    /// Whoever listens cannot read; **changes are not found out**. For interworking with what exists.
    Encryption,
    /// Both.
    AuthenticatedEncryption,
}

/// Where an association is in its life (CCSDS 355.1-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaState {
    /// It has parameters, but no key.
    Unkeyed,
    /// It has a key, but protects nothing.
    Keyed,
    /// It protects.
    Operational,
}

impl SaState {
    fn name(self) -> &'static str {
        match self {
            Self::Unkeyed => "unkeyed",
            Self::Keyed => "keyed",
            Self::Operational => "operational",
        }
    }
}

impl fmt::Display for SaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The parameters of an association, which both ends agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaParameters {
    /// What it gives.
    pub service: Service,
    /// By which algorithm.
    pub algorithm: Algorithm,
    /// Octets of its key.
    pub key_octets: usize,
    /// Octets of the message authentication code; 0 for encryption only.
    pub mac_octets: usize,
    /// The initialisation vector that comes first; empty for algorithms without one. It is a counter.
    pub iv: Vec<u8>,
    /// How many of its lower octets security headers carry.
    pub iv_transmitted: usize,
    /// The sequence number that comes first; empty if the IV serves against replay.
    pub sequence: Vec<u8>,
    /// How many of its lower octets security headers carry.
    pub sequence_transmitted: usize,
    /// Text is filled up to a multiple of these octets, with at most 254; 1 for none.
    pub padding_block: u8,
    /// Octets of the pad length field, 0 to 2.
    pub pad_length_octets: usize,
    /// Which bits are authenticated.
    pub mask: AuthMask,
    /// How far above the last accepted number a frame may be. 0 accepts any number above none: **no protection against
    /// replay**, for links that cannot have it.
    pub window: u64,
    /// Allows the numbers 0 and 65,535, which the standard keeps for itself and some implementations use.
    pub reserved_spi: bool,
}

impl SaParameters {
    /// Authenticated encryption with AES-GCM, an IV of 12 octets that counts from zero, a MAC of 16 and a window of 5:
    /// the baseline of CCSDS 355.0-B for telemetry; `key_octets` are 16 or 32.
    #[must_use]
    pub fn aes_gcm(key_octets: usize) -> Self {
        Self {
            service: Service::AuthenticatedEncryption,
            algorithm: Algorithm::AesGcm,
            key_octets,
            mac_octets: 16,
            iv: alloc::vec![0; 12],
            iv_transmitted: 12,
            sequence: Vec::new(),
            sequence_transmitted: 0,
            padding_block: 1,
            pad_length_octets: 0,
            mask: AuthMask::Standard,
            window: 5,
            reserved_spi: false,
        }
    }

    /// Authentication with AES-CMAC, a sequence number of 4 octets that counts from zero, a MAC of 16 and a window of 5:
    /// the baseline of CCSDS 355.0-B for telecommands; `key_octets` are 16 or 32.
    #[must_use]
    pub fn aes_cmac(key_octets: usize) -> Self {
        Self {
            service: Service::Authentication,
            algorithm: Algorithm::AesCmac,
            iv: Vec::new(),
            iv_transmitted: 0,
            sequence: alloc::vec![0; 4],
            sequence_transmitted: 4,
            ..Self::aes_gcm(key_octets)
        }
    }

    /// Octets of the security header.
    #[must_use]
    pub fn header_octets(&self) -> usize {
        SPI_OCTETS + self.iv_transmitted + self.sequence_transmitted + self.pad_length_octets
    }

    /// Octets that protection adds to a text of `text` octets: security header, padding and trailer. Users of frames of
    /// fixed length leave room for them.
    #[must_use]
    pub fn overhead(&self, text: usize) -> usize {
        self.header_octets() + self.padding(text) + self.mac_octets
    }

    /// Octets of padding for a text of `text` octets.
    #[must_use]
    pub fn padding(&self, text: usize) -> usize {
        let block = usize::from(self.padding_block.max(1));
        text.next_multiple_of(block) - text
    }

    /// The kind of key.
    #[must_use]
    pub fn key_kind(&self) -> KeyKind {
        if self.algorithm.encrypts() { KeyKind::Cipher } else { KeyKind::Mac }
    }

    /// Lengths for the engine.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { key: self.key_octets, iv: self.iv.len(), mac: self.mac_octets }
    }

    pub(crate) fn check(&self, spi: u16) -> Result<(), SaError> {
        let refuse = |reason| Err(SaError::Parameters { spi, reason });
        if !self.reserved_spi && (spi == 0 || spi == u16::MAX) {
            return refuse("the numbers 0 and 65,535 are reserved");
        }
        if self.algorithm.encrypts() == self.iv.is_empty() {
            return refuse("an algorithm that encrypts needs an IV, and one that does not has none");
        }
        match self.service {
            Service::Encryption if self.mac_octets != 0 || !self.algorithm.encrypts() => {
                return refuse("encryption alone has an algorithm that encrypts, and no MAC");
            }
            Service::Authentication | Service::AuthenticatedEncryption if self.mac_octets == 0 => {
                return refuse("authentication needs a MAC");
            }
            Service::AuthenticatedEncryption if !self.algorithm.encrypts() => {
                return refuse("the algorithm does not encrypt");
            }
            Service::Authentication if self.algorithm == Algorithm::AesCcm => {
                return refuse("AES-CCM is for authenticated encryption; use AES-CMAC to authenticate");
            }
            _ => {}
        }
        if self.pad_length_octets > 2 || self.padding_block == 0 {
            return refuse("the pad length field has at most two octets, and the block at least one");
        }
        if self.padding_block > 1 && self.pad_length_octets == 0 {
            return refuse("padding needs a pad length field");
        }
        if self.window > 0 && self.iv.is_empty() && self.sequence.is_empty() {
            return refuse("a window needs an IV or a sequence number");
        }
        if !self.iv.is_empty() && self.iv_transmitted == 0
            || !self.sequence.is_empty() && self.sequence_transmitted == 0
        {
            // The receiver could not tell a lost frame from none.
            return refuse("at least one octet of IV and sequence number is transmitted");
        }
        if self.window == 0
            && (self.iv_transmitted < self.iv.len() || self.sequence_transmitted < self.sequence.len())
        {
            return refuse("a counter that is transmitted in part needs a window");
        }
        Counter::new(&self.iv, self.iv_transmitted).map_err(|error| SaError::Counter { spi, error })?;
        Counter::new(&self.sequence, self.sequence_transmitted)
            .map_err(|error| SaError::Counter { spi, error })?;
        Ok(())
    }
}

/// A step in an association's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SaStep {
    /// Gives it a key.
    Rekey,
    /// Lets it protect.
    Start,
    /// Ends that.
    Stop,
    /// Takes its key away.
    Expire,
    /// Removes it.
    Delete,
}

impl SaStep {
    /// The state in which the step is legal.
    #[must_use]
    pub fn from(self) -> SaState {
        match self {
            Self::Rekey | Self::Delete => SaState::Unkeyed,
            Self::Start | Self::Expire => SaState::Keyed,
            Self::Stop => SaState::Operational,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rekey => "rekeyed",
            Self::Start => "started",
            Self::Stop => "stopped",
            Self::Expire => "expired",
            Self::Delete => "deleted",
        }
    }
}

impl fmt::Display for SaStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why something could not be done with an association.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SaError {
    /// There is no such association.
    #[error("there is no security association {spi}")]
    Unknown {
        /// Its number.
        spi: u16,
    },
    /// The number is taken.
    #[error("there is already a security association {spi}")]
    Exists {
        /// Its number.
        spi: u16,
    },
    /// The step is not legal in the association's state.
    #[error("security association {spi} is {state}; it can be {step} only when {}", .step.from())]
    Transition {
        /// Its number.
        spi: u16,
        /// Its state.
        state: SaState,
        /// The step.
        step: SaStep,
    },
    /// The parameters do not go together.
    #[error("security association {spi} cannot be made: {reason}")]
    Parameters {
        /// Its number.
        spi: u16,
        /// Why not.
        reason: &'static str,
    },
    /// A counter cannot be as it was asked for.
    #[error("security association {spi}: {error}")]
    Counter {
        /// Its number.
        spi: u16,
        /// Why not.
        error: CounterError,
    },
    /// The key cannot be used.
    #[error("security association {spi}: {error}")]
    Key {
        /// Its number.
        spi: u16,
        /// Why not.
        error: KeyError,
    },
    /// The key has another length than the parameters say.
    #[error("security association {spi} takes a key of {needed} octets, but key {key} has {found}")]
    KeyLength {
        /// Its number.
        spi: u16,
        /// The key's number.
        key: u16,
        /// Octets due.
        needed: usize,
        /// Octets of the key.
        found: usize,
    },
    /// Another association has the same key: with one key the counters of two would meet.
    #[error(
        "key {key} belongs to security association {other}; two that encrypt with one key would use an IV twice"
    )]
    KeyTaken {
        /// The number asked for.
        spi: u16,
        /// The key's number.
        key: u16,
        /// Who has it.
        other: u16,
    },
    /// The IV to begin with was used with this key before.
    #[error("security association {spi} would use an IV a second time with key {key}")]
    IvReuse {
        /// Its number.
        spi: u16,
        /// The key's number.
        key: u16,
    },
    /// The engine does not do it.
    #[error("security association {spi}: {error}")]
    Crypto {
        /// Its number.
        spi: u16,
        /// Why not.
        error: CryptoError,
    },
    /// An association cannot be changed by a command that it protects itself.
    #[error("security association {spi} carried the command and cannot be its object")]
    CarriesCommand {
        /// Its number.
        spi: u16,
    },
}

impl SaError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "sa-unknown",
            Self::Exists { .. } => "sa-exists",
            Self::Transition { .. } => "sa-transition",
            Self::Parameters { .. } => "sa-parameters",
            Self::Counter { .. } => "sa-counter",
            Self::Key { error, .. } => error.code(),
            Self::KeyLength { .. } => "sa-key-length",
            Self::KeyTaken { .. } => "sa-key-taken",
            Self::IvReuse { .. } => "sa-iv-reuse",
            Self::Crypto { .. } => "sa-engine",
            Self::CarriesCommand { .. } => "sa-carries-command",
        }
    }
}

/// An association.
pub struct Association {
    pub(crate) parameters: SaParameters,
    pub(crate) state: SaState,
    pub(crate) iv: Counter,
    pub(crate) sequence: Counter,
    pub(crate) window: u64,
    pub(crate) key: Option<u16>,
    pub(crate) prepared: Option<Box<dyn PreparedKey>>,
    pub(crate) channels: Vec<ChannelId>,
    /// Tag of the last procedure that changed it, for the status reply.
    pub(crate) last_procedure: u8,
}

impl Association {
    pub(crate) fn new(spi: u16, parameters: SaParameters) -> Result<Self, SaError> {
        parameters.check(spi)?;
        let counter = |first: &[u8], transmitted| {
            if first.is_empty() {
                return Ok(Counter::none());
            }
            Counter::new(first, transmitted).map_err(|error| SaError::Counter { spi, error })
        };
        Ok(Self {
            iv: counter(&parameters.iv, parameters.iv_transmitted)?,
            sequence: counter(&parameters.sequence, parameters.sequence_transmitted)?,
            window: parameters.window,
            state: SaState::Unkeyed,
            key: None,
            prepared: None,
            channels: Vec::new(),
            last_procedure: 0,
            parameters,
        })
    }

    /// Its parameters.
    #[must_use]
    pub fn parameters(&self) -> &SaParameters {
        &self.parameters
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> SaState {
        self.state
    }

    /// Its key's number.
    #[must_use]
    pub fn key(&self) -> Option<u16> {
        self.key
    }

    /// The channels it serves.
    #[must_use]
    pub fn channels(&self) -> &[ChannelId] {
        &self.channels
    }

    /// The counter of initialisation vectors.
    #[must_use]
    pub fn iv(&self) -> &Counter {
        &self.iv
    }

    /// The counter of sequence numbers.
    #[must_use]
    pub fn sequence(&self) -> &Counter {
        &self.sequence
    }

    /// How far above the last accepted number a frame may be.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The counter against replay: the sequence number, or the IV if there is none.
    pub(crate) fn guard(&self) -> &Counter {
        if self.sequence.octets() > 0 { &self.sequence } else { &self.iv }
    }

    pub(crate) fn guard_mut(&mut self) -> &mut Counter {
        if self.sequence.octets() > 0 { &mut self.sequence } else { &mut self.iv }
    }

    pub(crate) fn serves(&self, gvcid: Gvcid, map: Option<u8>) -> bool {
        self.channels.iter().any(|channel| channel.covers(gvcid, map))
    }

    pub(crate) fn check_step(&self, spi: u16, step: SaStep) -> Result<(), SaError> {
        if self.state == step.from() {
            return Ok(());
        }
        Err(SaError::Transition { spi, state: self.state, step })
    }
}

impl fmt::Debug for Association {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Association")
            .field("parameters", &self.parameters)
            .field("state", &self.state)
            .field("key", &self.key)
            .field("iv", &self.iv)
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}
