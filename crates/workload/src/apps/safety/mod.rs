//! `safety`: numbered, time-stamped messages between a train and the trackside, as position reports and movement
//! authorities of ETCS are, and a receiver that says what it makes of each.
//!
//! ```text
//! train      ── position reports ──▶      trackside        one flow
//! train      ◀── movement authorities ──  trackside        another
//! ```
//!
//! A message goes out at a fixed interval over one session. The receiver checks form and identities, and with
//! `freshness` also numbers, age and silence ([`judge`]). It refuses and goes on, so that all that follows is seen too;
//! a railway's application would go to its safe state at the first. A `threat` is what an attacker with the sender's keys
//! does to a message ([`threat`]). With `warm_up_s` the session resumes one that was opened so long before, and the
//! receiver serves whoever opens further ones ([`crate::warm_up`]). With `reopen_after_s` a session that broke is followed by
//! another one, which begins with the next message ([`crate::reopening`]).

mod judge;
mod message;
mod threat;

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use transports::{
    Arrival, Failure, SenderEnd, Service, Session, SpecError, Stack, nanoseconds, parse_params,
};

use self::judge::Judge;
use self::message::{FIELDS_BYTES, Kind, LONGEST_BYTES, Messages, SHORTEST_S, TRACKSIDE};
use self::threat::{Gateway, Threat};
use super::checks::{check_count, check_message_size};
use super::in_order::InOrder;
use crate::application::Application;
use crate::ledger::{ClientResult, Received, Sent, ServerResult};
use crate::one_session::{End, receive_over_one_session, send_over_one_session};
use crate::reopening::{Reopening, receive_over_sessions, send_over_sessions, signalled};
use crate::verdicts::Judged;
use crate::warm_up::{receive_after_warm_up, see_out, warm_up};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Params {
    kind: Kind,
    /// Long enough that no packet without a message looks like one with it.
    #[serde(default = "usual_bytes")]
    message_size_bytes: u32,
    interval_s: f64,
    duration_s: f64,
    /// The greatest age at which a message is of use.
    bound_s: f64,
    #[serde(default = "yes")]
    freshness: bool,
    /// Which train it is.
    #[serde(default = "usual_train")]
    train: u32,
    threat: Option<threat::Params>,
    warm_up_s: Option<f64>,
    /// How long the sender of a session that broke waits before it opens the next one.
    reopen_after_s: Option<f64>,
    /// How many further sessions there may be.
    reopen_most: Option<u32>,
}

fn usual_bytes() -> u32 {
    160
}

fn yes() -> bool {
    true
}

fn usual_train() -> u32 {
    100
}

/// Further sessions unless something else is said.
const USUAL_REOPENINGS: u32 = 3;

struct Safety {
    kind: Kind,
    message_bytes: u32,
    interval_ns: i64,
    count: u64,
    bound_ns: i64,
    freshness: bool,
    train: u32,
    threat: Option<Threat>,
    warm_up_ns: Option<i64>,
    reopening: Option<Reopening>,
}

pub(super) fn build(params: &Map<String, Value>) -> Result<Box<dyn Application>, SpecError> {
    let params: Params = parse_params("app_params", "safety", params)?;
    let interval_ns = nanoseconds("interval_s", params.interval_s, SHORTEST_S)?;
    let duration_ns = nanoseconds("duration_s", params.duration_s, SHORTEST_S)?;
    let bound_ns = nanoseconds("bound_s", params.bound_s, SHORTEST_S)?;
    if params.train == TRACKSIDE {
        return Err(SpecError::new(format!(
            "`app_params` of `safety`: `train` is {TRACKSIDE}, which is the trackside; give it another number"
        )));
    }
    let count = (duration_ns as u64).div_ceil(interval_ns as u64);
    let threat =
        params.threat.map(|threat| Threat::new(threat, count, params.message_size_bytes)).transpose()?;
    let warm_up_ns =
        params.warm_up_s.map(|value_s| nanoseconds("warm_up_s", value_s, SHORTEST_S)).transpose()?;
    let reopening = reopening(params.reopen_after_s, params.reopen_most)?;
    Ok(Box::new(Safety {
        kind: params.kind,
        message_bytes: params.message_size_bytes,
        interval_ns,
        count,
        bound_ns,
        freshness: params.freshness,
        train: params.train,
        threat,
        warm_up_ns,
        reopening,
    }))
}

fn reopening(after_s: Option<f64>, most: Option<u32>) -> Result<Option<Reopening>, SpecError> {
    let wrong = |why: &str| Err(SpecError::new(format!("`app_params` of `safety`: {why}")));
    match (after_s, most) {
        (None, None) => Ok(None),
        (None, Some(_)) => wrong("`reopen_most` means nothing without `reopen_after_s`"),
        (Some(_), Some(0)) => wrong("`reopen_most` is 0; leave out both, and no session is opened again"),
        (Some(after_s), most) => Ok(Some(Reopening {
            after_ns: nanoseconds("reopen_after_s", after_s, SHORTEST_S)?,
            most: most.unwrap_or(USUAL_REOPENINGS),
        })),
    }
}

