//! `periodic`: a message at a fixed interval, on one session that is kept or on a fresh one each time. Its KPI is the
//! message delay, with and without session set-up.
//!
//! Messages go one after the other: one that is due while the one before is under way begins when that one is over.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{
    Arrival, Failure, SenderEnd, Service, Session, SpecError, Stack, nanoseconds, parse_params,
};

use super::checks::{check_count, check_message_size};
use super::in_order::InOrder;
use crate::application::Application;
use crate::exchange::{Exchange, OK};
use crate::ledger::{ClientResult, Received, Sent, ServerResult};
use crate::one_session::{End, receive_over_one_session, send_over_one_session, watched};
use crate::payload::{Outbox, Payload};

/// What an exchange is called: all messages are alike.
const OBJECT: &str = "message";

/// The shortest interval: a microsecond, below which it is a rate (`cbr`).
const SHORTEST_INTERVAL_S: f64 = 1e-6;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    message_size_bytes: u32,
    interval_s: f64,
    duration_s: f64,
    #[serde(default)]
    connection: Sessions,
}

/// Over which sessions the messages go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Sessions {
    /// One for all of them.
    #[default]
    Kept,
    /// One for each.
    Fresh,
}

struct Periodic {
    message_bytes: u32,
    interval_ns: i64,
    /// Messages in all: those that are due within the duration.
    count: u64,
    sessions: Sessions,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let Params { message_size_bytes, interval_s, duration_s, connection } =
        parse_params("app_params", "periodic", params)?;
    let interval_ns = nanoseconds("interval_s", interval_s, SHORTEST_INTERVAL_S)?;
    let duration_ns = nanoseconds("duration_s", duration_s, SHORTEST_INTERVAL_S)?;
    let count = (duration_ns as u64).div_ceil(interval_ns as u64);
    Ok(Box::new(Periodic { message_bytes: message_size_bytes, interval_ns, count, sessions: connection }))
}

impl Application for Periodic {
    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        if self.opens_many_sessions() && stack.service() == Service::Datagrams {
            return Err(SpecError::new(format!(
                "`periodic` with `connection` \"fresh\" needs a transport with sessions, which `{}` is not; \
                 choose \"kept\"",
                stack.name()
            )));
        }
        check_message_size("periodic", self.message_bytes, stack)?;
        check_count("periodic", "duration_s", self.count)
    }

    fn opens_many_sessions(&self) -> bool {
        self.sessions == Sessions::Fresh
    }

    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        match self.sessions {
            Sessions::Kept => {
                let send = &mut |end: &mut End<'_>, sent: &mut Sent| self.send(end, start_ns, sent);
                send_over_one_session(stack, session, self.message_bytes, result, send)
            }
            Sessions::Fresh => {
                watched(session, None, || {
                    let outcome = self.send_over_fresh_sessions(stack, session, start_ns, result);
                    session.announce_last_session_over();
                    outcome
                })
                .0
            }
        }
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        match self.sessions {
            Sessions::Kept => {
                let receive = &mut |end: &mut End<'_>, received: &mut Received| {
                    self.receive(end, stack.service(), received)
                };
                receive_over_one_session(stack, session, self.message_bytes, result, receive)
            }
            Sessions::Fresh => self.receive_over_fresh_sessions(stack, session, &mut result.received),
        }
    }
}

impl Periodic {
    fn send(&self, end: &mut End<'_>, start_ns: i64, sent: &mut Sent) -> Result<(), Failure> {
        let session = end.session;
        let mut outbox = self.outbox(session);
        let clock = &session.ctx.clock;
        for seq in 0..self.count {
            let due_ns = self.due_ns(start_ns, seq, session)?;
            let mut now_ns = clock.now_ns();
            while now_ns < due_ns {
                now_ns = end.connection.pause(clock, due_ns)?;
            }
            let mut exchange = self.exchange(now_ns);
            let outcome = self.hand_over(end, &mut outbox, seq);
            if let Err(failure) = &outcome {
                exchange.outcome = failure.to_string();
            }
            sent.exchanges.push(exchange);
            outcome?;
            let now_ns = clock.now_ns();
            sent.note(1, u64::from(self.message_bytes), now_ns);
            session.announce_sender_end(SenderEnd { messages: self.count, last_ns: now_ns });
        }
        Ok(())
    }

