//! Network address translation that may forget: a host keeps its address, its peers see it move.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// First outer port that is handed out.
const FIRST_PORT: u16 = 20_000;

/// One translator in front of one host.
#[derive(Debug)]
pub(crate) struct Nat {
    outside: IpAddr,
    next_port: u16,
    out: BTreeMap<SocketAddr, SocketAddr>,
    back: BTreeMap<SocketAddr, SocketAddr>,
}

impl Nat {
    pub fn new(outside: IpAddr) -> Self {
        Self { outside, next_port: FIRST_PORT, out: BTreeMap::new(), back: BTreeMap::new() }
    }

    /// The address under which `inside` is known outside.
    pub fn translate(&mut self, inside: SocketAddr) -> SocketAddr {
        if let Some(outer) = self.out.get(&inside) {
            return *outer;
        }
        let outer = SocketAddr::new(self.outside, self.next_port);
        self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
        self.out.insert(inside, outer);
        self.back.insert(outer, inside);
        outer
    }

    /// Who is behind an outer address, if it is still known.
    pub fn resolve(&self, outer: SocketAddr) -> Option<SocketAddr> {
        self.back.get(&outer).copied()
    }

    /// Forgets everything: the next packet from inside gets a new outer port.
    pub fn forget(&mut self) {
        self.out.clear();
        self.back.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgetting_changes_the_port_and_closes_the_old_one() {
        let mut nat = Nat::new("198.51.100.1".parse().unwrap());
        let inside = "10.0.0.1:4000".parse().unwrap();
        let first = nat.translate(inside);
        assert_eq!((nat.translate(inside), nat.resolve(first)), (first, Some(inside)));
        nat.forget();
        assert_ne!(nat.translate(inside), first);
        assert_eq!(nat.resolve(first), None);
    }
}
