//! Both ends of a link and what lies between them: nothing is lost, and the time is that of the caller.

use std::time::Duration;

use flight::security::{End, Output, Refusal};

use crate::link::{Link, State};

/// Who wants to know when an end works.
pub trait Watch {
    /// An end begins to work.
    fn begins(&mut self, end: End);
    /// It has done its work.
    fn ends(&mut self, end: End);
}

/// Nobody.
impl Watch for () {
    fn begins(&mut self, _end: End) {}
    fn ends(&mut self, _end: End) {}
}

/// Both ends.
pub struct Pair {
    /// Sends telecommands.
    pub ground: Box<dyn Link>,
    /// Takes them.
    pub space: Box<dyn Link>,
    /// The time at both.
    pub now: Duration,
}

/// Datagrams that one end sent before the other had a say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Who sent it.
    pub from: End,
    /// The datagrams.
    pub datagrams: Vec<Vec<u8>>,
    /// Whether the sender could send messages when it was sent.
    pub established: bool,
}

/// What went over a link until both ends had nothing more to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// All flights, in order.
    pub flights: Vec<Flight>,
    /// Messages that came to space.
    pub at_space: Vec<Vec<u8>>,
    /// Messages that came to ground.
    pub at_ground: Vec<Vec<u8>>,
    /// Datagrams that were refused.
    pub refused: Vec<Refusal>,
}

impl Traffic {
    /// Octets and datagrams that an end sent.
    #[must_use]
    pub fn sent(&self, end: End) -> (usize, usize) {
        let of = self.flights.iter().filter(|flight| flight.from == end).flat_map(|flight| &flight.datagrams);
        of.fold((0, 0), |(octets, datagrams), datagram| (octets + datagram.len(), datagrams + 1))
    }

    /// Flights of space that came to ground before it knew who space is, which are round trips.
    #[must_use]
    pub fn round_trips(&self) -> usize {
        let ready = self.flights.iter().position(|flight| flight.from == End::Ground && flight.established);
        let before = &self.flights[..ready.unwrap_or(self.flights.len())];
        before.iter().filter(|flight| flight.from == End::Space).count()
    }

    /// All datagrams of an end.
    pub fn datagrams(&self, end: End) -> impl Iterator<Item = &Vec<u8>> {
        self.flights.iter().filter(move |flight| flight.from == end).flat_map(|flight| &flight.datagrams)
    }
}

/// Flights of a pair that does not come to rest, which would be a mistake of a protocol.
const MOST_FLIGHTS: usize = 1000;

impl Pair {
    /// Both ends at time zero.
    #[must_use]
    pub fn new(ground: Box<dyn Link>, space: Box<dyn Link>) -> Self {
        Self { ground, space, now: Duration::ZERO }
    }

    /// An end.
    pub fn end(&mut self, end: End) -> &mut dyn Link {
        match end {
            End::Ground => self.ground.as_mut(),
            End::Space => self.space.as_mut(),
        }
    }

    /// Carries datagrams until both ends have nothing more to say at this time.
    pub fn settle(&mut self, watch: &mut dyn Watch) -> Traffic {
        self.carry(watch, &mut || false)
    }

    /// As [`settle`](Self::settle), but datagrams of which `lost` says so never come.
    pub fn settle_losing(&mut self, mut lost: impl FnMut() -> bool) -> Traffic {
        self.carry(&mut (), &mut lost)
    }

    fn carry(&mut self, watch: &mut dyn Watch, lost: &mut dyn FnMut() -> bool) -> Traffic {
        let mut traffic = Traffic::default();
        let mut from = End::Ground;
        let mut quiet = 0;
        while quiet < 2 && traffic.flights.len() < MOST_FLIGHTS {
            let now = self.now;
            let sender = self.end(from);
            watch.begins(from);
            if sender.next_timeout().is_some_and(|due| due <= now) {
                sender.handle_timeout(now);
            }
            let mut datagrams = Vec::new();
            let mut messages = Vec::new();
            while let Some(output) = sender.poll() {
                match output {
                    Output::Datagram(datagram) => datagrams.push(datagram),
                    Output::Message(message) => messages.push(message),
                }
            }
            watch.ends(from);
            let established = matches!(sender.state(), State::Established { .. });
            let (other, came) = match from {
                End::Ground => (End::Space, &mut traffic.at_ground),
                End::Space => (End::Ground, &mut traffic.at_space),
            };
            came.append(&mut messages);
            quiet = if datagrams.is_empty() { quiet + 1 } else { 0 };
            watch.begins(other);
            for datagram in &datagrams {
                if lost() {
                    continue;
                }
                if let Err(refusal) = self.end(other).process(datagram, now) {
                    traffic.refused.push(refusal);
                }
            }
            watch.ends(other);
            if !datagrams.is_empty() {
                traffic.flights.push(Flight { from, datagrams, established });
            }
            from = other;
        }
        traffic
    }

    /// Lets time pass until both ends are quiet up to `until`.
    pub fn pass(&mut self, until: Duration, watch: &mut dyn Watch) -> Traffic {
        let mut all = self.settle(watch);
        for _ in 0..MOST_FLIGHTS {
            let due = [self.ground.next_timeout(), self.space.next_timeout()].into_iter().flatten().min();
            let Some(due) = due.filter(|due| *due <= until) else { break };
            self.now = self.now.max(due);
            let more = self.settle(watch);
            all.flights.extend(more.flights);
            all.at_space.extend(more.at_space);
            all.at_ground.extend(more.at_ground);
            all.refused.extend(more.refused);
        }
        self.now = self.now.max(until);
        all
    }
}
