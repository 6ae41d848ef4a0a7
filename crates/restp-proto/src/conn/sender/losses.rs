//! Which packets of a path are lost, and once per flight whether the sender must slow down.

use std::time::Duration;

use super::{Fate, REORDER_PACKETS, SendWindow, Sent};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// From this share of a flight missing on, all of it is repeated: at most one and a half packets that were not needed for
/// each that was.
const DENSE: f64 = 0.4;

/// Doublings of the time for which an overtaken packet is waited for, at most: from a LAN's round trip to that of a
/// geostationary satellite.
const MOST_DOUBLINGS: u8 = 10;

impl SendWindow {
    fn mark_lost(&mut self, index: u64) {
        let reduced_at = self.reduced_at;
        let Some(sent) = self.get_mut(index) else { return };
        if sent.fate != Fate::InFlight {
            return;
        }
        sent.fate = Fate::Lost;
        let order = sent.order;
        // What left before the latest of the flights that count is of that flight.
        let once = sent.transmissions == 1 && order > reduced_at;
        if order > self.left_at {
            self.share.on_lost();
        }
        self.lost_order = self.lost_order.max(order);
        self.once_lost |= once;
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
    /// No report names packets as far beyond the oldest that is missing as `nameable`, or farther.
    // R-ARQ-5
    pub fn detect(&mut self, now: Instant, rtt: &RttEstimator, nameable: u64) -> (u32, Option<Instant>) {
        let reordering = self.reordering.window(rtt);
        let round_trip = rtt.smoothed().max(rtt.latest());
        let patience = round_trip + reordering.unwrap_or_default().max(round_trip / 4);
        // Where everything was sent twice no answer tells the RTT, and it may have grown: then nothing is lost but patience.
        let patience = patience * (1 << self.unsampled.saturating_sub(1).min(MOST_DOUBLINGS));
        let reported = self.reported.min(self.next());
        // Where a repetition was the newest to arrive, packets of any number were sent before it. Beyond what was reported
        // only time tells: the peer may have them and have said so in an acknowledgement that is on its way, or have no
        // room to say so.
        let end = if self.newest_repeats {
            self.next().min(self.first.saturating_add(nameable)).max(reported)
        } else {
            reported
        };
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
        arrivals.by_repetition = false;
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
            arrivals.by_repetition = true;
        }
        for sent in acked {
            arrivals.held = arrivals.held.saturating_sub(1);
            if sent.transmissions > 1 && sent.fate == Fate::InFlight && sent.order > order {
                arrivals.on_stray(sent.order);
            }
        }
    }

