//! Making a network: namespaces, settings, links, then in every node its interfaces, addresses, neighbours
//! and routes.
//!
//! Who has which Ethernet address is written down beforehand (permanent neighbours, static entries of the
//! switches' tables), so that no address resolution runs: it would be packets that nobody asked for, whose
//! loss on an impaired link would stall a flow.

pub(crate) mod messages;
pub(crate) mod numbers;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;
use std::time::Duration;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, State};

use self::numbers::{FIRST_INTERFACE, bridge_index, ethernet_address, interface_index, tunnel_index};
use crate::netlink::Request;
use crate::node::Node;
use crate::offload::Offloads;
use crate::options::{BuildOptions, WholeKernel};
use crate::random::Random;
use crate::relay::{self, Place, Relay};
use crate::topology::{Address, Direction, NextHop, Topology};
use crate::{Error, Sysctls, sysctl};

/// Settings of every node that forwards, whatever the plan says: it is a router, answers nobody with
/// redirects and believes none.
const FORWARDING: [(&str, &str); 4] = [
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv4.conf.all.send_redirects", "0"),
    ("net.ipv4.conf.default.send_redirects", "0"),
    ("net.ipv4.conf.all.accept_redirects", "0"),
];

/// With IPv6: the same, and no packets of the kernel's own accord (no link-local addresses, no duplicate
/// address detection, no router solicitations). The reports of multicast membership cannot be switched off; a
/// short interval has them all sent within [`REPORTS_OVER`].
const IPV6_QUIET: [(&str, &str); 6] = [
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv6.conf.default.addr_gen_mode", "1"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    ("net.ipv6.conf.default.mldv2_unsolicited_report_interval", "1"),
];

/// Two reports for each interface, a timer's tick (at most 10 ms) apart and with some room.
const REPORTS_OVER: Duration = Duration::from_millis(100);

/// Without IPv6, and in switches.
const IPV6_OFF: [(&str, &str); 2] =
    [("net.ipv6.conf.all.disable_ipv6", "1"), ("net.ipv6.conf.default.disable_ipv6", "1")];

/// How often, and how many times, links are looked at until the kernel has noticed that both ends are up.
const UP_POLL: Duration = Duration::from_millis(1);
const UP_POLLS: usize = 2000;

/// What has been made.
pub(crate) struct Made {
    pub nodes: Vec<Node>,
    /// Relays by the number of their link.
    pub relays: BTreeMap<usize, Relay>,
}

/// Makes all nodes and everything between them.
pub(crate) fn network(topology: &Topology, options: &BuildOptions) -> Result<Made, Error> {
    let mut places = BTreeMap::new();
    for name in &options.relayed {
        let link = topology.direction(name)?.link;
        if let Entry::Vacant(free) = places.entry(link) {
            free.insert(Place::new()?);
        }
    }
    let nodes = nodes(topology, options, &places)?;
    let mut relays = BTreeMap::new();
    for (link, place) in places {
        let [a, b] = topology.links[link].ends;
        let ends = [Direction { link, from: a, to: b }, Direction { link, from: b, to: a }];
        let random = ends.map(|end| Random::new(options.seed, &topology.direction_name(end)));
        relays.insert(link, place.start(ends.map(|end| relay_index(topology, end)), random)?);
    }
    for (index, node) in nodes.iter().enumerate() {
        wait_until_up(node, topology.neighbours(index).count())?;
    }
    if topology.uses_ipv6() {
        thread::sleep(REPORTS_OVER);
    }
    Ok(Made { nodes, relays })
}

fn nodes(
    topology: &Topology,
    options: &BuildOptions,
    places: &BTreeMap<usize, Place>,
) -> Result<Vec<Node>, Error> {
    let mut nodes = Vec::with_capacity(topology.nodes.len());
    for (index, node) in topology.nodes.iter().enumerate() {
        let own = topology.addresses.iter().find(|address| address.node == index);
        nodes.push(Node::new(&node.name, own.map(|address| address.net.addr()))?);
    }
    apply_settings(topology, &nodes, &options.sysctls, options.whole_kernel)?;
    for (index, node) in nodes.iter().enumerate() {
        node.netlink().run(links_from(topology, &nodes, index, places))?;
    }
    for (index, node) in nodes.iter().enumerate() {
        node.netlink().run(inside(topology, index))?;
    }
    switch_offloads_off(topology, &nodes, places)?;
    Ok(nodes)
}

