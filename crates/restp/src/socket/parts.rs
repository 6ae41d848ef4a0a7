//! What the kinds of sockets share: trains of datagrams, buffers for them, and the family of addresses.

use std::net::{IpAddr, SocketAddr};

use bytes::Bytes;
use restp_proto::{Ecn, PathAddr};

use super::pool::Pool;
use crate::error::Error;

/// Receive and send buffers that are asked for, in bytes: a round trip of 10 ms at 3 Gbit/s. The system may grant less.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Largest payload of one UDP datagram, and thus of all segments of one call, over IPv4.
pub(crate) const MAX_DATAGRAM_BYTES: usize = 65_507;

/// Datagrams of the same sender that arrived together.
pub(crate) struct Train<'a> {
    pub path: PathAddr,
    pub ecn: Ecn,
    pub bytes: &'a [u8],
    /// Length of each datagram but the last, which may be shorter.
    pub stride: usize,
    /// The same bytes as a value that may be kept, where that is worth it.
    pub lent: Option<Bytes>,
}

/// What limits a socket for tests and measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketOptions {
    /// Hand several packets to the kernel at once where it can cut them.
    pub offload: bool,
}

/// `ip` in the family of a socket that is bound to `bound`.
///
/// # Errors
/// [`Error::NoAddress`] for an IPv6 address on an IPv4 socket.
pub(super) fn family_of(bound: SocketAddr, ip: IpAddr) -> Result<IpAddr, Error> {
    match (bound, ip) {
        (SocketAddr::V6(_), IpAddr::V4(ip)) => Ok(IpAddr::V6(ip.to_ipv6_mapped())),
        (SocketAddr::V4(_), IpAddr::V6(ip)) => {
            ip.to_ipv4_mapped().map(IpAddr::V4).ok_or(Error::NoAddress { family: "IPv4" })
        }
        (_, ip) => Ok(ip),
    }
}

/// Room for the datagrams of one call.
pub(crate) struct ReceiveBuffer {
    pub(super) slots: Vec<Vec<u8>>,
    pub(super) pool: Pool,
}

impl ReceiveBuffer {
    pub(super) fn new(slots: usize, slot_bytes: usize) -> Self {
        let slots = (0..slots).map(|_| vec![0; slot_bytes]).collect();
        Self { slots, pool: Pool::default() }
    }
}

/// Asks for large buffers; the system cuts what it does not want to give.
pub(super) fn enlarge_buffers(socket: &socket2::Socket) {
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER_BYTES);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_in_the_family_of_the_socket() {
        let v6: SocketAddr = "[::]:1".parse().unwrap();
        let v4: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        let plain: IpAddr = "10.0.0.1".parse().unwrap();
        assert_eq!(family_of(v6, plain).unwrap(), mapped);
        assert_eq!(family_of(v4, mapped).unwrap(), plain);
        assert!(family_of(v4, "2001:db8::1".parse().unwrap()).is_err());
    }
}