impl Application for Safety {
    fn message_bytes(&self) -> u32 {
        self.message_bytes
    }

    fn suits(&self, stack: &dyn Stack) -> Result<(), SpecError> {
        if !(FIELDS_BYTES..=LONGEST_BYTES).contains(&self.message_bytes) {
            return Err(SpecError::new(format!(
                "`app_params` of `safety`: `message_size_bytes` is {}; it must be from {FIELDS_BYTES} to {LONGEST_BYTES}",
                self.message_bytes
            )));
        }
        if self.warm_up_ns.is_some() && !(stack.resumes() && stack.service() == Service::Stream) {
            return Err(SpecError::new(format!(
                "`safety` with `warm_up_s` over `{}`: it needs a stream of QUIC with `resumption`, whose later sessions \
                 take up the keys of earlier ones; leave `warm_up_s` out",
                stack.name()
            )));
        }
        if self.reopening.is_some() && (self.warm_up_ns.is_some() || stack.service() == Service::Datagrams) {
            return Err(SpecError::new(format!(
                "`safety` with `reopen_after_s` over `{}`: it needs a session whose end the sender is told, and no \
                 `warm_up_s`; leave `reopen_after_s` out",
                stack.name()
            )));
        }
        check_message_size("safety", self.message_bytes, stack)?;
        check_count("safety", "duration_s", self.count)
    }

    fn further_sessions(&self) -> u32 {
        self.reopening.map_or(0, |reopening| reopening.most)
    }

    fn lead_ns(&self) -> i64 {
        self.warm_up_ns.unwrap_or(0)
    }

    fn run_client(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        start_ns: i64,
        result: &mut ClientResult,
    ) -> Result<(), Failure> {
        if self.warm_up_ns.is_some() {
            result.warm_up = Some(warm_up(stack, session, self.message_bytes)?);
            session.pause_until(start_ns)?;
        }
        let mut gateway = Gateway::new(self.threat.as_ref(), session.ctx.seed);
        let mut send = |end: &mut End<'_>, sent: &mut Sent, further: bool| {
            // A further session begins with the next message, and the others follow at the interval.
            let now_ns = end.session.ctx.clock.now_ns();
            let since_ns = if further { now_ns - sent.messages as i64 * self.interval_ns } else { start_ns };
            self.send(end, since_ns, &mut gateway, sent)
        };
        let outcome = match self.reopening {
            None => {
                let send = &mut |end: &mut End<'_>, sent: &mut Sent| send(end, sent, false);
                send_over_one_session(stack, session, self.message_bytes, result, send)
            }
            Some(reopening) => {
                let send = &mut send;
                let left = |sent: &Sent| sent.messages < self.count;
                send_over_sessions(stack, session, self.message_bytes, reopening, result, send, &left)
            }
        };
        result.judged.extend(gateway.acts);
        result.judged.extend(result.signals.drain(..).map(signalled));
        result.judged.extend(told(session, &outcome));
        if self.warm_up_ns.is_some() && outcome.is_ok() {
            see_out(session);
        }
        outcome
    }

    fn run_server(
        &self,
        stack: &dyn Stack,
        session: &Arc<Session>,
        result: &mut ServerResult,
    ) -> Result<(), Failure> {
        let messages = self.messages(session);
        let mut judge = Judge::new(&messages, self.kind, self.freshness, self.interval_ns, self.bound_ns);
        let receive = &mut |end: &mut End<'_>, received: &mut Received| {
            self.receive(end, stack.service(), &mut judge, received)
        };
        let serve = match (self.warm_up_ns, self.reopening) {
            (Some(_), _) => receive_after_warm_up,
            (None, Some(_)) => receive_over_sessions,
            (None, None) => receive_over_one_session,
        };
        let outcome = serve(stack, session, self.message_bytes, result, receive);
        // Where a session ended well and the last message never came, the timer goes on.
        let ended_ns = session.ctx.clock.now_ns();
        judge.until(if outcome.is_ok() { session.ctx.limit_ns } else { ended_ns });
        let told_before = std::mem::replace(&mut result.judged, judge.judged);
        result.judged.extend(told_before);
        result.judged.extend(result.signals.drain(..).map(signalled));
        result.judged.extend(told(session, &outcome));
        outcome
    }
}

/// What this end was told of its session, unless the other one was told first: the two share their fate.
fn told(session: &Session, outcome: &Result<(), Failure>) -> Option<Judged> {
    let failure = outcome.as_ref().err().filter(|_| session.failure().is_none())?;
    let event = match failure {
        Failure::Echo(_) => return None,
        Failure::Limit(_) => "limit",
        _ => "session",
    };
    Some(Judged::event(event, session.ctx.clock.now_ns(), failure.to_string()))
}

impl Safety {
    /// Waits for an instant; what time it is then.
    fn pause_until(&self, end: &mut End<'_>, due_ns: i64) -> Result<i64, Failure> {
        let clock = &end.session.ctx.clock;
        let mut now_ns = clock.now_ns();
        while now_ns < due_ns {
            now_ns = match self.reopening {
                None => end.connection.pause(clock, due_ns)?,
                Some(_) => end.connection.pause_watching(clock, due_ns)?,
            };
        }
        Ok(now_ns)
    }

