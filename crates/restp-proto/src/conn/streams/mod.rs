//! The streams of one connection: who may open how many, how far each may go, which is served next.
//!
//! Frames travel in numbered packets, which are repeated until they arrive, so nothing here is ever sent twice.

mod owed;
mod packing;
mod pieces;
mod receiving;
mod sending;
mod taking;
mod turns;
mod violation;
mod window;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use crate::profile::Tuning;
use crate::stream::{
    INITIAL_BYTES, INITIAL_STREAM_BYTES, INITIAL_STREAMS, Priority, StreamError, StreamEvent, StreamId,
    StreamKind,
};
use crate::wire::Frame;
use owed::Owed;
use receiving::ReceiveHalf;
use sending::SendHalf;
use turns::Turns;
use window::Window;

/// DATA frames of a packet, at most: what bounds the pieces that wait behind holes.
// R-STR-5
pub(crate) const MAX_DATA_FRAMES: usize = 16;

const KINDS: [StreamKind; 2] = [StreamKind::BothWays, StreamKind::OneWay];

/// All streams of a connection.
#[derive(Debug)]
pub(crate) struct Streams {
    is_responder: bool,
    sends: BTreeMap<StreamId, SendHalf>,
    receives: BTreeMap<StreamId, ReceiveHalf>,
    /// Streams that we opened, by kind.
    opened: [u64; 2],
    /// Streams that the peer lets us open.
    may_open: [u64; 2],
    /// The application was refused one and wants to hear of the next.
    wants_open: [bool; 2],
    /// Streams that the peer opened, used, and that ended, consumed.
    peers: [Window; 2],
    acceptable: VecDeque<StreamId>,
    turns: Turns,
    /// Bytes that we sent, and may send.
    sent: u64,
    credit: u64,
    /// Bytes that the peer sent, and may send.
    window: Window,
    /// Pieces behind holes, in all streams, and at most.
    held: usize,
    most_held: usize,
    owed: Owed,
    events: BTreeSet<StreamEvent>,
    stream_window_bytes: u64,
    send_bytes: usize,
}

fn slot(kind: StreamKind) -> usize {
    usize::from(kind == StreamKind::OneWay)
}

impl Streams {
    pub fn new(is_responder: bool, tuning: &Tuning) -> Self {
        let peers = Window::new(INITIAL_STREAMS, tuning.max_streams);
        Self {
            is_responder,
            sends: BTreeMap::new(),
            receives: BTreeMap::new(),
            opened: [0; 2],
            may_open: [INITIAL_STREAMS; 2],
            wants_open: [false; 2],
            peers: [peers; 2],
            acceptable: VecDeque::new(),
            turns: Turns::default(),
            sent: 0,
            credit: INITIAL_BYTES,
            window: Window::new(INITIAL_BYTES, tuning.connection_window_bytes),
            held: 0,
            most_held: tuning.receive_window_packets as usize * MAX_DATA_FRAMES,
            owed: Owed::default(),
            events: BTreeSet::new(),
            stream_window_bytes: tuning.stream_window_bytes,
            send_bytes: tuning.stream_send_bytes,
        }
    }

    fn is_ours(&self, id: StreamId) -> bool {
        id.is_by_responder() == self.is_responder
    }

    /// Makes the halves of a stream that exist at this end.
    fn create(&mut self, id: StreamId) {
        let ours = self.is_ours(id);
        if ours || id.kind() == StreamKind::BothWays {
            self.sends.insert(id, SendHalf::new(INITIAL_STREAM_BYTES));
        }
        if !ours || id.kind() == StreamKind::BothWays {
            let window = Window::new(INITIAL_STREAM_BYTES, self.stream_window_bytes);
            self.receives.insert(id, ReceiveHalf::new(window));
        }
    }

    /// A half is gone: when both are, the peer may open another stream in the place of its own.
    fn note_end(&mut self, id: StreamId) {
        let gone = !self.sends.contains_key(&id) && !self.receives.contains_key(&id);
        if gone && !self.is_ours(id) {
            let slot = slot(id.kind());
            self.peers[slot].consume(1);
            self.owed.streams[slot] |= self.peers[slot].is_due();
        }
    }

    fn drop_send(&mut self, id: StreamId) {
        if let Some(half) = self.sends.remove(&id) {
            self.turns.remove(id, &half);
            self.note_end(id);
        }
    }

    /// Opens a stream; the peer hears of it with the first byte.
    // R-STR-4
    pub fn open(&mut self, kind: StreamKind) -> Result<StreamId, StreamError> {
        let slot = slot(kind);
        if self.opened[slot] >= self.may_open[slot] {
            self.wants_open[slot] = true;
            return Err(StreamError::TooMany);
        }
        let id = StreamId::new(self.is_responder, kind, self.opened[slot]);
        self.opened[slot] += 1;
        self.create(id);
        Ok(id)
    }

    /// The next stream that the peer opened.
    pub fn accept(&mut self) -> Option<StreamId> {
        self.acceptable.pop_front()
    }

