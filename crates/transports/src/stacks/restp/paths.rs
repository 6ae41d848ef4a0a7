//! The paths of a connection while it lives: which are opened at its beginning, which at a stated time, and which in the
//! place of one that failed.

use std::collections::VecDeque;

use restp_proto::{ConnId, Endpoint, EventKind, PathAddr, PathId};

use super::instants::instant;
use crate::error::Failure;

/// A path beside the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Further {
    pub(super) path: PathAddr,
    pub(super) backup: bool,
    /// How long after the connection may have several.
    pub(super) open_after_ns: i64,
}

/// What is to become of the paths of one connection.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// To be opened at their time, the earliest first.
    waiting: VecDeque<Further>,
    /// To be opened when a path fails.
    spares: VecDeque<Further>,
    /// The connection, and since when it may have several paths.
    allowed: Option<(ConnId, i64)>,
    /// Paths that were reported down and for which no other was opened.
    down: VecDeque<PathId>,
    /// Paths that were reported down, each behind the one that was opened for it.
    replaced: Vec<(PathId, PathId)>,
    /// Paths in whose place another has come.
    useless: Vec<PathId>,
}

impl Ways {
    /// Has `at_once` paths at a time, the first included, and the others of `further` as spares.
    pub(super) fn new(further: Vec<Further>, at_once: usize) -> Self {
        let mut waiting = VecDeque::from(further);
        let spares = waiting.split_off(waiting.len().min(at_once.saturating_sub(1)));
        waiting.make_contiguous().sort_by_key(|way| way.open_after_ns);
        Self { waiting, spares, ..Self::default() }
    }

    /// Takes note of what the protocol tells of a connection.
    pub(super) fn note(&mut self, now_ns: i64, conn: ConnId, event: &EventKind) {
        match *event {
            EventKind::PathsAllowed => self.allowed = Some((conn, now_ns)),
            EventKind::PathDown(id) => self.down.push_back(id),
            EventKind::PathUp(id) => {
                // One that answers again is kept.
                self.down.retain(|down| *down != id);
                self.replaced.retain(|(_, lost)| *lost != id);
                let came = self.replaced.iter().filter(|(new, _)| *new == id);
                self.useless.extend(came.map(|(_, lost)| *lost));
                self.replaced.retain(|(new, _)| *new != id);
            }
            _ => {}
        }
    }

    /// When the next path is to be opened.
    pub(super) fn next_ns(&self) -> i64 {
        match (self.allowed, self.waiting.front()) {
            (Some((_, since_ns)), Some(way)) => since_ns.saturating_add(way.open_after_ns),
            _ => i64::MAX,
        }
    }

    /// Opens and closes what is due; whether there was anything.
    ///
    /// # Errors
    /// A sentence if a path cannot be opened.
    pub(super) fn act(&mut self, proto: &mut Endpoint, now_ns: i64) -> Result<bool, Failure> {
        let Some((conn, _)) = self.allowed else { return Ok(false) };
        let mut open = |way: Further| {
            proto.open_path(instant(now_ns), conn, way.path, way.backup).map_err(|error| {
                let (local, remote) = (way.path.local, way.path.remote);
                Failure::new(format!("no path from {local} to {remote}: {error}"))
            })
        };
        let mut acted = false;
        while self.next_ns() <= now_ns
            && let Some(way) = self.waiting.pop_front()
        {
            open(way)?;
            acted = true;
        }
        while !self.spares.is_empty()
            && let Some(lost) = self.down.pop_front()
            && let Some(way) = self.spares.pop_front()
        {
            self.replaced.push((open(way)?, lost));
            acted = true;
        }
        for lost in self.useless.drain(..) {
            // One that the protocol has given up is gone already.
            acted |= proto.close_path(instant(now_ns), conn, lost).is_ok();
        }
        Ok(acted)
    }
}

#[cfg(test)]
mod tests {
    use restp_proto::EndpointConfig;

    use super::*;

    fn further(host: u8, open_after_ns: i64) -> Further {
        let end = |net| ([10, host, net, 1], 5000).into();
        Further { path: PathAddr { local: end(1), remote: end(2) }, backup: false, open_after_ns }
    }

    #[test]
    fn paths_wait_for_their_time_and_those_beyond_the_number_for_a_failure() {
        let mut ways = Ways::new(vec![further(1, 7), further(2, 3), further(3, 0)], 3);
        assert_eq!((ways.waiting.len(), ways.spares.len()), (2, 1));
        assert_eq!(ways.next_ns(), i64::MAX, "none may be opened yet");
        let mut proto = Endpoint::new(EndpointConfig::default(), [1; 32]);
        assert!(!ways.act(&mut proto, 100).unwrap());
        let path = further(0, 0).path;
        let profile = restp_proto::Profile::multipath().validate().unwrap();
        let conn = proto.connect(instant(0), path, 9, 7, &profile).unwrap();
        ways.note(1000, conn, &EventKind::PathsAllowed);
        assert_eq!(ways.next_ns(), 1003);
        assert!(!ways.act(&mut proto, 1002).unwrap());
        assert!(ways.act(&mut proto, 1003).is_err(), "the protocol has had no answer");
        assert_eq!(ways.next_ns(), 1007);
    }

    #[test]
    fn a_path_that_answers_again_is_kept_and_one_that_was_replaced_is_not() {
        let mut ways =
            Ways { replaced: vec![(PathId(2), PathId(0)), (PathId(3), PathId(1))], ..Ways::default() };
        let mut proto = Endpoint::new(EndpointConfig::default(), [1; 32]);
        let profile = restp_proto::Profile::multipath().validate().unwrap();
        let conn = proto.connect(instant(0), further(0, 0).path, 9, 7, &profile).unwrap();
        for id in [1, 3, 2] {
            ways.note(0, conn, &EventKind::PathUp(PathId(id)));
        }
        assert_eq!(ways.useless, [PathId(0)]);
        ways.note(0, conn, &EventKind::PathDown(PathId(4)));
        ways.note(0, conn, &EventKind::PathUp(PathId(4)));
        assert!(ways.down.is_empty());
    }
}
