//! Changes of links over time: the entries of a plan's timeline, and the checks of their values.

use serde::{Deserialize, Deserializer, Serialize};

use crate::qdisc::QueueSpec;

/// One timeline entry: at `at_s`, the named values of one link direction change; all others stay.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkChange {
    /// Instant in virtual seconds from the start of the run.
    pub at_s: f64,
    /// Link direction, `a>b`.
    pub link: String,
    /// Rate counted at the IP layer, in bit/s; `Some(None)` (`null` in JSON) removes the limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<Option<f64>>,
    /// Depth of the token bucket, in bytes of IP packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u32>,
    /// Queue in front of the bottleneck, in bytes of IP packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_limit_bytes: Option<u32>,
    /// What queues there in place of a queue of bytes; only in the first change of a link direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueSpec>,
    /// One-way delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_s: Option<f64>,
    /// Half width of the delay's uniform variation per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<f64>,
    /// True lets jitter and a falling delay change the order of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<bool>,
    /// Probability of independent loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// Loss in bursts; `Some(None)` (`null` in JSON) ends it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub gilbert_elliott: Option<Option<GilbertElliott>>,
    /// Probability that a packet is doubled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<f64>,
    /// Probability that one bit of a packet is inverted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<f64>,
    /// Packets that may be under way on the link at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
    /// False loses every packet from now on; true brings the link back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
}

/// Loss by a two-state Markov chain (Gilbert 1960, Elliott 1963), in the parameters of `tc-netem(8)`'s
/// `gemodel`, except that both losses are given as probabilities of loss. A change of the same link direction
/// restarts the chain in its good state, because the kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability, per packet, of going from the good to the bad state.
    pub p: f64,
    /// Probability, per packet, of going from the bad to the good state.
    pub r: f64,
    /// Probability of loss in the bad state.
    pub loss_bad: f64,
    /// Probability of loss in the good state.
    pub loss_good: f64,
}

/// Tells a key that is there with the value `null` from one that is not there.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(d).map(Some)
}

impl LinkChange {
    /// True if it names a value that a token bucket realises.
    pub fn touches_rate(&self) -> bool {
        self.rate_bps.is_some()
            || self.burst_bytes.is_some()
            || self.queue_limit_bytes.is_some()
            || self.queue.is_some()
    }

    /// True if it names a value that netem realises.
    pub fn touches_delay(&self) -> bool {
        self.delay_s.is_some()
            || self.jitter_s.is_some()
            || self.reorder.is_some()
            || self.loss.is_some()
            || self.gilbert_elliott.is_some()
            || self.duplicate.is_some()
            || self.corrupt.is_some()
            || self.limit_packets.is_some()
            || self.up.is_some()
    }

    /// Where the entry stands, as the beginning of a sentence.
    pub(crate) fn place(&self) -> String {
        format!("timeline at {} s, link \"{}\"", self.at_s, self.link)
    }

    /// Checks every value that needs no knowledge of the network.
    pub(crate) fn check_values(&self) -> Result<(), String> {
        if !(self.at_s.is_finite() && self.at_s >= 0.0) {
            return Err("at_s must be a number of seconds from 0 on".into());
        }
        if !self.touches_rate() && !self.touches_delay() {
            return Err("nothing is changed; name at least one of rate_bps, delay_s, loss and so on".into());
        }
        if self.touches_rate() && self.touches_delay() {
            return Err(BOTH_GROUPS.into());
        }
        if let Some(Some(rate_bps)) = self.rate_bps
            && !(rate_bps.is_finite() && rate_bps >= MIN_RATE_BPS)
        {
            return Err(format!(
                "rate_bps is {rate_bps}; it must be at least {MIN_RATE_BPS} bit/s, or null for no limit (to let \
                 nothing through use \"up\": false on another hop)"
            ));
        }
        if let Some(queue) = &self.queue {
            queue.check()?;
        }
        for (key, value) in [("delay_s", self.delay_s), ("jitter_s", self.jitter_s)] {
            if let Some(seconds) = value
                && !(seconds.is_finite() && (0.0..=MAX_DELAY_S).contains(&seconds))
            {
                return Err(format!("{key} is {seconds}; it must lie between 0 and {MAX_DELAY_S} seconds"));
            }
        }
        if let Some(jitter_s) = self.jitter_s
            && jitter_s > MAX_JITTER_S
        {
            return Err(format!("jitter_s is {jitter_s}; the kernel allows at most {MAX_JITTER_S} seconds"));
        }
        if self.limit_packets == Some(0) {
            return Err("limit_packets is 0, which lets nothing through; use \"up\": false for that".into());
        }
        self.check_probabilities()
    }

    fn check_probabilities(&self) -> Result<(), String> {
        let ge = self.gilbert_elliott.flatten();
        let all = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("corrupt", self.corrupt),
            ("gilbert_elliott.p", ge.map(|m| m.p)),
            ("gilbert_elliott.r", ge.map(|m| m.r)),
            ("gilbert_elliott.loss_bad", ge.map(|m| m.loss_bad)),
            ("gilbert_elliott.loss_good", ge.map(|m| m.loss_good)),
        ];
        for (key, value) in all {
            if let Some(p) = value
                && !(0.0..=1.0).contains(&p)
            {
                return Err(format!("{key} is {p}; a probability lies between 0 and 1 (1 % is 0.01)"));
            }
        }
        Ok(())
    }
}

/// Lowest rate: one byte a second, the kernel's unit.
const MIN_RATE_BPS: f64 = 8.0;

/// The kernel cuts jitter to `INT_MAX` nanoseconds.
const MAX_JITTER_S: f64 = 2.147;

/// Longest delay: a month, beyond what experiments for deep space ask for (five days: quinn-rs/quinn, #1839).
const MAX_DELAY_S: f64 = 30.0 * 86_400.0;

pub(crate) const BOTH_GROUPS: &str = "rate_bps, burst_bytes, queue_limit_bytes and queue cannot stand on the same \
     link direction as delay, loss or up; put these on the next router";

pub(crate) const QUEUE_LATER: &str = "what queues is said once, in the first entry of its link direction";
