//! Packets that vanish by script (the plan's `drops`): from flows and kinds to what the network is to look for.

use std::sync::Arc;

use netlab::{ByteMatch, Network, PacketPattern, RunClock, ScriptedDrop, ScriptedDrops, Way};
use transports::{HeaderByte, Opening};
use workload::FlowSpec;

use crate::ends::port;
use crate::failure::{Failure, Result};
use crate::flows::Flow;
use crate::plan::{Drop, PacketKind, Run};
use crate::record::DropResult;

/// The losses of a run that are waited for.
pub struct Drops {
    asked: Vec<Drop>,
    waiting: ScriptedDrops,
}

impl Drops {
    /// Finds out what the plan's names mean, and sets all up. `ways` are the further ways of flows.
    ///
    /// # Errors
    /// One sentence that names the flow and what would be right.
    pub fn start(
        run: &Run,
        flows: &[Flow],
        ways: &[(String, Way)],
        network: &Arc<Network>,
        clock: RunClock,
    ) -> Result<Drops> {
        let scripted = run
            .drops
            .iter()
            .map(|asked| {
                scripted(asked, run, flows, ways, network).map_err(|failure| {
                    Failure::new(format!("the drop for flow \"{}\": {failure}", asked.flow))
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Drops { asked: run.drops.clone(), waiting: ScriptedDrops::start(network, clock, scripted)? })
    }

    /// Ends them; what became of each.
    ///
    /// # Errors
    /// The kernel refused something meanwhile.
    pub fn stop(self) -> Result<Vec<DropResult>> {
        let found = self.waiting.stop()?;
        let results = self.asked.into_iter().zip(found).map(|(asked, found)| DropResult {
            asked,
            at_s: found.at_s,
            dropped_packets: found.packets,
        });
        Ok(results.collect())
    }
}

fn scripted(
    asked: &Drop,
    run: &Run,
    flows: &[Flow],
    ways: &[(String, Way)],
    network: &Network,
) -> Result<ScriptedDrop> {
    if asked.nth == 0 {
        return Err(Failure::new("`nth` is 0; packets are counted from 1"));
    }
    let index = run.flows.iter().position(|flow| flow.id == asked.flow);
    let index = index.ok_or_else(|| Failure::new("the run has no flow of this id"))?;
    let spec = &run.flows[index];
    let before = link_before(asked, spec, ways, network)?;
    let pattern = opening_pattern(run, flows, &asked.flow, asked.packet)?;
    Ok(ScriptedDrop { link: asked.link.clone(), before, pattern, nth: asked.nth })
}

/// What tells the packets that open sessions of the flow called `id`, or those that answer them.
///
/// # Errors
/// There is no such flow, or its packets do not tell.
pub fn opening_pattern(run: &Run, flows: &[Flow], id: &str, packet: PacketKind) -> Result<PacketPattern> {
    let index = run.flows.iter().position(|flow| flow.id == id);
    let index = index.ok_or_else(|| Failure::new("the run has no flow of this id"))?;
    let spec = &run.flows[index];
    let opening = flows[index].opening().ok_or_else(|| {
        Failure::new(format!(
            "`{}` has no packets that a network can know as its {}; drops are for tcp, mptcp, sctp, tls and restp",
            spec.stack,
            named(packet)
        ))
    })?;
    Ok(pattern(&opening, packet, port(spec, index)))
}

fn named(packet: PacketKind) -> &'static str {
    match packet {
        PacketKind::Syn => "SYN",
        PacketKind::SynAck => "SYN-ACK",
    }
}

/// The link direction by which the flow's packets come to the one where they are to vanish.
fn link_before(asked: &Drop, spec: &FlowSpec, ways: &[(String, Way)], network: &Network) -> Result<String> {
    let further = ways.iter().filter(|(flow, _)| *flow == spec.id).map(|(_, way)| way);
    let paths: Vec<Vec<String>> = match asked.packet {
        PacketKind::Syn => std::iter::once(network.path(&spec.from, &spec.to)?)
            .chain(further.map(|way| way.forward.clone()))
            .collect(),
        PacketKind::SynAck => std::iter::once(network.path(&spec.to, &spec.from)?)
            .chain(further.map(|way| way.back.clone()))
            .collect(),
    };
    let found = paths.iter().find_map(|path| {
        let place = path.iter().position(|link| *link == asked.link)?;
        Some(place.checked_sub(1).map(|before| path[before].clone()))
    });
    match found {
        Some(Some(before)) => Ok(before),
        Some(None) => Err(Failure::new(format!(
            "`link` is \"{}\", the first on the way of its {}; packets can vanish from the second on",
            asked.link,
            named(asked.packet)
        ))),
        None => Err(Failure::new(format!(
            "`link` is \"{}\", which its {} does not cross; it goes by {}",
            asked.link,
            named(asked.packet),
            paths[0].join(", ")
        ))),
    }
}

/// What tells the packet: the receiver's port, and the transport's own marks.
fn pattern(opening: &Opening, packet: PacketKind, receiver_port: u16) -> PacketPattern {
    let (marks, port_at, empty) = match packet {
        PacketKind::Syn if opening.request_with_data => {
            (opening.request, opening.ports_at + 2, [].as_slice())
        }
        PacketKind::Syn => (opening.request, opening.ports_at + 2, opening.empty),
        PacketKind::SynAck => (opening.answer, opening.ports_at, opening.empty),
    };
    let ports = (port_at..).zip(receiver_port.to_be_bytes()).map(|(at, byte)| ByteMatch::exactly(at, byte));
    let matched = |mark: &HeaderByte| ByteMatch { offset: mark.offset, value: mark.value, mask: mark.mask };
    PacketPattern {
        protocol: opening.ip_protocol,
        bytes: ports.chain(marks.iter().map(matched)).collect(),
        alternatives: empty.iter().map(|bytes| bytes.iter().map(matched).collect()).collect(),
    }
}