    /// Takes bytes off the front of `data` as far as there is room.
    pub fn write(&mut self, id: StreamId, data: &mut Bytes) -> Result<usize, StreamError> {
        let half = self.sends.get_mut(&id).ok_or(StreamError::Unknown)?;
        let count = half.room(self.send_bytes)?.min(data.len());
        half.waiting.push(data.split_to(count));
        self.turns.note(id, half);
        Ok(count)
    }

    /// The stream ends after what was written.
    pub fn finish(&mut self, id: StreamId) -> Result<(), StreamError> {
        let half = self.sends.get_mut(&id).ok_or(StreamError::Unknown)?;
        if let Some(code) = half.stopped {
            self.drop_send(id);
            return Err(StreamError::Stopped(code));
        }
        half.fin = true;
        self.turns.note(id, half);
        Ok(())
    }

    /// The stream ends at once; what was not sent is dropped.
    // R-STR-9
    pub fn reset(&mut self, id: StreamId, code: u32) -> Result<(), StreamError> {
        let half = self.sends.get(&id).ok_or(StreamError::Unknown)?;
        if half.stopped.is_none() {
            // The answer to a stop was a reset already.
            self.owed.ends.push_back(Frame::Reset { stream: id.0, code, final_bytes: half.next });
        }
        self.drop_send(id);
        Ok(())
    }

    /// At most `limit_bytes` of what has arrived in order; `None` at the end of the stream.
    pub fn read(&mut self, id: StreamId, limit_bytes: usize) -> Result<Option<Bytes>, StreamError> {
        let half = self.receives.get_mut(&id).filter(|half| !half.stopped).ok_or(StreamError::Unknown)?;
        if let Some(code) = half.reset {
            self.drop_receive(id);
            return Err(StreamError::Reset(code));
        }
        if let Some(bytes) = half.take(limit_bytes) {
            if half.end.is_none() && half.window.is_due() {
                self.owed.stream_credit.insert(id);
            }
            self.window.consume(bytes.len() as u64);
            self.owed.credit |= self.window.is_due();
            return Ok(Some(bytes));
        }
        if half.is_read() {
            self.drop_receive(id);
            return Ok(None);
        }
        half.told = false;
        Err(StreamError::Blocked)
    }

    fn drop_receive(&mut self, id: StreamId) {
        if self.receives.remove(&id).is_some() {
            self.owed.stream_credit.remove(&id);
            self.owed.priorities.remove(&id);
            self.note_end(id);
        }
    }

    /// The application wants no more of the stream.
    // R-STR-9
    pub fn stop(&mut self, id: StreamId, code: u32) -> Result<(), StreamError> {
        let half = self.receives.get_mut(&id).filter(|half| !half.stopped).ok_or(StreamError::Unknown)?;
        half.stopped = true;
        let held = half.drop_all();
        let unread = half.window.consume_all();
        let over = half.end.is_some();
        self.held = self.held.saturating_add_signed(held);
        self.consume(unread);
        self.owed.stream_credit.remove(&id);
        if !over {
            self.owed.ends.push_back(Frame::Stop { stream: id.0, code });
        }
        self.forget_if_over(id);
        Ok(())
    }

    /// Bytes of the connection's window that nobody reads any more.
    fn consume(&mut self, bytes: u64) {
        self.window.consume(bytes);
        self.owed.credit |= self.window.is_due();
    }

    /// Once the length of a stopped stream is known all of it has been counted, and nothing of it is waited for.
    fn forget_if_over(&mut self, id: StreamId) {
        if self.receives.get(&id).is_some_and(|half| half.stopped && half.end.is_some()) {
            self.drop_receive(id);
        }
    }

    /// Changes when a stream is served among ours.
    pub fn set_priority(&mut self, id: StreamId, priority: Priority) -> Result<(), StreamError> {
        let half = self.sends.get_mut(&id).ok_or(StreamError::Unknown)?;
        self.turns.remove(id, half);
        half.priority = priority;
        self.turns.note(id, half);
        Ok(())
    }

    /// Asks the peer to serve a stream so.
    pub fn ask_priority(&mut self, id: StreamId, priority: Priority) -> Result<(), StreamError> {
        self.receives.get(&id).filter(|half| !half.stopped).ok_or(StreamError::Unknown)?;
        self.owed.priorities.insert(id, priority);
        Ok(())
    }

    pub fn poll_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_first()
    }

    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Bytes that wait to be sent, in all streams.
    pub fn waiting_bytes(&self) -> usize {
        self.sends.values().map(|half| half.waiting.len()).sum()
    }

    /// Nothing waits to be sent.
    pub fn is_drained(&self) -> bool {
        self.owed.is_empty() && self.sends.values().all(SendHalf::is_drained)
    }

    /// Bytes have arrived that were not read.
    pub fn has_unread(&self) -> bool {
        self.receives.values().any(ReceiveHalf::has_unread)
    }

    /// The connection is over and nobody reads any more.
    pub fn discard(&mut self) {
        self.sends.clear();
        self.receives.clear();
        self.turns = Turns::default();
        self.owed = Owed::default();
        self.events.clear();
        self.acceptable.clear();
    }
}
