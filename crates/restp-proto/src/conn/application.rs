//! The application's side of a connection: messages in and out, wishes (knobs) and news from below (dials).

use bytes::Bytes;

use super::outbox::Queued;
use super::{Connection, Cx, LocalFin, Message, Phase};
use crate::error::SendError;
use crate::event::{Dial, Knob, SendOptions};
use crate::profile::{Framing, Ordering};
use crate::time::Instant;

impl Connection {
    /// Largest message of fixed framing, in bytes; the size of the pieces of coalesced framing.
    pub fn max_message_bytes(&self) -> usize {
        self.segment_bytes(true)
    }

    /// Takes a message (fixed framing) or bytes of the stream (coalescing).
    pub fn send(&mut self, now: Instant, payload: Bytes, options: SendOptions) -> Result<(), SendError> {
        if self.phase == Phase::Closed || self.closing.local != LocalFin::Open {
            return Err(SendError::Closed);
        }
        if payload.is_empty() {
            return Err(SendError::Empty);
        }
        if self.streams.is_some() {
            return Err(SendError::Streams);
        }
        let profile = self.composition.profile();
        let limit_bytes = self.max_message_bytes();
        let full = match profile.framing {
            Framing::Fixed => {
                if payload.len() > limit_bytes {
                    return Err(SendError::TooLong { size_bytes: payload.len(), limit_bytes });
                }
                self.outbox.len() >= profile.tuning.send_buffer_packets as usize
            }
            Framing::Coalesce => {
                let limit = profile.tuning.send_buffer_packets as usize;
                self.outbox.bytes() >= limit * limit_bytes || self.outbox.len() >= limit * 4
            }
        };
        if full {
            self.outbox.wants_room = true;
            self.outbox.turned_away = true;
            return Err(SendError::Full(payload));
        }
        let expires = profile.ordering == Ordering::Partial;
        let deadline = options.lifetime.filter(|_| expires).map_or(Instant::FAR_FUTURE, |life| now + life);
        self.outbox.turned_away = false;
        self.outbox.push(Queued { payload, push: options.push, deadline });
        Ok(())
    }

    /// The next message, or the next piece of the stream.
    pub fn recv(&mut self, cx: &mut Cx<'_>) -> Option<Message> {
        if self.streams.is_some() { None } else { self.next_message(cx) }
    }

    /// The next payload in the order agreed on.
    pub(super) fn next_message(&mut self, cx: &mut Cx<'_>) -> Option<Message> {
        if !self.assembler.has_ready() && self.composition.profile().ordering == Ordering::Partial {
            // The application asks: holes that have lasted long enough are passed over (answer J1). R-ORD-3
            let given_up = self.assembler.skip_hole(cx.now, self.hole.patience);
            if given_up > 0 {
                self.stats.passed_over += given_up;
                self.after_skip();
                self.check_fin(cx);
            }
        }
        let message = self.assembler.pop();
        match &message {
            Some(_) => {
                self.stats.delivered += 1;
                self.offer_window();
            }
            None => {
                self.notices.readable_told = false;
                self.arm_hole_timer();
            }
        }
        message
    }

    /// Tells the sender when much more room has appeared than it knows of.
    // R-FC-2
    fn offer_window(&mut self) {
        if !self.shape.window || self.phase != Phase::Established {
            return;
        }
        let limit = u64::from(self.composition.profile().tuning.receive_window_packets);
        let (next, window) = (self.assembler.next(), u64::from(self.assembler.window()));
        let index = self.paths.main();
        let path = &mut self.paths[index];
        if !path.is_open() {
            return;
        }
        let shut = path.ack.granted <= next && window >= (limit / 4).clamp(1, 2);
        if shut || next + window >= path.ack.granted + (limit / 2).max(1) {
            path.ack.now = true;
        }
    }

    /// The single path's numbers follow the messages that were passed over.
    // R-FC-4
    fn after_skip(&mut self) {
        if self.multi.is_none() {
            let target = self.assembler.next() + 1;
            let path = &mut self.paths[0];
            path.rx.skip_to(target);
        }
        let index = self.paths.main();
        self.paths[index].ack.now = true;
        self.arm_hole_timer();
    }

    /// News from the layers below.
    // R-COMP-3
    pub fn dial(&mut self, cx: &mut Cx<'_>, dial: Dial) {
        match dial {
            Dial::PathDown(addr) => {
                if let Some(index) = self.paths.at(addr) {
                    self.path_failed(cx, index);
                }
            }
            Dial::PathUp(addr) => {
                if let Some(index) = self.paths.at(addr) {
                    self.path_recovered(cx, index);
                }
            }
            Dial::LossCause(cause) => {
                for path in self.paths.iter_mut() {
                    path.cause.hint(cause);
                }
                self.note_cause();
            }
            Dial::LinkRate { packets_per_s } => self.link_rate_pps = packets_per_s.filter(|rate| *rate > 0.0),
        }
    }

    /// A changed wish of the application.
    pub fn turn(&mut self, knob: Knob) {
        match knob {
            Knob::Hold(hold) => {
                self.hole.patience = hold;
                self.arm_hole_timer();
            }
            Knob::LossCause(cause) => {
                self.cause.configured = cause;
                self.note_cause();
            }
            Knob::PreferPath(id) => {
                if let Some(index) = self.paths.iter().position(|path| path.id == id && path.is_usable()) {
                    self.paths.active = index;
                }
            }
            Knob::AckEvery(packets) => self.ack_every = packets.clamp(1, 256),
        }
    }
}
