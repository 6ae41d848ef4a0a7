//! Forward error correction: XOR over a group of packets, at the sender and at the receiver (answers G1-G11).

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::profile::FecKind;
use crate::time::Instant;

/// Octets before the payload in the sum: length (2), flags (1), zero (1), data number (4) (answer G1).
///
/// The data number tells where a repaired packet belongs when several paths share one sequence of data; on one path it
/// follows from the packet number, so the four octets are left out.
const PREFIX_BYTES: usize = 8;
/// Flags octet: the packet had PSH.
const FLAG_PUSH: u8 = 0x08;
/// Packets on their way and waiting that make the end of a transfer short: among more of them losses are too many for
/// sums, so that a repetition is needed all the same.
pub(super) const TAIL_PACKETS: usize = 64;

/// Packets of which the receiver keeps a copy: as many as our senders encode at the end of a transfer, as the encoded packets
/// follow all of them.
const KEPT_PACKETS: usize = TAIL_PACKETS;

/// Packets of a group, at least: one encoded packet for two.
const LEAST_GROUP: u32 = 2;

/// Extra payload octets of an encoded packet.
pub(crate) fn prefix_bytes(several_paths: bool) -> usize {
    if several_paths { PREFIX_BYTES } else { PREFIX_BYTES - 4 }
}

/// One packet as the sum sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Coded {
    /// Wire form of the data number; 0 on a single path.
    pub data_number: u32,
    pub push: bool,
    pub payload: Bytes,
}

impl Coded {
    // R-FEC-3
    fn add_to(&self, sum: &mut Vec<u8>, several_paths: bool) {
        let prefix = prefix_bytes(several_paths);
        let needed = prefix + self.payload.len();
        if sum.len() < needed {
            sum.resize(needed, 0);
        }
        let length = (self.payload.len() as u16).to_be_bytes();
        let number = self.data_number.to_be_bytes();
        let head = [
            length[0],
            length[1],
            if self.push { FLAG_PUSH } else { 0 },
            0,
            number[0],
            number[1],
            number[2],
            number[3],
        ];
        for (byte, add) in sum.iter_mut().zip(&head[..prefix]) {
            *byte ^= add;
        }
        for (byte, add) in sum[prefix..].iter_mut().zip(self.payload.iter()) {
            *byte ^= add;
        }
    }

    fn from_sum(sum: &[u8], several_paths: bool) -> Option<Self> {
        let prefix = prefix_bytes(several_paths);
        let head = sum.get(..prefix)?;
        let length = usize::from(u16::from_be_bytes([head[0], head[1]]));
        let data_number =
            if several_paths { u32::from_be_bytes([head[4], head[5], head[6], head[7]]) } else { 0 };
        let payload = sum.get(prefix..prefix + length)?;
        if length == 0 {
            return None;
        }
        Some(Self { data_number, push: head[2] & FLAG_PUSH != 0, payload: Bytes::copy_from_slice(payload) })
    }
}

/// An encoded packet ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub first: u64,
    pub count: u32,
    pub payload: Vec<u8>,
}

#[derive(Debug, Default)]
struct Group {
    first: u64,
    count: u32,
    sum: Vec<u8>,
}

/// Builds encoded packets from new packets of one path.
#[derive(Debug)]
pub(crate) struct Encoder {
    kind: FecKind,
    /// Packets of a group, at most.
    most: u32,
    /// And at present.
    group: u32,
    several_paths: bool,
    phases: [Group; 2],
    ready: VecDeque<Encoded>,
    /// When what has been gathered must leave.
    pub due_at: Option<Instant>,
}

impl Encoder {
    pub fn new(kind: FecKind, group: u32, several_paths: bool) -> Self {
        Self {
            kind,
            most: group,
            group,
            several_paths,
            phases: Default::default(),
            ready: VecDeque::new(),
            due_at: None,
        }
    }

    /// Makes groups as small as losses ask for: half a loss in each on average, so that the sum mostly suffices.
    // R-FEC-6
    pub fn adapt(&mut self, loss_share: f64) {
        let wanted = if loss_share > 0.0 { (0.5 / loss_share) as u32 } else { self.most };
        self.group = wanted.clamp(LEAST_GROUP.min(self.most), self.most);
    }

    fn step(&self) -> u64 {
        if self.kind == FecKind::Xor { 1 } else { 2 }
    }

