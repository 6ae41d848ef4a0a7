//! Which packets of a path are lost, and once per flight whether the sender must slow down.

use std::time::Duration;

use super::{Fate, REORDER_PACKETS, SendWindow, Sent};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// From this share of a flight missing on, all of it is repeated: at most one and a half packets that were not needed for
/// each that was.
const DENSE: f64 = 0.4;

impl SendWindow {
    fn mark_lost(&mut self, index: u64) {
        let Some(sent) = self.get_mut(index) else { return };
        if sent.fate != Fate::InFlight {
            return;
        }
        sent.fate = Fate::Lost;
        let order = sent.order;
        self.share.on_lost();
        self.lost_order = self.lost_order.max(order);
        self.in_flight -= 1;
        self.departed = self.departed.min(self.in_flight);
        // The oldest is repeated first: the receiver can pass nothing on without it.
        let place = self.lost.partition_point(|other| *other < index);
        if self.lost.get(place) != Some(&index) {
            self.lost.insert(place, index);
        }
    }

    /// Finds losses from reports: three packets sent later have arrived, or one has and 1.25 RTT have passed.
    ///
    /// On a path that was seen to change the order packets are not counted: once a packet that was sent later has
    /// arrived, a round trip and the reordering window must have passed (RFC 8985, section 6.2).
    ///
    /// Returns the number of packets newly lost and the moment at which the next one would be.
    // R-ARQ-5
    pub fn detect(&mut self, now: Instant, rtt: &RttEstimator) -> (u32, Option<Instant>) {
        let reordering = self.reordering.window(rtt);
        let round_trip = rtt.smoothed().max(rtt.latest());
        let patience = round_trip + reordering.unwrap_or_default().max(round_trip / 4);
        let reported = self.reported.min(self.next());
        // Where a repetition was the newest to arrive, packets of any number were sent before it. Beyond what was reported
        // only time tells: the peer may have them and have said so in an acknowledgement that is on its way.
        let end = if self.newest_repeats { self.next() } else { reported };
        let mut found = 0;
        let mut next = None;
        for index in self.first..end {
            let sent = &self.records[(index - self.first) as usize];
            if sent.fate != Fate::InFlight || sent.order > self.newest_order {
                continue;
            }
            let late_at = sent.sent_at + patience;
            let overtaken =
                index < reported && reordering.is_none() && sent.order + REORDER_PACKETS <= self.newest_order;
            if overtaken || now >= late_at {
                self.mark_lost(index);
                self.records[(index - self.first) as usize].reported_missing = self.report_is_whole;
                found += 1;
            } else if next.is_none_or(|at| late_at < at) {
                next = Some(late_at);
            }
        }
        (found, next)
    }

    /// Marks `from..to` lost where they were sent only once; returns how many were.
    pub fn lose_range(&mut self, from: u64, to: u64) -> u32 {
        let mut found = 0;
        for index in from.max(self.first)..to.min(self.next()) {
            if self.get(index).is_some_and(|sent| sent.fate == Fate::InFlight && sent.transmissions == 1) {
                self.mark_lost(index);
                found += 1;
            }
        }
        found
    }

    /// Before everything below `ack` is taken as acknowledged: which transmission that answers.
    pub(super) fn note_answer(&mut self, now: Instant, ack: u64, min_rtt: Duration) {
        let Some(arrivals) = &mut self.arrivals else { return };
        let passed = ack.saturating_sub(self.first) as usize;
        let mut acked = self.records.iter().take(passed);
        let Some(oldest) = acked.next() else { return };
        if oldest.transmissions == 1 && arrivals.held == 0 {
            // In order, or what was missing came late.
            let order = acked.filter(|sent| sent.transmissions == 1).map(|sent| sent.order).max();
            arrivals.on_answer(order.unwrap_or(oldest.order).max(oldest.order));
            return;
        }
        let is_first = oldest.transmissions == 1
            || oldest.fate != Fate::InFlight
            || now.saturating_since(oldest.sent_at) < min_rtt * 4 / 5;
        let order = if is_first { (arrivals.answered + 1).min(self.order) } else { oldest.order };
        if is_first {
            arrivals.answered = order;
            if oldest.transmissions > 1 && oldest.fate == Fate::InFlight {
                arrivals.on_stray(oldest.order);
            }
        } else {
            arrivals.on_answer(order);
        }
        for sent in acked {
            arrivals.held = arrivals.held.saturating_sub(1);
            if sent.transmissions > 1 && sent.fate == Fate::InFlight && sent.order > order {
                arrivals.on_stray(sent.order);
            }
        }
    }

