//! The node on its sockets: takes each packet from either side, and sends what its rules let through.
//!
//! ```text
//!   a ──[to-a] node [to-b]── b      neither interface has an address: the kernel itself hands nothing on
//!          └─ one packet socket on both, in the order in which packets come
//! ```

use std::os::fd::OwnedFd;

use nix::errno::Errno;

use super::engine::{Departure, Engine};
use super::frame::{ETHERNET_BYTES, Frame};
use super::log::InPathLog;
use super::matcher::{Names, RetryTag};
use super::messages::MessageFlow;
use super::spec::InPathSpec;
use super::tracker::Tracker;
use crate::background::Background;
use crate::build::numbers::{ethernet_address, interface_index};
use crate::clock::{Alarm, Woken};
use crate::error::Attempt;
use crate::topology::Direction;
use crate::{Error, Network, PacketPattern, RunClock, packet_socket};

/// How much may wait to be taken, in bytes of the kernel's count: what comes at one instant.
const RECEIVE_BUFFER_BYTES: usize = 64 << 20;
/// Longest frame that is taken.
const LONGEST_FRAME_BYTES: usize = ETHERNET_BYTES + u16::MAX as usize;

/// What rules may speak of beside packets.
pub struct InPathContext<'a> {
    /// The run's seed; each rule has its own randomness from it.
    pub seed: u64,
    /// Flows whose messages are known.
    pub flows: Vec<MessageFlow>,
    /// How the packets that open a flow's sessions are told, by its id and `syn` or `syn-ack`.
    pub openings: &'a dyn Fn(&str, &str) -> Result<PacketPattern, String>,
    /// How a Retry packet of QUIC is sealed, for the action `retry`.
    pub retry_tag: RetryTag,
}

/// An in-path node at work. Until it is started, and once it has stopped, nothing passes.
pub struct InPathNode {
    relay: Background<Result<InPathLog, Error>>,
}

impl InPathNode {
    /// Starts the node; it stands in the network already ([`crate::NetworkSpec::with_in_path`]).
    ///
    /// # Errors
    /// [`Error::Spec`] with one sentence about the first rule that is wrong, [`Error::System`] if the kernel refuses.
    pub fn start(
        network: &Network,
        clock: RunClock,
        spec: &InPathSpec,
        context: InPathContext<'_>,
    ) -> Result<Self, Error> {
        let sides = spec.between.each_ref().map(|neighbour| Side::of(network, &spec.node, neighbour));
        let [a, b] = sides;
        let sides = [a?, b?];
        let flows: Vec<String> = context.flows.iter().map(|flow| flow.id.clone()).collect();
        let InPathContext { openings, retry_tag, .. } = context;
        let names = Names { between: &spec.between, flows: &flows, openings, retry_tag, in_message: false };
        let trackers = context.flows.into_iter().map(Tracker::new).collect();
        let ethernet = [header(&sides[0], &sides[1]), header(&sides[1], &sides[0])];
        let engine = Engine::new(spec, &names, trackers, context.seed, ethernet).map_err(Error::Spec)?;
        let socket = network.node(&spec.node)?.enter(|| {
            let socket = packet_socket::open_raw()?;
            packet_socket::stamp(&socket, RECEIVE_BUFFER_BYTES)?;
            packet_socket::bind(&socket, packet_socket::ANY_INTERFACE)?;
            Ok::<_, std::io::Error>(socket)
        })?;
        let interfaces = sides.map(|side| side.interface);
        let relay = Relay { name: spec.node.clone(), clock, interfaces, socket, engine };
        let relay = Background::start("in-path", move |alarm| relay.run(alarm))?;
        Ok(InPathNode { relay })
    }

    /// Ends it and returns what it has done.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refused something meanwhile.
    pub fn stop(mut self) -> Result<InPathLog, Error> {
        let none = || Error::Spec("the in-path node was stopped twice".into());
        self.relay.stop()?.unwrap_or_else(|| Err(none()))
    }
}

/// One of the two sides of a node.
struct Side {
    /// The node's interface there.
    interface: u32,
    /// The Ethernet address of the first interface with IP addresses there.
    ethernet: Vec<u8>,
}

