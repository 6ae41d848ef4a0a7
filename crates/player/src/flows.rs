//! The flows of a run: checked, under way, over. One is carried by a stack of `workload`, or by programs of the
//! user's own.

use std::path::Path;
use std::sync::mpsc::Sender;

use netlab::{Network, RunClock};
use transports::{Context, InitialWindow, Opening};
use workload::{
    ClientHalf, ExchangeLog, FlowReport, FlowResult, FlowSpec, Framing, MessageLog, SafetyLog, ServerHalf,
    SocketLog,
};

use crate::external::{self, External, Stack};
use crate::failure::{Failure, Result};
use crate::gate::Pass;
use crate::ground::{Ground, Half, Noted, Wait};
use crate::plan::Run;
use crate::record::Note;

/// A flow whose names and parameters have been checked.
pub enum Flow {
    /// One of `workload`.
    Builtin(workload::Flow),
    /// One that programs carry.
    External(Stack),
}

impl Flow {
    /// Checks every name and parameter.
    ///
    /// # Errors
    /// One sentence that names the flow, the key and what would be right.
    pub fn check(spec: &FlowSpec) -> Result<Flow> {
        if Stack::carries(spec) {
            return Stack::of(spec).map(Flow::External);
        }
        spec.check().map(Flow::Builtin).map_err(|error| Failure::new(error.to_string()))
    }

    /// Whether its messages are released one by one at given instants, which needs fq on the sender's interface.
    pub fn wants_release_times(&self) -> bool {
        match self {
            Flow::Builtin(flow) => flow.wants_release_times(),
            Flow::External(_) => false,
        }
    }

    /// What its first flight is bounded by; programs may use TCP.
    pub fn initial_window(&self) -> InitialWindow {
        match self {
            Flow::Builtin(flow) => flow.initial_window(),
            Flow::External(_) => InitialWindow::Default,
        }
    }

    /// By how many further addresses of its nodes its packets may go at most.
    pub fn further_addresses(&self) -> usize {
        match self {
            Flow::Builtin(flow) => flow.further_addresses(),
            Flow::External(_) => 0,
        }
    }

    /// How many further sessions there may be, each from a port of its own.
    pub fn further_sessions(&self) -> u32 {
        match self {
            Flow::Builtin(flow) => flow.further_sessions(),
            Flow::External(_) => 0,
        }
    }

    /// The node in which its sessions are waited for.
    pub fn listens_at<'a>(&self, spec: &'a FlowSpec) -> &'a str {
        match self {
            Flow::Builtin(flow) if flow.sender_listens() => &spec.from,
            Flow::Builtin(_) | Flow::External(_) => &spec.to,
        }
    }

    /// Whether what its listening end does can be charged to a processor.
    pub fn works_on_a_processor(&self) -> bool {
        match self {
            Flow::Builtin(flow) => flow.works_on_a_processor(),
            Flow::External(_) => false,
        }
    }

    /// How its messages lie in its packets.
    ///
    /// # Errors
    /// Why they cannot be told there, as the second half of a sentence.
    pub fn framing(&self) -> std::result::Result<Framing, String> {
        match self {
            Flow::Builtin(flow) => flow.framing(),
            Flow::External(_) => Err("programs carry it, and nobody knows where its messages begin".into()),
        }
    }

    /// How the packets that open its sessions are told from others, if they can be.
    pub fn opening(&self) -> Option<Opening> {
        match self {
            Flow::Builtin(flow) => flow.opening(),
            Flow::External(_) => None,
        }
    }

    /// Gets the flow ready to begin at `gate`; `ended` hears of its end, or is dropped at it.
    pub fn start(
        self,
        ground: &mut dyn Ground,
        run: &Run,
        index: usize,
        network: &Network,
        context: Context,
        (gate, ended, clock): (&Pass, &Sender<()>, RunClock),
    ) -> Result<Running> {
        match self {
            Flow::External(stack) => {
                let external = External::start(ground, run, index, stack, network, (gate, ended, clock))?;
                Ok(Running::External(Box::new(external)))
            }
            Flow::Builtin(flow) => {
                let halves = workload::prepare(flow, context)
                    .map_err(|error| Failure::io("prepare a flow", &error))?;
                let flow = (index, &run.flows[index]);
                Halves::start(ground, network, flow, halves, (gate, ended)).map(Running::Builtin)
            }
        }
    }
}

/// A flow under way.
pub enum Running {
    /// One of `workload`.
    Builtin(Halves),
    /// One that programs carry.
    External(Box<External>),
}

impl Running {
    /// Waits for the flow's end; `folder` is the run's, for what programs leave.
    pub fn join(self, folder: &Path) -> Result<Played> {
        match self {
            Running::Builtin(halves) => halves.join().map(Played::Builtin),
            Running::External(external) => external.join(folder).map(Played::External),
        }
    }
}

/// A flow that is over.
pub enum Played {
    /// One of `workload`.
    Builtin(FlowReport),
    /// One that programs carried.
    External(external::Outcome),
}

impl Played {
    /// What stands in `record.json`.
    pub fn result(&self) -> &FlowResult {
        match self {
            Played::Builtin(report) => &report.result,
            Played::External(outcome) => &outcome.result,
        }
    }

    /// What the record says of the programs that carried it.
    pub fn into_note(self) -> Option<Note> {
        match self {
            Played::Builtin(_) => None,
            Played::External(outcome) => Some(outcome.note),
        }
    }

    /// Secrets of its secure sessions.
    pub fn keys(&self) -> &str {
        match self {
            Played::Builtin(report) => &report.keys,
            Played::External(outcome) => &outcome.keys,
        }
    }

    /// Adds what it recorded to the logs of the run; `flow` is its place in it.
    pub fn write_into(
        &self,
        flow: u16,
        messages: &mut MessageLog,
        sockets: &mut SocketLog,
        exchanges: &mut ExchangeLog,
        safety: &mut SafetyLog,
    ) {
        match self {
            Played::Builtin(report) => report.write_into(flow, messages, sockets, exchanges, safety),
            Played::External(outcome) => {
                for message in &outcome.messages {
                    messages.push(flow, *message);
                }
                for (seq, exchange) in (0..).zip(&outcome.exchanges) {
                    exchanges.push(flow, seq, exchange);
                }
            }
        }
    }
}

/// The two halves of a flow of `workload`, each in its node.
pub struct Halves {
    id: String,
    server: ServerHalf,
    client: ClientHalf,
    received: Wait,
    sent: Wait,
}

impl Halves {
    fn start(
        ground: &mut dyn Ground,
        network: &Network,
        (index, spec): (usize, &FlowSpec),
        (server, client): (ServerHalf, ClientHalf),
        (gate, ended): (&Pass, &Sender<()>),
    ) -> Result<Halves> {
        let (to, from) = (network.node(&spec.to)?, network.node(&spec.from)?);
        let received = ground.spawn_in_node(to, index, Half::Receiver(server.clone()), gate, ended)?;
        let sent = ground.spawn_in_node(from, index, Half::Sender(client.clone()), gate, ended)?;
        Ok(Halves { id: spec.id.clone(), server, client, received, sent })
    }

    fn join(self) -> Result<FlowReport> {
        match ((self.received)(), (self.sent)()) {
            (Some(Noted::Received(received)), Some(Noted::Sent(sent))) => {
                Ok(workload::join((self.server, received), (self.client, sent)))
            }
            _ => Err(Failure::new(format!(
                "flow \"{}\" was ended by a defect of gauntlet-player (a panic)",
                self.id
            ))),
        }
    }
}
