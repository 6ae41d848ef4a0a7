//! HTTP/3 over quinn.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, NoneTokenLog, Runtime, ServerConfig, TokioRuntime,
    TransportConfig, VarInt, ZeroRttAccepted,
};

use super::http::{NO_ERROR, converse};
use super::socket::bind;
use crate::Refusal;
use crate::limits::{Limit, Limits};
use crate::server::metered::Udp;
use crate::server::shared::{Admitted, Shared};
use crate::server::watch::Watch;
use crate::server::within::within;

/// What QUIC may do: the server's limits in its terms.
///
/// # Errors
/// A sentence: a time-out is longer than QUIC can say.
fn transport(limits: &Limits) -> Result<TransportConfig, Refusal> {
    let idle = limits.quic_idle_timeout().map(IdleTimeout::try_from).transpose();
    let idle = idle.map_err(|_| Refusal::new("a time-out is longer than QUIC can say"))?;
    let mut transport = TransportConfig::default();
    transport
        .max_idle_timeout(idle)
        .max_concurrent_bidi_streams(limits.streams.into())
        .max_concurrent_uni_streams(limits.control_streams.into())
        .stream_receive_window(limits.receive_octets.into())
        .receive_window(limits.receive_octets.into())
        .send_window(limits.send_octets.into())
        .crypto_buffer_size(limits.crypto_octets)
        .datagram_receive_buffer_size(None);
    Ok(transport)
}

/// A socket that listens, and how much may wait in it.
///
/// # Errors
/// A sentence: the kernel or QUIC refused.
pub(super) fn listen(
    address: SocketAddr,
    tls: rustls::ServerConfig,
    shared: &Arc<Shared>,
) -> Result<(Endpoint, usize), Refusal> {
    let limits = &shared.limits;
    let crypto = QuicServerConfig::try_from(tls).map_err(|error| Refusal::of("the TLS of QUIC", error))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport(limits)?));
    config.max_incoming(limits.incoming);
    config.incoming_buffer_size(limits.incoming_octets);
    config.incoming_buffer_size_total(limits.incoming_total_octets);
    // Addresses are validated by Retry and by nothing else: no token of an earlier connection spares a client that.
    config.validation_token.sent(0).log(Arc::new(NoneTokenLog));
    let open = || -> io::Result<(Endpoint, usize)> {
        let (socket, granted) = bind(address, limits)?;
        let udp = Udp::new(
            TokioRuntime.wrap_udp_socket(socket)?,
            &shared.counters,
            #[cfg(feature = "weak")]
            limits.copies,
        );
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            Some(config),
            Arc::new(udp),
            Arc::new(TokioRuntime),
        )?;
        Ok((endpoint, granted))
    };
    open().map_err(|error| Refusal::of(format!("{address} cannot be listened at"), error))
}

/// An open connection, which is closed when this is dropped.
struct Registered {
    connection: quinn::Connection,
    shared: Arc<Shared>,
}

impl Registered {
    fn new(connection: quinn::Connection, shared: &Arc<Shared>) -> Self {
        shared.quic.insert(&connection);
        Self { connection, shared: Arc::clone(shared) }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.connection.close(VarInt::from_u32(NO_ERROR), b"");
        self.shared.counters.datagrams_taken.add(self.shared.quic.remove(&self.connection));
    }
}

/// Takes connections and answers what is asked over them.
pub(super) async fn serve(endpoint: Endpoint, shared: Arc<Shared>) {
    while let Some(incoming) = endpoint.accept().await {
        accept(incoming, &shared);
    }
}

fn accept(incoming: Incoming, shared: &Arc<Shared>) {
    if !incoming.remote_address_validated() && shared.retries() {
        if incoming.retry().is_ok() {
            shared.counters.retries.one();
        }
        return;
    }
    let Ok(admitted) = shared.admit() else { return incoming.refuse() };
    match incoming.accept().map(quinn::Connecting::into_0rtt) {
        Ok(Ok((connection, complete))) => {
            shared.counters.datagrams_taken.one();
            tokio::spawn(self::connection(connection, complete, Arc::clone(shared), admitted));
        }
        // A packet that is none of a client's first; a server can always answer before the handshake is over.
        Ok(Err(_)) | Err(_) => admitted.failed(None),
    }
}

async fn connection(
    connection: quinn::Connection,
    complete: ZeroRttAccepted,
    shared: Arc<Shared>,
    admitted: Admitted,
) {
    let registered = Registered::new(connection, &shared);
    let connection = &registered.connection;
    let watch = Watch::new(&shared);
    let handshake = async {
        let in_time = within(shared.limits.handshake_timeout, complete).await.is_some();
        if in_time && is_complete(connection) {
            watch.secured();
            return Some(admitted.completed());
        }
        admitted.failed((!in_time).then_some(Limit::HandshakeTimeout));
        None
    };
    if shared.early_data {
        early(connection, handshake, &shared, &watch).await;
    } else if let Some(_open) = handshake.await {
        converse(h3_quinn::Connection::new(connection.clone()), &shared, &watch, || false).await;
    }
}

/// Answers while the handshake is still in flight.
async fn early<T>(
    connection: &quinn::Connection,
    handshake: impl Future<Output = Option<T>>,
    shared: &Arc<Shared>,
    watch: &Arc<Watch>,
) {
    let mut handshake = std::pin::pin!(handshake);
    let quic = h3_quinn::Connection::new(connection.clone());
    let mut conversation = std::pin::pin!(converse(quic, shared, watch, || !has_keys(connection)));
    tokio::select! {
        biased;
        () = &mut conversation => {
            connection.close(VarInt::from_u32(NO_ERROR), b"");
            drop(handshake.await);
        }
        handshake = &mut handshake => {
            if let Some(_open) = handshake {
                conversation.await;
            }
        }
    }
}

/// Whether the handshake came to its end. A client may close its connection in the same instant.
fn is_complete(connection: &quinn::Connection) -> bool {
    connection.close_reason().is_none() || has_keys(connection)
}

/// Whether there are keys of the handshake's end. Only they tell exactly: its event comes at the same time as those of
/// the packets behind it.
fn has_keys(connection: &quinn::Connection) -> bool {
    connection.export_keying_material(&mut [0; 32], b"gauntlet", b"").is_ok()
}
