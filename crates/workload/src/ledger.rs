//! What each half of a flow notes down: which message went when, which message came when.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use transports::secure::RecordMap;
use transports::{DeliveryInstants, Signal, SocketSample};

use crate::exchange::Exchange;
use crate::verdicts::Judged;

/// Marks a message that never arrived, or whose instant is not known yet.
pub(crate) const NEVER: i64 = i64::MIN;

/// An instant in ns as the record has it.
pub(crate) fn seconds(t_ns: i64) -> f64 {
    t_ns as f64 / 1e9
}

/// A session that a sender opened before that of its flow, and over which no message went. Times in seconds from the start
/// of the run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// When the sender began.
    pub started_s: f64,
    /// When it could have sent.
    pub established_s: Option<f64>,
    /// When it knew that the receiver had ended the session too.
    pub finished_s: Option<f64>,
}

/// The sender's notes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Sent {
    /// Size of every message but the last.
    pub(crate) message_bytes: u32,
    /// Messages handed over.
    pub(crate) messages: u64,
    /// Application bytes handed over.
    pub(crate) bytes: u64,
    /// The instant of each message; empty when only totals are kept.
    pub(crate) instants_ns: Vec<i64>,
    /// The latest instant.
    pub(crate) last_ns: Option<i64>,
    /// The size of each message, where they have no common one; empty when only totals are kept.
    pub(crate) sizes_bytes: Vec<u32>,
    /// Objects, by their number, as far as the sender knows of them.
    pub(crate) exchanges: Vec<Exchange>,
    /// Of each object the messages that it is made of, by their numbers; empty where the receiver tells of objects itself.
    pub(crate) parts: Vec<Range<u32>>,
    keep: bool,
}

impl Sent {
    pub(crate) fn new(message_bytes: u32, keep: bool) -> Self {
        Self { message_bytes, keep, ..Self::default() }
    }

    /// Notes that `count` messages with `bytes` bytes in all were handed over at `t_ns`.
    pub(crate) fn note(&mut self, count: u64, bytes: u64, t_ns: i64) {
        self.messages += count;
        self.bytes += bytes;
        if count > 0 {
            self.last_ns = Some(t_ns);
        }
        if self.keep {
            self.instants_ns.resize(self.messages as usize, t_ns);
        }
    }

    /// Notes one message of a flow whose messages have no common size.
    pub(crate) fn note_sized(&mut self, size_bytes: u32, t_ns: i64) {
        if self.keep {
            self.sizes_bytes.push(size_bytes);
        }
        self.note(1, u64::from(size_bytes), t_ns);
    }
}

/// The receiver's notes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Received {
    /// Messages that arrived, each counted once.
    pub(crate) messages: u64,
    /// Application bytes that arrived.
    pub(crate) bytes: u64,
    /// First and last instant at which something arrived.
    pub(crate) first_ns: Option<i64>,
    pub(crate) last_ns: Option<i64>,
    /// The instant of each message by number, or [`NEVER`]; empty when only totals are kept.
    pub(crate) instants_ns: Vec<i64>,
    /// When the first byte and the last byte of each object arrived, by its number.
    pub(crate) wholes: BTreeMap<u32, (i64, i64)>,
    /// Whether a message was here already, when only totals are kept of datagrams.
    #[serde(skip)]
    seen: Vec<bool>,
    keep: bool,
}

impl Received {
    pub(crate) fn new(keep: bool) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Notes that something arrived at `t_ns`.
    pub(crate) fn note_arrival(&mut self, t_ns: i64) {
        self.first_ns = Some(self.first_ns.map_or(t_ns, |first| first.min(t_ns)));
        self.last_ns = Some(self.last_ns.map_or(t_ns, |last| last.max(t_ns)));
    }

    /// Notes one message of a sequence without gaps or repeats: the next one, complete at `t_ns` (`None` when
    /// the instant is worked out later).
    pub(crate) fn note_next(&mut self, t_ns: Option<i64>) {
        self.messages += 1;
        if self.keep {
            self.instants_ns.push(t_ns.unwrap_or(NEVER));
        }
    }

    /// Notes message `seq`, which may be early, late or a repeat. Only its first arrival counts.
    pub(crate) fn note_numbered(&mut self, seq: u32, bytes: u64, t_ns: i64) {
        let index = seq as usize;
        if self.seen.len() <= index {
            self.seen.resize(index + 1, false);
        }
        if std::mem::replace(&mut self.seen[index], true) {
            return;
        }
        self.messages += 1;
        self.bytes += bytes;
        self.note_arrival(t_ns);
        if self.keep {
            if self.instants_ns.len() <= index {
                self.instants_ns.resize(index + 1, NEVER);
            }
            self.instants_ns[index] = t_ns;
        }
    }
}

/// What the receiving half noted.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerResult {
    pub(crate) received: Received,
    pub(crate) instants: DeliveryInstants,
    pub(crate) records: Option<RecordMap>,
    /// The objects that it asked for.
    pub(crate) exchanges: Vec<Exchange>,
    /// What its transport counted.
    pub(crate) counts: BTreeMap<String, u64>,
    /// What its transport told it and went on, for an application that judges: it reads them itself.
    #[serde(skip)]
    pub(crate) signals: Vec<Signal>,
    /// What it made of its messages, in the order of their instants.
    pub(crate) judged: Vec<Judged>,
}

/// What the sending half noted.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClientResult {
    pub(crate) sent: Sent,
    pub(crate) samples: Vec<SocketSample>,
    pub(crate) transport_established_ns: Option<i64>,
    pub(crate) established_ns: Option<i64>,
    pub(crate) finished_ns: Option<i64>,
    pub(crate) subflows: Option<u32>,
    pub(crate) sender_dropped_messages: Option<u64>,
    pub(crate) counts: BTreeMap<String, u64>,
    /// What its transport told it and went on, for an application that judges: it reads them itself.
    #[serde(skip)]
    pub(crate) signals: Vec<Signal>,
    /// What it was told of its session, in an application that judges.
    pub(crate) judged: Vec<Judged>,
    /// The session that it opened before that of the flow.
    pub(crate) warm_up: Option<WarmUp>,
}

/// Adds what was counted elsewhere, name by name.
pub(crate) fn add_counts(counts: &mut BTreeMap<String, u64>, more: impl IntoIterator<Item = (String, u64)>) {
    for (name, many) in more {
        *counts.entry(name).or_default() += many;
    }
}

impl ClientResult {
    /// Empty notes; messages of `message_bytes` are noted one by one if `keep` says so.
    pub(crate) fn new(message_bytes: u32, keep: bool) -> Self {
        Self {
            sent: Sent::new(message_bytes, keep),
            samples: Vec::new(),
            transport_established_ns: None,
            established_ns: None,
            finished_ns: None,
            subflows: None,
            sender_dropped_messages: None,
            counts: BTreeMap::new(),
            signals: Vec::new(),
            judged: Vec::new(),
            warm_up: None,
        }
    }
}

impl ServerResult {
    /// Empty notes; messages are noted one by one if `keep` says so.
    pub(crate) fn new(keep: bool) -> Self {
        Self {
            received: Received::new(keep),
            instants: DeliveryInstants::Application,
            records: None,
            exchanges: Vec::new(),
            counts: BTreeMap::new(),
            signals: Vec::new(),
            judged: Vec::new(),
        }
    }
}
