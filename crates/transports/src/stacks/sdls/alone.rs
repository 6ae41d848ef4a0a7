//! SDLS without anything that sends again: each frame once (type BD), over the datagrams of a UDP socket.

use std::collections::{BTreeMap, VecDeque};

use sdls::frame::TcService;

use super::frames::Frames;
use crate::error::Failure;
use crate::transport::{Arrival, Connection, DeliveryInstants, Listener, Sampler, Take};

/// The receiver before its sender comes.
pub(super) struct AloneListener {
    datagrams: Box<dyn Listener>,
    frames: Option<Frames>,
}

impl AloneListener {
    pub(super) fn new(datagrams: Box<dyn Listener>, frames: Frames) -> Self {
        Self { datagrams, frames: Some(frames) }
    }
}

impl Listener for AloneListener {
    fn accept(&mut self) -> Result<Box<dyn Connection>, Failure> {
        let datagrams = self.datagrams.accept()?;
        // The listener below has refused a second one already.
        let frames =
            self.frames.take().ok_or_else(|| Failure::new("a receiver of frames serves one flow"))?;
        Ok(Box::new(AloneConnection::new(datagrams, frames)))
    }
}

/// One end.
pub(super) struct AloneConnection {
    datagrams: Box<dyn Connection>,
    frames: Frames,
    /// Frames that the socket had no room for, of messages that were taken; the last frame of a message is marked.
    waiting: VecDeque<(Vec<u8>, bool)>,
    /// Frames that the sender's own queue had dropped before the message that is leaving, and messages that miss one.
    dropped_before: u64,
    dropped_messages: u64,
}

impl AloneConnection {
    pub(super) fn new(datagrams: Box<dyn Connection>, frames: Frames) -> Self {
        Self { datagrams, frames, waiting: VecDeque::new(), dropped_before: 0, dropped_messages: 0 }
    }

    /// Sends what waits as far as the socket takes it.
    fn flush(&mut self) -> Result<(), Failure> {
        while let Some((frame, last)) = self.waiting.front() {
            let (octets, last) = (frame.len(), *last);
            if self.datagrams.offer(frame, octets, 0)? < octets {
                return Ok(());
            }
            self.waiting.pop_front();
            if last {
                let dropped = self.datagrams.sender_dropped_messages().unwrap_or(0);
                self.dropped_messages += u64::from(dropped > self.dropped_before);
                self.dropped_before = dropped;
            }
        }
        Ok(())
    }
}

impl Connection for AloneConnection {
    fn established_ns(&self) -> Option<i64> {
        None
    }

    fn offer(&mut self, block: &[u8], message_bytes: usize, _seq: u64) -> Result<usize, Failure> {
        let mut taken = 0;
        self.flush()?;
        for message in block.chunks(message_bytes) {
            if !self.waiting.is_empty() {
                break;
            }
            let segments = self.frames.segments(message)?;
            let count = segments.len();
            for (place, segment) in segments.into_iter().enumerate() {
                let frame = self.frames.command(TcService::Expedited, 0, segment)?;
                self.waiting.push_back((frame, place + 1 == count));
            }
            taken += message.len();
            self.flush()?;
        }
        Ok(taken)
    }

    fn wait_until_writable(&mut self, now_ns: i64, until_ns: i64) -> Result<(), Failure> {
        self.datagrams.wait_until_writable(now_ns, until_ns)
    }

    fn finish(&mut self) -> Result<Option<i64>, Failure> {
        self.flush()?;
        while !self.waiting.is_empty() {
            // The clock is read where the wait begins: this happens once in a flow at most.
            self.datagrams.wait_until_writable(0, i64::MAX)?;
            self.flush()?;
        }
        self.datagrams.finish()
    }

    fn instants(&self) -> DeliveryInstants {
        self.datagrams.instants()
    }

    fn receive(
        &mut self,
        most_messages: u64,
        most_bytes: u64,
        take: &mut Take<'_>,
    ) -> Result<Arrival, Failure> {
        let frames = &mut self.frames;
        let mut whole = false;
        let arrival = self.datagrams.receive(most_messages, most_bytes, &mut |octets, t_ns| {
            let Some(message) =
                frames.open_command(octets).and_then(|opened| frames.take_once(&opened.frame))
            else {
                return Ok(());
            };
            whole = true;
            take(&message, t_ns)
        })?;
        // A frame that ends no message is nothing yet to who asks for messages.
        Ok(if arrival == Arrival::Data && !whole { Arrival::Silence } else { arrival })
    }

    fn sender_dropped_messages(&mut self) -> Option<u64> {
        Some(self.dropped_messages)
    }

    fn counts(&self) -> BTreeMap<String, u64> {
        self.frames.counts()
    }

    fn sampler(&self) -> Result<Option<Box<dyn Sampler>>, Failure> {
        Ok(None)
    }
}
