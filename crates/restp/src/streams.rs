//! Streams within a connection, each with `tokio::io::AsyncRead` and `AsyncWrite`.
//!
//! A profile with [`Ordering::Streams`](crate::profile::Ordering::Streams) at both ends gives a connection streams in the
//! place of messages.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use restp_proto::{CloseReason, ConnId, Instant, Priority, StreamError, StreamId, StreamKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::Connection;
use crate::error::Error;
use crate::state::State;
use crate::waiters::{Seat, StreamWaiters, Waiters, seated};

/// Bytes that one write takes at most.
const WRITE_BYTES: usize = 64 << 10;

/// A stream that the peer opened: our direction unless it has none, and the peer's direction.
#[derive(Debug)]
#[non_exhaustive]
pub struct IncomingStream {
    /// Our direction; none on a one-way stream.
    pub send: Option<SendStream>,
    /// The peer's direction.
    pub recv: RecvStream,
}

impl Connection {
    /// Opens a stream on which both ends send; waits while the peer allows no further one. The peer hears of it with the
    /// first byte. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stream`] if the connection carries no streams or was closed, [`Error::Closed`] if it ended.
    pub async fn open_stream(&self) -> Result<(SendStream, RecvStream), Error> {
        let id = seated(|cx, seat| self.poll_open(cx, seat, StreamKind::BothWays)).await?;
        Ok((SendStream::new(self.clone(), id), RecvStream::new(self.clone(), id)))
    }

    /// Opens a stream on which only we send, as [`Connection::open_stream`] does, and as cancel safe.
    ///
    /// # Errors
    /// As [`Connection::open_stream`].
    pub async fn open_one_way_stream(&self) -> Result<SendStream, Error> {
        let id = seated(|cx, seat| self.poll_open(cx, seat, StreamKind::OneWay)).await?;
        Ok(SendStream::new(self.clone(), id))
    }

    fn poll_open(
        &self,
        cx: &mut Context<'_>,
        seat: &mut Seat,
        kind: StreamKind,
    ) -> Poll<Result<StreamId, Error>> {
        self.with(|state, now, conn| {
            state.check_running()?;
            match state.proto.open_stream(now, conn, kind) {
                Ok(id) => Poll::Ready(Ok(id)),
                Err(StreamError::TooMany) => {
                    wait(state, conn, |waiters| waiters.openers.add(seat, cx.waker()))
                }
                Err(error) => Poll::Ready(Err(explain(state, conn, error))),
            }
        })
    }

    /// The next stream that the peer opened; `None` once it opens none any more. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Closed`] if the connection ended in another way than by closing, [`Error::Stream`] if it carries no streams.
    pub async fn accept_stream(&self) -> Result<Option<IncomingStream>, Error> {
        let id = seated(|cx, seat| self.poll_accept(cx, seat)).await?;
        Ok(id.map(|id| IncomingStream {
            send: (id.kind() == StreamKind::BothWays).then(|| SendStream::new(self.clone(), id)),
            recv: RecvStream::new(self.clone(), id),
        }))
    }

    fn poll_accept(&self, cx: &mut Context<'_>, seat: &mut Seat) -> Poll<Result<Option<StreamId>, Error>> {
        self.with(|state, now, conn| {
            state.check_running()?;
            if let Some(id) = state.proto.accept_stream(now, conn) {
                return Poll::Ready(Ok(Some(id)));
            }
            match end_of(state, conn) {
                Some(CloseReason::Graceful) => Poll::Ready(Ok(None)),
                Some(reason) => Poll::Ready(Err(Error::Closed(reason))),
                None if !state.carries_streams(conn) => {
                    Poll::Ready(Err(Error::Stream(StreamError::NoStreams)))
                }
                None => wait(state, conn, |waiters| waiters.acceptors.add(seat, cx.waker())),
            }
        })
    }
}

/// Why nothing of the peer comes any more, if so.
fn end_of(state: &State, conn: ConnId) -> Option<CloseReason> {
    match state.slots.get(&conn) {
        None => Some(CloseReason::Graceful),
        Some(slot) if slot.finished => Some(CloseReason::Graceful),
        Some(slot) => slot.ended.as_ref().map(|ended| ended.reason),
    }
}

