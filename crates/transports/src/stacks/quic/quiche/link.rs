//! One connection of quiche: its stream or datagrams.

use std::sync::Arc;

use quiche::Error;

use super::engine::QuicheEngine;
use super::sampler::QuicheSampler;
use super::tickets::Tickets;
use crate::error::Failure;
use crate::stacks::quic::BROKEN_OFF;
use crate::stacks::quic::driver::Driver;
use crate::stacks::quic::library::Library;
use crate::stacks::quic::sentence::{Loss, lost};
use crate::transport::{Arrival, Sampler, Take};

/// The first bidirectional stream that a client opens (RFC 9000, section 2.1).
const STREAM: u64 = 0;

/// A sender without room hears of new room when it suffices for a packet, so that fewer packets are small.
const STEP_BYTES: usize = 1200;

/// What one call to the library reads at most.
const BLOCK_BYTES: usize = 1 << 16;

/// A connection, at either end.
pub(super) struct QuicheLink {
    handle: u64,
    /// Messages go in datagrams.
    datagrams: bool,
    /// Where the sender keeps what a later session resumes this one with.
    tickets: Option<Arc<Tickets>>,
    /// The other side's half of the stream was read to its end.
    ended: bool,
    /// Where what arrives is put.
    block: Vec<u8>,
}

impl QuicheLink {
    /// The sender's end of a connection that was just asked for.
    pub(super) fn opening(handle: u64, datagrams: bool, tickets: Option<Arc<Tickets>>) -> Self {
        Self { handle, datagrams, tickets, ended: false, block: vec![0; BLOCK_BYTES] }
    }

    /// The receiver's end of the oldest connection that arrived, as soon as data may flow.
    pub(super) fn accept(engine: &mut QuicheEngine, now_ns: i64) -> Result<Option<(Self, i64)>, Failure> {
        let Some(handle) = engine.next_arrived() else { return Ok(None) };
        let link = engine.link(handle);
        // Early data is there before the handshake is over.
        let early_ns = link.quic.is_readable().then_some(now_ns);
        match (link.connected_ns.or(early_ns), link.loss()) {
            (Some(established_ns), _) => {
                engine.take_arrived();
                Ok(Some((Self::opening(handle, false, None), established_ns)))
            }
            (None, Some(loss)) => {
                engine.take_arrived();
                engine.abandon(handle, BROKEN_OFF);
                Err(lost("the handshake", loss))
            }
            (None, None) => Ok(None),
        }
    }

    /// When the handshake was over; now, when there are keys for early data.
    pub(super) fn ready(&mut self, engine: &mut QuicheEngine, now_ns: i64) -> Option<i64> {
        let link = engine.link(self.handle);
        link.connected_ns.or(link.quic.is_in_early_data().then_some(now_ns))
    }
}

impl Library for QuicheLink {
    type Engine = QuicheEngine;

    fn loss(&mut self, engine: &mut QuicheEngine) -> Option<Loss> {
        engine.link(self.handle).loss()
    }

    fn read(
        &mut self,
        engine: &mut QuicheEngine,
        most_bytes: u64,
        _doing: &str,
        take: &mut dyn FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<Option<Arrival>, Failure> {
        let link = engine.link(self.handle);
        let mut left = usize::try_from(most_bytes).unwrap_or(usize::MAX);
        let mut arrival = None;
        while left > 0 && !self.ended {
            let room = left.min(self.block.len());
            match link.quic.stream_recv(STREAM, &mut self.block[..room]) {
                Ok((count, ended)) => {
                    link.stir();
                    self.ended = ended;
                    if count > 0 {
                        take(&self.block[..count])?;
                        left -= count;
                        arrival = Some(Arrival::Data);
                    }
                }
                // Nothing more is there, or the other side has not begun.
                Err(Error::Done | Error::InvalidStreamState(_)) => break,
                Err(Error::StreamReset(code)) => return Err(lost("receiving", Loss::Application(code))),
                Err(error) => return Err(Failure::new(format!("the stream could not be read: {error}"))),
            }
        }
        Ok(arrival.or(self.ended.then_some(Arrival::End)))
    }

    fn write(&mut self, engine: &mut QuicheEngine, block: &[u8]) -> Result<usize, Failure> {
        let quic = engine.link(self.handle).stir();
        let mut taken = 0;
        while taken < block.len() {
            match quic.stream_send(STREAM, &block[taken..], false) {
                Ok(0) | Err(Error::Done) => break,
                Ok(count) => taken += count,
                Err(Error::StreamStopped(code)) => return Err(lost("sending", Loss::Application(code))),
                Err(error) => return Err(lost("sending", Loss::Other(error.to_string()))),
            }
        }
        Ok(taken)
    }

    fn end(&mut self, engine: &mut QuicheEngine) -> Result<(), Loss> {
        // A stream that the other side stopped is noticed otherwise.
        let _ = engine.link(self.handle).stir().stream_send(STREAM, b"", true);
        Ok(())
    }

    fn has_room(&mut self, engine: &mut QuicheEngine) -> Result<bool, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        Ok(match self.datagrams {
            true => !quic.is_dgram_send_queue_full(),
            // An error is for the next offer to tell.
            false => quic.stream_capacity(STREAM).unwrap_or(usize::MAX) >= STEP_BYTES,
        })
    }

    fn is_left(&mut self, engine: &mut QuicheEngine) -> bool {
        engine.link(self.handle).loss().is_some() || engine.next_arrived().is_some()
    }

    fn close(&mut self, engine: &mut QuicheEngine, code: u32, _now_ns: i64) {
        if let Some(tickets) = &self.tickets {
            tickets.keep(&engine.link(self.handle).quic);
        }
        engine.abandon(self.handle, code);
    }

    fn sampler(&self, driver: &Driver<QuicheEngine>) -> Box<dyn Sampler> {
        Box::new(QuicheSampler { driver: driver.clone(), handle: self.handle })
    }

    fn longest_datagram(&mut self, engine: &mut QuicheEngine) -> Option<usize> {
        engine.link(self.handle).quic.dgram_max_writable_len()
    }

    fn write_datagrams(
        &mut self,
        engine: &mut QuicheEngine,
        block: &[u8],
        message_bytes: usize,
    ) -> Result<usize, Failure> {
        let quic = engine.link(self.handle).stir();
        let mut taken = 0;
        for message in block.chunks(message_bytes) {
            match quic.dgram_send(message) {
                Ok(()) => taken += message.len(),
                Err(Error::Done) => break,
                Err(error) => return Err(Failure::new(format!("a datagram could not be sent: {error}"))),
            }
        }
        Ok(taken)
    }

    fn read_datagrams(
        &mut self,
        engine: &mut QuicheEngine,
        now_ns: i64,
        most: u64,
        take: &mut Take<'_>,
    ) -> Result<bool, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        let mut count = 0;
        while count < most {
            let Ok(message) = quic.dgram_recv_buf() else { break };
            take(&message, Some(now_ns))?;
            count += 1;
        }
        Ok(count > 0)
    }
}
