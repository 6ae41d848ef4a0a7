//! The flows of a run: checked, under way, over. One is carried by a stack of `workload`, or by programs of the
//! user's own.

use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

use netlab::{Network, RunClock};
use transports::Context;
use transports::Opening;
use workload::{
    ClientHalf, ClientResult, ExchangeLog, FlowReport, FlowResult, FlowSpec, Framing, MessageLog, ServerHalf,
    SocketLog,
};

use crate::external::{self, External, Stack};
use crate::failure::{Failure, Result};
use crate::gate::Pass;
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

    /// Whether its packets may go by further addresses of its nodes too.
    pub fn uses_further_addresses(&self) -> bool {
        match self {
            Flow::Builtin(flow) => flow.uses_further_addresses(),
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
        run: &Run,
        index: usize,
        network: &Network,
        clock: RunClock,
        context: Context,
        (gate, ended): (&Pass, &Sender<()>),
    ) -> Result<Running> {
        match self {
            Flow::External(stack) => External::start(run, index, stack, network, clock, (gate, ended))
                .map(|external| Running::External(Box::new(external))),
            Flow::Builtin(flow) => {
                let halves = workload::prepare(flow, context)
                    .map_err(|error| Failure::io("prepare a flow", &error))?;
                Threads::start(network, &run.flows[index], halves, (gate, ended)).map(Running::Builtin)
            }
        }
    }
}

/// A flow under way.
pub enum Running {
    /// One of `workload`.
    Builtin(Threads),
    /// One that programs carry.
    External(Box<External>),
}

impl Running {
    /// Waits for the flow's end; `folder` is the run's, for what programs leave.
    pub fn join(self, folder: &Path) -> Result<Played> {
        match self {
            Running::Builtin(threads) => threads.join().map(Played::Builtin),
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
    ) {
        match self {
            Played::Builtin(report) => report.write_into(flow, messages, sockets, exchanges),
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

/// The two threads of a flow of `workload`, each in its node.
pub struct Threads {
    id: String,
    server: JoinHandle<(ServerHalf, workload::ServerResult)>,
    client: JoinHandle<(ClientHalf, ClientResult)>,
}

impl Threads {
    fn start(
        network: &Network,
        spec: &FlowSpec,
        (server, client): (ServerHalf, ClientHalf),
        (gate, ended): (&Pass, &Sender<()>),
    ) -> Result<Threads> {
        let (server_ended, client_ended) = (ended.clone(), ended.clone());
        let gate = gate.clone();
        let server = network.node(&spec.to)?.spawn("receiver", move || {
            // Ends the sender too, which does nothing without a receiver.
            if !gate.wait() {
                server.call_off("the run could not be started");
            }
            let result = server.run();
            let _ = server_ended.send(());
            (server, result)
        })?;
        let client = network.node(&spec.from)?.spawn("sender", move || {
            let result = client.run();
            let _ = client_ended.send(());
            (client, result)
        })?;
        Ok(Threads { id: spec.id.clone(), server, client })
    }

    fn join(self) -> Result<FlowReport> {
        let broken = |_| {
            Failure::new(format!("flow \"{}\" was ended by a defect of gauntlet-player (a panic)", self.id))
        };
        let server = self.server.join().map_err(broken)?;
        let client = self.client.join().map_err(broken)?;
        Ok(workload::join(server, client))
    }
}
