//! The safety and retransmission layer of one end: numbers, supervision in time, retransmission.

mod checks;
mod output;
pub(crate) mod table;

use std::collections::VecDeque;
use std::time::Duration;

use crate::config::{Config, Role, Supervision};
use crate::diagnostics::{ConnectionReport, Windowed};
use crate::event::{Ending, Event, State};
use crate::message::{Body, Disconnection, Message, Parameters};
use crate::reason::DisconnectReason;
use crate::seeds::Seeds;
use crate::serial::{distance, is_before};
use crate::time::{Instant, millis};
use table::{Act, Input, Then};

/// A message that was sent and is not confirmed.
#[derive(Clone, Debug)]
struct Sent {
    sequence_number: u32,
    /// What it carries for the application; nothing else is ever sent again.
    messages: Option<Vec<Vec<u8>>>,
}

/// One end of a connection. Messages go out through [`poll_output`](Self::poll_output).
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    config: Config,
    seeds: Seeds,
    state: State,
    /// SN_T: the next number to send.
    sn_t: u32,
    /// SN_R: the next number to receive.
    sn_r: u32,
    /// CS_T: the last number that was processed, to be confirmed.
    cs_t: u32,
    /// The last CS_T that went out.
    cs_sent: u32,
    /// CS_R: the last own number that the peer confirmed.
    cs_r: u32,
    /// TS_R: the peer's time stamp of the last message that was processed.
    ts_r: u32,
    /// CTS_R: the own time stamp that the last timely message confirmed.
    cts_r: u32,
    /// When the connection is given up.
    deadline: Option<Instant>,
    /// When a heartbeat is due.
    heartbeat_at: Option<Instant>,
    peer_n_send_max: u16,
    sent: VecDeque<Sent>,
    waiting: VecDeque<Vec<u8>>,
    output: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
    diagnosis: Windowed,
    ending: Option<Ending>,
}

impl Connection {
    pub(crate) fn new(config: Config, seeds: Seeds) -> Self {
        Self {
            diagnosis: Windowed::new(config.n_diag_window, config.t_max),
            peer_n_send_max: config.n_send_max,
            config,
            seeds,
            state: State::Closed,
            sn_t: 0,
            sn_r: 0,
            cs_t: 0,
            cs_sent: 0,
            cs_r: 0,
            ts_r: 0,
            cts_r: 0,
            deadline: None,
            heartbeat_at: None,
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
            output: VecDeque::new(),
            events: VecDeque::new(),
            ending: None,
        }
    }

    pub(crate) const fn state(&self) -> State {
        self.state
    }

    pub(crate) fn report(&self) -> ConnectionReport {
        self.diagnosis.report()
    }

    pub(crate) fn poll_output(&mut self) -> Option<Vec<u8>> {
        self.output.pop_front()
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        [self.deadline, self.heartbeat_at].into_iter().flatten().min()
    }

    /// Application messages that the peer has not confirmed, of the connection that is or of the one that was.
    pub(crate) fn unconfirmed(&self) -> usize {
        let sent: usize = self.sent.iter().filter_map(|sent| sent.messages.as_ref()).map(Vec::len).sum();
        sent + self.waiting.len()
    }

    /// Whether a message of the application would find place.
    pub(crate) fn has_place(&self) -> bool {
        self.waiting.len() < usize::from(self.config.n_send_max)
    }

    pub(crate) fn open(&mut self, now: Instant) {
        self.input(now, Input::Open, None);
    }

    pub(crate) fn close(&mut self, now: Instant, detail: u16) {
        self.input_with_detail(now, Input::Close, None, detail);
    }

