//! The redundancy layer of one end: every frame goes over all transport channels; the first of each number counts,
//! and one that came too early waits for those before it for T_seq.
//!
//! Behaviour as in `redcor_red_core.c`, `reddfq_red_defer_queue.c` and `reddia_red_diagnostics.c` of SBB's stack.

use std::collections::VecDeque;

use crate::config::Config;
use crate::diagnostics::{ChannelReport, FrameCounters};
use crate::frame::{Frame, FrameError};
use crate::serial::{distance, is_before};
use crate::time::{Instant, millis};

/// A frame that waits for those before it.
#[derive(Clone, Debug)]
struct Deferred {
    sequence_number: u32,
    received_at: Instant,
    payload: Vec<u8>,
}

/// The first reception of a frame in the window of diagnosis.
#[derive(Clone, Debug)]
struct First {
    sequence_number: u32,
    received_at: Instant,
    seen: Vec<bool>,
}

/// One redundancy channel.
#[derive(Clone, Debug)]
pub(crate) struct Redundancy {
    config: Config,
    open: bool,
    next_to_send: u32,
    next_to_receive: u32,
    deferred: Vec<Deferred>,
    ready: VecDeque<Vec<u8>>,
    counters: FrameCounters,
    firsts: Vec<First>,
    reports: Vec<ChannelReport>,
    full: VecDeque<(usize, ChannelReport)>,
}

impl Redundancy {
    pub(crate) fn new(config: Config) -> Self {
        let reports = vec![ChannelReport::default(); config.channels];
        Self {
            config,
            open: false,
            next_to_send: 0,
            next_to_receive: 0,
            deferred: Vec::new(),
            ready: VecDeque::new(),
            counters: FrameCounters::default(),
            firsts: Vec::new(),
            reports,
            full: VecDeque::new(),
        }
    }

    /// Numbers start at 0; what waited is gone.
    pub(crate) fn open(&mut self) {
        self.clear();
        self.open = true;
    }

    /// Nothing is taken any more.
    pub(crate) fn close(&mut self) {
        self.clear();
        self.open = false;
    }

    fn clear(&mut self) {
        (self.next_to_send, self.next_to_receive) = (0, 0);
        self.deferred.clear();
        self.ready.clear();
        self.begin_window();
    }

    pub(crate) const fn counters(&self) -> FrameCounters {
        self.counters
    }

    /// The window of diagnosis of a channel so far.
    pub(crate) fn report(&self, channel: usize) -> Option<ChannelReport> {
        let report = *self.reports.get(channel)?;
        let missed = self.firsts.iter().filter(|first| !first.seen[channel]).count() as u32;
        Some(ChannelReport { frames: self.firsts.len() as u32, missed, ..report })
    }

    /// The frame that carries `message`, for all channels.
    pub(crate) fn send(&mut self, message: &[u8]) -> Vec<u8> {
        let frame = Frame { sequence_number: self.next_to_send, payload: message };
        self.next_to_send = self.next_to_send.wrapping_add(1);
        frame.encode(self.config.check_code)
    }

    /// The next message in its order.
    pub(crate) fn poll_ready(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    /// A full window of diagnosis of a channel.
    pub(crate) fn poll_full(&mut self) -> Option<(usize, ChannelReport)> {
        self.full.pop_front()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.deferred.iter().map(|deferred| deferred.received_at).min().map(|at| at + self.config.t_seq)
    }

    /// Gives up what did not come in time: goes on with the oldest frame that waits.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        while self.poll_timeout().is_some_and(|timeout| timeout <= now) {
            let from = self.next_to_receive;
            let oldest = self.deferred.iter().map(|deferred| deferred.sequence_number);
            let oldest = oldest.min_by_key(|number| distance(from, *number)).expect("one timed out");
            self.counters.given_up += u64::from(distance(from, oldest));
            self.next_to_receive = oldest;
            self.deliver_deferred();
        }
    }

    /// Takes what came over a channel.
    pub(crate) fn receive(&mut self, now: Instant, channel: usize, octets: &[u8]) {
        if !self.open {
            self.counters.closed += 1;
            return;
        }
        let frame = match Frame::decode(octets, self.config.check_code) {
            Ok(frame) => frame,
            Err(FrameError::CheckCode) => return self.counters.check_code += 1,
            Err(_) => return self.counters.malformed += 1,
        };
        let (number, next) = (frame.sequence_number, self.next_to_receive);
        // Before anything went either way, only the first frame can begin: others are of a connection that was.
        if next == 0 && self.next_to_send == 0 && number != 0 {
            self.counters.out_of_range += 1;
            return;
        }
        let farthest = 10 * self.config.n_defer_queue as u32;
        if !is_before(number, next) && distance(next, number) > farthest {
            self.counters.out_of_range += 1;
            return;
        }
        self.diagnose(now, channel, number);
        if is_before(number, next) || self.deferred.iter().any(|waits| waits.sequence_number == number) {
            self.counters.repeated += 1;
        } else if number == next {
            self.ready.push_back(frame.payload.to_vec());
            self.next_to_receive = next.wrapping_add(1);
            self.deliver_deferred();
        } else if self.deferred.len() < self.config.n_defer_queue {
            self.counters.deferred += 1;
            let payload = frame.payload.to_vec();
            self.deferred.push(Deferred { sequence_number: number, received_at: now, payload });
        } else {
            self.counters.no_place += 1;
        }
    }

    fn deliver_deferred(&mut self) {
        while let Some(place) =
            self.deferred.iter().position(|waits| waits.sequence_number == self.next_to_receive)
        {
            self.ready.push_back(self.deferred.swap_remove(place).payload);
            self.next_to_receive = self.next_to_receive.wrapping_add(1);
        }
    }

    /// Compares channels: a frame's first reception sets the time, others within T_seq tell how far they are behind.
    ///
    /// A window knows nothing of the one before: a copy that comes after its frame's window has ended counts as a
    /// first reception of the next window, and as missed by the other channels. So at the beginning of each there are
    /// as many of these as were under way.
    fn diagnose(&mut self, now: Instant, channel: usize, number: u32) {
        if let Some(first) = self.firsts.iter_mut().rev().find(|first| first.sequence_number == number) {
            let behind = now - first.received_at;
            if behind <= self.config.t_seq && !first.seen[channel] {
                let behind_ms = u64::from(millis(behind));
                self.reports[channel].drift_ms += behind_ms;
                self.reports[channel].drift2_ms2 += behind_ms * behind_ms;
                first.seen[channel] = true;
            }
            return;
        }
        if self.firsts.len() == self.config.n_diagnosis as usize {
            for channel in 0..self.config.channels {
                let report = self.report(channel).expect("every channel has a report");
                self.full.push_back((channel, report));
            }
            self.begin_window();
        }
        let mut seen = vec![false; self.config.channels];
        seen[channel] = true;
        self.firsts.push(First { sequence_number: number, received_at: now, seen });
    }

    fn begin_window(&mut self) {
        self.firsts.clear();
        self.reports.fill(ChannelReport::default());
    }
}

#[cfg(test)]
mod tests;
