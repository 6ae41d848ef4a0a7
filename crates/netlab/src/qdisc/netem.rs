//! Delay, jitter, loss, duplication, corruption: the kernel's network emulator (`tc-netem(8)`).

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcMessage;

use super::message::{emit, root};
use crate::clock::seconds_to_ns;
use crate::{GilbertElliott, LinkChange};

/// Attributes of `linux/pkt_sched.h`.
const TCA_NETEM_CORRUPT: u16 = 4;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_LATENCY64: u16 = 10;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_PRNG_SEED: u16 = 14;
const NETEM_LOSS_GE: u16 = 2;

/// Packets under way at once; so many that only the plan's own limit is ever felt.
const DEFAULT_LIMIT_PACKETS: u32 = 100_000;

/// Netem with a rate lets no packet overtake the last one queued. A rate in bytes a second so high that a
/// packet of 64 KiB takes less than a nanosecond keeps the order and adds nothing to the delay.
const ORDER_KEEPING_RATE: u64 = 1 << 47;

/// Everything that netem does to one link direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Netem {
    pub(crate) delay_ns: i64,
    pub(crate) jitter_ns: i64,
    pub(crate) reorder: bool,
    pub(crate) loss: f64,
    pub(crate) gilbert_elliott: Option<GilbertElliott>,
    pub(crate) duplicate: f64,
    pub(crate) corrupt: f64,
    pub(crate) limit_packets: u32,
    pub(crate) up: bool,
}

impl Default for Netem {
    fn default() -> Self {
        Netem {
            delay_ns: 0,
            jitter_ns: 0,
            reorder: false,
            loss: 0.0,
            gilbert_elliott: None,
            duplicate: 0.0,
            corrupt: 0.0,
            limit_packets: DEFAULT_LIMIT_PACKETS,
            up: true,
        }
    }
}

impl Netem {
    pub fn merge(self, change: &LinkChange) -> Result<Self, String> {
        let merged = Netem {
            delay_ns: change.delay_s.map_or(self.delay_ns, seconds_to_ns),
            jitter_ns: change.jitter_s.map_or(self.jitter_ns, seconds_to_ns),
            reorder: change.reorder.unwrap_or(self.reorder),
            loss: change.loss.unwrap_or(self.loss),
            gilbert_elliott: change.gilbert_elliott.unwrap_or(self.gilbert_elliott),
            duplicate: change.duplicate.unwrap_or(self.duplicate),
            corrupt: change.corrupt.unwrap_or(self.corrupt),
            limit_packets: change.limit_packets.unwrap_or(self.limit_packets),
            up: change.up.unwrap_or(self.up),
        };
        if merged.gilbert_elliott.is_some() && merged.loss > 0.0 {
            return Err("loss and gilbert_elliott are both set; the kernel knows one at a time, so give \"loss\": 0 or \
                        \"gilbert_elliott\": null with the other"
                .into());
        }
        Ok(merged)
    }

    pub fn message(&self, interface: u32, seed: Option<u64>) -> TcMessage {
        let mut options = self.fixed_part();
        options.extend(emit(&self.attributes(seed)));
        root(interface, "netem", options)
    }

    /// `struct tc_netem_qopt`: latency, limit, loss, gap, duplicate, jitter. Times are given as attributes
    /// instead, in nanoseconds; a gap of zero turns netem's own reordering off.
    fn fixed_part(&self) -> Vec<u8> {
        let loss = if self.up { probability(self.loss) } else { u32::MAX };
        [0, self.limit_packets, loss, 0, probability(self.duplicate), 0]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect()
    }

    fn attributes(&self, seed: Option<u64>) -> Vec<DefaultNla> {
        let rate = if self.reorder { 0 } else { ORDER_KEEPING_RATE };
        let mut attributes = vec![
            DefaultNla::new(TCA_NETEM_CORRUPT, words(&[probability(self.corrupt), 0])),
            // struct tc_netem_rate: rate, packet overhead, cell size, cell overhead.
            DefaultNla::new(TCA_NETEM_RATE, words(&[u32::try_from(rate).unwrap_or(u32::MAX), 0, 0, 0])),
            DefaultNla::new(TCA_NETEM_RATE64, rate.to_ne_bytes().to_vec()),
            DefaultNla::new(TCA_NETEM_LATENCY64, self.delay_ns.to_ne_bytes().to_vec()),
            DefaultNla::new(TCA_NETEM_JITTER64, self.jitter_ns.to_ne_bytes().to_vec()),
        ];
        if let Some(model) = self.gilbert_elliott
            && self.up
        {
            // struct tc_netem_gemodel: p, r, h = 1 - loss in the bad state, k1 = loss in the good state.
            let model = [model.p, model.r, 1.0 - model.loss_bad, model.loss_good].map(probability);
            let nest = emit(&[DefaultNla::new(NETEM_LOSS_GE, words(&model))]);
            attributes.push(DefaultNla::new(TCA_NETEM_LOSS, nest));
        }
        if let Some(seed) = seed {
            attributes.push(DefaultNla::new(TCA_NETEM_PRNG_SEED, seed.to_ne_bytes().to_vec()));
        }
        attributes
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// A probability as netem counts it: a fraction of `u32::MAX`.
fn probability(p: f64) -> u32 {
    (p * f64::from(u32::MAX)).round() as u32
}
