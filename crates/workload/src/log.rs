//! The columnar files of a record: `messages.arrow` and `sockets.arrow` (`docs/formats/record.md`).

use arrow_array::builder::{Float64Builder, Int64Builder, UInt16Builder, UInt32Builder, UInt64Builder};
use transports::SocketSample;

/// A message with its instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Its number, from 0.
    pub seq: u32,
    /// Its size.
    pub size_bytes: u32,
    /// When the transport had all of it.
    pub sent_ns: i64,
    /// When the receiving application had all of it; `None` if never.
    pub received_ns: Option<i64>,
}

table! {
    /// Collects the messages of the flows of one run.
    MessageLog(flow: u16, message: Message) {
        flow: UInt16Builder, false, Some(flow);
        seq: UInt32Builder, false, Some(message.seq);
        size_bytes: UInt32Builder, false, Some(message.size_bytes);
        sent_ns: Int64Builder, false, Some(message.sent_ns);
        received_ns: Int64Builder, true, message.received_ns;
    }
}

table! {
    /// Collects the socket samples of the flows of one run.
    SocketLog(flow: u16, sample: &SocketSample) {
        flow: UInt16Builder, false, Some(flow);
        t_ns: Int64Builder, false, Some(sample.t_ns);
        cwnd_bytes: UInt64Builder, false, Some(sample.cwnd_bytes);
        ssthresh_bytes: UInt64Builder, true, sample.ssthresh_bytes;
        srtt_ns: Int64Builder, true, sample.srtt_ns;
        rttvar_ns: Int64Builder, true, sample.rttvar_ns;
        min_rtt_ns: Int64Builder, true, sample.min_rtt_ns;
        in_flight_bytes: UInt64Builder, false, Some(sample.in_flight_bytes);
        retransmitted_packets: UInt64Builder, false, Some(sample.retransmitted_packets);
        lost_packets: UInt64Builder, true, sample.lost_packets;
        delivered_bytes: UInt64Builder, true, sample.delivered_bytes;
        delivery_rate_bps: Float64Builder, true, sample.delivery_rate_bps;
        pacing_rate_bps: Float64Builder, true, sample.pacing_rate_bps;
    }
}
