//! The paths of a connection, and which of them is used.

use std::ops::{Deref, DerefMut};

use super::path::{Path, Stage};
use crate::path::{PathAddr, PathId};
use crate::profile::{Paths, Scheduler};

/// All paths, closed ones included, so that a path keeps its place.
#[derive(Debug)]
pub(crate) struct PathSet {
    all: Vec<Path>,
    /// Path in use in hot standby, first choice in overflow, next in turn when spreading in turn.
    pub active: usize,
}

impl Deref for PathSet {
    type Target = [Path];

    fn deref(&self) -> &[Path] {
        &self.all
    }
}

impl DerefMut for PathSet {
    fn deref_mut(&mut self) -> &mut [Path] {
        &mut self.all
    }
}

impl PathSet {
    pub fn new(first: Path) -> Self {
        Self { all: vec![first], active: 0 }
    }

    pub fn push(&mut self, path: Path) {
        self.all.push(path);
    }

    /// The path for what concerns the whole connection: the one in use, or the first that is open.
    pub fn main(&self) -> usize {
        if self[self.active].is_open() {
            return self.active;
        }
        self.iter().position(Path::is_open).unwrap_or(self.active)
    }

    /// Established subflows, as the header tells them (answer A10).
    pub fn established(&self) -> u8 {
        self.iter().filter(|path| path.stage == Stage::Established).count().min(15) as u8
    }

    /// Paths that are not closed.
    pub fn live(&self) -> impl Iterator<Item = &Path> {
        self.iter().filter(|path| path.stage != Stage::Closed)
    }

    /// The path with this address.
    pub fn at(&self, addr: PathAddr) -> Option<usize> {
        self.iter().position(|path| path.addr == addr)
    }

    /// The path with this name, unless it was closed.
    pub fn named(&self, id: PathId) -> Option<usize> {
        self.iter().position(|path| path.id == id && path.stage != Stage::Closed)
    }

    /// Whether data can go by another path than `index`.
    pub fn has_another(&self, index: usize) -> bool {
        (0..self.len()).any(|other| other != index && self[other].is_usable())
    }

    /// Largest packet that passes on every path, in bytes; `base` where nothing longer was searched for.
    // R-NUM-4, R-SIZE-2
    pub fn packet_bytes(&self, base: usize) -> usize {
        let each = self.live().map(|path| path.sizes.as_ref().map_or(base, |sizes| sizes.carried_bytes()));
        each.min().unwrap_or(base)
    }

    /// Which paths serve: a backup does while no other is usable.
    pub fn in_service(&self) -> impl Fn(&Path) -> bool + use<> {
        let front_line = self.iter().any(|path| path.is_usable() && !path.backup);
        move |path| !(front_line && path.backup)
    }

    /// The path for the next new message among those that `allowed` admits.
    // R-MP-5, R-MP-6
    pub fn pick(&self, mode: Paths, allowed: impl Fn(&Path) -> bool) -> Option<usize> {
        let fits = |index: &usize| self[*index].is_usable() && allowed(&self[*index]);
        let serves = self.in_service();
        let in_service = |index: &usize| serves(&self[*index]);
        let count = self.len();
        let in_turn = (0..count).map(|step| (self.active + step) % count);
        match mode {
            Paths::Single => Some(0).filter(fits),
            Paths::HotStandby => Some(self.active).filter(fits),
            Paths::Overflow => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::RoundRobin) => in_turn.filter(in_service).find(fits),
            Paths::Spreading(Scheduler::FastestRtt) | Paths::Copies => (0..count)
                .filter(in_service)
                .filter(fits)
                .min_by_key(|index| (self[*index].rtt.smoothed(), *index)),
        }
    }

    /// Path `index` was used: with round robin the next one's turn comes.
    pub fn turn_wheel(&mut self, mode: Paths, index: usize) {
        if mode == Paths::Spreading(Scheduler::RoundRobin) {
            self.active = (index + 1) % self.len();
        }
    }
}
