//! The ground benchmark, without sockets and clocks: messages and the time go in, messages and a wake-up time come out,
//! and in the end a [`Report`].
//!
//! It needs nothing but CI_LAB and TO_LAB, so that a real cFS answers it as the [`Node`](crate::node::Node) does:
//!
//! * **echo**: telemetry messages of the stated size go to Command Ingest. The bus routes them by their ids, as it
//!   routes all messages, to Telemetry Output, which sends them back. Each round trip is timed by one clock.
//! * **data**: the study's commands with a payload for the Benchmark module. Nobody answers them; those that arrived are
//!   the difference of CI_LAB's counter before and after.
//! * **series**: the study's start command; the packets that the Benchmark module publishes then are counted and the
//!   time between them is measured. It needs that module.

mod report;

pub use report::{Report, Row, Spread};

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::dictionary::{self, IngestHousekeeping, benchmark, ingest};
use crate::message::{self, Message, MessageError, MessageId};
use crate::time::{FlightTime, Subseconds};

/// Octets of an echo's payload that say which one it is: mark of the run, row, number.
const LABEL_OCTETS: usize = 12;

/// Messages of one id that may wait in TO_LAB's pipe: as many as its command can say.
const LIMIT: u8 = u8::MAX;

/// Time after which housekeeping that did not come is asked for again: longer than a TO_LAB that runs twice a second
/// takes.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Messages that come back.
    Echo {
        /// Their id: telemetry's, and of nobody on board.
        id: MessageId,
    },
    /// Commands with a payload for the Benchmark module.
    Data,
    /// One command, upon which the Benchmark module publishes its packets.
    Series,
}

impl Work {
    /// Its name, as the program's argument has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo { .. } => "echo",
            Self::Data => "data",
            Self::Series => "series",
        }
    }
}

/// One row of the result: messages of one size with one gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Octets of each payload.
    pub payload_octets: usize,
    /// Time between two messages.
    pub gap: Duration,
}

/// What a benchmark does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is sent.
    pub work: Work,
    /// Rows, done in this order; for a series one, of which only the gap counts.
    pub steps: Vec<Step>,
    /// Messages of each row.
    pub messages: u32,
    /// Where telemetry is to be sent to: ground's address as the spacecraft sees it.
    pub here: Ipv4Addr,
    /// The format of telemetry's sub-seconds.
    pub subseconds: Subseconds,
    /// For how long something that does not come is waited for.
    pub wait: Duration,
    /// Marks this run's messages, so that a former run's are told from them.
    pub mark: u32,
}

/// Why a benchmark cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A payload has no room for what tells echoes from each other.
    #[error("the payload of an echo has {LABEL_OCTETS} octets or more, not {octets}")]
    Payload {
        /// Octets asked for.
        octets: usize,
    },
    /// Nothing to do.
    #[error("a benchmark has one message and one payload size or more")]
    Empty,
    /// A message cannot be written.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// Telemetry Output does not answer.
    #[error(
        "no housekeeping of CI_LAB came within {} ms: is the flight software there, does its telemetry reach {here}, and do both ends have the same security?",
        wait.as_millis()
    )]
    NoTelemetry {
        /// Where telemetry was asked to be sent to.
        here: Ipv4Addr,
        /// For how long it was waited for.
        wait: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Asks for telemetry until the first housekeeping comes.
    Open { ask: Duration, until: Duration },
    /// Sends what is due.
    Send { due: Duration },
    /// Waits for what is missing.
    Wait { until: Duration },
    /// Asks for housekeeping until it has counted every message of the row.
    Count { ask: Duration, until: Duration },
    /// Has a result.
    Done,
}

/// A benchmark under way. Times are since any instant and never go back.
#[derive(Clone, Debug)]
pub struct Bench {
    plan: Plan,
    phase: Phase,
    ready: VecDeque<Vec<u8>>,
    rows: Vec<Row>,
    /// When each message left, by row: late echoes are of a row before.
    left: Vec<Vec<Duration>>,
    /// CI_LAB's counter of good datagrams when the row began, as it was seen last, and requests sent in between.
    ingested: u32,
    seen: u32,
    requests: u32,
    /// The last packet of a series: its sequence count and when it came.
    last_packet: Option<(u16, Duration)>,
    error: Option<BenchError>,
}

