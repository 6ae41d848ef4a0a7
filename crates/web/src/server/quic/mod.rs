//! HTTP/3 by h3, over one of two QUIC libraries.
//!
//! ```text
//!   quinn  metered ── Incoming ── (Retry) ── quinn ───── h3_quinn ─┐
//!                                                                   ├─ bounded ── http ── answer
//!   s2n    metered ── s2n-quic ── door (Retry) ── connection ──────┘
//! ```

mod bounded;
mod http;
mod quinn;
mod s2n;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use super::shared::Shared;
use crate::Refusal;
use crate::quic_library::QuicLibrary;

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
