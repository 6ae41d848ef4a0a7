//! Closed connections that are remembered for twice the segment lifetime, so that what the peer repeats gets its answer,
//! wherever it comes from.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use super::stranger::Stranger;
use super::table::{Key, MOVABLE_PER_PORTS, SecretState};
use crate::path::PathAddr;
use crate::protected::Seal;
use crate::time::Instant;
use crate::wire::{Flags, Packet, PseudoHeader, Sequence};

/// The largest window that a packet can grant: what comes late lies no further from the last numbers.
const LARGEST_WINDOW: u32 = u16::MAX as u32;

/// Builds the pseudo-header of packets that leave on a path.
type Pseudo = fn(&PathAddr) -> Option<PseudoHeader>;

/// What is left of one path.
#[derive(Debug)]
pub(crate) struct Farewell {
    pub addr: PathAddr,
    /// Its last acknowledgement, as it leaves for that address.
    pub answer: Vec<u8>,
}

/// What is left of a closed connection.
pub(crate) struct Remains {
    pub ports: (u16, u16),
    pub until: Instant,
    pub farewells: Vec<Farewell>,
    /// Opens what comes late on a protected connection.
    pub seal: Option<Seal>,
    /// How long an answer takes at most.
    pub rto: Duration,
}

/// What the memory of closed connections says of a packet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// It belongs to none of them.
    Unknown,
    /// It belongs to one and wants nothing, or nothing of it may take effect.
    Silent,
    /// It gets this.
    Answer(Vec<u8>),
}

impl Farewell {
    fn last(&self, pseudo: Pseudo) -> Option<Packet<'_>> {
        Packet::decode(&self.answer, pseudo(&self.addr).as_ref()).ok().map(|decoded| decoded.packet)
    }

    /// Whether the peer may have sent `packet` before it knew of the end. From and to the address of the path numbers may
    /// be lacking, as compositions without acknowledgements leave them out.
    fn is_of(&self, addr: &PathAddr, packet: &Packet<'_>, pseudo: Pseudo) -> bool {
        let Some(last) = self.last(pseudo) else { return false };
        let Sequence::Arq(numbers) = last.sequence else { return false };
        let ack = match packet.sequence {
            Sequence::Arq(arq) if packet.header.flags.contains(Flags::ACK) => Some(arq.acknowledgement),
            _ => None,
        };
        let lacking = *addr == self.addr;
        // Beyond a hole that was given up there may be more than what was acknowledged; what was never sent nobody
        // acknowledges.
        let near = |own: u32| {
            own.wrapping_sub(numbers.acknowledgement).wrapping_add(LARGEST_WINDOW) <= 2 * LARGEST_WINDOW
        };
        let sent = |ack: u32| numbers.sequence.wrapping_sub(ack) <= LARGEST_WINDOW;
        packet.frozen_bits() == last.frozen_bits()
            && packet.sequence.number().map_or(lacking, near)
            && ack.map_or(lacking, sent)
    }

    /// Data, an end, or a question whether we are still there is answered; nothing else is, the other end's farewell least.
    fn is_wanted(&self, packet: &Packet<'_>, pseudo: Pseudo) -> bool {
        let expected = match self.last(pseudo).map(|last| last.sequence) {
            Some(Sequence::Arq(numbers)) => Some(numbers.acknowledgement),
            _ => None,
        };
        let asks = packet.sequence.number().map(|own| own.wrapping_add(1)) == expected;
        let data_fin = packet.dss.and_then(|dss| dss.mapping).is_some_and(|mapping| mapping.data_fin);
        packet.header.flags.contains(Flags::FIN) || data_fin || !packet.payload.is_empty() || asks
    }

    /// The last acknowledgement for `addr`: a seal holds everywhere, a checksum may cover the addresses.
    fn answer_to(&self, addr: &PathAddr, pseudo: Pseudo) -> Option<Vec<u8>> {
        let last = self.last(pseudo)?;
        if last.is_sealed() {
            return Some(self.answer.clone());
        }
        let mut bytes = Vec::with_capacity(self.answer.len());
        last.encode(&mut bytes, pseudo(addr).as_ref()).ok()?;
        Some(bytes)
    }
}

impl Remains {
    fn key(&self, addr: PathAddr) -> Key {
        Key { addr, local_port: self.ports.0, remote_port: self.ports.1 }
    }

