//! Halves of a flow that has one session, and the watch over a sender.

use std::sync::Arc;

use transports::{Connection, Failure, Sampler, Service, Session, SocketSample, SpecError, Stack};

use crate::application::Application;
use crate::ledger::{ClientResult, Received, Sent, ServerResult};

/// An application that has one session: what its two ends do once that is open.
pub(crate) trait OneSession: Send + Sync {
    /// As [`Application::message_bytes`].
    fn message_bytes(&self) -> u32;

    /// As [`Application::suits`].
    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError>;

    /// The sending end, from `start_ns` on; writes what it handed over into `sent`, also when it fails.
    ///
    /// # Errors
    /// A sentence: the session broke or was called off.
    fn send(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        start_ns: i64,
        sent: &mut Sent,
    ) -> Result<(), Failure>;

    /// The receiving end, until the sender ends; writes what arrived into `received`, also when it fails.
    ///
    /// # Errors
    /// A sentence: the session broke, was called off, or brought what was never sent.
    fn receive(
        &self,
        connection: &mut dyn Connection,
        session: &Arc<Session>,
        service: Service,
        received: &mut Received,
    ) -> Result<(), Failure>;
}

impl<T: OneSession> Application for T {
    fn message_bytes(&self) -> u32 {
        OneSession::message_bytes(self)
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        OneSession::suits(self, stack)
    }

    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        let send = &mut |connection: &mut dyn Connection, sent: &mut Sent| {
            self.send(connection, session, start_ns, sent)
        };
        send_over_one_session(stack, session, OneSession::message_bytes(self), result, send)
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let receive = &mut |connection: &mut dyn Connection, received: &mut Received| {
            self.receive(connection, session, stack.service(), received)
        };
        receive_over_one_session(stack, session, OneSession::message_bytes(self), result, receive)
    }
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
pub(crate) fn prepare_thread() -> Result<(), Failure> {
    transports::exact_sleeps()
        .map_err(|e| Failure::system("the timer slack of a thread could not be set", &e))
}