    fn messages(&self, session: &Session) -> Messages {
        Messages::new(self.kind, self.train, self.message_bytes, session.ctx.seed)
    }

    fn send(
        &self,
        end: &mut End<'_>,
        start_ns: i64,
        gateway: &mut Gateway<'_>,
        sent: &mut Sent,
    ) -> Result<(), Failure> {
        let session = end.session;
        let messages = self.messages(session);
        for number in sent.messages..self.count {
            let due_ns = start_ns + number as i64 * self.interval_ns;
            self.send_held(end, gateway, due_ns, sent)?;
            if due_ns >= session.ctx.limit_ns {
                return Err(session.limit_reached(&format!("message {number} was not due before")));
            }
            let now_ns = self.pause_until(end, due_ns)?;
            // What an attacker makes of it, its sender does not know.
            for message in gateway.pass(&messages.at(number as u32, now_ns), number as u32, now_ns) {
                self.hand_over(end, &message, number)?;
            }
            sent.note(1, u64::from(self.message_bytes), now_ns);
            session.announce_sender_end(SenderEnd { messages: self.count, last_ns: now_ns });
        }
        self.send_held(end, gateway, i64::MAX, sent)
    }

    /// Hands over what was held and is due before an instant.
    fn send_held(
        &self,
        end: &mut End<'_>,
        gateway: &mut Gateway<'_>,
        before_ns: i64,
        sent: &Sent,
    ) -> Result<(), Failure> {
        let session = end.session;
        while let Some(due_ns) = gateway.due_ns().filter(|due_ns| *due_ns < before_ns) {
            if due_ns >= session.ctx.limit_ns {
                return Err(session.limit_reached("a message that an attacker held was not due before"));
            }
            let now_ns = self.pause_until(end, due_ns)?;
            if let Some((message, number)) = gateway.release(now_ns) {
                self.hand_over(end, &message, u64::from(number))?;
            }
            if sent.messages == self.count {
                session.announce_sender_end(SenderEnd { messages: self.count, last_ns: now_ns });
            }
        }
        Ok(())
    }

    fn hand_over(&self, end: &mut End<'_>, mut message: &[u8], number: u64) -> Result<(), Failure> {
        while !message.is_empty() {
            let now_ns = end.session.now_before_limit("a message was being handed over")?;
            let taken = end.connection.offer(message, self.message_bytes as usize, number)?;
            message = &message[taken.min(message.len())..];
            if !message.is_empty() {
                end.connection.wait_until_writable(now_ns, i64::MAX)?;
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        end: &mut End<'_>,
        service: Service,
        judge: &mut Judge<'_>,
        received: &mut Received,
    ) -> Result<(), Failure> {
        let session = end.session;
        let mut order = InOrder::new(service);
        // Of a stream: the beginning of the message that is coming.
        let mut begun = Vec::new();
        let size = self.message_bytes as usize;
        while service != Service::Datagrams || !self.datagrams_are_over(session, received)? {
            let lacking = (size - begun.len()) as u64;
            let mut take = |bytes: &[u8], t_ns: Option<i64>| {
                let t_ns = t_ns.unwrap_or_else(|| session.ctx.clock.now_ns());
                let whole =
                    |message: &[u8], judge: &mut Judge<'_>, order: &mut InOrder, received: &mut Received| {
                        let number = message.first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
                        let readable_ns = order.readable_ns(number, t_ns);
                        let genuine = judge.message(message, readable_ns);
                        judge.last_of(self.count);
                        match genuine.filter(|number| u64::from(*number) < self.count) {
                            Some(number) => received.note_numbered(number, message.len() as u64, readable_ns),
                            None => received.note_arrival(readable_ns),
                        }
                    };
                if service != Service::Stream {
                    whole(bytes, judge, &mut order, received);
                    return Ok(());
                }
                begun.extend_from_slice(bytes);
                while begun.len() >= size {
                    let rest = begun.split_off(size);
                    whole(&begun, judge, &mut order, received);
                    begun = rest;
                }
                Ok(())
            };
            let arrival = end.connection.receive(1, lacking, &mut take)?;
            if arrival == Arrival::End {
                return match begun.len() {
                    0 => Ok(()),
                    bytes => Err(Failure::new(format!(
                        "the sender ended the session after {bytes} of the {size} bytes of a message"
                    ))),
                };
            }
            end.report(arrival, received);
        }
        Ok(())
    }

    /// Whether nothing more is to be expected of a transport that may lose messages, or bring them late or again.
    fn datagrams_are_over(&self, session: &Session, received: &Received) -> Result<bool, Failure> {
        if let Some(failure) = session.failure() {
            return Err(failure);
        }
        let now_ns = session.now_before_limit("the receiver was still waiting for messages")?;
        let Some(end) = session.sender_end() else { return Ok(false) };
        let last_ns = received.last_ns.map_or(end.last_ns, |at| at.max(end.last_ns));
        Ok(now_ns >= last_ns + session.ctx.quiet_ns.max(2 * self.interval_ns))
    }
}
