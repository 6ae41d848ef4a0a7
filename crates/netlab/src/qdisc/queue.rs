//! What queues in front of a token bucket in place of its own queue of bytes: the kernel's disciplines, as its leaf.

use netlink_packet_core::DefaultNla;
use netlink_packet_route::tc::TcMessage;
use serde::{Deserialize, Serialize};

use super::message::{emit, leaf};

/// A queueing discipline and all of its settings; names and meanings are those of the manual pages (`tc-codel(8)`, ...).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueSpec {
    /// First in, first out, so many packets.
    Pfifo {
        /// Packets that may wait.
        limit_packets: u32,
    },
    /// `CoDel` (RFC 8289).
    Codel {
        /// Packets that may wait.
        limit_packets: u32,
        /// Delay that may last.
        target_s: f64,
        /// For how long a longer one is put up with.
        interval_s: f64,
        /// Whether packets that can be marked are, instead of being dropped.
        ecn: bool,
        /// Delay above which every packet that can be marked is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold_s: Option<f64>,
    },
    /// A queue for each flow, each with `CoDel` (RFC 8290).
    FqCodel {
        /// Packets of all flows that may wait.
        limit_packets: u32,
        /// As of [`QueueSpec::Codel`].
        target_s: f64,
        /// As of [`QueueSpec::Codel`].
        interval_s: f64,
        /// As of [`QueueSpec::Codel`].
        ecn: bool,
        /// As of [`QueueSpec::Codel`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ce_threshold_s: Option<f64>,
        /// Queues among which flows are spread by a hash.
        flows: u32,
        /// Bytes that a flow may send in a turn.
        quantum_bytes: u32,
    },
    /// PIE (RFC 8033).
    Pie {
        /// Packets that may wait.
        limit_packets: u32,
        /// Delay that is aimed at.
        target_s: f64,
        /// How often the probability is worked out anew.
        tupdate_s: f64,
        /// As of [`QueueSpec::Codel`], as long as the probability is below a tenth.
        ecn: bool,
    },
    /// A queue for each flow, each with PIE.
    FqPie {
        /// Packets of all flows that may wait.
        limit_packets: u32,
        /// As of [`QueueSpec::Pie`].
        target_s: f64,
        /// As of [`QueueSpec::Pie`].
        tupdate_s: f64,
        /// As of [`QueueSpec::Pie`].
        ecn: bool,
        /// As of [`QueueSpec::FqCodel`].
        flows: u32,
        /// As of [`QueueSpec::FqCodel`].
        quantum_bytes: u32,
    },
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// Bytes that may wait.
        limit_bytes: u32,
        /// Average length below which nothing is dropped or marked.
        min_bytes: u32,
        /// Average length from which on everything is.
        max_bytes: u32,
        /// Probability just below that length.
        probability: f64,
        /// Packets by which the average may be outrun.
        burst_packets: u32,
        /// As of [`QueueSpec::Codel`].
        ecn: bool,
    },
    /// Stochastic fairness queueing (McKenney 1990), without a change of its hash.
    Sfq {
        /// Packets of all flows that may wait; of one flow at most 127.
        limit_packets: u32,
        /// As of [`QueueSpec::FqCodel`].
        quantum_bytes: u32,
    },
    /// CAKE without its own shaper: the token bucket keeps the rate.
    Cake {
        /// Round trip for which it is set.
        rtt_s: f64,
        /// Delay that may last.
        target_s: f64,
        /// Classes into which packets are put by their DSCP.
        diffserv: Diffserv,
        /// Memory for packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_bytes: Option<u32>,
    },
}

/// CAKE's classes (`tc-cake(8)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Diffserv {
    /// One for all.
    Besteffort,
    /// Three.
    Diffserv3,
    /// Four.
    Diffserv4,
    /// Eight.
    Diffserv8,
}

/// Packet that RED takes for an average one where it counts packets.
const AVERAGE_PACKET_BYTES: f64 = 1000.0;

/// No limit of memory beside that of packets, for disciplines that count both.
const MUCH_MEMORY_BYTES: u32 = 1 << 30;

/// Longest time of a setting: the kernel takes microseconds in 32 bits.
const MOST_S: f64 = 1000.0;

