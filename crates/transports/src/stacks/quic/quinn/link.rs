//! One connection of quinn: its stream or datagrams.

use std::sync::Arc;

use quinn_proto::{ConnectionHandle, Dir, StreamId};

use super::calls::{self, loss};
use super::engine::QuinnEngine;
use super::observed::Counts;
use super::sampler::QuinnSampler;
use crate::error::Failure;
use crate::stacks::quic::BROKEN_OFF;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::library::Library;
use crate::stacks::quic::sentence::{Loss, lost};
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
        calls::read(&mut engine.link(self.handle).quic, &mut self.stream, most_bytes, take)
    }

    fn write(&mut self, engine: &mut QuinnEngine, block: &[u8]) -> Result<usize, Failure> {
        calls::write(&mut engine.link(self.handle).quic, self.stream, block)
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
        let taken = calls::write_datagrams(&mut engine.link(self.handle).quic, block, message_bytes)?;
        self.taken_datagrams += (taken / message_bytes) as u64;
        Ok(taken)
    }

    fn read_datagrams(
        &mut self,
        engine: &mut QuinnEngine,
        now_ns: i64,
        most: u64,
        take: &mut Take<'_>,
    ) -> Result<bool, Failure> {
        calls::read_datagrams(&mut engine.link(self.handle).quic, now_ns, most, take)
    }

    /// It gave way in the queue, no longer fitted the path, or was still waiting when the session was over.
    fn dropped_datagrams(&mut self, engine: &mut QuinnEngine) -> Option<u64> {
        let sent = engine.link(self.handle).quic.stats().frame_tx.datagram;
        Some(self.taken_datagrams.saturating_sub(sent))
    }
}
