//! What both halves of a flow noted, put together: its outcome, its messages, its objects.

use std::ops::Range;
use std::sync::Arc;

use transports::secure::RecordMap;
use transports::{DeliveryInstants, Failure, Service, Session, SocketSample};

use crate::exchange::{Exchange, ExchangeLog};
use crate::ledger::{ClientResult, NEVER, Received, Sent, ServerResult, add_counts};
use crate::log::{Message, MessageLog, SocketLog};
use crate::outcome::{Ending, FlowResult, Summary};
use crate::spec::Flow;
use crate::verdicts::{Judged, SafetyLog, THREAT};
use crate::wire::StreamInstants;

/// What both halves of a flow noted.
#[derive(Debug)]
pub struct FlowReport {
    /// Totals and instants.
    pub result: FlowResult,
    /// The sender's socket over time.
    pub samples: Vec<SocketSample>,
    /// The objects that were exchanged one by one; none for an application without any.
    pub exchanges: Vec<Exchange>,
    /// What its receiver made of its messages, and what either end was told; empty for an application that does not
    /// judge.
    pub judged: Vec<Judged>,
    /// Secrets of its secure sessions, for `keys.log`; empty unless they were to be kept.
    pub keys: String,
    sent: Sent,
    received: Received,
    instants: DeliveryInstants,
    /// Where the messages stand in the stream on the wire; without it, one to one.
    records: Option<RecordMap>,
}

impl FlowReport {
    pub(crate) fn new(
        flow: Arc<Flow>,
        session: &Session,
        server: Option<ServerResult>,
        client: ClientResult,
    ) -> Self {
        let alone = server.is_none();
        let ServerResult {
            received,
            instants,
            records,
            exchanges: asked,
            counts: at_receiver,
            mut judged,
            ..
        } = server.unwrap_or_else(|| ServerResult::new(false));
        let ClientResult {
            mut sent,
            samples,
            mut transport_established_ns,
            mut established_ns,
            mut finished_ns,
            subflows,
            sender_dropped_messages,
            mut counts,
            judged: told,
            warm_up,
            ..
        } = client;
        judged.extend(told);
        let threatened = judged.iter().any(|row| row.event == THREAT);
        // In the order in which things happened, as far as instants tell.
        judged.sort_by_key(|row| row.t_ns);
        for row in &mut judged {
            row.genuine = genuine(row, &sent);
        }
        add_counts(&mut counts, at_receiver);
        let (mut source, mut destination) = (session.ctx.source, session.ctx.destination);
        let exchanges = if flow.app.receiver_asks() {
            std::mem::swap(&mut source, &mut destination);
            let first = asked.iter().find(|exchange| exchange.connected_ns.is_some());
            transport_established_ns = first.and_then(|exchange| exchange.connected_ns);
            established_ns = first.and_then(|exchange| exchange.secured_ns).or(transport_established_ns);
            finished_ns = asked.iter().filter_map(|exchange| exchange.completed_ns).max();
            asked
        } else if sent.parts.is_empty() {
            whole_exchanges(&mut sent, &received)
        } else {
            let mut exchanges = std::mem::take(&mut sent.exchanges);
            // Instants that a capture is to tell come later.
            if instants != DeliveryInstants::Wire {
                put_together(&mut exchanges, &sent.parts, &received);
            }
            exchanges
        };
        // Where each message has a session of its own, one that fails is its own outcome and not the flow's; and where
        // another session follows, what the one before had not delivered is lost.
        let several = flow.app.opens_many_sessions() || flow.app.further_sessions() > 0;
        let service = if several { Service::Datagrams } else { flow.stack.service() };
        let failure = session
            .failure()
            .or_else(|| session.ctx.qlog.as_ref().and_then(|qlog| qlog.failure()))
            .or_else(|| exchanges.iter().all(Exchange::failed).then(|| first_failure(&exchanges)).flatten())
            // What was done to messages before the transport had them is no failure of its.
            .or_else(|| (!alone && !threatened).then(|| missing(service, &sent, &received)).flatten());
        let last_event = if flow.stack.service() == Service::Datagrams {
            sent.last_ns.max(received.last_ns)
        } else {
            finished_ns
        };
        let result = FlowResult::new(
            &flow.spec,
            failure.map_or(Ending::Ok, |failure| Ending::Failed(failure.to_string())),
            Summary {
                started_ns: None,
                transport_established_ns,
                established_ns,
                received_ns: received.first_ns.zip(received.last_ns),
                finished_ns: last_event,
                sent: (sent.messages, sent.bytes),
                received: (received.messages, received.bytes),
                message_bytes: sent.message_bytes,
                ends: [source, destination],
                instants,
                subflows,
                sender_dropped_messages,
                counts,
                warm_up,
            },
        );
        let keys = session.keys().map(|keys| keys.text()).unwrap_or_default();
        Self { result, samples, exchanges, judged, keys, sent, received, instants, records }
    }