/// A stream of a connection that has ended says why.
fn explain(state: &State, conn: ConnId, error: StreamError) -> Error {
    let ended = state.slots.get(&conn).and_then(|slot| slot.ended.as_ref());
    match (error, ended) {
        (StreamError::NoConnection | StreamError::NotOpen | StreamError::Blocked, Some(ended)) => {
            Error::Closed(ended.reason)
        }
        (error, _) => Error::Stream(error),
    }
}

fn wait<T>(state: &mut State, conn: ConnId, add: impl FnOnce(&mut StreamWaiters)) -> Poll<Result<T, Error>> {
    match state.slots.get_mut(&conn) {
        Some(slot) if slot.ended.is_none() => {
            add(slot.streams.get_or_insert_default());
            Poll::Pending
        }
        Some(slot) => {
            let reason = slot.ended.as_ref().map_or(CloseReason::Graceful, |ended| ended.reason);
            Poll::Ready(Err(Error::Closed(reason)))
        }
        None => Poll::Ready(Err(Error::Stream(StreamError::NoConnection))),
    }
}

/// Nobody waits for a direction of a stream whose handle is dropped.
fn forget_waiters(connection: &Connection, which: impl FnOnce(&mut StreamWaiters) -> Option<Waiters>) {
    connection.with(|state, _, conn| {
        if let Some(waiters) = state.slots.get_mut(&conn).and_then(|slot| slot.streams.as_mut()) {
            which(waiters);
        }
    });
}

fn poll_send(
    connection: &Connection,
    id: StreamId,
    cx: &mut Context<'_>,
    seat: &mut Seat,
    data: &mut Bytes,
) -> Poll<Result<usize, Error>> {
    connection.with(|state, now, conn| {
        state.check_running()?;
        match state.proto.write_stream(now, conn, id, data) {
            Ok(count) => {
                state.wake_driver();
                Poll::Ready(Ok(count))
            }
            Err(StreamError::Blocked) => wait(state, conn, |waiters| {
                waiters.writers.entry(id).or_default().add(seat, cx.waker());
            }),
            Err(error) => Poll::Ready(Err(explain(state, conn, error))),
        }
    })
}

/// Our direction of a stream. Dropped without more ado it ends after everything that was written.
///
/// Of its `AsyncWrite`, a `write` whose future is dropped before it has answered took nothing; `write_all` may have taken a
/// part.
#[derive(Debug)]
pub struct SendStream {
    connection: Connection,
    id: StreamId,
    writing: Seat,
}

impl SendStream {
    fn new(connection: Connection, id: StreamId) -> Self {
        Self { connection, id, writing: Seat::default() }
    }

