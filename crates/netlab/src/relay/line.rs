//! What a relay does to the packets of one link direction, without sockets and clocks: which are lost, doubled or
//! damaged, and when each of the others goes on.
//!
//! The rules are those of the kernel's netem (`net/sched/sch_netem.c`), so that a plan means the same on a kernel that
//! has it and on one that has not. The random numbers are others: a run with a relay does not lose the packets that the
//! same run loses with netem.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::qdisc::Netem;
use crate::random::Random;

/// Bytes of the Ethernet header in front of each packet.
const ETHERNET_HEADER_BYTES: usize = 14;

/// One link direction.
pub(super) struct Line {
    /// What is asked of it; nothing before the first change.
    asked: Option<Netem>,
    random: Random,
    /// The state of the chain of losses.
    bad: bool,
    waiting: BinaryHeap<Reverse<Waiting>>,
    accepted: u64,
    last_due_ns: i64,
    counts: Counts,
}

/// What went through since the first change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub sent_packets: u64,
    /// From the IP header on.
    pub sent_bytes: u64,
    /// Lost as asked, or for want of room.
    pub dropped_packets: u64,
    pub waiting_packets: u64,
    pub waiting_bytes: u64,
    /// How late the latest packet went on.
    pub latest_ns: i64,
}

/// A packet that has not gone on yet; in the order of going on, of packets due at one instant in that of arrival.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due_ns: i64,
    number: u64,
    frame: Vec<u8>,
}

impl Line {
    pub fn new(random: Random) -> Self {
        Line {
            asked: None,
            random,
            bad: false,
            waiting: BinaryHeap::new(),
            accepted: 0,
            last_due_ns: i64::MIN,
            counts: Counts::default(),
        }
    }

    /// Asks something else of it from now on. What waits keeps its instant. Packets count from the first call on.
    pub fn ask(&mut self, asked: Netem) {
        if self.asked.is_none() {
            self.counts = Counts::default();
        }
        self.asked = Some(asked);
        // As the kernel does.
        self.bad = false;
    }

    /// Takes in a frame that arrived at `now_ns`.
    pub fn arrive(&mut self, now_ns: i64, frame: &[u8]) {
        let Some(asked) = self.asked else {
            self.enter(now_ns, frame.to_vec());
            return;
        };
        let doubled = self.random.happens(asked.duplicate);
        let copies = usize::from(doubled) + usize::from(!self.loses(&asked));
        if copies == 0 {
            self.counts.dropped_packets += 1;
        }
        for _ in 0..copies {
            if self.waiting.len() >= asked.limit_packets as usize {
                self.counts.dropped_packets += 1;
                continue;
            }
            let mut frame = frame.to_vec();
            if self.random.happens(asked.corrupt) && !frame.is_empty() {
                let place = self.random.below(frame.len());
                frame[place] ^= 1 << self.random.below(8);
            }
            let mut due_ns = now_ns + self.delay_ns(&asked);
            if !asked.reorder && !self.waiting.is_empty() {
                due_ns = due_ns.max(self.last_due_ns);
            }
            self.enter(due_ns, frame);
        }
    }

    fn loses(&mut self, asked: &Netem) -> bool {
        if !asked.up {
            return true;
        }
        match asked.gilbert_elliott {
            None => self.random.happens(asked.loss),
            Some(model) if self.bad => {
                self.bad = !self.random.happens(model.r);
                self.random.happens(model.loss_bad)
            }
            Some(model) => {
                self.bad = self.random.happens(model.p);
                self.random.happens(model.loss_good)
            }
        }
    }

    fn delay_ns(&mut self, asked: &Netem) -> i64 {
        if asked.jitter_ns == 0 {
            return asked.delay_ns;
        }
        let width_ns = 2.0 * asked.jitter_ns as f64;
        let drawn_ns = asked.delay_ns - asked.jitter_ns + (self.random.fraction() * width_ns) as i64;
        drawn_ns.max(0)
    }

    fn enter(&mut self, due_ns: i64, frame: Vec<u8>) {
        self.last_due_ns = due_ns;
        self.accepted += 1;
        self.waiting.push(Reverse(Waiting { due_ns, number: self.accepted, frame }));
    }

    /// When the next packet goes on.
    pub fn next_due_ns(&self) -> Option<i64> {
        self.waiting.peek().map(|Reverse(waiting)| waiting.due_ns)
    }

    /// The next packet if it is to have gone on by `now_ns`.
    pub fn leave(&mut self, now_ns: i64) -> Option<Vec<u8>> {
        if self.next_due_ns()? > now_ns {
            return None;
        }
        let Reverse(waiting) = self.waiting.pop()?;
        self.counts.sent_packets += 1;
        self.counts.sent_bytes += packet_bytes(&waiting.frame);
        self.counts.latest_ns = self.counts.latest_ns.max(now_ns - waiting.due_ns);
        Some(waiting.frame)
    }

    /// What went through and what waits.
    pub fn counts(&self) -> Counts {
        let waiting_bytes = self.waiting.iter().map(|Reverse(waiting)| packet_bytes(&waiting.frame)).sum();
        Counts { waiting_packets: self.waiting.len() as u64, waiting_bytes, ..self.counts }
    }
}

