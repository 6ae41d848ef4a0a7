//! What one path has sent and not yet heard of: acknowledgement, loss detection, delivery rate.

mod arrivals;
mod losses;
mod reordering;
mod share;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use arrivals::Arrivals;
use reordering::Reordering;
use share::LossShare;

use crate::rtt::RttEstimator;
use crate::time::Instant;

/// A packet is lost once this many packets sent later have arrived (RFC 5681; answer E6).
pub(crate) const REORDER_PACKETS: u64 = 3;

/// Packets among which probes go round.
const PROBED_PACKETS: usize = 64;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    InFlight,
    Lost,
    Delivered,
    /// Lost or late, and not worth a repetition.
    Abandoned,
}

/// One numbered packet.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Connection-level number; that of the FIN is one past the last message.
    pub data_index: u64,
    /// Empty if nothing would ever be repeated.
    pub payload: Bytes,
    pub fin: bool,
    pub push: bool,
    /// After this moment a repetition is of no use.
    pub deadline: Instant,
    pub sent_at: Instant,
    pub transmissions: u32,
    fate: Fate,
    /// Found lost because a report that had room for every hole did not name it.
    reported_missing: bool,
    order: u64,
    delivered_before: u64,
    delivered_at: Instant,
    app_limited: bool,
}

impl Sent {
    pub fn new(data_index: u64, payload: Bytes, fin: bool, push: bool, deadline: Instant) -> Self {
        Self {
            data_index,
            payload,
            fin,
            push,
            deadline,
            sent_at: Instant::ZERO,
            transmissions: 0,
            fate: Fate::InFlight,
            reported_missing: false,
            order: 0,
            delivered_before: 0,
            delivered_at: Instant::ZERO,
            app_limited: false,
        }
    }
}

/// What one acknowledgement changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acked {
    /// Packets newly known to have arrived.
    pub delivered: u32,
    /// Packets passed over by the receiver while known to be lost.
    pub abandoned: u32,
    /// The cumulative number moved.
    pub advanced: bool,
    pub in_flight_before: u32,
    pub rtt_sample: Option<Duration>,
    pub delivery_rate_pps: Option<f64>,
    pub round_start: bool,
    pub app_limited: bool,
    /// Of those that arrived, packets that left before the path went another way.
    pub elsewhere: u32,
    /// Messages of those that arrived, where that is asked for.
    pub messages: Vec<u64>,
    /// A retransmitted packet is among those that arrived, so that no RTT may be taken.
    ambiguous: bool,
    newest: Option<Newest>,
}

#[derive(Clone, Copy, Debug)]
struct Newest {
    order: u64,
    delivered_before: u64,
    delivered_at: Instant,
    app_limited: bool,
    once: bool,
    sent_at: Instant,
}

/// The window of packets between the oldest that is not acknowledged and the newest that was sent.
#[derive(Debug)]
pub(crate) struct SendWindow {
    first: u64,
    records: VecDeque<Sent>,
    in_flight: u32,
    lost: VecDeque<u64>,
    order: u64,
    newest_order: u64,
    /// The transmission that this is was a repetition.
    newest_repeats: bool,
    /// One past the highest number known to have arrived.
    reported: u64,
    delivered: u64,
    delivered_bytes: u64,
    delivered_at: Instant,
    round_end: u64,
    /// Packets that duplicate acknowledgements say have left the network, without saying which.
    departed: u32,
    /// What such duplicates stand for, where acknowledgements never say.
    arrivals: Option<Box<Arrivals>>,
    /// Transmissions up to this one belong to a reduction of the window that was already made.
    reduced_at: u64,
    /// Transmissions up to this one went another way than the path does now.
    left_at: u64,
    /// The latest transmission that was found lost.
    lost_order: u64,
    reordering: Reordering,
    /// Flights since the latest RTT sample of which a packet was found lost that had been sent once, since the one before.
    unsampled: u8,
    /// Such a packet was found lost after the latest of them.
    once_lost: bool,
    /// The latest report had room for every hole.
    pub report_is_whole: bool,
    share: LossShare,
    /// Acknowledgements are to name the messages that have arrived.
    names_messages: bool,
}

