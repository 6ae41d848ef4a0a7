//! When a path fails and when it is back: switch-over, re-injection, probes, outage.

use super::path::{Outage, Stage, Timer};
use super::sender::SendWindow;
use super::{Connection, Cx};
use crate::error::PathError;
use crate::event::EventKind;
use crate::log::LogEvent;
use crate::path::PathId;
use crate::profile::Paths;
use crate::time::Instant;

impl Connection {
    /// Path `index` failed, by evidence or by dial: others take over.
    // R-MP-7, R-MP-8
    pub(super) fn path_failed(&mut self, cx: &mut Cx<'_>, index: usize) {
        let other = (0..self.paths.len())
            .filter(|other| *other != index && self.paths[*other].is_usable())
            .min_by_key(|other| (self.paths[*other].backup, self.paths[*other].rtt.smoothed(), *other));
        let Some(other) = other else {
            // Nothing to switch to. If the layer below is sure, waiting frozen is better than timing out.
            if self.composition.profile().reliability.retransmits() && self.paths[index].is_open() {
                self.enter_outage(cx, index);
            }
            return;
        };
        let path = &mut self.paths[index];
        if path.health.is_suspect() || !path.is_open() {
            return;
        }
        path.health.suspect();
        path.outage = None;
        let id = path.id;
        let wait = self.composition.profile().tuning.standby_probe;
        path.timers.set(Timer::Probe, cx.now + wait);
        self.reinject(index);
        let copies = self.sends_copies();
        let rescue = &mut self.paths[other];
        if rescue.rtt.measured().is_some() && !copies {
            // Paced, so that the burst does not overrun the path that still works.
            rescue.pace_for_a_round_trip(cx.now);
        }
        let to = rescue.id;
        self.tell(EventKind::PathDown(id));
        if self.paths.active == index {
            self.paths.active = other;
            self.stats.switch_overs += 1;
            cx.log(LogEvent::SwitchOver { from: id.0, to: to.0 });
        }
    }

    /// A path has become usable: what is frozen on others need not wait any longer.
    pub(super) fn rescue_frozen(&mut self, cx: &mut Cx<'_>) {
        for index in 0..self.paths.len() {
            if self.paths[index].outage.is_some() {
                self.path_failed(cx, index);
                self.arm_retransmit(cx.now, index);
            }
        }
    }

    /// Everything outstanding on path `index` is to be sent again on others.
    // R-MP-8
    fn reinject(&mut self, index: usize) {
        if self.sends_copies() {
            return self.copy_anew();
        }
        let Some(multi) = &mut self.multi else { return };
        let first = multi.data_first;
        let outstanding = self.paths[index]
            .tx
            .iter()
            .filter(|(_, sent)| SendWindow::is_outstanding(sent) && !sent.fin && sent.data_index >= first)
            .map(|(_, sent)| sent.data_index);
        multi.reinject.extend(outstanding);
    }

    /// Path `index` works again, by its answers over some time or by dial.
    pub(super) fn path_recovered(&mut self, cx: &mut Cx<'_>, index: usize) {
        if self.paths[index].outage.is_some() {
            self.leave_outage(cx, index);
        }
        let path = &mut self.paths[index];
        if !path.health.is_suspect() {
            return;
        }
        path.health.trust();
        path.progress.retries = 0;
        path.rtt.reset_backoff();
        let (id, backup) = (path.id, path.backup);
        self.tell(EventKind::PathUp(id));
        self.rescue_frozen(cx);
        let standby = matches!(self.composition.profile().paths, Paths::HotStandby | Paths::Overflow);
        let better = !backup && (self.paths[self.paths.active].backup || index == 0);
        if standby && better {
            let from = self.paths[self.paths.active].id;
            self.paths.active = index;
            self.stats.switch_overs += 1;
            cx.log(LogEvent::SwitchOver { from: from.0, to: id.0 });
        }
    }

    /// The probe timer of a path in standby or under suspicion.
    pub(super) fn on_standby_probe(&mut self, cx: &mut Cx<'_>, index: usize) {
        let t = &self.composition.profile().tuning;
        let (period, patience) = (t.standby_probe, t.fail_back_after);
        let path = &mut self.paths[index];
        if path.stage != Stage::Established || !path.handshake.confirmed {
            return;
        }
        path.health.on_probe_due();
        path.wants.probe = true;
        // An answer must not come after the next probe, whose answer it would be taken for.
        path.timers.set(Timer::Probe, cx.now + period.max(path.rtt.base_rto()));
        if path.health.has_recovered(cx.now, patience) {
            self.path_recovered(cx, index);
        } else if path.health.misses_probes() && index != self.paths.active {
            self.path_failed(cx, index);
        }
    }

