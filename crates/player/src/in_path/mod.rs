//! What stands in the way of packets by the plan: in-path nodes (`in_path`) and single losses (`drops`). From flows by
//! name to what the network knows.

mod drops;
mod log;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use netlab::in_path::{self, Found, MessageFlow, Messages};
use netlab::{InPathContext, InPathLog, InPathNode, InPathSpec, Network, PacketPattern, RunClock};
use transports::Carriage;
use workload::Beginning;

pub use self::drops::Drops;
use self::drops::opening_pattern;
pub use self::log::write;
use crate::ends::{address, port, source_port};
use crate::failure::{Failure, Result};
use crate::flows::Flow;
use crate::plan::{PacketKind, Run};

/// The in-path nodes of a run at work.
pub struct InPathNodes(Vec<InPathNode>);

impl InPathNodes {
    /// Starts all of them, in links that the network has for them already.
    ///
    /// # Errors
    /// One sentence that names the node, the rule and what would be right.
    pub fn start(run: &Run, flows: &[Flow], network: &Network, clock: RunClock) -> Result<InPathNodes> {
        let openings = |id: &str, packet: &str| opening(run, flows, id, packet);
        let nodes = run.in_path.iter().map(|spec| {
            let context = InPathContext {
                seed: run.seed,
                flows: message_flows(spec, run, flows, network)?,
                openings: &openings,
                retry_tag: transports::retry_tag,
            };
            Ok(InPathNode::start(network, clock, spec, context)?)
        });
        nodes.collect::<Result<_>>().map(InPathNodes)
    }

    /// Ends them; what each has done.
    ///
    /// # Errors
    /// The kernel refused something meanwhile.
    pub fn stop(self) -> Result<Vec<InPathLog>> {
        self.0.into_iter().map(|node| Ok(node.stop()?)).collect()
    }
}

/// Link directions that lead into the nodes or out of them: what passes is captured on either side of each.
pub fn links(run: &Run) -> impl Iterator<Item = String> {
    run.in_path.iter().flat_map(|InPathSpec { node, between: [a, b], .. }| {
        [format!("{a}>{node}"), format!("{node}>{b}"), format!("{b}>{node}"), format!("{node}>{a}")]
    })
}

/// Refuses changes of links that are no more, because a node stands in them.
///
/// # Errors
/// One sentence that names the link and the one that is there now.
pub fn check_links(run: &Run) -> Result<()> {
    let named = run.timeline.iter().map(|change| &change.link).chain(run.drops.iter().map(|drop| &drop.link));
    for link in named {
        for InPathSpec { node, between: [a, b], .. } in &run.in_path {
            for (from, to) in [(a, b), (b, a)] {
                if *link == format!("{from}>{to}") {
                    return Err(Failure::new(format!(
                        "the in-path node \"{node}\" stands in the link of \"{link}\"; name \"{from}>{node}\" instead"
                    )));
                }
            }
        }
    }
    Ok(())
}

/// How the packets that open sessions of a flow are told.
fn opening(run: &Run, flows: &[Flow], id: &str, packet: &str) -> std::result::Result<PacketPattern, String> {
    let kind = match packet {
        "syn" => PacketKind::Syn,
        "syn-ack" => PacketKind::SynAck,
        _ => return Err(format!("has \"{packet}\" for `packet`; it must be \"syn\" or \"syn-ack\"")),
    };
    opening_pattern(run, flows, id, kind).map_err(|failure| format!("of flow \"{id}\": {failure}"))
}

/// The flows of whose messages the rules of a node speak.
fn message_flows(
    spec: &InPathSpec,
    run: &Run,
    flows: &[Flow],
    network: &Network,
) -> Result<Vec<MessageFlow>> {
    let spoken_of =
        spec.rules.iter().filter_map(|rule| rule.conditions.get("message")?.get("flow")?.as_str());
    let ids: BTreeSet<&str> = spoken_of.collect();
    let found = ids.into_iter().map(|id| {
        message_flow(id, run, flows, network).map_err(|failure| {
            Failure::new(format!("in-path node \"{}\": the messages of flow \"{id}\": {failure}", spec.node))
        })
    });
    found.collect()
}

fn message_flow(id: &str, run: &Run, flows: &[Flow], network: &Network) -> Result<MessageFlow> {
    let index = run.flows.iter().position(|flow| flow.id == id);
    let index = index.ok_or_else(|| Failure::new("the run has no flow of this id"))?;
    let spec = &run.flows[index];
    let framing = flows[index].framing().map_err(Failure::new)?;
    let own_port = if framing.many_sessions { 0 } else { source_port(index) };
    Ok(MessageFlow {
        id: id.to_owned(),
        carriage: match framing.carriage {
            Carriage::Datagrams => in_path::Carriage::Datagrams,
            Carriage::Stream => in_path::Carriage::Stream,
            Carriage::Chunks => in_path::Carriage::Chunks,
            Carriage::Rasta => in_path::Carriage::Rasta,
        },
        source: SocketAddr::new(address(network, &spec.from)?, own_port),
        destination: SocketAddr::new(address(network, &spec.to)?, port(spec, index)),
        messages: Box::new(OfWorkload(framing.messages)),
    })
}

/// The messages of an application, as the network wants to be told of them.
struct OfWorkload(Box<dyn workload::Messages>);

impl Messages for OfWorkload {
    fn begins(&self, head: &[u8]) -> Found {
        match self.0.begins(head) {
            Beginning::Needs(bytes) => Found::Needs(bytes),
            Beginning::Message { bytes, number } => {
                Found::Message { bytes: bytes.into(), number: number.map(u64::from) }
            }
            Beginning::Stranger => Found::Stranger,
        }
    }
}

/// Whether rules of the run may alter what flows carry, or who sends it.
pub fn meddles(run: &Run) -> bool {
    run.in_path.iter().any(|node| !node.rules.is_empty())
}
