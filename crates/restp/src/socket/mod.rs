//! Sockets below an endpoint: UDP or raw IP, in batches, with ECN and both addresses of every packet.

mod parts;
mod pool;
mod raw;
mod reports;
mod udp;

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll};

use restp_proto::{Encapsulation, PathAddr, Transmit};

use crate::error::Error;
use parts::family_of;
pub(crate) use parts::{MAX_DATAGRAM_BYTES, ReceiveBuffer, SocketOptions, Train};

/// The socket of an endpoint.
pub(crate) enum Socket {
    Udp(udp::UdpSocket),
    Raw(raw::RawSocket),
}

impl Socket {
    /// # Errors
    /// [`Error::NoRawIp`] without the capability, else [`Error::Io`]; so is an encapsulation that is not known here.
    pub fn bind(
        encapsulation: Encapsulation,
        address: SocketAddr,
        options: SocketOptions,
    ) -> Result<Self, Error> {
        match encapsulation {
            Encapsulation::Udp => udp::UdpSocket::bind(address, options).map(Self::Udp),
            Encapsulation::RawIp => raw::RawSocket::bind(address).map(Self::Raw),
            other => {
                let what =
                    format!("this version of restp opens no sockets for {other:?}; take UDP or raw IP");
                Err(Error::io(what)(io::ErrorKind::Unsupported.into()))
            }
        }
    }

    pub fn local_addr(&self) -> SocketAddr {
        match self {
            Self::Udp(socket) => socket.local_addr(),
            Self::Raw(socket) => socket.local_addr(),
        }
    }

    /// Packets of equal length that one call can send.
    pub fn max_segments(&self) -> usize {
        match self {
            Self::Udp(socket) => socket.max_segments(),
            Self::Raw(_) => raw::BATCH_PACKETS,
        }
    }

    /// Sends the packets of `transmit`. Packets that the system refuses are lost: the protocol repeats what matters.
    pub fn poll_send(&self, cx: &mut Context<'_>, transmit: &Transmit, bytes: &[u8]) -> Poll<io::Result<()>> {
        match self {
            Self::Udp(socket) => socket.poll_send(cx, transmit, bytes),
            Self::Raw(socket) => socket.poll_send(cx, transmit, bytes),
        }
    }

    /// Receives what has arrived, one call to the system, and shows it to `take`.
    pub fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut ReceiveBuffer,
        take: impl FnMut(Train<'_>),
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Udp(socket) => socket.poll_recv(cx, buffer, take),
            Self::Raw(socket) => socket.poll_recv(cx, buffer, take),
        }
    }

    /// Shows `take` where packets could not be delivered to, as far as the network has said so since the last call, and
    /// how each began. Without `look` only if sending or receiving gave reason to look. Over raw IP nothing is reported.
    pub fn take_reports(&self, look: bool, take: impl FnMut(SocketAddr, &[u8])) {
        match self {
            Self::Udp(socket) => socket.take_reports(look, take),
            Self::Raw(_) => {}
        }
    }

    /// A buffer for `poll_recv`.
    pub fn receive_buffer(&self) -> ReceiveBuffer {
        match self {
            Self::Udp(socket) => socket.receive_buffer(),
            Self::Raw(_) => ReceiveBuffer::new(1, MAX_DATAGRAM_BYTES + 28),
        }
    }

    /// The remote address as this socket writes it, and the local address that the system would choose for it.
    ///
    /// # Errors
    /// [`Error::NoAddress`] for the wrong family, [`Error::Io`] without a route.
    pub fn path_to(&self, remote: SocketAddr) -> Result<PathAddr, Error> {
        let bound = self.local_addr();
        let mut remote = self.native(remote)?;
        if matches!(self, Self::Raw(_)) {
            remote.set_port(0);
        }
        if !bound.ip().is_unspecified() {
            return Ok(PathAddr { local: bound, remote });
        }
        let unroutable = format!("cannot find a route to {remote}; check the address and the routing table");
        let probe = std::net::UdpSocket::bind(SocketAddr::new(bound.ip(), 0))
            .map_err(Error::io("cannot create a socket to look up a route"))?;
        // Nothing is sent: connecting a UDP socket only chooses the route.
        let port = if remote.port() == 0 { 1 } else { remote.port() };
        let local = probe
            .connect(SocketAddr::new(remote.ip(), port))
            .and_then(|()| probe.local_addr())
            .map_err(Error::io(unroutable))?;
        Ok(PathAddr { local: SocketAddr::new(local.ip(), bound.port()), remote })
    }

    /// Where a lone message to `remote` goes. Over UDP the system may choose the source address packet by packet; over raw
    /// IP the checksum covers it, so it is looked up.
    ///
    /// # Errors
    /// As [`Socket::path_to`].
    pub fn lone_path_to(&self, remote: SocketAddr) -> Result<PathAddr, Error> {
        match self {
            Self::Udp(_) => Ok(PathAddr { local: self.local_addr(), remote: self.native(remote)? }),
            Self::Raw(_) => self.path_to(remote),
        }
    }

    /// `address` as one to bind another socket of the same family to.
    ///
    /// # Errors
    /// As [`Socket::native`].
    pub fn in_family(&self, address: SocketAddr) -> Result<SocketAddr, Error> {
        let bound = self.local_addr();
        if bound.is_ipv6() && address.is_ipv4() && address.ip().is_unspecified() {
            // Any address of this host; mapped, it would be an address of its own.
            return Ok(SocketAddr::new(std::net::Ipv6Addr::UNSPECIFIED.into(), address.port()));
        }
        let ip = family_of(bound, address.ip())?;
        Ok(if ip == address.ip() { address } else { SocketAddr::new(ip, address.port()) })
    }

    /// `address` in the family of the socket: an IPv6 socket speaks to IPv4 peers by mapped addresses.
    ///
    /// # Errors
    /// [`Error::NoAddress`] for an IPv6 address on an IPv4 socket, [`Error::NoRemotePort`] for UDP port 0.
    pub fn native(&self, address: SocketAddr) -> Result<SocketAddr, Error> {
        if matches!(self, Self::Udp(_)) && address.port() == 0 {
            return Err(Error::NoRemotePort(address));
        }
        let ip = family_of(self.local_addr(), address.ip())?;
        Ok(match address {
            SocketAddr::V6(address) => SocketAddr::V6(address),
            SocketAddr::V4(address) => SocketAddr::new(ip, address.port()),
        })
    }
}
