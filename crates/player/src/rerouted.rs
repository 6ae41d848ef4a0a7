//! What changes of routes mean for what a run looks at: its taps, and the link by which a flow's data arrive.

use netlab::{Network, Way};
use workload::FlowSpec;

use crate::failure::Result;
use crate::plan::Run;

/// The ways of all pairs of addresses whose packets changes of routes may lead elsewhere: none in a run without changes.
pub fn ways(run: &Run, further: &[(String, Way)], network: &Network) -> Result<Vec<Way>> {
    if run.route_changes.is_empty() {
        return Ok(Vec::new());
    }
    let mut ways = Vec::new();
    for (from, to) in run.pairs() {
        ways.push(network.topology().first_way(from, to)?);
    }
    ways.extend(further.iter().map(|(_, way)| way.clone()));
    let mut each: Vec<Way> = Vec::new();
    for way in ways {
        if !each.contains(&way) {
            each.push(way);
        }
    }
    Ok(each)
}

/// Whether what arrives of a flow over its first way does so by the same link all the time.
pub fn last_link_stays(run: &Run, flow: &FlowSpec, network: &Network) -> Result<bool> {
    if run.route_changes.is_empty() {
        return Ok(true);
    }
    Ok(network.topology().last_links(&flow.from, &flow.to, &run.route_changes)?.len() <= 1)
}