    /// Starts probing paths that carry no data.
    pub(super) fn watch_standby(&mut self, now: Instant) {
        if self.multi.is_none() {
            return;
        }
        let period = self.composition.profile().tuning.standby_probe;
        let standby = !matches!(self.composition.profile().paths, Paths::Spreading(_) | Paths::Copies);
        let active = self.paths.active;
        for (index, path) in self.paths.iter_mut().enumerate() {
            let watched = path.health.is_suspect() || (standby && index != active);
            if watched
                && path.stage == Stage::Established
                && path.handshake.confirmed
                && path.outage.is_none()
            {
                path.timers.start(Timer::Probe, now + period);
            }
        }
    }

    /// Path `index` is given up for good.
    pub(super) fn drop_path(&mut self, cx: &mut Cx<'_>, index: usize) {
        let count = self.paths.len();
        let others = || (0..count).filter(|other| *other != index);
        let suspect = others().find(|other| {
            self.paths[*other].stage == Stage::Established && self.paths[*other].health.is_suspect()
        });
        if let Some(other) = suspect.filter(|_| !self.paths.has_another(index)) {
            // A path that is suspected is better than one that is gone for good.
            self.path_recovered(cx, other);
        }
        let was_suspect = self.paths[index].health.is_suspect();
        if !was_suspect {
            self.reinject(index);
        }
        let path = &mut self.paths[index];
        path.timers.stop_all();
        path.stage = Stage::Closed;
        path.outage = None;
        path.wants = Default::default();
        let id = path.id;
        if !was_suspect {
            self.tell(EventKind::PathDown(id));
        }
        let next = others().find(|other| self.paths[*other].is_usable());
        let next = next.or_else(|| others().find(|other| self.paths[*other].stage == Stage::Established));
        if let Some(other) = next.filter(|_| index == self.paths.active) {
            self.paths.active = other;
            self.stats.switch_overs += 1;
            cx.log(LogEvent::SwitchOver { from: id.0, to: self.paths[other].id.0 });
        }
    }

    /// Closes one path of several at the application's wish.
    pub fn close_path(&mut self, cx: &mut Cx<'_>, id: PathId) -> Result<(), PathError> {
        let open = self.paths.iter().filter(|path| path.stage == Stage::Established).count();
        let index = self.paths.named(id);
        match index {
            Some(index) if self.paths[index].stage != Stage::Established || open > 1 => {
                self.closing.reset = Some(index);
                self.drop_path(cx, index);
                Ok(())
            }
            _ => Err(PathError::NoSuchPath),
        }
    }

    /// Freezes path `index`: the link is gone, not congested (answers I3, I4).
    // R-LOSS-3
    pub(super) fn enter_outage(&mut self, cx: &mut Cx<'_>, index: usize) {
        let t = &self.composition.profile().tuning;
        let floor = t.outage_probe_floor;
        let path = &mut self.paths[index];
        if path.outage.is_some() {
            return;
        }
        path.outage = Some(Outage { since: cx.now });
        path.timers.stop(Timer::Retransmit);
        path.timers.stop(Timer::Tail);
        path.timers.stop(Timer::Loss);
        path.timers.set(Timer::Probe, cx.now + path.rtt.base_rto().max(floor));
        self.stats.outages += 1;
        let id = path.id.0;
        cx.log(LogEvent::Outage { path: id, begins: true });
    }

    /// Thaws path `index`: everything outstanding is repeated at the frozen rate (answer I5).
    // R-LOSS-5
    pub(super) fn leave_outage(&mut self, cx: &mut Cx<'_>, index: usize) {
        let path = &mut self.paths[index];
        if path.outage.take().is_none() {
            return;
        }
        path.timers.stop(Timer::Probe);
        path.tx.lose_all();
        path.tx.take_loss_event();
        path.progress.retries = 0;
        path.rtt.reset_backoff();
        path.pace_for_a_round_trip(cx.now);
        let id = path.id.0;
        cx.log(LogEvent::Outage { path: id, begins: false });
        self.arm_retransmit(cx.now, index);
    }
}
