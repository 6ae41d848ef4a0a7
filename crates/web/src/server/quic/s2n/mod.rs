//! HTTP/3 over s2n-quic, with the sockets and the loop over tokio that it brings along.
//!
//! A connection is handed over when its handshake is over; what comes before is the library's, and counted by its events.

mod connection;
mod door;
mod errors;
mod metered;
mod streams;

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use s2n_quic::Server;
use s2n_quic::connection::Handle;
use s2n_quic::provider::limits::Limits as Transport;
use s2n_quic::provider::tls::rustls as tls;

use self::connection::Connection;
use self::door::{Door, Progress, Tokens};
use self::metered::Metered;
use super::http::{NO_ERROR, converse};
use super::socket::bind;
use crate::Refusal;
use crate::limits::Limits;
use crate::server::shared::Shared;
use crate::server::watch::Watch;

/// What QUIC may do: the server's limits in the library's terms.
///
/// # Errors
/// A sentence: a time-out is missing, or longer than QUIC can say.
fn transport(limits: &Limits) -> Result<Transport, Refusal> {
    let (Some(idle), Some(handshake)) = (limits.quic_idle_timeout(), limits.handshake_timeout) else {
        return Err(Refusal::new("s2n-quic has a time-out for everything: none can be taken away"));
    };
    let window = u64::from(limits.receive_octets);
    Transport::new()
        .with_max_idle_timeout(idle)
        .and_then(|transport| transport.with_max_handshake_duration(handshake))
        .and_then(|transport| transport.with_max_open_remote_bidirectional_streams(limits.streams.into()))
        .and_then(|transport| {
            transport.with_max_open_remote_unidirectional_streams(limits.control_streams.into())
        })
        .and_then(|transport| transport.with_bidirectional_remote_data_window(window))
        .and_then(|transport| transport.with_unidirectional_data_window(window))
        .and_then(|transport| transport.with_data_window(window))
        .and_then(|transport| transport.with_max_send_buffer_size(limits.send_octets))
        .map_err(|error| Refusal::of("s2n-quic refuses a limit", error))
}

/// A server that listens, and how much may wait in its socket.
///
/// # Errors
/// A sentence: the kernel or QUIC refused.
pub(super) fn listen(
    address: SocketAddr,
    tls: rustls::ServerConfig,
    shared: &Arc<Shared>,
) -> Result<(Server, usize), Refusal> {
    fn refused(address: SocketAddr, error: impl Display) -> Refusal {
        Refusal::of(format!("{address} cannot be listened at"), error)
    }
    let (socket, granted) = bind(address, &shared.limits).map_err(|error| refused(address, error))?;
    let io = Metered::new(socket, &shared.counters).map_err(|error| refused(address, error))?;
    let door = Door::new(shared);
    let Ok(builder) = Server::builder().with_tls(tls::Server::from(tls));
    let Ok(builder) = builder.with_io(io);
    let Ok(builder) = builder.with_limits(transport(&shared.limits)?);
    let Ok(builder) = builder.with_endpoint_limits(door.clone());
    let Ok(builder) = builder.with_address_token(Tokens::new(&door));
    let Ok(builder) = builder.with_event(door);
    let server = builder.start().map_err(|error| refused(address, error))?;
    Ok((server, granted))
}

/// Takes connections and answers what is asked over them.
pub(super) async fn serve(mut server: Server, shared: Arc<Shared>) {
    while let Some(connection) = server.accept().await {
        tokio::spawn(self::connection(connection, Arc::clone(&shared)));
    }
}

/// A connection that is closed when this is dropped.
struct Closed(Handle);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.close(NO_ERROR.into());
    }
}

async fn connection(mut connection: s2n_quic::Connection, shared: Arc<Shared>) {
    // There is none if the client closed the connection meanwhile.
    let _open = connection.query_event_context_mut(Progress::take_open);
    let (handle, acceptor) = connection.split();
    let _closed = Closed(handle.clone());
    let watch = Watch::new(&shared);
    converse(Connection::new(handle, acceptor), &shared, &watch, || false).await;
}