fn packet_bytes(frame: &[u8]) -> u64 {
    frame.len().saturating_sub(ETHERNET_HEADER_BYTES) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GilbertElliott, LinkChange};

    const MS: i64 = 1_000_000;

    fn random(seed: u64) -> Random {
        Random::new(seed, "a>b")
    }

    fn line(change: LinkChange) -> Line {
        let mut line = Line::new(random(7));
        line.ask(Netem::default().merge(&change).expect("the change is sound"));
        line
    }

    /// Sends `count` frames a millisecond apart; the instants at which they left, by their number.
    fn through(line: &mut Line, count: u32) -> Vec<(u32, i64)> {
        let mut left = Vec::new();
        for number in 0..count {
            line.arrive(i64::from(number) * MS, &number.to_be_bytes());
        }
        while let Some(due_ns) = line.next_due_ns() {
            let frame = line.leave(due_ns).expect("it is due");
            left.push((u32::from_be_bytes(frame.try_into().expect("four bytes")), due_ns));
        }
        left
    }

    #[test]
    fn every_packet_is_delayed_by_what_is_asked() {
        let mut line = line(LinkChange { delay_s: Some(0.025), ..LinkChange::default() });
        let expected: Vec<(u32, i64)> = (0..50).map(|n| (n, i64::from(n) * MS + 25 * MS)).collect();
        assert_eq!(through(&mut line, 50), expected);
    }

    #[test]
    fn nothing_leaves_before_its_time() {
        let mut line = line(LinkChange { delay_s: Some(0.025), ..LinkChange::default() });
        line.arrive(0, &[0; 60]);
        assert_eq!(line.leave(25 * MS - 1), None);
        assert_eq!(line.counts().waiting_packets, 1);
        assert_eq!(line.counts().waiting_bytes, 46);
        assert!(line.leave(25 * MS).is_some());
    }

    #[test]
    fn jitter_keeps_the_order_unless_it_may_not() {
        let jitter = LinkChange { delay_s: Some(0.02), jitter_s: Some(0.01), ..LinkChange::default() };
        let kept = through(&mut line(jitter.clone()), 500);
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        let delays: Vec<i64> = kept.iter().map(|(n, at)| at - i64::from(*n) * MS).collect();
        assert!(delays.iter().all(|delay| (10 * MS..30 * MS).contains(delay)));
        assert!(delays.iter().max() > delays.iter().min());
        let mixed = through(&mut line(LinkChange { reorder: Some(true), ..jitter }), 500);
        assert!(mixed.windows(2).any(|pair| pair[0].0 > pair[1].0));
    }

    #[test]
    fn about_as_many_are_lost_and_doubled_as_asked() {
        let mut lossy = line(LinkChange { loss: Some(0.1), ..LinkChange::default() });
        let left = through(&mut lossy, 10_000).len();
        assert_eq!(left as u64 + lossy.counts().dropped_packets, 10_000);
        // Six standard deviations of a binomial distribution: 180.
        assert!((8820..=9180).contains(&left), "{left}");
        let left = through(&mut line(LinkChange { duplicate: Some(0.1), ..LinkChange::default() }), 10_000);
        assert!((10_820..=11_180).contains(&left.len()), "{}", left.len());
    }

    #[test]
    fn losses_come_in_bursts() {
        let model = GilbertElliott { p: 0.01, r: 0.1, loss_bad: 1.0, loss_good: 0.0 };
        let mut bursty = line(LinkChange { gilbert_elliott: Some(Some(model)), ..LinkChange::default() });
        let left: Vec<u32> = through(&mut bursty, 20_000).into_iter().map(|(number, _)| number).collect();
        let lost = 20_000 - left.len();
        let bursts = left.windows(2).filter(|pair| pair[1] > pair[0] + 1).count();
        // A burst has 1 / r = 10 packets on average, and p / (p + r) = 9 % of all packets are lost.
        assert!((1400..2300).contains(&lost), "{lost}");
        assert!((7..14).contains(&(lost / bursts)), "{lost} in {bursts}");
    }

    #[test]
    fn a_link_that_is_down_or_full_loses_everything_more() {
        let mut down = line(LinkChange { up: Some(false), ..LinkChange::default() });
        assert!(through(&mut down, 10).is_empty());
        let full = LinkChange { delay_s: Some(1.0), limit_packets: Some(3), ..LinkChange::default() };
        let mut full = line(full);
        assert_eq!(through(&mut full, 10).len(), 3);
        assert_eq!(full.counts().dropped_packets, 7);
    }

    #[test]
    fn one_bit_of_a_damaged_packet_is_inverted() {
        let mut damaging = line(LinkChange { corrupt: Some(1.0), ..LinkChange::default() });
        damaging.arrive(0, &[0; 100]);
        let frame = damaging.leave(0).expect("it is due");
        assert_eq!(frame.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_and_another_one_others() {
        let lossy = LinkChange { loss: Some(0.3), ..LinkChange::default() };
        let left = |seed| {
            let mut line = Line::new(random(seed));
            line.ask(Netem::default().merge(&lossy).expect("the change is sound"));
            through(&mut line, 100)
        };
        assert_eq!(left(1), left(1));
        assert_ne!(left(1), left(2));
    }

    #[test]
    fn packets_count_from_the_first_change_on() {
        let mut line = Line::new(random(1));
        line.arrive(0, &[0; 60]);
        assert!(line.leave(0).is_some(), "nothing is asked of it yet");
        line.ask(Netem::default());
        assert_eq!(line.counts(), Counts::default());
        line.arrive(1, &[0; 60]);
        assert!(line.leave(3).is_some());
        assert_eq!(
            line.counts(),
            Counts { sent_packets: 1, sent_bytes: 46, latest_ns: 2, ..Counts::default() }
        );
    }
}
