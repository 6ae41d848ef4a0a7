//! What the user of an endpoint does with the streams of a connection (chapter 11.1 of the specification).

use bytes::Bytes;

use super::Endpoint;
use crate::event::ConnId;
use crate::stream::{Priority, StreamError, StreamEvent, StreamId, StreamKind};
use crate::time::Instant;

impl Endpoint {
    /// Opens a stream on a connection whose profile has [`crate::profile::Ordering::Streams`]. The peer hears of it with
    /// its first byte, or its end.
    ///
    /// # Errors
    /// [`StreamError`] if the connection has no streams, is not established or is closed, or if the peer allows none.
    pub fn open_stream(
        &mut self,
        now: Instant,
        conn: ConnId,
        kind: StreamKind,
    ) -> Result<StreamId, StreamError> {
        self.with(now, conn, |conn, _| conn.open_stream(kind)).unwrap_or(Err(StreamError::NoConnection))
    }

    /// The next stream that the peer opened, in the order of their numbers.
    pub fn accept_stream(&mut self, now: Instant, conn: ConnId) -> Option<StreamId> {
        self.with(now, conn, |conn, _| conn.accept_stream()).flatten()
    }

    /// Sends bytes on a stream: takes off the front of `data` what there is room for, and says how many bytes.
    ///
    /// # Errors
    /// [`StreamError::Blocked`] if there is room for none, [`StreamError::Stopped`] if the peer wants no more.
    pub fn write_stream(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        data: &mut Bytes,
    ) -> Result<usize, StreamError> {
        self.with(now, conn, |conn, _| conn.write_stream(stream, data))
            .unwrap_or(Err(StreamError::NoConnection))
    }

    /// Ends our direction of a stream after what was written.
    ///
    /// # Errors
    /// [`StreamError::Stopped`] if the peer wanted no more; [`StreamError::Unknown`] if the stream was ended before.
    pub fn finish_stream(&mut self, now: Instant, conn: ConnId, stream: StreamId) -> Result<(), StreamError> {
        self.on_streams(now, conn, |streams| streams.finish(stream))
    }

    /// Ends our direction of a stream at once: what was not sent is dropped, the peer reads an error with `code`.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if the stream was ended before.
    pub fn reset_stream(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        code: u32,
    ) -> Result<(), StreamError> {
        self.on_streams(now, conn, |streams| streams.reset(stream, code))
    }

    /// At most `limit_bytes` of what has arrived on a stream in order; `None` at its end.
    ///
    /// # Errors
    /// [`StreamError::Blocked`] if nothing is there, [`StreamError::Reset`] if the peer broke off,
    /// [`StreamError::Unknown`] after the end.
    pub fn read_stream(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        limit_bytes: usize,
    ) -> Result<Option<Bytes>, StreamError> {
        self.on_streams(now, conn, |streams| streams.read(stream, limit_bytes))
    }

    /// Reads no more of a stream: the peer is asked to end it and told `code`.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if the stream was read to its end.
    pub fn stop_stream(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        code: u32,
    ) -> Result<(), StreamError> {
        self.on_streams(now, conn, |streams| streams.stop(stream, code))
    }

    /// Changes when our direction of a stream is served among the others.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if our direction has ended.
    pub fn set_stream_priority(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        priority: Priority,
    ) -> Result<(), StreamError> {
        self.on_streams(now, conn, |streams| streams.set_priority(stream, priority))
    }

    /// Asks the peer to serve its direction of a stream so.
    ///
    /// # Errors
    /// [`StreamError::Unknown`] if the peer's direction has ended.
    pub fn ask_stream_priority(
        &mut self,
        now: Instant,
        conn: ConnId,
        stream: StreamId,
        priority: Priority,
    ) -> Result<(), StreamError> {
        self.on_streams(now, conn, |streams| streams.ask_priority(stream, priority))
    }

    /// The next news of a stream, after the event [`crate::EventKind::Streams`].
    pub fn poll_stream_event(&mut self, now: Instant, conn: ConnId) -> Option<StreamEvent> {
        self.with(now, conn, |conn, _| conn.poll_stream_event()).flatten()
    }

    fn on_streams<T>(
        &mut self,
        now: Instant,
        conn: ConnId,
        step: impl FnOnce(&mut crate::conn::Streams) -> Result<T, StreamError>,
    ) -> Result<T, StreamError> {
        self.with(now, conn, |conn, _| conn.with_streams(step)).unwrap_or(Err(StreamError::NoConnection))
    }
}
