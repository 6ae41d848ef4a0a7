//! From payloads to streams: every frame of the peer against the rules.

use bytes::Bytes;

use super::receiving::{Arrived, ReceiveHalf};
use super::sending::SendHalf;
use super::violation::Violation;
use super::{KINDS, Streams, slot};
use crate::stream::{Priority, StreamEvent, StreamId, StreamKind};
use crate::wire::Frame;

impl Streams {
    /// Takes a payload.
    ///
    /// # Errors
    /// [`Violation`] if the peer broke a rule: the connection must end.
    // R-STR-3, R-STR-11
    pub fn take_payload(&mut self, payload: &Bytes) -> Result<(), Violation> {
        let mut rest = &payload[..];
        while !rest.is_empty() {
            match Frame::decode(&mut rest).map_err(|_| Violation("a payload is no sequence of frames"))? {
                Frame::Data { stream, offset, fin, data } => {
                    self.on_data(StreamId(stream), offset, fin, payload.slice_ref(data))?;
                }
                Frame::Reset { stream, code, final_bytes } => {
                    self.on_reset(StreamId(stream), code, final_bytes)?;
                }
                Frame::Stop { stream, code } => self.on_stop(StreamId(stream), code)?,
                Frame::Credit { limit_bytes } => self.credit = self.credit.max(limit_bytes),
                Frame::StreamCredit { stream, limit_bytes } => {
                    let id = StreamId(stream);
                    if let Some(half) = self.sending(id)? {
                        half.limit = half.limit.max(limit_bytes);
                        self.note_turn(id);
                    }
                }
                Frame::Streams { one_way, limit } => self.on_streams(one_way, limit),
                Frame::Priority { stream, urgency, incremental } => {
                    let id = StreamId(stream);
                    if self.sending(id)?.is_some() {
                        let _ = self.set_priority(id, Priority::new(urgency, incremental));
                    }
                }
            }
        }
        for slot in KINDS.map(slot) {
            // What the peer does not use need not be raised.
            self.owed.streams[slot] |= self.peers[slot].used() > 0 && self.peers[slot].is_due();
        }
        Ok(())
    }

    fn note_turn(&mut self, id: StreamId) {
        if let Some(half) = self.sends.get(&id) {
            self.turns.note(id, half);
        }
    }

    /// The peer names a stream: it may exist already, have ended, or begin with that.
    // R-STR-4
    fn admit(&mut self, id: StreamId) -> Result<(), Violation> {
        let slot = slot(id.kind());
        if self.is_ours(id) {
            let opened = id.count() < self.opened[slot];
            return if opened { Ok(()) } else { Err(Violation("a stream of ours that we did not open")) };
        }
        let first = self.peers[slot].used();
        if id.count() < first {
            return Ok(());
        }
        if !self.peers[slot].use_up(id.count() + 1 - first) {
            return Err(Violation("more streams than granted"));
        }
        // Streams begin in order; what names one before its packets arrive lets all before it begin, too.
        for count in first..=id.count() {
            let id = StreamId::new(!self.is_responder, id.kind(), count);
            self.create(id);
            self.acceptable.push_back(id);
        }
        self.events.insert(StreamEvent::Acceptable);
        Ok(())
    }

    /// The half of ours that a frame of the receiver speaks of, unless it has ended.
    fn sending(&mut self, id: StreamId) -> Result<Option<&mut SendHalf>, Violation> {
        if id.kind() == StreamKind::OneWay && !self.is_ours(id) {
            return Err(Violation("a stream on which we do not send"));
        }
        self.admit(id)?;
        Ok(self.sends.get_mut(&id))
    }

    /// The half of ours that a frame of the sender speaks of, unless it has ended.
    fn receiving(&mut self, id: StreamId) -> Result<Option<&mut ReceiveHalf>, Violation> {
        if id.kind() == StreamKind::OneWay && self.is_ours(id) {
            return Err(Violation("a stream on which we do not receive"));
        }
        self.admit(id)?;
        Ok(self.receives.get_mut(&id))
    }

    // R-STR-5, R-STR-6
    fn on_data(&mut self, id: StreamId, offset: u64, fin: bool, data: Bytes) -> Result<(), Violation> {
        let Some(half) = self.receiving(id)? else { return Ok(()) };
        let arrived = half.insert(offset, data, fin)?;
        let idle = half.stopped || half.reset.is_some();
        if idle {
            half.window.consume_all();
        }
        let due = half.end.is_none() && !idle && half.window.is_due();
        self.arrived(id, arrived, due)?;
        if idle {
            self.consume(arrived.grown);
        }
        self.forget_if_over(id);
        Ok(())
    }

    // R-STR-8, R-STR-9
    fn on_reset(&mut self, id: StreamId, code: u32, final_bytes: u64) -> Result<(), Violation> {
        let Some(half) = self.receiving(id)? else { return Ok(()) };
        if half.reset.is_some() {
            return Err(Violation("a stream was reset twice"));
        }
        let arrived = half.on_reset(code, final_bytes)?;
        let dropped = if half.reset.is_some() || half.stopped { half.window.consume_all() } else { 0 };
        self.owed.stream_credit.remove(&id);
        self.arrived(id, arrived, false)?;
        self.consume(dropped);
        self.forget_if_over(id);
        Ok(())
    }

    /// Counts an arrival for the whole connection and tells the application.
    fn arrived(&mut self, id: StreamId, arrived: Arrived, due: bool) -> Result<(), Violation> {
        if !self.window.use_up(arrived.grown) {
            return Err(Violation("more bytes of all streams than granted"));
        }
        self.held = self.held.saturating_add_signed(arrived.held);
        if self.held > self.most_held {
            return Err(Violation("more holes than can be kept"));
        }
        self.owed.credit |= self.window.is_due();
        if due {
            self.owed.stream_credit.insert(id);
        }
        if let Some(half) = self.receives.get_mut(&id)
            && half.is_readable()
            && !half.told
        {
            half.told = true;
            self.events.insert(StreamEvent::Readable(id));
        }
        Ok(())
    }

    // R-STR-9
    fn on_stop(&mut self, id: StreamId, code: u32) -> Result<(), Violation> {
        let Some(half) = self.sending(id)?.filter(|half| half.stopped.is_none()) else { return Ok(()) };
        let (finished, final_bytes) = (half.fin, half.next);
        half.stopped = Some(code);
        half.waiting.clear();
        half.fin = false;
        self.owed.ends.push_back(Frame::Reset { stream: id.0, code, final_bytes });
        self.events.insert(StreamEvent::Stopped(id, code));
        if finished {
            // The application has let go of it.
            self.drop_send(id);
        } else {
            self.note_turn(id);
        }
        Ok(())
    }

    fn on_streams(&mut self, one_way: bool, limit: u64) {
        let kind = if one_way { StreamKind::OneWay } else { StreamKind::BothWays };
        let slot = slot(kind);
        self.may_open[slot] = self.may_open[slot].max(limit);
        if self.opened[slot] < self.may_open[slot] && std::mem::take(&mut self.wants_open[slot]) {
            self.events.insert(StreamEvent::MayOpen(kind));
        }
    }
}