    /// The message waits for its turn; in a state that does not allow it, the table says what becomes of the connection.
    pub(crate) fn send(&mut self, now: Instant, message: Vec<u8>) {
        if self.state.is_open() {
            self.waiting.push_back(message);
        }
        self.input(now, Input::Send, None);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.input(now, Input::TimedOut, None);
        } else if self.heartbeat_at.is_some_and(|due| due <= now) {
            self.heartbeat_at = Some(now + self.config.t_h);
            self.input(now, Input::HeartbeatDue, None);
        }
    }

    /// Takes the octets of a message; what fails a check is counted and dropped.
    pub(crate) fn receive(&mut self, now: Instant, octets: &[u8]) {
        if self.state == State::Closed {
            self.diagnosis.errors().ignored += 1;
        } else if let Some((message, input)) = self.check(octets) {
            self.input(now, input, Some(&message));
        }
    }

    fn input(&mut self, now: Instant, input: Input, message: Option<&Message>) {
        self.input_with_detail(now, input, message, 0);
    }

    fn input_with_detail(&mut self, now: Instant, input: Input, message: Option<&Message>, detail: u16) {
        let (act, next) = table::step(self.config.role, self.state, input);
        let next = match act {
            Act::Ignore => {
                self.diagnosis.errors().ignored += u64::from(message.is_some());
                next
            }
            Act::Open => {
                self.reset(now);
                next
            }
            Act::Close(reason) => self.end(now, Disconnection { detail, reason }, message),
            Act::Drop => {
                self.ending = Some(self.ended_without_a_word(message));
                next
            }
            Act::Process(then) => {
                let message = message.expect("only messages are processed");
                if self.process(now, message) {
                    self.then(now, then);
                    next
                } else {
                    let reason = DisconnectReason::Timeout;
                    self.end(now, Disconnection { detail: 0, reason }, Some(message))
                }
            }
            Act::RetransmitOutOfSequence { request } => {
                let message = message.expect("only messages ask for retransmission");
                self.confirm(message.header.confirmed_sequence_number);
                self.retransmit(now, request);
                next
            }
            Act::Request => {
                self.transmit(now, Body::RetransmissionRequest);
                next
            }
            Act::Send => {
                self.flush(now);
                next
            }
            Act::Heartbeat => {
                self.transmit(now, Body::Heartbeat);
                next
            }
        };
        self.enter(next);
    }

    fn enter(&mut self, next: State) {
        if next == self.state {
            return;
        }
        self.state = next;
        self.events.push_back(Event::State(next));
        if next == State::Closed {
            (self.deadline, self.heartbeat_at) = (None, None);
            self.events.push_back(Event::Ended(self.ending.take().expect("every way to Closed says how")));
        }
    }

    /// Fresh numbers for a new connection; a client sends its request.
    fn reset(&mut self, now: Instant) {
        self.diagnosis = Windowed::new(self.config.n_diag_window, self.config.t_max);
        self.peer_n_send_max = self.config.n_send_max;
        self.sn_t = self.seeds.sequence_number();
        (self.sn_r, self.cs_t, self.cs_sent, self.cs_r, self.ts_r) = (0, 0, 0, 0, 0);
        self.sent.clear();
        self.waiting.clear();
        if self.config.role == Role::Client {
            self.cts_r = self.stamp(now);
            self.deadline = Some(now + self.config.t_max);
            self.transmit(now, Body::ConnectionRequest(self.parameters()));
        }
    }

    const fn parameters(&self) -> Parameters {
        Parameters { version: self.config.version, n_send_max: self.config.n_send_max }
    }

    /// Sends DiscReq; if a message is the cause, it is confirmed.
    fn end(&mut self, now: Instant, disconnection: Disconnection, cause: Option<&Message>) -> State {
        if let Some(message) = cause {
            self.cs_t = message.header.sequence_number;
        }
        self.transmit(now, Body::DisconnectionRequest(disconnection));
        self.ending = Some(Ending::Here(disconnection));
        State::Closed
    }

    /// How a connection has ended that this end closes without a word.
    fn ended_without_a_word(&mut self, message: Option<&Message>) -> Ending {
        let Some(Message { header, body: Body::DisconnectionRequest(disconnection) }) = message else {
            return Ending::Unused;
        };
        // Where the peer's application was the cause, the peer has processed what it confirms. Any other DiscReq
        // confirms the message that was its cause, and that one, and others before it, may never have been taken.
        if disconnection.reason.is_of_the_application() {
            self.confirm(header.confirmed_sequence_number);
        }
        Ending::There(*disconnection)
    }

    /// Regular processing ([3]); false if the message is too old.
    fn process(&mut self, now: Instant, message: &Message) -> bool {
        let header = &message.header;
        let local = self.stamp(now);
        match &message.body {
            Body::Heartbeat | Body::Data(_) | Body::RetransmittedData(_) => {
                if !self.supervise(now, header.confirmed_time_stamp_ms) {
                    return false;
                }
                self.confirm(header.confirmed_sequence_number);
            }
            Body::ConnectionRequest(parameters) => {
                self.peer_n_send_max = parameters.n_send_max;
                self.cs_r = self.sn_t.wrapping_sub(1);
                self.cts_r = local;
                self.deadline = Some(now + self.config.t_max);
            }
            Body::ConnectionResponse(parameters) => {
                self.peer_n_send_max = parameters.n_send_max;
                self.confirm(header.confirmed_sequence_number);
            }
            _ => self.confirm(header.confirmed_sequence_number),
        }
        self.sn_r = header.sequence_number.wrapping_add(1);
        self.cs_t = header.sequence_number;
        self.ts_r = header.time_stamp_ms;
        if let Body::Data(messages) | Body::RetransmittedData(messages) = &message.body {
            self.events.extend(messages.iter().cloned().map(Event::Message));
        }
        true
    }

    /// Adaptive supervision: what is left of T_max after the round trip that `cts` tells; false if nothing is.
    fn supervise(&mut self, now: Instant, cts: u32) -> bool {
        let (local, t_max) = (self.stamp(now), millis(self.config.t_max));
        let round_trip = distance(cts, local).saturating_add(millis(self.config.clock_granularity));
        if round_trip > t_max {
            self.diagnosis.errors().late += 1;
            return false;
        }
        let left = t_max - round_trip;
        let left = match self.config.supervision {
            Supervision::FromReception => left,
            Supervision::FromConfirmation => left.saturating_sub(distance(cts, local)),
        };
        self.deadline = Some(now + Duration::from_millis(left.into()));
        let report = self.diagnosis.timely(round_trip, distance(self.cts_r, local));
        self.events.extend(report.map(Event::ConnectionDiagnosis));
        self.cts_r = cts;
        true
    }

    /// The peer has everything up to `number`.
    fn confirm(&mut self, number: u32) {
        self.cs_r = number;
        while self.sent.front().is_some_and(|sent| !is_before(number, sent.sequence_number)) {
            self.sent.pop_front();
        }
    }

    fn then(&mut self, now: Instant, then: Then) {
        match then {
            Then::Respond => self.transmit(now, Body::ConnectionResponse(self.parameters())),
            Then::Heartbeat => self.transmit(now, Body::Heartbeat),
            Then::Retransmit => self.retransmit(now, false),
            // What goes out confirms; if nothing does and MWA messages wait for it, a heartbeat has to.
            Then::Done => {
                if !self.flush(now) && distance(self.cs_sent, self.cs_t) >= self.config.mwa.into() {
                    self.transmit(now, Body::Heartbeat);
                }
            }
        }
    }
}
