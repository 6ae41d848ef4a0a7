//! Flows that programs of the user's own carry (`docs/formats/external-stack.md`): a server command and a client
//! command, each in its node; their result files become the flow's record.

mod environment;
mod process;
mod result;
mod role;
mod stack;
mod variables;

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use netlab::{Network, RunClock};
use workload::FlowSpec;

use crate::failure::{Failure, Result};
use crate::gate::Pass;
use crate::ground::Ground;
use crate::plan::Run;
use environment::Surroundings;
use process::{End, Process};
use result::Instants;
pub use result::Outcome;
use role::{Role, left};
pub use stack::Stack;

/// How long a server may take to end by itself after its client, before it is asked to: longer than the closing
/// period of QUIC (three probe time-outs, RFC 9000 section 10.2) on a slow link.
const LINGER_NS: i64 = 30_000_000_000;

/// A flow under way: a thread for each of its programs.
pub struct External {
    spec: FlowSpec,
    stack: Stack,
    surroundings: Surroundings,
    clock: RunClock,
    messages: bool,
    server: JoinHandle<Option<End>>,
    client: JoinHandle<Option<End>>,
}

impl External {
    /// Starts the server at `gate` and the client at the flow's start, when the server is ready; `ended` is dropped when
    /// both have ended.
    ///
    /// # Errors
    /// A node of the flow is not there or has no address, or its working folder cannot be made.
    pub fn start(
        ground: &mut dyn Ground,
        run: &Run,
        index: usize,
        stack: Stack,
        network: &Network,
        (gate, ended, clock): (&Pass, &Sender<()>, RunClock),
    ) -> Result<External> {
        let spec = run.flows[index].clone();
        let surroundings = Surroundings::new(run, index, &stack, network, &ground.scratch())?;
        surroundings.make_folders(&stack)?;
        let (server_node, client_node) = stack.nodes(&spec);
        let limit_ns = run.limit_ns();
        let (ready, is_ready) = channel();
        let (client_over, is_over) = channel();

        let command = surroundings.command(&stack, Role::Server, ground.enlist(server_node)?);
        let program = Program { run: run.id.clone(), flow: spec.id.clone(), clock, limit_ns, command };
        let (keep, gate) = (ended.clone(), gate.clone());
        let server = network.node(server_node)?.spawn("server", move || {
            // Without a server that is ready the client's thread ends too.
            let end = if gate.wait() { program.serve(ready, &is_over) } else { None };
            drop(keep);
            end
        })?;

        let command = surroundings.command(&stack, Role::Client, ground.enlist(client_node)?);
        let program = Program { run: run.id.clone(), flow: spec.id.clone(), clock, limit_ns, command };
        let (keep, start_ns) = (ended.clone(), (spec.start_s * 1e9) as i64);
        let client = network.node(client_node)?.spawn("client", move || {
            let end = program.call(&is_ready, start_ns);
            drop((client_over, keep));
            end
        })?;
        Ok(External { spec, stack, surroundings, clock, messages: run.record.messages, server, client })
    }

    /// Waits for both programs and reads what they left; their logs are moved into `folder`.
    ///
    /// # Errors
    /// A defect of this program, or a log that cannot be moved.
    pub fn join(self, folder: &Path) -> Result<Outcome> {
        let broken = |_| {
            Failure::new(format!(
                "flow \"{}\" was ended by a defect of gauntlet-player (a panic)",
                self.spec.id
            ))
        };
        let server = self.server.join().map_err(broken)?;
        let client = self.client.join().map_err(broken)?;
        let instants = Instants { clock: self.clock, until_ns: self.clock.now_ns()? };
        let outcome = result::outcome(
            &self.spec,
            &self.stack,
            &self.surroundings,
            &instants,
            self.messages,
            [client, server],
        );
        self.surroundings.keep_logs(folder)?;
        fs::remove_dir_all(self.surroundings.folder())
            .map_err(|error| Failure::io("clear the working folder of an external stack", &error))?;
        Ok(outcome)
    }
}

/// One program of a flow and how long it may run.
struct Program {
    run: String,
    flow: String,
    clock: RunClock,
    limit_ns: i64,
    command: process::Launch,
}

impl Program {
    /// Runs the server; `ready` hears when it can be connected to. `client_over` hangs up when the client has ended.
    fn serve(self, ready: Sender<()>, client_over: &Receiver<()>) -> Option<End> {
        let mut server = match Process::start(self.command, &self.run, &self.flow, self.clock) {
            Ok(server) => server,
            Err(end) => return Some(end),
        };
        if !server.wait_until_ready(self.limit_ns) {
            // The client's thread sees `ready` dropped and does not start it.
            return Some(server.end_unready());
        }
        let _ = ready.send(());
        // Its own end before that of the client is noticed when it is waited for below: a client whose server has gone
        // is to find out by itself.
        let _ = client_over.recv_timeout(left(self.clock, self.limit_ns));
        let linger_ns = self.clock.now_ns().unwrap_or(self.limit_ns) + LINGER_NS;
        Some(server.end_by(linger_ns.min(self.limit_ns)))
    }

    /// Runs the client from `start_ns` on; nothing when the server never became ready.
    fn call(self, server_ready: &Receiver<()>, start_ns: i64) -> Option<End> {
        server_ready.recv_timeout(left(self.clock, self.limit_ns)).ok()?;
        std::thread::sleep(left(self.clock, start_ns.min(self.limit_ns)));
        match Process::start(self.command, &self.run, &self.flow, self.clock) {
            Ok(mut client) => Some(client.wait(self.limit_ns)),
            Err(end) => Some(end),
        }
    }
}