impl QueueSpec {
    /// The discipline's name.
    pub fn kind(&self) -> &'static str {
        match self {
            QueueSpec::Pfifo { .. } => "pfifo",
            QueueSpec::Codel { .. } => "codel",
            QueueSpec::FqCodel { .. } => "fq_codel",
            QueueSpec::Pie { .. } => "pie",
            QueueSpec::FqPie { .. } => "fq_pie",
            QueueSpec::Red { .. } => "red",
            QueueSpec::Sfq { .. } => "sfq",
            QueueSpec::Cake { .. } => "cake",
        }
    }

    /// What the token bucket has to be told as its limit: it hands that on to a leaf that is a FIFO.
    pub(super) fn fifo_limit(&self) -> Option<u32> {
        match *self {
            QueueSpec::Pfifo { limit_packets } => Some(limit_packets),
            _ => None,
        }
    }

    /// Checks every value that needs no knowledge of the link.
    pub(crate) fn check(&self) -> Result<(), String> {
        let wrong = |text: String| Err(format!("queue: {text}"));
        for (key, seconds) in self.times() {
            if !(seconds.is_finite() && (1e-6..=MOST_S).contains(&seconds)) {
                return wrong(format!(
                    "{key} is {seconds}; it must lie between a microsecond and {MOST_S} s"
                ));
            }
        }
        match *self {
            QueueSpec::Pfifo { limit_packets }
            | QueueSpec::Codel { limit_packets, .. }
            | QueueSpec::Pie { limit_packets, .. }
                if limit_packets == 0 =>
            {
                wrong("limit_packets is 0, which lets nothing through".into())
            }
            QueueSpec::FqCodel { limit_packets, flows, quantum_bytes, .. }
            | QueueSpec::FqPie { limit_packets, flows, quantum_bytes, .. }
                if limit_packets == 0
                    || !(1..=65_536).contains(&flows)
                    || !(256..=1 << 20).contains(&quantum_bytes) =>
            {
                wrong("limit_packets is at least 1, flows 1 to 65536, quantum_bytes 256 to 1048576".into())
            }
            // One packet is refused by newer kernels, and a flow needs two to be told from a line.
            QueueSpec::Sfq { limit_packets, quantum_bytes }
                if !(2..=127 * 128).contains(&limit_packets) || !(256..=1 << 20).contains(&quantum_bytes) =>
            {
                wrong("limit_packets is 2 to 16256 and quantum_bytes 256 to 1048576".into())
            }
            QueueSpec::Red { limit_bytes, min_bytes, max_bytes, probability, burst_packets, .. } => {
                if min_bytes < 1000 || max_bytes <= min_bytes || limit_bytes < max_bytes {
                    return wrong(
                        "min_bytes is at least 1000, max_bytes more, and limit_bytes not less".into(),
                    );
                }
                if !(probability > 0.0 && probability <= 1.0) {
                    return wrong(format!("probability is {probability}; it lies above 0 and is at most 1"));
                }
                match Averaging::new(min_bytes, max_bytes, burst_packets) {
                    Some(_) => Ok(()),
                    None => wrong(format!(
                        "no average of the kernel's fits burst_packets = {burst_packets}; give more, at least \
                         min_bytes / {AVERAGE_PACKET_BYTES}"
                    )),
                }
            }
            QueueSpec::Cake { memory_bytes: Some(bytes), .. } if bytes < 4096 => {
                wrong("memory_bytes is at least 4096: the kernel counts its own of each packet too".into())
            }
            _ => Ok(()),
        }
    }

    fn times(&self) -> Vec<(&'static str, f64)> {
        match *self {
            QueueSpec::Codel { target_s, interval_s, ce_threshold_s, .. }
            | QueueSpec::FqCodel { target_s, interval_s, ce_threshold_s, .. } => {
                let mut times = vec![("target_s", target_s), ("interval_s", interval_s)];
                times.extend(ce_threshold_s.map(|seconds| ("ce_threshold_s", seconds)));
                times
            }
            QueueSpec::Pie { target_s, tupdate_s, .. } | QueueSpec::FqPie { target_s, tupdate_s, .. } => {
                vec![("target_s", target_s), ("tupdate_s", tupdate_s)]
            }
            QueueSpec::Cake { rtt_s, target_s, .. } => vec![("rtt_s", rtt_s), ("target_s", target_s)],
            QueueSpec::Pfifo { .. } | QueueSpec::Red { .. } | QueueSpec::Sfq { .. } => Vec::new(),
        }
    }

    /// The message that puts it under the token bucket of an interface; `rate_bps` is that of the bucket.
    pub(crate) fn message(&self, interface: u32, rate_bps: Option<f64>) -> TcMessage {
        leaf(interface, self.kind(), self.options(rate_bps))
    }

    /// Numbers are attributes of `linux/pkt_sched.h`; times are microseconds.
    fn options(&self, rate_bps: Option<f64>) -> Vec<u8> {
        match *self {
            // struct tc_fifo_qopt: the limit.
            QueueSpec::Pfifo { limit_packets } => limit_packets.to_ne_bytes().to_vec(),
            QueueSpec::Codel { limit_packets, target_s, interval_s, ecn, ce_threshold_s } => {
                let mut options =
                    vec![(1, us(target_s)), (2, limit_packets), (3, us(interval_s)), (4, ecn.into())];
                options.extend(ce_threshold_s.map(|seconds| (5, us(seconds))));
                attributes(&options)
            }
            QueueSpec::FqCodel {
                limit_packets,
                target_s,
                interval_s,
                ecn,
                ce_threshold_s,
                flows,
                quantum_bytes,
            } => {
                let mut options = vec![
                    (1, us(target_s)),
                    (2, limit_packets),
                    (3, us(interval_s)),
                    (4, ecn.into()),
                    (5, flows),
                    (6, quantum_bytes),
                    (9, MUCH_MEMORY_BYTES),
                ];
                options.extend(ce_threshold_s.map(|seconds| (7, us(seconds))));
                attributes(&options)
            }
            QueueSpec::Pie { limit_packets, target_s, tupdate_s, ecn } => {
                attributes(&[(1, us(target_s)), (2, limit_packets), (3, us(tupdate_s)), (6, ecn.into())])
            }
            QueueSpec::FqPie { limit_packets, target_s, tupdate_s, ecn, flows, quantum_bytes } => {
                attributes(&[
                    (1, limit_packets),
                    (2, flows),
                    (3, us(target_s)),
                    (4, us(tupdate_s)),
                    (7, quantum_bytes),
                    (8, MUCH_MEMORY_BYTES),
                    (10, ecn.into()),
                ])
            }
            QueueSpec::Red { limit_bytes, min_bytes, max_bytes, probability, burst_packets, ecn } => {
                // `check` has seen that there is one.
                let averaging = Averaging::new(min_bytes, max_bytes, burst_packets).unwrap_or_default();
                let (cell_log, idle) = averaging.idle(rate_bps);
                // struct tc_red_qopt: limit, qth_min, qth_max, Wlog, Plog, Scell_log, flags (TC_RED_ECN is 1).
                let mut parameters: Vec<u8> =
                    [limit_bytes, min_bytes, max_bytes].iter().flat_map(|word| word.to_ne_bytes()).collect();
                // The slope of the probability, by which old kernels count: 2^-n for each byte.
                let slope = f64::from(max_bytes - min_bytes) / probability;
                let slope_log = slope.log2().ceil().clamp(0.0, 31.0) as u8;
                parameters.extend([averaging.weight_log, slope_log, cell_log, ecn.into()]);
                // A probability as the kernel counts it: a fraction of 2^32.
                let highest = (probability * f64::from(u32::MAX)) as u32;
                emit(&[
                    DefaultNla::new(1, parameters),
                    DefaultNla::new(2, idle.to_vec()),
                    DefaultNla::new(3, highest.to_ne_bytes().to_vec()),
                ])
            }
            // struct tc_sfq_qopt: quantum, perturb_period, limit, divisor, flows; 0 is the kernel's own.
            QueueSpec::Sfq { limit_packets, quantum_bytes } => {
                [quantum_bytes, 0, limit_packets, 0, 0].iter().flat_map(|word| word.to_ne_bytes()).collect()
            }
            QueueSpec::Cake { rtt_s, target_s, diffserv, memory_bytes } => {
                let classes = match diffserv {
                    Diffserv::Diffserv3 => 0,
                    Diffserv::Diffserv4 => 1,
                    Diffserv::Diffserv8 => 2,
                    Diffserv::Besteffort => 3,
                };
                let mut options = vec![(3, classes), (7, us(rtt_s)), (8, us(target_s))];
                options.extend(memory_bytes.map(|bytes| (10, bytes)));
                attributes(&options)
            }
        }
    }
}