fn apply_settings(
    topology: &Topology,
    nodes: &[Node],
    sysctls: &Sysctls,
    whole_kernel: WholeKernel,
) -> Result<(), Error> {
    let mut global: Vec<(&str, &str)> = Vec::new();
    for (node, known) in nodes.iter().zip(&topology.nodes) {
        let own: &[(&str, &str)] = if known.switch { &[] } else { &FORWARDING };
        let ipv6: &[(&str, &str)] =
            if topology.uses_ipv6() && !known.switch { &IPV6_QUIET } else { &IPV6_OFF };
        let left_over = node.namespace().enter(|| {
            for (name, value) in own.iter().chain(ipv6) {
                sysctl::set_in_namespace(name, value)?;
            }
            let mut left_over = Vec::new();
            for (name, value) in sysctls {
                if !sysctl::set_in_namespace(name, value)? {
                    left_over.push((name.as_str(), value.as_str()));
                }
            }
            Ok::<_, Error>(left_over)
        })??;
        global = left_over;
    }
    if whole_kernel == WholeKernel::Leave {
        return Ok(());
    }
    // What one namespace does not have, none has.
    global.into_iter().try_for_each(|(name, value)| sysctl::set_globally(name, value))
}

/// The links whose first end is this node, and those to a relay from either end.
fn links_from(
    topology: &Topology,
    nodes: &[Node],
    node: usize,
    places: &BTreeMap<usize, Place>,
) -> Vec<Request> {
    let own = topology.links.iter().enumerate().filter_map(|(index, link)| {
        let end = Direction { link: index, from: node, to: link.other_end(node)? };
        let place = places.get(&index)?;
        Some(messages::veth(
            [
                (interface_index(topology, end), topology.interface_to(end.to)),
                (relay_index(topology, end), topology.interface_to(end.from)),
            ],
            link.mtu_bytes,
            place.namespace().fd(),
            &topology.direction_name(end),
        ))
    });
    let direct = topology.links.iter().enumerate();
    let direct = direct.filter(|(index, link)| link.ends[0] == node && !places.contains_key(index));
    let direct = direct.map(|(index, link)| {
        let [from, to] = link.ends;
        let ends = [Direction { link: index, from, to }, Direction { link: index, from: to, to: from }]
            .map(|end| (interface_index(topology, end), topology.interface_to(end.to)));
        messages::veth(
            ends,
            link.mtu_bytes,
            nodes[to].namespace().fd(),
            &topology.direction_name(Direction { link: index, from, to }),
        )
    });
    direct.chain(own).collect()
}

/// Number of a relay's interface to the node from which `end` leaves.
fn relay_index(topology: &Topology, end: Direction) -> u32 {
    relay::FIRST_INTERFACE + interface_index(topology, end)
}

