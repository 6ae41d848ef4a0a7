//! The state of TCP and MPTCP sockets: `struct tcp_info` and what it means in the record.

use std::os::fd::AsFd;

use socket2::Socket;

use crate::sample::SocketSample;
use crate::sys::options::{self, Plain};
use crate::transport::Sampler;

/// `struct tcp_info` of linux/tcp.h up to the fields used here. Older kernels fill less of it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct TcpInfo {
    state: u8,
    ca_state: u8,
    retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    snd_mss: u32,
    rcv_mss: u32,
    unacked: u32,
    sacked: u32,
    lost: u32,
    retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    min_rtt_us: u32,
    data_segs_in: u32,
    data_segs_out: u32,
    delivery_rate: u64,
}

// SAFETY: `repr(C)` and integers only.
#[allow(unsafe_code)]
unsafe impl Plain for TcpInfo {}

/// The kernel's "not set yet" for the slow start threshold (TCP_INFINITE_SSTHRESH, net/tcp.h).
const UNSET_SSTHRESH: u32 = 0x7fff_ffff;
/// The kernel's "never measured" for the smallest RTT (net/ipv4/tcp.c) and "unlimited" for the pacing rate.
const UNSET_U32: u32 = u32::MAX;
const UNLIMITED_RATE: u64 = u64::MAX;

impl TcpInfo {
    fn sample(&self) -> SocketSample {
        let mss = u64::from(self.snd_mss);
        let in_flight = (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost);
        let measured = |value_us: u32| (self.rtt_us > 0).then_some(i64::from(value_us) * 1000);
        SocketSample {
            t_ns: 0,
            cwnd_bytes: u64::from(self.snd_cwnd) * mss,
            ssthresh_bytes: (self.snd_ssthresh < UNSET_SSTHRESH).then(|| u64::from(self.snd_ssthresh) * mss),
            srtt_ns: measured(self.rtt_us),
            rttvar_ns: measured(self.rttvar_us),
            min_rtt_ns: (self.min_rtt_us != UNSET_U32).then_some(i64::from(self.min_rtt_us) * 1000),
            in_flight_bytes: u64::from(in_flight) * mss,
            retransmitted_packets: u64::from(self.total_retrans),
            lost_packets: Some(u64::from(self.lost)),
            // The kernel counts the SYN as a byte that was acknowledged.
            delivered_bytes: Some(self.bytes_acked.saturating_sub(1)),
            delivery_rate_bps: Some(self.delivery_rate as f64 * 8.0),
            pacing_rate_bps: (self.pacing_rate != UNLIMITED_RATE).then_some(self.pacing_rate as f64 * 8.0),
        }
    }
}

/// TCP_CLOSE of the kernel's TCP states (net/tcp_states.h).
const STATE_CLOSED: u8 = 7;

/// Reads `tcp_info` of a TCP socket.
pub(crate) struct TcpSampler(Socket);

impl TcpSampler {
    pub(crate) fn boxed(socket: Socket) -> Box<dyn Sampler> {
        Box::new(Self(socket))
    }
}

impl Sampler for TcpSampler {
    fn sample(&self) -> Option<SocketSample> {
        let mut info = TcpInfo::zeroed();
        options::get(self.0.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok()?;
        (info.state != STATE_CLOSED).then(|| info.sample())
    }
}

/// Most subflows that are looked at. The kernel's path manager opens at most 8 (net/mptcp/pm_netlink.c).
const MOST_SUBFLOWS: usize = 8;

/// The argument of MPTCP_TCPINFO (linux/mptcp.h): a header, then one `tcp_info` for each subflow.
#[repr(C)]
struct SubflowInfos {
    header_bytes: u32,
    subflows: u32,
    kernel_bytes: u32,
    element_bytes: u32,
    infos: [TcpInfo; MOST_SUBFLOWS],
}

// SAFETY: `repr(C)` and integers only.
#[allow(unsafe_code)]
unsafe impl Plain for SubflowInfos {}

/// Socket option level and option (linux/socket.h, linux/mptcp.h).
const SOL_MPTCP: libc::c_int = 284;
const MPTCP_TCPINFO: libc::c_int = 2;

/// Reads `tcp_info` of every subflow of an MPTCP socket and adds them up.
pub(crate) struct MptcpSampler(Socket);

impl MptcpSampler {
    pub(crate) fn boxed(socket: Socket) -> Box<dyn Sampler> {
        Box::new(Self(socket))
    }

    /// The state of every subflow; `None` when the other side does not speak MPTCP and the connection has fallen back
    /// to plain TCP.
    fn subflow_infos(&self) -> Option<SubflowInfos> {
        let mut infos = SubflowInfos::zeroed();
        infos.header_bytes = 16;
        infos.element_bytes = size_of::<TcpInfo>() as u32;
        options::get(self.0.as_fd(), SOL_MPTCP, MPTCP_TCPINFO, &mut infos).ok()?;
        Some(infos)
    }
}

impl Sampler for MptcpSampler {
    fn subflows(&self) -> Option<u32> {
        Some(self.subflow_infos().map_or(1, |infos| infos.subflows))
    }

    /// Windows, counts and rates are sums over the subflows; times are those of the subflow with the smallest
    /// smoothed RTT, which is the one that the kernel's scheduler prefers.
    fn sample(&self) -> Option<SocketSample> {
        let Some(infos) = self.subflow_infos() else {
            return TcpSampler(self.0.try_clone().ok()?).sample();
        };
        let used = (infos.subflows as usize).min(MOST_SUBFLOWS);
        infos.infos[..used].iter().filter(|info| info.state != STATE_CLOSED).map(TcpInfo::sample).reduce(add)
    }
}

fn add(a: SocketSample, b: SocketSample) -> SocketSample {
    let faster = if b.srtt_ns.unwrap_or(i64::MAX) < a.srtt_ns.unwrap_or(i64::MAX) { b } else { a };
    SocketSample {
        cwnd_bytes: a.cwnd_bytes + b.cwnd_bytes,
        ssthresh_bytes: a.ssthresh_bytes.zip(b.ssthresh_bytes).map(|(a, b)| a + b),
        in_flight_bytes: a.in_flight_bytes + b.in_flight_bytes,
        retransmitted_packets: a.retransmitted_packets + b.retransmitted_packets,
        lost_packets: a.lost_packets.zip(b.lost_packets).map(|(a, b)| a + b),
        delivered_bytes: a.delivered_bytes.zip(b.delivered_bytes).map(|(a, b)| a + b),
        delivery_rate_bps: a.delivery_rate_bps.zip(b.delivery_rate_bps).map(|(a, b)| a + b),
        pacing_rate_bps: a.pacing_rate_bps.zip(b.pacing_rate_bps).map(|(a, b)| a + b),
        ..faster
    }
}
