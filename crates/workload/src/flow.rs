//! One flow in two halves that run in two threads, each in the network namespace of its node.

use std::io;
use std::sync::Arc;

use crate::context::Context;
use crate::error::Failure;
use crate::exchange::Exchange;
use crate::ledger::{DeliveryInstants, Received, Sent};
use crate::log::SocketSample;
use crate::report::FlowReport;
use crate::secure::RecordMap;
use crate::session::Session;
use crate::spec::Flow;
use crate::stacks::{Connection, Sampler, Stack};
use crate::sys::clock;

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
    Session::new(ctx)
}

/// The receiving half.
pub struct ServerHalf {
    flow: Arc<Flow>,
    session: Arc<Session>,
}

/// The sending half.
pub struct ClientHalf {
    flow: Arc<Flow>,
    session: Arc<Session>,
}

/// What the receiving half noted.
#[derive(Debug)]
pub struct ServerResult {
    pub(crate) received: Received,
    pub(crate) instants: DeliveryInstants,
    pub(crate) records: Option<RecordMap>,
    /// The objects that it asked for.
    pub(crate) exchanges: Vec<Exchange>,
}

/// What the sending half noted.
#[derive(Debug)]
pub struct ClientResult {
    pub(crate) sent: Sent,
    pub(crate) samples: Vec<SocketSample>,
    pub(crate) transport_established_ns: Option<i64>,
    pub(crate) established_ns: Option<i64>,
    pub(crate) finished_ns: Option<i64>,
    pub(crate) subflows: Option<u32>,
    pub(crate) sender_dropped_messages: Option<u64>,
}

impl ClientResult {
    fn new(flow: &Flow, session: &Session) -> Self {
        Self {
            sent: Sent::new(flow.app.message_bytes(), session.ctx.messages),
            samples: Vec::new(),
            transport_established_ns: None,
            established_ns: None,
            finished_ns: None,
            subflows: None,
            sender_dropped_messages: None,
        }
    }
}

impl ServerHalf {
    /// Listens, receives until the sender is done, the flow fails or its limit is reached. Call it in a thread that
    /// is in the receiving node.
    pub fn run(&self) -> ServerResult {
        let mut result = ServerResult {
            received: Received::new(self.session.ctx.messages),
            instants: DeliveryInstants::Application,
            records: None,
            exchanges: Vec::new(),
        };
        if let Err(failure) = self.serve(&mut result) {
            self.session.fail(failure);
        }
        result
    }

    /// Asks a sender that is not the other half of this flow, in an application whose receiver asks: nothing is waited for.
    pub fn run_alone(&self) -> ServerResult {
        self.session.announce_listening();
        self.run()
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
    /// Waits for the receiver and for the start of the flow, then sends. Call it in a thread that is in the sending
    /// node. The socket is sampled from a second thread.
    pub fn run(&self) -> ClientResult {
        let mut result = ClientResult::new(&self.flow, &self.session);
        if let Err(failure) = self.work(&mut result) {
            self.session.fail(failure);
        }
        result
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
            wait_for_the_start(&self.session, *start_ns)?;
        }
        app.run_client(stack.as_ref(), &self.session, *start_ns, result)
    }
}

/// What the half does that opens the sessions.
fn wait_for_the_start(session: &Session, start_ns: i64) -> Result<(), Failure> {
    session.wait_until_listening()?;
    session.pause_until(start_ns)
}

/// The receiving half of a flow with one session, over which `receive` receives.
pub(crate) fn receive_over_one_session(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ServerResult,
    receive: &mut dyn FnMut(&mut dyn Connection, &mut Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut listener = stack.listen(session, message_bytes)?;
    session.announce_listening();
    let mut connection = listener.accept()?;
    // Where a session uses several addresses, the rest of it comes in through the listener too.
    let _listener = (stack.homes() > 1).then_some(listener);
    result.instants = connection.instants();
    let received = receive(connection.as_mut(), &mut result.received);
    result.records = connection.records();
    received
}

/// The sending half of a flow with one session, over which `send` sends.
pub(crate) fn send_over_one_session(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ClientResult,
    send: &mut dyn FnMut(&mut dyn Connection, &mut Sent) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut connection = stack.connect(session, message_bytes)?;
    result.transport_established_ns = connection.transport_established_ns();
    result.established_ns = connection.established_ns();
    let sampler = connection.sampler()?;
    let (outcome, samples) = watched(session, sampler, || {
        send(connection.as_mut(), &mut result.sent)?;
        result.subflows = connection.subflows();
        result.finished_ns = connection.finish()?;
        Ok(())
    });
    result.sender_dropped_messages = connection.sender_dropped_messages();
    result.samples = samples;
    outcome
}

/// Does `work` while another thread samples the sender's socket and ends the flow at its limit.
pub(crate) fn watched(
    session: &Arc<Session>,
    sampler: Option<Box<dyn Sampler>>,
    work: impl FnOnce() -> Result<(), Failure>,
) -> (Result<(), Failure>, Vec<SocketSample>) {
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(session, sampler));
        let outcome = work();
        session.announce_sender_over();
        match watch.join() {
            Ok(samples) => (outcome, samples),
            Err(_) => (Err(Failure::new("the sampling thread broke down")), Vec::new()),
        }
    })
}

/// Samples the sender's socket until the sender is over, and ends the flow at its limit.
fn watch(session: &Session, sampler: Option<Box<dyn Sampler>>) -> Vec<SocketSample> {
    let mut samples = Vec::new();
    if let Err(failure) = prepare_thread() {
        session.fail(failure);
        return samples;
    }
    let ctx = &session.ctx;
    let mut next_ns = ctx.clock.now_ns();
    while let Some((sampler, interval_ns)) = sampler.as_ref().zip(ctx.socket_interval_ns) {
        if next_ns >= ctx.limit_ns || !session.sender_runs_until(next_ns) {
            break;
        }
        if let Some(sample) = sampler.sample() {
            samples.push(SocketSample { t_ns: ctx.clock.after(next_ns), ..sample });
        }
        next_ns += interval_ns;
    }
    if session.sender_runs_until(ctx.limit_ns) {
        session.fail(session.limit_reached("the transfer was not done"));
    }
    samples
}

/// Sleeps are to end on time in every thread of a flow.
fn prepare_thread() -> Result<(), Failure> {
    clock::exact_sleeps().map_err(|e| Failure::system("the timer slack of a thread could not be set", &e))
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
    let nothing = ClientResult::new(&half.flow, &half.session);
    FlowReport::new(half.flow, &half.session, Some(received), nothing)
}