/// Everything that is set up within one node.
fn inside(topology: &Topology, node: usize) -> Vec<Request> {
    let mut requests = vec![messages::up(LOOPBACK_INDEX, "lo")];
    let switch = topology.nodes[node].switch && !topology.nodes[node].in_path;
    if switch {
        requests.push(messages::bridge(bridge_index(topology)));
    }
    let ports: Vec<Direction> = topology
        .links
        .iter()
        .enumerate()
        .filter_map(|(link, ends)| Some(Direction { link, from: node, to: ends.other_end(node)? }))
        .collect();
    for &port in &ports {
        let interface = interface_index(topology, port);
        if switch {
            requests.push(messages::enslave(interface, bridge_index(topology)));
        }
        requests.push(messages::up(interface, &topology.interface_to(port.to)));
    }
    for address in topology.addresses.iter().filter(|address| address.node == node) {
        requests.push(messages::address(interface_of(topology, address), address.net));
    }
    for &port in ports.iter().filter(|_| !topology.nodes[node].in_path) {
        let interface = interface_index(topology, port);
        for path in topology.segment(node, port.link) {
            let Some(far) = path.last() else { continue };
            let there = Direction { link: far.link, from: far.to, to: far.from };
            let ethernet = ethernet_address(interface_index(topology, there));
            if switch {
                requests.push(messages::forwarding_entry(interface, &ethernet));
                continue;
            }
            let theirs = topology.addresses.iter().filter(|a| a.node == far.to && a.link == far.link);
            requests.extend(theirs.map(|a| messages::neighbour(interface, a.net.addr(), &ethernet)));
        }
    }
    for (index, tunnel) in topology.tunnels.iter().enumerate() {
        let [a, b] = tunnel.ends;
        for (near, far) in [(a, b), (b, a)] {
            if near.node == node {
                let interface = tunnel_index(topology, index);
                requests.push(messages::gre(
                    interface,
                    &tunnel.name,
                    near.outer,
                    far.outer,
                    tunnel.mtu_bytes,
                ));
                requests.push(messages::address(interface, near.inner));
            }
        }
    }
    for route in topology.routes.iter().filter(|route| route.node == node) {
        requests.push(match route.hop {
            NextHop::Via(via) => messages::route_via(route.to, via),
            NextHop::Tunnel(tunnel) => messages::route_into(route.to, tunnel_index(topology, tunnel)),
            NextHop::Nowhere => messages::changed_route(route.to, None),
        });
    }
    requests
}

/// The loopback interface is the first that the kernel makes in a namespace (`LOOPBACK_IFINDEX`).
const LOOPBACK_INDEX: u32 = 1;

fn interface_of(topology: &Topology, address: &Address) -> u32 {
    let to = topology.links[address.link].other_end(address.node).unwrap_or(address.node);
    interface_index(topology, Direction { link: address.link, from: address.node, to })
}

/// Nothing merges packets, and where a program stands in a link they have their checksums from the first host on: else the
/// kernel leaves them to the card, and a virtual card leaves them out.
fn switch_offloads_off(
    topology: &Topology,
    nodes: &[Node],
    places: &BTreeMap<usize, Place>,
) -> Result<(), Error> {
    let checksums_are_read = !places.is_empty() || topology.nodes.iter().any(|node| node.in_path);
    let (mut merging, mut summing) = (None, None);
    for (index, node) in nodes.iter().enumerate() {
        let mut interfaces: Vec<String> =
            topology.neighbours(index).map(|neighbour| topology.interface_to(neighbour)).collect();
        let tunnels =
            topology.tunnels.iter().filter(|tunnel| tunnel.ends.iter().any(|end| end.node == index));
        interfaces.extend(tunnels.map(|tunnel| tunnel.name.clone()));
        let Some(first) = interfaces.first() else { continue };
        let offloads = node.namespace().enter(Offloads::open)??;
        let features = match &merging {
            Some(known) => known,
            None => merging.insert(offloads.merging_features(first)?),
        };
        for interface in &interfaces {
            offloads.switch_off(interface, features)?;
        }
        for interface in interfaces.iter().filter(|_| checksums_are_read) {
            let features = match &summing {
                Some(known) => known,
                None => summing.insert(offloads.checksum_features(interface)?),
            };
            offloads.switch_off(interface, features)?;
        }
    }
    Ok(())
}

/// Until the kernel has noticed that both ends of a link are up, it drops what is sent there.
fn wait_until_up(node: &Node, links: usize) -> Result<(), Error> {
    for _ in 0..UP_POLLS {
        let list = node.netlink().dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        let up = list.iter().filter(|answer| {
            let RouteNetlinkMessage::NewLink(link) = answer else { return false };
            link.header.index >= FIRST_INTERFACE
                && link.attributes.contains(&LinkAttribute::OperState(State::Up))
        });
        if up.count() >= links {
            return Ok(());
        }
        thread::sleep(UP_POLL);
    }
    Err(Error::System {
        what: format!("the links of node \"{}\" do not come up", node.name()),
        source: std::io::ErrorKind::TimedOut.into(),
    })
}
