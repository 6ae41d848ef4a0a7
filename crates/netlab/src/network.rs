//! A network that stands: its nodes, changes of its links, its counters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use netlink_packet_core::{NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcStats2};
use serde::Serialize;

use crate::build::messages;
use crate::build::numbers::interface_index;
use crate::netlink::{Netlink, Request};
use crate::node::{Node, lock};
use crate::options::BuildOptions;
use crate::packet_socket::Passing;
use crate::qdisc::{HostQueue, Impairment, LEAF};
use crate::relay::Relay;
use crate::topology::{Direction, NextHop, Route, Topology};
use crate::{Error, LinkChange, NetworkSpec, RouteChange, build, seed};

/// Nodes and links in the running kernel. Dropping it removes them, once no socket or thread in a node is
/// left.
pub struct Network {
    // Relays first, so that they end before the nodes between which they stand.
    relays: BTreeMap<usize, Relay>,
    topology: Topology,
    nodes: Vec<Node>,
    impairments: Mutex<BTreeMap<Direction, Impairment>>,
    host_queues: Mutex<BTreeMap<Direction, HostQueue>>,
    merging: Mutex<BTreeSet<usize>>,
    seed: u64,
}

/// What one queueing discipline has counted so far. Bytes are those of IP packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LinkCounters {
    /// Link direction, `a>b`.
    pub link: String,
    /// `tbf`, `netem`, `fq`, `pfifo`, or `relay` for what stands in for netem.
    pub kind: String,
    /// Kind of what queues under it, where that is not its own queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Packets that left the queue.
    pub sent_packets: u64,
    /// Bytes that left the queue.
    pub sent_bytes: u64,
    /// Packets dropped, by a full queue or by the loss that was asked for.
    pub dropped_packets: u64,
    /// How often a packet had to wait for tokens.
    pub overlimits: u64,
    /// Bytes waiting now.
    pub backlog_bytes: u64,
    /// Packets waiting now.
    pub backlog_packets: u64,
}

/// How one direction of a relay kept up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelayCounters {
    /// Link direction, `a>b`.
    pub link: String,
    /// Packets that it could not take in or pass on: losses that nobody asked for.
    pub missed_packets: u64,
    /// The longest time by which a packet went on later than asked.
    pub largest_lateness_s: f64,
}

impl Network {
    /// Makes the network; needs root and `/proc`, and takes about a millisecond of
    /// virtual time.
    ///
    /// # Errors
    /// [`Error::Spec`] if the description or a kernel setting is wrong, [`Error::System`] if the kernel
    /// refuses.
    pub fn build(spec: &NetworkSpec, options: &BuildOptions) -> Result<Self, Error> {
        let topology = spec.resolve()?;
        let build::Made { nodes, relays } = build::network(&topology, options)?;
        Ok(Network {
            relays,
            topology,
            nodes,
            impairments: Mutex::default(),
            host_queues: Mutex::default(),
            merging: Mutex::default(),
            seed: options.seed,
        })
    }

    /// The description with all names looked up: paths, addresses, taps.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The node called `name`.
    ///
    /// # Errors
    /// [`Error::Spec`] if there is none.
    pub fn node(&self, name: &str) -> Result<&Node, Error> {
        Ok(&self.nodes[self.topology.node_index(name)?])
    }

    /// Changes one link direction now (`at_s` is not looked at). Nothing that is queued is dropped.
    ///
    /// Two effects of the kernel's ways: a change of a rate fills the token bucket, so one burst more may
    /// pass; and a packet that waits for tokens at that moment waits out its time at the old rate unless
    /// another one arrives.
    ///
    /// # Errors
    /// [`Error::Spec`] if the change is not sound, [`Error::System`] if the kernel refuses.
    pub fn apply(&self, change: &LinkChange) -> Result<(), Error> {
        let direction = self.topology.check_change(change)?;
        let mut impairments = lock(&self.impairments);
        let old = impairments.get(&direction).copied();
        let new = self.topology.merge(direction, old, change)?;
        if let (Impairment::Delay(netem), Some(relay)) = (new, self.relays.get(&direction.link)) {
            relay.ask(self.end_number(direction), netem);
            impairments.insert(direction, new);
            return Ok(());
        }
        let interface = interface_index(&self.topology, direction);
        let (flags, seed) = match old {
            // Without these flags the kernel changes the discipline that is there.
            Some(_) => (0, None),
            None => (NLM_F_CREATE | NLM_F_REPLACE, Some(seed::mix(self.seed, &change.link))),
        };
        let mut requests = vec![Request {
            what: format!("cannot change link \"{}\"", change.link),
            flags,
            message: RouteNetlinkMessage::NewQueueDiscipline(new.message(interface, seed)),
        }];
        if let Some(queue) = change.queue
            && let Some(message) = new.queue_message(interface)
        {
            requests.push(Request {
                what: format!("cannot put the queue \"{}\" on link \"{}\"", queue.kind(), change.link),
                flags: NLM_F_CREATE | NLM_F_REPLACE,
                message: RouteNetlinkMessage::NewQueueDiscipline(message),
            });
        }
        self.nodes[direction.from].netlink().run(requests)?;
        impairments.insert(direction, new);
        Ok(())
    }

