//! How much fits into one packet to another host.

use std::net::SocketAddr;
use std::os::fd::AsFd;

use socket2::{Protocol, Type};

use super::socket;
use crate::error::{Failure, OrFailure};
use crate::sys::options;

/// Header of UDP (RFC 768).
pub(crate) const UDP_HEADER_BYTES: usize = 8;
/// Headers of IPv4 without options and of IPv6 (RFC 791, RFC 8200).
pub(crate) const IP_HEADER_BYTES: (usize, usize) = (20, 40);
/// Packets are made for an Ethernet where the path would take longer ones: who wants those says so.
const ETHERNET_MTU_BYTES: usize = 1500;

/// Most bytes behind the IP header that the kernel sends from one address to the other without cutting them; `name` is
/// that of the transport.
pub(crate) fn longest_payload_bytes(name: &str, from: SocketAddr, to: SocketAddr) -> Result<usize, Failure> {
    let probe = socket::open(name, Type::DGRAM, Some(Protocol::UDP), SocketAddr::new(from.ip(), 0))?;
    // Nothing is sent: connecting a UDP socket only chooses the route.
    probe.connect(&to.into()).or_failure(format_args!("{to} cannot be reached from this node"))?;
    let (level, option, header_bytes) = if from.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU, IP_HEADER_BYTES.0)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU, IP_HEADER_BYTES.1)
    };
    let mut mtu_bytes: libc::c_int = 0;
    options::get(probe.as_fd(), level, option, &mut mtu_bytes)
        .or_failure("the MTU of the path could not be read")?;
    let mtu_bytes = usize::try_from(mtu_bytes).unwrap_or(0).min(ETHERNET_MTU_BYTES);
    Ok(mtu_bytes.saturating_sub(header_bytes))
}
