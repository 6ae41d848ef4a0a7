//! What packets say about the connection as a whole where it has several paths, and the choice among them.

use super::multipath::Multi;
use super::path::{Path, Stage};
use super::{Connection, Cx, LocalFin};
use crate::error::PathError;
use crate::path::PathId;
use crate::profile::Paths;
use crate::wire::{Multipath, Packet};

impl Connection {
    pub fn multi(&self) -> Option<&Multi> {
        self.multi.as_deref()
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
            let sent_fin = self.closing.has_sent();
            let end = self.outbox.next() + u64::from(sent_fin);
            if data <= end {
                while multi.data_first < data && !multi.store.is_empty() {
                    multi.store.pop_front();
                    multi.data_first += 1;
                }
                if self.closing.local == LocalFin::Sent && data == end {
                    self.on_fin_acked(cx);
                }
            }
        }
        let Some(multi) = &self.multi else { return };
        if let Some(mapping) = dss.mapping.filter(|mapping| mapping.data_fin) {
            let number = mapping.data_sequence.wrapping_add(mapping.length.into());
            if self.closing.remote.is_none()
                && let Some(end) = multi.peer_index(number, near)
            {
                self.closing.remote = Some(end);
                self.assembler.insert_end(cx.now, end);
            }
            self.paths[index].ack.now = true;
        }
    }

    /// How the paths are used; there is one only until the peer's keys are agreed on.
    pub(super) fn path_mode(&self) -> Paths {
        if self.multi.is_none() { Paths::Single } else { self.composition.profile().paths }
    }

    /// The path for the next new or re-injected message, among those in `allowed`.
    pub(super) fn pick_path(&self, allowed: impl Fn(&Path) -> bool) -> Option<usize> {
        self.paths.pick(self.path_mode(), allowed)
    }

    /// After a message left on path `index`, round robin goes on to the next.
    pub(super) fn turn_wheel(&mut self, index: usize) {
        self.paths.turn_wheel(self.path_mode(), index);
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
}