    fn receive(&self, end: &mut End<'_>, service: Service, received: &mut Received) -> Result<(), Failure> {
        let session = end.session;
        let payload = Payload::new(session.ctx.seed, self.message_bytes);
        let served = |came_ns| session.serve_request().unwrap_or(came_ns);
        let mut inbox = Inbox::new(&payload, service, &served);
        let clock = &session.ctx.clock;
        while service != Service::Datagrams || !self.datagrams_are_over(session, received)? {
            let lacking = self.message_bytes as usize - inbox.buffer.len();
            let arrival = end.connection.receive(1, lacking as u64, &mut |bytes, t_ns| {
                inbox.take(bytes, t_ns.unwrap_or_else(|| clock.now_ns()), received)
            })?;
            if arrival == Arrival::End {
                return inbox.check_empty();
            }
            end.report(arrival, received);
        }
        Ok(())
    }

    fn outbox(&self, session: &Session) -> Outbox {
        Outbox::of_single_messages(&Payload::new(session.ctx.seed, self.message_bytes))
    }

    /// When message `seq` is due.
    fn due_ns(&self, start_ns: i64, seq: u64, session: &Session) -> Result<i64, Failure> {
        let due_ns = start_ns + seq as i64 * self.interval_ns;
        if due_ns >= session.ctx.limit_ns {
            return Err(session.limit_reached(&format!("message {seq} was not due before")));
        }
        Ok(due_ns)
    }

    /// The notes of a message that is about to be sent.
    fn exchange(&self, requested_ns: i64) -> Exchange {
        Exchange::begun(OBJECT.to_owned(), u64::from(self.message_bytes), requested_ns, OK.to_owned())
    }

    fn hand_over(&self, end: &mut End<'_>, outbox: &mut Outbox, seq: u64) -> Result<(), Failure> {
        let size = u64::from(self.message_bytes);
        let range = seq * size..(seq + 1) * size;
        end.hand_over(outbox, range, Some(size as usize), seq, "a message was being handed over")
    }

    fn send_over_fresh_sessions(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        let mut outbox = self.outbox(session);
        for seq in 0..self.count {
            session.pause_until(self.due_ns(start_ns, seq, session)?)?;
            let mut exchange = self.exchange(session.ctx.clock.now_ns());
            let outcome =
                self.send_over_a_fresh_session(stack, session, &mut outbox, seq, &mut exchange, result);
            if let Err(failure) = outcome {
                exchange.outcome = failure.to_string();
            }
            result.sent.exchanges.push(exchange);
            // What ends one session does not end the flow; what ends the flow ends it all.
            if let Some(failure) = session.failure() {
                return Err(failure);
            }
        }
        Ok(())
    }

    fn send_over_a_fresh_session(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        outbox: &mut Outbox,
        seq: u64,
        exchange: &mut Exchange,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        // A message that never gets a session was to be sent all the same.
        result.sent.note(1, u64::from(self.message_bytes), exchange.requested_ns);
        let mut connection = stack.connect(session, self.message_bytes)?;
        let (connected_ns, established_ns) =
            (connection.transport_established_ns(), connection.established_ns());
        exchange.connected_ns = connected_ns;
        exchange.secured_ns = established_ns.filter(|_| established_ns != connected_ns);
        if result.established_ns.is_none() {
            (result.transport_established_ns, result.established_ns) = (connected_ns, established_ns);
        }
        self.hand_over(&mut End { connection: connection.as_mut(), session }, outbox, seq)?;
        result.finished_ns = connection.finish()?;
        Ok(())
    }

