//! Reads a TCP segment's addresses, place and length from the first bytes of an IPv4 or IPv6 packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// What a packet says about a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) sequence: u32,
    pub(super) syn: bool,
    pub(super) payload_bytes: u32,
}

/// IP protocol number of TCP (RFC 9293).
const TCP: u8 = 6;
/// The SYN bit in byte 13 of the TCP header (RFC 9293).
const SYN: u8 = 0x02;
/// Shortest headers: IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293).
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const TCP_BYTES: usize = 20;

/// The TCP segment in a packet; `None` when it holds none, or only a later fragment of one.
pub(super) fn parse(packet: &[u8]) -> Option<Segment> {
    match packet.first()? >> 4 {
        4 => parse_ipv4(packet),
        6 => parse_ipv6(packet),
        _ => None,
    }
}

fn parse_ipv4(packet: &[u8]) -> Option<Segment> {
    let header = packet.get(..IPV4_BYTES)?;
    let header_bytes = usize::from(header[0] & 0x0f) * 4;
    let total_bytes = u32::from(u16::from_be_bytes([header[2], header[3]]));
    let fragment_offset = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
    if header[9] != TCP || fragment_offset != 0 || header_bytes < IPV4_BYTES {
        return None;
    }
    let address =
        |at: usize| IpAddr::from(Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]));
    parse_tcp(
        packet.get(header_bytes..)?,
        total_bytes.checked_sub(header_bytes as u32)?,
        address(12),
        address(16),
    )
}

/// Extension headers do not stand before the TCP header on any network of this project.
fn parse_ipv6(packet: &[u8]) -> Option<Segment> {
    let header = packet.get(..IPV6_BYTES)?;
    if header[6] != TCP {
        return None;
    }
    let address =
        |at: usize| header[at..].first_chunk::<16>().map(|bytes| IpAddr::from(Ipv6Addr::from(*bytes)));
    let length = u32::from(u16::from_be_bytes([header[4], header[5]]));
    parse_tcp(packet.get(IPV6_BYTES..)?, length, address(8)?, address(24)?)
}

fn parse_tcp(tcp: &[u8], tcp_bytes: u32, source: IpAddr, destination: IpAddr) -> Option<Segment> {
    let header = tcp.get(..TCP_BYTES)?;
    let header_bytes = u32::from(header[12] >> 4) * 4;
    Some(Segment {
        source: SocketAddr::new(source, u16::from_be_bytes([header[0], header[1]])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([header[2], header[3]])),
        sequence: u32::from_be_bytes([header[4], header[5], header[6], header[7]]),
        syn: header[13] & SYN != 0,
        payload_bytes: tcp_bytes.checked_sub(header_bytes)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IPV4_SEGMENT: [u8; 40] = [
        0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1, //
        0x9c, 0x40, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0, 0x80, 0x10, 0, 0, 0, 0, 0, 0,
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