    /// Changes routes now (`at_s` is not looked at), those of each node in one go.
    ///
    /// # Errors
    /// [`Error::Spec`] if a change is not sound, [`Error::System`] if the kernel refuses.
    pub fn change_routes(&self, changes: &[RouteChange]) -> Result<(), Error> {
        let mut requests: BTreeMap<usize, Vec<Request>> = BTreeMap::new();
        for change in changes {
            let Route { node, to, hop } = self.topology.changed_route(change)?;
            let via = if let NextHop::Via(via) = hop { Some(via) } else { None };
            requests.entry(node).or_default().push(messages::changed_route(to, via));
        }
        requests.into_iter().try_for_each(|(node, of_node)| self.netlink(node).run(of_node))
    }

    /// Puts `queue` on every interface of a host but those of the link directions `left_out`. Interfaces have no queue
    /// of their own unless one is asked for here; one that is to have a rate or a delay later on must be left out.
    ///
    /// # Errors
    /// [`Error::Spec`] if there is no such node or one of its link directions has a rate or a delay,
    /// [`Error::System`] if the kernel refuses.
    pub fn set_host_queue(&self, node: &str, queue: HostQueue, left_out: &[&str]) -> Result<(), Error> {
        let from = self.topology.node_index(node)?;
        let impairments = lock(&self.impairments);
        let mut host_queues = lock(&self.host_queues);
        let mut requests = Vec::new();
        for to in self.topology.neighbours(from) {
            let Some(link) = self.topology.link_between(from, to) else { continue };
            let direction = Direction { link, from, to };
            let name = self.topology.direction_name(direction);
            if left_out.contains(&name.as_str()) {
                continue;
            }
            if impairments.contains_key(&direction) {
                return Err(Error::Spec(format!(
                    "link \"{name}\" has a rate or a delay, so \"{node}\" cannot have a queue of its own there"
                )));
            }
            requests.push(Request {
                what: format!("cannot put a queue on \"{name}\""),
                flags: NLM_F_CREATE | NLM_F_REPLACE,
                message: RouteNetlinkMessage::NewQueueDiscipline(
                    queue.message(interface_index(&self.topology, direction)),
                ),
            });
            host_queues.insert(direction, queue);
        }
        self.nodes[from].netlink().run(requests)
    }

