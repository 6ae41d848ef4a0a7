//! The columnar files of a record: `messages.arrow` and `sockets.arrow` (`docs/formats/record.md`).

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use transports::SocketSample;

/// Collects the messages of the flows of one run.
#[derive(Debug, Default)]
pub struct MessageLog {
    flow: UInt16Builder,
    seq: UInt32Builder,
    size_bytes: UInt32Builder,
    sent_ns: Int64Builder,
    received_ns: Int64Builder,
}

impl MessageLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one message; `flow` is the flow's place in the run.
    pub fn push(&mut self, flow: u16, seq: u32, size_bytes: u32, sent_ns: i64, received_ns: Option<i64>) {
        self.flow.append_value(flow);
        self.seq.append_value(seq);
        self.size_bytes.append_value(size_bytes);
        self.sent_ns.append_value(sent_ns);
        self.received_ns.append_option(received_ns);
    }

    /// Writes everything as an Arrow IPC file and empties the log.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn write(&mut self, path: &Path) -> Result<(), ArrowError> {
        write_file(
            path,
            vec![
                column("flow", false, &mut self.flow),
                column("seq", false, &mut self.seq),
                column("size_bytes", false, &mut self.size_bytes),
                column("sent_ns", false, &mut self.sent_ns),
                column("received_ns", true, &mut self.received_ns),
            ],
        )
    }
}

/// Collects the socket samples of the flows of one run.
#[derive(Debug, Default)]
pub struct SocketLog {
    flow: UInt16Builder,
    t_ns: Int64Builder,
    cwnd_bytes: UInt64Builder,
    ssthresh_bytes: UInt64Builder,
    srtt_ns: Int64Builder,
    rttvar_ns: Int64Builder,
    min_rtt_ns: Int64Builder,
    in_flight_bytes: UInt64Builder,
    retransmitted_packets: UInt64Builder,
    lost_packets: UInt64Builder,
    delivered_bytes: UInt64Builder,
    delivery_rate_bps: Float64Builder,
    pacing_rate_bps: Float64Builder,
}

impl SocketLog {
    /// An empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one sample; `flow` is the flow's place in the run.
    pub fn push(&mut self, flow: u16, sample: &SocketSample) {
        self.flow.append_value(flow);
        self.t_ns.append_value(sample.t_ns);
        self.cwnd_bytes.append_value(sample.cwnd_bytes);
        self.ssthresh_bytes.append_option(sample.ssthresh_bytes);
        self.srtt_ns.append_option(sample.srtt_ns);
        self.rttvar_ns.append_option(sample.rttvar_ns);
        self.min_rtt_ns.append_option(sample.min_rtt_ns);
        self.in_flight_bytes.append_value(sample.in_flight_bytes);
        self.retransmitted_packets.append_value(sample.retransmitted_packets);
        self.lost_packets.append_option(sample.lost_packets);
        self.delivered_bytes.append_option(sample.delivered_bytes);
        self.delivery_rate_bps.append_option(sample.delivery_rate_bps);
        self.pacing_rate_bps.append_option(sample.pacing_rate_bps);
    }

    /// Writes everything as an Arrow IPC file and empties the log.
    ///
    /// # Errors
    /// The file could not be written.
    pub fn write(&mut self, path: &Path) -> Result<(), ArrowError> {
        write_file(
            path,
            vec![
                column("flow", false, &mut self.flow),
                column("t_ns", false, &mut self.t_ns),
                column("cwnd_bytes", false, &mut self.cwnd_bytes),
                column("ssthresh_bytes", true, &mut self.ssthresh_bytes),
                column("srtt_ns", true, &mut self.srtt_ns),
                column("rttvar_ns", true, &mut self.rttvar_ns),
                column("min_rtt_ns", true, &mut self.min_rtt_ns),
                column("in_flight_bytes", false, &mut self.in_flight_bytes),
                column("retransmitted_packets", false, &mut self.retransmitted_packets),
                column("lost_packets", true, &mut self.lost_packets),
                column("delivered_bytes", true, &mut self.delivered_bytes),
                column("delivery_rate_bps", true, &mut self.delivery_rate_bps),
                column("pacing_rate_bps", true, &mut self.pacing_rate_bps),
            ],
        )
    }
}

pub(crate) fn column(name: &str, nullable: bool, builder: &mut dyn ArrayBuilder) -> (Field, ArrayRef) {
    let array = builder.finish();
    let kind: DataType = array.data_type().clone();
    (Field::new(name, kind, nullable), array)
}

pub(crate) fn write_file(path: &Path, columns: Vec<(Field, ArrayRef)>) -> Result<(), ArrowError> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays)?;
    let file = File::create(path).map_err(|e| ArrowError::IoError(format!("{}: {e}", path.display()), e))?;
    let mut writer = FileWriter::try_new(BufWriter::new(file), &schema)?;
    writer.write(&batch)?;
    writer.finish()
}
