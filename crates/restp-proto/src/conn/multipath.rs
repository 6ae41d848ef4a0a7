//! Several paths: keys and data numbers, joins, choice of path, failure, recovery, re-injection.

use std::collections::VecDeque;

use bytes::Bytes;
use rand_core::Rng;

use super::path::{Outage, Path, Stage, Timer};
use super::sender::SendWindow;
use super::{Connection, Cx, LocalFin, Phase, Role};
use crate::cc::Controller;
use crate::crypto;
use crate::error::PathError;
use crate::event::EventKind;
use crate::log::LogEvent;
use crate::path::{PathAddr, PathId};
use crate::profile::{JoinHash, Paths, Scheduler};
use crate::seq;
use crate::time::Instant;
use crate::wire::{CapableFlags, Flags, JoinStep, MpJoin, Multipath, Packet, Sequence};

/// Most paths of a connection: k has 4 bits (answer A10).
pub(crate) const MAX_PATHS: usize = 15;
/// Joins that may wait for their proof at the same time.
const MAX_PENDING_JOINS: usize = 4;
/// Unanswered probes after which a standby path is suspected (answer H9).
const PROBE_MISSES: u32 = 2;

/// A message that the peer has not acknowledged on the connection level.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub payload: Bytes,
    pub push: bool,
    pub deadline: Instant,
}

/// What the paths of a connection share.
#[derive(Debug)]
pub(crate) struct Multi {
    pub hash: JoinHash,
    pub local_key: u64,
    pub peer_key: Option<u64>,
    local_idsn: u32,
    peer_idsn: u32,
    /// Oldest message not acknowledged on the connection level.
    pub data_first: u64,
    pub store: VecDeque<Stored>,
    /// Messages to be sent again on another path.
    pub reinject: VecDeque<u64>,
    next_address_id: u8,
}

/// The authentication of one join.
#[derive(Debug, Default)]
pub(crate) struct Join {
    pub local_nonce: u32,
    pub peer_nonce: u32,
}

impl Multi {
    pub fn new(hash: JoinHash, local_key: u64) -> Self {
        Self {
            hash,
            local_key,
            peer_key: None,
            local_idsn: crypto::initial_data_number(hash, local_key),
            peer_idsn: 0,
            data_first: 0,
            store: VecDeque::new(),
            reinject: VecDeque::new(),
            next_address_id: 1,
        }
    }

    pub fn learn(&mut self, key: u64) {
        self.peer_key = Some(key);
        self.peer_idsn = crypto::initial_data_number(self.hash, key);
    }

    pub fn accepts(&self, flags: CapableFlags) -> bool {
        flags.contains(crypto::capable_flags(self.hash))
    }

    pub fn is_local_key(&self, key: u64) -> bool {
        crypto::equal(&key.to_be_bytes(), &self.local_key.to_be_bytes())
    }

    /// Our token, which names this connection in a join.
    pub fn token(&self) -> u32 {
        crypto::token(self.hash, self.local_key)
    }

    /// Wire number of our message `index`; the first is one past the initial data number.
    pub fn local_number(&self, index: u64) -> u32 {
        seq::to_wire(self.local_idsn, index + 1)
    }

    pub fn local_index(&self, number: u32) -> Option<u64> {
        seq::from_wire(self.local_idsn, number, self.data_first + 1)?.checked_sub(1)
    }

    /// Wire number of the peer's message `index`.
    pub fn peer_number(&self, index: u64) -> u32 {
        seq::to_wire(self.peer_idsn, index + 1)
    }

    pub fn peer_index(&self, number: u32, near: u64) -> Option<u64> {
        seq::from_wire(self.peer_idsn, number, near + 1)?.checked_sub(1)
    }

    pub fn stored(&self, index: u64) -> Option<&Stored> {
        self.store.get(usize::try_from(index.checked_sub(self.data_first)?).ok()?)
    }

    /// What the peer must prove for `join`.
    fn peer_mac(&self, join: &Join) -> [u8; 20] {
        let keys = [self.peer_key.unwrap_or_default(), self.local_key];
        crypto::join_mac(self.hash, keys, [join.peer_nonce, join.local_nonce])
    }

