//! The processor of a node: which flows work on it.

use std::sync::Arc;

use transports::{Processor, Workplace};
use workload::FlowSpec;

use crate::failure::{Failure, Result};
use crate::flows::Flow;
use crate::ground::Time;
use crate::plan::Run;
use crate::record::ProcessorResult;

/// The processor of a run's server.
pub struct NodeProcessor {
    node: String,
    processor: Arc<Processor>,
}

impl NodeProcessor {
    /// That of the run's plan, if it has one.
    ///
    /// # Errors
    /// One sentence: nobody listens in the node, or what somebody there computes is not known.
    pub fn of(run: &Run, flows: &[Flow], time: &Time) -> Result<Option<NodeProcessor>> {
        let Some(spec) = &run.processor else { return Ok(None) };
        let node = &spec.node;
        let wrong = |why: String| Err(Failure::new(format!("the processor of node \"{node}\": {why}")));
        if let Some(program) = run.programs.iter().find(|program| program.node == *node) {
            return wrong(format!("what the program \"{}\" in it computes cannot be charged", program.id));
        }
        let here = |(spec, flow): &(&FlowSpec, &Flow)| flow.listens_at(spec) == node;
        let listening: Vec<_> = run.flows.iter().zip(flows).filter(here).collect();
        if listening.is_empty() {
            return wrong("no flow is waited for there".into());
        }
        if let Some((flow, _)) = listening.iter().find(|(_, flow)| !flow.works_on_a_processor()) {
            return wrong(format!(
                "what flow \"{}\" computes over `{}` cannot be charged; `tcp`, `tls` over TCP and QUIC by a library of \
                 the player can",
                flow.id, flow.stack
            ));
        }
        let processor = Arc::new(Processor::new(time.transports_clock(), run.limit_ns(), spec.costs()));
        Ok(Some(NodeProcessor { node: node.clone(), processor }))
    }

    /// The place of a flow's listening end at it, where it listens in its node.
    pub fn workplace(&self, spec: &FlowSpec, flow: &Flow) -> Option<Arc<Workplace>> {
        (flow.listens_at(spec) == self.node).then(|| Arc::new(Workplace::new(&self.processor)))
    }

    /// What it has done.
    pub fn result(&self) -> ProcessorResult {
        ProcessorResult { node: self.node.clone(), usage: self.processor.usage() }
    }
}