    /// Adds new packet `index`; the timer starts with the first one (answer G5).
    // R-FEC-6
    pub fn add(&mut self, now: Instant, wait: Duration, index: u64, coded: &Coded) {
        let step = self.step();
        let phase = if step == 1 { 0 } else { (index % 2) as usize };
        let group = &self.phases[phase];
        if group.count > 0 && index != group.first + u64::from(group.count) * step {
            self.flush();
        }
        let group = &mut self.phases[phase];
        if group.count == 0 {
            group.first = index;
        }
        coded.add_to(&mut group.sum, self.several_paths);
        group.count += 1;
        if group.count >= self.group {
            self.close(phase);
        }
        self.due_at = match self.due_at {
            _ if self.phases.iter().all(|group| group.count == 0) => None,
            None => Some(now + wait),
            kept => kept,
        };
    }

    fn close(&mut self, phase: usize) {
        let group = &mut self.phases[phase];
        if group.count > 0 {
            let payload = std::mem::take(&mut group.sum);
            self.ready.push_back(Encoded { first: group.first, count: group.count, payload });
            group.count = 0;
        }
    }

    /// Makes encoded packets of all that was gathered.
    pub fn flush(&mut self) {
        // The phase that began first leaves first.
        let order = if self.phases[0].first <= self.phases[1].first { [0, 1] } else { [1, 0] };
        for phase in order {
            self.close(phase);
        }
        self.due_at = None;
    }

    /// Drops encoded packets if `is_outstanding` is true of none of their packets.
    pub fn keep_useful(&mut self, is_outstanding: impl Fn(u64) -> bool) {
        let step = self.step();
        self.ready.retain(|encoded| {
            (0..u64::from(encoded.count)).any(|place| is_outstanding(encoded.first + place * step))
        });
    }

    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub fn pop(&mut self) -> Option<Encoded> {
        self.ready.pop_front()
    }
}

/// What an encoded packet achieved.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Repair {
    /// Nothing was missing.
    Complete,
    /// This packet was missing and is back.
    Repaired(u64, Coded),
    /// Too much is missing; the last missing number.
    Failed { last_missing: u64 },
}

/// Copies of the packets last received on one path.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    kept: VecDeque<(u64, Coded)>,
}

impl Decoder {
    /// Keeps a copy of a packet.
    pub fn keep(&mut self, index: u64, coded: Coded) {
        if self.kept.len() == KEPT_PACKETS {
            self.kept.pop_front();
        }
        self.kept.push_back((index, coded));
    }

