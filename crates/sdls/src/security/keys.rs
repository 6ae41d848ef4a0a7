//! Keys and their lives: a key is uploaded, activated, deactivated, destroyed (CCSDS 355.1-B).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

/// What a key may be used for. A key of one kind is refused where another is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// Opens over-the-air rekeying and nothing else.
    Master,
    /// Encrypts, with or without authentication (AES-GCM, AES-CCM).
    Cipher,
    /// Authenticates only (AES-CMAC, HMAC).
    Mac,
    /// Uploaded over the link: becomes a key for encryption or for authentication with the first association that gets
    /// it, and stays that.
    Session,
}

impl KeyKind {
    fn name(self) -> &'static str {
        match self {
            Self::Master => "a master key",
            Self::Cipher => "a key for encryption",
            Self::Mac => "a key for authentication",
            Self::Session => "a session key",
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a key is in its life. The numbers are those of the key inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyState {
    /// Loaded, not to be used yet.
    PreActive,
    /// In use.
    Active,
    /// Not to be used any more.
    Deactivated,
    /// Erased; only its number is left.
    Destroyed,
}

impl KeyState {
    /// The number in a key inventory (as in nasa/CryptoLib, where pre-active is 1).
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::PreActive => 1,
            Self::Active => 2,
            Self::Deactivated => 3,
            Self::Destroyed => 4,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::PreActive => "pre-active",
            Self::Active => "active",
            Self::Deactivated => "deactivated",
            Self::Destroyed => "destroyed",
        }
    }
}

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why something could not be done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no such key.
    #[error("there is no key {id}")]
    Unknown {
        /// Its number.
        id: u16,
    },
    /// The number is taken.
    #[error(
        "there is already a key {id}, which is {state}; only the number of a destroyed key can be used again"
    )]
    Exists {
        /// Its number.
        id: u16,
        /// Its state.
        state: KeyState,
    },
    /// The key's state does not allow it.
    #[error("key {id} is {state}, but it must be {needed}")]
    State {
        /// Its number.
        id: u16,
        /// Its state.
        state: KeyState,
        /// The state that it should have.
        needed: &'static str,
    },
    /// The key is of another kind.
    #[error("key {id} is {kind}, but {needed} is due")]
    Kind {
        /// Its number.
        id: u16,
        /// Its kind.
        kind: KeyKind,
        /// The kind that is due.
        needed: KeyKind,
    },
    /// An association uses the key.
    #[error("key {id} belongs to security association {spi}, which must be expired first")]
    InUse {
        /// Its number.
        id: u16,
        /// Who uses it.
        spi: u16,
    },
    /// The key has no octets, or more than 64.
    #[error("key {id} has {octets} octets; keys have 16 to 64")]
    Length {
        /// Its number.
        id: u16,
        /// Octets given.
        octets: usize,
    },
}

impl KeyError {
    /// A short name that does not change, for logs and test vectors.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "key-unknown",
            Self::Exists { .. } => "key-exists",
            Self::State { .. } => "key-state",
            Self::Kind { .. } => "key-kind",
            Self::InUse { .. } => "key-in-use",
            Self::Length { .. } => "key-length",
        }
    }
}

/// A key. Its octets are erased when it goes, and never shown.
pub struct Key {
    kind: KeyKind,
    state: KeyState,
    octets: Zeroizing<Vec<u8>>,
    /// The value above all IVs that were used with it.
    unused_iv: u128,
}

impl Key {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.kind
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> KeyState {
        self.state
    }

    pub(crate) fn octets(&self) -> &[u8] {
        &self.octets
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("kind", &self.kind).field("state", &self.state).finish_non_exhaustive()
    }
}

/// The keys of one end, by number.
#[derive(Debug, Default)]
pub struct KeyRing {
    keys: BTreeMap<u16, Key>,
}

impl KeyRing {
    /// Loads a key, in the state pre-active. The number of a destroyed key can be used again.
    ///
    /// # Errors
    /// If the number is taken, or the length is none of a key.
    pub fn load(&mut self, id: u16, kind: KeyKind, octets: &[u8]) -> Result<(), KeyError> {
        if let Some(key) = self.keys.get(&id)
            && key.state != KeyState::Destroyed
        {
            return Err(KeyError::Exists { id, state: key.state });
        }
        if !(16..=64).contains(&octets.len()) {
            return Err(KeyError::Length { id, octets: octets.len() });
        }
        let octets = Zeroizing::new(octets.to_vec());
        self.keys.insert(id, Key { kind, state: KeyState::PreActive, octets, unused_iv: 0 });
        Ok(())
    }

