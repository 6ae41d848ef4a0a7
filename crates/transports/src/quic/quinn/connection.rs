//! Sessions of quinn: a stream or datagrams, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use quinn_proto::{
    ConnectionError, ConnectionHandle, Dir, ReadError, ReadableError, SendDatagramError, StreamId, VarInt,
    WriteError,
};

use super::engine::QuinnEngine;
use super::observed::Counts;
use super::sampler::QuinnSampler;
use crate::clock::Clock;
use crate::error::Failure;
use crate::quic::host::Host;
use crate::quic::sentence::{Cause, Loss, lost, unanswered};
use crate::quic::{BROKEN_OFF, DONE, LOOK_UP_NS, Over};
use crate::transport::DeliveryInstants;
use crate::transport::{Arrival, Connection, Listener, Sampler, Take};

/// A sender without room hears of new room in steps, as from the kernel's sockets, and not with every acknowledgement:
/// at most so long, and a small part of what may be under way, so that the connection never runs dry.
const LONGEST_STEP_BYTES: u64 = 1 << 16;
const WINDOW_STEPS: u64 = 16;

/// An endpoint that waits for connections.
pub(super) struct QuinnListener {
    pub(super) host: Host<QuinnEngine>,
    pub(super) datagrams: bool,
}

impl Listener for QuinnListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let (handle, stream, established_ns) =
            self.host.work_until("nobody connected to the receiver", |engine, now_ns| {
                let Some(handle) = engine.next_arrived() else { return Ok(None) };
                let link = engine.link(handle);
                if let Some(reason) = &link.lost {
                    return Err(lost("the handshake", loss(reason)));
                }
                // Early data is there before the handshake is over.
                let stream = link.quic.streams().accept(Dir::Bi);
                if stream.is_none() && link.connected_ns.is_none() {
                    return Ok(None);
                }
                engine.take_arrived();
                Ok(Some((handle, stream, now_ns)))
            })?;
        Ok(Box::new(QuinnConnection {
            host: self.host.clone(),
            handle,
            datagrams: self.datagrams,
            stream,
            established_ns,
            step_bytes: 0,
            counts: None,
            taken_datagrams: 0,
            over: Over::No,
        }))
    }
}

/// A session, at either end.
pub(super) struct QuinnConnection {
    host: Host<QuinnEngine>,
    handle: ConnectionHandle,
    datagrams: bool,
    /// The stream, once it was opened.
    stream: Option<StreamId>,
    established_ns: i64,
    /// What must be acknowledged before a sender without room is told of some.
    step_bytes: u64,
    /// Kept by the sender.
    counts: Option<Arc<Counts>>,
    /// Datagrams that the library took.
    taken_datagrams: u64,
    over: Over,
}

/// What reading the stream brought.
enum Read {
    Data,
    Nothing,
    End,
}

impl QuinnConnection {
    /// The sender's end of a connection that was just asked for, of which `window_bytes` may be under way.
    pub(super) fn opening(
        host: Host<QuinnEngine>,
        handle: ConnectionHandle,
        datagrams: bool,
        counts: Arc<Counts>,
        window_bytes: u64,
    ) -> Self {
        let established_ns = host.now_ns();
        let step_bytes = LONGEST_STEP_BYTES.min(window_bytes / WINDOW_STEPS);
        Self {
            host,
            handle,
            datagrams,
            stream: None,
            established_ns,
            step_bytes,
            counts: Some(counts),
            taken_datagrams: 0,
            over: Over::No,
        }
    }

    /// Waits until data may flow: when the handshake is over, or at once when there are keys for early data.
    pub(super) fn establish(&mut self, to: SocketAddr, early_data: bool) -> Result<(), Failure> {
        let doing = format!("{to} did not answer the connection request");
        self.established_ns = self.host.work_until(&doing, |engine, now_ns| {
            let link = engine.link(self.handle);
            match &link.lost {
                Some(ConnectionError::TimedOut) => Err(unanswered(to)),
                Some(reason) => Err(lost("the handshake", loss(reason))),
                None if early_data && link.quic.has_0rtt() => Ok(Some(now_ns)),
                None => Ok(link.connected_ns),
            }
        })?;
        if !self.datagrams {
            self.stream = self.host.lock().engine.link(self.handle).quic.streams().open(Dir::Bi);
        }
        Ok(())
    }

