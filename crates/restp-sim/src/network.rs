//! A network: hosts, links between their addresses, and the clock that drives them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

use restp_proto::Instant;

use crate::link::{DropRule, Link, LinkConfig, LinkId, LinkStats};
use crate::nat::Nat;
use crate::packet::{Outgoing, Packet};
use crate::pcap::PcapWriter;
use crate::rng::SimRng;

/// An endpoint in the network. All methods are called with the simulated time.
pub trait Host {
    /// A packet arrived.
    fn receive(&mut self, now: Instant, packet: &Packet);
    /// The next packet to be sent; called until `None` after every other call.
    fn transmit(&mut self, now: Instant) -> Option<Outgoing>;
    /// When `wake` is to be called, if ever.
    fn deadline(&mut self) -> Option<Instant>;
    /// The deadline has come.
    fn wake(&mut self, now: Instant);
}

/// Names a host of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(usize);

#[derive(Debug)]
enum Happening {
    /// A host's packet leaves it.
    Leave(Packet),
    /// A packet comes out of hop `hop` of its route.
    Hop { packet: Packet, route: (IpAddr, IpAddr), hop: usize },
    /// A host's deadline.
    Wake(HostId),
}

#[derive(Debug)]
struct Event {
    at: Instant,
    serial: u64,
    what: Happening,
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.serial).cmp(&(other.at, other.serial))
    }
}

/// Hosts of one type, links, and everything that is under way.
pub struct Network<H> {
    now: Instant,
    rng: SimRng,
    hosts: Vec<H>,
    wake_at: Vec<Option<Instant>>,
    owners: BTreeMap<IpAddr, HostId>,
    links: Vec<Link>,
    routes: BTreeMap<(IpAddr, IpAddr), Vec<LinkId>>,
    nats: BTreeMap<IpAddr, Nat>,
    outsides: BTreeMap<IpAddr, IpAddr>,
    queue: BinaryHeap<Reverse<Event>>,
    serial: u64,
    arrived: u64,
    unroutable: u64,
    pcap: Option<PcapWriter>,
}

impl<H: std::fmt::Debug> std::fmt::Debug for Network<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now)
            .field("hosts", &self.hosts)
            .field("links", &self.links.len())
            .field("under_way", &self.queue.len())
            .finish_non_exhaustive()
    }
}

