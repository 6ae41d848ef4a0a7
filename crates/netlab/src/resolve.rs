//! From text to [`Topology`]: every check of a network description, each with its own sentence.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::spec::{NetworkSpec, NodeSpec, RouteSpec, TunnelSpec};
use crate::topology::{
    Address, Link, MAX_INTERFACE_NAME, NextHop, Route, Topology, TopologyNode, Tunnel, TunnelEnd,
};
use crate::{Error, presets};

/// Smallest MTU that IPv4 allows (RFC 791) and largest that an IP header can state.
const MTU_RANGE_BYTES: std::ops::RangeInclusive<u32> = 68..=65535;

/// Smallest MTU on which IPv6 runs (RFC 8200 section 5).
const IPV6_MIN_MTU_BYTES: u32 = 1280;

type Checked<T> = Result<T, Error>;

fn wrong<T>(sentence: String) -> Checked<T> {
    Err(Error::Spec(sentence))
}

impl NetworkSpec {
    /// Checks the whole description; the same as [`NetworkSpec::resolve`] with the result thrown away.
    ///
    /// # Errors
    /// [`Error::Spec`] with one sentence about the first mistake.
    pub fn validate(&self) -> Result<(), Error> {
        self.resolve().map(drop)
    }

    /// Expands a preset, looks up every name and parses every address.
    ///
    /// # Errors
    /// [`Error::Spec`] with one sentence about the first mistake.
    pub fn resolve(&self) -> Result<Topology, Error> {
        topology(&self.expanded()?)
    }

    /// The same with its preset, if it names one, written out.
    ///
    /// # Errors
    /// [`Error::Spec`]: there is no such preset, or it stands beside a network.
    pub(crate) fn expanded(&self) -> Result<NetworkSpec, Error> {
        let Some(name) = &self.preset else { return Ok(self.clone()) };
        let own = NetworkSpec { preset: None, ..self.clone() };
        if own != NetworkSpec::default() {
            return Err(Error::Spec(format!(
                "network: \"preset\": \"{name}\" stands beside nodes, links, addresses, routes or tunnels; \
                 give either a preset or a network of your own"
            )));
        }
        presets::get(name)
    }
}

/// Resolves a description that names no preset.
fn topology(spec: &NetworkSpec) -> Checked<Topology> {
    let mut topology = Topology {
        nodes: nodes(spec)?,
        links: Vec::new(),
        addresses: Vec::new(),
        routes: Vec::new(),
        tunnels: Vec::new(),
    };
    add_links(spec, &mut topology)?;
    add_addresses(spec, &mut topology)?;
    for tunnel in &spec.tunnels {
        let tunnel = resolve_tunnel(tunnel, &topology)?;
        topology.tunnels.push(tunnel);
    }
    for route in &spec.routes {
        let route = resolve_route(route, &topology)?;
        topology.routes.push(route);
    }
    Ok(topology)
}

