//! The sessions that datagrams open, told from the datagrams themselves, whatever the library: what a processor charges for
//! before the library has looked at them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use super::socket::Datagram;
use crate::processor::Workplace;

/// The work that datagrams make at an endpoint that listens.
pub(super) struct Arrivals {
    workplace: Arc<Workplace>,
    /// Sessions by the address and the connection ID of who opened them, which stay the same while it shakes hands
    /// (RFC 9000, section 7.2).
    known: BTreeSet<(SocketAddr, Vec<u8>)>,
    /// Datagrams that were charged, of those that were sent.
    sent: u64,
}

impl Arrivals {
    /// That of a place at a processor.
    pub(super) fn at(workplace: &Arc<Workplace>) -> Self {
        Self { workplace: Arc::clone(workplace), known: BTreeSet::new(), sent: 0 }
    }

    /// Datagrams came, and so many were sent since the endpoint began: returns when they may be answered.
    pub(super) fn came(&mut self, datagrams: &[Datagram], sent: u64) {
        let packets = datagrams.len() as u64 + sent - std::mem::replace(&mut self.sent, sent);
        let opening = datagrams.iter().filter(|datagram| self.opens(datagram)).count();
        if opening > 0 {
            self.workplace.sessions(opening as u64, packets);
        } else {
            self.workplace.packets(packets);
        }
    }

    /// Whether a datagram is the first of a session.
    fn opens(&mut self, datagram: &Datagram) -> bool {
        let id = initial_source(&datagram.bytes);
        id.is_some_and(|id| self.known.insert((datagram.from, id.to_vec())))
    }
}

/// The source connection ID of an Initial packet of QUIC version 1 (RFC 9000, section 17.2.2); none of any other.
fn initial_source(datagram: &[u8]) -> Option<&[u8]> {
    /// The long header's form and its type.
    const FORM_AND_TYPE: u8 = 0xb0;
    const INITIAL: u8 = 0x80;
    const VERSION_1: [u8; 4] = [0, 0, 0, 1];
    let (first, rest) = datagram.split_first()?;
    let rest = rest.strip_prefix(&VERSION_1).filter(|_| first & FORM_AND_TYPE == INITIAL)?;
    let (destination_bytes, rest) = rest.split_first()?;
    let (source_bytes, rest) = rest.get(usize::from(*destination_bytes)..)?.split_first()?;
    rest.get(..usize::from(*source_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::processor::{Costs, Processor};

    fn initial(source: &[u8]) -> Vec<u8> {
        [&[0xc3, 0, 0, 0, 1, 4, 1, 2, 3, 4, source.len() as u8][..], source, &[0; 40]].concat()
    }

    #[test]
    fn an_initial_packet_tells_who_sent_it_and_nothing_else_does() {
        assert_eq!(initial_source(&initial(b"abcde")), Some(&b"abcde"[..]));
        assert_eq!(initial_source(&initial(b"")), Some(&b""[..]));
        let whole = initial(b"abcde");
        assert!((0..16).all(|bytes| initial_source(&whole[..bytes]).is_none()));
        // A Handshake packet, a packet of another version, one with a short header.
        for (at, value) in [(0, 0xe3), (4, 2), (0, 0x43)] {
            let mut other = whole.clone();
            other[at] = value;
            assert_eq!(initial_source(&other), None);
        }
    }

    #[test]
    fn a_session_is_charged_with_its_first_packet_and_repetitions_are_packets() {
        let costs = Costs { handshake_ns: 1, packet_ns: 1, ..Costs::default() };
        let processor = Arc::new(Processor::new(Clock::starting_now(false), i64::MAX, costs));
        let mut arrivals = Arrivals::at(&Arc::new(Workplace::new(&processor)));
        let from = |port: u16, bytes: Vec<u8>| Datagram {
            from: ([127, 0, 0, 1], port).into(),
            ecn: 0,
            bytes: bytes.as_slice().into(),
        };
        arrivals.came(&[from(1, initial(b"one"))], 0);
        arrivals.came(&[from(1, initial(b"one")), from(1, vec![0x40; 30])], 3);
        assert_eq!(processor.usage().handshakes, 1);
        arrivals.came(&[from(1, initial(b"two")), from(2, initial(b"one"))], 3);
        let usage = processor.usage();
        assert_eq!((usage.handshakes, usage.packets), (3, 1 + 5 + 2));
    }
}