    /// After a partial acknowledgement in recovery, where nobody tells what is missing beside the oldest packet: up to
    /// `most` of the oldest are marked lost, and no more than are missing, or all where a great part is.
    ///
    /// A lost repetition makes the count of what is missing too small: each hole that it did not foresee takes twice as many
    /// with it as the one before, repeated or not.
    // R-ARQ-5
    pub fn lose_missing(&mut self, most: u32) -> u32 {
        let Some(arrivals) = &mut self.arrivals else { return 0 };
        let answered = arrivals.answered;
        let was_answered = |sent: &Sent| sent.fate == Fate::InFlight && sent.order < answered;
        if !self.records.front().is_some_and(was_answered) {
            return 0;
        }
        let is_repeated = self.records[0].transmissions > 1;
        let settled = |sent: &&Sent| sent.transmissions > 1 || sent.order < answered;
        let unknown = self.records.iter().filter(settled).count() as u32;
        let foreseen = unknown.saturating_sub(arrivals.held);
        let surprised = is_repeated || foreseen == 0;
        if surprised {
            arrivals.surprises = (arrivals.surprises * 2).max(1);
        }
        let is_dense = foreseen > 1 && f64::from(foreseen) / f64::from(unknown) >= DENSE;
        let foreseen = if is_dense { u32::MAX } else { most.min(foreseen) };
        let most = if surprised { foreseen.max(arrivals.surprises) } else { foreseen };
        let end = arrivals.recover.min(self.first + self.records.len() as u64);
        let mut found = 0;
        for index in self.first..end.min(self.first.saturating_add(u64::from(most))).max(self.first + 1) {
            let sent = &self.records[(index - self.first) as usize];
            // What was repeated may well have arrived; only the oldest is known to be missing.
            if was_answered(sent) && (sent.transmissions == 1 || is_repeated) {
                self.mark_lost(index);
                found += 1;
            }
        }
        found
    }

    /// True if the repetition of the oldest packet is lost, too: three that left after it were answered.
    // R-ARQ-5
    pub fn repetition_is_overtaken(&self, now: Instant, rtt: &RttEstimator) -> bool {
        let (Some(arrivals), Some(oldest)) = (&self.arrivals, self.records.front()) else { return false };
        oldest.fate == Fate::InFlight
            && oldest.transmissions > 1
            && oldest.order + REORDER_PACKETS <= arrivals.answered
            && now.saturating_since(oldest.sent_at) >= rtt.min()
    }

    /// Marks the oldest packet lost, whether it was repeated or not.
    pub fn lose_first(&mut self) -> u32 {
        self.mark_lost(self.first);
        1
    }

    /// True at most once per round trip: a packet was lost that left after the last reduction of the window.
    pub fn take_loss_event(&mut self) -> bool {
        let fresh = self.lost_order > self.reduced_at;
        if fresh {
            self.reduced_at = self.order;
            let next = self.next();
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.recover = next;
                arrivals.surprises = 0;
            }
            self.reordering.on_recovery();
        }
        fresh
    }

    /// True at most once per round trip: a packet that left after the last reduction was answered with a mark.
    pub fn take_mark_event(&mut self) -> bool {
        let fresh = self.newest_order > self.reduced_at;
        if fresh {
            self.reduced_at = self.order;
        }
        fresh
    }

    /// True while packets from before the last reduction are outstanding.
    pub fn in_recovery(&self) -> bool {
        if let Some(arrivals) = &self.arrivals {
            // A repetition that was not needed does not prolong it (RFC 6582, section 3.2).
            return self.first < arrivals.recover;
        }
        self.records.front().is_some_and(|sent| sent.order <= self.reduced_at || sent.transmissions > 1)
            && self.reduced_at > 0
    }

    /// Marks everything in flight lost.
    pub fn lose_all(&mut self) -> u32 {
        let before = self.in_flight;
        for index in self.first..self.next() {
            self.mark_lost(index);
        }
        self.departed = 0;
        let next = self.next();
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.forget(self.order);
            arrivals.recover = next;
            arrivals.surprises = 0;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::super::Sent;
    use super::*;

    // R-ARQ-5
    #[test]
    fn what_left_before_a_repetition_that_arrived_is_lost_though_nothing_beyond_it_was_reported() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut rtt =
            RttEstimator::new(Duration::from_secs(1), Duration::from_millis(200), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100));
        let mut window = SendWindow::new(1);
        for index in 0..5 {
            let sent = Sent::new(index, Bytes::from_static(b"x"), false, false, Instant::FAR_FUTURE);
            window.transmit(at(0), sent, false);
        }
        // A whole flight is gone; a probe with the oldest gets through.
        window.retransmit(at(300), 1);
        let sent = Sent::new(5, Bytes::from_static(b"x"), false, false, Instant::FAR_FUTURE);
        window.transmit(at(350), sent, false);
        window.acknowledge(at(400), 2, &rtt);
        assert_eq!(window.detect(at(400), &rtt).0, 4, "the one sent after the probe is not among them");
        assert_eq!(window.next_lost(), Some(2));
    }

    // R-ARQ-4
    #[test]
    fn the_oldest_packet_is_repeated_first_whenever_it_was_found_lost() {
        let mut window = SendWindow::new(1);
        for index in 0..5 {
            let sent = Sent::new(index, Bytes::from_static(b"x"), false, false, Instant::FAR_FUTURE);
            window.transmit(Instant::ZERO, sent, false);
        }
        assert_eq!(window.lose_range(3, 5), 2);
        assert_eq!(window.lose_first(), 1);
        assert_eq!(window.next_lost(), Some(1));
        window.retransmit(Instant::ZERO + Duration::from_millis(1), 1);
        window.lose_all();
        let mut order = Vec::new();
        while let Some(index) = window.next_lost() {
            window.retransmit(Instant::ZERO + Duration::from_millis(2), index);
            order.push(index);
        }
        assert_eq!(order, [1, 2, 3, 4, 5]);
    }
}
