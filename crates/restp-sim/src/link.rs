//! One direction of a link: rate, queue, delay and everything that can go wrong.

use std::collections::VecDeque;
use std::time::Duration;

use restp_proto::{Ecn, Instant};

use crate::loss::Loss;
use crate::packet::Packet;
use crate::rng::SimRng;

/// Bytes of IPv4 and UDP headers that count against the rate and the MTU of a link.
const OUTER_HEADER_BYTES: usize = 28;
/// Most bits that one bit error damages: errors come in short bursts.
const ERROR_BURST_BITS: u64 = 3;

/// Names a link of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkId(pub(crate) usize);

/// A time during which a link passes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// First moment without service.
    pub from: Instant,
    /// First moment with service again.
    pub until: Instant,
}

/// Drops chosen packets: those that match, from the `skip`-th match on, `count` of them.
pub struct DropRule {
    matches: Box<dyn Fn(&Packet) -> bool + Send>,
    skip: u64,
    count: u64,
}

impl DropRule {
    /// Drops the first `count` packets for which `matches` is true.
    pub fn first(count: u64, matches: impl Fn(&Packet) -> bool + Send + 'static) -> Self {
        Self { matches: Box::new(matches), skip: 0, count }
    }

    /// Lets `skip` matching packets pass before dropping.
    #[must_use]
    pub fn after(mut self, skip: u64) -> Self {
        self.skip = skip;
        self
    }

    fn hits(&mut self, packet: &Packet) -> bool {
        if self.count == 0 || !(self.matches)(packet) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.count -= 1;
        true
    }
}

impl std::fmt::Debug for DropRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DropRule {{ skip: {}, count: {} }}", self.skip, self.count)
    }
}

/// What one direction of a link is like.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Bits per second, outer headers included; `None` means that sending takes no time.
    pub rate_bps: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
    /// Largest additional delay, drawn evenly for each packet.
    pub jitter: Duration,
    /// Packets may overtake each other because of jitter; otherwise the order is kept.
    pub jitter_reorders: bool,
    /// Packets that wait for the rate, at most; what comes then is dropped.
    pub queue_packets: usize,
    /// Packets waiting from which on ECN-capable packets are marked.
    pub mark_above_packets: Option<usize>,
    /// Loss model.
    pub loss: Loss,
    /// Probability that a bit is damaged; a hit damages up to three neighbouring bits.
    pub bit_error_ratio: f64,
    /// Probability that a packet arrives twice.
    pub duplication: f64,
    /// Probability that a packet is held back so that later ones overtake it.
    pub reordering: f64,
    /// For how long such a packet is held back.
    pub reorder_delay: Duration,
    /// Times without service.
    pub outages: Vec<Outage>,
    /// Largest IP packet in bytes; longer ones are dropped.
    pub mtu_bytes: usize,
}

impl LinkConfig {
    /// A link without faults and with a queue of twice the bandwidth-delay product of 1228-byte packets, at least 20.
    #[must_use]
    pub fn new(rate_bps: u64, delay: Duration) -> Self {
        let bdp_packets = rate_bps as f64 * delay.as_secs_f64() * 2.0 / 8.0 / 1228.0;
        Self {
            rate_bps: Some(rate_bps),
            queue_packets: ((bdp_packets * 2.0) as usize).max(20),
            ..Self::ideal(delay)
        }
    }

    /// A link that only delays.
    #[must_use]
    pub fn ideal(delay: Duration) -> Self {
        Self {
            rate_bps: None,
            delay,
            jitter: Duration::ZERO,
            jitter_reorders: false,
            queue_packets: 1000,
            mark_above_packets: None,
            loss: Loss::None,
            bit_error_ratio: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            reorder_delay: Duration::from_millis(5),
            outages: Vec::new(),
            mtu_bytes: 1500,
        }
    }
}

/// What happened on one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStats {
    /// Packets that entered.
    pub entered: u64,
    /// Packets that will arrive or have arrived, copies included.
    pub passed: u64,
    /// Dropped by rule.
    pub scripted: u64,
    /// Dropped by the loss model.
    pub lost: u64,
    /// Dropped in an outage.
    pub outage: u64,
    /// Dropped because the queue was full.
    pub overflow: u64,
    /// Dropped because they were too long.
    pub too_long: u64,
    /// Damaged.
    pub damaged: u64,
    /// Delivered twice.
    pub duplicated: u64,
    /// Held back.
    pub reordered: u64,
    /// Marked by ECN.
    pub marked: u64,
}

