//! The paths of a connection of noq (draft-ietf-quic-multipath): one to each address of the peer, opened by the end that
//! opened the connection, and again when one has failed.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use noq_proto::{Connection, FourTuple, PathId, PathStatus};

/// How long to wait before a path is asked for again that could not be opened: the other end has given no connection
/// identifiers for it yet, or allows no further one.
const RETRY_NS: i64 = 100_000_000;

/// The peer's addresses: that of the handshake, and those of the paths beside it.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    pub(super) first: SocketAddr,
    pub(super) further: Vec<SocketAddr>,
    /// How many carry data, the first ones; those behind them carry some only while none of these is left.
    pub(super) active: usize,
}

impl Paths {
    /// Paths that there may be at a time.
    pub(super) fn most(&self) -> usize {
        1 + self.further.len()
    }

    fn peers(&self) -> impl Iterator<Item = SocketAddr> {
        [self.first].into_iter().chain(self.further.iter().copied())
    }

    /// What the path at a place in the list is for.
    fn status(&self, place: usize) -> PathStatus {
        if place < self.active { PathStatus::Available } else { PathStatus::Backup }
    }
}

/// Which of its paths a connection has.
pub(super) struct Opened {
    paths: Paths,
    /// By the library's identifier: the peer's address.
    open: BTreeMap<PathId, SocketAddr>,
    /// When a missing one is tried next.
    next_try_ns: i64,
}

impl Opened {
    /// A connection with its first path only.
    pub(super) fn new(paths: Paths) -> Self {
        let open = BTreeMap::from([(PathId::ZERO, paths.first)]);
        Self { paths, open, next_try_ns: 0 }
    }

    /// A path is given up. A new one to the same address takes its place as soon as that answers.
    pub(super) fn gone(&mut self, id: PathId, now_ns: i64) {
        self.open.remove(&id);
        self.next_try_ns = now_ns;
    }

    /// Opens what is missing, if it is time to try.
    pub(super) fn open_missing(&mut self, quic: &mut Connection, now: Instant, now_ns: i64) {
        if quic.is_closed() || now_ns < self.due_ns() {
            return;
        }
        self.next_try_ns = now_ns + RETRY_NS;
        for (place, peer) in self.paths.peers().enumerate() {
            if self.open.values().any(|known| *known == peer) {
                continue;
            }
            if let Ok(id) = quic.open_path(FourTuple::from_remote(peer), self.paths.status(place), now) {
                self.open.insert(id, peer);
            }
        }
    }

    /// When a missing path is tried next; `i64::MAX` while none is missing.
    pub(super) fn due_ns(&self) -> i64 {
        if self.open.len() < self.paths.most() { self.next_try_ns } else { i64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(active: usize) -> Paths {
        let address = |number: u8| SocketAddr::from(([10, number, 2, 1], 4433));
        Paths { first: address(1), further: vec![address(2), address(3)], active }
    }

    #[test]
    fn the_first_paths_carry_data_and_those_behind_them_wait() {
        let of = |active| (0..3).map(|place| paths(active).status(place)).collect::<Vec<_>>();
        assert_eq!(of(1), [PathStatus::Available, PathStatus::Backup, PathStatus::Backup]);
        assert_eq!(of(9), [PathStatus::Available; 3]);
    }

    #[test]
    fn a_path_is_asked_for_until_every_address_has_one_and_again_when_one_is_gone() {
        let mut two = paths(2);
        two.further.truncate(1);
        let mut opened = Opened::new(two.clone());
        assert_eq!(opened.due_ns(), 0);
        opened.open.insert(PathId::MAX, two.further[0]);
        assert_eq!(opened.due_ns(), i64::MAX);
        opened.gone(PathId::ZERO, 7);
        assert_eq!(opened.due_ns(), 7);
    }
}