impl SendWindow {
    /// The first packet to be sent has the number `first`.
    pub fn new(first: u64) -> Self {
        Self {
            first,
            records: VecDeque::new(),
            in_flight: 0,
            lost: VecDeque::new(),
            order: 0,
            newest_order: 0,
            newest_repeats: false,
            reported: 0,
            delivered: 0,
            delivered_bytes: 0,
            delivered_at: Instant::ZERO,
            round_end: 0,
            departed: 0,
            arrivals: None,
            reduced_at: 0,
            left_at: 0,
            lost_order: 0,
            reordering: Reordering::default(),
            unsampled: 0,
            once_lost: false,
            report_is_whole: true,
            share: LossShare::default(),
            names_messages: false,
        }
    }

    /// Whether [`Acked::messages`] is asked for.
    pub fn name_messages(&mut self, wanted: bool) {
        self.names_messages = wanted;
    }

    /// Whether acknowledgements never say what arrived beyond the oldest packet missing, which is repeated.
    pub fn expect_bare_answers(&mut self, bare: bool) {
        self.arrivals = bare.then(Box::default);
    }

    /// Share of packets lost of late, from 0 to 1.
    pub fn loss_share(&self) -> f64 {
        self.share.get()
    }

    /// Payload bytes known to have arrived.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Oldest number not acknowledged.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of the next new packet.
    pub fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Packets sent and not acknowledged cumulatively (FlightSize of RFC 5681).
    pub fn flight(&self) -> u32 {
        u32::try_from(self.records.len()).unwrap_or(u32::MAX)
    }

    /// Packets in the network, as far as is known.
    pub fn in_flight(&self) -> u32 {
        match &self.arrivals {
            Some(arrivals) => arrivals.in_network(self.order, self.in_flight),
            None => self.in_flight.saturating_sub(self.departed),
        }
    }

