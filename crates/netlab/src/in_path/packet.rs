//! Where the headers of a packet stand: of the innermost IP packet, behind a plain GRE header where there is one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Numbers of protocols over IP (IANA).
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const GRE: u8 = 47;
pub(crate) const ICMPV6: u8 = 58;
pub(crate) const SCTP: u8 = 132;

/// Shortest IPv4 header (RFC 791), header of IPv6 (RFC 8200).
pub(crate) const IPV4_BYTES: usize = 20;
pub(crate) const IPV6_BYTES: usize = 40;
/// Shortest TCP header (RFC 9293).
const TCP_BYTES: usize = 20;
/// A GRE header without options (RFC 2784), as [`crate::TunnelSpec`] makes them.
const GRE_BYTES: usize = 4;

/// Headers of a packet; all places count from its first byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headers {
    /// The IP headers, outermost first: one, or two where a tunnel carries the packet.
    pub ip_at: Vec<usize>,
    /// 4 or 6, of the innermost.
    pub version: u8,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub protocol: u8,
    /// The transport's header; none of a later fragment.
    pub transport_at: Option<usize>,
    /// What the transport carries; of one that is not known here, its header.
    pub payload_at: Option<usize>,
    /// Whether a part of the transport's data is in another packet.
    pub fragment: bool,
    /// Where the innermost IP packet ends, as it says itself.
    pub end: usize,
}

impl Headers {
    /// Reads a packet from its outermost IP header on; none of what is cut or no IP.
    pub fn of(packet: &[u8]) -> Option<Headers> {
        let outer = at(packet, 0)?;
        if outer.protocol == GRE
            && let Some(gre_at) = outer.transport_at
            && matches!(packet.get(gre_at..gre_at + GRE_BYTES)?, [0, 0, 0x08, 0] | [0, 0, 0x86, 0xdd])
            && let Some(mut inner) = at(packet, gre_at + GRE_BYTES)
        {
            inner.ip_at.insert(0, 0);
            return Some(inner);
        }
        Some(outer)
    }

    /// The innermost IP header.
    pub fn innermost_at(&self) -> usize {
        self.ip_at[self.ip_at.len() - 1]
    }

    /// Source and destination port of TCP, UDP and SCTP.
    pub fn ports(&self, packet: &[u8]) -> Option<(u16, u16)> {
        let at = self.transport_at.filter(|_| matches!(self.protocol, TCP | UDP | SCTP))?;
        Some((u16_at(packet, at)?, u16_at(packet, at + 2)?))
    }

    /// What the transport carries.
    pub fn payload<'a>(&self, packet: &'a [u8]) -> &'a [u8] {
        self.payload_at.and_then(|at| packet.get(at..self.end)).unwrap_or_default()
    }
}

fn at(packet: &[u8], start: usize) -> Option<Headers> {
    let ip = packet.get(start..)?;
    let (header_bytes, total_bytes, protocol, fragment, first) = match ip.first()? >> 4 {
        4 => {
            let header_bytes = usize::from(ip[0] & 0x0f) * 4;
            let total = usize::from(u16_at(ip, 2)?);
            let offset = u16_at(ip, 6)?;
            (header_bytes, total, *ip.get(9)?, offset & 0x3fff != 0, offset & 0x1fff == 0)
        }
        6 => (IPV6_BYTES, IPV6_BYTES + usize::from(u16_at(ip, 4)?), *ip.get(6)?, false, true),
        _ => return None,
    };
    if header_bytes < IPV4_BYTES || total_bytes < header_bytes || ip.len() < total_bytes {
        return None;
    }
    let (source, destination) = addresses(ip)?;
    let end = start + total_bytes;
    let transport_at = first.then_some(start + header_bytes);
    let payload_at = transport_at.and_then(|at| {
        let bytes = match protocol {
            // A header that says it is shorter than one can be is none (RFC 9293, section 3.1).
            TCP => Some(usize::from(packet.get(at + 12)? >> 4) * 4).filter(|bytes| *bytes >= TCP_BYTES)?,
            UDP | ICMP | ICMPV6 => 8,
            SCTP => 12,
            _ => 0,
        };
        (at + bytes <= end).then_some(at + bytes)
    });
    let version = ip[0] >> 4;
    let ip_at = vec![start];
    Some(Headers { ip_at, version, source, destination, protocol, transport_at, payload_at, fragment, end })
}