    /// Whether a packet with the numbers of this connection is from its peer: under protection it must open.
    fn admits(&mut self, stranger: &Stranger<'_>, scratch: &mut Vec<u8>) -> bool {
        let Some(seal) = &mut self.seal else { return true };
        let header_bytes = stranger.decoded.header_bytes;
        stranger.decoded.packet.protection.is_some_and(|protection| {
            seal.open(stranger.now, self.rto, &protection, stranger.datagram, header_bytes, scratch)
        })
    }
}

/// The memory of closed connections (answer D12): bounded, the oldest go first.
// R-CM-5
pub(super) struct Linger {
    /// In the order in which they closed.
    all: BTreeMap<u64, Remains>,
    next: u64,
    by_key: HashMap<Key, u64, SecretState>,
    /// The latest of each pair of ports, to know a peer again that moved.
    by_ports: BTreeMap<(u16, u16), VecDeque<u64>>,
    limit: usize,
}

impl Linger {
    pub fn new(state: SecretState, limit: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            next: 0,
            by_key: HashMap::with_hasher(state),
            by_ports: BTreeMap::new(),
            limit,
        }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((id, remains)) = self.all.first_key_value() {
            if remains.until > now && self.all.len() <= self.limit {
                break;
            }
            let id = *id;
            self.forget(id);
        }
    }

    fn forget(&mut self, id: u64) {
        let Some(remains) = self.all.remove(&id) else { return };
        for farewell in &remains.farewells {
            let key = remains.key(farewell.addr);
            // A later connection may have had the same address.
            if self.by_key.get(&key) == Some(&id) {
                self.by_key.remove(&key);
            }
        }
        if let Some(same) = self.by_ports.get_mut(&remains.ports) {
            same.retain(|other| *other != id);
            if same.is_empty() {
                self.by_ports.remove(&remains.ports);
            }
        }
    }

    pub fn put(&mut self, now: Instant, remains: Remains) {
        let id = self.next;
        self.next += 1;
        for farewell in &remains.farewells {
            self.by_key.insert(remains.key(farewell.addr), id);
        }
        let same = self.by_ports.entry(remains.ports).or_default();
        same.push_back(id);
        if same.len() > MOVABLE_PER_PORTS {
            same.pop_front();
        }
        self.all.insert(id, remains);
        self.forget_old(now);
    }

    /// What a packet gets that belongs to a connection which was closed not long ago. Neither the address nor the time of
    /// what is remembered changes by it.
    pub fn answer(&mut self, stranger: &Stranger<'_>, scratch: &mut Vec<u8>, pseudo: Pseudo) -> Late {
        self.forget_old(stranger.now);
        let (key, packet) = (&stranger.key, &stranger.decoded.packet);
        // A new connection may have the ports again, and its initial numbers are unrelated (RFC 6528).
        if packet.header.flags.intersects(Flags::SYN | Flags::RST) {
            return Late::Unknown;
        }
        let at_home = self.by_key.get(key).into_iter();
        let moved = self.by_ports.get(&(key.local_port, key.remote_port)).into_iter().flatten();
        let found = at_home.chain(moved).find_map(|id| {
            let remains = self.all.get(id).filter(|remains| remains.until > stranger.now)?;
            let of = |farewell: &Farewell| farewell.is_of(&key.addr, packet, pseudo);
            remains.farewells.iter().position(of).map(|place| (*id, place))
        });
        let Some((id, place)) = found else { return Late::Unknown };
        let Some(remains) = self.all.get_mut(&id) else { return Late::Unknown };
        if !remains.admits(stranger, scratch) {
            return Late::Silent;
        }
        let farewell = &remains.farewells[place];
        let answer = farewell.is_wanted(packet, pseudo).then(|| farewell.answer_to(&key.addr, pseudo));
        answer.flatten().map_or(Late::Silent, Late::Answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Secret;
    use crate::path::Ecn;
    use crate::wire::{Arq, Flow, Header};

    const CLEAR: Pseudo = |_| None;

    fn addr(port: u16) -> PathAddr {
        PathAddr { local: ([192, 0, 2, 1], 1).into(), remote: ([192, 0, 2, 2], port).into() }
    }

    /// An acknowledgement between the ports 1 and 2, as it leaves this end or arrives.
    fn ack(flags: Flags, sequence: u32, acknowledgement: u32) -> Vec<u8> {
        let header =
            Header { flags: flags | Flags::ACK, flow: Flow::CON, k: 1, source_port: 1, ..Header::default() };
        let sequence = Sequence::Arq(Arq { sequence, acknowledgement });
        let mut bytes = Vec::new();
        Packet { sequence, ..Packet::new(header) }.encode(&mut bytes, None).unwrap();
        bytes
    }

    /// What `datagram` gets that comes from `port`.
    fn answer(linger: &mut Linger, now: Instant, port: u16, datagram: &[u8]) -> Late {
        let decoded = Packet::decode(datagram, None).unwrap();
        let key = Key { addr: addr(port), local_port: 1, remote_port: 2 };
        let stranger = Stranger { now, key, ecn: Ecn::NotEct, decoded: &decoded, datagram };
        linger.answer(&stranger, &mut Vec::new(), CLEAR)
    }

    /// The memory of `count` connections with peers that sent up to number 100 times their own, and got up to 7.
    fn memory(count: u16, limit: usize) -> (Linger, Instant) {
        let until = Instant::ZERO + Duration::from_secs(60);
        let mut linger = Linger::new(SecretState::new(&Secret::new([0; 16])), limit);
        for port in 1..=count {
            let last = ack(Flags::empty(), 7, u32::from(port) * 1_000_000);
            let farewells = vec![Farewell { addr: addr(port), answer: last }];
            let remains = Remains { ports: (1, 2), until, farewells, seal: None, rto: Duration::ZERO };
            linger.put(Instant::ZERO, remains);
        }
        (linger, until)
    }

    #[test]
    fn entries_end_with_their_time_and_with_the_limit() {
        let (mut linger, end) = memory(3, 2);
        let fin = |port: u32| ack(Flags::FIN, port * 1_000_000 - 1, 7);
        assert_eq!(answer(&mut linger, Instant::ZERO, 1, &fin(1)), Late::Unknown, "the limit is two");
        let last = ack(Flags::empty(), 7, 3_000_000);
        assert_eq!(answer(&mut linger, Instant::ZERO, 3, &fin(3)), Late::Answer(last));
        assert_eq!(answer(&mut linger, end, 3, &fin(3)), Late::Unknown);
        assert!(linger.by_key.is_empty() && linger.by_ports.is_empty());
    }

    // R-CM-5
    #[test]
    fn a_closed_connection_is_known_again_by_its_numbers_and_no_other_is_taken_for_it() {
        let (mut linger, _) = memory(1, 9);
        let mut gets = |port, datagram: Vec<u8>| answer(&mut linger, Instant::ZERO, port, &datagram);
        let last = || Late::Answer(ack(Flags::empty(), 7, 1_000_000));
        for port in [1, 77] {
            assert_eq!(gets(port, ack(Flags::FIN, 999_999, 7)), last(), "its end, from {port}");
            assert_eq!(gets(port, ack(Flags::empty(), 999_999, 5)), last(), "a keepalive");
            assert_eq!(gets(port, ack(Flags::empty(), 1_000_000, 7)), Late::Silent, "what wants no answer");
            for stranger in
                [(999_999, 8), (999_999, 7_u32.wrapping_sub(65_536)), (900_000, 7), (1_100_000, 7)]
            {
                assert_eq!(
                    gets(port, ack(Flags::FIN, stranger.0, stranger.1)),
                    Late::Unknown,
                    "{stranger:?}"
                );
            }
            assert_eq!(gets(port, ack(Flags::RST, 1_000_000, 7)), Late::Unknown, "it would be answered");
        }
    }

    // R-CM-5
    #[test]
    fn however_many_share_its_ports_a_connection_is_known_where_it_was_and_the_latest_elsewhere() {
        let count = MOVABLE_PER_PORTS as u16 + 1;
        let (mut linger, _) = memory(count, 99);
        let mut knows = |port, whose: u16| {
            let fin = ack(Flags::FIN, u32::from(whose) * 1_000_000 - 1, 7);
            answer(&mut linger, Instant::ZERO, port, &fin) != Late::Unknown
        };
        assert!((1..=count).all(|port| knows(port, port)));
        assert_eq!((1..=count).filter(|whose| knows(500, *whose)).count(), MOVABLE_PER_PORTS);
        assert!(!knows(500, 1), "the oldest is not looked for");
    }
}
