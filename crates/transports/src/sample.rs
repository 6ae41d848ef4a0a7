//! What is read from a sender's socket while it sends.

use serde::{Deserialize, Serialize};

/// The state of a sender's socket at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SocketSample {
    /// Time of the run.
    pub t_ns: i64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold; `None` while unset or not told by the transport.
    pub ssthresh_bytes: Option<u64>,
    /// Smoothed RTT.
    pub srtt_ns: Option<i64>,
    /// Variation of the RTT.
    pub rttvar_ns: Option<i64>,
    /// Smallest RTT of late.
    pub min_rtt_ns: Option<i64>,
    /// Sent and not yet acknowledged nor marked lost.
    pub in_flight_bytes: u64,
    /// Retransmissions so far.
    pub retransmitted_packets: u64,
    /// Packets that are marked lost now.
    pub lost_packets: Option<u64>,
    /// Acknowledged so far.
    pub delivered_bytes: Option<u64>,
    /// The transport's estimate of its delivery rate.
    pub delivery_rate_bps: Option<f64>,
    /// The rate at which the transport paces its packets.
    pub pacing_rate_bps: Option<f64>,
}
