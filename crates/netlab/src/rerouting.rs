//! Ways while routes change: which links packets pass in any state of the routes, and which one after which.
//!
//! A packet that is under way when routes change goes on by what the router at which it then is knows. So every node
//! counts that a packet may be at, and not only those on the way from its first end.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Serialize;

use crate::route_change::RouteChange;
use crate::routing::{Way, add_taps};
use crate::topology::{Direction, Topology};
use crate::{Error, LinkChange};

/// A network between two changes of its routes.
pub(crate) struct State {
    /// From when on it is so, in virtual seconds.
    pub from_s: f64,
    pub topology: Topology,
}

/// From when to when something is so, in virtual seconds; `None` is the end of the run.
pub type Spans = Vec<(f64, Option<f64>)>;

/// Which tapped link direction packets of a pair of addresses pass next behind another one, and when they do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hop {
    /// Address of who sends them.
    pub source: IpAddr,
    /// Address of whom they are for.
    pub destination: IpAddr,
    /// Link direction, `a>b`.
    pub tap: String,
    /// The one behind it.
    pub next: String,
    /// From when to when a packet that passes `tap` goes to `next`, in virtual seconds; `None` is the end of the run.
    /// Empty: `tap` leads to a switch, from which it may at any time go there or elsewhere.
    pub during_s: Spans,
}

impl Topology {
    /// The networks that changes make of this one, this one first: one more for each instant.
    pub(crate) fn states(&self, changes: &[RouteChange]) -> Result<Vec<State>, Error> {
        let mut last = State { from_s: 0.0, topology: self.clone() };
        let mut states = Vec::new();
        for change in changes {
            let route = self.changed_route(change)?;
            if states.is_empty() || change.at_s > last.from_s {
                let topology = last.topology.clone();
                states.push(std::mem::replace(&mut last, State { from_s: change.at_s, topology }));
            }
            let routes = &mut last.topology.routes;
            match routes.iter_mut().find(|known| (known.node, known.to) == (route.node, route.to)) {
                Some(known) => known.hop = route.hop,
                None => routes.push(route),
            }
        }
        states.push(last);
        Ok(states)
    }

    /// Refuses states of the routes that lead packets between flows' ends round in a circle, wherever one is.
    pub(crate) fn refuse_circles(&self, states: &[State], flows: &[(&str, &str)]) -> Result<(), Error> {
        for (from, to) in flows {
            for (near, far) in [(from, to), (to, from)] {
                for destination in [vec![self.address_of(far)?], self.further_addresses_of(far)?].concat() {
                    reached(states, self.node_index(near)?, destination)?;
                }
            }
        }
        Ok(())
    }