    /// How the instants of arrival were or are to be taken. After [`DeliveryInstants::Wire`] comes
    /// [`FlowReport::apply_wire`].
    pub fn delivery_instants(&self) -> DeliveryInstants {
        self.instants
    }

    /// Fills in the instants of arrival from a capture of the packets that arrived at the receiver.
    ///
    /// # Errors
    /// The capture and the receiver disagree on what arrived: packets are missing from it, or the kernel did not keep
    /// what it shows. The instants then stay unknown.
    pub fn apply_wire(&mut self, wire: &StreamInstants) -> Result<(), Failure> {
        if self.received.bytes == 0 {
            return Ok(());
        }
        let records = self.records.as_ref();
        let instant_ns = |bytes| match records {
            Some(records) => wire.instant_ns(records.stream_bytes(bytes)?),
            None => wire.instant_ns(bytes),
        };
        let (first_ns, last_ns) = (instant_ns(1), instant_ns(self.received.bytes));
        if last_ns.is_none() {
            return Err(Failure::new(format!(
                "the capture at the receiver shows {} bytes in order, too few for the {} that were received",
                wire.bytes(),
                self.received.bytes
            )));
        }
        if first_ns > self.received.first_ns || last_ns > self.received.last_ns {
            return Err(Failure::new(
                "the receiver had bytes before the capture shows their arrival: it is not of this run, or lost packets",
            ));
        }
        let received_bytes = self.received.bytes;
        let mut end = 0;
        for (index, received_ns) in self.received.instants_ns.iter_mut().enumerate() {
            end += self
                .sent
                .sizes_bytes
                .get(index)
                .map_or(u64::from(self.sent.message_bytes), |size| (*size).into());
            *received_ns = instant_ns(end.min(received_bytes)).unwrap_or(NEVER);
        }
        put_together(&mut self.exchanges, &self.sent.parts, &self.received);
        self.result.arrived_on_the_wire(first_ns, last_ns);
        Ok(())
    }

    /// Says that the flow has failed after all, unless it had already.
    pub fn fail(&mut self, reason: &str) {
        self.result.fail(reason);
    }

    /// The messages that were sent, in their order; none unless they were to be kept. A flow that failed may have
    /// delivered more messages than its sender knew to be handed over: those are left out.
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        let size = u64::from(self.sent.message_bytes);
        self.sent.instants_ns.iter().enumerate().map(move |(index, sent_ns)| {
            let of_common_size = || size.min(self.sent.bytes - index as u64 * size) as u32;
            Message {
                seq: index as u32,
                size_bytes: self.sent.sizes_bytes.get(index).copied().unwrap_or_else(of_common_size),
                sent_ns: *sent_ns,
                received_ns: self.received.instants_ns.get(index).copied().filter(|at| *at != NEVER),
            }
        })
    }

    /// Adds messages, samples and objects to the logs of the run; `flow` is the flow's place in it.
    pub fn write_into(
        &self,
        flow: u16,
        messages: &mut MessageLog,
        sockets: &mut SocketLog,
        exchanges: &mut ExchangeLog,
        safety: &mut SafetyLog,
    ) {
        for row in &self.judged {
            safety.push(flow, row);
        }
        for (seq, exchange) in (0..).zip(&self.exchanges) {
            exchanges.push(flow, seq, exchange);
        }
        for message in self.messages() {
            messages.push(flow, message);
        }
        for sample in &self.samples {
            sockets.push(flow, sample);
        }
    }
}

/// Whether a message is what the sender sent under its number: its content, and the instant of its time stamp. Nobody
/// knows if messages were not noted one by one.
fn genuine(row: &Judged, sent: &Sent) -> Option<bool> {
    let content = row.genuine?;
    if sent.messages > 0 && sent.instants_ns.is_empty() {
        return None;
    }
    let stamp_ns = row.number.and_then(|number| sent.instants_ns.get(number as usize).copied());
    Some(content && stamp_ns == row.stamp_ns)
}

