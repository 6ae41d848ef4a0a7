//! A software bus as cFE's: messages are routed by their ids into bounded pipes; what finds no room is dropped and
//! counted.
//!
//! Facts from nasa/cFE, modules/sb (`fsw/src/cfe_sb_api.c`): the limit of a subscription is checked first, the depth of
//! the pipe after it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use crate::dictionary::BusHousekeeping;
use crate::message::{Message, MessageError, MessageId, telemetry};
use crate::time::{FlightTime, Subseconds};

/// A pipe of a [`Bus`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipeId(usize);

#[derive(Clone, Debug, Default)]
struct Pipe {
    depth: usize,
    queue: VecDeque<Vec<u8>>,
    subscriptions: BTreeMap<MessageId, Subscription>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Subscription {
    limit: usize,
    waiting: usize,
}

/// What the bus did not deliver, counted without end; its housekeeping carries the lower bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BusCounters {
    /// Messages nobody had subscribed to.
    pub no_subscribers: u64,
    /// Messages that were not sent: no header, or an id that is not valid.
    pub send_errors: u64,
    /// Subscriptions that were there already.
    pub duplicate_subscriptions: u64,
    /// Messages that a full pipe did not take.
    pub pipe_overflows: u64,
    /// Messages of which a pipe had as many as its subscription allows.
    pub message_limits: u64,
}

impl BusCounters {
    /// As housekeeping has them: counters of 8 and 16 bits that begin anew.
    #[must_use]
    pub fn housekeeping(self) -> BusHousekeeping {
        BusHousekeeping {
            no_subscribers: self.no_subscribers as u8,
            send_errors: self.send_errors as u8,
            duplicate_subscriptions: self.duplicate_subscriptions as u8,
            pipe_overflows: self.pipe_overflows as u16,
            message_limits: self.message_limits as u16,
        }
    }
}

/// The bus: pipes, who wants what, and the sequence counts of telemetry.
#[derive(Clone, Debug, Default)]
pub struct Bus {
    pipes: Vec<Pipe>,
    sequences: BTreeMap<MessageId, u16>,
    counters: BusCounters,
    format: Subseconds,
}

impl Bus {
    /// A bus without pipes, whose telemetry has times of this format.
    #[must_use]
    pub fn new(format: Subseconds) -> Self {
        Self { format, ..Self::default() }
    }

    /// What was not delivered.
    #[must_use]
    pub fn counters(&self) -> BusCounters {
        self.counters
    }

    /// A new pipe, in which up to `depth` messages wait.
    pub fn pipe(&mut self, depth: usize) -> PipeId {
        self.pipes.push(Pipe { depth, ..Pipe::default() });
        PipeId(self.pipes.len() - 1)
    }

    /// Lets a pipe have the messages of an id, up to `limit` of them waiting. A second subscription changes nothing and
    /// is counted.
    pub fn subscribe(&mut self, pipe: PipeId, id: MessageId, limit: usize) {
        match self.pipes[pipe.0].subscriptions.entry(id) {
            Entry::Vacant(place) => _ = place.insert(Subscription { limit, waiting: 0 }),
            Entry::Occupied(_) => self.counters.duplicate_subscriptions += 1,
        }
    }

    /// Ends a subscription; what waits goes on waiting.
    pub fn unsubscribe(&mut self, pipe: PipeId, id: MessageId) {
        self.pipes[pipe.0].subscriptions.remove(&id);
    }

    /// Sends a message as it stands to all who want it: its sequence count and its time are its maker's.
    pub fn pass(&mut self, octets: &[u8]) {
        match Message::parse(octets) {
            Ok(message) if message.id().is_valid() => self.route(&message),
            _ => self.counters.send_errors += 1,
        }
    }

    /// Makes telemetry of an application on board and sends it. Sequence counts run for each id, from 1.
    ///
    /// # Errors
    /// If `id` is not telemetry's, or the payload is too long.
    pub fn publish(&mut self, id: MessageId, time: FlightTime, payload: &[u8]) -> Result<(), MessageError> {
        let sequence = self.sequences.entry(id).or_default();
        *sequence = (*sequence + 1) & 0x3FFF;
        let octets = telemetry(id, *sequence, time, self.format, payload)?;
        self.pass(&octets);
        Ok(())
    }

