//! The state of TCP and MPTCP sockets: `struct tcp_info` and what it means in the record.

use std::os::fd::AsFd;

use libc::tcp_info;
use socket2::Socket;

use crate::sample::SocketSample;
use crate::sys::options::{self, Plain};
use crate::transport::Sampler;

// SAFETY: `repr(C)` and integers only.
#[allow(unsafe_code)]
unsafe impl Plain for tcp_info {}

/// The kernel's "not set yet" for the slow start threshold (TCP_INFINITE_SSTHRESH, net/tcp.h).
const UNSET_SSTHRESH: u32 = 0x7fff_ffff;
/// The kernel's "never measured" for the smallest RTT (net/ipv4/tcp.c) and "unlimited" for the pacing rate.
const UNSET_U32: u32 = u32::MAX;
const UNLIMITED_RATE: u64 = u64::MAX;

/// What a `tcp_info` (linux/tcp.h) means. Older kernels fill less of it.
fn sample(info: &tcp_info) -> SocketSample {
    let mss = u64::from(info.tcpi_snd_mss);
    let in_flight = (info.tcpi_unacked + info.tcpi_retrans).saturating_sub(info.tcpi_sacked + info.tcpi_lost);
    let measured = |value_us: u32| (info.tcpi_rtt > 0).then_some(i64::from(value_us) * 1000);
    let paced = info.tcpi_pacing_rate != UNLIMITED_RATE;
    SocketSample {
        t_ns: 0,
        cwnd_bytes: u64::from(info.tcpi_snd_cwnd) * mss,
        ssthresh_bytes: (info.tcpi_snd_ssthresh < UNSET_SSTHRESH)
            .then(|| u64::from(info.tcpi_snd_ssthresh) * mss),
        srtt_ns: measured(info.tcpi_rtt),
        rttvar_ns: measured(info.tcpi_rttvar),
        min_rtt_ns: (info.tcpi_min_rtt != UNSET_U32).then_some(i64::from(info.tcpi_min_rtt) * 1000),
        in_flight_bytes: u64::from(in_flight) * mss,
        retransmitted_packets: u64::from(info.tcpi_total_retrans),
        lost_packets: Some(u64::from(info.tcpi_lost)),
        // The kernel counts the SYN as a byte that was acknowledged.
        delivered_bytes: Some(info.tcpi_bytes_acked.saturating_sub(1)),
        delivery_rate_bps: Some(info.tcpi_delivery_rate as f64 * 8.0),
        pacing_rate_bps: paced.then_some(info.tcpi_pacing_rate as f64 * 8.0),
    }
}

/// Packets of a TCP connection so far, both ways, by the kernel's count; none of another socket.
pub(crate) fn packets(socket: &Socket) -> u64 {
    let mut info = tcp_info::zeroed();
    match options::get(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info) {
        Ok(_) => u64::from(info.tcpi_segs_in) + u64::from(info.tcpi_segs_out),
        Err(_) => 0,
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
        let mut info = tcp_info::zeroed();
        options::get(self.0.as_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok()?;
        (info.tcpi_state != STATE_CLOSED).then(|| sample(&info))
    }
}

/// Most subflows that are looked at: the first, and as many as the kernel's path manager opens beside it at most
/// (MPTCP_PM_ADDR_MAX, net/mptcp/protocol.h).
const MOST_SUBFLOWS: usize = 1 + 8;

/// The argument of MPTCP_TCPINFO (linux/mptcp.h): a header, then one `tcp_info` for each subflow, one behind the other
/// in steps of `element_bytes`. The kernel sets them to its own `tcp_info`'s length where that is shorter than ours.
#[repr(C)]
struct SubflowInfos {
    header_bytes: u32,
    subflows: u32,
    kernel_bytes: u32,
    element_bytes: u32,
    infos: [u8; MOST_SUBFLOWS * size_of::<tcp_info>()],
}

impl SubflowInfos {
    /// What the kernel has told of each subflow; what it does not know of is 0.
    fn each(&self) -> impl Iterator<Item = tcp_info> {
        let known = (self.element_bytes as usize).clamp(1, size_of::<tcp_info>());
        let told = (self.subflows as usize).min(MOST_SUBFLOWS);
        self.infos.chunks_exact(known).take(told).map(tcp_info::begins_with)
    }
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
        infos.element_bytes = size_of::<tcp_info>() as u32;
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
        infos.each().filter(|info| info.tcpi_state != STATE_CLOSED).map(|info| sample(&info)).reduce(add)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a kernel writes whose `tcp_info` has so many bytes.
    fn written(known: usize) -> SubflowInfos {
        let mut infos = SubflowInfos::zeroed();
        (infos.subflows, infos.element_bytes) = (3, known as u32);
        for (number, element) in infos.infos.chunks_exact_mut(known).take(3).enumerate() {
            element.fill(0xee);
            let at = std::mem::offset_of!(tcp_info, tcpi_rtt);
            element[at..at + 4].copy_from_slice(&(1000 + number as u32).to_ne_bytes());
        }
        infos
    }

    #[test]
    fn subflows_are_told_apart_whatever_the_length_of_the_kernel_s_own_tcp_info() {
        // Of Linux 6.12; of one that knows all that is known here.
        for known in [248, size_of::<tcp_info>()] {
            let infos = written(known);
            let rtts: Vec<_> = infos.each().map(|info| info.tcpi_rtt).collect();
            assert_eq!(rtts, [1000, 1001, 1002], "{known} bytes");
        }
        let short = written(248).each().next().map(|info| info.tcpi_accecn_opt_seen);
        assert_eq!(short, Some(0), "what the kernel did not write");
    }
}
