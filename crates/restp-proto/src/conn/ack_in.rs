//! Acknowledgements in: what arrived, what was lost, and how the sender reacts.

use std::time::Duration;

use super::copies::is_stub;
use super::out_ack::nameable;
use super::path::{Stage, Timer};
use super::sender::Acked;
use super::{Connection, Cx, LocalFin};
use crate::cc::{AckSample, Coupling, PathShare};
use crate::log::LogEvent;
use crate::profile::{AckReport, AckTiming, Congestion, LossCause, Ordering};
use crate::seq;
use crate::wire::{Flags, Packet, Report, Sequence};

/// Report blocks that are looked at; an honest receiver has no reason to send more, a hostile one might.
const MAX_BLOCKS: usize = 16;
/// Duplicate acknowledgements that mean a loss (RFC 5681).
const DUPLICATES: u32 = 3;
/// Packets that may be repeated at once: an initial window (RFC 6928).
const BURST_PACKETS: u32 = 10;

impl Connection {
    /// Handles the acknowledgement part of a packet on path `index`.
    pub(super) fn on_ack(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>, ack: u64) {
        self.take_window(packet, ack);
        let path = &self.paths[index];
        let duplicate = ack == path.tx.first()
            && !path.tx.is_empty()
            && packet.payload.is_empty()
            && !is_stub(packet)
            && !packet.header.flags.contains(Flags::SYN)
            && Self::range_missing(packet).is_none()
            && !self.probes_window(index);
        let path = &mut self.paths[index];
        let fin_was = path.tx.newest().is_some_and(|sent| sent.fin);
        let mut acked = path.tx.acknowledge(cx.now, ack, &path.rtt);
        let hole_reported = self.take_report(cx, index, packet, ack, &mut acked);
        self.note_arrivals(&acked.messages);
        let path = &mut self.paths[index];
        path.tx.conclude(cx.now, &path.rtt, &mut acked);
        let echo = packet.header.flags.contains(Flags::ECE) && !packet.header.flags.contains(Flags::SYN);
        if let Some(sample) = acked.rtt_sample
            && !(echo && packet.fec.is_some())
        {
            // A repaired packet was late by the wait for its encoded packet (answer E7).
            path.rtt.sample(sample);
        }
        if acked.delivered > 0 || acked.advanced {
            self.on_progress(cx, index, acked.advanced);
        } else if duplicate {
            self.on_duplicate(cx, index, hole_reported);
        }
        self.find_losses(cx, index, packet, &acked, ack);
        if packet.header.corruption_echo {
            self.paths[index].cause.on_corruption();
        }
        if echo {
            self.on_echo(cx, index);
        }
        self.note_abandoned(acked.abandoned.into());
        self.grow(cx, index, &acked);
        self.settle(cx, index);
        let path = &self.paths[index];
        if fin_was && path.tx.is_empty() && self.multi.is_none() && self.closing.local == LocalFin::Sent {
            self.on_fin_acked(cx);
        }
    }

    /// Messages that the peer grants, counted from its acknowledgement number (answers J6, J7, H7).
    // R-WIN-1, R-FC-1
    fn take_window(&mut self, packet: &Packet<'_>, ack: u64) {
        let Some(window) = packet.window else { return };
        let base = match &self.multi {
            None => ack.saturating_sub(1),
            Some(multi) => match packet.dss.and_then(|dss| dss.data_ack) {
                Some(wire) => match multi.local_index(wire) {
                    Some(data) => data,
                    None => return,
                },
                None if packet.header.flags.contains(Flags::SYN) => 0,
                None => return,
            },
        };
        self.outbox.grant(base + u64::from(window));
    }

    /// Takes SACK, NACK or SNACK; returns the first hole if one was reported.
    // R-ACK-7, R-SNACK-3
    fn take_report(
        &mut self,
        cx: &Cx<'_>,
        index: usize,
        packet: &Packet<'_>,
        ack: u64,
        acked: &mut Acked,
    ) -> Option<(u64, u64)> {
        let path = &mut self.paths[index];
        let rtt = &path.rtt;
        let isn = path.local_isn;
        match packet.report {
            Report::None => None,
            Report::Sack(blocks) => {
                path.tx.report_is_whole =
                    blocks.iter().count() < self.composition.profile().tuning.max_sack_blocks;
                for block in blocks.iter().take(MAX_BLOCKS) {
                    let left = seq::from_wire(isn, block.left, ack);
                    let right = seq::from_wire(isn, block.right, ack);
                    if let (Some(left), Some(right)) = (left, right)
                        && left <= right
                        && left > ack
                        && right < path.tx.next()
                    {
                        path.tx.report(cx.now, left, right, rtt, acked);
                    }
                }
                None
            }
            Report::Snack(snack) => {
                let first = ack + u64::from(snack.hole.offset);
                let after = first + u64::from(snack.hole.size);
                if after >= path.tx.next() {
                    return None;
                }
                // What ends a hole has arrived, even if no vector says so (answer F4).
                path.tx.report(cx.now, after, after, rtt, acked);
                for (place, octet) in snack.vector.iter().enumerate().filter(|(_, octet)| **octet != 0) {
                    for bit in (0..8).filter(|bit| octet & (0x80 >> bit) != 0) {
                        let number = after + (place as u64) * 8 + bit;
                        path.tx.report(cx.now, number, number, rtt, acked);
                    }
                }
                if snack.hole.offset > 0 {
                    path.tx.report(cx.now, ack, first - 1, rtt, acked);
                }
                Some((first, after))
            }
        }
    }

