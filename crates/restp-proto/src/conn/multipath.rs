//! Several paths: keys, data numbers, and the choice of path.

use std::collections::VecDeque;

use bytes::Bytes;

use super::path::{Path, Stage};
use super::{Connection, Cx, LocalFin};
use crate::crypto;
use crate::error::PathError;
use crate::path::PathId;
use crate::profile::{Composition, JoinHash, Paths, Profile, Protection, Scheduler};
use crate::seq;
use crate::time::Instant;
use crate::wire::{CapableFlags, Multipath, Packet};

/// Most paths of a connection: k has 4 bits (answer A10).
pub(crate) const MAX_PATHS: usize = 15;

/// A message that the peer has not acknowledged on the connection level.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub payload: Bytes,
    pub push: bool,
    pub deadline: Instant,
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
    pub next_address_id: u8,
    /// We ask for a check of every payload, and what we or the peer asked is in force (answer C4).
    asks_checks: bool,
    pub checks: bool,
}

/// True if nothing else would check the payloads of several paths (answer C4).
fn unchecked(profile: &Profile) -> bool {
    profile.paths != Paths::Single && !profile.crc && profile.protection == Protection::ClearText
}

/// Whether an end with this profile asks for a check of every payload.
pub(crate) fn asks_checks(profile: &Profile) -> bool {
    profile.tuning.path_checks && unchecked(profile)
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
        let asks_checks = asks_checks(composition.profile());
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
        self.checks |= flags.contains(CapableFlags::CHECKS) && unchecked(composition.profile());
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

impl Connection {
    pub fn multi(&self) -> Option<&Multi> {
        self.multi.as_deref()
    }

    /// The connection-level parts of a packet.
    // R-MP-10, R-MP-11
    pub(super) fn on_multipath(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        if let Some(Multipath::Priority(priority)) = packet.multipath {
            self.paths[index].backup = priority.backup;
        }
        let Some(dss) = packet.dss else { return };
        let near = self.assembler.next();
        let Some(multi) = &mut self.multi else { return };
        if let Some(data) = dss.data_ack.and_then(|wire| multi.local_index(wire)) {
            let sent_fin = matches!(self.local_fin, LocalFin::Sent | LocalFin::Acked);
            let end = self.next_data + u64::from(sent_fin);
            if data <= end {
                while multi.data_first < data && !multi.store.is_empty() {
                    multi.store.pop_front();
                    multi.data_first += 1;
                }
                if self.local_fin == LocalFin::Sent && data == end {
                    self.on_fin_acked(cx);
                }
            }
        }
        let Some(multi) = &self.multi else { return };
        if let Some(mapping) = dss.mapping.filter(|mapping| mapping.data_fin) {
            let number = mapping.data_sequence.wrapping_add(mapping.length.into());
            if self.remote_fin.is_none()
                && let Some(end) = multi.peer_index(number, near)
            {
                self.remote_fin = Some(end);
                self.assembler.insert_end(cx.now, end);
            }
            self.paths[index].ack.now = true;
        }
    }

    /// The path for the next new or re-injected message, among those in `allowed`.
    // R-MP-5, R-MP-6
    pub(super) fn pick_path(&self, allowed: impl Fn(&Path) -> bool) -> Option<usize> {
        let paths = self.composition.profile().paths;
        let fits = |index: &usize| self.paths[*index].is_usable() && allowed(&self.paths[*index]);
        if paths == Paths::Single || self.multi.is_none() {
            return Some(0).filter(fits);
        }
        let front_line = self.paths.iter().any(|path| path.is_usable() && !path.backup);
        let in_service = |index: &usize| !(front_line && self.paths[*index].backup);
        let count = self.paths.len();
        let in_turn = (0..count).map(|step| (self.active + step) % count);
        match paths {
            Paths::Single | Paths::HotStandby => Some(self.active).filter(fits),
            Paths::Overflow => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::RoundRobin) => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::FastestRtt) => (0..count)
                .filter(in_service)
                .filter(fits)
                .min_by_key(|index| (self.paths[*index].rtt.smoothed(), *index)),
        }
    }

    /// After a message left on path `index`, round robin goes on to the next.
    pub(super) fn turn_wheel(&mut self, index: usize) {
        if self.composition.profile().paths == Paths::Spreading(Scheduler::RoundRobin) && self.multi.is_some()
        {
            self.active = (index + 1) % self.paths.len();
        }
    }

    /// Changes whether path `id` is a backup; the peer is told (answer H6).
    // R-MPP-1
    pub fn set_backup(&mut self, id: PathId, backup: bool) -> Result<(), PathError> {
        let path = self.paths.iter_mut().find(|path| path.id == id && path.stage == Stage::Established);
        let path = path.ok_or(PathError::NoSuchPath)?;
        path.backup = backup;
        path.wants.priority = true;
        Ok(())
    }
}
