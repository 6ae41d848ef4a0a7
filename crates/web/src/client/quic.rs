//! HTTP/3 by h3, over quinn. Each connection has a socket of its own, as one of TCP has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use h3::client::SendRequest;
use hyper::Request;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, IdleTimeout, NoneTokenStore, TransportConfig, VarInt, ZeroRttAccepted};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::outcome::{Failed, Outcome};
use super::record::Record;
use crate::Refusal;
use crate::limits::CLIENT_WINDOW_OCTETS;
use crate::tls::Tickets;

/// The code of a connection that ends without an error (H3_NO_ERROR: RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// For so long a connection waits for the server's tickets before it is closed.
const TICKETS_COME: Duration = Duration::from_millis(200);

/// What connections are opened with.
pub(super) struct Opener {
    config: ClientConfig,
    tickets: Arc<Tickets>,
    early_data: bool,
    address: SocketAddr,
    name: String,
}

impl Opener {
    /// For connections to `address`, where `name` is expected; the client itself gives up after `timeout`.
    ///
    /// # Errors
    /// A sentence: the time-out is longer than QUIC can say.
    pub(super) fn new(
        (tls, tickets): (rustls::ClientConfig, Arc<Tickets>),
        timeout: Duration,
        address: SocketAddr,
        name: &str,
    ) -> Result<Self, Refusal> {
        let early_data = tls.enable_early_data;
        let crypto =
            QuicClientConfig::try_from(tls).map_err(|error| Refusal::of("the TLS of QUIC", error))?;
        let idle = IdleTimeout::try_from(timeout + Duration::from_secs(1))
            .map_err(|_| Refusal::new("the time-out is longer than QUIC can say"))?;
        let mut transport = TransportConfig::default();
        transport
            .max_idle_timeout(Some(idle))
            .stream_receive_window(CLIENT_WINDOW_OCTETS.into())
            .receive_window(CLIENT_WINDOW_OCTETS.into())
            .datagram_receive_buffer_size(None);
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(transport));
        config.token_store(Arc::new(NoneTokenStore));
        Ok(Self { config, tickets, early_data, address, name: name.to_owned() })
    }

    pub(super) async fn open(&self, record: &mut Record) -> Result<Connection, Failed> {
        self.open_with(self.early_data, record).await
    }

    async fn open_with(&self, early_data: bool, record: &mut Record) -> Result<Connection, Failed> {
        let any = match self.address {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        let endpoint = Endpoint::client(SocketAddr::new(any, 0))?;
        let used = self.tickets.used();
        let tickets = self.tickets.came();
        let connecting = endpoint
            .connect_with(self.config.clone(), self.address, &self.name)
            .map_err(|error| Failed::new(Outcome::Local, error))?;
        record.ticket |= self.tickets.used() > used;
        let connecting = if early_data { connecting.into_0rtt() } else { Err(connecting) };
        let (connection, early, tickets) = match connecting {
            Ok((connection, accepted)) => (connection, Some(accepted), Some(tickets)),
            Err(connecting) => {
                let connection = connecting.await?;
                record.connected();
                (connection, None, None)
            }
        };
        let quic = h3_quinn::Connection::new(connection.clone());
        // Frames that mean nothing (RFC 9114, section 7.2.8) are drawn at random: they would only blur comparisons.
        let (mut driver, sender) = h3::client::builder()
            .send_grease(false)
            .build::<_, _, Bytes>(quic)
            .await
            .map_err(|error| closed(&connection, || Failed::new(Outcome::Protocol, error)))?;
        // What goes wrong with it, those who ask over it hear too.
        let driver = tokio::spawn(async move { drop(driver.wait_idle().await) });
        Ok(Connection { endpoint, connection, sender, driver, early, tickets })
    }

    pub(super) async fn fetch(
        &self,
        connection: &mut Connection,
        path: &str,
        record: &mut Record,
    ) -> Result<(), Failed> {
        let asked = connection.fetch(&self.name, path, record).await;
        let Some(early) = connection.early.take() else { return asked };
        record.early_data = early.await;
        if !record.early_data {
            connection.tickets = None;
        }
        if asked.is_ok() || record.early_data || connection.connection.close_reason().is_some() {
            return asked;
        }
        // The server did not take what came early: it is asked once more, over a connection that waits.
        let refused = std::mem::replace(connection, self.open_with(false, record).await?);
        tokio::spawn(refused.close());
        connection.fetch(&self.name, path, record).await
    }
}

/// Why a connection is over; else `other`.
fn closed(connection: &quinn::Connection, other: impl FnOnce() -> Failed) -> Failed {
    connection.close_reason().map_or_else(other, Failed::from)
}

/// A connection with its socket.
pub(super) struct Connection {
    endpoint: Endpoint,
    connection: quinn::Connection,
    sender: SendRequest<h3_quinn::OpenStreams, Bytes>,
    driver: JoinHandle<()>,
    /// Whether what was sent early was taken; until that was asked.
    early: Option<ZeroRttAccepted>,
    /// Tells when tickets come; there while the answer may come before the handshake is over, and so before them.
    tickets: Option<watch::Receiver<u64>>,
}

impl Connection {
    async fn fetch(&mut self, authority: &str, path: &str, record: &mut Record) -> Result<(), Failed> {
        let request = Request::get(format!("https://{authority}{path}"))
            .body(())
            .map_err(|error| Failed::new(Outcome::Local, error))?;
        let connection = &self.connection;
        let failed = |error: h3::error::StreamError| closed(connection, || error.into());
        let mut stream = self.sender.send_request(request).await.map_err(failed)?;
        stream.finish().await.map_err(failed)?;
        record.answered(stream.recv_response().await.map_err(failed)?.status())?;
        while let Some(piece) = stream.recv_data().await.map_err(failed)? {
            record.bytes += piece.remaining() as u64;
        }
        Ok(())
    }

    /// Says that nothing more will be asked, and waits until that is sent and the socket is closed. What was answered
    /// early waits for tickets first: without them the next connection could send nothing early.
    pub(super) async fn close(mut self) {
        if let Some(tickets) = &mut self.tickets {
            let _ = timeout(TICKETS_COME, tickets.changed()).await;
        }
        self.connection.close(NO_ERROR, b"");
        drop(self.sender);
        self.driver.abort();
        self.endpoint.wait_idle().await;
    }
}