    /// Lets a key be used.
    ///
    /// # Errors
    /// If it is not pre-active.
    pub fn activate(&mut self, id: u16) -> Result<(), KeyError> {
        self.step(id, &[KeyState::PreActive], "pre-active", KeyState::Active)
    }

    /// Ends a key's use: frames under it are refused from now on.
    ///
    /// # Errors
    /// If it is not active.
    pub fn deactivate(&mut self, id: u16) -> Result<(), KeyError> {
        self.step(id, &[KeyState::Active], "active", KeyState::Deactivated)
    }

    /// Erases a key.
    ///
    /// # Errors
    /// If it is active, or destroyed already.
    pub fn destroy(&mut self, id: u16) -> Result<(), KeyError> {
        let from = [KeyState::PreActive, KeyState::Deactivated];
        self.step(id, &from, "pre-active or deactivated", KeyState::Destroyed)?;
        if let Some(key) = self.keys.get_mut(&id) {
            key.octets = Zeroizing::default();
        }
        Ok(())
    }

    fn step(
        &mut self,
        id: u16,
        from: &[KeyState],
        needed: &'static str,
        to: KeyState,
    ) -> Result<(), KeyError> {
        self.check_step(id, from, needed)?;
        if let Some(key) = self.keys.get_mut(&id) {
            key.state = to;
        }
        Ok(())
    }

    fn check_step(&self, id: u16, from: &[KeyState], needed: &'static str) -> Result<(), KeyError> {
        let key = self.get(id)?;
        if from.contains(&key.state) {
            return Ok(());
        }
        Err(KeyError::State { id, state: key.state, needed })
    }

    /// Whether [`activate`](Self::activate) would succeed.
    pub(crate) fn check_activate(&self, id: u16) -> Result<(), KeyError> {
        self.check_step(id, &[KeyState::PreActive], "pre-active")
    }

    /// Whether [`deactivate`](Self::deactivate) would succeed.
    pub(crate) fn check_deactivate(&self, id: u16) -> Result<(), KeyError> {
        self.check_step(id, &[KeyState::Active], "active")
    }

    /// Whether [`destroy`](Self::destroy) would succeed.
    pub(crate) fn check_destroy(&self, id: u16) -> Result<(), KeyError> {
        self.check_step(id, &[KeyState::PreActive, KeyState::Deactivated], "pre-active or deactivated")
    }

    /// A key.
    ///
    /// # Errors
    /// If there is none of that number.
    pub fn get(&self, id: u16) -> Result<&Key, KeyError> {
        self.keys.get(&id).ok_or(KeyError::Unknown { id })
    }

    /// A key of `kind` that is active.
    ///
    /// # Errors
    /// If there is none, or it is of another kind or not active.
    pub(crate) fn usable(&self, id: u16, needed: KeyKind) -> Result<&Key, KeyError> {
        let key = self.get(id)?;
        if key.kind != needed && (key.kind != KeyKind::Session || needed == KeyKind::Master) {
            return Err(KeyError::Kind { id, kind: key.kind, needed });
        }
        if key.state != KeyState::Active {
            return Err(KeyError::State { id, state: key.state, needed: "active" });
        }
        Ok(key)
    }

    /// Makes a session key one of `kind`.
    pub(crate) fn bind(&mut self, id: u16, kind: KeyKind) {
        if let Some(key) = self.keys.get_mut(&id) {
            key.kind = kind;
        }
    }

    /// The keys of the numbers in `range`, in order.
    pub(crate) fn range(&self, range: core::ops::RangeInclusive<u16>) -> impl Iterator<Item = (u16, &Key)> {
        self.keys.range(range).map(|(id, key)| (*id, key))
    }

    /// The value above all IVs that were used with a key.
    pub(crate) fn unused_iv(&self, id: u16) -> u128 {
        self.keys.get(&id).map_or(0, |key| key.unused_iv)
    }

    /// Records that an IV was used with a key.
    pub(crate) fn spend_iv(&mut self, id: u16, iv: u128) {
        if let Some(key) = self.keys.get_mut(&id) {
            key.unused_iv = key.unused_iv.max(iv.saturating_add(1));
        }
    }
}
