//! Which links a packet takes: walks the routing tables of the description, as the kernel will, tunnels and
//! switches included. The certificate's taps follow from that.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use crate::topology::{Direction, NextHop, Topology};
use crate::{Error, LinkChange};

/// Routers that a packet may pass: the time to live that Linux gives it (RFC 1700).
const MAX_HOPS: usize = 64;

/// A way between two hosts by one pair of their addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// Address at the one end.
    pub source: IpAddr,
    /// Address at the other end.
    pub destination: IpAddr,
    /// Link directions, `a>b`, from the one to the other, in order.
    pub forward: Vec<String>,
    /// Those back.
    pub back: Vec<String>,
}

/// Adds what a certificate needs of one path: see [`Topology::default_taps`].
pub(crate) fn add_taps(path: &[String], impaired: &BTreeSet<String>, taps: &mut Vec<String>) {
    for (i, direction) in path.iter().enumerate() {
        let wanted = match path.get(i + 1) {
            None => true,
            Some(next) => impaired.contains(direction) || impaired.contains(next),
        };
        if wanted && !taps.contains(direction) {
            taps.push(direction.clone());
        }
    }
}

/// A node that has no route, and to what.
pub(crate) type Stuck = (usize, IpAddr);

/// What a node's routing table says about a destination.
pub(crate) enum Decision {
    /// Hand it over on this link to the neighbour that has this address.
    Link { link: usize, next_hop: IpAddr },
    /// Wrap it and send it to the tunnel's other end.
    Tunnel(usize),
}

impl Topology {
    /// The link directions, written `a>b`, that a packet from node `from` to the address of node `to` takes,
    /// in order.
    ///
    /// # Errors
    /// [`Error::Spec`] if a node is unknown or has no address, or no route leads there.
    pub fn path(&self, from: &str, to: &str) -> Result<Vec<String>, Error> {
        let destination = self.address_of(to)?;
        self.address_of(from)?;
        let path = self.walk(self.node_index(from)?, destination, 0)?;
        Ok(path.into_iter().map(|direction| self.direction_name(direction)).collect())
    }

    /// The link directions that have to be captured for a certificate of `flows` (pairs of node names), each
    /// once, forward paths before return paths: on the path of each flow every direction that `timeline`
    /// touches, the one before it (what arrives there enters the impairment), and the last one (what the
    /// receiver gets).
    ///
    /// # Errors
    /// [`Error::Spec`] if a flow has no path or a change names no link.
    pub fn default_taps(
        &self,
        flows: &[(&str, &str)],
        timeline: &[LinkChange],
    ) -> Result<Vec<String>, Error> {
        let impaired = self.impaired(timeline)?;
        let mut taps: Vec<String> = Vec::new();
        for (from, to) in flows {
            for path in [self.path(from, to)?, self.path(to, from)?] {
                add_taps(&path, &impaired, &mut taps);
            }
        }
        Ok(taps)
    }

    /// The way between the first addresses of two nodes.
    ///
    /// # Errors
    /// [`Error::Spec`] as [`Topology::path`].
    pub fn first_way(&self, from: &str, to: &str) -> Result<Way, Error> {
        Ok(Way {
            source: self.address_of(from)?,
            destination: self.address_of(to)?,
            forward: self.path(from, to)?,
            back: self.path(to, from)?,
        })
    }

    /// Further ways between two nodes with several addresses each, beside that between their first ones: one to each
    /// further address of `to`, from the address that `from` takes as its own there.
    ///
    /// # Errors
    /// [`Error::Spec`] as [`Topology::path`].
    pub fn further_ways(&self, from: &str, to: &str) -> Result<Vec<Way>, Error> {
        let (near, far) = (self.node_index(from)?, self.node_index(to)?);
        let named = |path: Vec<Direction>| path.into_iter().map(|d| self.direction_name(d)).collect();
        let mut ways = Vec::new();
        for destination in self.further_addresses_of(to)? {
            let source = self.source_towards(near, destination)?;
            ways.push(Way {
                source,
                destination,
                forward: named(self.walk(near, destination, 0)?),
                back: named(self.walk(far, source, 0)?),
            });
        }
        Ok(ways)
    }

