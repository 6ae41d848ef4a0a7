//! Where a flow's ends are: addresses, ports, and the seed of its own randomness.

use std::net::IpAddr;

use netlab::Network;
use workload::FlowSpec;

use crate::failure::{Failure, Result};
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

/// The ports of each flow's further sessions, behind those from which flows send: of each flow how many it may have.
///
/// # Errors
/// There are not as many.
pub fn further_ports(sessions: &[u32]) -> Result<Vec<Vec<u16>>> {
    let flows = sessions.len() as u32;
    let mut next = u32::from(FIRST_SOURCE_PORT) + flows;
    let mut ports = Vec::with_capacity(sessions.len());
    for further in sessions {
        let end = next.saturating_add(*further);
        ports.push((next..end).map_while(|port| u16::try_from(port).ok()).collect());
        next = end;
    }
    let most = u32::from(u16::MAX) + 1;
    if next > most {
        return Err(Failure::new(format!(
            "its flows may have {} further sessions, and there are ports for {}; give them fewer with `reopen_most`",
            next - u32::from(FIRST_SOURCE_PORT) - flows,
            most - u32::from(FIRST_SOURCE_PORT) - flows
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_further_session_has_a_port_that_no_other_session_has() {
        let found = further_ports(&[2, 0, 1]).expect("there are as many");
        assert_eq!(found, [vec![40_003, 40_004], vec![], vec![40_005]]);
    }

    #[test]
    fn as_many_as_there_are_ports_and_no_more() {
        let found = further_ports(&[25_535]).expect("there are as many");
        assert_eq!((found[0].len(), found[0].last()), (25_535, Some(&65_535)));
        let failure = further_ports(&[25_536]).expect_err("one is lacking");
        assert_eq!(
            failure.to_string(),
            "its flows may have 25536 further sessions, and there are ports for 25535; give them fewer with \
             `reopen_most`"
        );
    }
}
