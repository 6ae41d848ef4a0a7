//! The columnar files of a record: `messages.arrow` and `sockets.arrow` (`docs/formats/record.md`).

use arrow_array::builder::{Float64Builder, Int64Builder, UInt16Builder, UInt32Builder, UInt64Builder};
use transports::SocketSample;

table! {
    /// Collects the messages of the flows of one run.
    MessageLog {
        flow: UInt16Builder, false;
        seq: UInt32Builder, false;
        size_bytes: UInt32Builder, false;
        sent_ns: Int64Builder, false;
        received_ns: Int64Builder, true;
    }
}

impl MessageLog {
    /// Adds one message; `flow` is the flow's place in the run.
    pub fn push(&mut self, flow: u16, seq: u32, size_bytes: u32, sent_ns: i64, received_ns: Option<i64>) {
        add_row!(
            self,
            flow: flow,
            seq: seq,
            size_bytes: size_bytes,
            sent_ns: sent_ns,
            received_ns: received_ns,
        );
    }
}

table! {
    /// Collects the socket samples of the flows of one run.
    SocketLog {
        flow: UInt16Builder, false;
        t_ns: Int64Builder, false;
        cwnd_bytes: UInt64Builder, false;
        ssthresh_bytes: UInt64Builder, true;
        srtt_ns: Int64Builder, true;
        rttvar_ns: Int64Builder, true;
        min_rtt_ns: Int64Builder, true;
        in_flight_bytes: UInt64Builder, false;
        retransmitted_packets: UInt64Builder, false;
        lost_packets: UInt64Builder, true;
        delivered_bytes: UInt64Builder, true;
        delivery_rate_bps: Float64Builder, true;
        pacing_rate_bps: Float64Builder, true;
    }
}

impl SocketLog {
    /// Adds one sample; `flow` is the flow's place in the run.
    pub fn push(&mut self, flow: u16, sample: &SocketSample) {
        add_row!(
            self,
            flow: flow,
            t_ns: sample.t_ns,
            cwnd_bytes: sample.cwnd_bytes,
            ssthresh_bytes: sample.ssthresh_bytes,
            srtt_ns: sample.srtt_ns,
            rttvar_ns: sample.rttvar_ns,
            min_rtt_ns: sample.min_rtt_ns,
            in_flight_bytes: sample.in_flight_bytes,
            retransmitted_packets: sample.retransmitted_packets,
            lost_packets: sample.lost_packets,
            delivered_bytes: sample.delivered_bytes,
            delivery_rate_bps: sample.delivery_rate_bps,
            pacing_rate_bps: sample.pacing_rate_bps,
        );
    }
}