/// The numbers by which RED keeps its average, all of them as powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Averaging {
    /// Each packet moves the average by the 2^-n-th part of the difference.
    weight_log: u8,
}

impl Averaging {
    /// The largest weight with which a burst of so many packets into an empty queue leaves the average below `min_bytes`
    /// (Floyd and Jacobson 1993, section 9); none if there is none that the kernel can count with.
    fn new(min_bytes: u32, max_bytes: u32, burst_packets: u32) -> Option<Self> {
        let least_packets = f64::from(min_bytes) / AVERAGE_PACKET_BYTES;
        let burst = f64::from(burst_packets);
        if burst + 1.0 - least_packets < 1.0 {
            return None;
        }
        let fits = |log: &u8| {
            let weight = 0.5f64.powi(i32::from(*log));
            burst + 1.0 + ((1.0 - weight).powf(burst + 1.0) - 1.0) / weight <= least_packets
        };
        let weight_log = (1..32u8).find(fits)?;
        // The kernel keeps the average as a 32-bit number of so many binary places.
        let bits = 32 - max_bytes.leading_zeros() + u32::from(weight_log);
        (bits < 32).then_some(Averaging { weight_log })
    }

    /// How the average falls while nothing comes: the time of a cell as a power of two of microseconds, and for each
    /// number of cells by how many powers of two it falls.
    fn idle(self, rate_bps: Option<f64>) -> (u8, [u8; 256]) {
        let packet_us = AVERAGE_PACKET_BYTES * 8e6 / rate_bps.unwrap_or(1e9);
        let weight = 0.5f64.powi(i32::from(self.weight_log));
        // Powers of two in a microsecond.
        let falls = -(1.0 - weight).log2() / packet_us;
        let cell_log = (31.0 / falls / 255.0).log2().ceil().clamp(0.0, 31.0);
        let mut table = [31; 256];
        for (cells, shift) in table.iter_mut().enumerate() {
            *shift = (cells as f64 * cell_log.exp2() * falls).min(31.0) as u8;
        }
        (cell_log as u8, table)
    }
}

