//! The objects that flows exchange one by one - files, pages, messages with a session each - and their file
//! `exchanges.arrow` (`docs/formats/record.md`).

use arrow_array::builder::{Int64Builder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder};
use serde::{Deserialize, Serialize};

/// The outcome of an exchange that went well; any other is a sentence.
pub const OK: &str = "ok";

/// One object with its instants, in time of the run. An instant that was not reached, or that its transport does not
/// have, is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// What it is called.
    pub object: String,
    /// Its application bytes.
    pub size_bytes: u64,
    /// Set-up of its session began; on a session that was there, it was asked for or handed over.
    pub requested_ns: i64,
    /// The transport's session was there.
    pub connected_ns: Option<i64>,
    /// The secure session was there.
    pub secured_ns: Option<i64>,
    /// Its first byte was at the receiver.
    pub first_byte_ns: Option<i64>,
    /// Its last byte was at the receiver.
    pub completed_ns: Option<i64>,
    /// [`OK`], or why not.
    pub outcome: String,
}

impl Exchange {
    /// One that begins at `requested_ns`.
    pub(crate) fn begun(object: String, size_bytes: u64, requested_ns: i64, outcome: String) -> Self {
        Self {
            object,
            size_bytes,
            requested_ns,
            connected_ns: None,
            secured_ns: None,
            first_byte_ns: None,
            completed_ns: None,
            outcome,
        }
    }

    /// Whether it went wrong.
    pub fn failed(&self) -> bool {
        self.outcome != OK
    }
}

table! {
    /// Collects the exchanges of the flows of one run; `seq` is the exchange's place in its flow.
    ExchangeLog(flow: u16, seq: u32, exchange: &Exchange) {
        flow: UInt16Builder, false, Some(flow);
        seq: UInt32Builder, false, Some(seq);
        object: StringBuilder, false, Some(&exchange.object);
        size_bytes: UInt64Builder, false, Some(exchange.size_bytes);
        requested_ns: Int64Builder, false, Some(exchange.requested_ns);
        connected_ns: Int64Builder, true, exchange.connected_ns;
        secured_ns: Int64Builder, true, exchange.secured_ns;
        first_byte_ns: Int64Builder, true, exchange.first_byte_ns;
        completed_ns: Int64Builder, true, exchange.completed_ns;
        outcome: StringBuilder, false, Some(&exchange.outcome);
    }
}
