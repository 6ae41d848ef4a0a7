//! Closed connections that are remembered for twice the segment lifetime, so that a repeated FIN gets its answer.

use std::collections::{HashMap, VecDeque};

use super::table::{Key, SecretState};
use crate::time::Instant;

struct Entry {
    until: Instant,
    /// The last acknowledgement, ready to be sent again.
    answer: Vec<u8>,
}

/// The memory of closed connections (answer D12): bounded, the oldest go first.
// R-CM-5
pub(crate) struct Linger {
    entries: HashMap<Key, Entry, SecretState>,
    order: VecDeque<(Instant, Key)>,
    limit: usize,
}

impl Linger {
    pub fn new(state: SecretState, limit: usize) -> Self {
        Self { entries: HashMap::with_hasher(state), order: VecDeque::new(), limit }
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((until, key)) = self.order.front().copied() {
            if until > now && self.order.len() <= self.limit {
                break;
            }
            self.order.pop_front();
            if self.entries.get(&key).is_some_and(|entry| entry.until == until) {
                self.entries.remove(&key);
            }
        }
    }

    pub fn put(&mut self, now: Instant, key: Key, until: Instant, answer: Vec<u8>) {
        self.entries.insert(key, Entry { until, answer });
        self.order.push_back((until, key));
        self.forget_old(now);
    }

    /// The answer for a connection that was closed not long ago.
    pub fn answer(&mut self, now: Instant, key: &Key) -> Option<&[u8]> {
        self.forget_old(now);
        self.entries.get(key).map(|entry| entry.answer.as_slice())
    }

    /// A new connection takes the identity over.
    pub fn forget(&mut self, key: &Key) {
        self.entries.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Secret;
    use crate::path::PathAddr;
    use std::time::Duration;

    fn key(port: u16) -> Key {
        let any = "192.0.2.1:1".parse().unwrap();
        Key { addr: PathAddr { local: any, remote: any }, local_port: 1, remote_port: port }
    }

    #[test]
    fn entries_end_with_their_time_and_with_the_limit() {
        let end = Instant::ZERO + Duration::from_secs(60);
        let mut linger = Linger::new(SecretState::new(&Secret::new([0; 16])), 2);
        for port in 1..=3 {
            linger.put(Instant::ZERO, key(port), end, vec![port as u8]);
        }
        assert!(linger.answer(Instant::ZERO, &key(1)).is_none(), "the limit is two");
        assert_eq!(linger.answer(Instant::ZERO, &key(3)), Some([3].as_slice()));
        assert!(linger.answer(end, &key(3)).is_none());
    }
}