    /// After an acknowledgement that stopped at a hole, where nobody tells what is missing beside the oldest packet: one of
    /// the oldest is marked lost, twice as many each time, or all where a great part is missing. No more than are missing,
    /// unless the sender is `in_haste`, with nothing else to send that would use the time.
    ///
    /// A lost repetition makes the count of what is missing too small: each hole that it did not foresee takes twice as many
    /// with it as the one before, repeated or not.
    // R-ARQ-5
    pub fn lose_missing(&mut self, in_haste: bool) -> u32 {
        let Some(arrivals) = &mut self.arrivals else { return 0 };
        arrivals.repairs = arrivals.repairs.saturating_mul(2).max(1);
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
        let bound = if in_haste { u32::MAX } else { foreseen };
        let foreseen = if is_dense { u32::MAX } else { arrivals.repairs.min(bound) };
        let most = if surprised { foreseen.max(arrivals.surprises) } else { foreseen };
        let next = self.first + self.records.len() as u64;
        let end = if self.first < arrivals.recover { arrivals.recover.min(next) } else { next };
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

    /// True if the repetition of the oldest packet is lost, too: as many were answered as left up to the third after it.
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
            // A repetition that is lost says no more of the RTT than its first loss did.
            self.unsampled = self.unsampled.saturating_add(u8::from(std::mem::take(&mut self.once_lost)));
            let next = self.next();
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.on_loss_event(self.first, next);
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

    /// The first answer since a timeout has come: what was sent so far belongs to the reduction that the timeout made,
    /// whatever becomes known of it.
    // R-CC-2
    pub fn settle_timeout(&mut self) {
        self.reduced_at = self.order;
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

    /// Where nobody tells what is missing: the latest acknowledgement stopped at a hole, as what left before a repetition
    /// that it answers has arrived or is lost.
    // R-ARQ-5
    pub fn stopped_at_hole(&self) -> bool {
        self.in_recovery() || self.arrivals.as_ref().is_some_and(|arrivals| arrivals.by_repetition)
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
            arrivals.on_loss_event(self.first, next);
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

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn rtt() -> RttEstimator {
        let mut rtt =
            RttEstimator::new(Duration::from_secs(1), Duration::from_millis(200), Duration::from_secs(60));
        rtt.sample(Duration::from_millis(100));
        rtt
    }

    fn packet(index: u64) -> Sent {
        Sent::new(index, Bytes::from_static(b"x"), false, false, Instant::FAR_FUTURE)
    }

    /// Packets 1 to `packets`, sent at once.
    fn window(packets: u64) -> SendWindow {
        let mut window = SendWindow::new(1);
        for index in 0..packets {
            window.transmit(at(0), packet(index), false);
        }
        window
    }

    /// The same where acknowledgements report nothing; then 1 is missing, `held` duplicates come, and 1 is repeated.
    fn repeated_first(packets: u64, held: u32) -> SendWindow {
        let mut window = window(packets);
        window.expect_bare_answers(true);
        for duplicate in 1..=held {
            assert!(window.count_departure());
            if duplicate == 3 {
                assert_eq!(window.lose_range(1, 2), 1);
                assert!(window.take_loss_event());
                window.retransmit(at(100), 1);
            }
        }
        window
    }

    /// As many acknowledgements into a recovery that up to `most` packets are taken as lost.
    fn lose_missing(window: &mut SendWindow, most: u32) -> u32 {
        window.arrivals.as_mut().unwrap().repairs = most / 2;
        window.lose_missing(false)
    }

    // R-ARQ-5
    #[test]
    fn what_left_before_a_repetition_that_arrived_is_lost_though_nothing_beyond_it_was_reported() {
        let mut window = window(5);
        // A whole flight is gone; a probe with the oldest gets through.
        window.retransmit(at(300), 1);
        window.transmit(at(350), packet(5), false);
        window.acknowledge(at(400), 2, &rtt());
        assert_eq!(
            window.detect(at(400), &rtt(), u64::MAX).0,
            4,
            "the one sent after the probe is not among them"
        );
        assert_eq!(window.next_lost(), Some(2));
    }

    // R-ARQ-5
    #[test]
    fn what_a_report_has_no_room_for_is_waited_for_until_there_is_room() {
        let mut window = window(5);
        window.retransmit(at(300), 1);
        window.acknowledge(at(400), 2, &rtt());
        assert_eq!(window.detect(at(400), &rtt(), 3).0, 3);
        assert_eq!(window.detect(at(400), &rtt(), 4).0, 1);
    }

    // R-ARQ-5
    #[test]
    fn what_was_reported_is_judged_however_far_away_it_is() {
        let mut window = window(5);
        window.report(at(250), 5, 5, &rtt(), &mut Default::default());
        window.retransmit(at(300), 1);
        window.acknowledge(at(400), 2, &rtt());
        assert_eq!(window.detect(at(400), &rtt(), 1).0, 3);
    }

    // R-ARQ-4
    #[test]
    fn the_oldest_packet_is_repeated_first_whenever_it_was_found_lost() {
        let mut window = window(5);
        assert_eq!(window.lose_range(3, 5), 2);
        assert_eq!(window.lose_first(), 1);
        assert_eq!(window.next_lost(), Some(1));
        window.retransmit(at(1), 1);
        window.lose_all();
        let mut order = Vec::new();
        while let Some(index) = window.next_lost() {
            window.retransmit(at(2), index);
            order.push(index);
        }
        assert_eq!(order, [1, 2, 3, 4, 5]);
    }

    // R-ARQ-5
    #[test]
    fn patience_doubles_with_flights_that_lose_what_was_sent_once_and_not_with_lost_repetitions() {
        let mut window = window(1);
        let (mut lost, mut old, mut wait_ms) = (0, 0, Vec::new());
        // Two flights lose a packet each, the second has one more on its way; the next loses that one and a repetition.
        for flight in 1..=5 {
            if flight != 3 && flight != 4 {
                lost = window.next();
                window.transmit(at(0), packet(lost), false);
            }
            if flight == 2 {
                old = window.next();
                window.transmit(at(0), packet(old), false);
            }
            if flight == 3 {
                window.mark_lost(old);
            }
            window.mark_lost(lost);
            assert!(window.take_loss_event());
            window.retransmit(at(0), lost);
            // The repetition is overtaken.
            let newest = window.next();
            window.transmit(at(0), packet(newest), false);
            window.report(at(0), newest, newest, &rtt(), &mut Default::default());
            let late_at = window.detect(at(0), &rtt(), u64::MAX).1.unwrap();
            wait_ms.push(late_at.saturating_since(at(0)).as_millis());
        }
        assert_eq!(wait_ms, [125, 250, 250, 250, 500]);
    }

    // R-CC-2
    #[test]
    fn neither_a_loss_nor_a_mark_of_what_left_before_the_first_answer_since_a_timeout_tells_anything() {
        let answered = |settles: bool| {
            let mut window = window(3);
            window.lose_all();
            window.take_loss_event();
            window.retransmit(at(300), 1);
            window.retransmit(at(300), 2);
            window.acknowledge(at(400), 2, &rtt());
            if settles {
                window.settle_timeout();
            }
            window
        };
        for settles in [true, false] {
            let mut lost = answered(settles);
            lost.lose_first();
            assert_eq!(lost.take_loss_event(), !settles);
            assert_eq!(answered(settles).take_mark_event(), !settles);
        }
        // What leaves later does, a repetition as well.
        let mut lost = answered(true);
        lost.retransmit(at(400), 3);
        lost.mark_lost(3);
        assert!(lost.take_loss_event());
        let mut marked = answered(true);
        marked.retransmit(at(400), 3);
        marked.acknowledge(at(500), 4, &rtt());
        assert!(marked.take_mark_event());
    }

    // R-ARQ-5
    #[test]
    fn no_more_are_repeated_than_duplicates_leave_missing() {
        // 1 and 4 are lost, the eight others held.
        let mut window = repeated_first(10, 8);
        window.acknowledge(at(200), 4, &rtt());
        assert_eq!(window.in_flight(), 0, "what left before the repetition is not in the network");
        assert_eq!(lose_missing(&mut window, 8), 1);
        assert_eq!(window.next_lost(), Some(4));
    }

    // R-ARQ-5
    #[test]
    fn as_many_as_the_doubled_number_are_repeated_where_more_are_missing() {
        // 1, 11, 12 and 13 are lost of 20.
        let mut window = repeated_first(20, 16);
        window.acknowledge(at(200), 11, &rtt());
        assert_eq!(lose_missing(&mut window, 2), 2);
    }

    // R-ARQ-5
    #[test]
    fn a_sender_with_nothing_else_to_send_repeats_more_than_are_missing() {
        let mut window = repeated_first(10, 8);
        window.acknowledge(at(200), 4, &rtt());
        window.arrivals.as_mut().unwrap().repairs = 2;
        assert_eq!(window.lose_missing(true), 4);
    }

    // R-ARQ-5
    #[test]
    fn a_probe_that_gets_through_shows_that_what_left_before_it_is_lost() {
        let mut window = window(5);
        window.expect_bare_answers(true);
        window.retransmit(at(300), 1);
        window.transmit(at(350), packet(5), false);
        window.acknowledge(at(400), 2, &rtt());
        assert!(window.stopped_at_hole() && !window.in_recovery());
        assert_eq!(window.lose_missing(false), 4, "the one sent after the probe is not among them");
    }

    // R-ARQ-5
    #[test]
    fn all_are_repeated_where_many_are_missing_and_what_that_brings_twice_tells_of_nothing() {
        // Every other packet is lost: 1, 3, 5, 7 and 9.
        let mut window = repeated_first(10, 5);
        window.acknowledge(at(200), 3, &rtt());
        assert_eq!(window.lose_missing(false), 8);
        for index in 3..=10 {
            window.retransmit(at(200), index);
        }
        for (ack, held) in [(5, 3), (7, 2), (9, 1)] {
            window.acknowledge(at(300), ack, &rtt());
            assert_eq!((window.held(), window.lose_missing(false)), (held, 0), "{ack}");
            // The repetition of the packet below was not needed.
            assert!(!window.count_departure(), "{ack}");
            assert_eq!(window.held(), held, "{ack}");
        }
    }

    // R-ARQ-5
    #[test]
    fn a_hole_that_was_not_foreseen_takes_twice_as_many_with_it_as_the_one_before() {
        // 1, 2, 4 and 6 are lost, and so are the repetitions of 2, 4 and 6.
        let mut window = repeated_first(8, 4);
        window.acknowledge(at(200), 2, &rtt());
        assert_eq!(window.lose_missing(false), 7);
        for index in 2..=8 {
            window.retransmit(at(200), index);
        }
        for _ in [3, 5, 7, 8] {
            window.count_departure();
        }
        assert!(window.repetition_is_overtaken(at(300), &rtt()));
        window.lose_first();
        window.retransmit(at(300), 2);
        for (ack, taken) in [(4, 1), (6, 2)] {
            window.acknowledge(at(100 * ack), ack, &rtt());
            assert_eq!(window.lose_missing(false), taken, "{ack}");
            window.retransmit(at(100 * ack), ack);
        }
    }

    // R-ARQ-5
    #[test]
    fn the_peer_holds_no_more_than_is_outstanding_however_many_duplicates_come() {
        assert_eq!(repeated_first(4, 9).held(), 3);
    }

    // R-ARQ-5
    #[test]
    fn a_recovery_ends_with_what_was_sent_before_it_though_a_newer_packet_was_repeated() {
        let mut window = repeated_first(4, 3);
        window.transmit(at(150), packet(4), false);
        window.retransmit(at(160), 5);
        assert!(window.in_recovery());
        window.acknowledge(at(200), 5, &rtt());
        assert!(!window.in_recovery());
    }

    // R-ARQ-5
    #[test]
    fn a_repetition_is_lost_when_as_many_were_answered_as_left_up_to_the_third_after_it() {
        let mut window = repeated_first(5, 4);
        for index in 5..10 {
            window.transmit(at(100), packet(index), false);
        }
        // Eight left up to then, and the repetition; four of the first five were answered.
        for answers in 1..=5 {
            window.count_departure();
            assert_eq!(window.repetition_is_overtaken(at(200), &rtt()), answers == 5, "{answers}");
        }
        assert!(!window.repetition_is_overtaken(at(199), &rtt()), "sooner than any round trip");
    }
}
