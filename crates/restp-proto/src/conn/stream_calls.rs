//! Streams within a connection: what the application does with them, and payloads from and for them.

use bytes::Bytes;

use super::outbox::Queued;
use super::streams::Streams;
use super::{Connection, Cx, LocalFin, Phase};
use crate::event::{CloseReason, EventKind};
use crate::stream::{StreamError, StreamEvent, StreamId, StreamKind};
use crate::time::Instant;

impl Connection {
    /// Opens a stream.
    pub fn open_stream(&mut self, kind: StreamKind) -> Result<StreamId, StreamError> {
        let open = self.phase == Phase::Established && self.closing.local == LocalFin::Open;
        let streams = self.streams.as_mut().ok_or(StreamError::NoStreams)?;
        if open { streams.open(kind) } else { Err(StreamError::NotOpen) }
    }

    /// The next stream that the peer opened.
    pub fn accept_stream(&mut self) -> Option<StreamId> {
        self.streams.as_mut()?.accept()
    }

    /// Takes bytes off the front of `data` as far as there is room.
    pub fn write_stream(&mut self, id: StreamId, data: &mut Bytes) -> Result<usize, StreamError> {
        if self.phase == Phase::Closed || self.closing.local != LocalFin::Open {
            return Err(StreamError::NotOpen);
        }
        self.streams.as_mut().ok_or(StreamError::NoStreams)?.write(id, data)
    }

    /// Does something with the streams while the connection stands.
    pub fn with_streams<T>(
        &mut self,
        step: impl FnOnce(&mut Streams) -> Result<T, StreamError>,
    ) -> Result<T, StreamError> {
        step(self.streams.as_mut().ok_or(StreamError::NoStreams)?)
    }

    /// The next news of a stream.
    pub fn poll_stream_event(&mut self) -> Option<StreamEvent> {
        self.streams.as_mut()?.poll_event()
    }

    /// Nobody reads streams any more.
    pub fn discard_streams(&mut self) {
        if let Some(streams) = &mut self.streams {
            streams.discard();
        }
    }

    /// Gives what has arrived to its streams.
    // R-STR-11
    pub(super) fn feed_streams(&mut self, cx: &mut Cx<'_>) {
        if self.streams.is_none() {
            return;
        }
        while let Some(message) = self.next_message(cx) {
            let Some(streams) = &mut self.streams else { return };
            if streams.take_payload(&message.payload).is_err() {
                streams.discard();
                self.abort_with(cx, CloseReason::Violation);
                return;
            }
        }
        self.tell_stream_events();
    }

    fn tell_stream_events(&mut self) {
        if self.streams.as_ref().is_some_and(|streams| streams.has_events()) {
            self.tell(EventKind::Streams);
        }
    }

    /// Makes the payload of the next packet when it can leave, so that the most urgent stream is the one that is served.
    // R-STR-10
    pub(super) fn fill_from_streams(&mut self) {
        if self.phase != Phase::Established || self.closing.has_sent() || !self.outbox.is_empty() {
            return;
        }
        let room = self.segment_bytes(false);
        let Some(payload) = self.streams.as_mut().and_then(|streams| streams.pack(room)) else { return };
        self.outbox.push(Queued { payload, push: false, deadline: Instant::FAR_FUTURE });
        self.tell_stream_events();
    }

    /// No byte of the application waits for its first transmission.
    pub(super) fn nothing_waits(&self) -> bool {
        self.outbox.is_empty() && self.streams.as_ref().is_none_or(|streams| streams.is_drained())
    }
}
