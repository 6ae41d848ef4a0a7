//! HTTP/3 by h3, over one of two QUIC libraries.
//!
//! ```text
//!   quinn  metered ── Incoming ── (Retry) ── quinn ───── h3_quinn ─┐
//!                                                                   ├─ bounded ── http ── answer
//!   s2n    metered ── s2n-quic ── door (Retry) ── connection ──────┘
//! ```

mod bounded;
mod http;
pub(super) mod quinn;
mod s2n;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};

use super::shared::Shared;
use crate::Refusal;
use crate::limits::Limits;
use crate::quic_library::QuicLibrary;

/// The code of a connection that ends without an error (H3_NO_ERROR: RFC 9114, section 8.1).
const NO_ERROR: u32 = 0x100;

/// Begins to serve. Returns where, and how much may wait in the socket.
///
/// # Errors
/// A sentence: the kernel or QUIC refused.
pub(super) fn start(
    library: QuicLibrary,
    address: SocketAddr,
    tls: rustls::ServerConfig,
    shared: &Arc<Shared>,
) -> Result<(io::Result<SocketAddr>, usize), Refusal> {
    match library {
        QuicLibrary::Quinn => {
            let (endpoint, granted) = quinn::listen(address, tls, shared)?;
            let address = endpoint.local_addr();
            tokio::spawn(quinn::serve(endpoint, Arc::clone(shared)));
            Ok((address, granted))
        }
        QuicLibrary::S2nQuic => {
            let (server, granted) = s2n::listen(address, tls, shared)?;
            let address = server.local_addr();
            tokio::spawn(s2n::serve(server, Arc::clone(shared)));
            Ok((address, granted))
        }
    }
}

/// A UDP socket at an address, and how much may wait in it, as the kernel granted it.
fn bind(address: SocketAddr, limits: &Limits) -> io::Result<(std::net::UdpSocket, usize)> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(limits.datagrams_octets)?;
    let granted = socket.recv_buffer_size()?;
    socket.bind(&address.into())?;
    Ok((socket.into(), granted))
}
