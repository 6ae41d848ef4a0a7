//! One flow in two halves that run in two threads, each in the network namespace of its node.

use std::io;
use std::sync::Arc;

use crate::apps::App;
use crate::context::Context;
use crate::error::Failure;
use crate::ledger::{DeliveryInstants, Received, Sent};
use crate::log::SocketSample;
use crate::report::FlowReport;
use crate::secure::RecordMap;
use crate::session::Session;
use crate::spec::Flow;
use crate::stacks::{Connection, Sampler};
use crate::sys::clock;

/// Splits a flow into its receiving and its sending half.
///
/// # Errors
/// The process has no file descriptors left.
pub fn prepare(flow: Flow, ctx: Context) -> io::Result<(ServerHalf, ClientHalf)> {
    let flow = Arc::new(flow);
    let session = Arc::new(Session::new(ctx)?);
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
    let server = ServerHalf { flow: Arc::clone(&flow), session: Arc::new(Session::new(ctx.clone())?) };
    Ok((server, ClientHalf { flow, session: Arc::new(Session::new(ctx)?) }))
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
}

/// What the sending half noted.
#[derive(Debug)]
pub struct ClientResult {
    pub(crate) sent: Sent,
    pub(crate) samples: Vec<SocketSample>,
    pub(crate) transport_established_ns: Option<i64>,
    pub(crate) established_ns: Option<i64>,
    pub(crate) finished_ns: Option<i64>,
}

impl ServerHalf {
    /// Listens, receives until the sender is done, the flow fails or its limit is reached. Call it in a thread that
    /// is in the receiving node.
    pub fn run(&self) -> ServerResult {
        let mut result = ServerResult {
            received: Received::new(self.session.ctx.messages),
            instants: DeliveryInstants::Application,
            records: None,
        };
        if let Err(failure) = self.serve(&mut result) {
            self.session.fail(failure);
        }
        result
    }

    /// Ends this half from another thread, as if it were killed: its sockets are closed, whatever is in them.
    pub fn call_off(&self, why: &str) {
        self.session.fail(Failure::new(why));
    }

    fn serve(&self, result: &mut ServerResult) -> Result<(), Failure> {
        prepare_thread()?;
        let Flow { stack, app, .. } = self.flow.as_ref();
        let mut listener = stack.listen(&self.session, app.message_bytes())?;
        self.session.announce_listening();
        let mut connection = listener.accept()?;
        drop(listener);
        result.instants = connection.instants();
        let received = app.receive(connection.as_mut(), &self.session, stack.service(), &mut result.received);
        result.records = connection.records();
        received?;
        self.session.failure().map_or(Ok(()), Err)
    }
}

impl ClientHalf {
    /// Waits for the receiver and for the start of the flow, then sends. Call it in a thread that is in the sending
    /// node. The socket is sampled from a second thread.
    pub fn run(&self) -> ClientResult {
        let mut result = ClientResult {
            sent: Sent::new(self.flow.app.message_bytes(), self.session.ctx.messages),
            samples: Vec::new(),
            transport_established_ns: None,
            established_ns: None,
            finished_ns: None,
        };
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
        self.session.wait_until_listening()?;
        let Flow { stack, app, start_ns, .. } = self.flow.as_ref();
        self.session.pause_until(*start_ns)?;
        let mut connection = stack.connect(&self.session, app.message_bytes())?;
        result.transport_established_ns = connection.transport_established_ns();
        result.established_ns = connection.established_ns();
        let sampler = connection.sampler()?;
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| watch(&self.session, sampler));
            let outcome = transfer(app.as_ref(), connection.as_mut(), &self.session, *start_ns, result);
            self.session.announce_sender_over();
            result.samples = watch.join().map_err(|_| Failure::new("the sampling thread broke down"))?;
            outcome
        })
    }
}

fn transfer(
    app: &dyn App,
    connection: &mut dyn Connection,
    session: &Arc<Session>,
    start_ns: i64,
    result: &mut ClientResult,
) -> Result<(), Failure> {
    app.send(connection, session, start_ns, &mut result.sent)?;
    result.finished_ns = connection.finish()?;
    Ok(())
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
