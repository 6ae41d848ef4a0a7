//! One flow in two halves that run in two threads, each in the network namespace of its node.

use std::io;
use std::sync::Arc;

use transports::{Context, Failure, Session};

use crate::ledger::{ClientResult, ServerResult};
use crate::one_session::prepare_thread;
use crate::report::FlowReport;
use crate::spec::Flow;

/// Splits a flow into its receiving and its sending half.
///
/// # Errors
/// The process has no file descriptors left.
pub fn prepare(flow: Flow, ctx: Context) -> io::Result<(ServerHalf, ClientHalf)> {
    let flow = Arc::new(flow);
    let session = Arc::new(open_session(&flow, ctx)?);
    let server = ServerHalf { flow: Arc::clone(&flow), session: Arc::clone(&session) };
    Ok((server, ClientHalf { flow, session }))
}

/// Splits a flow as [`prepare`] does into halves that know of each other only what crosses the network: the failure of
/// one does not end the other. The sender is to be run by [`ClientHalf::run_alone`].
///
/// # Errors
/// As for [`prepare`].
pub fn prepare_apart(flow: Flow, ctx: Context) -> io::Result<(ServerHalf, ClientHalf)> {
    let flow = Arc::new(flow);
    let server = ServerHalf { session: Arc::new(open_session(&flow, ctx.clone())?), flow: Arc::clone(&flow) };
    Ok((server, ClientHalf { session: Arc::new(open_session(&flow, ctx)?), flow }))
}

fn open_session(flow: &Flow, mut ctx: Context) -> io::Result<Session> {
    if flow.app.receiver_asks() {
        // Sessions go from the source to the destination, whichever way the data go.
        std::mem::swap(&mut ctx.source, &mut ctx.destination);
        std::mem::swap(&mut ctx.source_further, &mut ctx.destination_further);
    }
    if flow.app.opens_many_sessions() {
        // The kernel keeps a port that was used for a while, so each session takes another one.
        ctx.source.set_port(0);
    }
    if flow.app.further_sessions() > 0 {
        // A stream in the capture is that of one session.
        ctx.wire = false;
    }
    Session::new(ctx)
}

/// The receiving half. Copies are of the same flow.
#[derive(Clone)]
pub struct ServerHalf {
    flow: Arc<Flow>,
    session: Arc<Session>,
}

/// The sending half. Copies are of the same flow.
#[derive(Clone)]
pub struct ClientHalf {
    flow: Arc<Flow>,
    session: Arc<Session>,
}

impl ServerHalf {
    /// Listens, receives until the sender is done, the flow fails or its limit is reached. Call it in a thread that
    /// is in the receiving node.
    pub fn run(&self) -> ServerResult {
        let mut result = self.nothing_noted();
        if let Err(failure) = self.serve(&mut result) {
            self.session.fail(failure);
        }
        result
    }

    /// What it has noted when it never ran, or when whoever ran it has died with its notes.
    pub fn nothing_noted(&self) -> ServerResult {
        ServerResult::new(self.session.ctx.messages)
    }

    /// Asks a sender that is not the other half of this flow, in an application whose receiver asks: nothing is waited for.
    pub fn run_alone(&self) -> ServerResult {
        self.session.announce_listening();
        self.run()
    }

    /// What this half shares with the other one, unless they run in processes of their own.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Makes what both halves must have in common, before they go into processes of their own.
    ///
    /// # Errors
    /// A sentence: it could not be made.
    pub fn prepare_to_part(&self) -> Result<(), Failure> {
        self.flow.stack.prepare(&self.session)
    }

    /// Ends this half from another thread, as if it were killed: its sockets are closed, whatever is in them.
    pub fn call_off(&self, why: &str) {
        self.session.fail(Failure::new(why));
    }

    fn serve(&self, result: &mut ServerResult) -> Result<(), Failure> {
        prepare_thread()?;
        let Flow { stack, app, start_ns, .. } = self.flow.as_ref();
        if app.receiver_asks() {
            wait_for_the_start(&self.session, *start_ns)?;
        }
        app.run_server(stack.as_ref(), &self.session, result)?;
        self.session.failure().map_or(Ok(()), Err)
    }
}

impl ClientHalf {
    /// As [`ServerHalf::session`].
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Waits for the receiver and for the start of the flow, then sends. Call it in a thread that is in the sending
    /// node. The socket is sampled from a second thread.
    pub fn run(&self) -> ClientResult {
        let mut result = self.nothing_noted();
        if let Err(failure) = self.work(&mut result) {
            self.session.fail(failure);
        }
        result
    }

    /// As [`ServerHalf::nothing_noted`].
    pub fn nothing_noted(&self) -> ClientResult {
        ClientResult::new(self.flow.app.message_bytes(), self.session.ctx.messages)
    }

    /// Sends to a receiver that is not the other half of this flow: nothing is waited for.
    pub fn run_alone(&self) -> ClientResult {
        self.session.announce_listening();
        self.run()
    }

    fn work(&self, result: &mut ClientResult) -> Result<(), Failure> {
        prepare_thread()?;
        let Flow { stack, app, start_ns, .. } = self.flow.as_ref();
        if !app.receiver_asks() {
            wait_for_the_start(&self.session, *start_ns - app.lead_ns())?;
        }
        app.run_client(stack.as_ref(), &self.session, *start_ns, result)
    }
}

/// What the half does that opens the sessions.
fn wait_for_the_start(session: &Session, start_ns: i64) -> Result<(), Failure> {
    session.wait_until_listening()?;
    session.pause_until(start_ns)
}

/// Puts the notes of both halves together. Call it once both have returned.
pub fn join(server: (ServerHalf, ServerResult), client: (ClientHalf, ClientResult)) -> FlowReport {
    let (half, received) = server;
    FlowReport::new(half.flow, &half.session, Some(received), client.1)
}

/// The report of a sender that ran alone.
pub fn join_alone(client: (ClientHalf, ClientResult)) -> FlowReport {
    let (half, sent) = client;
    FlowReport::new(half.flow, &half.session, None, sent)
}

/// The report of a receiver that asked alone.
pub fn join_asking_alone(server: (ServerHalf, ServerResult)) -> FlowReport {
    let (half, received) = server;
    let nothing = ClientResult::new(half.flow.app.message_bytes(), half.session.ctx.messages);
    FlowReport::new(half.flow, &half.session, Some(received), nothing)
}