    /// Something arrived; `advanced`: the cumulative number moved.
    // R-CC-2
    fn on_progress(&mut self, cx: &mut Cx<'_>, index: usize, advanced: bool) {
        let path = &mut self.paths[index];
        path.progress.made(advanced);
        if path.rate.on_progress(advanced) {
            path.tx.settle_timeout();
        }
        path.wants.tail_probes = 0;
        path.rtt.reset_backoff();
        self.arm_retransmit(cx.now, index);
    }

    /// The longest time for which the peer may hold back an acknowledgement, assumed to be ours.
    pub(super) fn peer_ack_delay(&self) -> Duration {
        let profile = self.composition.profile();
        match profile.ack_timing {
            AckTiming::Delayed => profile.tuning.delayed_ack_period,
            _ => profile.tuning.ack_delay,
        }
    }

    /// Three acknowledgements of the same number mean that the packet after it is lost.
    fn on_duplicate(&mut self, cx: &mut Cx<'_>, index: usize, hole: Option<(u64, u64)>) {
        let profile = self.composition.profile();
        // Delayed acknowledgements come too rarely to be counted (dissertation section 3.5.9).
        if profile.ack_timing == AckTiming::Delayed {
            return;
        }
        let spaced = profile.duplicate_acks;
        let path = &mut self.paths[index];
        let gap = path.progress.on_duplicate(cx.now);
        if spaced && gap >= path.rtt.smoothed() {
            // A repeat for the sake of repetition is no sign of loss (answer E5). R-ACK-4
            return;
        }
        let held = path.tx.held();
        if !path.tx.count_departure() {
            return;
        }
        let arrived = path.tx.held() > held;
        let third = path.progress.count_duplicate() == DUPLICATES;
        let found = if third {
            let (from, to) = hole.unwrap_or((path.tx.first(), path.tx.first() + 1));
            path.tx.lose_range(from, to)
        } else if path.tx.repetition_is_overtaken(cx.now, &path.rtt) {
            path.tx.lose_first()
        } else {
            0
        };
        if arrived {
            // As where a report says so: the repetition waits behind a queue that is not silent. R-ARQ-5
            self.on_progress(cx, index, false);
        }
        self.on_losses(cx, index, found);
        if !arrived && (third || found > 0) {
            // The repetition needs a round trip of its own, behind the queue that the loss came from.
            self.arm_retransmit(cx.now, index);
        }
    }

    fn find_losses(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>, acked: &Acked, ack: u64) {
        let cumulative = self.composition.profile().ack_report == AckReport::Cumulative;
        // Nothing else could be sent meanwhile.
        let in_haste = self.nothing_waits() || self.outbox.is_blocked();
        let nameable = nameable(self.composition.profile());
        let path = &mut self.paths[index];
        let mut found = 0;
        if cumulative {
            if acked.advanced && path.tx.stopped_at_hole() && path.tx.next_lost().is_none() {
                // A partial acknowledgement: the next hole was lost in the same flight (RFC 6582). One repair a round
                // trip would take as many round trips as there are holes, so their number doubles.
                found += path.tx.lose_missing(in_haste);
                if found >= BURST_PACKETS {
                    // The network may be empty by now, and what is repeated at once would overrun its queue again.
                    path.pace_for_a_round_trip(cx.now);
                }
            }
        } else {
            let (lost, next) = path.tx.detect(cx.now, &path.rtt, nameable);
            found += lost;
            match next {
                Some(at) => path.timers.set(Timer::Loss, at),
                None => path.timers.stop(Timer::Loss),
            }
        }
        if let Some(range) = Self::range_missing(packet) {
            // HARQ: the encoded packet could not repair these (answer G6). R-HARQ-3
            found += path.tx.lose_range(ack, ack + u64::from(range));
        }
        self.on_losses(cx, index, found);
    }

    /// The range in which an encoded packet left something missing, if `packet` answers one: it is no packet of data that
    /// arrived, and no duplicate in the sense of R-ARQ-5.
    fn range_missing(packet: &Packet<'_>) -> Option<u32> {
        let answers = packet.payload.is_empty() && !packet.header.flags.contains(Flags::SYN);
        packet.fec.filter(|fec| answers && fec.range > 0).map(|fec| fec.range)
    }

