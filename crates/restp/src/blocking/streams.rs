//! Streams within a connection for programs without a runtime, with `std::io::Read` and `Write`.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use restp_proto::{Priority, StreamId};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Connection;
use super::waiting::{step_within, wait_within};
use crate::error::Error;

/// A stream that the peer opened; see [`crate::IncomingStream`].
#[derive(Debug)]
#[non_exhaustive]
pub struct IncomingStream {
    /// Our direction; none on a one-way stream.
    pub send: Option<SendStream>,
    /// The peer's direction.
    pub recv: RecvStream,
}

impl Connection {
    /// Opens a stream on which both ends send; waits while the peer allows no further one, for as long as the write
    /// timeout. The halves begin with the timeouts of this handle.
    ///
    /// # Errors
    /// As [`crate::Connection::open_stream`], or [`Error::TimedOut`].
    pub fn open_stream(&self) -> Result<(SendStream, RecvStream), Error> {
        let (send, recv) = wait_within(self.write_timeout, self.inner.open_stream())?;
        Ok((self.sending(send), self.receiving(recv)))
    }

    /// Opens a stream on which only we send, as [`Connection::open_stream`] does.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub fn open_one_way_stream(&self) -> Result<SendStream, Error> {
        wait_within(self.write_timeout, self.inner.open_one_way_stream()).map(|send| self.sending(send))
    }

    /// The next stream that the peer opened; `None` once it opens none any more. Waits for as long as the read timeout.
    ///
    /// # Errors
    /// As [`crate::Connection::accept_stream`], or [`Error::TimedOut`].
    pub fn accept_stream(&self) -> Result<Option<IncomingStream>, Error> {
        let stream = wait_within(self.read_timeout, self.inner.accept_stream())?;
        Ok(stream.map(|stream| IncomingStream {
            send: stream.send.map(|send| self.sending(send)),
            recv: self.receiving(stream.recv),
        }))
    }

    fn sending(&self, inner: crate::SendStream) -> SendStream {
        SendStream { inner, write_timeout: self.write_timeout }
    }

    fn receiving(&self, inner: crate::RecvStream) -> RecvStream {
        RecvStream { inner, read_timeout: self.read_timeout }
    }
}

/// Our direction of a stream. Dropped without more ado it ends after everything that was written.
#[derive(Debug)]
pub struct SendStream {
    inner: crate::SendStream,
    write_timeout: Option<Duration>,
}

impl SendStream {
    /// The number of the stream.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.inner.id()
    }

    /// Longest wait of `send` and `write` for room; `None` waits for ever.
    pub fn set_write_timeout(&mut self, limit: Option<Duration>) {
        self.write_timeout = limit;
    }

    /// Sends all of `data`; waits while there is no room. When the time is over a part may have been taken: where that
    /// matters use `write`, which says how much.
    ///
    /// # Errors
    /// As [`crate::SendStream::send`], or [`Error::TimedOut`].
    pub fn send(&self, data: impl Into<Bytes>) -> Result<(), Error> {
        wait_within(self.write_timeout, self.inner.send(data))
    }

    /// Ends our direction after everything that was written.
    ///
    /// # Errors
    /// As [`crate::SendStream::finish`].
    pub fn finish(&self) -> Result<(), Error> {
        self.inner.finish()
    }

    /// Ends our direction at once; see [`crate::SendStream::reset`].
    ///
    /// # Errors
    /// As [`crate::SendStream::reset`].
    pub fn reset(&self, code: u32) -> Result<(), Error> {
        self.inner.reset(code)
    }

    /// Changes when our direction is served among the other streams.
    ///
    /// # Errors
    /// As [`crate::SendStream::set_priority`].
    pub fn set_priority(&self, priority: Priority) -> Result<(), Error> {
        self.inner.set_priority(priority)
    }
}

impl io::Write for SendStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        step_within(self.write_timeout, &mut self.inner, |stream, cx| stream.poll_write(cx, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        // Nothing is held back: what was written is with the endpoint.
        Ok(())
    }
}

/// The peer's direction of a stream. Dropped before its end it is stopped with the number 0.
#[derive(Debug)]
pub struct RecvStream {
    inner: crate::RecvStream,
    read_timeout: Option<Duration>,
}

impl RecvStream {
    /// The number of the stream.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.inner.id()
    }

    /// Longest wait of `recv` and `read`; `None` waits for ever. When the time is over nothing is lost.
    pub fn set_read_timeout(&mut self, limit: Option<Duration>) {
        self.read_timeout = limit;
    }

    /// At most `limit_bytes` in order; `None` at the end of the stream, and after an own [`RecvStream::stop`].
    ///
    /// # Errors
    /// As [`crate::RecvStream::recv`], or [`Error::TimedOut`].
    pub fn recv(&mut self, limit_bytes: usize) -> Result<Option<Bytes>, Error> {
        wait_within(self.read_timeout, self.inner.recv(limit_bytes))
    }

    /// Reads no more: the peer is asked to send no more and told `code`.
    ///
    /// # Errors
    /// As [`crate::RecvStream::stop`].
    pub fn stop(&mut self, code: u32) -> Result<(), Error> {
        self.inner.stop(code)
    }

    /// Asks the peer to serve its direction so among its streams.
    ///
    /// # Errors
    /// As [`crate::RecvStream::ask_priority`].
    pub fn ask_priority(&self, priority: Priority) -> Result<(), Error> {
        self.inner.ask_priority(priority)
    }
}

impl io::Read for RecvStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let mut buffer = ReadBuf::new(bytes);
        step_within(self.read_timeout, &mut self.inner, |stream, cx| stream.poll_read(cx, &mut buffer))?;
        Ok(buffer.filled().len())
    }
}
