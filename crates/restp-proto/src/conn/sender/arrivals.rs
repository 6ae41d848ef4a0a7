//! What acknowledgements without a report tell of packets beyond the oldest that is missing: how many arrived, not which.
//!
//! While something is missing, each packet that arrives is answered at once, and in the order of sending unless the path
//! changes it. An acknowledgement that moves on because a repetition filled the oldest hole thus tells that all that left
//! before the repetition has arrived or is lost.

use std::collections::VecDeque;

/// The transmissions that answers stand for.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// The latest transmission that was answered; what left before it is not in the network any more.
    pub answered: u64,
    /// It was a repetition of the oldest packet, by the acknowledgement that came last.
    pub by_repetition: bool,
    /// Packets that the receiver holds beyond the oldest one missing.
    pub held: u32,
    /// Repetitions on their way of what is acknowledged: their duplicates stand for nothing that was missing.
    strays: VecDeque<u64>,
    /// One past the newest packet at the latest loss of a flight (`recover` of RFC 6582).
    pub recover: u64,
    /// Packets that the latest partial acknowledgement took as lost at most; the next one takes twice as many.
    pub repairs: u32,
    /// Packets taken as lost with the latest hole of that flight that the count did not foresee.
    pub surprises: u32,
}

impl Arrivals {
    /// One more packet was answered that leaves the oldest one missing; whether it was held, which an unneeded repetition
    /// is not. The receiver can hold no more than `most`.
    pub fn on_duplicate(&mut self, latest: u64, most: u32) -> bool {
        self.answered = (self.answered + 1).min(latest);
        let is_held = self.strays.pop_front().is_none();
        self.held = (self.held + u32::from(is_held)).min(most);
        is_held
    }

    /// Transmission `order` was answered, and all that left before it was answered or is lost.
    pub fn on_answer(&mut self, order: u64) {
        self.answered = order;
        self.strays.retain(|stray| *stray > order);
    }

    /// The repetition `order` is on its way, but what it repeats is acknowledged.
    pub fn on_stray(&mut self, order: u64) {
        self.strays.push_back(order);
    }

    /// A loss was found while the packets from `first` to before `next` were outstanding: a recovery begins or goes on.
    pub fn on_loss_event(&mut self, first: u64, next: u64) {
        if first >= self.recover {
            self.repairs = 0;
        }
        self.recover = next;
        self.surprises = 0;
    }

    /// Nothing sent until `latest` is expected to be answered any more.
    pub fn forget(&mut self, latest: u64) {
        self.answered = latest;
        self.strays.clear();
    }

    /// Transmissions in the network, of `latest` ones so far and `unanswered` packets that were not acknowledged.
    pub fn in_network(&self, latest: u64, unanswered: u32) -> u32 {
        let most = unanswered + self.strays.len() as u32;
        u32::try_from(latest - self.answered).unwrap_or(u32::MAX).min(most)
    }
}