    pub fn get(&self, index: u64) -> Option<&Sent> {
        self.records.get(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    fn get_mut(&mut self, index: u64) -> Option<&mut Sent> {
        self.records.get_mut(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }

    /// The packet that was numbered last, unless it is acknowledged.
    pub fn newest(&self) -> Option<&Sent> {
        self.records.back()
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &Sent)> {
        self.records.iter().enumerate().map(|(offset, sent)| (self.first + offset as u64, sent))
    }

    /// Something is expected to be acknowledged.
    pub fn waits(&self) -> bool {
        self.in_flight > 0 || self.lost.iter().any(|index| self.get(*index).is_some_and(Self::is_outstanding))
    }

    /// Only the end of the data is on its way.
    pub fn is_fin_alone(&self) -> bool {
        self.records.len() == 1 && self.records[0].fin
    }

    /// The newest packet not seen to arrive.
    pub fn last_outstanding(&self) -> Option<u64> {
        let offset = self.records.iter().rposition(Self::is_outstanding)?;
        Some(self.first + offset as u64)
    }

    /// Of the oldest packets not seen to arrive, the one that was not sent for the longest time; the newest, which is
    /// probed with anyway, only if there is no other.
    pub fn stalest(&self) -> Option<u64> {
        let newest = self.last_outstanding()?;
        let oldest = self.iter().take(PROBED_PACKETS);
        let others = oldest.filter(|(index, sent)| *index != newest && Self::is_outstanding(sent));
        others.min_by_key(|(_, sent)| sent.order).map(|(index, _)| index).or(Some(newest))
    }

    /// True if the packet has not been seen to arrive.
    pub fn is_outstanding(sent: &Sent) -> bool {
        matches!(sent.fate, Fate::InFlight | Fate::Lost)
    }

    /// Puts a new packet on its way and returns its number.
    pub fn transmit(&mut self, now: Instant, sent: Sent, app_limited: bool) -> u64 {
        let index = self.next();
        self.records.push_back(sent);
        self.stamp(now, index, app_limited);
        self.in_flight += 1;
        index
    }

    fn stamp(&mut self, now: Instant, index: u64, app_limited: bool) {
        if self.in_flight == 0 {
            // An idle path delivers nothing; the time of idleness must not lower the measured rate.
            self.delivered_at = now;
        }
        self.order += 1;
        let (order, delivered_before, delivered_at) = (self.order, self.delivered, self.delivered_at);
        if let Some(sent) = self.get_mut(index) {
            sent.order = order;
            sent.delivered_before = delivered_before;
            sent.delivered_at = delivered_at;
            sent.app_limited = app_limited;
            sent.sent_at = now;
            sent.transmissions += 1;
        }
    }

    /// The oldest packet that waits for its repetition.
    pub fn next_lost(&mut self) -> Option<u64> {
        while let Some(&index) = self.lost.front() {
            if self.get(index).is_some_and(|sent| sent.fate == Fate::Lost) {
                return Some(index);
            }
            self.lost.pop_front();
        }
        None
    }

    /// Repeats packet `index`, wherever it is.
    pub fn retransmit(&mut self, now: Instant, index: u64) {
        if self.lost.front() == Some(&index) {
            self.lost.pop_front();
        }
        let Some(sent) = self.get_mut(index) else { return };
        let was_lost = sent.fate == Fate::Lost;
        if was_lost {
            sent.fate = Fate::InFlight;
        }
        self.stamp(now, index, false);
        if was_lost {
            self.in_flight += 1;
        }
    }

    /// Gives a packet up: it will not be repeated.
    pub fn abandon(&mut self, index: u64) {
        let Some(sent) = self.get_mut(index) else { return };
        let before = std::mem::replace(&mut sent.fate, Fate::Abandoned);
        sent.payload = Bytes::new();
        if before == Fate::InFlight {
            self.in_flight -= 1;
        }
    }

    fn note(&mut self, now: Instant, offset: usize, min_rtt: Duration, acked: &mut Acked) {
        let sent = &mut self.records[offset];
        match sent.fate {
            Fate::Delivered | Fate::Abandoned => return,
            Fate::InFlight => self.in_flight -= 1,
            // Found lost but arrived: reordering or an outage; either way its RTT is no measure of the path.
            Fate::Lost => {
                acked.ambiguous = true;
                if sent.reported_missing {
                    self.reordering.on_late(sent.order, self.order);
                }
            }
        }
        sent.fate = Fate::Delivered;
        acked.delivered += 1;
        if self.names_messages && !sent.fin {
            acked.messages.push(sent.data_index);
        }
        self.delivered_bytes += sent.payload.len() as u64;
        // What went another way tells what arrived, and nothing of this one. R-ENCAP-5
        let here = sent.order > self.left_at;
        if here {
            self.share.on_delivered();
            self.delivered += 1;
        }
        acked.elsewhere += u32::from(!here);
        let once = sent.transmissions == 1;
        acked.ambiguous |= !once || !here;
        // An answer that comes sooner than any round trip belongs to an earlier transmission.
        let early = !once && now.saturating_since(sent.sent_at) < min_rtt * 4 / 5;
        if early {
            if sent.reported_missing {
                self.reordering.on_late(sent.order, self.order);
            }
            return;
        }
        if sent.order > self.newest_order {
            self.newest_order = sent.order;
            self.newest_repeats = !once;
        }
        if here && acked.newest.is_none_or(|newest| newest.order < sent.order) {
            acked.newest = Some(Newest {
                order: sent.order,
                delivered_before: sent.delivered_before,
                delivered_at: sent.delivered_at,
                app_limited: sent.app_limited,
                once,
                sent_at: sent.sent_at,
            });
        }
    }

    /// Takes the cumulative number: everything below `ack` is of no more interest to the receiver.
    // R-ARQ-3
    pub fn acknowledge(&mut self, now: Instant, ack: u64, rtt: &RttEstimator) -> Acked {
        let mut acked = Acked { in_flight_before: self.in_flight(), ..Acked::default() };
        let min_rtt = rtt.least();
        let ack = ack.min(self.next());
        self.note_answer(now, ack, min_rtt);
        while self.first < ack {
            if self.records.front().is_some_and(|sent| sent.fate == Fate::Lost && sent.transmissions == 1) {
                acked.abandoned += 1;
            }
            self.note(now, 0, min_rtt, &mut acked);
            self.records.pop_front();
            self.first += 1;
            acked.advanced = true;
        }
        if self.records.is_empty() {
            // An idle connection keeps no memory.
            self.records = VecDeque::new();
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.forget(self.order);
                arrivals.held = 0;
            }
        }
        self.reported = self.reported.max(self.first);
        if acked.advanced {
            self.departed =
                self.departed.saturating_sub(acked.delivered.saturating_sub(1)).min(self.in_flight);
        }
        acked
    }

    /// Takes a report that the packets `from..=to` arrived.
    pub fn report(&mut self, now: Instant, from: u64, to: u64, rtt: &RttEstimator, acked: &mut Acked) {
        let from = from.max(self.first);
        let end = to.saturating_add(1).min(self.next());
        let min_rtt = rtt.least();
        let before = acked.delivered;
        for index in from..end {
            self.note(now, (index - self.first) as usize, min_rtt, acked);
        }
        self.reported = self.reported.max(end);
        self.departed = self.departed.saturating_sub(acked.delivered - before);
    }

    /// Draws the conclusions from one acknowledgement once all its parts were taken.
    // R-ARQ-6
    pub fn conclude(&mut self, now: Instant, rtt: &RttEstimator, acked: &mut Acked) {
        if acked.delivered > 0 {
            self.delivered_at = now;
        }
        let Some(newest) = acked.newest else { return };
        // Karn's rule (answer E7): an answer that may belong to either transmission says nothing about the RTT.
        if newest.once && !acked.ambiguous {
            acked.rtt_sample = Some(now.saturating_since(newest.sent_at));
            self.unsampled = 0;
        }
        acked.app_limited = newest.app_limited;
        let interval = now.saturating_since(newest.delivered_at);
        if interval >= rtt.min() && !interval.is_zero() {
            let packets = (self.delivered - newest.delivered_before) as f64;
            acked.delivery_rate_pps = Some(packets / interval.as_secs_f64());
        }
        if newest.delivered_before >= self.round_end {
            self.round_end = self.delivered;
            acked.round_start = true;
        }
    }

    /// The path goes another way from now on: losses on the one before are no sign of congestion on this one.
    // R-ENCAP-5
    pub fn leave_way(&mut self) {
        self.left_at = self.order;
        self.reduced_at = self.order;
    }

    /// And nothing that was learnt there holds here.
    pub fn learn_anew(&mut self) {
        self.share = LossShare::default();
        self.reordering = Reordering::default();
    }

    /// A duplicate acknowledgement without report: one more packet has left the network. Whether it says that another one
    /// is missing.
    pub fn count_departure(&mut self) -> bool {
        self.departed = (self.departed + 1).min(self.in_flight);
        let most = self.flight().saturating_sub(1);
        self.arrivals.as_mut().is_none_or(|arrivals| arrivals.on_duplicate(self.order, most))
    }

    /// Packets beyond the oldest one missing that such acknowledgements told of, where nothing else does.
    pub fn held(&self) -> u32 {
        self.arrivals.as_ref().map_or(0, |arrivals| arrivals.held)
    }

    /// Numbers one packet that nobody will acknowledge.
    pub fn pass(&mut self) -> u64 {
        debug_assert!(self.records.is_empty());
        self.first += 1;
        self.first - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn rtt() -> RttEstimator {
        let mut rtt = RttEstimator::new(MS * 1000, MS * 200, MS * 60_000);
        rtt.sample(MS * 100);
        rtt
    }

    fn at(ms: u32) -> Instant {
        Instant::ZERO + MS * ms
    }

    fn packet(index: u64) -> Sent {
        Sent::new(index, Bytes::from_static(b"x"), false, false, Instant::FAR_FUTURE)
    }

    fn window(packets: u64) -> SendWindow {
        let mut window = SendWindow::new(1);
        for index in 0..packets {
            window.transmit(at(0), packet(index), false);
        }
        window
    }

    #[test]
    fn cumulative_acknowledgement_frees_and_samples() {
        let mut window = window(4);
        let mut acked = window.acknowledge(at(100), 3, &rtt());
        window.conclude(at(100), &rtt(), &mut acked);
        assert_eq!((acked.delivered, window.in_flight(), window.first()), (2, 2, 3));
        assert_eq!(acked.rtt_sample, Some(MS * 100));
    }

    #[test]
    // R-ARQ-5
    fn three_later_arrivals_mean_loss_and_two_do_not() {
        let mut window = window(5);
        let mut acked = Acked::default();
        window.report(at(100), 2, 3, &rtt(), &mut acked);
        assert_eq!(window.detect(at(100), &rtt(), u64::MAX).0, 0);
        window.report(at(101), 4, 4, &rtt(), &mut acked);
        assert_eq!(window.detect(at(101), &rtt(), u64::MAX).0, 1);
        assert_eq!(window.next_lost(), Some(1));
    }

    #[test]
    fn a_hole_grows_old_after_five_quarters_of_the_rtt() {
        let mut window = window(2);
        window.report(at(100), 2, 2, &rtt(), &mut Acked::default());
        let (found, next) = window.detect(at(100), &rtt(), u64::MAX);
        assert_eq!((found, next), (0, Some(at(125))));
        assert_eq!(window.detect(at(125), &rtt(), u64::MAX).0, 1);
    }

    #[test]
    // R-ARQ-5
    fn on_a_path_that_reorders_packets_are_not_counted_but_time() {
        let mut window = window(5);
        window.report(at(100), 2, 5, &rtt(), &mut Acked::default());
        assert_eq!(window.detect(at(100), &rtt(), u64::MAX).0, 1);
        window.report(at(101), 1, 1, &rtt(), &mut Acked::default());
        for index in 5..11 {
            window.transmit(at(110), packet(index), false);
        }
        window.report(at(210), 10, 11, &rtt(), &mut Acked::default());
        assert_eq!(
            window.detect(at(210), &rtt(), u64::MAX),
            (0, Some(at(235))),
            "four newer ones say nothing any more"
        );
        assert_eq!(window.detect(at(235), &rtt(), u64::MAX).0, 4);
    }

    #[test]
    fn a_lost_repetition_is_found_by_packets_sent_after_it() {
        let mut window = window(5);
        window.report(at(100), 2, 5, &rtt(), &mut Acked::default());
        assert_eq!(window.detect(at(100), &rtt(), u64::MAX).0, 1);
        window.retransmit(at(100), 1);
        for index in 5..8 {
            window.transmit(at(101), packet(index), false);
        }
        assert_eq!(window.detect(at(110), &rtt(), u64::MAX).0, 0);
        window.report(at(201), 6, 8, &rtt(), &mut Acked::default());
        assert_eq!(
            window.detect(at(201), &rtt(), u64::MAX).0,
            1,
            "the repetition was overtaken by three packets"
        );
    }

    #[test]
    // R-ARQ-6
    fn no_rtt_from_a_range_with_a_repetition() {
        let mut window = window(3);
        window.lose_range(1, 2);
        window.retransmit(at(150), 1);
        let mut acked = window.acknowledge(at(260), 4, &rtt());
        window.conclude(at(260), &rtt(), &mut acked);
        assert_eq!((acked.delivered, acked.rtt_sample), (3, None));
    }

    // R-ENCAP-5
    #[test]
    fn what_went_another_way_tells_nothing_of_this_one_but_what_arrived() {
        let mut window = window(5);
        window.leave_way();
        window.transmit(at(50), packet(5), false);
        let mut acked = window.acknowledge(at(100), 2, &rtt());
        window.report(at(100), 3, 5, &rtt(), &mut acked);
        window.conclude(at(100), &rtt(), &mut acked);
        assert_eq!((acked.delivered, acked.elsewhere), (4, 4));
        assert_eq!((acked.rtt_sample, acked.delivery_rate_pps), (None, None));
        assert_eq!(window.detect(at(100), &rtt(), u64::MAX).0, 1);
        assert!(!window.take_loss_event(), "no congestion of this way");
        let mut acked = Acked::default();
        window.report(at(150), 6, 6, &rtt(), &mut acked);
        window.conclude(at(150), &rtt(), &mut acked);
        assert_eq!((acked.elsewhere, acked.rtt_sample), (0, Some(MS * 100)));
    }

    // R-ARQ-4
    #[test]
    fn the_packet_that_is_probed_with_beside_the_newest_is_another_one_if_there_is_one() {
        let mut window = window(3);
        // Now the newest is the one that was not sent for the longest time.
        window.retransmit(at(10), 1);
        window.retransmit(at(20), 2);
        assert_eq!((window.stalest(), window.last_outstanding()), (Some(1), Some(3)));
        window.acknowledge(at(100), 3, &rtt());
        assert_eq!((window.stalest(), window.last_outstanding()), (Some(3), Some(3)));
        window.acknowledge(at(200), 4, &rtt());
        assert_eq!(window.stalest(), None);
    }

    #[test]
    fn acknowledgements_beyond_what_was_sent_free_only_what_was_sent() {
        let mut window = window(2);
        let acked = window.acknowledge(at(1), 1000, &rtt());
        assert_eq!((acked.delivered, window.first(), window.in_flight()), (2, 3, 0));
        window.report(at(1), 5, u64::MAX, &rtt(), &mut Acked::default());
        assert_eq!(window.in_flight(), 0);
    }
}
