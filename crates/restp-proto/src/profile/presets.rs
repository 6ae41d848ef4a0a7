//! Presets: profiles for common uses, and what the dissertation ran where that differs.

use std::time::Duration;

use super::{
    AckReport, AckTiming, Congestion, Dispensable, FecKind, FlowControl, Framing, JoinHash, LossCause,
    Management, Ordering, Paths, Profile, Protection, Reliability, Scheduler, Tuning,
};

/// Longest playout delay at which speech still feels interactive, in milliseconds (dissertation section 4.5: 160).
const VOICE_PLAYOUT_MS: u64 = 160;

impl Profile {
    /// Names of all presets, as [`Profile::preset`] takes them.
    pub const PRESETS: [&'static str; 8] =
        ["datagram", "file_arq", "file_harq", "web_opt", "voice", "satellite_outage", "multipath", "copies"];

    /// The preset called `name`, if there is one.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "datagram" => Self::datagram(),
            "file_arq" => Self::file_arq(),
            "file_harq" => Self::file_harq(),
            "web_opt" => Self::web_opt(),
            "voice" => Self::voice(),
            "satellite_outage" => Self::satellite_outage(),
            "multipath" => Self::multipath(),
            "copies" => Self::copies(),
            _ => return None,
        })
    }

    /// Messages without any promise, like UDP, 12 bytes of header.
    #[must_use]
    pub fn datagram() -> Self {
        Self {
            name: "datagram".into(),
            reasons: Vec::new(),
            management: Management::Connectionless,
            flow_control: FlowControl::None,
            congestion: Congestion::None,
            ordering: Ordering::Unordered,
            reliability: Reliability::None,
            ack_timing: AckTiming::None,
            ack_report: AckReport::Cumulative,
            duplicate_acks: false,
            framing: Framing::Fixed,
            paths: Paths::Single,
            loss_cause: LossCause::Congestion,
            crc: false,
            protection: Protection::ClearText,
            join_hash: JoinHash::Sha256,
            dispensable: Dispensable::default(),
            i_own_the_path: false,
            tuning: Tuning::default(),
        }
    }

    /// A reliable byte stream for files: retransmission with SACK, CUBIC.
    #[must_use]
    pub fn file_arq() -> Self {
        Self {
            name: "file_arq".into(),
            management: Management::ThreeWay,
            flow_control: FlowControl::Window,
            congestion: Congestion::Cubic,
            ordering: Ordering::Full,
            reliability: Reliability::Arq,
            ack_timing: AckTiming::Positive,
            ack_report: AckReport::Sack,
            framing: Framing::Coalesce,
            crc: true,
            dispensable: Dispensable { ack_report: true, ..Dispensable::default() },
            tuning: Tuning { receive_window_packets: 8192, send_buffer_packets: 8192, ..Tuning::default() },
            ..Self::datagram()
        }
    }

    /// A reliable byte stream for lossy links: repair from encoded packets first, retransmission of the rest, over BBR,
    /// which takes no loss for congestion as such.
    ///
    /// It begins faster than the other presets: a SYN is repeated after 250 ms, as a second attempt to connect would come
    /// (RFC 8305, section 5), and the first window holds what 4 Mbit/s send in a round trip.
    #[must_use]
    pub fn file_harq() -> Self {
        Self {
            name: "file_harq".into(),
            reliability: Reliability::Harq(FecKind::Xor),
            congestion: Congestion::Bbr,
            ack_report: AckReport::Snack,
            dispensable: Dispensable { ack_report: true, fec: true, several_paths: false },
            tuning: Tuning {
                initial_rto: Duration::from_millis(250),
                even_handshake_tries: 120,
                max_handshake_tries: 126,
                initial_rate_pps: 416,
                ..Self::file_arq().tuning
            },
            ..Self::file_arq()
        }
    }

    /// A reliable byte stream whose first request travels with the handshake.
    #[must_use]
    pub fn web_opt() -> Self {
        Self { name: "web_opt".into(), management: Management::Opportunistic, ..Self::file_arq() }
    }

    /// Live speech: lost packets are repeated while that is still useful, late ones are passed over.
    #[must_use]
    pub fn voice() -> Self {
        Self {
            name: "voice".into(),
            management: Management::ThreeWay,
            flow_control: FlowControl::Window,
            congestion: Congestion::Bic,
            ordering: Ordering::Partial,
            reliability: Reliability::Arq,
            ack_timing: AckTiming::Positive,
            ack_report: AckReport::Snack,
            framing: Framing::Fixed,
            crc: true,
            tuning: Tuning {
                hold: Duration::from_millis(VOICE_PLAYOUT_MS),
                pacing: false,
                ..Tuning::default()
            },
            ..Self::datagram()
        }
    }

    /// A reliable byte stream over a link that goes away for minutes: state is frozen, probes find its return.
    #[must_use]
    pub fn satellite_outage() -> Self {
        Self {
            name: "satellite_outage".into(),
            ack_report: AckReport::Snack,
            loss_cause: LossCause::Outage,
            ..Self::file_arq()
        }
    }

    /// A reliable byte stream spread over several paths with linked congestion windows.
    #[must_use]
    pub fn multipath() -> Self {
        Self {
            name: "multipath".into(),
            congestion: Congestion::Lia,
            paths: Paths::Spreading(Scheduler::FastestRtt),
            dispensable: Dispensable { several_paths: true, ack_report: true, fec: false },
            ..Self::file_arq()
        }
    }

    /// A reliable byte stream of which every path carries a copy, so that the failure of one costs no time.
    ///
    /// Each path has a window of its own: linked ones shift data to the better path, and copies cannot be shifted.
    #[must_use]
    pub fn copies() -> Self {
        Self {
            name: "copies".into(),
            congestion: Congestion::NewReno,
            paths: Paths::Copies,
            ..Self::multipath()
        }
    }

    /// This profile with streams in the place of messages: its reliability must be ARQ or HARQ, its handshake three-way.
    #[must_use]
    pub fn with_streams(self) -> Self {
        Self {
            name: format!("{}, streams", self.name),
            ordering: Ordering::Streams,
            framing: Framing::Fixed,
            ..self
        }
    }

    /// This profile with the dissertation's own algorithms and timers instead of ours.
    ///
    /// Voice ran over BIC and passed over holes as soon as the application asked; everything else ran NewReno; several
    /// paths ran uncoupled (answer A9); joins used SHA-1 (answer H3).
    #[must_use]
    pub fn dissertation(self) -> Self {
        let tuning = Tuning {
            receive_window_packets: self.tuning.receive_window_packets,
            send_buffer_packets: self.tuning.send_buffer_packets,
            ..Tuning::dissertation()
        };
        let congestion = match self.congestion {
            Congestion::Cubic | Congestion::Bbr | Congestion::Lia => Congestion::NewReno,
            kept => kept,
        };
        let paths = match self.paths {
            Paths::Spreading(_) => Paths::Spreading(Scheduler::RoundRobin),
            kept => kept,
        };
        let name = format!("{} (dissertation)", self.name);
        Self { name, tuning, congestion, paths, join_hash: JoinHash::Sha1, ..self }
    }
}
