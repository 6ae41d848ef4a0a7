//! The socket beneath all QUIC connections of a server.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::limits::Limits;

/// A UDP socket at an address, and how much may wait in it, as the kernel granted it.
pub(super) fn bind(address: SocketAddr, limits: &Limits) -> io::Result<(UdpSocket, usize)> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(limits.datagrams_octets)?;
    let granted = socket.recv_buffer_size()?;
    socket.bind(&address.into())?;
    Ok((socket.into(), granted))
}
