//! Sessions of quiche: a stream or datagrams, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;

use quiche::{Connection as Quic, Error};

use super::datagrams;
use super::engine::QuicheEngine;
use super::sampler::QuicheSampler;
use super::tickets::Tickets;
use crate::clock::Clock;
use crate::error::Failure;
use crate::quic::host::Host;
use crate::quic::sentence::{Loss, lost, unanswered};
use crate::quic::{BROKEN_OFF, DONE, LOOK_UP_NS, Over};
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Listener, Sampler, Take};

/// The first bidirectional stream that a client opens (RFC 9000, section 2.1).
const STREAM: u64 = 0;

/// A sender without room hears of new room when it suffices for a packet, so that fewer packets are small.
const STEP_BYTES: usize = 1200;

/// What one call to the library reads at most.
const BLOCK_BYTES: usize = 1 << 16;

/// An endpoint that waits for connections.
pub(super) struct QuicheListener {
    pub(super) host: Host<QuicheEngine>,
    pub(super) datagrams: bool,
}

impl Listener for QuicheListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let (handle, established_ns) =
            self.host.work_until("nobody connected to the receiver", |engine, now_ns| {
                let Some(handle) = engine.next_arrived() else { return Ok(None) };
                let link = engine.link(handle);
                // Early data is there before the handshake is over.
                let early_ns = link.quic.is_readable().then_some(now_ns);
                match (link.connected_ns.or(early_ns), link.loss()) {
                    (Some(established_ns), _) => {
                        engine.take_arrived();
                        Ok(Some((handle, established_ns)))
                    }
                    (None, Some(loss)) => Err(lost("the handshake", loss)),
                    (None, None) => Ok(None),
                }
            })?;
        Ok(Box::new(QuicheConnection {
            host: self.host.clone(),
            handle,
            datagrams: self.datagrams,
            established_ns,
            sends: false,
            tickets: None,
            ended: false,
            over: Over::No,
            block: vec![0; BLOCK_BYTES],
        }))
    }
}

/// A session, at either end.
pub(super) struct QuicheConnection {
    host: Host<QuicheEngine>,
    handle: u64,
    datagrams: bool,
    established_ns: i64,
    sends: bool,
    /// Where the sender keeps what a later session resumes this one with.
    tickets: Option<Arc<Tickets>>,
    /// The other side's half of the stream was read to its end.
    ended: bool,
    over: Over,
    /// Where what arrives is put.
    block: Vec<u8>,
}

impl QuicheConnection {
    /// The sender's end of a connection that was just asked for.
    pub(super) fn opening(
        host: Host<QuicheEngine>,
        handle: u64,
        datagrams: bool,
        tickets: Option<Arc<Tickets>>,
    ) -> Self {
        let (established_ns, block) = (host.now_ns(), vec![0; BLOCK_BYTES]);
        Self {
            host,
            handle,
            datagrams,
            established_ns,
            sends: true,
            tickets,
            ended: false,
            over: Over::No,
            block,
        }
    }

    /// Waits until data may flow: when the handshake is over, or at once when there are keys for early data.
    pub(super) fn establish(&mut self, to: SocketAddr) -> Result<(), Failure> {
        let doing = format!("{to} did not answer the connection request");
        self.established_ns = self.host.work_until(&doing, |engine, now_ns| {
            let link = engine.link(self.handle);
            match link.loss() {
                Some(Loss::TimedOut) => Err(unanswered(to)),
                Some(loss) => Err(lost("the handshake", loss)),
                None => Ok(link.connected_ns.or(link.quic.is_in_early_data().then_some(now_ns))),
            }
        })?;
        Ok(())
    }

    /// Refuses messages that do not fit a datagram.
    pub(super) fn check_datagram(&self, message_bytes: u32) -> Result<(), Failure> {
        datagrams::check(&self.host.lock().engine.link(self.handle).quic, message_bytes)
    }

    /// Why the connection is over, unless it ended well.
    fn check(&self, engine: &mut QuicheEngine, doing: &str) -> Result<(), Failure> {
        match engine.link(self.handle).loss() {
            None => Ok(()),
            Some(loss) => Err(self.host.session().failure().unwrap_or_else(|| lost(doing, loss))),
        }
    }

