//! The addresses that load comes from: many of 127.0.0.0/8 look to a server like many clients.

use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::guard::Loopback;

/// The most addresses of one run.
pub const MOST_SOURCES: u32 = 65_536;

/// Addresses of this machine, taken in turn.
#[derive(Clone, Debug)]
pub struct Sources {
    count: u32,
    v6: bool,
    next: Cell<u32>,
}

/// Why there are no such sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// Out of range.
    #[error("{0} source addresses are out of range: 1 to {MOST_SOURCES}")]
    Range(u32),
    /// IPv6's loopback has one address.
    #[error("{0} source addresses need a server on 127.0.0.0/8: loopback has only ::1 in IPv6")]
    Ipv6(u32),
}

impl Sources {
    /// `count` addresses for a server: one is 127.0.0.1 (or `::1`), more are 127.64.0.1 and those after it.
    ///
    /// # Errors
    /// If loopback has not as many, or they are more than [`MOST_SOURCES`].
    pub fn new(count: u32, to: Loopback) -> Result<Self, TooMany> {
        let v6 = to.address().is_ipv6();
        match count {
            0 => Err(TooMany::Range(count)),
            2.. if v6 => Err(TooMany::Ipv6(count)),
            _ if count > MOST_SOURCES => Err(TooMany::Range(count)),
            _ => Ok(Self { count, v6, next: Cell::new(0) }),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// One of them, by its number below [`Self::count`].
    #[must_use]
    pub fn at(&self, index: u32) -> IpAddr {
        const FIRST: u32 = u32::from_be_bytes([127, 64, 0, 1]);
        match (self.v6, self.count) {
            (true, _) => Ipv6Addr::LOCALHOST.into(),
            (false, 1) => Ipv4Addr::LOCALHOST.into(),
            (false, count) => Ipv4Addr::from_bits(FIRST + index % count).into(),
        }
    }

    /// The number of the one whose turn it is.
    pub fn turn(&self) -> u32 {
        let index = self.next.get();
        self.next.set((index + 1) % self.count);
        index
    }

    /// The one whose turn it is.
    pub fn take(&self) -> IpAddr {
        self.at(self.turn())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::is_loopback;

    fn v4() -> Loopback {
        "127.0.0.1:1".parse().unwrap()
    }

    #[test]
    fn all_are_different_and_of_loopback() {
        let sources = Sources::new(MOST_SOURCES, v4()).unwrap();
        let addresses: std::collections::BTreeSet<IpAddr> =
            (0..MOST_SOURCES).map(|_| sources.take()).collect();
        assert_eq!(addresses.len(), MOST_SOURCES as usize);
        assert!(addresses.into_iter().all(is_loopback));
    }

    #[test]
    fn they_come_in_turn() {
        let sources = Sources::new(2, v4()).unwrap();
        let taken: Vec<String> = (0..3).map(|_| sources.take().to_string()).collect();
        assert_eq!(taken, ["127.64.0.1", "127.64.0.2", "127.64.0.1"]);
        assert_eq!(Sources::new(1, v4()).unwrap().take().to_string(), "127.0.0.1");
    }

    #[test]
    fn what_loopback_has_not_is_refused() {
        assert_eq!(Sources::new(0, v4()).unwrap_err(), TooMany::Range(0));
        assert_eq!(Sources::new(MOST_SOURCES + 1, v4()).unwrap_err(), TooMany::Range(MOST_SOURCES + 1));
        let v6 = "[::1]:1".parse().unwrap();
        assert_eq!(Sources::new(2, v6).unwrap_err(), TooMany::Ipv6(2));
        assert_eq!(Sources::new(1, v6).unwrap().take().to_string(), "::1");
    }
}
