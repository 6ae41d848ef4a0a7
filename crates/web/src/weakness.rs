//! Weaknesses that can be asked for by name: each takes one bound away.
//!
//! They are positive controls: an attack that a server without the bound withstands has not been shown to attack it.
//! The module is there only with the feature `weak`, and a server that has one says so in its first line.

use crate::limits::Limits;

/// A bound that can be taken away.
pub struct Weakness {
    /// Its name on the command line.
    pub name: &'static str,
    /// The bound that is missing.
    pub removes: &'static str,
    /// Takes it away.
    pub apply: fn(&mut Limits),
}

/// All of them, a line each.
#[rustfmt::skip]
pub const REGISTRY: &[Weakness] = &[
    Weakness { name: "no-handshake-timeout", removes: "a handshake ends in time", apply: |limits| limits.handshake_timeout = None },
    Weakness { name: "no-header-timeout", removes: "the head of a request comes in time", apply: |limits| limits.header_timeout = None },
    Weakness { name: "no-idle-timeout", removes: "a connection on which nothing goes on is closed", apply: |limits| limits.idle_timeout = None },
    Weakness { name: "no-body-timeout", removes: "the body of a request comes in time", apply: |limits| limits.body_timeout = None },
    Weakness { name: "unbounded-bodies", removes: "the body of a request is short", apply: |limits| limits.body_octets = u64::MAX },
    Weakness { name: "unbounded-handshakes", removes: "handshakes in flight are few", apply: |limits| limits.handshakes_in_flight = usize::MAX },
    Weakness { name: "unbounded-connections", removes: "connections are few", apply: |limits| limits.connections = usize::MAX },
    Weakness { name: "unbounded-incoming", removes: "what comes before a connection is looked at is little", apply: |limits| (limits.incoming, limits.incoming_octets, limits.incoming_total_octets) = (usize::MAX, u64::MAX, u64::MAX) },
    Weakness { name: "unbounded-resets", removes: "a client that gives up its requests is sent away", apply: |limits| (limits.pending_resets, limits.cancelled_requests) = (usize::MAX, u64::MAX) },
    Weakness { name: "unbounded-headers", removes: "the head of a request is short", apply: |limits| limits.header_octets = u32::MAX },
    Weakness { name: "unbounded-control", removes: "HTTP/3's own streams carry little", apply: |limits| limits.control_octets = u64::MAX },
    Weakness { name: "unbounded-sending", removes: "what an answer has waiting to be acknowledged is little", apply: |limits| limits.send_octets = u32::MAX },
    Weakness { name: "unbounded-crypto", removes: "what comes out of order of a QUIC handshake is little", apply: |limits| limits.crypto_octets = usize::MAX },
    Weakness { name: "repeats-datagrams", removes: "an address that is not validated is sent at most three times what came from it", apply: |limits| limits.copies = 4 },
];

/// The weakness of this name.
pub fn find(name: &str) -> Option<&'static Weakness> {
    REGISTRY.iter().find(|weakness| weakness.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_weakness_has_a_name_of_its_own_and_changes_one_bound() {
        let sound = format!("{:?}", Limits::default());
        for (index, weakness) in REGISTRY.iter().enumerate() {
            assert!(REGISTRY[..index].iter().all(|other| other.name != weakness.name), "{}", weakness.name);
            assert!(!weakness.removes.is_empty());
            let mut limits = Limits::default();
            (weakness.apply)(&mut limits);
            assert_ne!(format!("{limits:?}"), sound, "{} changes nothing", weakness.name);
            assert!(find(weakness.name).is_some());
        }
        assert!(find("").is_none());
    }
}
