//! The sender's queue of frames that were sent and not yet acknowledged.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A frame in sequence that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) id: u64,
    pub(super) number: u8,
    pub(super) data: Vec<u8>,
    pub(super) again: bool,
}

/// Frames by number, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentQueue(VecDeque<Sent>);

impl SentQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, sent: Sent) {
        self.0.push_back(sent);
    }

    /// Removes the `count` oldest and returns their names.
    pub(super) fn acknowledge(&mut self, count: usize) -> Vec<u64> {
        self.0.drain(..count.min(self.0.len())).map(|sent| sent.id).collect()
    }

    /// Removes all and returns their names.
    pub(super) fn purge(&mut self) -> Vec<u64> {
        self.acknowledge(self.0.len())
    }

    /// Marks all to be sent again.
    pub(super) fn again(&mut self) {
        for sent in &mut self.0 {
            sent.again = true;
        }
    }

    /// The oldest that is to be sent again; it is no more then.
    pub(super) fn take_again(&mut self) -> Option<&Sent> {
        let sent = self.0.iter_mut().find(|sent| sent.again)?;
        sent.again = false;
        Some(sent)
    }
}