    /// Counters of all queueing disciplines that changes and host queues have made, sorted by link.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn link_counters(&self) -> Result<Vec<LinkCounters>, Error> {
        let impairments = lock(&self.impairments).clone();
        // A relay's direction has no queue of the kernel's.
        let (relayed, impaired): (Vec<Direction>, Vec<Direction>) =
            impairments.keys().copied().partition(|direction| {
                self.relays.contains_key(&direction.link)
                    && matches!(impairments[direction], Impairment::Delay(_))
            });
        let queued: Vec<Direction> = lock(&self.host_queues).keys().copied().collect();
        let mut counters = Vec::new();
        let mut leaves = BTreeMap::new();
        for (from, node) in self.nodes.iter().enumerate() {
            let here: Vec<Direction> =
                impaired.iter().chain(&queued).copied().filter(|direction| direction.from == from).collect();
            if here.is_empty() {
                continue;
            }
            let request = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::default());
            for answer in node.netlink().dump(request)? {
                let RouteNetlinkMessage::NewQueueDiscipline(message) = answer else { continue };
                let direction = here.iter().find(|&&direction| {
                    interface_index(&self.topology, direction) as i32 == message.header.index
                });
                let Some(&direction) = direction else { continue };
                let name = self.topology.direction_name(direction);
                if message.header.parent == TcHandle::ROOT {
                    counters.push(read_counters(name, &message));
                } else if message.header.parent == LEAF {
                    leaves.insert(name.clone(), read_counters(name, &message).kind);
                }
            }
        }
        for direction in relayed {
            if let Some(relay) = self.relays.get(&direction.link) {
                let counts = relay.counts(self.end_number(direction));
                counters.push(LinkCounters {
                    link: self.topology.direction_name(direction),
                    kind: "relay".into(),
                    queue: None,
                    sent_packets: counts.sent_packets,
                    sent_bytes: counts.sent_bytes,
                    dropped_packets: counts.dropped_packets,
                    overlimits: 0,
                    backlog_bytes: counts.waiting_bytes,
                    backlog_packets: counts.waiting_packets,
                });
            }
        }
        for of_link in &mut counters {
            of_link.queue = leaves.remove(&of_link.link);
        }
        counters.sort_by(|a, b| a.link.cmp(&b.link));
        Ok(counters)
    }

    /// How the relays of this network kept up so far, sorted by link direction.
    ///
    /// # Errors
    /// [`Error::System`] if one has ended because the kernel refused something.
    pub fn relay_counters(&self) -> Result<Vec<RelayCounters>, Error> {
        let mut counters = Vec::new();
        for (&link, relay) in &self.relays {
            if let Some(error) = relay.broken() {
                return Err(Error::System {
                    what: "a relay ended before its time".into(),
                    source: std::io::Error::other(error.to_string()),
                });
            }
            let [a, b] = self.topology.links[link].ends;
            for (number, direction) in
                [Direction { link, from: a, to: b }, Direction { link, from: b, to: a }]
                    .into_iter()
                    .enumerate()
            {
                counters.push(RelayCounters {
                    link: self.topology.direction_name(direction),
                    missed_packets: relay.missed_packets(number),
                    largest_lateness_s: relay.counts(number).latest_ns as f64 / 1e9,
                });
            }
        }
        counters.sort_by(|a, b| a.link.cmp(&b.link));
        Ok(counters)
    }

    /// 0 if a direction leaves from its link's first end, else 1.
    fn end_number(&self, direction: Direction) -> usize {
        usize::from(self.topology.links[direction.link].ends[1] == direction.from)
    }

    /// As [`Topology::path`].
    ///
    /// # Errors
    /// As [`Topology::path`].
    pub fn path(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        self.topology.path(from, to)
    }

    /// The routing socket of a node, by its place in the topology.
    pub(crate) fn netlink(&self, node: usize) -> MutexGuard<'_, Netlink> {
        self.nodes[node].netlink()
    }

    /// The longest packet that a link direction carries, in bytes from its IP header on.
    pub(crate) fn mtu_bytes(&self, link: &str) -> Result<u32, Error> {
        let direction = self.topology.direction(link)?;
        Ok(self.topology.links[direction.link].mtu_bytes)
    }

    /// Has captures know that a node merges what arrives at it.
    pub(crate) fn remember_merging(&self, node: usize) {
        lock(&self.merging).insert(node);
    }

    /// Where the packets of a link direction can be seen as they are on the link: node, interface and which way they
    /// pass it. That is where they arrive, unless the node merges them before anybody sees them: then it is where they
    /// leave, which on a virtual cable is the same instant.
    pub(crate) fn tap_point(&self, link: &str) -> Result<(&Node, u32, Passing), Error> {
        let there = self.topology.direction(link)?;
        if lock(&self.merging).contains(&there.to) {
            return Ok((&self.nodes[there.from], interface_index(&self.topology, there), Passing::Out));
        }
        let (node, interface) = self.receiving_interface(link)?;
        Ok((node, interface, Passing::In))
    }

    /// The interface on which packets of a link direction arrive: the node and the interface's index.
    pub(crate) fn receiving_interface(&self, link: &str) -> Result<(&Node, u32), Error> {
        let there = self.topology.direction(link)?;
        let back = Direction { from: there.to, to: there.from, ..there };
        Ok((&self.nodes[there.to], interface_index(&self.topology, back)))
    }
}

fn read_counters(link: String, message: &TcMessage) -> LinkCounters {
    let mut counters = LinkCounters {
        link,
        kind: String::new(),
        queue: None,
        sent_packets: 0,
        sent_bytes: 0,
        dropped_packets: 0,
        overlimits: 0,
        backlog_bytes: 0,
        backlog_packets: 0,
    };
    for attribute in &message.attributes {
        match attribute {
            TcAttribute::Kind(kind) => counters.kind.clone_from(kind),
            TcAttribute::Stats2(statistics) => {
                for part in statistics {
                    match part {
                        TcStats2::Basic(basic) => {
                            counters.sent_packets = basic.packets.into();
                            counters.sent_bytes = basic.bytes;
                        }
                        TcStats2::Queue(queue) => {
                            counters.dropped_packets = queue.drops.into();
                            counters.overlimits = queue.overlimits.into();
                            counters.backlog_bytes = queue.backlog.into();
                            counters.backlog_packets = queue.qlen.into();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    counters
}