    /// Refuses messages that do not fit a datagram.
    pub(super) fn check_datagram(&self, message_bytes: u32) -> Result<(), Failure> {
        let mut state = self.host.lock();
        match state.engine.link(self.handle).quic.datagrams().max_size() {
            Some(longest) if message_bytes as usize <= longest => Ok(()),
            Some(longest) => Err(Failure::new(format!(
                "a message of {message_bytes} bytes is too long for a QUIC datagram on this path; \
                 `message_size_bytes` may be at most {longest}"
            ))),
            None => Err(Failure::new("the other side takes no QUIC datagrams")),
        }
    }

    /// Why the connection is over, unless it ended well.
    fn check(&self, engine: &mut QuinnEngine, doing: &str) -> Result<(), Failure> {
        let link = engine.link(self.handle);
        match &link.lost {
            None => Ok(()),
            Some(reason) => Err(self.host.session().failure().unwrap_or_else(|| lost(doing, loss(reason)))),
        }
    }

    /// Reads what is there of the stream, at most `most_bytes`.
    fn read(
        &mut self,
        engine: &mut QuinnEngine,
        now_ns: i64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Read, Failure> {
        let quic = &mut engine.link(self.handle).quic;
        self.stream = self.stream.or_else(|| quic.streams().accept(Dir::Bi));
        let Some(stream) = self.stream else { return Ok(Read::Nothing) };
        let mut stream = quic.recv_stream(stream);
        let mut chunks = match stream.read(true) {
            Ok(chunks) => chunks,
            Err(ReadableError::ClosedStream) => return Ok(Read::End),
            Err(error) => return Err(Failure::new(format!("the stream could not be read: {error}"))),
        };
        let mut left = most_bytes;
        let mut read = Read::Nothing;
        while left > 0 {
            match chunks.next(usize::try_from(left).unwrap_or(usize::MAX)) {
                Ok(Some(chunk)) => {
                    left -= chunk.bytes.len() as u64;
                    take(&chunk.bytes, Some(now_ns))?;
                    read = Read::Data;
                }
                Ok(None) if left == most_bytes => return Ok(Read::End),
                Ok(None) | Err(ReadError::Blocked) => break,
                Err(ReadError::Reset(code)) => {
                    return Err(lost("receiving", Loss::Application(code.into_inner())));
                }
            }
        }
        Ok(read)
    }
}

impl Connection for QuinnConnection {
    fn established_ns(&self) -> Option<i64> {
        Some(self.established_ns)
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        let mut state = self.host.lock();
        self.check(&mut state.engine, "sending")?;
        let quic = &mut state.engine.link(self.handle).quic;
        let Some(stream) = self.stream else {
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
            return Ok(taken);
        };
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

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        let mut state = self.host.lock();
        state.note_time(now_ns);
        state.engine.link(self.handle).writable = false;
        drop(state);
        let acknowledged = || self.counts.as_ref().map_or(u64::MAX, |counts| counts.acknowledged_bytes());
        let enough = acknowledged().saturating_add(self.step_bytes);
        self.host.work(until_ns, "the sender was still sending", |engine, _| {
            self.check(engine, "sending")?;
            Ok((engine.link(self.handle).writable && acknowledged() >= enough).then_some(()))
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
                Read::Data => Ok(Some(Arrival::Data)),
                Read::End => Ok(Some(Arrival::End)),
                Read::Nothing => self.check(engine, "receiving").map(|()| None),
            }
        })?;
        if arrival == Arrival::End {
            self.over = Over::Received;
        }
        Ok(arrival)
    }

    /// What the library took and never put into a packet: it gave way in the queue, no longer fitted the path, or was
    /// still waiting when the session was over.
    fn sender_dropped_messages(&self) -> Option<u64> {
        self.datagrams.then(|| {
            let sent = self.host.lock().engine.link(self.handle).quic.stats().frame_tx.datagram;
            self.taken_datagrams.saturating_sub(sent)
        })
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(self.counts.as_ref().map(|counts| -> Box<dyn Sampler> {
            Box::new(QuinnSampler {
                host: self.host.clone(),
                handle: self.handle,
                counts: Arc::clone(counts),
            })
        }))
    }
}