    /// Reads what is there of the stream, at most `most_bytes`; `None` when nothing is.
    fn read(
        &mut self,
        engine: &mut QuicheEngine,
        now_ns: i64,
        most_bytes: u64,
        take: &mut Take<'_>,
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
                        take(&self.block[..count], Some(now_ns))?;
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

    fn receive_datagrams(&mut self, most_messages: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        let until_ns = self.host.now_ns() + LOOK_UP_NS;
        let arrival = self.host.work(until_ns, "the receiver was still receiving", |engine, now_ns| {
            let link = engine.link(self.handle);
            if datagrams::read(&mut link.quic, now_ns, most_messages, take)? {
                return Ok(Some(Arrival::Data));
            }
            match link.loss() {
                // The sender closed in order, or was not heard of any more.
                Some(Loss::Application(code)) if code == u64::from(DONE) => Ok(Some(Arrival::End)),
                Some(Loss::TimedOut) => Ok(Some(Arrival::End)),
                Some(loss) => Err(lost("receiving", loss)),
                None => Ok(None),
            }
        })?;
        Ok(arrival.unwrap_or(Arrival::Silence))
    }

    /// Ends the stream and waits until the other side has ended its half.
    fn finish_stream(&mut self) -> Result<i64, Failure> {
        let doing = "waiting for the receiver to get everything and close";
        self.end_stream();
        let host = self.host.clone();
        host.work_until(doing, |engine, now_ns| {
            match self.read(engine, now_ns, u64::MAX, &mut |_, _| Ok(()))? {
                Some(Arrival::End) => Ok(Some(now_ns)),
                _ => self.check(engine, doing).map(|()| None),
            }
        })
    }

    /// Waits until the receiver, which knows what it may expect, has closed the connection. One that never does has
    /// stopped listening: datagrams promise nothing.
    fn finish_datagrams(&mut self) -> Result<i64, Failure> {
        let ctx = &self.host.session().ctx;
        let until_ns = (self.host.now_ns() + ctx.quiet_ns).min(ctx.limit_ns - 1);
        self.host.work(until_ns, "waiting for the receiver to close", |engine, _| {
            Ok(engine.link(self.handle).loss().is_some().then_some(()))
        })?;
        Ok(self.host.now_ns())
    }

    /// The receiver of everything ends its half of the stream too, and stays until the sender knows.
    fn linger(&mut self) -> Result<(), Failure> {
        self.end_stream();
        loop {
            let until_ns = self.host.now_ns() + LOOK_UP_NS;
            let gone = self.host.work(until_ns, "waiting for the sender to close", |engine, _| {
                let lost = engine.link(self.handle).loss().is_some();
                Ok((lost || engine.next_arrived().is_some()).then_some(()))
            })?;
            // A sender that is over, or failed, hears nothing any more.
            if gone.is_some() || !self.host.session().sender_runs_until(0) {
                return Ok(());
            }
        }
    }

    /// Says that nothing more will come. A stream that the other side stopped is noticed otherwise.
    fn end_stream(&self) {
        let _ = self.host.lock().engine.link(self.handle).stir().stream_send(STREAM, b"", true);
    }
}

/// Hands over as much as the library takes without waiting.
fn write(quic: &mut Quic, block: &[u8]) -> Result<usize, Failure> {
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

impl Connection for QuicheConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        let mut state = self.host.lock();
        self.check(&mut state.engine, "sending")?;
        let quic = state.engine.link(self.handle).stir();
        if self.datagrams { datagrams::write(quic, block, message_bytes) } else { write(quic, block) }
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.host.lock().note_time(now_ns);
        self.host.work(until_ns, "the sender was still sending", |engine, _| {
            self.check(engine, "sending")?;
            let quic = &mut engine.link(self.handle).quic;
            let room = if self.datagrams {
                !quic.is_dgram_send_queue_full()
            } else {
                // An error is for the next offer to tell.
                quic.stream_capacity(STREAM).unwrap_or(usize::MAX) >= STEP_BYTES
            };
            Ok(room.then_some(()))
        })?;
        Ok(())
    }

    fn pause(&mut self, _clock: &Clock, instant_ns: i64) -> Result<i64, Failure> {
        self.host.pause(instant_ns, |engine| self.check(engine, "the session"))
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        let ended_ns = if self.datagrams { self.finish_datagrams()? } else { self.finish_stream()? };
        self.over = Over::Done;
        Ok(Some(ended_ns))
    }

    fn instants(&self) -> DeliveryInstants {
        DeliveryInstants::Application
    }

    fn receive(
        &mut self,
        most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        if self.datagrams {
            return self.receive_datagrams(most_messages, take);
        }
        let host = self.host.clone();
        let arrival = host.work_until("the receiver was still receiving", |engine, now_ns| {
            match self.read(engine, now_ns, most_bytes.max(1), take)? {
                None => self.check(engine, "receiving").map(|()| None),
                arrival => Ok(arrival),
            }
        })?;
        if arrival == Arrival::End {
            self.over = Over::Received;
        }
        Ok(arrival)
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(self.sends.then(|| -> Box<dyn Sampler> {
            Box::new(QuicheSampler { host: self.host.clone(), handle: self.handle })
        }))
    }
}

impl Drop for QuicheConnection {
    fn drop(&mut self) {
        if self.over == Over::Received && self.linger().is_ok() {
            self.over = Over::Done;
        }
        let well = match self.sends {
            // A receiver of datagrams decides by itself when it has enough.
            false if self.datagrams => self.host.session().failure().is_none(),
            _ => self.over == Over::Done,
        };
        let mut state = self.host.lock();
        if let Some(tickets) = &self.tickets {
            tickets.keep(&state.engine.link(self.handle).quic);
        }
        state.engine.abandon(self.handle, if well { DONE } else { BROKEN_OFF });
        state.settle();
    }
}