/// The sender's notes of its objects with those of the receiver.
fn whole_exchanges(sent: &mut Sent, received: &Received) -> Vec<Exchange> {
    let mut exchanges = std::mem::take(&mut sent.exchanges);
    for (seq, exchange) in (0..).zip(&mut exchanges) {
        match received.wholes.get(&seq) {
            Some((first_ns, whole_ns)) => {
                (exchange.first_byte_ns, exchange.completed_ns) = (Some(*first_ns), Some(*whole_ns));
            }
            // Answers are complete at the sender's end, who asked for them.
            None if !exchange.failed() && exchange.completed_ns.is_none() => {
                exchange.outcome = "it never arrived".to_owned()
            }
            None => {}
        }
    }
    exchanges
}

/// Objects that are made of several messages: each is there when all of its messages are.
fn put_together(exchanges: &mut [Exchange], parts: &[Range<u32>], received: &Received) {
    for (exchange, part) in exchanges.iter_mut().zip(parts) {
        let arrived = |seq: u32| received.instants_ns.get(seq as usize).copied().filter(|at| *at != NEVER);
        let instants: Vec<i64> = part.clone().filter_map(arrived).collect();
        exchange.first_byte_ns = instants.iter().min().copied();
        exchange.completed_ns = instants.iter().max().copied().filter(|_| instants.len() == part.len());
        if exchange.completed_ns.is_none() {
            exchange.outcome = "it never arrived whole".to_owned();
        }
    }
}

fn first_failure(exchanges: &[Exchange]) -> Option<Failure> {
    exchanges.first().map(|exchange| Failure::new(exchange.outcome.clone()))
}

/// The failure of a flow that ended in order and yet lacks what its transport promised.
fn missing(service: Service, sent: &Sent, received: &Received) -> Option<Failure> {
    let all = sent.messages;
    match (service, received.messages) {
        (Service::Datagrams, 0) if all > 0 => {
            Some(Failure::new(format!("none of the {all} messages that were sent arrived")))
        }
        (Service::Stream | Service::Messages { .. }, got) if got != all => Some(Failure::new(format!(
            "the connection ended in order and yet {got} of {all} messages arrived"
        ))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::OK;

    #[test]
    fn an_object_is_whole_with_the_last_of_its_messages() {
        let mut received = Received::new(true);
        for (seq, t_ns) in [(0, 30), (1, 20), (3, 50), (5, 70)] {
            received.note_numbered(seq, 100, t_ns);
        }
        let begun = |requested_ns| Exchange::begun("P".to_owned(), 200, requested_ns, OK.to_owned());
        let mut exchanges = [begun(1), begun(2), begun(3), begun(4)];
        put_together(&mut exchanges, &[0..2, 2..4, 5..6, 6..8], &received);
        let ends = exchanges.each_ref().map(|exchange| (exchange.first_byte_ns, exchange.completed_ns));
        assert_eq!(ends, [(Some(20), Some(30)), (Some(50), None), (Some(70), Some(70)), (None, None)]);
        assert_eq!(exchanges.each_ref().map(Exchange::failed), [false, true, false, true]);
    }

    /// A message is genuine only with the content and the time stamp that it was sent with.
    #[test]
    fn another_time_stamp_than_the_one_that_was_sent_is_not_genuine() {
        let mut sent = Sent::new(64, true);
        for at_ns in [10, 20] {
            sent.note(1, 64, at_ns);
        }
        let row = |number: u32, stamp_ns: i64, content: bool| Judged {
            number: Some(number),
            stamp_ns: Some(stamp_ns),
            genuine: Some(content),
            ..Judged::event("message", 30, "accepted")
        };
        assert_eq!(genuine(&row(1, 20, true), &sent), Some(true));
        assert_eq!(genuine(&row(1, 21, true), &sent), Some(false));
        assert_eq!(genuine(&row(1, 20, false), &sent), Some(false));
        assert_eq!(genuine(&row(2, 20, true), &sent), Some(false));
        assert_eq!(genuine(&Judged::event("timeout", 30, "timeout"), &sent), None);
    }
}
