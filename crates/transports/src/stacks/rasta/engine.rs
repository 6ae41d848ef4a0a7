//! Drives one end of a connection: frames and the time go in, frames, messages and what RaSTA tells its user come out.
//! The thread of the application does it whenever it waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rasta::{DisconnectReason, Disconnection, Ending, Endpoint, ErrorCounters, Event, Instant, State};

use super::channel::{Channels, Pool};
use crate::error::Failure;
use crate::session::Session;
use crate::transport::Signal;

/// One end with its channels.
pub(super) struct Engine {
    pub(super) session: Arc<Session>,
    pub(super) endpoint: Endpoint,
    /// There until the end.
    channels: Option<Box<dyn Channels>>,
    home: Pool,
    /// The time as last seen.
    now_ns: i64,
    /// Messages that have come and when, for the application to take.
    inbox: VecDeque<(Vec<u8>, i64)>,
    ending: Option<Ending>,
    signals: Vec<Signal>,
    /// Errors that a signal has named already.
    told: ErrorCounters,
    /// What the crate does not count itself.
    counts: BTreeMap<String, u64>,
}

impl Engine {
    pub(super) fn new(
        session: &Arc<Session>,
        endpoint: Endpoint,
        channels: Box<dyn Channels>,
        home: Pool,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            endpoint,
            channels: Some(channels),
            home,
            now_ns: session.ctx.clock.now_ns(),
            inbox: VecDeque::new(),
            ending: None,
            signals: Vec::new(),
            told: ErrorCounters::default(),
            counts: BTreeMap::new(),
        }
    }

    /// Opens from the sender's end. A request that is not answered within T_max ends the attempt, and RaSTA repeats
    /// none by itself: the next attempt is made here, until the limit of the run.
    pub(super) fn connect(&mut self) -> Result<(), Failure> {
        let doing = format!("{} did not answer the connection request", self.session.ctx.destination);
        while !self.opened(&doing)? {
            match self.ending {
                Some(Ending::Here(Disconnection { reason: DisconnectReason::Timeout, .. })) => {}
                _ => return Err(self.broken("connecting")),
            }
            self.tell("timed out: RaSTA's connection request was not answered within T_max".to_owned());
            self.count("opened_again", 1);
        }
        Ok(())
    }

    /// Waits at the receiver's end until a connection is up. One that does not get so far ends by itself, and the next
    /// one is waited for.
    pub(super) fn accept(&mut self) -> Result<(), Failure> {
        while !self.opened("nobody connected to the receiver")? {
            self.tell(format!("RaSTA's connection was not opened: {}", self.said()));
        }
        Ok(())
    }

    /// Opens once, and waits until the connection is up or over; whether it is up.
    fn opened(&mut self, doing: &str) -> Result<bool, Failure> {
        self.ending = None;
        self.told = ErrorCounters::default();
        let now = self.look_at_clock();
        self.endpoint.open(now).map_err(|error| Failure::new(error.to_string()))?;
        self.flush()?;
        while !self.endpoint.state().is_open() && self.ending.is_none() {
            self.turn(i64::MAX, doing)?;
        }
        Ok(self.ending.is_none())
    }

    /// The time, after the caller may have waited elsewhere.
    pub(super) fn look_at_clock(&mut self) -> Instant {
        self.now_ns = self.session.ctx.clock.now_ns();
        self.now()
    }

    /// The time of the run as RaSTA counts it, which is never before the run's zero.
    pub(super) fn now(&self) -> Instant {
        Instant::from_nanos(self.now_ns.max(0) as u64)
    }

    pub(super) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// The next message that has come, and when it did.
    pub(super) fn next_message(&mut self) -> Option<(Vec<u8>, i64)> {
        self.inbox.pop_front()
    }

    pub(super) fn ending(&self) -> Option<Ending> {
        self.ending
    }

    pub(super) fn transport_established_ns(&self) -> Option<i64> {
        self.channels.as_ref().and_then(|channels| channels.transport_established_ns())
    }

    /// Sends what is to leave, and takes note of what RaSTA tells.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        while let Some(transmit) = self.endpoint.poll_transmit() {
            if let Some(channels) = &mut self.channels {
                channels.send(transmit.channel, &transmit.frame)?;
            }
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.note(event);
        }
        Ok(())
    }

    fn note(&mut self, event: Event) {
        match event {
            Event::Message(message) => self.inbox.push_back((message, self.now_ns)),
            Event::State(State::RetransmissionRequested) => {
                self.count("retransmissions_requested", 1);
                let errors = self.new_errors();
                self.tell(format!("RaSTA lacks a message and asked for it again ({errors})"));
            }
            Event::Ended(ending) => self.ending = Some(ending),
            Event::ConnectionDiagnosis(report) if report.errors != self.told => {
                let errors = self.new_errors();
                self.tell(format!("RaSTA's diagnosis of {} messages: {errors}", report.messages));
            }
            Event::ChannelDiagnosis { channel, report } => {
                let missed = u64::from(report.missed);
                self.count(&format!("channel_{}_missed", channel + 1), missed);
                if missed > 0 {
                    let frames = report.frames;
                    self.tell(format!(
                        "RaSTA's diagnosis of channel {}: {missed} of {frames} frames did not come",
                        channel + 1
                    ));
                }
            }
            _ => {}
        }
    }

    /// What has been counted since it was last told, as part of a sentence.
    fn new_errors(&mut self) -> String {
        let errors = self.endpoint.connection_report().errors;
        let before = self.told.named();
        self.told = errors;
        let risen = errors.named().into_iter().zip(before).map(|((name, now), (_, then))| (name, now - then));
        let risen: Vec<_> =
            risen.filter(|(_, more)| *more > 0).map(|(name, more)| format!("{name} {more}")).collect();
        if risen.is_empty() { "no error".to_owned() } else { risen.join(", ") }
    }

    /// Notes that RaSTA told its user something now.
    pub(super) fn tell(&mut self, sentence: String) {
        self.signals.push(Signal { t_ns: self.now_ns, sentence });
    }

    pub(super) fn take_signals(&mut self) -> Vec<Signal> {
        std::mem::take(&mut self.signals)
    }

    fn count(&mut self, name: &str, more: u64) {
        if more > 0 {
            *self.counts.entry(name.to_owned()).or_default() += more;
        }
    }

    /// What was counted; what is absent is none.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = self.counts.clone();
        let mut add = |name: String, more: u64| {
            if more > 0 {
                *counts.entry(name).or_default() += more;
            }
        };
        for (name, count) in self.endpoint.connection_report().errors.named() {
            add(format!("errors_{name}"), count);
        }
        for (name, count) in self.endpoint.frame_counters().named() {
            add(format!("frames_{name}"), count);
        }
        counts
    }

    /// Waits for a frame, for something that is due or for `until_ns`, whichever is first, and lets RaSTA act on it.
    ///
    /// # Errors
    /// A sentence: the other half failed, the channel broke, or the limit was reached while `doing`.
    pub(super) fn turn(&mut self, until_ns: i64, doing: &str) -> Result<(), Failure> {
        self.flush()?;
        let due = self.endpoint.poll_timeout();
        let due_ns = due.map_or(i64::MAX, |at| i64::try_from(at.as_nanos()).unwrap_or(i64::MAX));
        let wake_ns = due_ns.min(until_ns);
        let ready = self.channels.as_ref().is_some_and(|channels| channels.is_ready());
        if ready || wake_ns > self.now_ns {
            if let Some(channels) = self.channels.as_ref().filter(|_| !ready) {
                let (fds, events) = channels.waits();
                self.session.wait_any(&fds, events, self.now_ns, wake_ns, doing)?;
            }
            let now = self.look_at_clock();
            let endpoint = &mut self.endpoint;
            if let Some(channels) = &mut self.channels {
                channels.receive(&mut |channel, frame| endpoint.handle(now, channel, frame))?;
            }
        } else {
            self.session.now_before_limit(doing)?;
        }
        if due_ns <= self.now_ns {
            self.endpoint.handle_timeout(self.now());
        }
        self.flush()
    }

    /// Ends what is below, after RaSTA itself has ended in order.
    pub(super) fn end_channels(&mut self) {
        if let Some(channels) = &mut self.channels {
            channels.end();
        }
    }

    /// The sentence for a connection that ended before its work was done.
    pub(super) fn broken(&self, doing: &str) -> Failure {
        if let Some(failure) = self.session.failure() {
            return failure;
        }
        let said = self.said();
        match self.ending {
            Some(Ending::Here(Disconnection { reason: DisconnectReason::Timeout, .. })) => {
                Failure::TimedOut(format!("timed out: RaSTA ended the connection while {doing}: {said}"))
            }
            Some(Ending::There(_)) => Failure::Reset(format!(
                "reset: the other side ended the RaSTA connection while {doing}: {said}"
            )),
            _ => Failure::new(format!("RaSTA ended the connection while {doing}: {said}")),
        }
    }

    /// Why the connection ended.
    fn said(&self) -> String {
        match self.ending {
            Some(Ending::Here(told) | Ending::There(told)) => told.reason.to_string(),
            Some(Ending::Unused) => "nobody had asked for it".to_owned(),
            None => "it is not over".to_owned(),
        }
    }
}

impl Drop for Engine {
    /// Says good-bye, if nobody has yet, and gives the channels back. What goes wrong then is no failure of the flow.
    fn drop(&mut self) {
        if self.endpoint.state() != State::Closed && !std::thread::panicking() {
            let now = self.look_at_clock();
            self.endpoint.close(now, 0);
            let _ = self.flush();
        }
        if let Some(channels) = self.channels.take() {
            self.home.give_back(channels);
        }
    }
}
