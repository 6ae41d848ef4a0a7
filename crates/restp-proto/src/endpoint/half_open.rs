//! Connections that a peer began and has not proven yet: how many there are, in all and for each address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};

/// What a half-open connection counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub address: IpAddr,
    /// A cookie showed that the peer is at this address.
    pub proven: bool,
}

/// Slots of half-open connections in use.
// R-SEC-2, R-PROT-9
#[derive(Debug, Default)]
pub(super) struct HalfOpen {
    total: usize,
    /// Without and with a proven address.
    by_network: BTreeMap<IpAddr, [usize; 2]>,
}

/// Whoever has one IPv6 address has all with the same first 64 bits (RFC 4291, section 2.5.4).
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        },
    }
}

impl HalfOpen {
    pub fn total(&self) -> usize {
        self.total
    }

    /// How many there are from the network of `share`, proven or not as it is.
    pub fn of(&self, share: Share) -> usize {
        self.by_network.get(&network(share.address)).map_or(0, |counts| counts[usize::from(share.proven)])
    }

    pub fn begin(&mut self, share: Share) {
        self.total += 1;
        self.by_network.entry(network(share.address)).or_default()[usize::from(share.proven)] += 1;
    }

    pub fn end(&mut self, share: Share) {
        let key = network(share.address);
        let Some(counts) = self.by_network.get_mut(&key) else { return };
        self.total -= 1;
        counts[usize::from(share.proven)] -= 1;
        if *counts == [0, 0] {
            self.by_network.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R-SEC-2
    #[test]
    fn slots_are_counted_by_network_and_given_back() {
        let share = |address: &str, proven| Share { address: address.parse().unwrap(), proven };
        let mut slots = HalfOpen::default();
        for (address, proven) in [("2001:db8::1", false), ("2001:db8::2", false), ("2001:db8::3", true)] {
            slots.begin(share(address, proven));
        }
        assert_eq!(slots.of(share("2001:db8::9", false)), 2, "one network");
        assert_eq!(slots.of(share("2001:db8::9", true)), 1);
        assert_eq!(slots.of(share("2001:db8:0:1::9", false)), 0);
        slots.end(share("2001:db8::1", false));
        slots.end(share("2001:db8::2", false));
        slots.end(share("2001:db8::3", true));
        assert_eq!((slots.total(), slots.by_network.len()), (0, 0));
    }
}
