//! What happens when time passes.

use super::out_ack::nameable;
use super::path::{Stage, Timer};
use super::{Connection, Cx, LocalFin, Phase};
use crate::event::CloseReason;
use crate::log::LogEvent;
use crate::path::Transmit;
use crate::profile::{LossCause, OutageProbe};
use crate::time::Instant;

/// Timeouts in a row after which another path takes over (answer H9).
const SWITCH_TIMEOUTS: u32 = 2;

impl Connection {
    /// Does everything that is due.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.paths.len() {
            if self.paths[index].timers.deadline() <= cx.now {
                self.path_timers(cx, index);
            }
        }
        if self.silence.idle_at <= cx.now {
            self.silence.idle_at = Instant::FAR_FUTURE;
            self.finish(cx, CloseReason::Idle);
        }
        if self.silence.keepalive_at <= cx.now {
            let period = self.composition.profile().tuning.keepalive;
            self.silence.keepalive_at = period.map_or(Instant::FAR_FUTURE, |after| cx.now + after);
            let index = self.paths.main();
            self.paths[index].wants.probe |= self.paths[index].stage == Stage::Established;
        }
        if self.hole.at <= cx.now {
            self.hole.at = Instant::FAR_FUTURE;
            self.on_hole_timer(cx);
        }
        if self.closing.data_fin.at <= cx.now {
            self.on_data_fin_timer(cx);
        }
    }

    fn path_timers(&mut self, cx: &mut Cx<'_>, index: usize) {
        let now = cx.now;
        let nameable = nameable(self.composition.profile());
        let path = &mut self.paths[index];
        if path.timers.expired(Timer::Ack, now) {
            path.ack.now = true;
        }
        if path.timers.expired(Timer::DuplicateAck, now) && path.ack.repeats > 0 {
            path.ack.repeats -= 1;
            path.ack.now = true;
        }
        if path.timers.expired(Timer::Fec, now)
            && let Some(encoder) = &mut path.encoder
        {
            encoder.flush();
        }
        path.timers.expired(Timer::Pace, now);
        if path.timers.expired(Timer::Loss, now) {
            let (found, next) = path.tx.detect(now, &path.rtt, nameable);
            path.timers.set(Timer::Loss, next.unwrap_or(Instant::FAR_FUTURE));
            self.on_losses(cx, index, found);
        }
        if self.paths[index].timers.expired(Timer::Search, now) {
            self.on_search_timer(cx, index);
        }
        if self.paths[index].timers.expired(Timer::Follow, now) {
            self.call_after(now, index);
        }
        if self.paths[index].timers.expired(Timer::Handshake, now) {
            self.on_handshake_timer(cx, index);
        }
        if self.paths[index].timers.expired(Timer::Tail, now) {
            self.on_tail_timer(cx, index);
        }
        if self.paths[index].timers.expired(Timer::Retransmit, now) {
            self.on_retransmit_timer(cx, index);
        }
        if self.paths[index].timers.expired(Timer::Probe, now) {
            if self.paths[index].outage.is_some() {
                self.on_outage_probe(cx, index);
            } else {
                self.on_standby_probe(cx, index);
            }
        }
    }

    /// Nobody has acknowledged the end of the data in time.
    // R-MP-7, R-MP-10
    fn on_data_fin_timer(&mut self, cx: &mut Cx<'_>) {
        self.closing.data_fin.at = Instant::FAR_FUTURE;
        if self.closing.local != LocalFin::Sent {
            return;
        }
        self.closing.data_fin.tries += 1;
        if self.closing.data_fin.tries > self.composition.profile().tuning.max_retries {
            self.finish(cx, CloseReason::TimedOut);
            return;
        }
        let left_by = &self.paths[self.closing.data_fin.path];
        let silent = left_by.health.is_silent(cx.now, left_by.rtt.base_rto());
        if silent
            && self.closing.data_fin.tries >= SWITCH_TIMEOUTS
            && self.paths.has_another(self.closing.data_fin.path)
        {
            self.path_failed(cx, self.closing.data_fin.path);
        }
        let index = self.pick_path(|_| true).unwrap_or(self.paths.active);
        self.closing.data_fin.path = index;
        let path = &mut self.paths[index];
        path.ack.now = true;
        let wait = path.rtt.rto().saturating_mul(1 << self.closing.data_fin.tries.min(6));
        self.closing.data_fin.at = cx.now + wait;
        self.copy_data_fin();
    }

    /// The oldest packet in flight lies beyond what the peer grants: it probes the window.
    pub(super) fn probes_window(&self, index: usize) -> bool {
        let tx = &self.paths[index].tx;
        self.shape.window
            && tx.get(tx.first()).is_some_and(|sent| !sent.fin && sent.data_index >= self.outbox.limit())
    }

    /// Nothing was acknowledged for a while: a few packets more, so that a burst of losses does not end the flow.
    ///
    /// Their interval doubles once, and grows again only with a long silence.
    // R-ARQ-4
    fn on_tail_timer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let ack_delay = self.peer_ack_delay();
        let probes = self.composition.profile().tuning.probe_packets;
        let window_probe = self.probes_window(index);
        let path = &mut self.paths[index];
        if window_probe || path.outage.is_some() || !path.tx.waits() {
            return;
        }
        let Some(wait) = path.probe_wait(ack_delay) else { return };
        path.wants.tail_probes = probes;
        let next = path.progress.next_probes(cx.now, wait);
        path.timers.set(Timer::Tail, next);
    }

    fn on_retransmit_timer(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if path.stage == Stage::SynSent && !self.may_send_data() {
            return;
        }
        let path = &mut self.paths[index];
        if path.tx.is_empty() {
            // A closed window: one packet asks whether it has opened (answer J6).
            path.rtt.back_off();
            self.outbox.probe = true;
            return;
        }
        let profile = self.composition.profile();
        let max_retries = profile.tuning.max_retries;
        let retransmits = profile.reliability.retransmits();
        let silent = path.health.is_silent(cx.now, path.rtt.base_rto());
        if self.probes_window(index) {
            let path = &mut self.paths[index];
            path.progress.retries = if silent { path.progress.retries + 1 } else { 0 };
            path.rtt.back_off();
            path.wants.resend = Some(path.tx.first());
            if path.progress.retries > max_retries {
                self.finish(cx, CloseReason::TimedOut);
            } else {
                let at = cx.now + self.paths[index].rtt.rto();
                self.paths[index].timers.set(Timer::Retransmit, at);
            }
            return;
        }
        if !self.give_up_unreliable_fin(cx, index) {
            self.on_timeout(cx, index, silent, retransmits);
        }
    }

    /// Nothing came back in time.
    // R-ARQ-4
    fn on_timeout(&mut self, cx: &mut Cx<'_>, index: usize, silent: bool, retransmits: bool) {
        self.stats.timeouts += 1;
        let configured = self.cause.configured;
        let t = &self.composition.profile().tuning;
        let (max_retries, tail_probe, probes) = (t.max_retries, t.tail_probe, t.probe_packets);
        let path = &mut self.paths[index];
        path.progress.retries += 1;
        let (id, retries) = (path.id.0, path.progress.retries);
        cx.log(LogEvent::Timeout { path: id });
        if self.closing.is_complete() && retries >= super::close::UNRELIABLE_FIN_TRIES {
            self.forgo_farewell(cx, index);
            return;
        }
        let path = &mut self.paths[index];
        let gone = match configured {
            LossCause::Outage => true,
            LossCause::Dynamic => {
                if silent {
                    path.cause.on_silent_timeout();
                    path.rate.on_silence();
                }
                path.cause.verdict() == LossCause::Outage
            }
            _ => false,
        };
        let suspect = path.health.is_suspect();
        if self.paths.has_another(index) && (gone || retries >= SWITCH_TIMEOUTS) {
            self.path_failed(cx, index);
        } else if gone && retransmits && !suspect && !self.closing.is_complete() {
            self.paths[index].rate.forget_silence();
            self.enter_outage(cx, index);
            self.note_cause();
            return;
        }
        if retries > max_retries {
            let open = self.paths.iter().filter(|path| path.stage == Stage::Established).count();
            if open > 1 {
                self.drop_path(cx, index);
            } else {
                self.finish(cx, CloseReason::TimedOut);
            }
            return;
        }
        let path = &mut self.paths[index];
        let flight = path.tx.flight();
        let lost = path.tx.lose_all();
        path.tx.take_loss_event();
        path.progress.forget_duplicates();
        path.rtt.back_off();
        if path.cause(configured) != LossCause::Corruption {
            path.rate.on_timeout(cx.now, flight);
            self.stats.congestion_events += 1;
        }
        self.stats.lost += u64::from(lost);
        self.abandon_unless_repeated(index);
        if tail_probe && retransmits {
            self.paths[index].wants.tail_probes = probes;
        }
        self.arm_retransmit(cx.now, index);
        self.note_cause();
    }

    /// Only the farewell of path `index` is missing, and the peer may have gone.
    fn forgo_farewell(&mut self, cx: &mut Cx<'_>, index: usize) {
        self.drop_path(cx, index);
        if !self.paths.iter().any(|path| path.stage == Stage::Established) {
            self.finish(cx, CloseReason::Graceful);
        }
    }

    /// Without retransmission lost packets are only counted; a FIN is repeated all the same (answer D13).
    pub(super) fn abandon_unless_repeated(&mut self, index: usize) {
        if self.composition.profile().reliability.retransmits() {
            return;
        }
        let path = &mut self.paths[index];
        while let Some(number) = path.tx.next_lost() {
            if path.tx.get(number).is_some_and(|sent| sent.fin) {
                break;
            }
            path.tx.abandon(number);
        }
    }

    /// A path in outage is probed with data, because data might get through (answer I4).
    // R-LOSS-4
    fn on_outage_probe(&mut self, cx: &mut Cx<'_>, index: usize) {
        let t = &self.composition.profile().tuning;
        let (floor, give_up, which) = (t.outage_probe_floor, t.outage_give_up, t.outage_probe);
        let path = &mut self.paths[index];
        let over = match (path.outage, give_up) {
            (Some(outage), Some(limit)) => cx.now.saturating_since(outage.since) >= limit,
            _ => false,
        };
        if over {
            self.finish(cx, CloseReason::Outage);
            return;
        }
        if self.closing.is_complete() {
            self.forgo_farewell(cx, index);
            return;
        }
        let path = &mut self.paths[index];
        let number = match which {
            OutageProbe::LastSent => path.tx.last_outstanding(),
            OutageProbe::FirstUnacked => Some(path.tx.first()).filter(|_| !path.tx.is_empty()),
        };
        match number {
            Some(number) => path.wants.resend = Some(number),
            None => path.wants.probe = true,
        }
        self.stats.outage_probes += 1;
        path.timers.set(Timer::Probe, cx.now + path.rtt.base_rto().max(floor));
    }

    /// Sends the probe that a timer asked for.
    pub(super) fn poll_resend(
        &mut self,
        cx: &mut Cx<'_>,
        index: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let wants = &mut self.paths[index].wants;
        let resend = wants.resend.take();
        if resend.is_none() && wants.tail_probes == 0 {
            return None;
        }
        if self.phase == Phase::Closed || !self.may_send_data() {
            return None;
        }
        let path = &mut self.paths[index];
        let number = match resend {
            Some(number) => Some(number),
            None => {
                path.wants.tail_probes -= 1;
                // The newest reveals all holes before it; the others fill the oldest.
                if path.wants.tail_probes == 0 { path.tx.last_outstanding() } else { path.tx.stalest() }
            }
        };
        self.probe_with(cx, index, number?, out)
    }
}
