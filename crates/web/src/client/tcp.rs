//! HTTP/1.1 and HTTP/2 over TLS over TCP, by hyper.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper::header::HOST;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::outcome::{Failed, Outcome};
use super::record::Record;
use crate::Refusal;
use crate::limits::CLIENT_WINDOW_OCTETS;
use crate::protocol::Protocol;
use crate::tls::Tickets;

/// What connections are opened with.
pub(super) struct Opener {
    connector: TlsConnector,
    tickets: Arc<Tickets>,
    protocol: Protocol,
    address: SocketAddr,
    name: ServerName<'static>,
    authority: String,
}

impl Opener {
    /// For connections to `address`, where `name` is expected.
    ///
    /// # Errors
    /// A sentence: the name is none.
    pub(super) fn new(
        (tls, tickets): (ClientConfig, Arc<Tickets>),
        protocol: Protocol,
        address: SocketAddr,
        name: &str,
    ) -> Result<Self, Refusal> {
        let early_data = tls.enable_early_data;
        Ok(Self {
            connector: TlsConnector::from(Arc::new(tls)).early_data(early_data),
            tickets,
            protocol,
            address,
            name: ServerName::try_from(name.to_owned()).map_err(|error| Refusal::of(name, error))?,
            authority: name.to_owned(),
        })
    }

    pub(super) async fn open(&self, record: &mut Record) -> Result<Connection, Failed> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let used = self.tickets.used();
        let connecting = self.connector.connect(self.name.clone(), stream);
        record.ticket = self.tickets.used() > used;
        let stream = connecting.await?;
        if !stream.get_ref().1.is_handshaking() {
            record.connected();
        }
        let early = Arc::new(AtomicBool::new(false));
        let stream = TokioIo::new(Noted { stream, early: Arc::clone(&early) });
        let (sender, driver) = if self.protocol == Protocol::H1 {
            let (sender, connection) = http1::handshake(stream).await?;
            (Sender::One(sender), tokio::spawn(async move { drop(connection.await) }))
        } else {
            let (sender, connection) = http2::Builder::new(TokioExecutor::new())
                .initial_stream_window_size(CLIENT_WINDOW_OCTETS)
                .initial_connection_window_size(CLIENT_WINDOW_OCTETS)
                .handshake(stream)
                .await?;
            (Sender::Two(sender), tokio::spawn(async move { drop(connection.await) }))
        };
        Ok(Connection { sender, driver, early })
    }

    pub(super) async fn fetch(
        &self,
        connection: &mut Connection,
        path: &str,
        record: &mut Record,
    ) -> Result<(), Failed> {
        let mut answer = connection.sender.ask(&self.authority, path).await?;
        record.early_data = connection.early.load(Ordering::Relaxed);
        record.answered(answer.status())?;
        while let Some(frame) = answer.frame().await {
            record.bytes += frame?.data_ref().map_or(0, |data| data.len() as u64);
        }
        Ok(())
    }
}

/// A connection; what drives it ends when it is closed.
pub(super) struct Connection {
    sender: Sender,
    driver: JoinHandle<()>,
    early: Arc<AtomicBool>,
}

impl Connection {
    /// Says that nothing more will be asked, and waits until that is sent.
    pub(super) async fn close(self) {
        drop(self.sender);
        drop(self.driver.await);
    }
}

enum Sender {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

impl Sender {
    async fn ask(&mut self, authority: &str, path: &str) -> Result<Response<hyper::body::Incoming>, Failed> {
        let wrong = |error| Failed::new(Outcome::Local, error);
        match self {
            Self::One(sender) => {
                let request = Request::get(path).header(HOST, authority).body(Empty::new()).map_err(wrong)?;
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
            Self::Two(sender) => {
                let uri = format!("https://{authority}{path}");
                let request = Request::get(uri).body(Empty::new()).map_err(wrong)?;
                sender.ready().await?;
                Ok(sender.send_request(request).await?)
            }
        }
    }
}

/// TLS over TCP that notes, when something comes, whether the server took what was sent early.
struct Noted {
    stream: TlsStream<TcpStream>,
    early: Arc<AtomicBool>,
}

impl AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.early.store(self.stream.get_ref().1.is_early_data_accepted(), Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Noted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, octets)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