fn nodes(spec: &NetworkSpec) -> Checked<Vec<TopologyNode>> {
    if spec.nodes.is_empty() {
        return wrong("network: there are no nodes; give a preset or at least one node".into());
    }
    let mut seen = HashSet::new();
    for node in &spec.nodes {
        let name = &node.name;
        if !is_name(name) {
            return wrong(format!(
                "network: \"{name}\" cannot be a node's name; use letters, digits, \".\", \"_\" and \"-\""
            ));
        }
        if !seen.insert(name) {
            return wrong(format!(
                "network: the node \"{name}\" is there twice; every node needs its own name"
            ));
        }
    }
    let resolved = |node: &NodeSpec| TopologyNode {
        name: node.name.clone(),
        switch: node.switch || node.in_path,
        in_path: node.in_path,
    };
    Ok(spec.nodes.iter().map(resolved).collect())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

fn add_links(spec: &NetworkSpec, topology: &mut Topology) -> Checked<()> {
    for link in &spec.links {
        let here = format!("link between \"{}\" and \"{}\"", link.a, link.b);
        let in_words = |e| Error::Spec(format!("{here}: {e}"));
        let ends = [
            topology.node_index(&link.a).map_err(in_words)?,
            topology.node_index(&link.b).map_err(in_words)?,
        ];
        if ends[0] == ends[1] {
            return wrong(format!("{here}: both ends are the same node; a link joins two nodes"));
        }
        if topology.link_between(ends[0], ends[1]).is_some() {
            return wrong(format!("{here}: it is there twice; at most one link joins two nodes"));
        }
        check_mtu(&here, link.mtu_bytes)?;
        topology.links.push(Link { ends, mtu_bytes: link.mtu_bytes });
    }
    for (index, node) in topology.nodes.iter().enumerate() {
        let mut names = HashSet::new();
        for neighbour in topology.neighbours(index) {
            if !names.insert(topology.interface_to(neighbour)) {
                return wrong(format!(
                    "node \"{}\": the names of two neighbours, one of them \"{}\", shorten to the same interface \
                     name; rename one",
                    node.name, topology.nodes[neighbour].name
                ));
            }
        }
    }
    Ok(())
}

fn check_mtu(here: &str, mtu_bytes: u32) -> Checked<()> {
    if MTU_RANGE_BYTES.contains(&mtu_bytes) {
        return Ok(());
    }
    wrong(format!(
        "{here}: mtu_bytes is {mtu_bytes}; it must lie between {} and {}",
        MTU_RANGE_BYTES.start(),
        MTU_RANGE_BYTES.end()
    ))
}

fn add_addresses(spec: &NetworkSpec, topology: &mut Topology) -> Checked<()> {
    for address in &spec.addresses {
        let here = format!("address \"{}\" of node \"{}\"", address.address, address.node);
        let in_words = |e| Error::Spec(format!("{here}: {e}"));
        let node = topology.node_index(&address.node).map_err(in_words)?;
        let neighbour = topology.node_index(&address.link).map_err(in_words)?;
        if topology.nodes[node].switch {
            return wrong(format!("{here}: the node is a switch, which has no IP addresses"));
        }
        let Some(link) = topology.link_between(node, neighbour) else {
            return wrong(format!(
                "{here}: no link joins \"{}\" to \"{}\"; \"link\" names the neighbour at the other end",
                address.node, address.link
            ));
        };
        let net = parse_net(&here, &address.address)?;
        if owner(topology, net.addr()).is_some() {
            return wrong(format!("{here}: the address is there twice; every interface needs its own"));
        }
        if net.addr().is_ipv6() && topology.links[link].mtu_bytes < IPV6_MIN_MTU_BYTES {
            return wrong(format!("{here}: IPv6 needs an MTU of at least {IPV6_MIN_MTU_BYTES} bytes"));
        }
        topology.addresses.push(Address { node, link, net });
    }
    Ok(())
}

fn parse_net(here: &str, text: &str) -> Checked<IpNet> {
    text.parse().map_err(|_| {
        Error::Spec(format!(
            "{here}: \"{text}\" is not an address with a prefix length such as 10.0.0.1/24 or fd00::1/64"
        ))
    })
}

/// The node that has `address` on a link (not inside a tunnel).
fn owner(topology: &Topology, address: IpAddr) -> Option<usize> {
    topology.addresses.iter().find(|known| known.net.addr() == address).map(|known| known.node)
}

fn resolve_tunnel(spec: &TunnelSpec, topology: &Topology) -> Checked<Tunnel> {
    let here = format!("tunnel \"{}\"", spec.name);
    if !is_name(&spec.name) || spec.name.len() > MAX_INTERFACE_NAME || spec.name.starts_with("to-") {
        return wrong(format!(
            "{here}: the name must have 1 to {MAX_INTERFACE_NAME} letters, digits, \".\", \"_\" or \"-\" and not \
             begin with \"to-\""
        ));
    }
    if topology.tunnels.iter().any(|known| known.name == spec.name) {
        return wrong(format!("{here}: the name is there twice; every tunnel needs its own"));
    }
    check_mtu(&here, spec.mtu_bytes)?;
    let end = |node: &str, outer: &str, inner: &str| -> Checked<TunnelEnd> {
        let index = topology.node_index(node).map_err(|e| Error::Spec(format!("{here}: {e}")))?;
        let outer: Ipv4Addr = outer.parse().map_err(|_| {
            Error::Spec(format!("{here}: \"{outer}\" is not an IPv4 address; outer addresses are IPv4"))
        })?;
        if owner(topology, outer.into()) != Some(index) {
            return wrong(format!("{here}: \"{node}\" has no address {outer} on any of its links"));
        }
        Ok(TunnelEnd { node: index, outer, inner: parse_net(&here, inner)? })
    };
    let ends = [end(&spec.a, &spec.a_outer, &spec.a_inner)?, end(&spec.b, &spec.b_outer, &spec.b_inner)?];
    if ends[0].node == ends[1].node {
        return wrong(format!("{here}: both ends are the same node; a tunnel joins two nodes"));
    }
    Ok(Tunnel { name: spec.name.clone(), ends, mtu_bytes: spec.mtu_bytes })
}

fn resolve_route(spec: &RouteSpec, topology: &Topology) -> Checked<Route> {
    let here = format!("route of node \"{}\" to \"{}\"", spec.node, spec.to);
    let node = topology.node_index(&spec.node).map_err(|e| Error::Spec(format!("{here}: {e}")))?;
    if topology.nodes[node].switch {
        return wrong(format!("{here}: the node is a switch, which has no routes"));
    }
    let hop = match (&spec.via, &spec.tunnel) {
        (Some(via), None) => NextHop::Via(resolve_via(&here, via, node, topology)?),
        (None, Some(tunnel)) => NextHop::Tunnel(resolve_tunnel_end(&here, tunnel, node, topology)?),
        _ => return wrong(format!("{here}: give exactly one of \"via\" and \"tunnel\"")),
    };
    let to = match (spec.to.as_str(), hop) {
        ("default", NextHop::Via(IpAddr::V6(_))) => IpNet::new_assert(IpAddr::V6(0.into()), 0),
        ("default", _) => IpNet::new_assert(IpAddr::V4(0.into()), 0),
        (prefix, _) => parse_net(&here, prefix)?.trunc(),
    };
    if let NextHop::Via(via) = hop
        && via.is_ipv4() != to.addr().is_ipv4()
    {
        return wrong(format!("{here}: the next hop {via} is of the other IP version"));
    }
    if topology.routes.iter().any(|known| known.node == node && known.to == to) {
        return wrong(format!("{here}: the route is there twice; a node has one route to a prefix"));
    }
    Ok(Route { node, to, hop })
}

pub(crate) fn resolve_via(here: &str, via: &str, node: usize, topology: &Topology) -> Checked<IpAddr> {
    let via: IpAddr = via
        .parse()
        .map_err(|_| Error::Spec(format!("{here}: \"{via}\" is not an IP address such as 10.0.0.2")))?;
    let reachable = topology
        .addresses
        .iter()
        .any(|own| own.node == node && own.net.contains(&via) && own.net.addr() != via);
    if !reachable {
        return wrong(format!("{here}: the next hop {via} lies in none of the node's own prefixes"));
    }
    if owner(topology, via).is_none() {
        return wrong(format!("{here}: no node has the next hop's address {via}"));
    }
    Ok(via)
}

fn resolve_tunnel_end(here: &str, name: &str, node: usize, topology: &Topology) -> Checked<usize> {
    let Some(index) = topology.tunnels.iter().position(|tunnel| tunnel.name == name) else {
        return wrong(format!("{here}: there is no tunnel \"{name}\""));
    };
    if topology.tunnels[index].ends.iter().all(|end| end.node != node) {
        return wrong(format!("{here}: the tunnel \"{name}\" does not end at this node"));
    }
    Ok(index)
}
