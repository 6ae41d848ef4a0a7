//! Which stream is served next.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::sending::SendHalf;
use crate::stream::StreamId;

/// Place in the order: urgency, then streams one after the other before those in turns.
pub(super) type Place = (u8, bool, u64, StreamId);

/// Streams of which something may leave, in order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    ready: BTreeSet<Place>,
    count: u64,
}

fn place(id: StreamId, half: &SendHalf) -> Place {
    let incremental = half.priority.is_incremental();
    (half.priority.urgency(), incremental, if incremental { half.turn } else { 0 }, id)
}

impl Turns {
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Notes whether something of the stream may leave. Its priority and turn must be those of the last call.
    pub fn note(&mut self, id: StreamId, half: &SendHalf) {
        if half.is_ready() {
            self.ready.insert(place(id, half));
        } else {
            self.ready.remove(&place(id, half));
        }
    }

    pub fn remove(&mut self, id: StreamId, half: &SendHalf) {
        self.ready.remove(&place(id, half));
    }

    /// A stream was served: among those in turns it is the last now.
    // R-STR-10
    pub fn served(&mut self, id: StreamId, half: &mut SendHalf) {
        self.ready.remove(&place(id, half));
        self.count += 1;
        half.turn = self.count;
        self.note(id, half);
    }

    /// The first after `place`, or the first of all.
    pub fn after(&self, place: Option<Place>) -> Option<Place> {
        let from = place.map_or(Bound::Unbounded, Bound::Excluded);
        self.ready.range((from, Bound::Unbounded)).next().copied()
    }
}
