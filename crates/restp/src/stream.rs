//! A connection with coalescing framing as a byte stream for `tokio::io`.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use restp_proto::profile::{Framing, Ordering};
use restp_proto::{Composition, SendOptions};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;
use crate::error::{Error, STREAMS_INSTEAD};
use crate::waiters::Seat;

/// Bytes that one write takes at most, so that a full send buffer costs no large copy.
const WRITE_BYTES: usize = 64 << 10;

/// A byte stream. Made by [`Connection::into_stream`].
///
/// `shutdown` ends our direction after everything that was written; it does not wait for the peer:
/// [`Connection::finish`] on [`Stream::connection`] does.
///
/// A `read` or `write` whose future is dropped before it has answered lost, or took, nothing. Of those that go on until a
/// buffer is through, `read_exact` leaves in its buffer what it had read by then, and `write_all` may have taken a part.
pub struct Stream {
    connection: Connection,
    /// What the reader had no room for.
    rest: Bytes,
    reading: Seat,
    writing: Seat,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Connection {
    /// This connection as a byte stream with `AsyncRead` and `AsyncWrite`.
    ///
    /// # Errors
    /// [`Error::WrongService`] unless the framing is coalescing, and with [`crate::Profile::with_streams`], which has
    /// [`Connection::open_stream`] and [`Connection::accept_stream`] instead.
    pub fn into_stream(self) -> Result<Stream, Error> {
        let composition = self.composition();
        let profile = composition.as_ref().map(Composition::profile);
        match profile.map(|profile| (profile.ordering, profile.framing)) {
            Some((Ordering::Streams, _)) => Err(Error::WrongService(STREAMS_INSTEAD)),
            Some((_, Framing::Coalesce)) => Ok(Stream::new(self)),
            _ => Err(Error::WrongService(
                "the profile keeps message boundaries: use send and recv, or a profile with coalescing framing",
            )),
        }
    }
}

impl Stream {
    pub(crate) fn new(connection: Connection) -> Self {
        Self { connection, rest: Bytes::new(), reading: Seat::default(), writing: Seat::default() }
    }

    /// The connection below.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stream = &mut *self;
        if stream.rest.is_empty() {
            match ready!(stream.connection.poll_recv(cx, &mut stream.reading))? {
                Some(message) => stream.rest = message.payload,
                None => return Poll::Ready(Ok(())),
            }
        }
        // Fill the buffer as far as this can be done without waiting.
        loop {
            let length = self.rest.len().min(buffer.remaining());
            buffer.put_slice(&self.rest[..length]);
            self.rest.advance(length);
            if buffer.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            match self.connection.try_recv() {
                Ok(Some(message)) => self.rest = message.payload,
                // The end shows in the next read.
                Ok(None) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let length = bytes.len().min(WRITE_BYTES);
        let mut piece = Some(Bytes::copy_from_slice(&bytes[..length]));
        let stream = &mut *self;
        ready!(stream.connection.poll_send(cx, &mut stream.writing, &mut piece, SendOptions::default()))?;
        Poll::Ready(Ok(length))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is held back: what was written is with the endpoint.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.close();
        Poll::Ready(Ok(()))
    }
}
