//! Reads a TCP segment's addresses, place and length from the first bytes of an IPv4 or IPv6 packet.

use std::net::{IpAddr, SocketAddr};

use etherparse::{IpFragOffset, IpNumber, Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeaderSlice};

/// What a packet says about a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    pub(super) syn: bool,
    pub(super) payload_bytes: u32,
}

/// The TCP segment in a packet; `None` when it holds none, or only a later fragment of one. Extension headers of IPv6 do
/// not stand before the TCP header on any network of this project.
pub(super) fn parse(packet: &[u8]) -> Option<Segment> {
    if let Ok(ip) = Ipv4HeaderSlice::from_slice(packet) {
        let (is_tcp, offset) = (ip.protocol() == IpNumber::TCP, ip.fragments_offset());
        let (header_bytes, ends) =
            (ip.slice().len(), [ip.source_addr().into(), ip.destination_addr().into()]);
        let tcp_bytes = usize::from(ip.total_len()).checked_sub(header_bytes)?;
        return (is_tcp && offset == IpFragOffset::ZERO)
            .then(|| segment(&packet[header_bytes..], tcp_bytes, ends))?;
    }
    let ip = Ipv6HeaderSlice::from_slice(packet).ok().filter(|ip| ip.next_header() == IpNumber::TCP)?;
    let ends = [ip.source_addr().into(), ip.destination_addr().into()];
    segment(&packet[ip.slice().len()..], usize::from(ip.payload_length()), ends)
}

/// What stands in the beginning of `tcp_bytes` that one of the `ends` sends to the other.
fn segment(captured: &[u8], tcp_bytes: usize, [source, destination]: [IpAddr; 2]) -> Option<Segment> {
    let header = TcpHeaderSlice::from_slice(captured).ok()?;
    Some(Segment {
        source: SocketAddr::new(source, header.source_port()),
        destination: SocketAddr::new(destination, header.destination_port()),
        sequence: header.sequence_number(),
        syn: header.syn(),
        payload_bytes: tcp_bytes.checked_sub(header.slice().len())? as u32,
    })
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;
    use proptest::prelude::*;

    const IPV4_SEGMENT: [u8; 52] = [
        0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1, //
        0x9c, 0x40, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0, 0x80, 0x10, 0, 0, 0, 0, 0, 0, //
        1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2,
    ];

    #[test]
    fn reads_a_full_segment_with_options() {
        let segment = parse(&IPV4_SEGMENT).expect("a whole header");
        assert_eq!(segment.source, "10.0.1.1:40000".parse().expect("an address"));
        assert_eq!(segment.destination, "10.0.2.1:5000".parse().expect("an address"));
        assert_eq!((segment.sequence, segment.syn, segment.payload_bytes), (0x0102_0304, false, 1448));
    }

    #[test]
    fn reads_a_segment_over_ipv6() {
        let mut packet = vec![0x60, 0, 0, 0, 0, 30, 6, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([0, 1, 0, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        let segment = parse(&packet).expect("a whole header");
        assert_eq!((segment.sequence, segment.syn, segment.payload_bytes), (9, true, 10));
        assert_eq!(segment.source.ip(), IpAddr::from(Ipv6Addr::from([0xfd; 16])));
    }

    #[test]
    fn passes_over_later_fragments_and_other_protocols() {
        let mut fragment = IPV4_SEGMENT;
        fragment[7] = 1;
        assert_eq!(parse(&fragment), None);
        let mut udp = IPV4_SEGMENT;
        udp[9] = 17;
        assert_eq!(parse(&udp), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_passed_over(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            if let Some(segment) = parse(&bytes) {
                prop_assert!(segment.payload_bytes <= 65_535);
            }
        }
    }
}
