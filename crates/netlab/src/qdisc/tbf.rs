//! Rate: the kernel's token bucket filter (`tc-tbf(8)`) with a byte-counted queue.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcMessage;

use super::QueueSpec;
use super::message::{emit, root};
use crate::LinkChange;

/// Attributes of `linux/pkt_sched.h`.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;

/// `TC_LINKLAYER_ETHERNET`: bytes are taken as they come, without a rate table.
const LINKLAYER_ETHERNET: u8 = 1;

/// Depth of the bucket in D3.4 Figure 14.
const DEFAULT_BURST_BYTES: u32 = 1580;

/// Queue of D3.4 section 4.6.
const DEFAULT_QUEUE_LIMIT_BYTES: u32 = 512_000;

/// "No limit": 1 Tbit/s with a bucket that a link never empties.
const UNLIMITED_BYTES_PER_S: u64 = 125_000_000_000;
const UNLIMITED_BURST_BYTES: u32 = 1 << 30;

/// A token bucket and the queue in front of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tbf {
    rate_bps: Option<f64>,
    burst_bytes: u32,
    queue_limit_bytes: u32,
    /// What queues in place of the bucket's own queue of bytes.
    queue: Option<QueueSpec>,
}

impl Default for Tbf {
    fn default() -> Self {
        Tbf {
            rate_bps: None,
            burst_bytes: DEFAULT_BURST_BYTES,
            queue_limit_bytes: DEFAULT_QUEUE_LIMIT_BYTES,
            queue: None,
        }
    }
}

impl Tbf {
    pub fn merge(self, change: &LinkChange, mtu_bytes: u32) -> Result<Self, String> {
        let merged = Tbf {
            rate_bps: change.rate_bps.unwrap_or(self.rate_bps),
            burst_bytes: change.burst_bytes.unwrap_or(self.burst_bytes),
            queue_limit_bytes: change.queue_limit_bytes.unwrap_or(self.queue_limit_bytes),
            queue: change.queue.or(self.queue),
        };
        if let Some(queue) = merged.queue
            && change.queue_limit_bytes.is_some()
        {
            return Err(format!(
                "queue_limit_bytes is of the queue of bytes, and \"{}\" queues here, which has a limit of its own",
                queue.kind()
            ));
        }
        for (key, value) in
            [("burst_bytes", merged.burst_bytes), ("queue_limit_bytes", merged.queue_limit_bytes)]
        {
            if value < mtu_bytes {
                return Err(format!(
                    "{key} is {value}; with less than the link's MTU ({mtu_bytes} bytes) a full packet could never pass"
                ));
            }
        }
        Ok(merged)
    }

    pub fn message(&self, interface: u32) -> TcMessage {
        let (rate, burst_bytes) = match self.rate_bps {
            Some(bps) => ((bps / 8.0).round() as u64, self.burst_bytes),
            None => (UNLIMITED_BYTES_PER_S, UNLIMITED_BURST_BYTES),
        };
        // A bucket hands its limit on to every FIFO under it, also to one that counts packets.
        let limit = self.queue.and_then(|queue| queue.fifo_limit()).unwrap_or(self.queue_limit_bytes);
        let options = emit(&[
            DefaultNla::new(TCA_TBF_PARMS, parameters(rate, limit)),
            DefaultNla::new(TCA_TBF_RATE64, rate.to_ne_bytes().to_vec()),
            DefaultNla::new(TCA_TBF_BURST, burst_bytes.to_ne_bytes().to_vec()),
        ]);
        root(interface, "tbf", options)
    }

    pub fn queue_message(&self, interface: u32) -> Option<TcMessage> {
        self.queue.map(|queue| queue.message(interface, self.rate_bps))
    }
}

/// `struct tc_tbf_qopt`: two `tc_ratespec`s (rate and an absent peak rate), limit, buffer, mtu.
fn parameters(rate: u64, limit_bytes: u32) -> Vec<u8> {
    let mut bytes = rate_spec(u32::try_from(rate).unwrap_or(u32::MAX), LINKLAYER_ETHERNET);
    bytes.extend(rate_spec(0, 0));
    bytes.extend(limit_bytes.to_ne_bytes());
    // buffer and mtu: TCA_TBF_BURST stands in for the first, the second belongs to the peak rate.
    bytes.extend([0; 8]);
    bytes
}

/// `struct tc_ratespec`: cell_log, linklayer, overhead, cell_align, mpu, rate in bytes a second.
fn rate_spec(rate: u32, linklayer: u8) -> Vec<u8> {
    let mut bytes = vec![0, linklayer, 0, 0, 0, 0, 0, 0];
    bytes.extend(rate.to_ne_bytes());
    bytes
}