    /// Applies an encoded packet over `count` numbers from `first` on; `received` tells what arrived.
    // R-FEC-7
    pub fn repair(
        &self,
        kind: FecKind,
        first: u64,
        count: u32,
        sum: &[u8],
        several_paths: bool,
        received: impl Fn(u64) -> bool,
    ) -> Repair {
        let step = if kind == FecKind::Xor { 1 } else { 2 };
        let numbers = (0..u64::from(count)).map(|place| first + place * step);
        let mut missing = numbers.clone().filter(|number| !received(*number));
        let Some(lost) = missing.next() else { return Repair::Complete };
        if let Some(last_missing) = missing.last() {
            return Repair::Failed { last_missing };
        }
        let mut rest = sum.to_vec();
        for number in numbers.filter(|number| *number != lost) {
            let Some((_, coded)) = self.kept.iter().find(|(index, _)| *index == number) else {
                return Repair::Failed { last_missing: lost };
            };
            if prefix_bytes(several_paths) + coded.payload.len() > sum.len() {
                return Repair::Failed { last_missing: lost };
            }
            coded.add_to(&mut rest, several_paths);
        }
        match Coded::from_sum(&rest, several_paths) {
            Some(coded) => Repair::Repaired(lost, coded),
            None => Repair::Failed { last_missing: lost },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WAIT: Duration = Duration::from_millis(10);

    fn coded(index: u64, bytes: Vec<u8>) -> Coded {
        Coded { data_number: index as u32 ^ 0xABCD, push: index.is_multiple_of(3), payload: bytes.into() }
    }

    fn encode(kind: FecKind, group: u32, packets: &[Coded]) -> Vec<Encoded> {
        let mut encoder = Encoder::new(kind, group, true);
        for (index, packet) in packets.iter().enumerate() {
            encoder.add(Instant::ZERO, WAIT, 100 + index as u64, packet);
        }
        encoder.flush();
        std::iter::from_fn(|| encoder.pop()).collect()
    }

    fn arb_packets() -> impl Strategy<Value = Vec<Coded>> {
        prop::collection::vec(prop::collection::vec(any::<u8>(), 1..60), 2..17).prop_map(|payloads| {
            payloads.into_iter().enumerate().map(|(index, bytes)| coded(100 + index as u64, bytes)).collect()
        })
    }

    proptest! {
        // R-FEC-3, R-FEC-7
        #[test]
        fn one_loss_of_a_group_is_repaired_exactly(packets in arb_packets(), pick: prop::sample::Index) {
            let lost = pick.index(packets.len());
            let encoded = encode(FecKind::Xor, 16, &packets);
            prop_assert_eq!(encoded.len(), 1);
            let mut decoder = Decoder::default();
            for (index, packet) in packets.iter().enumerate().filter(|(index, _)| *index != lost) {
                decoder.keep(100 + index as u64, packet.clone());
            }
            let sum = &encoded[0];
            let repair = decoder.repair(FecKind::Xor, sum.first, sum.count, &sum.payload, true, |n| {
                n != 100 + lost as u64
            });
            prop_assert_eq!(repair, Repair::Repaired(100 + lost as u64, packets[lost].clone()));
        }

        // G3, R-FEC-4
        #[test]
        fn two_losses_in_a_row_are_repaired_by_interleaving(packets in arb_packets(), pick: prop::sample::Index) {
            let lost = pick.index(packets.len() - 1);
            let gone = [100 + lost as u64, 101 + lost as u64];
            let mut decoder = Decoder::default();
            for (index, packet) in packets.iter().enumerate().filter(|(i, _)| !gone.contains(&(100 + *i as u64))) {
                decoder.keep(100 + index as u64, packet.clone());
            }
            let mut back = Vec::new();
            for sum in encode(FecKind::Interleaved, 8, &packets) {
                let repair =
                    decoder.repair(FecKind::Interleaved, sum.first, sum.count, &sum.payload, true, |n| !gone.contains(&n));
                match repair {
                    Repair::Repaired(number, coded) => back.push((number, coded)),
                    other => prop_assert_eq!(other, Repair::Complete),
                }
            }
            back.sort_by_key(|(number, _)| *number);
            let expected: Vec<_> =
                gone.iter().map(|number| (*number, packets[(*number - 100) as usize].clone())).collect();
            prop_assert_eq!(back, expected);
        }

        #[test]
        fn foreign_sums_never_panic(sum in prop::collection::vec(any::<u8>(), 0..80), first: u32, count in 0u32..17) {
            let mut decoder = Decoder::default();
            decoder.keep(u64::from(first) + 1, coded(1, vec![1, 2, 3]));
            decoder.repair(FecKind::Xor, first.into(), count, &sum, false, |n| n != u64::from(first));
        }
    }

    #[test]
    fn two_losses_of_one_group_fail_with_the_last_number() {
        let packets: Vec<_> = (0..4).map(|index| coded(index, vec![1; 10])).collect();
        let encoded = encode(FecKind::Xor, 4, &packets);
        let repair = Decoder::default()
            .repair(FecKind::Xor, 100, 4, &encoded[0].payload, true, |n| n != 101 && n != 103);
        assert_eq!(repair, Repair::Failed { last_missing: 103 });
    }

    // R-HARQ-4
    #[test]
    fn what_could_repair_nothing_is_not_sent() {
        for (kind, outstanding, left) in [
            (FecKind::Xor, 3, Some(3)),
            (FecKind::Xor, 9, None),
            (FecKind::Interleaved, 1, Some(1)),
            (FecKind::Interleaved, 6, Some(6)),
        ] {
            let mut encoder = Encoder::new(kind, 2, false);
            for number in 1..=8 {
                encoder.add(Instant::ZERO, WAIT, number, &coded(number, vec![1]));
            }
            encoder.keep_useful(|number| number == outstanding);
            let next = encoder.pop().map(|encoded| encoded.first);
            assert_eq!(next, left, "{kind:?}, {outstanding}");
        }
    }

    #[test]
    // R-FEC-6
    fn groups_shrink_with_the_losses_and_grow_again() {
        let mut encoder = Encoder::new(FecKind::Xor, 8, false);
        let groups: Vec<u32> = [0.0, 0.01, 0.1, 0.3, 0.02]
            .map(|share| {
                encoder.adapt(share);
                encoder.group
            })
            .to_vec();
        assert_eq!(groups, [8, 8, 5, 2, 8]);
    }

    #[test]
    // R-FEC-6
    fn g5_the_timer_starts_with_the_first_packet_and_ends_with_a_full_group() {
        let mut encoder = Encoder::new(FecKind::Xor, 2, false);
        encoder.add(Instant::ZERO, WAIT, 1, &coded(1, vec![1]));
        assert_eq!(encoder.due_at, Some(Instant::ZERO + WAIT));
        encoder.add(Instant::ZERO + WAIT / 2, WAIT, 2, &coded(2, vec![1]));
        assert_eq!(encoder.due_at, None);
        assert_eq!(encoder.pop().map(|e| (e.first, e.count)), Some((1, 2)));
    }
}