fn addresses(ip: &[u8]) -> Option<(IpAddr, IpAddr)> {
    if ip[0] >> 4 == 4 {
        let of = |at: usize| Some(Ipv4Addr::from(*ip.get(at..)?.first_chunk::<4>()?));
        return Some((of(12)?.into(), of(16)?.into()));
    }
    let of = |at: usize| Some(Ipv6Addr::from(*ip.get(at..)?.first_chunk::<16>()?));
    Some((of(8)?.into(), of(24)?.into()))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::in_path::checksums;

    /// A packet over IPv4 from 10.0.1.1 to 10.0.2.1 with right checksums.
    pub(crate) fn ipv4(protocol: u8, transport: &[u8]) -> Vec<u8> {
        let length = (IPV4_BYTES + transport.len()) as u16;
        let mut packet = vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1];
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        packet.extend(transport);
        checksums::repair(&mut packet);
        packet
    }

    pub(crate) fn ipv6(protocol: u8, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
        packet[4..6].copy_from_slice(&(transport.len() as u16).to_be_bytes());
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend(transport);
        checksums::repair(&mut packet);
        packet
    }

    pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
        let mut datagram = [source.to_be_bytes(), destination.to_be_bytes()].concat();
        datagram.extend((8 + payload.len() as u16).to_be_bytes());
        datagram.extend([0xff, 0xff]);
        datagram.extend(payload);
        datagram
    }

    pub(crate) fn tcp(ports: (u16, u16), sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut segment = [ports.0.to_be_bytes(), ports.1.to_be_bytes()].concat();
        segment.extend(sequence.to_be_bytes());
        segment.extend([0, 0, 0, 9, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        segment.extend(payload);
        segment
    }

    pub(crate) fn in_gre(inner: &[u8]) -> Vec<u8> {
        ipv4(GRE, &[&[0, 0, 8, 0], inner].concat())
    }

    #[test]
    fn headers_are_found_in_the_open_and_in_a_tunnel() {
        let inner = ipv4(UDP, &udp(40_000, 5000, b"abc"));
        for (packet, outer) in [(inner.clone(), 0), (in_gre(&inner), 24)] {
            let headers = Headers::of(&packet).expect("it is whole");
            assert_eq!(headers.innermost_at(), outer);
            assert_eq!(headers.ports(&packet), Some((40_000, 5000)));
            assert_eq!(headers.payload(&packet), b"abc");
            assert_eq!(headers.source, IpAddr::from([10, 0, 1, 1]));
        }
        let packet = ipv6(TCP, &tcp((1, 2), 3, 0x10, b"xy"));
        let headers = Headers::of(&packet).expect("it is whole");
        assert_eq!((headers.version, headers.payload(&packet)), (6, &b"xy"[..]));
    }

    #[test]
    fn what_is_cut_or_no_ip_has_none() {
        let packet = ipv4(UDP, &udp(1, 2, b"abc"));
        assert!((0..packet.len()).all(|length| Headers::of(&packet[..length]).is_none()));
        assert_eq!(Headers::of(&[0x10; 60]), None);
    }

    #[test]
    fn a_tcp_header_that_is_too_short_has_no_payload() {
        let mut packet = ipv4(TCP, &tcp((1, 2), 3, 0x10, b"xy"));
        packet[32] = 0x40;
        let headers = Headers::of(&packet).expect("it is whole");
        assert_eq!((headers.payload_at, headers.payload(&packet)), (None, &b""[..]));
    }

    #[test]
    fn a_later_fragment_has_no_transport() {
        let mut packet = ipv4(UDP, &udp(1, 2, b"abc"));
        packet[7] = 3;
        let headers = Headers::of(&packet).expect("it is whole");
        assert_eq!((headers.transport_at, headers.fragment, headers.ports(&packet)), (None, true, None));
    }
}