/// State of one direction.
#[derive(Debug)]
pub(crate) struct Link {
    pub config: LinkConfig,
    pub rules: Vec<DropRule>,
    pub stats: LinkStats,
    bad: bool,
    /// When each accepted packet has been sent, for those that may not have been yet.
    waiting: VecDeque<Instant>,
    /// Latest arrival so far, for keeping the order.
    last_arrival: Instant,
}

/// Arrivals that one packet causes, at most two.
pub(crate) type Arrivals = [Option<(Instant, Packet)>; 2];

impl Link {
    pub fn new(config: LinkConfig) -> Self {
        Self {
            config,
            rules: Vec::new(),
            stats: LinkStats::default(),
            bad: false,
            waiting: VecDeque::new(),
            last_arrival: Instant::ZERO,
        }
    }

    fn is_dropped(&mut self, now: Instant, packet: &Packet, rng: &mut SimRng) -> bool {
        if self.rules.iter_mut().any(|rule| rule.hits(packet)) {
            self.stats.scripted += 1;
        } else if self.config.outages.iter().any(|outage| outage.from <= now && now < outage.until) {
            self.stats.outage += 1;
        } else if packet.data.len() + OUTER_HEADER_BYTES > self.config.mtu_bytes {
            self.stats.too_long += 1;
        } else if self.config.loss.hits(&mut self.bad, rng) {
            self.stats.lost += 1;
        } else {
            return false;
        }
        true
    }

    /// A packet enters the link: when, and how often, will it come out?
    pub fn enter(&mut self, now: Instant, mut packet: Packet, rng: &mut SimRng) -> Arrivals {
        self.stats.entered += 1;
        if self.is_dropped(now, &packet, rng) {
            return [None, None];
        }
        let Some(sent_at) = self.serialise(now, &mut packet) else {
            self.stats.overflow += 1;
            return [None, None];
        };
        self.damage(&mut packet, rng);
        let jitter_ns = u64::try_from(self.config.jitter.as_nanos()).unwrap_or(u64::MAX);
        let mut arrival =
            sent_at + self.config.delay + Duration::from_nanos(rng.below(jitter_ns.saturating_add(1)));
        if !self.config.jitter_reorders {
            arrival = arrival.max(self.last_arrival);
        }
        self.last_arrival = self.last_arrival.max(arrival);
        if rng.chance(self.config.reordering) {
            self.stats.reordered += 1;
            arrival += self.config.reorder_delay;
        }
        self.stats.passed += 1;
        let copy = rng.chance(self.config.duplication).then(|| {
            self.stats.duplicated += 1;
            self.stats.passed += 1;
            (arrival + Duration::from_micros(1), packet.clone())
        });
        [Some((arrival, packet)), copy]
    }