    /// The number of the stream.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    fn with<T>(
        &self,
        step: impl FnOnce(&mut State, Instant, ConnId) -> Result<T, StreamError>,
    ) -> Result<T, Error> {
        self.connection.with(|state, now, conn| {
            state.check_running()?;
            let done = step(state, now, conn);
            state.wake_driver();
            done.map_err(|error| explain(state, conn, error))
        })
    }

    /// Sends all of `data`; waits while there is no room. If its future is dropped a part may have been taken.
    ///
    /// # Errors
    /// [`Error::Stream`] with [`StreamError::Stopped`] if the peer wants no more, [`Error::Closed`] if the connection
    /// ended.
    pub async fn send(&self, data: impl Into<Bytes>) -> Result<(), Error> {
        let mut data = data.into();
        while !data.is_empty() {
            seated(|cx, seat| poll_send(&self.connection, self.id, cx, seat, &mut data)).await?;
        }
        Ok(())
    }

    /// Ends our direction after everything that was written.
    ///
    /// # Errors
    /// [`Error::Stream`] with [`StreamError::Stopped`] if the peer wanted no more.
    pub fn finish(&self) -> Result<(), Error> {
        self.with(|state, now, conn| state.proto.finish_stream(now, conn, self.id))
    }

    /// Ends our direction at once: what was not sent is dropped, the peer reads an error with `code`.
    ///
    /// # Errors
    /// [`Error::Stream`] if it was ended before.
    pub fn reset(&self, code: u32) -> Result<(), Error> {
        self.with(|state, now, conn| state.proto.reset_stream(now, conn, self.id, code))
    }

    /// Changes when our direction is served among the other streams.
    ///
    /// # Errors
    /// [`Error::Stream`] if it was ended before.
    pub fn set_priority(&self, priority: Priority) -> Result<(), Error> {
        self.with(|state, now, conn| state.proto.set_stream_priority(now, conn, self.id, priority))
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        // It may have been ended before.
        let _ = self.finish();
        forget_waiters(&self.connection, |waiters| waiters.writers.remove(&self.id));
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut data = Bytes::copy_from_slice(&bytes[..bytes.len().min(WRITE_BYTES)]);
        let Self { connection, id, writing } = &mut *self;
        Poll::Ready(Ok(ready!(poll_send(connection, *id, cx, writing, &mut data))?))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is held back: what was written is with the endpoint.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.finish() {
            Ok(()) | Err(Error::Stream(StreamError::Unknown)) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

/// The peer's direction of a stream. Dropped before its end it is stopped with the number 0.
///
/// Of its `AsyncRead`, a `read` whose future is dropped before it has answered lost nothing; what `read_exact` had read by
/// then is in its buffer.
#[derive(Debug)]
pub struct RecvStream {
    connection: Connection,
    id: StreamId,
    /// Its end, or a reset, was read.
    over: bool,
    reading: Seat,
}

impl RecvStream {
    fn new(connection: Connection, id: StreamId) -> Self {
        Self { connection, id, over: false, reading: Seat::default() }
    }

    /// The number of the stream.
    #[must_use]
    pub fn id(&self) -> StreamId {
        self.id
    }

    fn poll_recv(&mut self, cx: &mut Context<'_>, limit_bytes: usize) -> Poll<Result<Option<Bytes>, Error>> {
        if self.over {
            return Poll::Ready(Ok(None));
        }
        let (id, seat) = (self.id, &mut self.reading);
        let read = self.connection.with(|state, now, conn| {
            state.check_running()?;
            match state.proto.read_stream(now, conn, id, limit_bytes) {
                Ok(data) => {
                    // Reading gives credit.
                    state.wake_driver();
                    Poll::Ready(Ok(data))
                }
                Err(StreamError::Blocked) => match end_of(state, conn) {
                    Some(reason) => Poll::Ready(Err(Error::Closed(reason))),
                    None => wait(state, conn, |waiters| {
                        waiters.readers.entry(id).or_default().add(seat, cx.waker())
                    }),
                },
                Err(error) => Poll::Ready(Err(explain(state, conn, error))),
            }
        });
        self.over = matches!(read, Poll::Ready(Ok(None) | Err(_)));
        read
    }

    /// At most `limit_bytes` in order; `None` at the end of the stream, and after an own [`RecvStream::stop`]. Cancel safe.
    ///
    /// # Errors
    /// [`Error::Stream`] with [`StreamError::Reset`] if the peer broke off, [`Error::Closed`] if the connection ended
    /// before the stream.
    pub async fn recv(&mut self, limit_bytes: usize) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.poll_recv(cx, limit_bytes)).await
    }

    /// Reads no more: the peer is asked to send no more and told `code`.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream was read to its end.
    pub fn stop(&mut self, code: u32) -> Result<(), Error> {
        self.over = true;
        let id = self.id;
        self.connection.with(|state, now, conn| {
            let done = state.proto.stop_stream(now, conn, id, code);
            state.wake_driver();
            done.map_err(|error| explain(state, conn, error))
        })
    }

    /// Asks the peer to serve its direction so among its streams.
    ///
    /// # Errors
    /// [`Error::Stream`] if the stream was read to its end.
    pub fn ask_priority(&self, priority: Priority) -> Result<(), Error> {
        self.connection.with(|state, now, conn| {
            let done = state.proto.ask_stream_priority(now, conn, self.id, priority);
            state.wake_driver();
            done.map_err(|error| explain(state, conn, error))
        })
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if !self.over {
            // The connection may have ended.
            let _ = self.stop(0);
        }
        forget_waiters(&self.connection, |waiters| waiters.readers.remove(&self.id));
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.remaining();
        if room == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Some(data) = ready!(self.poll_recv(cx, room))? {
            buffer.put_slice(&data);
        }
        Poll::Ready(Ok(()))
    }
}
