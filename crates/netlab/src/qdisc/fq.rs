//! Fair queue (`tc-fq(8)`) without its pacing: the host queue that keeps release times of datagrams, and nothing else.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcMessage;

use super::message::{emit, root};

/// Attributes of `linux/pkt_sched.h`.
const TCA_FQ_PLIMIT: u16 = 1;
const TCA_FQ_FLOW_PLIMIT: u16 = 2;
const TCA_FQ_RATE_ENABLE: u16 = 5;
const TCA_FQ_TIMER_SLACK: u16 = 13;
const TCA_FQ_HORIZON: u16 = 14;

/// Fair queue of a host's interface.
///
/// It paces no flow (`nopacing`): a transport beside the datagrams sends as it does where there is no queue, CUBIC in
/// bursts and BBR by the pacing of its own socket.
///
/// Its limits default to much more than stock values (10,000 packets, 100 a flow, 10 s ahead), so that a
/// batch of datagrams with release times up to minutes ahead is kept whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairQueue {
    /// Packets of all flows together.
    pub limit_packets: u32,
    /// Packets of one flow.
    pub flow_limit_packets: u32,
    /// How far ahead a release time may lie, in seconds.
    pub horizon_s: u32,
}

impl Default for FairQueue {
    fn default() -> Self {
        FairQueue { limit_packets: 1_000_000, flow_limit_packets: 1_000_000, horizon_s: 600 }
    }
}

impl FairQueue {
    pub(super) fn message(&self, interface: u32) -> TcMessage {
        let horizon_us = self.horizon_s.saturating_mul(1_000_000);
        let options = [
            (TCA_FQ_PLIMIT, self.limit_packets),
            (TCA_FQ_FLOW_PLIMIT, self.flow_limit_packets),
            (TCA_FQ_RATE_ENABLE, 0),
            // A release time is met exactly, not up to 10 microseconds (the default) late.
            (TCA_FQ_TIMER_SLACK, 0),
            (TCA_FQ_HORIZON, horizon_us),
        ]
        .map(|(kind, value)| DefaultNla::new(kind, value.to_ne_bytes().to_vec()));
        root(interface, "fq", emit(&options))
    }
}