    fn route(&mut self, message: &Message<'_>) {
        let id = message.id();
        let mut wanted = false;
        for pipe in &mut self.pipes {
            let Some(subscription) = pipe.subscriptions.get_mut(&id) else { continue };
            wanted = true;
            if subscription.waiting >= subscription.limit {
                self.counters.message_limits += 1;
            } else if pipe.queue.len() >= pipe.depth {
                self.counters.pipe_overflows += 1;
            } else {
                subscription.waiting += 1;
                pipe.queue.push_back(message.octets().to_vec());
            }
        }
        self.counters.no_subscribers += u64::from(!wanted);
    }

    /// Takes the next message out of a pipe.
    pub fn receive(&mut self, pipe: PipeId) -> Option<Vec<u8>> {
        let pipe = &mut self.pipes[pipe.0];
        let octets = pipe.queue.pop_front()?;
        let id = Message::parse(&octets).map(|message| message.id());
        if let Some(subscription) = id.ok().and_then(|id| pipe.subscriptions.get_mut(&id)) {
            subscription.waiting = subscription.waiting.saturating_sub(1);
        }
        Some(octets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: MessageId = MessageId(0x0801);
    const OTHER: MessageId = MessageId(0x0802);

    fn publish(bus: &mut Bus, id: MessageId, times: usize) {
        for _ in 0..times {
            bus.publish(id, FlightTime::default(), b"data").unwrap();
        }
    }

    #[test]
    fn a_message_goes_to_all_who_want_it_and_to_nobody_else() {
        let mut bus = Bus::default();
        let [first, second, third] = [0; 3].map(|_| bus.pipe(8));
        bus.subscribe(first, ONE, 4);
        bus.subscribe(second, ONE, 4);
        bus.subscribe(third, OTHER, 4);
        publish(&mut bus, ONE, 1);
        assert!(bus.receive(first).is_some() && bus.receive(second).is_some());
        assert_eq!(bus.receive(third), None);
        bus.unsubscribe(first, ONE);
        bus.unsubscribe(second, ONE);
        publish(&mut bus, ONE, 1);
        assert_eq!(bus.counters().no_subscribers, 1);
    }

    #[test]
    fn limits_and_depth_bound_a_pipe_each_with_its_counter() {
        let mut bus = Bus::default();
        let pipe = bus.pipe(5);
        bus.subscribe(pipe, ONE, 4);
        bus.subscribe(pipe, OTHER, 4);
        publish(&mut bus, ONE, 6);
        assert_eq!((bus.counters().message_limits, bus.counters().pipe_overflows), (2, 0));
        publish(&mut bus, OTHER, 3);
        assert_eq!((bus.counters().message_limits, bus.counters().pipe_overflows), (2, 2));
        // What was taken out makes room again.
        while bus.receive(pipe).is_some() {}
        publish(&mut bus, ONE, 4);
        assert_eq!((bus.counters().message_limits, bus.counters().pipe_overflows), (2, 2));
    }

    #[test]
    fn sequence_counts_run_for_each_id_from_one_and_over_14_bits() {
        let mut bus = Bus::default();
        let pipe = bus.pipe(2);
        bus.subscribe(pipe, ONE, 1);
        bus.subscribe(pipe, OTHER, 1);
        let sequence = |bus: &mut Bus, id| {
            publish(bus, id, 1);
            Message::parse(&bus.receive(pipe).unwrap()).unwrap().sequence()
        };
        assert_eq!([1, 2, 3].map(|_| sequence(&mut bus, ONE)), [1, 2, 3]);
        assert_eq!(sequence(&mut bus, OTHER), 1);
        let all: Vec<_> = (0..0x4000).map(|_| sequence(&mut bus, ONE)).collect();
        assert_eq!(all[0x3FFB..0x3FFE], [0x3FFF, 0, 1]);
    }

    #[test]
    fn what_has_no_valid_id_is_counted_and_goes_nowhere() {
        let mut bus = Bus::default();
        for octets in [&[0, 0, 0xC0, 0, 0, 1, 0, 0][..], &[0x28, 1, 0xC0, 0, 0, 1, 0, 0], b"short"] {
            bus.pass(octets);
        }
        assert_eq!(bus.counters().send_errors, 3);
    }
}