    /// What we prove for `join`.
    fn own_mac(&self, join: &Join) -> [u8; 20] {
        let keys = [self.local_key, self.peer_key.unwrap_or_default()];
        crypto::join_mac(self.hash, keys, [join.local_nonce, join.peer_nonce])
    }
}

impl Connection {
    pub fn multi(&self) -> Option<&Multi> {
        self.multi.as_deref()
    }

    /// Puts a path into a free place and returns the place.
    fn place(&mut self, path: Path) -> usize {
        match self.paths.iter().position(|old| old.stage == Stage::Closed) {
            Some(index) => {
                self.paths[index] = path;
                index
            }
            None => {
                self.paths.push(path);
                self.paths.len() - 1
            }
        }
    }

    fn new_path(&mut self, addr: PathAddr, isn: u32, id: u8, now: Instant) -> Path {
        let mut path = Path::new(PathId(id), addr, &self.composition, isn, now);
        path.stage = Stage::SynSent;
        path
    }

    /// Opens a further path; only the initiator may (answer H6). Returns its place.
    pub fn open_path(
        &mut self,
        cx: &mut Cx<'_>,
        addr: PathAddr,
        backup: bool,
        isn: u32,
    ) -> Result<(usize, PathId), PathError> {
        if self.role != Role::Initiator {
            return Err(PathError::NotInitiator);
        }
        let open = self.paths.iter().filter(|path| path.stage != Stage::Closed).count();
        let Some(multi) = &mut self.multi else { return Err(PathError::SinglePath) };
        // Joins prove knowledge of both keys, which the handshake exchanges (answer H11).
        if self.phase != Phase::Established || multi.peer_key.is_none() || !self.paths[0].confirmed {
            return Err(PathError::TooEarly);
        }
        if self.paths.iter().any(|path| path.addr == addr && path.stage != Stage::Closed) {
            return Err(PathError::Exists);
        }
        if open >= MAX_PATHS {
            return Err(PathError::TooMany { limit: MAX_PATHS });
        }
        let id = multi.next_address_id;
        multi.next_address_id = multi.next_address_id.wrapping_add(1).max(1);
        let mut path = self.new_path(addr, isn, id, cx.now);
        path.backup = backup;
        path.wants.syn = true;
        path.join = Some(Box::new(Join { local_nonce: cx.rng.next_u32(), peer_nonce: 0 }));
        Ok((self.place(path), PathId(id)))
    }

    /// Answers the SYN of a join whose token names this connection; `false` if a limit forbids it.
    // R-MP-3
    pub fn accept_join(
        &mut self,
        cx: &mut Cx<'_>,
        addr: PathAddr,
        packet: &Packet<'_>,
        isn: u32,
        bytes: usize,
    ) -> Option<usize> {
        let Some(Multipath::Join(MpJoin { backup, address_id, step: JoinStep::Syn { nonce, .. } })) =
            packet.multipath
        else {
            return None;
        };
        let Sequence::Arq(arq) = packet.sequence else { return None };
        let pending = self.paths.iter().filter(|path| path.stage == Stage::SynReceived).count();
        let open = self.paths.iter().filter(|path| path.stage != Stage::Closed).count();
        let possible =
            self.phase == Phase::Established && self.role == Role::Responder && self.multi.is_some();
        if !possible || pending >= MAX_PENDING_JOINS || open >= MAX_PATHS {
            return None;
        }
        if packet.frozen_bits() != self.shape.frozen {
            self.stats.frozen_mismatch += 1;
            return None;
        }
        let mut path = self.new_path(addr, isn, address_id, cx.now);
        path.peer_isn = arq.sequence;
        path.stage = Stage::SynReceived;
        path.backup = backup;
        path.wants.syn_ack = true;
        path.allowance_bytes = Some(bytes * 3);
        path.join = Some(Box::new(Join { local_nonce: cx.rng.next_u32(), peer_nonce: nonce }));
        Some(self.place(path))
    }