    /// Reacts to `found` packets newly found lost on path `index`.
    pub(super) fn on_losses(&mut self, cx: &mut Cx<'_>, index: usize, found: u32) {
        if found == 0 {
            return;
        }
        self.stats.lost += u64::from(found);
        let configured = self.cause.configured;
        let path = &mut self.paths[index];
        path.cause.on_loss(&path.rtt);
        let cause = path.cause(configured);
        let id = path.id.0;
        // In outage mode a loss that is not a timeout is still congestion: NewReno stays plugged in.
        let first_of_its_flight = path.tx.take_loss_event();
        if first_of_its_flight {
            self.slow_down(cx.now, index, cause);
        }
        self.abandon_unless_repeated(index);
        if first_of_its_flight && self.composition.profile().reliability.retransmits() {
            // At once: the smaller window has no room before half of the flight has left the network. R-ARQ-5
            self.paths[index].wants.resend = self.retransmittable(cx.now, index);
        }
        cx.log(LogEvent::PacketsLost { path: id, packets: found, cause });
        self.note_cause();
    }

    // R-CC-7, R-HARQ-2
    fn on_echo(&mut self, cx: &mut Cx<'_>, index: usize) {
        self.stats.ecn_echoes += 1;
        let configured = self.cause.configured;
        let repaired = self.composition.profile().reliability.fec().is_some() && !self.negotiation.ecn;
        let path = &mut self.paths[index];
        if repaired {
            // The mark reports a repair: a loss like any other (answer G7). R-HARQ-2
            path.cause.on_loss(&path.rtt);
        } else {
            path.cause.on_ecn();
        }
        if path.tx.take_mark_event() {
            let cause = path.cause(configured);
            self.slow_down(cx.now, index, cause);
        }
        self.note_cause();
    }

    /// Reduces the window of path `index` as far as the cause of the loss demands.
    // R-LOSS-1, R-LOSS-2
    fn slow_down(&mut self, now: crate::time::Instant, index: usize, cause: LossCause) {
        let owned = self.composition.profile().i_own_the_path;
        let path = &mut self.paths[index];
        let flight = path.tx.flight();
        if cause == LossCause::Corruption && owned {
            return;
        }
        path.rate.slow_down(now, flight, cause);
        self.stats.congestion_events += 1;
    }

    fn note_abandoned(&mut self, messages: u64) {
        if messages == 0 || self.composition.profile().ordering != Ordering::Partial {
            return;
        }
        self.stats.abandoned += messages;
        if let Some(event) = self.notices.note_abandoned(messages) {
            self.tell(event);
        }
    }

    fn grow(&mut self, cx: &mut Cx<'_>, index: usize, acked: &Acked) {
        let delivered = acked.delivered - acked.elsewhere;
        if delivered == 0 {
            return;
        }
        let coupling = (self.composition.profile().congestion == Congestion::Lia).then(|| self.coupling());
        let path = &mut self.paths[index];
        let sample = AckSample {
            now: cx.now,
            delivered,
            in_flight: acked.in_flight_before,
            app_limited: acked.app_limited,
            in_recovery: path.tx.in_recovery(),
            rtt: &path.rtt,
            delivery_rate_pps: acked.delivery_rate_pps,
            round_start: acked.round_start,
            loss_share: path.tx.loss_share(),
            coupling,
        };
        path.rate.on_ack(&sample);
        if cx.observer.is_some() {
            let event = LogEvent::Metrics {
                path: path.id.0,
                srtt_s: path.rtt.smoothed().as_secs_f64(),
                window_packets: path.rate.window(),
                in_flight_packets: path.tx.in_flight(),
            };
            cx.log(event);
        }
    }

    fn coupling(&self) -> Coupling {
        let open = self.paths.iter().filter(|path| path.stage == Stage::Established);
        Coupling::of(
            open.map(|path| PathShare {
                window: path.rate.window(),
                srtt_s: path.rtt.smoothed().as_secs_f64(),
            }),
        )
    }

    /// Brings timers in line with what is left after an acknowledgement.
    fn settle(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if !path.tx.waits() {
            path.timers.stop(Timer::Retransmit);
            path.timers.stop(Timer::Tail);
            path.timers.stop(Timer::Loss);
            self.outbox.release_if_empty();
        } else if !path.timers.is_running(Timer::Retransmit) {
            self.arm_retransmit(cx.now, index);
        }
        let path = &mut self.paths[index];
        if path.tx.next_lost().is_none() {
            path.rate.pacer.on_nothing_to_repeat(cx.now);
        }
    }

    pub(super) fn arm_retransmit(&mut self, now: crate::time::Instant, index: usize) {
        let tail_probe = self.composition.profile().tuning.tail_probe
            && self.composition.profile().reliability.retransmits();
        let delay = self.peer_ack_delay();
        self.paths[index].arm_retransmit(now, tail_probe, delay);
    }

    /// The wire acknowledgement number of `packet`, for logs.
    pub(super) fn wire_ack(packet: &Packet<'_>) -> u32 {
        match packet.sequence {
            Sequence::Arq(arq) => arq.acknowledgement,
            _ => 0,
        }
    }
}
