//! The outcome of a flow as the record has it, whoever carried the flow.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::Serialize;
use transports::DeliveryInstants;

use crate::ledger::{WarmUp, seconds};
use crate::spec::FlowSpec;

/// One element of `flows` in `record.json`; times in seconds from the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowResult {
    /// The flow's name.
    pub id: String,
    /// Its transport.
    pub stack: String,
    /// Its application.
    pub app: String,
    /// The sending node.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// `ok` or `failed`.
    pub outcome: &'static str,
    /// Why it failed, one sentence.
    pub reason: Option<String>,
    /// When the sender was to start.
    pub start_s: f64,
    /// When the handshake of the transport was over; absent for a transport without sessions.
    pub transport_established_s: Option<f64>,
    /// When the sender could send, which takes a secure session a handshake more; absent for a transport without
    /// sessions.
    pub established_s: Option<f64>,
    /// When the first byte arrived.
    pub first_received_s: Option<f64>,
    /// When the last byte arrived.
    pub last_received_s: Option<f64>,
    /// When the sender knew that the receiver had ended the session too; without sessions, when the last message was
    /// sent or received.
    pub finished_s: Option<f64>,
    /// Messages that the transport took.
    pub sent_messages: u64,
    /// Messages that the receiver had, each counted once.
    pub received_messages: u64,
    /// Bytes that the transport took.
    pub sent_bytes: u64,
    /// Bytes that the receiver had.
    pub received_bytes: u64,
    /// Size of every message but perhaps the last; 0 where they have no common size.
    pub message_size_bytes: u32,
    /// Address and port of the sender.
    pub source: String,
    /// Address and port of the receiver.
    pub destination: String,
    /// `wire`, `kernel` or `application`.
    pub delivery_instants: &'static str,
    /// Subflows of a multipath transport once everything was handed over; absent for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subflows: Option<u32>,
    /// Messages among those sent that never entered the network: a queue of the sender's own dropped them. Absent for
    /// transports that never do so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_dropped_messages: Option<u64>,
    /// What a transport that runs in the program counted at both ends, by name; absent for those that count nothing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// The session before the flow's own; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
}

/// How a flow ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As it should.
    Ok,
    /// It failed, for this reason.
    Failed(String),
    /// Who was to carry it cannot, for this reason.
    Unsupported(String),
}

/// What is known of a flow that is over. Instants are time of the run.
#[derive(Debug, Clone)]
pub struct Summary {
    /// When the sender began, where that is not when it was to.
    pub started_ns: Option<i64>,
    /// As in [`FlowResult`].
    pub transport_established_ns: Option<i64>,
    /// As in [`FlowResult`].
    pub established_ns: Option<i64>,
    /// When the first byte and the last one arrived.
    pub received_ns: Option<(i64, i64)>,
    /// As in [`FlowResult`].
    pub finished_ns: Option<i64>,
    /// Messages and bytes that the transport took.
    pub sent: (u64, u64),
    /// Messages and bytes that the receiver had.
    pub received: (u64, u64),
    /// As in [`FlowResult`].
    pub message_bytes: u32,
    /// Sender and receiver.
    pub ends: [SocketAddr; 2],
    /// As in [`FlowResult`].
    pub instants: DeliveryInstants,
    /// As in [`FlowResult`].
    pub subflows: Option<u32>,
    /// As in [`FlowResult`].
    pub sender_dropped_messages: Option<u64>,
    /// As in [`FlowResult`].
    pub counts: BTreeMap<String, u64>,
    /// As in [`FlowResult`].
    pub warm_up: Option<WarmUp>,
}

impl FlowResult {
    /// The outcome of the flow that `spec` describes.
    pub fn new(spec: &FlowSpec, ending: Ending, summary: Summary) -> Self {
        let (outcome, reason) = match ending {
            Ending::Ok => ("ok", None),
            Ending::Failed(reason) => ("failed", Some(reason)),
            Ending::Unsupported(reason) => ("unsupported", Some(reason)),
        };
        let [source, destination] = summary.ends.map(|end| end.to_string());
        Self {
            id: spec.id.clone(),
            stack: spec.stack.clone(),
            app: spec.app.clone(),
            from: spec.from.clone(),
            to: spec.to.clone(),
            outcome,
            reason,
            start_s: summary.started_ns.map_or(spec.start_s, seconds),
            transport_established_s: summary.transport_established_ns.map(seconds),
            established_s: summary.established_ns.map(seconds),
            first_received_s: summary.received_ns.map(|(first_ns, _)| seconds(first_ns)),
            last_received_s: summary.received_ns.map(|(_, last_ns)| seconds(last_ns)),
            finished_s: summary.finished_ns.map(seconds),
            sent_messages: summary.sent.0,
            received_messages: summary.received.0,
            sent_bytes: summary.sent.1,
            received_bytes: summary.received.1,
            message_size_bytes: summary.message_bytes,
            source,
            destination,
            delivery_instants: summary.instants.name(),
            subflows: summary.subflows,
            sender_dropped_messages: summary.sender_dropped_messages,
            counts: summary.counts,
            warm_up: summary.warm_up,
        }
    }

    /// Says that the flow has failed after all, unless it had already.
    pub(crate) fn fail(&mut self, reason: &str) {
        self.outcome = "failed";
        self.reason.get_or_insert_with(|| reason.to_owned());
    }

    /// Says when the first byte and the last one arrived, as a capture tells it.
    pub(crate) fn arrived_on_the_wire(&mut self, first_ns: Option<i64>, last_ns: Option<i64>) {
        self.delivery_instants = DeliveryInstants::Wire.name();
        self.first_received_s = first_ns.map(seconds);
        self.last_received_s = last_ns.map(seconds);
    }
}