    /// Adds to `taps` what a certificate needs of `ways` beside what they need of this network's own routes: the same
    /// of all ways on which `changes` of routes may lead their packets.
    ///
    /// # Errors
    /// [`Error::Spec`] if a change of a link or of a route is not sound.
    pub fn add_taps_of_changed<'a>(
        &self,
        ways: impl IntoIterator<Item = &'a Way>,
        (timeline, changes): (&[LinkChange], &[RouteChange]),
        taps: &mut Vec<String>,
    ) -> Result<(), Error> {
        let impaired = self.impaired(timeline)?;
        let states = self.states(changes)?;
        for way in ways {
            for (source, destination) in [(way.source, way.destination), (way.destination, way.source)] {
                for walk in walks(&states, self.owner_of(source)?, destination)?.into_iter().flatten() {
                    add_taps(&self.names(&walk), &impaired, taps);
                }
            }
        }
        Ok(())
    }

    /// Which of `taps` follows which on `ways`, both forth and back, and when, while `changes` are made to the routes.
    ///
    /// # Errors
    /// [`Error::Spec`] if a change is not sound.
    pub fn hops<'a>(
        &self,
        ways: impl IntoIterator<Item = &'a Way>,
        changes: &[RouteChange],
        taps: &[String],
    ) -> Result<Vec<Hop>, Error> {
        let states = self.states(changes)?;
        let mut hops = Vec::new();
        for way in ways {
            for (source, destination) in [(way.source, way.destination), (way.destination, way.source)] {
                let walks = walks(&states, self.owner_of(source)?, destination)?;
                for ((tap, next), during_s) in self.following(&states, &walks, taps) {
                    hops.push(Hop { source, destination, tap, next, during_s });
                }
            }
        }
        hops.dedup();
        Ok(hops)
    }

    /// The link directions by which packets from node `from` reach the first address of `to` in any state of the routes.
    ///
    /// # Errors
    /// [`Error::Spec`] if a change is not sound or a node unknown or without an address.
    pub fn last_links(
        &self,
        from: &str,
        to: &str,
        changes: &[RouteChange],
    ) -> Result<BTreeSet<String>, Error> {
        let (near, destination) = (self.node_index(from)?, self.address_of(to)?);
        let states = self.states(changes)?;
        let walks = walks(&states, near, destination)?.into_iter().flatten();
        let last = walks.filter_map(|walk| walk.last().copied());
        let arriving = last.filter(|direction| self.has_address(direction.to, destination));
        Ok(arriving.map(|direction| self.direction_name(direction)).collect())
    }

    /// By two taps that follow each other on any of the walks of each state: when they do.
    fn following(
        &self,
        states: &[State],
        walks: &[Vec<Vec<Direction>>],
        taps: &[String],
    ) -> BTreeMap<(String, String), Spans> {
        let tapped = |walk: &[Direction]| -> Vec<Direction> {
            walk.iter().copied().filter(|it| taps.contains(&self.direction_name(*it))).collect()
        };
        let arriving: BTreeSet<Direction> = walks
            .iter()
            .flatten()
            .flat_map(|walk| tapped(walk))
            .filter(|it| !self.nodes[it.to].switch)
            .collect();
        let mut found: BTreeMap<(Direction, Direction), BTreeSet<usize>> = BTreeMap::new();
        for (state, walks) in walks.iter().enumerate() {
            for walk in walks {
                for pair in tapped(walk).windows(2).filter(|pair| self.nodes[pair[0].to].switch) {
                    found.entry((pair[0], pair[1])).or_default().insert(state);
                }
            }
            // What comes to a router may have been sent there in another state.
            for &tap in &arriving {
                let onwards = walks.iter().find(|walk| walk.first().is_some_and(|it| it.from == tap.to));
                if let Some(next) = onwards.and_then(|walk| tapped(walk).first().copied()) {
                    found.entry((tap, next)).or_default().insert(state);
                }
            }
        }
        let during = |tap: Direction, those: &BTreeSet<usize>| {
            if !self.nodes[tap.to].switch {
                return spans(states, those);
            }
            // A frame in a switch goes where the router before it sent it, whatever that one says meanwhile.
            let ways = found.keys().filter(|(other, _)| *other == tap).count();
            if ways == 1 { vec![(0.0, None)] } else { Vec::new() }
        };
        found
            .iter()
            .map(|(&(tap, next), those)| {
                ((self.direction_name(tap), self.direction_name(next)), during(tap, those))
            })
            .collect()
    }

    fn names(&self, walk: &[Direction]) -> Vec<String> {
        walk.iter().map(|direction| self.direction_name(*direction)).collect()
    }

    fn owner_of(&self, address: IpAddr) -> Result<usize, Error> {
        let own = self.addresses.iter().find(|own| own.net.addr() == address).map(|own| own.node);
        own.ok_or_else(|| Error::Spec(format!("no node has the address {address}")))
    }
}

/// When the network is in one of `those` states.
fn spans(states: &[State], those: &BTreeSet<usize>) -> Spans {
    let mut spans = Spans::new();
    for (place, state) in states.iter().enumerate().filter(|(place, _)| those.contains(place)) {
        let until_s = states.get(place + 1).map(|next| next.from_s);
        if until_s == Some(state.from_s) {
            continue;
        }
        match spans.last_mut() {
            Some(before) if before.1 == Some(state.from_s) => before.1 = until_s,
            _ => spans.push((state.from_s, until_s)),
        }
    }
    spans
}

/// For each state the walks to `destination` from every node at which a packet from `from` may be, the first one's
/// first; each as far as routes lead it.
fn walks(states: &[State], from: usize, destination: IpAddr) -> Result<Vec<Vec<Vec<Direction>>>, Error> {
    let nodes = reached(states, from, destination)?;
    let others = nodes.into_iter().filter(|node| *node != from);
    let starts: Vec<usize> = std::iter::once(from).chain(others).collect();
    let walk = |state: &State| {
        starts.iter().map(|node| Ok(state.topology.walk_as_far(*node, destination, 0)?.0)).collect()
    };
    states.iter().map(walk).collect()
}

/// The nodes at which a packet from `from` to `destination` may be in any state.
fn reached(states: &[State], from: usize, destination: IpAddr) -> Result<BTreeSet<usize>, Error> {
    let mut nodes = BTreeSet::from([from]);
    let mut waiting = vec![from];
    while let Some(node) = waiting.pop() {
        for state in states {
            let walk = state.topology.walk_as_far(node, destination, 0);
            let (walk, _) =
                walk.map_err(|e| Error::Spec(format!("after the route changes at {} s: {e}", state.from_s)))?;
            for direction in walk {
                if !state.topology.nodes[direction.to].switch && nodes.insert(direction.to) {
                    waiting.push(direction.to);
                }
            }
        }
    }
    Ok(nodes)
}