impl Bench {
    /// A benchmark that begins at `now`, by asking TO_LAB for telemetry.
    ///
    /// # Errors
    /// If the plan is impossible.
    pub fn new(plan: Plan, now: Duration) -> Result<Self, BenchError> {
        if plan.messages == 0 || plan.steps.is_empty() {
            return Err(BenchError::Empty);
        }
        // What cannot be written is found now and not in the middle.
        for step in &plan.steps {
            plan.message(0, *step, 0, now)?;
        }
        Ok(Self {
            phase: Phase::Open { ask: now, until: now + plan.wait },
            ready: VecDeque::new(),
            rows: Vec::new(),
            left: Vec::new(),
            ingested: 0,
            seen: 0,
            requests: 0,
            last_packet: None,
            error: None,
            plan,
        })
    }

    /// The next message for Command Ingest; to be asked until there is none.
    pub fn poll(&mut self, now: Duration) -> Option<Vec<u8>> {
        if self.ready.is_empty() {
            self.advance(now);
        }
        self.ready.pop_front()
    }

    /// When [`poll`](Self::poll) may have something without a message before it; none when the benchmark is over.
    #[must_use]
    pub fn next_wake(&self) -> Option<Duration> {
        match self.phase {
            Phase::Open { ask, until } | Phase::Count { ask, until } => Some(ask.min(until)),
            Phase::Send { due: at } | Phase::Wait { until: at } => Some(at),
            Phase::Done => None,
        }
    }

    /// The result, once there is one; an error if the flight software did not answer.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Report, BenchError>> {
        if self.phase != Phase::Done {
            return None;
        }
        Some(match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(Report { work: self.plan.work.name(), rows: self.rows.clone() }),
        })
    }

    fn advance(&mut self, now: Duration) {
        match self.phase {
            Phase::Open { until, .. } if until <= now => {
                self.error = Some(BenchError::NoTelemetry { here: self.plan.here, wait: self.plan.wait });
                self.phase = Phase::Done;
            }
            Phase::Open { ask, until } if ask <= now => {
                self.ready.extend(self.plan.opening());
                self.phase = Phase::Open { ask: now + ASK_AGAIN, until };
            }
            Phase::Send { due } if due <= now => self.send(due, now),
            Phase::Wait { until } | Phase::Count { until, .. } if until <= now => self.next_row(now),
            Phase::Count { ask, until } if ask <= now => {
                self.requests += 1;
                self.ready.push_back(housekeeping());
                self.phase = Phase::Count { ask: now + ASK_AGAIN, until };
            }
            _ => {}
        }
    }

    /// Sends a message of the row under way, and says when the next one is due or what is waited for.
    fn send(&mut self, due: Duration, now: Duration) {
        let Some(place) = self.rows.len().checked_sub(1) else { return };
        let (row, left) = (&mut self.rows[place], &mut self.left[place]);
        let step = self.plan.steps[place];
        // Written once before, when the benchmark was made.
        let Ok(message) = self.plan.message(place, step, left.len(), now) else { return };
        self.ready.push_back(message);
        left.push(now);
        let all = left.len() >= self.plan.messages as usize;
        let until = now + self.plan.wait;
        self.phase = match self.plan.work {
            Work::Series => {
                row.sent = self.plan.messages;
                Phase::Wait { until: until + step.gap }
            }
            Work::Echo { .. } | Work::Data => {
                row.sent += 1;
                match (all, self.plan.work) {
                    (false, _) => Phase::Send { due: due + step.gap },
                    (true, Work::Data) => Phase::Count { ask: now, until },
                    (true, _) => Phase::Wait { until },
                }
            }
        };
    }

    /// Ends the row under way and begins the next one, if there is one.
    fn next_row(&mut self, now: Duration) {
        let Some(step) = self.plan.steps.get(self.rows.len()) else {
            self.phase = Phase::Done;
            return;
        };
        self.rows.push(Row::new(*step));
        self.left.push(Vec::new());
        (self.ingested, self.requests) = (self.seen, 0);
        self.last_packet = None;
        self.phase = Phase::Send { due: now };
    }

    /// Takes telemetry. What is of no use here is left out: others' telemetry comes too.
    pub fn message_in(&mut self, octets: &[u8], now: Duration) {
        let Ok(Ok(telemetry)) = Message::parse(octets).map(|message| message.telemetry(self.plan.subseconds))
        else {
            return;
        };
        match (self.plan.work, telemetry.id) {
            (_, ingest::HOUSEKEEPING) => self.housekeeping_in(telemetry.payload, now),
            (Work::Echo { id }, other) if id == other => self.echo_in(telemetry.payload, now),
            (Work::Series, benchmark::DATA) => {
                self.packet_in(telemetry.sequence, telemetry.payload.len(), now);
            }
            _ => {}
        }
    }

    fn housekeeping_in(&mut self, payload: &[u8], now: Duration) {
        let Some(counters) = IngestHousekeeping::decode(payload) else { return };
        self.seen = counters.ingest_packets;
        match (self.phase, self.rows.last_mut()) {
            (Phase::Open { .. }, _) => self.next_row(now),
            (Phase::Count { .. }, Some(row)) => {
                // The requests were counted too. Where one was lost, a message more arrived than this says.
                let arrived = self.seen.wrapping_sub(self.ingested);
                row.received = row.received.max(arrived.saturating_sub(self.requests).min(row.sent));
                if row.received == row.sent {
                    self.next_row(now);
                }
            }
            _ => {}
        }
    }

    fn echo_in(&mut self, payload: &[u8], now: Duration) {
        let Some((mark, place, number)) = read_label(payload) else { return };
        let left = self.left.get(place).and_then(|left| left.get(number)).filter(|_| mark == self.plan.mark);
        let Some(left) = left else { return };
        let row = &mut self.rows[place];
        if row.times.len() <= number {
            row.times.resize(number + 1, None);
        }
        if row.times[number].is_some() {
            row.duplicates += 1;
            return;
        }
        row.times[number] = Some(now.saturating_sub(*left));
        row.received += 1;
        self.end_if_whole(place, now);
    }

    fn packet_in(&mut self, sequence: u16, payload_octets: usize, now: Duration) {
        let Phase::Wait { .. } = self.phase else { return };
        let Some(place) = self.rows.len().checked_sub(1) else { return };
        let row = &mut self.rows[place];
        if self.last_packet.is_some_and(|(last, _)| last == sequence) {
            row.duplicates += 1;
            return;
        }
        row.step.payload_octets = payload_octets;
        row.received += 1;
        // The time since the packet before it, if that one came.
        let before = self.last_packet.filter(|(last, _)| (last + 1) & 0x3FFF == sequence);
        row.times.push(before.map(|(_, came)| now.saturating_sub(came)));
        self.last_packet = Some((sequence, now));
        self.phase = Phase::Wait { until: now + row.step.gap + self.plan.wait };
        self.end_if_whole(place, now);
    }

    /// Goes on as soon as nothing is missing from the row under way.
    fn end_if_whole(&mut self, place: usize, now: Duration) {
        let current = place + 1 == self.rows.len() && matches!(self.phase, Phase::Wait { .. });
        if current && self.rows[place].received >= self.rows[place].sent {
            self.next_row(now);
        }
    }
}

