//! One connection of quinn: its stream or datagrams.

use std::sync::Arc;

use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ConnectionHandle, Dir, ReadError, ReadableError, SendDatagramError, StreamId, WriteError,
};

use super::engine::QuinnEngine;
use super::observed::Counts;
use super::sampler::QuinnSampler;
use crate::error::Failure;
use crate::stacks::quic::BROKEN_OFF;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::library::Library;
use crate::stacks::quic::sentence::{Cause, Loss, lost};
use crate::transport::{Arrival, Sampler, Take};

/// A sender without room hears of new room in steps, as from the kernel's sockets, and not with every acknowledgement:
/// at most so long, and a small part of what may be under way, so that the connection never runs dry.
const LONGEST_STEP_BYTES: u64 = 1 << 16;
const WINDOW_STEPS: u64 = 16;

/// A connection, at either end.
pub(super) struct QuinnLink {
    handle: ConnectionHandle,
    /// The stream, once it was opened.
    stream: Option<StreamId>,
    /// What must be acknowledged before a sender without room is told of some.
    step_bytes: u64,
    /// What must have been acknowledged for the sender that waits at present.
    enough_bytes: u64,
    counts: Arc<Counts>,
    /// Datagrams that the library took.
    taken_datagrams: u64,
}

impl QuinnLink {
    fn new(handle: ConnectionHandle, stream: Option<StreamId>, step_bytes: u64, counts: Arc<Counts>) -> Self {
        Self { handle, stream, step_bytes, enough_bytes: 0, counts, taken_datagrams: 0 }
    }

    /// The sender's end of a connection that was just asked for, of which `window_bytes` may be under way.
    pub(super) fn opening(handle: ConnectionHandle, counts: Arc<Counts>, window_bytes: u64) -> Self {
        Self::new(handle, None, LONGEST_STEP_BYTES.min(window_bytes / WINDOW_STEPS), counts)
    }

    /// The receiver's end of the oldest connection over which data may flow. One whose handshake stands still keeps none
    /// behind it waiting.
    pub(super) fn accept(engine: &mut QuinnEngine, now_ns: i64) -> Result<Option<(Self, i64)>, Failure> {
        for handle in engine.arrived() {
            let link = engine.link(handle);
            if let Some(reason) = &link.lost {
                let failure = lost("the handshake", loss(reason));
                engine.take_arrived(handle);
                engine.abandon(handle, BROKEN_OFF, now_ns);
                return Err(failure);
            }
            // Early data is there before the handshake is over.
            let stream = link.quic.streams().accept(Dir::Bi);
            if stream.is_some() || link.connected_ns.is_some() {
                engine.take_arrived(handle);
                return Ok(Some((Self::new(handle, stream, 0, Arc::default()), now_ns)));
            }
            link.passed_over = true;
        }
        Ok(None)
    }

    /// When the handshake was over; now, when there are keys for early data that the flow wants to use.
    pub(super) fn ready(&mut self, engine: &mut QuinnEngine, now_ns: i64, early_data: bool) -> Option<i64> {
        let link = engine.link(self.handle);
        if early_data && link.quic.has_0rtt() { Some(now_ns) } else { link.connected_ns }
    }

    /// Opens the stream.
    pub(super) fn open_stream(&mut self, engine: &mut QuinnEngine) {
        self.stream = engine.link(self.handle).quic.streams().open(Dir::Bi);
    }
}

impl Library for QuinnLink {
    type Engine = QuinnEngine;

    fn loss(&mut self, engine: &mut QuinnEngine) -> Option<Loss> {
        engine.link(self.handle).lost.as_ref().map(loss)
    }