impl Side {
    fn of(network: &Network, node: &str, neighbour: &str) -> Result<Side, Error> {
        let topology = network.topology();
        let direction = topology.direction(&format!("{node}>{neighbour}"))?;
        let interface = interface_index(topology, direction);
        let path = topology.segment(direction.from, direction.link).into_iter().next();
        let far = path.and_then(|path| path.last().copied()).unwrap_or(direction);
        let there = Direction { link: far.link, from: far.to, to: far.from };
        Ok(Side { interface, ethernet: ethernet_address(interface_index(topology, there)) })
    }
}

/// The Ethernet header of a packet to `to` as if it came from `from`.
fn header(to: &Side, from: &Side) -> [u8; ETHERNET_BYTES] {
    let mut header = [0; ETHERNET_BYTES];
    header[..6].copy_from_slice(&to.ethernet);
    header[6..12].copy_from_slice(&from.ethernet);
    header
}

struct Relay {
    name: String,
    clock: RunClock,
    interfaces: [u32; 2],
    socket: OwnedFd,
    engine: Engine,
}

impl Relay {
    fn run(mut self, alarm: &Alarm) -> Result<InPathLog, Error> {
        let mut buffer = vec![0; LONGEST_FRAME_BYTES];
        loop {
            let woken = alarm.sleep_until_or_readable(&self.clock, self.engine.next_ns(), &self.socket)?;
            while let Some(arrived) = packet_socket::receive(&self.socket, &mut buffer)
                .attempt(|| format!("in-path node \"{}\": cannot receive", self.name))?
            {
                let t_ns = self.clock.from_realtime_ns(arrived.realtime_ns);
                let overdue = self.engine.due(t_ns);
                self.send(overdue)?;
                self.take(arrived.interface, t_ns, &buffer[..arrived.length_bytes])?;
            }
            // The clock is read only where it matters: in virtual time each reading moves it on.
            if woken == Woken::Called {
                let missed = packet_socket::missed_packets(&self.socket)
                    .attempt(|| format!("in-path node \"{}\": cannot count", self.name))?;
                return Ok(self.engine.finish(self.clock.now_ns()?, missed));
            }
            if self.engine.next_ns().is_some() {
                let due = self.engine.due(self.clock.now_ns()?);
                self.send(due)?;
            }
        }
    }

    fn take(&mut self, interface: u32, t_ns: i64, frame: &[u8]) -> Result<(), Error> {
        let Some(side) = self.interfaces.iter().position(|own| *own == interface) else { return Ok(()) };
        let towards = 1 - side;
        let Some((ethernet, packet)) = frame.split_first_chunk::<ETHERNET_BYTES>() else { return Ok(()) };
        if !matches!(ethernet[12..], [0x08, 0x00] | [0x86, 0xdd]) {
            // What is no IP is the network's own housekeeping, and passes.
            return self.put(towards, frame).map(drop);
        }
        let frame = Frame { ethernet: *ethernet, towards, bytes: packet.to_vec() };
        let departures = self.engine.packet(t_ns, frame);
        self.send(departures)
    }

    fn send(&mut self, departures: Vec<Departure>) -> Result<(), Error> {
        for Departure { frame, row } in departures {
            let bytes = [&frame.ethernet[..], &frame.bytes].concat();
            if !self.put(frame.towards, &bytes)? {
                self.engine.refused(row);
            }
        }
        Ok(())
    }

    /// Whether the kernel took it.
    fn put(&self, towards: usize, frame: &[u8]) -> Result<bool, Error> {
        match packet_socket::send(&self.socket, self.interfaces[towards], frame) {
            Ok(()) => Ok(true),
            // Longer than the link allows or no IP any more, the only faults that packets themselves have; or the queues
            // behind the node hold all that may wait there.
            Err(e)
                if [Errno::EMSGSIZE, Errno::EINVAL, Errno::ENOBUFS, Errno::EAGAIN]
                    .contains(&Errno::from_raw(e.raw_os_error().unwrap_or(0))) =>
            {
                Ok(false)
            }
            Err(e) => Err(e).attempt(|| format!("in-path node \"{}\": cannot send", self.name)),
        }
    }
}
