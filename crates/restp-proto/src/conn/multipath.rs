//! What the paths of a connection share: keys, data numbers, messages not acknowledged yet.

use std::collections::VecDeque;

use bytes::Bytes;

use super::sender::Sent;
use crate::crypto;
use crate::profile::{Composition, JoinHash};
use crate::seq;
use crate::time::Instant;
use crate::wire::{CapableFlags, MAX_PATHS};

/// A message that the peer has not acknowledged on the connection level.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub payload: Bytes,
    pub push: bool,
    pub deadline: Instant,
    /// Places of the paths that have carried it, a bit each.
    pub carriers: u16,
    /// It is known to have arrived, as it was acknowledged on one path.
    pub arrived: bool,
}

/// What the paths of a connection share.
#[derive(Debug)]
pub(crate) struct Multi {
    pub hash: JoinHash,
    pub local_key: u64,
    pub peer_key: Option<u64>,
    local_idsn: u32,
    peer_idsn: u32,
    /// Oldest message not acknowledged on the connection level.
    pub data_first: u64,
    pub store: VecDeque<Stored>,
    /// Messages to be sent again on another path.
    pub reinject: VecDeque<u64>,
    /// Where paths carry copies: messages before this one have left on the path at each place, or need not.
    pub copied: [u64; MAX_PATHS],
    pub next_address_id: u8,
    /// We ask for a check of every payload, and what we or the peer asked is in force (answer C4).
    asks_checks: bool,
    pub checks: bool,
}

/// Flag A of MP_CAPABLE.
pub(crate) fn checks_flag(asked: bool) -> CapableFlags {
    if asked { CapableFlags::CHECKS } else { CapableFlags::empty() }
}

/// The authentication of one join.
#[derive(Debug, Default)]
pub(crate) struct Join {
    pub local_nonce: u32,
    pub peer_nonce: u32,
}

impl Multi {
    pub fn new(composition: &Composition, local_key: u64) -> Self {
        let hash = composition.profile().join_hash;
        let asks_checks = composition.profile().asks_checks();
        Self {
            asks_checks,
            checks: asks_checks,
            hash,
            local_key,
            peer_key: None,
            local_idsn: crypto::initial_data_number(hash, local_key),
            peer_idsn: 0,
            data_first: 0,
            store: VecDeque::new(),
            reinject: VecDeque::new(),
            copied: [0; MAX_PATHS],
            next_address_id: 1,
        }
    }

    pub fn learn(&mut self, key: u64) {
        self.peer_key = Some(key);
        self.peer_idsn = crypto::initial_data_number(self.hash, key);
    }

    /// What we announce in MP_CAPABLE: the hash, and whether we ask for checks.
    pub fn flags(&self) -> CapableFlags {
        crypto::capable_flags(self.hash) | checks_flag(self.asks_checks)
    }

    /// Either end may ask for checks of the payload.
    // R-DSS-4
    pub fn hear_flags(&mut self, flags: CapableFlags, composition: &Composition) {
        self.checks |= flags.contains(CapableFlags::CHECKS) && composition.profile().leaves_paths_unchecked();
    }

    pub fn accepts(&self, flags: CapableFlags) -> bool {
        flags.contains(crypto::capable_flags(self.hash))
    }

    pub fn is_local_key(&self, key: u64) -> bool {
        crypto::equal(&key.to_be_bytes(), &self.local_key.to_be_bytes())
    }

    /// Our token, which names this connection in a join.
    pub fn token(&self) -> u32 {
        crypto::token(self.hash, self.local_key)
    }

    /// Wire number of our message `index`; the first is one past the initial data number.
    pub fn local_number(&self, index: u64) -> u32 {
        seq::to_wire(self.local_idsn, index + 1)
    }

    pub fn local_index(&self, number: u32) -> Option<u64> {
        seq::from_wire(self.local_idsn, number, self.data_first + 1)?.checked_sub(1)
    }

    /// Wire number of the peer's message `index`.
    pub fn peer_number(&self, index: u64) -> u32 {
        seq::to_wire(self.peer_idsn, index + 1)
    }

    pub fn peer_index(&self, number: u32, near: u64) -> Option<u64> {
        seq::from_wire(self.peer_idsn, number, near + 1)?.checked_sub(1)
    }

    pub fn stored(&self, index: u64) -> Option<&Stored> {
        self.store.get(usize::try_from(index.checked_sub(self.data_first)?).ok()?)
    }

    pub fn stored_mut(&mut self, index: u64) -> Option<&mut Stored> {
        self.store.get_mut(usize::try_from(index.checked_sub(self.data_first)?).ok()?)
    }

    /// Message `index` as a packet to be sent once more.
    pub fn packet_of(&self, index: u64) -> Option<Sent> {
        let stored = self.stored(index)?;
        Some(Sent::new(index, stored.payload.clone(), false, stored.push, stored.deadline))
    }

    /// What the peer must prove for `join`.
    pub fn peer_mac(&self, join: &Join) -> [u8; 20] {
        let keys = [self.peer_key.unwrap_or_default(), self.local_key];
        crypto::join_mac(self.hash, keys, [join.peer_nonce, join.local_nonce])
    }

    /// What we prove for `join`.
    pub fn own_mac(&self, join: &Join) -> [u8; 20] {
        let keys = [self.local_key, self.peer_key.unwrap_or_default()];
        crypto::join_mac(self.hash, keys, [join.local_nonce, join.peer_nonce])
    }
}