    /// A packet for a path whose join is unanswered.
    pub(super) fn on_join_answer(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        let Sequence::Arq(arq) = packet.sequence else { return };
        let flags = packet.header.flags;
        let path = &self.paths[index];
        let acknowledges = seq::from_wire(path.local_isn, arq.acknowledgement, 1) == Some(1);
        if !flags.contains(Flags::ACK) || !acknowledges || packet.frozen_bits() != self.shape.frozen {
            self.stats.out_of_window += 1;
            // The peer still has a path of ours that we have given up: it must forget it first (RFC 9293 section 3.10.7.3).
            let stale = flags.contains(Flags::ACK) && !flags.intersects(Flags::RST | Flags::SYN);
            self.paths[index].wants.refuse = stale.then_some(arq.acknowledgement);
            return;
        }
        if flags.contains(Flags::RST) {
            self.drop_path(cx, index);
            return;
        }
        let Some(Multipath::Join(MpJoin { step: JoinStep::SynAck { mac, nonce }, .. })) = packet.multipath
        else {
            return;
        };
        let (Some(multi), Some(join)) = (&self.multi, &mut self.paths[index].join) else { return };
        join.peer_nonce = nonce;
        let expected = multi.peer_mac(join);
        if !crypto::equal(&mac, &expected[..8]) {
            self.stats.unauthentic += 1;
            return;
        }
        let path = &mut self.paths[index];
        path.peer_isn = arq.sequence;
        path.stage = Stage::Established;
        path.heard_at = cx.now;
        if path.handshake_tries == 1 {
            path.rtt.sample(cx.now.saturating_since(path.syn_sent_at));
        }
        path.handshake_tries = 0;
        path.stop(Timer::Handshake);
        path.wants.confirm = true;
    }

    /// The MAC with which this end proves its keys on path `index`.
    pub(super) fn join_proof(&self, index: usize) -> Option<[u8; 20]> {
        let join = self.paths[index].join.as_ref()?;
        Some(self.multi.as_ref()?.own_mac(join))
    }

    /// True if `packet` may confirm path `index`: on a joined path the initiator must first prove its keys.
    // R-MP-3
    pub(super) fn confirmable(&mut self, index: usize, packet: &Packet<'_>) -> bool {
        if index == 0 || self.role == Role::Initiator {
            return true;
        }
        let (Some(multi), Some(join)) = (&self.multi, &self.paths[index].join) else { return false };
        let Some(Multipath::Join(MpJoin { step: JoinStep::Ack { mac }, .. })) = packet.multipath else {
            return false;
        };
        let expected = multi.peer_mac(join);
        let good = crypto::equal(&mac, &expected);
        if !good {
            self.stats.unauthentic += 1;
        } else {
            self.paths[index].ack.now = true;
        }
        good
    }

    /// The connection-level parts of a packet.
    // R-MP-10, R-MP-11
    pub(super) fn on_multipath(&mut self, cx: &mut Cx<'_>, index: usize, packet: &Packet<'_>) {
        if let Some(Multipath::Priority(priority)) = packet.multipath {
            self.paths[index].backup = priority.backup;
        }
        let Some(dss) = packet.dss else { return };
        let near = self.assembler.next();
        let Some(multi) = &mut self.multi else { return };
        if let Some(data) = dss.data_ack.and_then(|wire| multi.local_index(wire)) {
            let sent_fin = matches!(self.local_fin, LocalFin::Sent | LocalFin::Acked);
            let end = self.next_data + u64::from(sent_fin);
            if data <= end {
                while multi.data_first < data && !multi.store.is_empty() {
                    multi.store.pop_front();
                    multi.data_first += 1;
                }
                if self.local_fin == LocalFin::Sent && data == end {
                    self.on_fin_acked(cx);
                }
            }
        }
        let Some(multi) = &self.multi else { return };
        if let Some(mapping) = dss.mapping.filter(|mapping| mapping.data_fin) {
            let number = mapping.data_sequence.wrapping_add(mapping.length.into());
            if self.remote_fin.is_none()
                && let Some(end) = multi.peer_index(number, near)
            {
                self.remote_fin = Some(end);
                self.assembler.insert_end(cx.now, end);
            }
            self.paths[index].ack.now = true;
        }
    }