    /// Waits for the packets ahead and for the packet's own bits; `None` if the queue is full.
    fn serialise(&mut self, now: Instant, packet: &mut Packet) -> Option<Instant> {
        let Some(rate_bps) = self.config.rate_bps else { return Some(now) };
        let bits = (packet.data.len() + OUTER_HEADER_BYTES) as u64 * 8;
        let own =
            Duration::from_nanos((u128::from(bits) * 1_000_000_000 / u128::from(rate_bps.max(1))) as u64);
        // Packets are counted, as pfifo and netem do: a small one behind large ones is no less in the way, and no more.
        while self.waiting.front().is_some_and(|sent_at| *sent_at <= now) {
            self.waiting.pop_front();
        }
        let waiting = self.waiting.len();
        if waiting >= self.config.queue_packets {
            return None;
        }
        let marks = self.config.mark_above_packets.is_some_and(|above| waiting >= above);
        if marks && matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
            packet.ecn = Ecn::Ce;
            self.stats.marked += 1;
        }
        let sent_at = self.waiting.back().map_or(now, |last| (*last).max(now)) + own;
        self.waiting.push_back(sent_at);
        Some(sent_at)
    }

    fn damage(&mut self, packet: &mut Packet, rng: &mut SimRng) {
        if self.config.bit_error_ratio <= 0.0 || packet.data.is_empty() {
            return;
        }
        let bits = packet.data.len() as u64 * 8;
        // Products only: logarithms would differ in the last bit between machines.
        let intact = (0..bits).fold(1.0, |share, _| share * (1.0 - self.config.bit_error_ratio));
        if rng.unit() < intact {
            return;
        }
        self.stats.damaged += 1;
        let first = rng.below(bits);
        for bit in first..(first + 1 + rng.below(ERROR_BURST_BITS)).min(bits) {
            packet.data[(bit / 8) as usize] ^= 0x80 >> (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(bytes: usize) -> Packet {
        let addr = "192.0.2.1:1".parse().unwrap();
        Packet { source: addr, destination: addr, ecn: Ecn::Ect0, data: vec![0; bytes] }
    }

    fn arrivals(link: &mut Link, count: usize, bytes: usize) -> Vec<(Instant, Packet)> {
        let mut rng = SimRng::new(5);
        (0..count).flat_map(|_| link.enter(Instant::ZERO, packet(bytes), &mut rng)).flatten().collect()
    }

    #[test]
    fn rate_and_delay_add_up_and_the_queue_is_finite() {
        let config = LinkConfig { queue_packets: 3, ..LinkConfig::new(8_000, Duration::from_millis(10)) };
        let mut link = Link::new(config);
        // 972 + 28 bytes are one second at 8 kbit/s.
        let times: Vec<u64> =
            arrivals(&mut link, 5, 972).iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [1010, 2010, 3010]);
        assert_eq!(link.stats.overflow, 2);
    }

    #[test]
    fn small_packets_wait_behind_large_ones_and_take_a_place_each() {
        let mut link = Link::new(LinkConfig { queue_packets: 3, ..LinkConfig::new(8_000, Duration::ZERO) });
        let mut rng = SimRng::new(5);
        let sizes = [972, 22, 22, 22];
        let arrived = sizes.map(|bytes| link.enter(Instant::ZERO, packet(bytes), &mut rng)[0].is_some());
        assert_eq!(arrived, [true, true, true, false]);
        // Once the large one has been sent there is a place again.
        let later = Instant::ZERO + Duration::from_secs(1);
        assert!(link.enter(later, packet(22), &mut rng)[0].is_some());
    }

    #[test]
    fn long_packets_outages_and_rules_drop() {
        let delay = Duration::from_millis(1);
        let mut link = Link::new(LinkConfig::ideal(delay));
        assert_eq!(arrivals(&mut link, 1, 1473).len(), 0);
        link.config.outages.push(Outage { from: Instant::ZERO, until: Instant::from_nanos(1) });
        assert_eq!(arrivals(&mut link, 1, 10).len(), 0);
        link.config.outages.clear();
        link.rules.push(DropRule::first(2, |packet| packet.data.len() == 10).after(1));
        assert_eq!(arrivals(&mut link, 5, 10).len(), 3);
        assert_eq!((link.stats.too_long, link.stats.outage, link.stats.scripted), (1, 1, 2));
    }

    #[test]
    fn bit_errors_damage_their_share_of_packets_and_never_the_length() {
        let config = LinkConfig { bit_error_ratio: 1e-5, ..LinkConfig::ideal(Duration::ZERO) };
        let mut link = Link::new(config);
        let arrived = arrivals(&mut link, 20_000, 1000);
        let damaged = arrived.iter().filter(|(_, packet)| packet.data.iter().any(|byte| *byte != 0)).count();
        // 1 - (1 - 1e-5)^8000 = 7.7 %
        assert!((1400..1680).contains(&damaged), "{damaged}");
        assert!(arrived.iter().all(|(_, packet)| packet.data.len() == 1000));
    }

    #[test]
    fn jitter_keeps_the_order_unless_told_otherwise() {
        let delay = Duration::from_millis(1);
        let config = LinkConfig { jitter: delay * 10, ..LinkConfig::ideal(delay) };
        let sorted = |times: &[(Instant, Packet)]| times.windows(2).all(|pair| pair[0].0 <= pair[1].0);
        assert!(sorted(&arrivals(&mut Link::new(config.clone()), 100, 10)));
        let wild = LinkConfig { jitter_reorders: true, ..config };
        assert!(!sorted(&arrivals(&mut Link::new(wild), 100, 10)));
    }

    #[test]
    fn marks_begin_at_the_threshold() {
        let config = LinkConfig { mark_above_packets: Some(2), ..LinkConfig::new(8_000, Duration::ZERO) };
        let mut link = Link::new(config);
        let marks: Vec<bool> =
            arrivals(&mut link, 4, 972).iter().map(|(_, packet)| packet.ecn == Ecn::Ce).collect();
        assert_eq!(marks, [false, false, true, true]);
    }
}