impl<H: Host> Network<H> {
    /// An empty network at time zero. Print `seed` when a test fails: it replays the run.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            rng: SimRng::new(seed),
            hosts: Vec::new(),
            wake_at: Vec::new(),
            owners: BTreeMap::new(),
            links: Vec::new(),
            routes: BTreeMap::new(),
            nats: BTreeMap::new(),
            outsides: BTreeMap::new(),
            queue: BinaryHeap::new(),
            serial: 0,
            arrived: 0,
            unroutable: 0,
            pcap: None,
        }
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The generator of the simulation, for hosts and tests that need random choices of their own.
    pub fn rng(&mut self) -> &mut SimRng {
        &mut self.rng
    }

    /// Packets that arrived at hosts so far.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Packets for which there was no route, or no host at its end.
    #[must_use]
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// Writes every arriving packet to `pcap` from now on.
    pub fn capture(&mut self, pcap: PcapWriter) {
        self.pcap = Some(pcap);
    }

    /// Ends the capture.
    pub fn end_capture(&mut self) -> Option<PcapWriter> {
        self.pcap.take()
    }

    /// Adds a host with its addresses.
    pub fn add_host(&mut self, host: H, addresses: &[IpAddr]) -> HostId {
        let id = HostId(self.hosts.len());
        self.hosts.push(host);
        self.wake_at.push(None);
        for address in addresses {
            self.owners.insert(*address, id);
        }
        id
    }

    /// Gives a host another address.
    pub fn add_address(&mut self, host: HostId, address: IpAddr) {
        self.owners.insert(address, host);
    }

    /// Adds one direction of a link.
    pub fn add_link(&mut self, config: LinkConfig) -> LinkId {
        self.links.push(Link::new(config));
        LinkId(self.links.len() - 1)
    }

    /// Packets from `source` to `destination` take these links, in this order.
    pub fn route(&mut self, source: IpAddr, destination: IpAddr, links: &[LinkId]) {
        self.routes.insert((source, destination), links.to_vec());
    }

    /// Connects two addresses by one link in each direction; returns the link from `a` to `b` and the one back.
    pub fn connect(&mut self, a: IpAddr, b: IpAddr, there: LinkConfig, back: LinkConfig) -> (LinkId, LinkId) {
        let (there, back) = (self.add_link(there), self.add_link(back));
        self.route(a, b, &[there]);
        self.route(b, a, &[back]);
        (there, back)
    }

    /// Puts a translator in front of `inside`: others see it as `outside`, to which routes must exist.
    pub fn add_nat(&mut self, inside: IpAddr, outside: IpAddr) {
        self.nats.insert(inside, Nat::new(outside));
        self.outsides.insert(outside, inside);
    }

    /// Lets the translator in front of `inside` forget its bindings.
    pub fn rebind_nat(&mut self, inside: IpAddr) {
        if let Some(nat) = self.nats.get_mut(&inside) {
            nat.forget();
        }
    }

    /// The settings of a link, to be changed while the simulation runs.
    pub fn link_mut(&mut self, link: LinkId) -> &mut LinkConfig {
        &mut self.links[link.0].config
    }

    /// Drops chosen packets on a link.
    pub fn add_rule(&mut self, link: LinkId, rule: DropRule) {
        self.links[link.0].rules.push(rule);
    }

    /// What happened on a link so far.
    #[must_use]
    pub fn link_stats(&self, link: LinkId) -> LinkStats {
        self.links[link.0].stats
    }

    /// A host.
    #[must_use]
    pub fn host(&self, host: HostId) -> &H {
        &self.hosts[host.0]
    }

    /// Works on a host at the present time, then sends what it wants to send.
    pub fn with<T>(&mut self, host: HostId, work: impl FnOnce(&mut H, Instant) -> T) -> T {
        let result = work(&mut self.hosts[host.0], self.now);
        self.settle(host);
        result
    }

    /// Injects a packet as if it had just arrived at its destination, whatever its source claims to be.
    pub fn inject(&mut self, packet: Packet) {
        let Some(host) = self.owners.get(&packet.destination.ip()).copied() else {
            self.unroutable += 1;
            return;
        };
        self.arrive(host, &packet);
    }

    /// The moment of the next event, if there is one.
    #[must_use]
    pub fn next_event(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse(event)| event.at)
    }

    /// Lets the next event happen; `false` if there is none.
    pub fn step(&mut self) -> bool {
        let Some(Reverse(event)) = self.queue.pop() else { return false };
        self.now = self.now.max(event.at);
        match event.what {
            Happening::Leave(packet) => self.leave(packet),
            Happening::Hop { packet, route, hop } => self.hop(packet, route, hop),
            Happening::Wake(host) => {
                if self.wake_at[host.0] == Some(event.at) {
                    self.wake_at[host.0] = None;
                    self.hosts[host.0].wake(self.now);
                    self.settle(host);
                }
            }
        }
        true
    }

    /// Lets everything happen up to `until`, which is then the present time.
    pub fn run_until(&mut self, until: Instant) {
        while self.next_event().is_some_and(|at| at <= until) {
            self.step();
        }
        self.now = self.now.max(until);
    }

    /// Lets time pass.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs until `done` says so after some event, or `limit` has passed; `true` if done.
    pub fn run_while(&mut self, limit: Duration, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let end = self.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if self.next_event().is_none_or(|at| at > end) {
                self.now = self.now.max(end);
                return done(self);
            }
            self.step();
        }
    }

    fn schedule(&mut self, at: Instant, what: Happening) {
        self.serial += 1;
        self.queue.push(Reverse(Event { at: at.max(self.now), serial: self.serial, what }));
    }

    /// Sends what a host has to send and notes when it wants to be woken.
    fn settle(&mut self, host: HostId) {
        while let Some(Outgoing { packet, release_at }) = self.hosts[host.0].transmit(self.now) {
            if release_at > self.now {
                self.schedule(release_at, Happening::Leave(packet));
            } else {
                self.leave(packet);
            }
        }
        let wanted = self.hosts[host.0].deadline();
        if wanted != self.wake_at[host.0] {
            self.wake_at[host.0] = wanted.map(|at| at.max(self.now));
            if let Some(at) = self.wake_at[host.0] {
                self.schedule(at, Happening::Wake(host));
            }
        }
    }

    fn leave(&mut self, mut packet: Packet) {
        if let Some(nat) = self.nats.get_mut(&packet.source.ip()) {
            packet.source = nat.translate(packet.source);
        }
        let route = (packet.source.ip(), packet.destination.ip());
        self.hop(packet, route, 0);
    }

    /// The packet enters the link `hop` of its route, or has arrived.
    fn hop(&mut self, packet: Packet, route: (IpAddr, IpAddr), hop: usize) {
        let Some(links) = self.routes.get(&route) else {
            self.unroutable += 1;
            return;
        };
        let Some(link) = links.get(hop).copied() else {
            self.deliver(packet);
            return;
        };
        let arrivals = self.links[link.0].enter(self.now, packet, &mut self.rng);
        for (at, packet) in arrivals.into_iter().flatten() {
            self.schedule(at, Happening::Hop { packet, route, hop: hop + 1 });
        }
    }

    fn deliver(&mut self, mut packet: Packet) {
        if let Some(inside) = self.outsides.get(&packet.destination.ip()) {
            let inner = self.nats.get(inside).and_then(|nat| nat.resolve(packet.destination));
            match inner {
                Some(inner) => packet.destination = inner,
                None => {
                    self.unroutable += 1;
                    return;
                }
            }
        }
        match self.owners.get(&packet.destination.ip()).copied() {
            Some(host) => self.arrive(host, &packet),
            None => self.unroutable += 1,
        }
    }

    fn arrive(&mut self, host: HostId, packet: &Packet) {
        self.arrived += 1;
        if let Some(pcap) = &mut self.pcap
            && pcap.write(self.now, packet).is_err()
        {
            // A full disk must not change the run; the file simply ends here.
            self.pcap = None;
        }
        self.hosts[host.0].receive(self.now, packet);
        self.settle(host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use restp_proto::Ecn;
    use std::net::SocketAddr;

    /// Sends one packet a second and notes what arrives.
    struct Beacon {
        own: SocketAddr,
        peer: SocketAddr,
        next: Option<Instant>,
        due: bool,
        seen: Vec<(Instant, SocketAddr)>,
    }

    impl Host for Beacon {
        fn receive(&mut self, now: Instant, packet: &Packet) {
            self.seen.push((now, packet.source));
        }
        fn transmit(&mut self, now: Instant) -> Option<Outgoing> {
            let packet =
                Packet { source: self.own, destination: self.peer, ecn: Ecn::NotEct, data: vec![1; 10] };
            std::mem::take(&mut self.due).then_some(Outgoing { packet, release_at: now })
        }
        fn deadline(&mut self) -> Option<Instant> {
            self.next
        }
        fn wake(&mut self, now: Instant) {
            self.due = true;
            self.next = Some(now + Duration::from_secs(1));
        }
    }

    fn beacon(own: &str, peer: &str, active: bool) -> Beacon {
        Beacon {
            own: own.parse().unwrap(),
            peer: peer.parse().unwrap(),
            next: active.then_some(Instant::ZERO + Duration::from_secs(1)),
            due: false,
            seen: Vec::new(),
        }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn routes_of_several_links_add_their_delays() {
        let mut net = Network::new(1);
        let a = net.add_host(beacon("10.0.0.1:1", "10.0.0.2:1", true), &[ip("10.0.0.1")]);
        let b = net.add_host(beacon("10.0.0.2:1", "10.0.0.1:1", false), &[ip("10.0.0.2")]);
        let hops: Vec<LinkId> =
            [3, 4].map(|ms| net.add_link(LinkConfig::ideal(Duration::from_millis(ms)))).to_vec();
        net.route(ip("10.0.0.1"), ip("10.0.0.2"), &hops);
        net.with(a, |_, _| ());
        net.run_for(Duration::from_millis(2500));
        let times: Vec<u64> = net.host(b).seen.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(times, [1007, 2007]);
    }

    #[test]
    fn a_translator_that_forgets_changes_the_source() {
        let mut net = Network::new(1);
        let a = net.add_host(beacon("10.0.0.1:1", "192.0.2.2:1", true), &[ip("10.0.0.1")]);
        let b = net.add_host(beacon("192.0.2.2:1", "10.0.0.1:1", false), &[ip("192.0.2.2")]);
        net.add_nat(ip("10.0.0.1"), ip("192.0.2.9"));
        let link = LinkConfig::ideal(Duration::from_millis(1));
        net.connect(ip("192.0.2.9"), ip("192.0.2.2"), link.clone(), link);
        net.with(a, |_, _| ());
        net.run_for(Duration::from_millis(1500));
        net.rebind_nat(ip("10.0.0.1"));
        net.run_for(Duration::from_secs(1));
        let sources: Vec<u16> = net.host(b).seen.iter().map(|(_, source)| source.port()).collect();
        assert_eq!(sources.len(), 2);
        assert_ne!(sources[0], sources[1]);
    }
}
