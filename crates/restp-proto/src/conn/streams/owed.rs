//! Control frames that are to leave with the next packet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::stream::{Priority, StreamId};
use crate::wire::Frame;

/// What is owed; each thing at most once a stream.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// The limit of all streams together.
    pub credit: bool,
    /// Limits of the numbers of streams, by kind.
    pub streams: [bool; 2],
    pub stream_credit: BTreeSet<StreamId>,
    pub priorities: BTreeMap<StreamId, Priority>,
    /// Resets and stops.
    pub ends: VecDeque<Frame<'static>>,
}

impl Owed {
    pub fn is_empty(&self) -> bool {
        !self.credit
            && self.streams == [false; 2]
            && self.stream_credit.is_empty()
            && self.priorities.is_empty()
            && self.ends.is_empty()
    }
}