    /// The path for the next new or re-injected message, among those in `allowed`.
    // R-MP-5, R-MP-6
    pub(super) fn pick_path(&self, allowed: impl Fn(&Path) -> bool) -> Option<usize> {
        let paths = self.composition.profile().paths;
        let fits = |index: &usize| self.paths[*index].is_usable() && allowed(&self.paths[*index]);
        if paths == Paths::Single || self.multi.is_none() {
            return Some(0).filter(fits);
        }
        let front_line = self.paths.iter().any(|path| path.is_usable() && !path.backup);
        let in_service = |index: &usize| !(front_line && self.paths[*index].backup);
        let count = self.paths.len();
        let in_turn = (0..count).map(|step| (self.active + step) % count);
        match paths {
            Paths::Single | Paths::HotStandby => Some(self.active).filter(fits),
            Paths::Overflow => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::RoundRobin) => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::FastestRtt) => (0..count)
                .filter(in_service)
                .filter(fits)
                .min_by_key(|index| (self.paths[*index].rtt.smoothed(), *index)),
        }
    }

    /// After a message left on path `index`, round robin goes on to the next.
    pub(super) fn turn_wheel(&mut self, index: usize) {
        if self.composition.profile().paths == Paths::Spreading(Scheduler::RoundRobin) && self.multi.is_some()
        {
            self.active = (index + 1) % self.paths.len();
        }
    }

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
        if path.suspect || !path.is_open() {
            return;
        }
        path.suspect = true;
        path.outage = None;
        path.healthy_since = None;
        let id = path.id;
        let wait = self.composition.profile().tuning.standby_probe;
        path.set(Timer::Probe, cx.now + wait);
        self.reinject(index);
        // Paced, so that the burst does not overrun the path that still works.
        let rescue = &mut self.paths[other];
        if let Some(srtt) = rescue.rtt.measured() {
            rescue.forced_pace_pps = Some(f64::from(rescue.cc.window()) / srtt.as_secs_f64().max(1e-6));
        }
        let to = rescue.id;
        self.tell(EventKind::PathDown(id));
        if self.active == index {
            self.active = other;
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
        if !path.suspect {
            return;
        }
        path.suspect = false;
        path.probe_misses = 0;
        path.retries = 0;
        path.rtt.reset_backoff();
        let (id, backup) = (path.id, path.backup);
        self.tell(EventKind::PathUp(id));
        self.rescue_frozen(cx);
        let standby = matches!(self.composition.profile().paths, Paths::HotStandby | Paths::Overflow);
        let better = !backup && (self.paths[self.active].backup || index == 0);
        if standby && better {
            let from = self.paths[self.active].id;
            self.active = index;
            self.stats.switch_overs += 1;
            cx.log(LogEvent::SwitchOver { from: from.0, to: id.0 });
        }
    }

    /// The probe timer of a path in standby or under suspicion.
    pub(super) fn on_standby_probe(&mut self, cx: &mut Cx<'_>, index: usize) {
        let t = &self.composition.profile().tuning;
        let (period, patience) = (t.standby_probe, t.fail_back_after);
        let path = &mut self.paths[index];
        if path.stage != Stage::Established || !path.confirmed {
            return;
        }
        if path.probe_sent_at.is_some() {
            path.probe_misses += 1;
            path.healthy_since = None;
        } else {
            path.probe_misses = 0;
        }
        path.wants.probe = true;
        path.set(Timer::Probe, cx.now + period);
        let recovered = path.suspect
            && path.healthy_since.is_some_and(|since| cx.now.saturating_since(since) >= patience);
        if recovered {
            self.path_recovered(cx, index);
        } else if path.probe_misses >= PROBE_MISSES && !path.suspect && index != self.active {
            self.path_failed(cx, index);
        }
    }

    /// Starts probing paths that carry no data.
    pub(super) fn watch_standby(&mut self, now: Instant) {
        if self.multi.is_none() {
            return;
        }
        let period = self.composition.profile().tuning.standby_probe;
        let standby = !matches!(self.composition.profile().paths, Paths::Spreading(_));
        for (index, path) in self.paths.iter_mut().enumerate() {
            let watched = path.suspect || (standby && index != self.active);
            if watched && path.stage == Stage::Established && path.confirmed && path.outage.is_none() {
                Self::timer_or_now(path, Timer::Probe, now + period);
            }
        }
    }

    /// Path `index` is given up for good.
    pub(super) fn drop_path(&mut self, cx: &mut Cx<'_>, index: usize) {
        let count = self.paths.len();
        let others = || (0..count).filter(|other| *other != index);
        let usable = others().any(|other| self.paths[other].is_usable());
        let suspect = others()
            .find(|other| self.paths[*other].stage == Stage::Established && self.paths[*other].suspect);
        if let Some(other) = suspect.filter(|_| !usable) {
            // A path that is suspected is better than one that is gone for good.
            self.path_recovered(cx, other);
        }
        let was_suspect = self.paths[index].suspect;
        if !was_suspect {
            self.reinject(index);
        }
        let path = &mut self.paths[index];
        path.stop_all();
        path.stage = Stage::Closed;
        path.outage = None;
        path.wants = Default::default();
        let id = path.id;
        if !was_suspect {
            self.tell(EventKind::PathDown(id));
        }
        let next = others().find(|other| self.paths[*other].is_usable());
        let next = next.or_else(|| others().find(|other| self.paths[*other].stage == Stage::Established));
        if let Some(other) = next.filter(|_| index == self.active) {
            self.active = other;
            self.stats.switch_overs += 1;
            cx.log(LogEvent::SwitchOver { from: id.0, to: self.paths[other].id.0 });
        }
    }

    /// Closes one path of several at the application's wish.
    pub fn close_path(&mut self, cx: &mut Cx<'_>, id: PathId) -> Result<(), PathError> {
        let open = self.paths.iter().filter(|path| path.stage == Stage::Established).count();
        let index = self.paths.iter().position(|path| path.id == id && path.stage != Stage::Closed);
        match index {
            Some(index) if self.paths[index].stage != Stage::Established || open > 1 => {
                self.reset = Some(index);
                self.drop_path(cx, index);
                Ok(())
            }
            _ => Err(PathError::NoSuchPath),
        }
    }

    /// Changes whether path `id` is a backup; the peer is told (answer H6).
    // R-MPP-1
    pub fn set_backup(&mut self, id: PathId, backup: bool) -> Result<(), PathError> {
        let path = self.paths.iter_mut().find(|path| path.id == id && path.stage == Stage::Established);
        let path = path.ok_or(PathError::NoSuchPath)?;
        path.backup = backup;
        path.wants.priority = true;
        Ok(())
    }

    /// The path that `packet`, from a new address, continues: its numbers must lie in the windows of both directions.
    // R-ENCAP-3
    pub fn moved_path(&self, addr: &PathAddr, packet: &Packet<'_>) -> Option<usize> {
        if self.phase != Phase::Established || packet.frozen_bits() != self.shape.frozen {
            return None;
        }
        let Sequence::Arq(arq) = packet.sequence else { return None };
        self.paths.iter().position(|path| {
            let own = seq::from_wire(path.peer_isn, arq.sequence, path.rx.next());
            let ack = seq::from_wire(path.local_isn, arq.acknowledgement, path.tx.first());
            let window = u64::from(self.composition.profile().tuning.receive_window_packets);
            path.stage == Stage::Established
                && path.addr.local == addr.local
                && own.is_some_and(|own| own + 1 >= path.rx.next() && own < path.rx.next() + window)
                && ack.is_some_and(|ack| ack >= path.tx.first() && ack <= path.tx.next())
        })
    }

    /// Path `index` goes on at another address.
    pub fn move_path(&mut self, index: usize, addr: PathAddr) {
        if let Some(path) = self.paths.get_mut(index) {
            path.addr = addr;
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
        path.stop(Timer::Retransmit);
        path.stop(Timer::Loss);
        path.set(Timer::Probe, cx.now + path.rtt.base_rto().max(floor));
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
        path.stop(Timer::Probe);
        path.tx.lose_all();
        path.tx.take_loss_event();
        path.retries = 0;
        path.rtt.reset_backoff();
        let srtt_s = path.rtt.smoothed().as_secs_f64().max(1e-6);
        path.forced_pace_pps = Some(f64::from(path.cc.window()) / srtt_s);
        let id = path.id.0;
        cx.log(LogEvent::Outage { path: id, begins: false });
        self.arm_retransmit(cx.now, index);
    }
}