impl QuinnConnection {
    /// Ends the stream and waits until the other side has ended its half.
    fn finish_stream(&mut self) -> Result<i64, Failure> {
        let doing = "waiting for the receiver to get everything and close";
        if let Some(stream) = self.stream {
            // A stream that the receiver stopped is noticed below.
            let _ = self.host.lock().engine.link(self.handle).quic.send_stream(stream).finish();
        }
        let host = self.host.clone();
        host.work_until(doing, |engine, now_ns| {
            match self.read(engine, now_ns, u64::MAX, &mut |_, _| Ok(()))? {
                Read::End => Ok(Some(now_ns)),
                Read::Data | Read::Nothing => self.check(engine, doing).map(|()| None),
            }
        })
    }

    /// Waits until the receiver, which knows what it may expect, has closed the connection. One that never does has
    /// stopped listening: datagrams promise nothing.
    fn finish_datagrams(&mut self) -> Result<i64, Failure> {
        let ctx = &self.host.session().ctx;
        let patience_ns = self.host.now_ns() + ctx.quiet_ns;
        let until_ns = patience_ns.min(ctx.limit_ns - 1);
        self.host.work(until_ns, "waiting for the receiver to close", |engine, _| {
            Ok(engine.link(self.handle).lost.is_some().then_some(()))
        })?;
        Ok(self.host.now_ns())
    }

    fn receive_datagrams(&mut self, most_messages: u64, take: &mut Take<'_>) -> Result<Arrival, Failure> {
        let handle = self.handle;
        let until_ns = self.host.now_ns() + LOOK_UP_NS;
        let arrival = self.host.work(until_ns, "the receiver was still receiving", |engine, now_ns| {
            let link = engine.link(handle);
            let mut count = 0;
            while count < most_messages {
                let Some(message) = link.quic.datagrams().recv() else { break };
                take(&message, Some(now_ns))?;
                count += 1;
            }
            match &link.lost {
                _ if count > 0 => Ok(Some(Arrival::Data)),
                // The sender closed in order, or was not heard of any more.
                Some(ConnectionError::ApplicationClosed(close))
                    if close.error_code == VarInt::from_u32(DONE) =>
                {
                    Ok(Some(Arrival::End))
                }
                Some(ConnectionError::TimedOut) => Ok(Some(Arrival::End)),
                Some(reason) => Err(lost("receiving", loss(reason))),
                None => Ok(None),
            }
        })?;
        Ok(arrival.unwrap_or(Arrival::Silence))
    }

    /// The receiver of everything ends its half of the stream too, and stays until the sender knows.
    fn linger(&mut self) -> Result<(), Failure> {
        if let Some(stream) = self.stream {
            let _ = self.host.lock().engine.link(self.handle).quic.send_stream(stream).finish();
        }
        loop {
            let until_ns = self.host.now_ns() + LOOK_UP_NS;
            let gone = self.host.work(until_ns, "waiting for the sender to close", |engine, _| {
                let lost = engine.link(self.handle).lost.is_some();
                Ok((lost || engine.next_arrived().is_some()).then_some(()))
            })?;
            // A sender that is over, or failed, hears nothing any more.
            if gone.is_some() || !self.host.session().sender_runs_until(0) {
                return Ok(());
            }
        }
    }
}

impl Drop for QuinnConnection {
    fn drop(&mut self) {
        if self.over == Over::Received && self.linger().is_ok() {
            self.over = Over::Done;
        }
        let well = match self.counts {
            // A receiver of datagrams decides by itself when it has enough.
            None if self.datagrams => self.host.session().failure().is_none(),
            _ => self.over == Over::Done,
        };
        let mut state = self.host.lock();
        let now_ns = state.now_ns();
        state.engine.abandon(self.handle, if well { DONE } else { BROKEN_OFF }, now_ns);
        state.settle();
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
