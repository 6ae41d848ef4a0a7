//! Numbers and Ethernet addresses of interfaces.

use crate::topology::{Direction, Topology};

/// Interfaces are numbered from here, above those that the kernel makes by itself (`lo`, `sit0` and the
/// like).
pub(super) const FIRST_INTERFACE: u32 = 100;

/// Number of the sending node's interface. The two ends of a link differ: the kernel takes a device whose
/// peer has the same number for a stacked one and notices its carrier up to a second late.
pub(crate) fn interface_index(topology: &Topology, direction: Direction) -> u32 {
    let end = u32::from(topology.links[direction.link].ends[1] == direction.from);
    FIRST_INTERFACE + 2 * direction.link as u32 + end
}

pub(crate) fn tunnel_index(topology: &Topology, tunnel: usize) -> u32 {
    FIRST_INTERFACE + 2 * topology.links.len() as u32 + tunnel as u32
}

pub(crate) fn bridge_index(topology: &Topology) -> u32 {
    FIRST_INTERFACE + 2 * topology.links.len() as u32 + topology.tunnels.len() as u32
}

/// A locally administered Ethernet address that states the interface's number.
pub(crate) fn ethernet_address(interface: u32) -> Vec<u8> {
    let [a, b, c, d] = interface.to_be_bytes();
    vec![0x02, 0x00, a, b, c, d]
}
