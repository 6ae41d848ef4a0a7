//! What the plan asks of the hosts of a run: segmentation offload, and the initial windows of their TCP.

use std::collections::BTreeSet;

use netlab::Network;
use transports::InitialWindow;

use crate::failure::{Failure, Result};
use crate::flows::Flow;
use crate::plan::Run;

/// Sets the hosts as the plan asks, before anything is captured or sent.
///
/// # Errors
/// One sentence: what is asked contradicts itself, or the kernel refuses.
pub fn set(run: &Run, flows: &[Flow], network: &Network) -> Result<()> {
    if run.offload {
        run.hosts().into_iter().try_for_each(|host| {
            check_damage(run, host)?;
            Ok::<_, Failure>(network.set_offload(host)?)
        })?;
    }
    set_initial_windows(run, flows, network)
}

/// What a link damages and a host merges right behind it nobody can tell apart in a capture of the link.
fn check_damage(run: &Run, host: &str) -> Result<()> {
    let damages = |link: &str| link.split_once('>').is_some_and(|(_, to)| to == host);
    let mut changes = run.timeline.iter().filter(|change| damages(&change.link));
    match changes.find(|change| change.corrupt.is_some_and(|probability| probability > 0.0)) {
        None => Ok(()),
        Some(change) => Err(Failure::new(format!(
            "the link \"{}\" damages packets and leads to a host with `offload`, which merges them; put `corrupt` on \
             the router before it",
            change.link
        ))),
    }
}

/// A window belongs to the route between two hosts: all that TCP carries there has it.
fn set_initial_windows(run: &Run, flows: &[Flow], network: &Network) -> Result<()> {
    let by_route: Vec<_> = run
        .flows
        .iter()
        .zip(flows)
        .map(|(spec, flow)| (spec, flow.initial_window()))
        .filter(|(_, window)| *window != InitialWindow::Own)
        .collect();
    for (spec, window) in &by_route {
        let InitialWindow::Segments(segments) = *window else { continue };
        let ends = BTreeSet::from([&spec.from, &spec.to]);
        if let Some(change) = run.route_changes.iter().find(|change| ends.contains(&change.node)) {
            return Err(Failure::new(format!(
                "flow {}: `initial_window_segments` is part of the routes of its hosts, and a route of \"{}\" changes; \
                 leave one of them out",
                spec.id, change.node
            )));
        }
        let other = by_route
            .iter()
            .find(|(other, its)| its != window && BTreeSet::from([&other.from, &other.to]) == ends);
        if let Some((other, _)) = other {
            return Err(Failure::new(format!(
                "flow {}: `initial_window_segments` is {segments}, and flow {} between the same hosts has another \
                 initial window; a window is that of their route, so give both the same",
                spec.id, other.id
            )));
        }
        network.set_initial_window(&spec.from, &spec.to, segments)?;
    }
    Ok(())
}