    fn read(
        &mut self,
        engine: &mut QuinnEngine,
        most_bytes: u64,
        _doing: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Option<Arrival>, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        self.stream = self.stream.or_else(|| quic.streams().accept(Dir::Bi));
        let Some(stream) = self.stream else { return Ok(None) };
        let mut stream = quic.recv_stream(stream);
        let mut chunks = match stream.read(true) {
            Ok(chunks) => chunks,
            Err(ReadableError::ClosedStream) => return Ok(Some(Arrival::End)),
            Err(error) => return Err(Failure::new(format!("the stream could not be read: {error}"))),
        };
        let mut left = most_bytes;
        let mut arrival = None;
        while left > 0 {
            match chunks.next(usize::try_from(left).unwrap_or(usize::MAX)) {
                Ok(Some(chunk)) => {
                    left -= chunk.bytes.len() as u64;
                    take(&chunk.bytes)?;
                    arrival = Some(Arrival::Data);
                }
                Ok(None) if left == most_bytes => return Ok(Some(Arrival::End)),
                Ok(None) | Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(code)) => {
                    return Err(lost("receiving", Loss::Application(code.into_inner())));
                }
            }
        }
        Ok(arrival)
    }

    fn write(&mut self, engine: &mut QuinnEngine, block: &[u8]) -> Result<usize, Failure> {
        let Some(stream) = self.stream else { return Ok(0) };
        let quic = &mut engine.link(self.handle).quic;
        let mut taken = 0;
        // Only a stream that was found without room is said to have some later.
        while taken < block.len() {
            match quic.send_stream(stream).write(&block[taken..]) {
                Ok(count) => taken += count,
                Err(WriteError::Blocked) => break,
                Err(WriteError::Stopped(code)) => {
                    return Err(lost("sending", Loss::Application(code.into_inner())));
                }
                Err(error) => return Err(lost("sending", Loss::Other(error.to_string()))),
            }
        }
        Ok(taken)
    }

    fn end(&mut self, engine: &mut QuinnEngine) -> Result<(), Loss> {
        if let Some(stream) = self.stream {
            // A stream that the other side stopped is noticed otherwise.
            let _ = engine.link(self.handle).quic.send_stream(stream).finish();
        }
        Ok(())
    }

    fn begin_waiting(&mut self, engine: &mut QuinnEngine) {
        engine.link(self.handle).writable = false;
        self.enough_bytes = self.counts.acknowledged_bytes().saturating_add(self.step_bytes);
    }

    fn has_room(&mut self, engine: &mut QuinnEngine) -> Result<bool, Failure> {
        Ok(engine.link(self.handle).writable && self.counts.acknowledged_bytes() >= self.enough_bytes)
    }

    fn is_left(&mut self, engine: &mut QuinnEngine) -> bool {
        engine.link(self.handle).lost.is_some() || engine.has_arrived()
    }

    fn close(&mut self, engine: &mut QuinnEngine, code: u32, now_ns: i64) {
        engine.abandon(self.handle, code, now_ns);
    }

    fn sampler(&self, driver: &Driver<QuinnEngine>) -> Box<dyn Sampler> {
        let counts = Arc::clone(&self.counts);
        Box::new(QuinnSampler { driver: driver.clone(), handle: self.handle, counts })
    }

    fn longest_datagram(&mut self, engine: &mut QuinnEngine) -> Option<usize> {
        engine.link(self.handle).quic.datagrams().max_size()
    }

    fn write_datagrams(
        &mut self,
        engine: &mut QuinnEngine,
        block: &[u8],
        message_bytes: usize,
    ) -> Result<usize, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        let mut taken = 0;
        for message in block.chunks(message_bytes) {
            // The oldest waiting message gives way when there are too many, as `send_datagram` of quinn has it.
            match quic.datagrams().send(Bytes::copy_from_slice(message), true) {
                Ok(()) => {
                    taken += message.len();
                    self.taken_datagrams += 1;
                }
                Err(SendDatagramError::TooLarge) => {
                    return Err(Failure::new(format!(
                        "a message of {message_bytes} bytes is too long for a QUIC datagram on this path"
                    )));
                }
                Err(error) => return Err(Failure::new(format!("a datagram could not be sent: {error}"))),
            }
        }
        Ok(taken)
    }

    fn read_datagrams(
        &mut self,
        engine: &mut QuinnEngine,
        now_ns: i64,
        most: u64,
        take: &mut Take<'_>,
    ) -> Result<bool, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        let mut count = 0;
        while count < most {
            let Some(message) = quic.datagrams().recv() else { break };
            take(&message, Some(now_ns))?;
            count += 1;
        }
        Ok(count > 0)
    }

    /// It gave way in the queue, no longer fitted the path, or was still waiting when the session was over.
    fn dropped_datagrams(&mut self, engine: &mut QuinnEngine) -> Option<u64> {
        let sent = engine.link(self.handle).quic.stats().frame_tx.datagram;
        Some(self.taken_datagrams.saturating_sub(sent))
    }
}

/// The library's reason in common words.
pub(super) fn loss(reason: &ConnectionError) -> Loss {
    match reason {
        ConnectionError::TransportError(error) => {
            Loss::Local(Cause::of_code(error.code.into(), error.to_string()))
        }
        ConnectionError::ConnectionClosed(close) => {
            Loss::Remote(Cause::of_code(close.error_code.into(), close.to_string()))
        }
        ConnectionError::ApplicationClosed(close) => Loss::Application(close.error_code.into_inner()),
        ConnectionError::Reset => Loss::Reset,
        ConnectionError::TimedOut => Loss::TimedOut,
        other => Loss::Other(other.to_string()),
    }
}
