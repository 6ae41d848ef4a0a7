//! Changes of routes over time: the entries of a plan's `route_changes`, and the checks of each.

use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize};

use crate::Error;
use crate::resolve::resolve_via;
use crate::topology::{NextHop, Route, Topology};

/// From `at_s` on a node sends what goes `to` a prefix by another next hop, or knows no way there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteChange {
    /// Instant in virtual seconds from the start of the run.
    pub at_s: f64,
    /// The node whose routing table changes.
    pub node: String,
    /// A prefix, an address, or `default` (of the next hop's family; IPv4 without one).
    pub to: String,
    /// Next hop: an address in one of the node's own prefixes; `null` in JSON: the node knows no way and says so to who
    /// sends there.
    #[serde(deserialize_with = "given")]
    pub via: Option<String>,
}

/// A key that has to be there, though it may be `null`.
fn given<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(d)
}

impl RouteChange {
    /// Where the entry stands, as the beginning of a sentence.
    fn place(&self) -> String {
        format!("route change at {} s, node \"{}\" to \"{}\"", self.at_s, self.node, self.to)
    }
}

impl Topology {
    /// Checks a whole list of route changes against this network: order, nodes, next hops, and that no change leads
    /// packets between the ends of `flows` (pairs of node names) round in a circle.
    ///
    /// # Errors
    /// [`Error::Spec`] with one sentence about the first mistake.
    pub fn check_route_changes(&self, changes: &[RouteChange], flows: &[(&str, &str)]) -> Result<(), Error> {
        let mut last_s = 0.0;
        for (index, change) in changes.iter().enumerate() {
            let route = self.changed_route(change)?;
            if change.at_s < last_s {
                return Err(Error::Spec(format!(
                    "{}: the entry before it is at {last_s} s; sort the route changes by at_s",
                    change.place()
                )));
            }
            last_s = change.at_s;
            for other in changes[..index].iter().rev().take_while(|other| other.at_s >= change.at_s) {
                let known = self.changed_route(other)?;
                if (known.node, known.to) == (route.node, route.to) {
                    return Err(Error::Spec(format!(
                        "{}: it is there twice; a node has one route to a prefix",
                        change.place()
                    )));
                }
            }
        }
        self.refuse_circles(&self.states(changes)?, flows)
    }

    /// The route that a change gives its node.
    pub(crate) fn changed_route(&self, change: &RouteChange) -> Result<Route, Error> {
        let here = change.place();
        let wrong = |sentence: String| Err(Error::Spec(format!("{here}: {sentence}")));
        if !(change.at_s.is_finite() && change.at_s >= 0.0) {
            return wrong("at_s must be a number of seconds from 0 on".into());
        }
        let node = self.node_index(&change.node).map_err(|e| Error::Spec(format!("{here}: {e}")))?;
        if self.nodes[node].switch {
            return wrong("the node is a switch, which has no routes".into());
        }
        let hop = match &change.via {
            Some(via) => NextHop::Via(resolve_via(&here, via, node, self)?),
            None => NextHop::Nowhere,
        };
        let to = match (change.to.as_str(), hop) {
            ("default", NextHop::Via(IpAddr::V6(_))) => IpNet::new_assert(IpAddr::V6(0.into()), 0),
            ("default", _) => IpNet::new_assert(IpAddr::V4(0.into()), 0),
            (text, _) => match (text.parse::<IpNet>(), text.parse::<IpAddr>()) {
                (Ok(net), _) => net.trunc(),
                (_, Ok(address)) => address.into(),
                _ => {
                    return wrong(format!(
                        "\"{text}\" is neither a prefix such as 10.0.0.0/24 nor an address; write one, or default"
                    ));
                }
            },
        };
        if let NextHop::Via(via) = hop
            && via.is_ipv4() != to.addr().is_ipv4()
        {
            return wrong(format!("the next hop {via} is of the other IP version"));
        }
        let own = self.addresses.iter().filter(|own| own.node == node).map(|own| own.net.trunc());
        let inner = self.tunnels.iter().flat_map(|tunnel| tunnel.ends).filter(|end| end.node == node);
        if own.chain(inner.map(|end| end.inner.trunc())).any(|net| net == to) {
            return wrong("the node is in this prefix itself; what goes there needs no next hop".into());
        }
        Ok(Route { node, to, hop })
    }
}