fn us(seconds: f64) -> u32 {
    (seconds * 1e6).round() as u32
}

fn attributes(options: &[(u16, u32)]) -> Vec<u8> {
    let all: Vec<DefaultNla> =
        options.iter().map(|&(kind, value)| DefaultNla::new(kind, value.to_ne_bytes().to_vec())).collect();
    emit(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn red_averages_as_its_authors_worked_out() {
        // Floyd and Jacobson 1993, section 9: a burst of 50 packets stays below 5 with a weight of at most 0.0042.
        let found = Averaging::new(5_000, 15_000, 50).expect("there is one");
        assert_eq!(found.weight_log, 8, "2^-8 is 0.0039");
        assert_eq!(Averaging::new(30_000, 90_000, 20), None, "the burst is below the threshold");
    }

    #[test]
    fn an_idle_line_lets_the_average_fall() {
        let averaging = Averaging { weight_log: 8 };
        let (cell_log, table) = averaging.idle(Some(8e6));
        assert!(table.is_sorted() && table[0] == 0 && table[255] >= 15, "{table:?}");
        // After 2^n packets' time the average is about 1/e of what it was, which is 1.44 powers of two.
        let cells = (256.0 * 1000.0 / f64::from(1u32 << cell_log)) as usize;
        assert_eq!(table[cells], 1);
    }

    #[test]
    fn a_queue_reads_and_writes_as_the_plan_has_it() {
        let text = r#"{"kind":"fq_codel","limit_packets":1000,"target_s":0.005,"interval_s":0.1,"ecn":true,"flows":1024,"quantum_bytes":1514}"#;
        let queue: QueueSpec = serde_json::from_str(text).expect("it is sound");
        assert_eq!(queue.kind(), "fq_codel");
        assert_eq!(queue.check(), Ok(()));
        assert_eq!(serde_json::to_string(&queue).expect("it can be written"), text);
        let more = text.replace("\"ecn\"", "\"ecm\":1,\"ecn\"");
        assert!(serde_json::from_str::<QueueSpec>(&more).is_err());
    }
}
