//! Raw IP, protocol number 253 (specification chapter 4): no ports outside, batches by `sendmmsg`.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsRawFd;
use std::task::{Context, Poll, ready};

use nix::libc;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmsg, sendmmsg,
    setsockopt, sockopt,
};
use restp_proto::wire::IP_PROTOCOL;
use restp_proto::{Ecn, PathAddr, Transmit};
use socket2::{Domain, Protocol, Type};
use tokio::io::unix::AsyncFd;

use super::parts::{ReceiveBuffer, Train, enlarge_buffers};
use crate::error::Error;
use crate::fd::{Owned, register};

/// Packets of one `sendmmsg`, and packets taken from the socket before others have their turn.
pub(crate) const BATCH_PACKETS: usize = 32;

/// A raw IP socket.
pub(crate) struct RawSocket {
    io: AsyncFd<Owned<socket2::Socket>>,
    bound: SocketAddr,
}

impl RawSocket {
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let address = SocketAddr::new(address.ip(), 0);
        let open = || -> io::Result<Self> {
            let protocol = Protocol::from(i32::from(IP_PROTOCOL));
            let socket = socket2::Socket::new(Domain::for_address(address), Type::RAW, Some(protocol))?;
            if address.is_ipv6() {
                setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &true)?;
                setsockopt(&socket, sockopt::Ipv6RecvTClass, &true)?;
            }
            socket.set_nonblocking(true)?;
            socket.bind(&address.into())?;
            enlarge_buffers(&socket);
            Ok(Self { io: register(socket)?, bound: address })
        };
        open().map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => Error::NoRawIp,
            _ => Error::Io {
                what: format!("cannot bind raw IP to {}; choose an address of this host", address.ip()),
                source,
            },
        })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.bound
    }

    pub fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit, bytes: &[u8]) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.io.poll_write_ready(cx))?;
            // A refused packet is a lost packet.
            if guard.try_io(|_| self.send(transmit, bytes).map_err(io::Error::from)).is_ok() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn send(&self, transmit: &Transmit, bytes: &[u8]) -> nix::Result<()> {
        let segments: Vec<[IoSlice<'_>; 1]> =
            bytes.chunks(transmit.segment_size.max(1)).map(|segment| [IoSlice::new(segment)]).collect();
        let remote = SockaddrStorage::from(SocketAddr::new(transmit.path.remote.ip(), 0));
        let remotes = vec![Some(remote); segments.len()];
        let traffic_class = transmit.ecn.bits();
        let wide_class = i32::from(traffic_class);
        let (v4_source, v6_source);
        let mut control = Vec::with_capacity(2);
        match transmit.path.local.ip() {
            IpAddr::V4(ip) => {
                control.push(ControlMessage::Ipv4Tos(&traffic_class));
                v4_source = libc::in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(ip.octets()) },
                    ipi_addr: libc::in_addr { s_addr: 0 },
                };
                control.push(ControlMessage::Ipv4PacketInfo(&v4_source));
            }
            IpAddr::V6(ip) => {
                control.push(ControlMessage::Ipv6TClass(&wide_class));
                v6_source =
                    libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: ip.octets() }, ipi6_ifindex: 0 };
                control.push(ControlMessage::Ipv6PacketInfo(&v6_source));
            }
        }
        let space = nix::cmsg_space!(libc::in6_pktinfo, i32);
        let mut headers = MultiHeaders::preallocate(segments.len(), Some(space));
        let fd = self.io.get_ref().as_raw_fd();
        sendmmsg(fd, &mut headers, &segments, &remotes, &control, MsgFlags::empty()).map(drop)
    }

    pub fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut ReceiveBuffer,
        mut take: impl FnMut(Train<'_>),
    ) -> Poll<io::Result<()>> {
        let mut taken = 0;
        loop {
            let mut guard = match self.io.poll_read_ready(cx) {
                Poll::Ready(ready) => ready?,
                Poll::Pending if taken > 0 => return Poll::Ready(Ok(())),
                Poll::Pending => return Poll::Pending,
            };
            let Ok(received) = guard.try_io(|_| self.receive(&mut buffer.slots[0])) else { continue };
            if let Some((path, ecn, start, end)) = received? {
                let bytes = &buffer.slots[0][start..end];
                take(Train { path, ecn, bytes, stride: bytes.len().max(1), lent: None });
            }
            taken += 1;
            if taken == BATCH_PACKETS {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// One packet: its path, its ECN field, and where its payload lies in `bytes`. `None` for one without meaning.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<Option<(PathAddr, Ecn, usize, usize)>> {
        let mut space = nix::cmsg_space!(libc::in6_pktinfo, i32);
        let mut slices = [IoSliceMut::new(bytes)];
        let fd = self.io.get_ref().as_raw_fd();
        let message = recvmsg::<SockaddrStorage>(fd, &mut slices, Some(&mut space), MsgFlags::empty())?;
        let length = message.bytes;
        let remote = message.address.as_ref().and_then(ip_of);
        let (mut ecn, mut local) = (Ecn::NotEct, self.bound.ip());
        if self.bound.is_ipv6() {
            for control in message.cmsgs()? {
                match control {
                    ControlMessageOwned::Ipv6TClass(class) => ecn = Ecn::from_bits(class as u8),
                    ControlMessageOwned::Ipv6PacketInfo(info) => {
                        local = Ipv6Addr::from(info.ipi6_addr.s6_addr).into();
                    }
                    _ => {}
                }
            }
        }
        let mut start = 0;
        if self.bound.is_ipv4() {
            // Raw IPv4 sockets show the IP header, which tells all there is to know.
            let Some(header) = bytes.get(..20.min(length)).filter(|header| header.len() == 20) else {
                return Ok(None);
            };
            start = usize::from(header[0] & 15) * 4;
            ecn = Ecn::from_bits(header[1]);
            local = Ipv4Addr::new(header[16], header[17], header[18], header[19]).into();
        }
        Ok(remote.filter(|_| start <= length).map(|remote| {
            let path = PathAddr { local: SocketAddr::new(local, 0), remote: SocketAddr::new(remote, 0) };
            (path, ecn, start, length)
        }))
    }
}

fn ip_of(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}