    /// The address that the kernel of a node takes for packets to `destination` unless it is told another: the one in
    /// the network of the next hop.
    fn source_towards(&self, node: usize, destination: IpAddr) -> Result<IpAddr, Error> {
        let own = match self.decide(node, destination)? {
            Decision::Link { link, next_hop } => self
                .addresses
                .iter()
                .find(|own| own.node == node && own.link == link && own.net.contains(&next_hop))
                .map(|own| own.net.addr()),
            Decision::Tunnel(tunnel) => {
                self.tunnels[tunnel].ends.iter().find(|end| end.node == node).map(|end| end.inner.addr())
            }
        };
        own.ok_or_else(|| {
            Error::Spec(format!(
                "node \"{}\" has no address in the network of its next hop to {destination}",
                self.nodes[node].name
            ))
        })
    }

    /// What [`Topology::default_taps`] leaves out of `ways`, in its order.
    ///
    /// # Errors
    /// [`Error::Spec`] if a change names no link.
    pub fn add_taps_of<'a>(
        &self,
        ways: impl IntoIterator<Item = &'a Way>,
        timeline: &[LinkChange],
        taps: &mut Vec<String>,
    ) -> Result<(), Error> {
        let impaired = self.impaired(timeline)?;
        for path in ways.into_iter().flat_map(|way| [&way.forward, &way.back]) {
            add_taps(path, &impaired, taps);
        }
        Ok(())
    }

    pub(crate) fn impaired(&self, timeline: &[LinkChange]) -> Result<BTreeSet<String>, Error> {
        timeline.iter().map(|change| Ok(self.direction_name(self.direction(&change.link)?))).collect()
    }

    /// Those of `taps` that a packet from `from` to `to` passes, in the order in which it does.
    ///
    /// # Errors
    /// [`Error::Spec`] as [`Topology::path`].
    pub fn tapped_path(&self, from: &str, to: &str, taps: &[String]) -> Result<Vec<String>, Error> {
        let mut path = self.path(from, to)?;
        path.retain(|direction| taps.contains(direction));
        Ok(path)
    }

    fn walk(&self, from: usize, destination: IpAddr, depth: usize) -> Result<Vec<Direction>, Error> {
        match self.walk_as_far(from, destination, depth)? {
            (path, None) => Ok(path),
            (_, Some((node, destination))) => Err(self.no_route(node, destination)),
        }
    }

    /// As far as routes lead: the way, and where there is none further the node and what it knows no route to.
    pub(crate) fn walk_as_far(
        &self,
        from: usize,
        destination: IpAddr,
        depth: usize,
    ) -> Result<(Vec<Direction>, Option<Stuck>), Error> {
        let mut path = Vec::new();
        let mut node = from;
        for _ in 0..MAX_HOPS {
            if self.has_address(node, destination) {
                return Ok((path, None));
            }
            let Some(decision) = self.found(node, destination) else {
                return Ok((path, Some((node, destination))));
            };
            match decision {
                Decision::Link { link, next_hop } => {
                    let across = self.across_segment(node, link, next_hop).ok_or_else(|| {
                        Error::Spec(format!(
                            "node \"{}\" expects {next_hop} behind its interface {}, where no node has it",
                            self.nodes[node].name,
                            self.interface_to(self.links[link].other_end(node).unwrap_or(node))
                        ))
                    })?;
                    node = across.last().map_or(node, |direction| direction.to);
                    path.extend(across);
                }
                Decision::Tunnel(tunnel) if depth < self.tunnels.len() => {
                    let [a, b] = self.tunnels[tunnel].ends;
                    let far = if a.node == node { b } else { a };
                    let (below, stuck) = self.walk_as_far(node, far.outer.into(), depth + 1)?;
                    path.extend(below);
                    if stuck.is_some() {
                        return Ok((path, stuck));
                    }
                    node = far.node;
                }
                Decision::Tunnel(tunnel) => {
                    return Err(Error::Spec(format!(
                        "tunnel \"{}\": the route to its own other end leads into a tunnel again",
                        self.tunnels[tunnel].name
                    )));
                }
            }
        }
        Err(Error::Spec(format!(
            "the routes from \"{}\" to {destination} lead in a circle",
            self.nodes[from].name
        )))
    }

    pub(crate) fn has_address(&self, node: usize, address: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.node == node && own.net.addr() == address)
            || self.tunnels.iter().any(|t| t.ends.iter().any(|e| e.node == node && e.inner.addr() == address))
    }

    /// What the node does with packets to `destination`.
    pub(crate) fn decide(&self, node: usize, destination: IpAddr) -> Result<Decision, Error> {
        self.found(node, destination).ok_or_else(|| self.no_route(node, destination))
    }

    fn no_route(&self, node: usize, destination: IpAddr) -> Error {
        Error::Spec(format!("node \"{}\" has no route to {destination}", self.nodes[node].name))
    }

    /// The longest matching prefix among the node's connected prefixes, tunnels and routes.
    fn found(&self, node: usize, destination: IpAddr) -> Option<Decision> {
        let connected = self
            .addresses
            .iter()
            .filter(|own| own.node == node)
            .map(|own| (own.net, Some(Decision::Link { link: own.link, next_hop: destination })));
        let tunnels = self.tunnels.iter().enumerate().flat_map(|(index, tunnel)| {
            let own = tunnel.ends.into_iter().filter(move |end| end.node == node);
            own.map(move |end| (end.inner, Some(Decision::Tunnel(index))))
        });
        let routes = self.routes.iter().filter(|route| route.node == node).filter_map(|route| {
            let decision = match route.hop {
                NextHop::Tunnel(index) => Some(Decision::Tunnel(index)),
                NextHop::Nowhere => None,
                NextHop::Via(via) => {
                    let own = self.addresses.iter().find(|own| own.node == node && own.net.contains(&via))?;
                    Some(Decision::Link { link: own.link, next_hop: via })
                }
            };
            Some((route.to, decision))
        });
        connected
            .chain(tunnels)
            .chain(routes)
            .filter(|(net, _)| net.contains(&destination))
            .max_by_key(|(net, _)| net.prefix_len())
            .and_then(|(_, decision)| decision)
    }

    /// The directions from `node` out on `link` to the node that has `address`, through any switches between.
    fn across_segment(&self, node: usize, link: usize, address: IpAddr) -> Option<Vec<Direction>> {
        let target = self
            .segment(node, link)
            .into_iter()
            .find(|path| path.last().is_some_and(|last| self.interface_has(last.to, last.link, address)))?;
        Some(target)
    }

    fn interface_has(&self, node: usize, link: usize, address: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.node == node && own.link == link && own.net.addr() == address)
    }

    /// The ways from `node` out on `link` to every interface of the same Ethernet: one path for each,
    /// shortest first.
    pub(crate) fn segment(&self, node: usize, link: usize) -> Vec<Vec<Direction>> {
        let mut found = Vec::new();
        let mut visited = BTreeSet::from([node]);
        let mut queue = VecDeque::new();
        if let Some(to) = self.links[link].other_end(node) {
            queue.push_back(vec![Direction { link, from: node, to }]);
        }
        while let Some(path) = queue.pop_front() {
            let Some(&last) = path.last() else { continue };
            if !visited.insert(last.to) {
                continue;
            }
            if !self.nodes[last.to].switch {
                found.push(path);
                continue;
            }
            for (link, next) in self.links.iter().enumerate() {
                if let Some(to) = next.other_end(last.to) {
                    let mut longer = path.clone();
                    longer.push(Direction { link, from: last.to, to });
                    queue.push_back(longer);
                }
            }
        }
        found
    }
}
