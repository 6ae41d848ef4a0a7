//! Halves of a flow that has one session, and the watch over a sender.

use std::ops::Range;
use std::sync::Arc;

use transports::{
    Arrival, Connection, Failure, OrFailure, Sampler, Service, Session, SocketSample, SpecError, Stack, Take,
};

use crate::application::Application;
use crate::ledger::{ClientResult, Received, Sent, ServerResult};
use crate::payload::Outbox;

/// One end of a session that is open.
pub(crate) struct End<'a> {
    pub(crate) connection: &'a mut dyn Connection,
    pub(crate) session: &'a Session,
}

impl End<'_> {
    /// Hands over a range of a stream, in which a message has the number `seq` and `message_bytes` (None: it is one
    /// message, whatever its length), waiting while the transport has no room.
    ///
    /// # Errors
    /// A sentence: the session broke, or the limit came while `doing`.
    pub(crate) fn hand_over(
        &mut self,
        outbox: &mut Outbox,
        mut range: Range<u64>,
        message_bytes: Option<usize>,
        seq: u64,
        doing: &str,
    ) -> Result<(), Failure> {
        while !range.is_empty() {
            let now_ns = self.session.now_before_limit(doing)?;
            let block = outbox.bytes(range.clone());
            let offered = block.len();
            let taken = self.connection.offer(block, message_bytes.unwrap_or(offered), seq)?;
            range.start += taken as u64;
            if taken < offered {
                self.connection.wait_until_writable(now_ns, i64::MAX)?;
            }
        }
        Ok(())
    }

    /// Receives from a byte stream, at most `most_bytes`.
    ///
    /// # Errors
    /// A sentence: the session broke, or what `take` returned.
    pub(crate) fn receive_bytes(&mut self, most_bytes: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        self.connection.receive(u64::MAX, most_bytes, take)
    }

    /// Tells how far the receiver is, if something has arrived.
    pub(crate) fn report(&self, arrival: Arrival, received: &Received) {
        if arrival == Arrival::Data {
            self.session.report_progress(received.last_ns.unwrap_or(0), received.bytes);
        }
    }
}

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
    fn send(&self, end: &mut End<'_>, start_ns: i64, sent: &mut Sent) -> Result<(), Failure>;

    /// The receiving end, until the sender ends; writes what arrived into `received`, also when it fails.
    ///
    /// # Errors
    /// A sentence: the session broke, was called off, or brought what was never sent.
    fn receive(&self, end: &mut End<'_>, service: Service, received: &mut Received) -> Result<(), Failure>;
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
        let send = &mut |end: &mut End<'_>, sent: &mut Sent| self.send(end, start_ns, sent);
        send_over_one_session(stack, session, OneSession::message_bytes(self), result, send)
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let service = stack.service();
        let receive = &mut |end: &mut End<'_>, received: &mut Received| self.receive(end, service, received);
        receive_over_one_session(stack, session, OneSession::message_bytes(self), result, receive)
    }
}

/// The receiving half of a flow with one session, over which `receive` receives.
pub(crate) fn receive_over_one_session(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ServerResult,
    receive: &mut dyn FnMut(&mut End<'_>, &mut Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut listener = stack.listen(session, message_bytes)?;
    session.announce_listening();
    let mut connection = listener.accept()?;
    // Where a session uses several addresses, the rest of it comes in through the listener too.
    let _listener = (stack.homes() > 1).then_some(listener);
    receive_over(connection.as_mut(), session, result, receive)
}

/// The receiving end of a flow's session: what `receive` makes of it, and what its transport has to tell.
pub(crate) fn receive_over(
    connection: &mut dyn Connection,
    session: &Session,
    result: &mut ServerResult,
    receive: &mut dyn FnMut(&mut End<'_>, &mut Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    result.instants = connection.instants();
    let received = receive(&mut End { connection: &mut *connection, session }, &mut result.received);
    result.records = connection.records();
    result.counts = connection.counts();
    result.signals = connection.signals();
    received
}

/// The sending half of a flow with one session, over which `send` sends.
pub(crate) fn send_over_one_session(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ClientResult,
    send: &mut dyn FnMut(&mut End<'_>, &mut Sent) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut connection = stack.connect(session, message_bytes)?;
    result.transport_established_ns = connection.transport_established_ns();
    result.established_ns = connection.established_ns();
    let sampler = connection.sampler()?;
    let (outcome, samples) = watched(session, sampler, || {
        send(&mut End { connection: connection.as_mut(), session }, &mut result.sent)?;
        result.subflows = connection.subflows();
        result.finished_ns = connection.finish()?;
        Ok(())
    });
    result.sender_dropped_messages = connection.sender_dropped_messages();
    result.counts = connection.counts();
    result.signals = connection.signals();
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
    transports::exact_sleeps().or_failure("the timer slack of a thread could not be set")
}
