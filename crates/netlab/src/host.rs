//! What the ends of a flow are like beside their links: segmentation offload, and TCP's initial window.

use std::net::IpAddr;

use crate::build::messages;
use crate::build::numbers::{interface_index, tunnel_index};
use crate::netlink::Request;
use crate::offload::Offloads;
use crate::routing::Decision;
use crate::topology::Direction;
use crate::{Error, Network};

impl Network {
    /// Has the interfaces of a host on all of its links cut segments as they leave, and merge packets that come at one
    /// instant into segments before anything in the host sees them (generic segmentation and receive offload). On the
    /// links themselves no packet is longer than before, and a capture of what arrives at the host has the packets of
    /// the link. Must come before such a capture starts.
    ///
    /// # Errors
    /// [`Error::Spec`] if there is no such node or it is a switch, [`Error::System`] if the kernel refuses.
    pub fn set_offload(&self, node: &str) -> Result<(), Error> {
        let index = self.topology().node_index(node)?;
        if self.topology().nodes[index].switch {
            return Err(Error::Spec(format!("node \"{node}\" is a switch; only a host has segments to cut")));
        }
        let interfaces: Vec<String> = self
            .topology()
            .neighbours(index)
            .map(|neighbour| self.topology().interface_to(neighbour))
            .collect();
        let offloads = self.node(node)?.namespace().enter(Offloads::open)??;
        for interface in &interfaces {
            offloads.switch_on(interface, &offloads.host_features(interface)?)?;
        }
        self.remember_merging(index);
        Ok(())
    }

    /// Gives TCP between two nodes an initial window of so many segments, at either end: a route of its own to each
    /// address of the other end, by the next hop that leads there anyway, with the metric `initcwnd` (ip-route(8)).
    ///
    /// # Errors
    /// [`Error::Spec`] if a node is unknown, has no address or no route to the other, [`Error::System`] if the kernel
    /// refuses.
    pub fn set_initial_window(&self, one: &str, other: &str, segments: u32) -> Result<(), Error> {
        for (from, to) in [(one, other), (other, one)] {
            let node = self.topology().node_index(from)?;
            let addresses =
                [vec![self.topology().address_of(to)?], self.topology().further_addresses_of(to)?].concat();
            let routes = addresses
                .into_iter()
                .map(|address| self.route_with_window(node, address, segments))
                .collect::<Result<Vec<_>, Error>>()?;
            self.netlink(node).run(routes)?;
        }
        Ok(())
    }

    fn route_with_window(&self, node: usize, to: IpAddr, segments: u32) -> Result<Request, Error> {
        Ok(match self.topology().decide(node, to)? {
            Decision::Link { next_hop, .. } if next_hop != to => {
                messages::windowed_via(to, next_hop, segments)
            }
            Decision::Link { link, .. } => {
                let far = self.topology().links[link].other_end(node).unwrap_or(node);
                let direction = Direction { link, from: node, to: far };
                messages::windowed_by(to, interface_index(self.topology(), direction), segments)
            }
            Decision::Tunnel(tunnel) => {
                messages::windowed_by(to, tunnel_index(self.topology(), tunnel), segments)
            }
        })
    }
}
