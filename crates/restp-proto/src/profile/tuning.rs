//! Timers, sizes and limits of a profile, with the source of every default.

use std::time::Duration;

use crate::cc::INITIAL_WINDOW;

/// Which packet probes a path in outage (answer I4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutageProbe {
    /// The last packet that was sent, as in the dissertation.
    LastSent,
    /// The first packet not acknowledged: its arrival makes progress at once.
    FirstUnacked,
}

/// Numbers that shape the services. Every field may be changed before `validate()`.
///
/// The values named are the defaults ([`Tuning::default`]); presets have others of some, which [`crate::Composition::explain`]
/// or the preset's fields tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Timeout of SYN and of data before the first RTT sample: 1 s (RFC 6298 section 2; answer D11).
    pub initial_rto: Duration,
    /// Least retransmission timeout: 200 ms, what Linux uses; RFC 6298 says 1 s.
    pub min_rto: Duration,
    /// Largest retransmission timeout: 60 s (RFC 6298 section 2.4).
    pub max_rto: Duration,
    /// Consecutive timeouts after which the connection is given up: 15 (answer I6).
    pub max_retries: u32,
    /// SYN or SYN-ACK transmissions after which the handshake is given up: 6, about a minute.
    pub max_handshake_tries: u32,
    /// Repetitions of SYN or SYN-ACK before their interval begins to double: 0 (Linux since 6.5: `tcp_syn_linear_timeouts`,
    /// 4).
    pub even_handshake_tries: u32,
    /// Initial congestion window in packets: 10 (RFC 6928).
    pub initial_window_packets: u32,
    /// The first window has room for what this rate sends in a round trip, if the handshake told the round trip and this
    /// is more than [`Tuning::initial_window_packets`]: 0, which is off; 200 packets at most, as many as quinn's BBR begins with.
    pub initial_rate_pps: u32,
    /// Window without congestion control, in packets: 64.
    pub open_window_packets: u32,
    /// Receive window in packets: 1024 (answer J6).
    pub receive_window_packets: u32,
    /// Packets that `send` queues before it answers "full": 1024.
    pub send_buffer_packets: u32,
    /// Largest ResTP packet, header included, that any path carries, in bytes: 1200 (RFC 9000 section 14).
    pub max_packet_bytes: usize,
    /// Largest ResTP packet that a search of the path's MTU tries (RFC 8899), header included, in bytes: for an MTU of 1500
    /// at most 1472 over IPv4 and UDP, 1452 over IPv6. `None`, the default, searches nothing, and neither does a value that is not above
    /// [`Tuning::max_packet_bytes`].
    pub search_packet_bytes: Option<usize>,
    /// How long a partially ordered receiver waits for a hole after it asked for data: 0 (answer J1); for the next one from
    /// when the one before was passed over.
    pub hold: Duration,
    /// Acknowledge a lone packet after this time: 25 ms (answer E3).
    pub ack_delay: Duration,
    /// Packets per acknowledgement while all is in order: 2, as in the dissertation; large transfers use more.
    pub ack_every: u32,
    /// Longest period of delayed acknowledgements: 100 ms; RTT/4 if that is shorter (answer E4).
    pub delayed_ack_period: Duration,
    /// Repeats of the last acknowledgement without new data: 3 (answer E5).
    pub duplicate_ack_limit: u32,
    /// Most SACK blocks in one acknowledgement: 4, which fits 15 header words in every composition on one path.
    pub max_sack_blocks: usize,
    /// Keep every header within 15 words: off (answer A5). SNACK then tells of 64 packets behind a hole and not of 2,048; both
    /// ends should have it or neither, or what arrived beyond is sent again.
    pub strict_header: bool,
    /// Ask for a CRC-32C of every payload on several paths where no other check is in force (flag A of
    /// MP_CAPABLE): off.
    pub path_checks: bool,
    /// Packets per encoded packet: 8; at most 16 for XOR, at most 8 per phase when interleaved.
    pub fec_group: u32,
    /// Where lost packets are repeated too, encode only flows that do not fill the window, and the end of those that do: on.
    pub tail_fec: bool,
    /// The encoded packet leaves at the latest after RTT divided by this (dissertation section 3.5.8: 4).
    pub fec_timer_divisor: u32,
    /// An encoded packet leaves by that timer too: on; false: only when its group is full.
    pub fec_timer: bool,
    /// An opportunistic opening begins with a SYN of its own: on; false: its first packet of data is the SYN and goes alone,
    /// as in TCP Fast Open (RFC 7413).
    pub syn_first: bool,
    /// Probe the tail of a flight before the timeout: on (as RFC 8985 section 7).
    pub tail_probe: bool,
    /// Packets of one tail probe: 2, as many as RFC 9002 section 6.2.4 allows.
    pub probe_packets: u32,
    /// Spread packets over the round trip instead of sending bursts: on.
    pub pacing: bool,
    /// Mark packets ECN-capable and react to marks: on (RFC 3168; answer I9).
    pub ecn: bool,
    /// Which packet probes during outage: the last that was sent.
    pub outage_probe: OutageProbe,
    /// Least time between outage probes: 200 ms (answer I4).
    pub outage_probe_floor: Duration,
    /// Outage after which the connection is given up; `None`, the default, means that only the idle timeout ends it (answer I4).
    pub outage_give_up: Option<Duration>,
    /// Draw the waits for a SYN's repetition from an interval, so that ends which fail together come back apart:
    /// on.
    pub handshake_jitter: bool,
    /// Close after this time without any packet from the peer, also in an outage: 240 s; `None` means never (answer
    /// D14).
    pub idle_timeout: Option<Duration>,
    /// Send a keepalive after this time of silence: 60 s; `None` means never (answer D14).
    pub keepalive: Option<Duration>,
    /// Period of probes on standby paths: 1 s (answer D14).
    pub standby_probe: Duration,
    /// Most copies of a message at a time where paths carry copies ([`Paths::Copies`](super::Paths::Copies)), from 2 to 15: 15,
    /// which is one on every path.
    pub copies: u32,
    /// A path that failed must answer for this long before it is preferred again: 5 s (answer H9).
    pub fail_back_after: Duration,
    /// Maximum segment lifetime: 30 s; a closed connection lingers twice as long (answer D12).
    pub msl: Duration,
    /// Streams of each kind that the peer may have open: 100, 16 at least (R-STR-4).
    pub max_streams: u64,
    /// Bytes of one stream that may wait for the application: 1,048,576, 65,536 at least (R-STR-6).
    pub stream_window_bytes: u64,
    /// Bytes of all streams together that may wait for the application: 4,194,304, 262,144 at least (R-STR-6).
    pub connection_window_bytes: u64,
    /// Bytes of one stream that may wait to be sent: 262,144.
    pub stream_send_bytes: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            initial_rto: Duration::from_secs(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(60),
            max_retries: 15,
            max_handshake_tries: 6,
            even_handshake_tries: 0,
            initial_window_packets: INITIAL_WINDOW,
            initial_rate_pps: 0,
            open_window_packets: 64,
            receive_window_packets: 1024,
            send_buffer_packets: 1024,
            max_packet_bytes: 1200,
            search_packet_bytes: None,
            hold: Duration::ZERO,
            ack_delay: Duration::from_millis(25),
            ack_every: 2,
            delayed_ack_period: Duration::from_millis(100),
            duplicate_ack_limit: 3,
            max_sack_blocks: 4,
            strict_header: false,
            path_checks: false,
            fec_group: 8,
            tail_fec: true,
            fec_timer_divisor: 4,
            fec_timer: true,
            syn_first: true,
            tail_probe: true,
            probe_packets: 2,
            pacing: true,
            ecn: true,
            outage_probe: OutageProbe::LastSent,
            outage_probe_floor: Duration::from_millis(200),
            outage_give_up: None,
            handshake_jitter: true,
            idle_timeout: Some(Duration::from_secs(240)),
            keepalive: Some(Duration::from_secs(60)),
            standby_probe: Duration::from_secs(1),
            copies: 15,
            fail_back_after: Duration::from_secs(5),
            msl: Duration::from_secs(30),
            max_streams: 100,
            stream_window_bytes: 1 << 20,
            connection_window_bytes: 4 << 20,
            stream_send_bytes: 256 << 10,
        }
    }
}

impl Tuning {
    /// Largest packet that may ever leave, in bytes.
    #[must_use]
    pub fn longest_packet_bytes(&self) -> usize {
        self.max_packet_bytes.max(self.search_packet_bytes.unwrap_or_default())
    }

    /// The values of the dissertation where it states them or where its simulator implies them.
    ///
    /// SYN timeout 3 s (section 4.3), least timeout 1 s (answer L3), no jitter of SYNs, no pacing, no tail
    /// probe, no ECN.
    #[must_use]
    pub fn dissertation() -> Self {
        Self {
            initial_rto: Duration::from_secs(3),
            min_rto: Duration::from_secs(1),
            tail_probe: false,
            tail_fec: false,
            handshake_jitter: false,
            pacing: false,
            ecn: false,
            fec_group: 16,
            ..Self::default()
        }
    }
}
