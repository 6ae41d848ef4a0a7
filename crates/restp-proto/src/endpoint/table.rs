//! Which packet belongs to which connection, and when each connection wants to be woken.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use siphasher::sip::SipHasher13;
use siphasher::sip128::{self, Hasher128};

use crate::conn::Connection;
use crate::crypto::{Purpose, Secret};
use crate::event::ConnId;
use crate::path::PathAddr;
use crate::time::Instant;

/// Connections with the same pair of ports that can be found after their peer moved. A pair is shared only by peers
/// at different addresses that chose the same port, so few are enough up to some 100,000 connections to a port.
// R-ENCAP-3
pub(super) const MOVABLE_PER_PORTS: usize = 16;

/// Identity of a path on the wire: outer addresses and inner ports (answer K3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub addr: PathAddr,
    pub local_port: u16,
    pub remote_port: u16,
}

/// Hashes with a secret key, so that peers cannot choose colliding identities, and without global randomness.
#[derive(Clone)]
pub(crate) struct SecretState([u64; 2]);

impl SecretState {
    pub fn new(secret: &Secret) -> Self {
        let key = secret.derive(Purpose::TableHash, &[]);
        Self([key as u64, (key >> 64) as u64])
    }

    fn digest(&self, key: &Key) -> Digest {
        let mut hasher = sip128::SipHasher13::new_with_keys(self.0[0], self.0[1]);
        key.hash(&mut hasher);
        hasher.finish128().as_u128()
    }
}

impl BuildHasher for SecretState {
    type Hasher = SipHasher13;

    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }
}

/// What stands for an identity, which takes four times as many bytes: among a million connections two have the same with
/// a probability of 10^-27, and nobody without the secret can choose them.
type Digest = u128;

/// Hashes a digest to a part of it, which is as good as random.
#[derive(Default)]
struct Part(u64);

