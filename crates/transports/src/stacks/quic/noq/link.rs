//! One connection of noq: its stream or datagrams.

use noq_proto::{ConnectionHandle, Dir, PathStats, StreamId};

use super::calls::{self, loss};
use super::engine::NoqEngine;
use crate::error::Failure;
use crate::sample::SocketSample;
use crate::stacks::quic::BROKEN_OFF;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::library::Library;
use crate::stacks::quic::sentence::{Loss, lost};
use crate::transport::{Arrival, Sampler, Take};

/// A connection, at either end.
pub(super) struct NoqLink {
    handle: ConnectionHandle,
    /// The stream, once it was opened.
    stream: Option<StreamId>,
    /// Datagrams that the library took.
    taken_datagrams: u64,
}

impl NoqLink {
    /// The sender's end of a connection that was just asked for.
    pub(super) fn opening(handle: ConnectionHandle) -> Self {
        Self { handle, stream: None, taken_datagrams: 0 }
    }

    /// The receiver's end of the oldest connection over which data may flow. One whose handshake stands still keeps none
    /// behind it waiting.
    pub(super) fn accept(engine: &mut NoqEngine, now_ns: i64) -> Result<Option<(Self, i64)>, Failure> {
        for handle in engine.arrived() {
            let link = engine.link(handle);
            if let Some(reason) = &link.lost {
                let failure = lost("the handshake", loss(reason));
                engine.take_arrived(handle);
                engine.abandon(handle, BROKEN_OFF, now_ns);
                return Err(failure);
            }
            if link.connected_ns.is_some() {
                engine.take_arrived(handle);
                return Ok(Some((Self::opening(handle), now_ns)));
            }
        }
        Ok(None)
    }

    /// When the handshake was over.
    pub(super) fn ready(&mut self, engine: &mut NoqEngine, _now_ns: i64) -> Option<i64> {
        engine.link(self.handle).connected_ns
    }

    /// Opens the stream.
    pub(super) fn open_stream(&mut self, engine: &mut NoqEngine) {
        self.stream = engine.link(self.handle).quic.streams().open(Dir::Bi);
    }
}

impl Library for NoqLink {
    type Engine = NoqEngine;

    fn loss(&mut self, engine: &mut NoqEngine) -> Option<Loss> {
        engine.link(self.handle).lost.as_ref().map(loss)
    }

    fn read(
        &mut self,
        engine: &mut NoqEngine,
        most_bytes: u64,
        _doing: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Option<Arrival>, Failure> {
        calls::read(&mut engine.link(self.handle).quic, &mut self.stream, most_bytes, take)
    }

    fn write(&mut self, engine: &mut NoqEngine, block: &[u8]) -> Result<usize, Failure> {
        calls::write(&mut engine.link(self.handle).quic, self.stream, block)
    }

    fn end(&mut self, engine: &mut NoqEngine) -> Result<(), Loss> {
        if let Some(stream) = self.stream {
            // A stream that the other side stopped is noticed otherwise.
            let _ = engine.link(self.handle).quic.send_stream(stream).finish();
        }
        Ok(())
    }

    fn begin_waiting(&mut self, engine: &mut NoqEngine) {
        engine.link(self.handle).writable = false;
    }

    fn has_room(&mut self, engine: &mut NoqEngine) -> Result<bool, Failure> {
        Ok(engine.link(self.handle).writable)
    }

    fn is_left(&mut self, engine: &mut NoqEngine) -> bool {
        engine.link(self.handle).lost.is_some() || engine.has_arrived()
    }

    fn close(&mut self, engine: &mut NoqEngine, code: u32, now_ns: i64) {
        engine.abandon(self.handle, code, now_ns);
    }

    fn sampler(&self, driver: &Driver<NoqEngine>) -> Box<dyn Sampler> {
        Box::new(NoqSampler { driver: driver.clone(), handle: self.handle })
    }

    fn longest_datagram(&mut self, engine: &mut NoqEngine) -> Option<usize> {
        engine.link(self.handle).quic.datagrams().max_size()
    }

    fn write_datagrams(
        &mut self,
        engine: &mut NoqEngine,
        block: &[u8],
        message_bytes: usize,
    ) -> Result<usize, Failure> {
        let taken = calls::write_datagrams(&mut engine.link(self.handle).quic, block, message_bytes)?;
        self.taken_datagrams += (taken / message_bytes) as u64;
        Ok(taken)
    }

    fn read_datagrams(
        &mut self,
        engine: &mut NoqEngine,
        now_ns: i64,
        most: u64,
        take: &mut Take<'_>,
    ) -> Result<bool, Failure> {
        calls::read_datagrams(&mut engine.link(self.handle).quic, now_ns, most, take)
    }

    /// It gave way in the queue, no longer fitted the path, or was still waiting when the session was over.
    fn dropped_datagrams(&mut self, engine: &mut NoqEngine) -> Option<u64> {
        let sent = engine.link(self.handle).quic.stats().frame_tx.datagram;
        Some(self.taken_datagrams.saturating_sub(sent))
    }
}

/// Reads the state of a connection: windows and losses of all its paths together, the round trip of the shortest.
struct NoqSampler {
    driver: Driver<NoqEngine>,
    handle: ConnectionHandle,
}

impl Sampler for NoqSampler {
    fn sample(&self) -> Option<SocketSample> {
        let mut state = self.driver.lock();
        let link = state.engine.link(self.handle);
        if link.lost.is_some() {
            return None;
        }
        let ids = link.quic.paths();
        let paths: Vec<PathStats> = ids.into_iter().filter_map(|id| link.quic.path_stats(id)).collect();
        Some(SocketSample {
            cwnd_bytes: paths.iter().map(|path| path.cwnd).sum(),
            srtt_ns: paths.iter().map(|path| path.rtt.as_nanos() as i64).min(),
            // QUIC never repeats a packet: what a lost one carried goes in a new one (RFC 9000, section 13.3).
            retransmitted_packets: link.quic.stats().lost_packets,
            ..SocketSample::default()
        })
    }
}
