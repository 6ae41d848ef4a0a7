//! Link security (CCSDS 355.0-B): security associations, and the two functions that protect frames and check them.

mod apply;
mod association;
mod counter;
mod keys;
mod log;
mod mask;
mod process;

pub use apply::ApplyError;
pub use association::{Association, SaError, SaParameters, SaState, SaStep, Service};
pub use counter::{Counter, CounterError};
pub use keys::{Key, KeyError, KeyKind, KeyRing, KeyState};
pub use log::{Log, LogEntry};
pub use mask::AuthMask;
pub use process::{ProcessError, Processed};

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::channel::ChannelId;
use crate::crypto::Engine;
use crate::ocf::Fsr;

/// One end of protected links: keys, associations and what became of the last frame.
#[derive(Debug)]
pub struct Security {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) keys: KeyRing,
    pub(crate) associations: BTreeMap<u16, Association>,
    pub(crate) report: Fsr,
    pub(crate) log: Log,
    /// Proofs of keys given so far, so that no two have one IV.
    pub(crate) proofs: u64,
}

#[cfg(any(feature = "rustcrypto", feature = "aws-lc"))]
impl Default for Security {
    fn default() -> Self {
        Self::new(crate::crypto::default_engine())
    }
}

impl Security {
    /// An end without keys and associations.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self {
            engine,
            keys: KeyRing::default(),
            associations: BTreeMap::new(),
            report: Fsr::default(),
            log: Log::default(),
            proofs: 0,
        }
    }

    /// The keys.
    #[must_use]
    pub fn keys(&self) -> &KeyRing {
        &self.keys
    }

    /// Loads a key and activates it: what is done on ground before launch.
    ///
    /// # Errors
    /// As [`KeyRing::load`].
    pub fn load_active_key(&mut self, id: u16, kind: KeyKind, octets: &[u8]) -> Result<(), KeyError> {
        self.keys.load(id, kind, octets)?;
        self.keys.activate(id)
    }

    /// Loads a key in the state pre-active.
    ///
    /// # Errors
    /// As [`KeyRing::load`].
    pub fn load_key(&mut self, id: u16, kind: KeyKind, octets: &[u8]) -> Result<(), KeyError> {
        self.keys.load(id, kind, octets)
    }

    /// Lets a key be used.
    ///
    /// # Errors
    /// If it is not pre-active.
    pub fn activate_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.keys.activate(id)
    }

    /// Ends a key's use at once; associations that have it refuse every frame from now on.
    ///
    /// # Errors
    /// If it is not active.
    pub fn deactivate_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.keys.deactivate(id)
    }

    /// Erases a key.
    ///
    /// # Errors
    /// If it is active or destroyed already, or an association has it.
    pub fn destroy_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.check_destroy(id)?;
        self.keys.destroy(id)
    }

    /// Whether [`destroy_key`](Self::destroy_key) would succeed.
    pub(crate) fn check_destroy(&self, id: u16) -> Result<(), KeyError> {
        self.keys.check_destroy(id)?;
        match self.owner(id) {
            Some(spi) => Err(KeyError::InUse { id, spi }),
            None => Ok(()),
        }
    }

    /// The association that has a key.
    fn owner(&self, key: u16) -> Option<u16> {
        self.associations.iter().find(|(_, association)| association.key == Some(key)).map(|(spi, _)| *spi)
    }

    /// An association.
    ///
    /// # Errors
    /// If there is none of that number.
    pub fn association(&self, spi: u16) -> Result<&Association, SaError> {
        self.associations.get(&spi).ok_or(SaError::Unknown { spi })
    }

    pub(crate) fn association_mut(&mut self, spi: u16) -> Result<&mut Association, SaError> {
        self.associations.get_mut(&spi).ok_or(SaError::Unknown { spi })
    }

    /// Makes an association, without a key.
    ///
    /// # Errors
    /// If the number is taken or reserved, or the parameters do not go together.
    pub fn create(&mut self, spi: u16, parameters: SaParameters) -> Result<(), SaError> {
        if self.associations.contains_key(&spi) {
            return Err(SaError::Exists { spi });
        }
        self.associations.insert(spi, Association::new(spi, parameters)?);
        Ok(())
    }

    /// Gives an association a key, and, for algorithms with one, the IV that comes next (none leaves it as it is).
    ///
    /// # Errors
    /// If the association has a key; if the key is not active, of another kind or length, or another association's; if
    /// the IV was used with it before; if the engine does not do what the parameters ask for.
    pub fn rekey(&mut self, spi: u16, key: u16, next_iv: Option<&[u8]>) -> Result<(), SaError> {
        let association = self.association(spi)?;
        association.check_step(spi, SaStep::Rekey)?;
        let parameters = &association.parameters;
        let found =
            self.keys.usable(key, parameters.key_kind()).map_err(|error| SaError::Key { spi, error })?;
        if found.octets().len() != parameters.key_octets {
            let (needed, found) = (parameters.key_octets, found.octets().len());
            return Err(SaError::KeyLength { spi, key, needed, found });
        }
        if let Some(other) = self.owner(key).filter(|_| parameters.algorithm.encrypts()) {
            return Err(SaError::KeyTaken { spi, key, other });
        }
        let mut iv = association.iv.clone();
        if let Some(value) = next_iv {
            iv.set_next(value).map_err(|error| SaError::Counter { spi, error })?;
        }
        if parameters.algorithm.encrypts() && iv.next().is_none_or(|next| next < self.keys.unused_iv(key)) {
            return Err(SaError::IvReuse { spi, key });
        }
        let prepared = self
            .engine
            .prepare(parameters.algorithm, found.octets(), parameters.shape())
            .map_err(|error| SaError::Crypto { spi, error })?;
        let kind = parameters.key_kind();
        self.keys.bind(key, kind);
        let association = self.association_mut(spi)?;
        association.iv = iv;
        association.key = Some(key);
        association.prepared = Some(prepared);
        association.state = SaState::Keyed;
        Ok(())
    }

    /// Lets an association protect `channels`.
    ///
    /// # Errors
    /// If it has no key, or protects already.
    pub fn start(&mut self, spi: u16, channels: &[ChannelId]) -> Result<(), SaError> {
        let association = self.stepped(spi, SaStep::Start)?;
        association.channels = channels.to_vec();
        association.state = SaState::Operational;
        Ok(())
    }

    /// Ends its protection.
    ///
    /// # Errors
    /// If it does not protect.
    pub fn stop(&mut self, spi: u16) -> Result<(), SaError> {
        let association = self.stepped(spi, SaStep::Stop)?;
        association.channels = Vec::new();
        association.state = SaState::Keyed;
        Ok(())
    }

    /// Takes its key away.
    ///
    /// # Errors
    /// If it has none, or protects.
    pub fn expire(&mut self, spi: u16) -> Result<(), SaError> {
        let association = self.stepped(spi, SaStep::Expire)?;
        association.key = None;
        association.prepared = None;
        association.state = SaState::Unkeyed;
        Ok(())
    }

    /// Removes it.
    ///
    /// # Errors
    /// If it has a key.
    pub fn delete(&mut self, spi: u16) -> Result<(), SaError> {
        self.stepped(spi, SaStep::Delete)?;
        self.associations.remove(&spi);
        Ok(())
    }

    fn stepped(&mut self, spi: u16, step: SaStep) -> Result<&mut Association, SaError> {
        let association = self.association_mut(spi)?;
        association.check_step(spi, step)?;
        Ok(association)
    }

    /// Sets the last accepted value of the counter against replay; all ones mean that none was.
    ///
    /// # Errors
    /// If there is no such association, or the value has another length.
    pub fn set_last(&mut self, spi: u16, value: &[u8]) -> Result<(), SaError> {
        let association = self.association_mut(spi)?;
        association.guard_mut().set_last(value).map_err(|error| SaError::Counter { spi, error })
    }

    /// Sets the window against replay.
    ///
    /// # Errors
    /// If there is no such association.
    pub fn set_window(&mut self, spi: u16, window: u64) -> Result<(), SaError> {
        self.association_mut(spi)?.window = window;
        Ok(())
    }

    /// The report on the last frame, for the OCF of telemetry.
    #[must_use]
    pub fn report(&self) -> Fsr {
        self.report
    }

    /// What was refused.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Resets the alarm of the report.
    pub fn reset_alarm(&mut self) {
        self.report.alarm = false;
    }
}