impl Hasher for Part {
    fn write_u128(&mut self, digest: u128) {
        self.0 = digest as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

struct Slot {
    generation: u32,
    conn: Option<Box<Connection>>,
    /// Waits in the list of connections with something to send.
    dirty: bool,
    /// Waits in the list of connections with events.
    eventful: bool,
    /// Waits in the list of connections whose deadline may be earlier than was noted.
    untimed: bool,
    /// Earliest entry in the timer queue.
    queued_at: Instant,
}

/// Timers in the queue that are never too many.
const LEAST_TIMERS: usize = 64;

/// All connections of an endpoint.
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    state: SecretState,
    keys: HashMap<Digest, (ConnId, usize), BuildHasherDefault<Part>>,
    /// The last key that was looked up: packets come in trains.
    recent: Option<(Key, (ConnId, usize))>,
    timers: BinaryHeap<Reverse<(Instant, ConnId)>>,
    /// Connections whose deadline is looked at when somebody asks for the next one: packets come in trains, and every one
    /// of them may move it.
    untimed: Vec<ConnId>,
    dirty: std::collections::VecDeque<ConnId>,
    eventful: std::collections::VecDeque<ConnId>,
}

impl Table {
    pub fn new(state: SecretState) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            state,
            keys: HashMap::default(),
            recent: None,
            timers: BinaryHeap::new(),
            untimed: Vec::new(),
            dirty: Default::default(),
            eventful: Default::default(),
        }
    }

    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The id that the next inserted connection will have.
    pub fn next_id(&self) -> ConnId {
        match self.free.last() {
            Some(&slot) => ConnId { slot, generation: self.slots[slot as usize].generation },
            None => ConnId { slot: self.slots.len() as u32, generation: 0 },
        }
    }

    pub fn insert(&mut self, conn: Connection) -> ConnId {
        let id = self.next_id();
        if self.free.pop().is_none() {
            self.slots.push(Slot {
                generation: 0,
                conn: None,
                dirty: false,
                eventful: false,
                untimed: false,
                queued_at: Instant::FAR_FUTURE,
            });
        }
        let slot = &mut self.slots[id.slot as usize];
        slot.conn = Some(Box::new(conn));
        slot.dirty = false;
        slot.eventful = false;
        slot.untimed = false;
        slot.queued_at = Instant::FAR_FUTURE;
        id
    }

    fn slot(&mut self, id: ConnId) -> Option<&mut Slot> {
        self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)
    }

    pub fn get(&self, id: ConnId) -> Option<&Connection> {
        self.slots.get(id.slot as usize).filter(|slot| slot.generation == id.generation)?.conn.as_deref()
    }

    pub fn get_mut(&mut self, id: ConnId) -> Option<&mut Connection> {
        self.slot(id)?.conn.as_deref_mut()
    }

    pub fn remove(&mut self, id: ConnId) -> Option<Box<Connection>> {
        let slot = self.slot(id)?;
        let conn = slot.conn.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        Some(conn)
    }

    pub fn find(&mut self, key: &Key) -> Option<(ConnId, usize)> {
        if let Some((recent, target)) = self.recent
            && recent == *key
        {
            return Some(target);
        }
        let target = *self.keys.get(&self.state.digest(key))?;
        self.recent = Some((*key, target));
        Some(target)
    }

    pub fn has_key(&self, key: &Key) -> bool {
        self.keys.contains_key(&self.state.digest(key))
    }

    pub fn bind(&mut self, key: Key, id: ConnId, path: usize) {
        self.recent = None;
        self.keys.insert(self.state.digest(&key), (id, path));
    }

    pub fn unbind(&mut self, key: &Key) {
        self.recent = None;
        self.keys.remove(&self.state.digest(key));
    }

    /// Notes that `id` may have something to send, to tell, or a new deadline.
    pub fn touch(&mut self, id: ConnId) {
        let Some(slot) = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)
        else {
            return;
        };
        if !std::mem::replace(&mut slot.untimed, true) {
            self.untimed.push(id);
        }
        if !std::mem::replace(&mut slot.dirty, true) {
            self.dirty.push_back(id);
        }
        if !std::mem::replace(&mut slot.eventful, true) {
            self.eventful.push_back(id);
        }
    }

    /// Notes the deadlines of all connections that were touched.
    fn note_deadlines(&mut self) {
        while let Some(id) = self.untimed.pop() {
            let Some(slot) = self.slot(id) else { continue };
            slot.untimed = false;
            let deadline = slot.conn.as_ref().map_or(Instant::FAR_FUTURE, |conn| conn.deadline());
            if deadline < slot.queued_at {
                slot.queued_at = deadline;
                self.timers.push(Reverse((deadline, id)));
            }
        }
        self.forget_stale_timers();
    }

    /// An earlier deadline leaves the later one in the queue; without this an idle connection would keep several.
    fn forget_stale_timers(&mut self) {
        if self.timers.len() <= LEAST_TIMERS + 2 * self.len() {
            return;
        }
        let mut timers = std::mem::take(&mut self.timers).into_vec();
        timers.retain(|Reverse((at, id))| {
            let slot = self.slots.get(id.slot as usize);
            slot.is_some_and(|slot| slot.generation == id.generation && slot.queued_at == *at)
        });
        timers.sort_unstable();
        timers.dedup();
        self.timers = timers.into();
    }

    /// The next connection that may have something to send; it stays first until `settle_dirty`.
    pub fn first_dirty(&self) -> Option<ConnId> {
        self.dirty.front().copied()
    }

    /// The first connection had nothing more to send.
    pub fn settle_dirty(&mut self) {
        if let Some(id) = self.dirty.pop_front()
            && let Some(slot) = self.slot(id)
        {
            slot.dirty = false;
        }
    }

    /// The first connection sent something: others have their turn.
    pub fn rotate_dirty(&mut self) {
        self.dirty.rotate_left(1);
    }

    pub fn first_eventful(&self) -> Option<ConnId> {
        self.eventful.front().copied()
    }

    pub fn settle_eventful(&mut self) {
        if let Some(id) = self.eventful.pop_front()
            && let Some(slot) = self.slot(id)
        {
            slot.eventful = false;
        }
    }

    /// The earliest deadline of all connections, at the latest: it may have moved back since it was noted.
    pub fn next_deadline(&mut self) -> Option<Instant> {
        self.note_deadlines();
        while let Some(Reverse((at, id))) = self.timers.peek().copied() {
            let Some(slot) = self.slot(id).filter(|slot| slot.queued_at == at) else {
                self.timers.pop();
                continue;
            };
            let deadline = slot.conn.as_ref().map_or(Instant::FAR_FUTURE, |conn| conn.deadline());
            if deadline == at {
                return Some(at);
            }
            slot.queued_at = deadline;
            self.timers.pop();
            if deadline != Instant::FAR_FUTURE {
                self.timers.push(Reverse((deadline, id)));
            }
        }
        None
    }

    /// A connection whose deadline is not after `now`.
    pub fn due(&mut self, now: Instant) -> Option<ConnId> {
        let at = self.next_deadline()?;
        if at > now {
            return None;
        }
        let Reverse((_, id)) = self.timers.pop()?;
        if let Some(slot) = self.slot(id) {
            slot.queued_at = Instant::FAR_FUTURE;
        }
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, EndpointConfig, Profile};

    #[test]
    fn each_identity_is_found_until_it_is_forgotten() {
        let mut table = Table::new(SecretState::new(&Secret::new([0; 16])));
        let key = |number: u32| {
            let [a, b, c, d] = number.to_be_bytes();
            let addr = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, a, b], 2).into() };
            Key { addr, local_port: 7, remote_port: u16::from_be_bytes([c, d]) }
        };
        let target = |number: u32| (ConnId { slot: number, generation: 1 }, (number % 15) as usize);
        for number in 0..100_000 {
            table.bind(key(number), target(number).0, target(number).1);
        }
        for number in (0..100_000).step_by(2) {
            table.unbind(&key(number));
        }
        for number in 0..100_000 {
            let expected = (number % 2 == 1).then(|| target(number));
            assert_eq!(table.find(&key(number)), expected, "{number}");
            assert_eq!(table.has_key(&key(number)), expected.is_some());
        }
    }

    #[test]
    fn deadlines_that_were_overtaken_take_no_room_and_the_next_one_is_known() {
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [1; 32]);
        let composition = Profile::file_arq().validate().unwrap();
        let addr = PathAddr { local: ([10, 0, 0, 1], 1).into(), remote: ([10, 0, 0, 2], 1).into() };
        let id = endpoint.connect(Instant::ZERO, addr, 9, 7, &composition).unwrap();
        for nanos in (1..10_000).rev() {
            endpoint.inside(id).unwrap().set_deadline(Instant::from_nanos(nanos));
            endpoint.table.touch(id);
            assert_eq!(endpoint.poll_timeout(), Some(Instant::from_nanos(nanos)));
        }
        let queued = endpoint.table.timers.len();
        assert!(queued <= LEAST_TIMERS + 2, "{queued}");
    }
}
