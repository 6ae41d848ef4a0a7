//! A TLS connection that gives first what came before the end of the handshake (0-RTT).
//!
//! The library keeps early data apart until the handshake is over. So a server over TCP answers it then, half a round
//! trip later than one over QUIC does.

use std::io::{self, IoSlice, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::metered::Tcp;

/// TLS over TCP.
pub(super) struct Secured {
    early: Bytes,
    stream: TlsStream<Tcp>,
}

impl Secured {
    /// A connection whose handshake is over.
    pub(super) fn new(mut stream: TlsStream<Tcp>) -> io::Result<Self> {
        let mut early = Vec::new();
        if let Some(mut reader) = stream.get_mut().1.early_data() {
            reader.read_to_end(&mut early)?;
        }
        Ok(Self { early: early.into(), stream })
    }

    /// Whether anything came early.
    pub(super) fn is_early(&self) -> bool {
        !self.early.is_empty()
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, buffer);
        }
        let octets = self.early.len().min(buffer.remaining());
        buffer.put_slice(&self.early[..octets]);
        self.early.advance(octets);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Secured {
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
