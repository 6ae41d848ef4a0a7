//! The objects that flows exchange one by one - files, pages, messages with a session each - and their file
//! `exchanges.arrow` (`docs/formats/record.md`).

use std::path::Path;

use arrow_array::builder::{Int64Builder, StringBuilder, UInt16Builder, UInt32Builder, UInt64Builder};
use arrow_schema::ArrowError;

use crate::log::{column, write_file};

/// The outcome of an exchange that went well; any other is a sentence.
pub const OK: &str = "ok";

/// One object with its instants, in time of the run. An instant that was not reached, or that its transport does not
/// have, is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Collects the exchanges of the flows of one run.
#[derive(Debug, Default)]
pub struct ExchangeLog {
    flow: UInt16Builder,
    seq: UInt32Builder,
    object: StringBuilder,
    size_bytes: UInt64Builder,
    requested_ns: Int64Builder,
    connected_ns: Int64Builder,
    secured_ns: Int64Builder,
    first_byte_ns: Int64Builder,
    completed_ns: Int64Builder,
    outcome: StringBuilder,
    rows: usize,
}

impl ExchangeLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds one exchange; `flow` is the flow's place in the run, `seq` the exchange's in the flow.
    pub fn push(&mut self, flow: u16, seq: u32, exchange: &Exchange) {
        self.flow.append_value(flow);
        self.seq.append_value(seq);
        self.object.append_value(&exchange.object);
        self.size_bytes.append_value(exchange.size_bytes);
        self.requested_ns.append_value(exchange.requested_ns);
        self.connected_ns.append_option(exchange.connected_ns);
        self.secured_ns.append_option(exchange.secured_ns);
        self.first_byte_ns.append_option(exchange.first_byte_ns);
        self.completed_ns.append_option(exchange.completed_ns);
        self.outcome.append_value(&exchange.outcome);
        self.rows += 1;
    }

    /// Writes everything as an Arrow IPC file and empties the log.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn write(&mut self, path: &Path) -> Result<(), ArrowError> {
        self.rows = 0;
        write_file(
            path,
            vec![
                column("flow", false, &mut self.flow),
                column("seq", false, &mut self.seq),
                column("object", false, &mut self.object),
                column("size_bytes", false, &mut self.size_bytes),
                column("requested_ns", false, &mut self.requested_ns),
                column("connected_ns", true, &mut self.connected_ns),
                column("secured_ns", true, &mut self.secured_ns),
                column("first_byte_ns", true, &mut self.first_byte_ns),
                column("completed_ns", true, &mut self.completed_ns),
                column("outcome", false, &mut self.outcome),
            ],
        )
    }
}
