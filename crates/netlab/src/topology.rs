//! A network with every name looked up and every address parsed: what is built, and what paths are computed
//! on.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::Error;

/// A resolved network. Nodes, links and tunnels are known by their index.
#[derive(Debug, Clone)]
pub struct Topology {
    pub(crate) nodes: Vec<TopologyNode>,
    pub(crate) links: Vec<Link>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) routes: Vec<Route>,
    pub(crate) tunnels: Vec<Tunnel>,
}

#[derive(Debug, Clone)]
pub(crate) struct TopologyNode {
    pub name: String,
    /// Hands on Ethernet frames and has no addresses.
    pub switch: bool,
    /// Is a switch by its rules, and not by the kernel.
    pub in_path: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub ends: [usize; 2],
    pub mtu_bytes: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub node: usize,
    pub link: usize,
    pub net: IpNet,
}

#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub node: usize,
    pub to: IpNet,
    pub hop: NextHop,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum NextHop {
    Via(IpAddr),
    Tunnel(usize),
    /// The node knows no way, and says so to who sends there.
    Nowhere,
}

#[derive(Debug, Clone)]
pub(crate) struct Tunnel {
    pub name: String,
    pub ends: [TunnelEnd; 2],
    pub mtu_bytes: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct TunnelEnd {
    pub node: usize,
    pub outer: Ipv4Addr,
    pub inner: IpNet,
}

/// One of the two directions of a link; written `from>to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Direction {
    pub link: usize,
    pub from: usize,
    pub to: usize,
}

impl Topology {
    /// Names of all nodes, in the order of the plan.
    pub fn node_names(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().map(|node| node.name.as_str())
    }

    /// The address by which `node` is reached: the first that the plan gives it.
    ///
    /// # Errors
    /// [`Error::Spec`] if there is no such node or it has no address.
    pub fn address_of(&self, node: &str) -> Result<IpAddr, Error> {
        let index = self.node_index(node)?;
        let own = self.addresses.iter().find(|address| address.node == index);
        own.map(|address| address.net.addr()).ok_or_else(|| {
            Error::Spec(format!("node \"{node}\" has no IP address, so nothing can be sent from or to it"))
        })
    }

    /// The other addresses of `node` that are of the same IP version as the first, in the order of the plan.
    ///
    /// # Errors
    /// As [`Topology::address_of`].
    pub fn further_addresses_of(&self, node: &str) -> Result<Vec<IpAddr>, Error> {
        let first = self.address_of(node)?;
        let index = self.node_index(node)?;
        let own = self.addresses.iter().filter(|address| address.node == index);
        let alike = own.map(|address| address.net.addr()).filter(|ip| ip.is_ipv4() == first.is_ipv4());
        Ok(alike.filter(|ip| *ip != first).collect())
    }

    /// True if the plan uses IPv6 anywhere.
    pub(crate) fn uses_ipv6(&self) -> bool {
        self.addresses.iter().any(|address| address.net.addr().is_ipv6())
            || self.tunnels.iter().any(|tunnel| tunnel.ends.iter().any(|end| end.inner.addr().is_ipv6()))
    }

    pub(crate) fn node_index(&self, name: &str) -> Result<usize, Error> {
        self.nodes.iter().position(|node| node.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.node_names().collect();
            Error::Spec(format!("there is no node \"{name}\"; the nodes are {}", known.join(", ")))
        })
    }

    /// Looks up a link direction written `a>b`.
    pub(crate) fn direction(&self, text: &str) -> Result<Direction, Error> {
        let Some((from, to)) = text.split_once('>') else {
            return Err(Error::Spec(format!(
                "\"{text}\" is not a link direction; write it as \"a>b\" with the names of two nodes"
            )));
        };
        let in_words = |e| Error::Spec(format!("link direction \"{text}\": {e}"));
        let from = self.node_index(from).map_err(in_words)?;
        let to = self.node_index(to).map_err(in_words)?;
        let link = self.link_between(from, to).ok_or_else(|| {
            let near: Vec<&str> = self.neighbours(from).map(|n| self.nodes[n].name.as_str()).collect();
            Error::Spec(format!(
                "link direction \"{text}\": no link joins these nodes; \"{}\" is joined to {}",
                self.nodes[from].name,
                near.join(", ")
            ))
        })?;
        Ok(Direction { link, from, to })
    }

    pub(crate) fn direction_name(&self, direction: Direction) -> String {
        format!("{}>{}", self.nodes[direction.from].name, self.nodes[direction.to].name)
    }

    pub(crate) fn link_between(&self, a: usize, b: usize) -> Option<usize> {
        self.links.iter().position(|link| link.ends == [a, b] || link.ends == [b, a])
    }

    pub(crate) fn neighbours(&self, node: usize) -> impl Iterator<Item = usize> {
        self.links.iter().filter_map(move |link| link.other_end(node))
    }

    /// Name of the interface by which `node` reaches its neighbour: `to-<neighbour>`, or where that is longer
    /// than Linux allows its first ten characters, `-` and four hexadecimal digits of the name's hash.
    pub(crate) fn interface_to(&self, neighbour: usize) -> String {
        let full = format!("to-{}", self.nodes[neighbour].name);
        if full.len() <= MAX_INTERFACE_NAME {
            return full;
        }
        let hash = crate::seed::fnv1a(full.as_bytes());
        format!("{}-{:04x}", &full[..MAX_INTERFACE_NAME - 5], hash & 0xffff)
    }
}

/// Longest interface name: `IFNAMSIZ` (16) less the closing zero.
pub(crate) const MAX_INTERFACE_NAME: usize = 15;

impl Link {
    pub fn other_end(&self, node: usize) -> Option<usize> {
        match self.ends {
            [a, b] if a == node => Some(b),
            [a, b] if b == node => Some(a),
            _ => None,
        }
    }
}