impl Plan {
    /// The messages that make TO_LAB send what is needed, and a request of which the answer tells that it does.
    fn opening(&self) -> Vec<Vec<u8>> {
        let mut messages = vec![dictionary::enable_output(self.here)];
        messages.push(dictionary::add_packet(ingest::HOUSEKEEPING, LIMIT));
        match self.work {
            Work::Echo { id } => messages.push(dictionary::add_packet(id, LIMIT)),
            Work::Series => messages.push(dictionary::add_packet(benchmark::DATA, LIMIT)),
            Work::Data => {}
        }
        messages.push(housekeeping());
        messages
    }

    /// A message of a row.
    fn message(&self, place: usize, step: Step, number: usize, now: Duration) -> Result<Vec<u8>, BenchError> {
        let octets = step.payload_octets;
        Ok(match self.work {
            Work::Echo { .. } if octets < LABEL_OCTETS => return Err(BenchError::Payload { octets }),
            Work::Echo { id } => {
                let time = FlightTime::after_start(now);
                let payload = label(self.mark, place, number, octets);
                message::telemetry(id, number as u16 & 0x3FFF, time, self.subseconds, &payload)?
            }
            Work::Data => message::command(benchmark::COMMAND, 0, benchmark::TAKE_DATA, &vec![1; octets])?,
            Work::Series => dictionary::bare(benchmark::COMMAND, benchmark::START)?,
        })
    }
}

/// The request for CI_LAB's housekeeping.
fn housekeeping() -> Vec<u8> {
    dictionary::bare(ingest::SEND_HOUSEKEEPING, 0).expect("constants of the dictionary")
}

/// The payload of an echo: label, then octets that say their place.
fn label(mark: u32, row: usize, number: usize, octets: usize) -> Vec<u8> {
    let mut payload = Vec::with_capacity(octets);
    for word in [mark, row as u32, number as u32] {
        payload.extend(word.to_le_bytes());
    }
    payload.extend((LABEL_OCTETS..octets).map(|place| place as u8));
    payload
}

fn read_label(payload: &[u8]) -> Option<(u32, usize, usize)> {
    let (label, _) = payload.split_first_chunk::<LABEL_OCTETS>()?;
    let word = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|place| label[from + place]));
    Some((word(0), word(4) as usize, word(8) as usize))
}