    fn receive_over_fresh_sessions(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let mut listener = stack.listen(session, self.message_bytes)?;
        session.announce_listening();
        let mut broken = 0;
        while !session.last_session_is_over() {
            let served = listener.accept().and_then(|mut connection| {
                let end = &mut End { connection: connection.as_mut(), session };
                self.receive(end, stack.service(), received)
            });
            if let Some(failure) = session.failure() {
                return Err(failure);
            }
            match served {
                Ok(()) => {}
                Err(_) if session.last_session_is_over() => {}
                // The sender notes why its message did not arrive. More broken sessions than messages are not the line's.
                Err(failure) => {
                    broken += 1;
                    if broken > self.count {
                        return Err(failure);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether nothing more is to be expected of a transport that may lose messages.
    fn datagrams_are_over(&self, session: &Session, received: &Received) -> Result<bool, Failure> {
        if let Some(failure) = session.failure() {
            return Err(failure);
        }
        let now_ns = session.now_before_limit("the receiver was still waiting for messages")?;
        let Some(end) = session.sender_end() else { return Ok(false) };
        let last_ns = received.last_ns.map_or(end.last_ns, |at| at.max(end.last_ns));
        let quiet = last_ns + session.ctx.quiet_ns.max(2 * self.interval_ns);
        Ok(received.messages >= self.count || now_ns >= quiet)
    }
}

/// Puts messages together and notes when each began to arrive and when it was whole.
struct Inbox<'a> {
    payload: &'a Payload,
    buffer: Vec<u8>,
    first_ns: i64,
    order: InOrder,
    /// When the receiver is done with a message that came at an instant.
    served: &'a dyn Fn(i64) -> i64,
}

impl<'a> Inbox<'a> {
    fn new(payload: &'a Payload, service: Service, served: &'a dyn Fn(i64) -> i64) -> Self {
        Self { payload, buffer: Vec::new(), first_ns: 0, order: InOrder::new(service), served }
    }

    fn take(&mut self, mut bytes: &[u8], t_ns: i64, received: &mut Received) -> Result<(), Failure> {
        let size = self.payload.message_bytes();
        while !bytes.is_empty() {
            if self.buffer.is_empty() {
                self.first_ns = t_ns;
            }
            let (here, rest) = bytes.split_at(bytes.len().min(size - self.buffer.len()));
            self.buffer.extend_from_slice(here);
            bytes = rest;
            if self.buffer.len() == size {
                let seq = self.payload.recognise(&self.buffer, None).ok_or_else(|| {
                    Failure::new(format!(
                        "what arrived after {} messages is none that was sent",
                        received.messages
                    ))
                })?;
                let readable_ns = self.order.readable_ns(seq, t_ns);
                // A message that waits for an earlier one waits with its first byte too.
                let first_ns = self.first_ns + (readable_ns - t_ns);
                let whole_ns = (self.served)(readable_ns);
                received.note_numbered(seq, size as u64, whole_ns);
                received.wholes.entry(seq).or_insert((first_ns, whole_ns));
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn check_empty(&self) -> Result<(), Failure> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "the sender ended the session after {} of the {} bytes of a message",
            self.buffer.len(),
            self.payload.message_bytes()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at_once(came_ns: i64) -> i64 {
        came_ns
    }

    proptest! {
        #[test]
        fn messages_are_put_together_from_any_pieces(size in 8_u32..300, count in 1_u64..9, step in 1_usize..700) {
            let payload = Payload::new(5, size);
            let mut outbox = Outbox::new(&payload);
            let all = outbox.bytes(0..count * u64::from(size)).to_vec();
            let mut inbox = Inbox::new(&payload, Service::Stream, &at_once);
            let mut received = Received::new(true);
            for (index, piece) in all.chunks(step).enumerate() {
                inbox.take(piece, index as i64, &mut received).expect("they were sent");
            }
            prop_assert!(inbox.check_empty().is_ok());
            prop_assert_eq!(received.wholes.len() as u64, count);
            for (seq, (first_ns, whole_ns)) in received.wholes {
                let (first, last) = (seq as usize * size as usize, (seq as usize + 1) * size as usize - 1);
                prop_assert_eq!((first_ns, whole_ns), ((first / step) as i64, (last / step) as i64));
            }
        }
    }

    #[test]
    fn half_a_message_is_not_an_end() {
        let payload = Payload::new(5, 100);
        let mut inbox = Inbox::new(&payload, Service::Stream, &at_once);
        let half = Outbox::new(&payload).bytes(0..50).to_vec();
        inbox.take(&half, 1, &mut Received::new(true)).expect("half a message is no mistake yet");
        assert!(inbox.check_empty().is_err());
    }
}
