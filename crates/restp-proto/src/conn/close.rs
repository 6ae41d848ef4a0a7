//! The end of a connection: FIN in both directions, reset, abort.

use super::path::{Stage, Timer};
use super::sender::Sent;
use super::{Connection, Cx, LocalFin, Phase};
use crate::endpoint::{Farewell, Remains};
use crate::event::{CloseReason, EventKind};
use crate::path::PathAddr;
use crate::time::Instant;
use crate::wire::PseudoHeader;
use bytes::Bytes;

/// Transmissions of a FIN that nobody may acknowledge (answer D13).
pub(super) const UNRELIABLE_FIN_TRIES: u32 = 3;

impl Connection {
    /// Ends our direction after everything that was sent.
    pub fn close(&mut self, cx: &mut Cx<'_>) {
        if self.closing.local != LocalFin::Open || self.phase == Phase::Closed {
            return;
        }
        self.closing.want();
        self.end_groups();
        if (self.phase == Phase::CookieRequest || !self.connected()) && self.outbox.is_empty() {
            self.finish(cx, CloseReason::Graceful);
        }
    }

    /// Ends the connection at once and tells the peer with a reset.
    pub fn abort(&mut self, cx: &mut Cx<'_>) {
        self.abort_with(cx, CloseReason::Aborted);
    }

    /// Like `abort`; the reset carries a number of the application.
    // R-CM-11
    pub fn abort_saying(&mut self, cx: &mut Cx<'_>, code: u32) {
        if self.phase != Phase::Closed {
            self.closing.reset_code = Some(code);
            self.abort(cx);
        }
    }

    pub(super) fn abort_with(&mut self, cx: &mut Cx<'_>, reason: CloseReason) {
        if self.phase == Phase::Closed {
            return;
        }
        if self.connected() {
            self.closing.reset = Some(self.paths.active.min(self.paths.len() - 1));
        }
        self.finish(cx, reason);
    }

    /// After this side closed first: what answers the repetitions of its peer, and until when.
    ///
    /// None before the end, and when asked again.
    // R-CM-5
    pub fn remains(
        &mut self,
        now: Instant,
        pseudo: fn(&PathAddr) -> Option<PseudoHeader>,
    ) -> Option<Remains> {
        // On several paths either end may have forgone the farewell of a path that the other still waits for.
        let lingers = self.closing.first || self.multi.is_some();
        if self.phase != Phase::Closed
            || !lingers
            || !self.closing.is_complete()
            || self.closing.farewell_said
        {
            return None;
        }
        self.closing.farewell_said = true;
        let farewells = (0..self.paths.len())
            .filter_map(|index| {
                let addr = self.paths[index].addr;
                Some(Farewell { addr, answer: self.last_ack_bytes(index, pseudo)? })
            })
            .collect();
        Some(Remains {
            ports: self.ports(),
            until: now + self.composition.profile().tuning.msl * 2,
            farewells,
            seal: self.seal.as_mut().and_then(|seal| seal.retire()),
            rto: self.paths[0].rtt.rto(),
        })
    }

    /// The FIN as a numbered packet of path `index`, if it is time for it.
    // R-NUM-2, R-CM-6, R-MP-10
    pub(super) fn fin_packet(&mut self, index: usize) -> Option<Sent> {
        if self.multi.is_some() {
            // On several paths DATA_FIN ends the data; the FIN of each path follows when all has arrived (answer H10).
            let done = self.closing.is_complete();
            let path = &mut self.paths[index];
            if !done || path.fin_sent || path.stage != Stage::Established {
                return None;
            }
            path.fin_sent = true;
        } else {
            if !self.wants_fin() || self.paths[index].fin_sent {
                return None;
            }
            self.paths[index].fin_sent = true;
            self.closing.local = LocalFin::Sent;
        }
        Some(Sent::new(self.outbox.next(), Bytes::new(), true, false, Instant::FAR_FUTURE))
    }

    /// The peer's FIN on path `index` has number `number` there.
    pub(super) fn on_fin(&mut self, cx: &mut Cx<'_>, index: usize, number: u64) {
        let path = &mut self.paths[index];
        path.ack.now = true;
        if path.rx.accepts(number) {
            path.rx.insert(number);
            if self.multi.is_none() {
                self.closing.remote = Some(number - 1);
                self.assembler.insert_end(cx.now, number - 1);
                self.arm_hole_timer();
            }
        }
        self.check_fin(cx);
    }

    /// Everything before the peer's FIN has arrived or was passed over: its direction is over.
    pub(super) fn check_fin(&mut self, cx: &mut Cx<'_>) {
        if self.closing.finishes(self.assembler.next()) {
            self.tell(EventKind::Finished);
            self.tell_readable();
        }
        self.check_closed(cx);
    }

    /// Our FIN was acknowledged.
    pub(super) fn on_fin_acked(&mut self, cx: &mut Cx<'_>) {
        self.closing.on_acked();
        self.check_closed(cx);
    }

    /// Nothing but the acknowledgement of our end of data can be missing.
    pub(super) fn is_last_ack(&self) -> bool {
        let only_fin = match &self.multi {
            Some(multi) => multi.store.is_empty(),
            None => self.paths[0].tx.iter().all(|(_, sent)| sent.fin),
        };
        self.closing.remote_finished
            && self.nothing_waits()
            && self.closing.local == LocalFin::Sent
            && only_fin
    }

    pub(super) fn check_closed(&mut self, cx: &mut Cx<'_>) {
        if self.phase == Phase::Closed || !self.closing.is_complete() {
            return;
        }
        if self.multi.is_some() {
            // Each path says goodbye on its own; a path that is gone must not hold up the rest.
            let open = self.paths.iter().any(|path| {
                path.stage == Stage::Established
                    && !path.health.is_suspect()
                    && !(path.fin_sent && path.tx.is_empty())
            });
            if open {
                return;
            }
        }
        // The acknowledgement of the peer's FIN must still leave; the endpoint's memory of the connection repeats it.
        if self
            .paths
            .iter()
            .any(|path| path.ack.now && path.stage == Stage::Established && !path.health.is_suspect())
        {
            return;
        }
        self.finish(cx, CloseReason::Graceful);
    }

    /// A FIN that was sent three times without answer counts as heard when nothing else is reliable (answer D13).
    // R-CM-7
    pub(super) fn give_up_unreliable_fin(&mut self, cx: &mut Cx<'_>, index: usize) -> bool {
        if self.composition.profile().reliability.retransmits() {
            return false;
        }
        let path = &mut self.paths[index];
        let first = path.tx.first();
        let tired =
            path.tx.get(first).is_some_and(|sent| sent.fin && sent.transmissions >= UNRELIABLE_FIN_TRIES);
        if tired {
            path.timers.stop(Timer::Retransmit);
            path.timers.stop(Timer::Tail);
            self.finish(cx, CloseReason::Graceful);
        }
        tired
    }
}
