//! Where a flow's ends are: addresses, ports, and the seed of its own randomness.

use std::net::IpAddr;

use netlab::Network;
use workload::FlowSpec;

use crate::failure::{Failure, Result};
use crate::flows::Flow;
use crate::plan::{FIRST_PORT, FIRST_SOURCE_PORT};

/// What is added to the ports of a run's first flow; its plan was checked to have at most
/// [`MOST_FLOWS`](crate::plan::MOST_FLOWS), which a port number holds.
fn number(index: usize) -> u16 {
    index as u16
}

/// The port from which a flow's sender sends.
pub fn source_port(index: usize) -> u16 {
    FIRST_SOURCE_PORT + number(index)
}

/// The ports of each flow's further sessions, behind those from which flows send.
///
/// # Errors
/// There are not as many.
pub fn further_ports(flows: &[Flow]) -> Result<Vec<Vec<u16>>> {
    let mut next = u32::from(FIRST_SOURCE_PORT) + flows.len() as u32;
    let mut ports = Vec::with_capacity(flows.len());
    for flow in flows {
        let end = next.saturating_add(flow.further_sessions());
        ports.push((next..end).map_while(|port| u16::try_from(port).ok()).collect());
        next = end;
    }
    let most = u32::from(u16::MAX) + 1;
    if next > most {
        return Err(Failure::new(format!(
            "its flows may have {} further sessions, and there are ports for {}; give them fewer with `reopen_most`",
            next - u32::from(FIRST_SOURCE_PORT) - flows.len() as u32,
            most - u32::from(FIRST_SOURCE_PORT) - flows.len() as u32
        )));
    }
    Ok(ports)
}

/// The port at which a flow's session is waited for.
pub fn port(spec: &FlowSpec, index: usize) -> u16 {
    spec.port.unwrap_or_else(|| FIRST_PORT + number(index))
}

/// What a flow's own randomness starts from: flows of one run send different bytes. The constant is that of splitmix64
/// (Steele et al. 2014).
pub fn flow_seed(run_seed: u64, index: usize) -> u64 {
    run_seed ^ (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The address by which a node is reached.
pub fn address(network: &Network, node: &str) -> Result<IpAddr> {
    let found = network.node(node)?.address();
    found.ok_or_else(|| {
        Failure::new(format!("node \"{node}\" has no address, so nothing can be sent from or to it"))
    })
}
