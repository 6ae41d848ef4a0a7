//! What the network reports about packets that it could not deliver (ICMP), from the error queue of a socket.

use std::io::IoSliceMut;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// Octets of an undelivered packet that are looked at: the ports of the inner header are among the first twelve.
const BEGINNING_BYTES: usize = 64;
/// Room for the report behind whatever else the socket was told to note of packets (addresses, ECN).
const CONTROL_BYTES: usize = 256;
/// Reports taken from the queue at once; it is finite, but somebody may fill it while it is read.
const BATCH: usize = 64;

/// Shows `take` where packets could not be delivered to, and how each began.
pub(super) fn drain(socket: &impl AsFd, mut take: impl FnMut(SocketAddr, &[u8])) {
    for _ in 0..BATCH {
        let mut beginning = [0; BEGINNING_BYTES];
        let mut slices = [IoSliceMut::new(&mut beginning)];
        let mut space = nix::cmsg_space!([u8; CONTROL_BYTES]);
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let fd = socket.as_fd().as_raw_fd();
        let Ok(message) = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut space), flags) else {
            return;
        };
        let nobody_there = message.cmsgs().is_ok_and(|mut all| all.any(|control| is_undelivered(&control)));
        let (address, bytes) = (message.address.as_ref().and_then(standard), message.bytes);
        if let Some(address) = address.filter(|_| nobody_there) {
            take(address, &beginning[..bytes.min(BEGINNING_BYTES)]);
        }
    }
}

/// A report that the destination does not receive, rather than that a packet was too long or came from this host.
fn is_undelivered(control: &ControlMessageOwned) -> bool {
    let (ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _)) = control
    else {
        return false;
    };
    let unreachable = [Errno::ECONNREFUSED, Errno::EHOSTUNREACH, Errno::ENETUNREACH, Errno::EACCES];
    unreachable.contains(&Errno::from_raw(error.ee_errno as i32))
}

fn standard(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}
