//! The checksums of a packet, outer and inner headers alike: whether they are right, and making them so.

use crc::{CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};

use super::packet::{Headers, ICMP, ICMPV6, IPV6_BYTES, SCTP, TCP, UDP};
use crate::capture::checksum::{fold, sum};

/// CRC-32C, which SCTP uses (RFC 9260, appendix A).
const CRC32C: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// The CRC-32 of zlib: the log's fingerprint of a packet.
const CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// A fingerprint of these bytes.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    CRC32.checksum(bytes)
}

/// Whether every checksum of the packet that is known here is right: of IPv4, TCP, UDP, ICMP, ICMPv6 and SCTP. None of
/// what is no IP or cut, and where a fragment hides the rest.
pub(crate) fn are_right(packet: &[u8]) -> Option<bool> {
    let headers = Headers::of(packet)?;
    let ip_right = headers.ip_at.iter().all(|&at| ipv4_header(packet, at).is_none_or(|h| sum(h) == 0xffff));
    if !ip_right {
        return Some(false);
    }
    if headers.fragment {
        return None;
    }
    let Some(place) = Place::of(&headers, packet) else { return Some(true) };
    let stored = packet.get(place.at..place.at + place.bytes)?;
    // Zero says that UDP over IPv4 has none (RFC 768).
    if headers.protocol == UDP && headers.version == 4 && stored == [0, 0] {
        return Some(true);
    }
    Some(match headers.protocol {
        SCTP => stored == crc32c_of(&headers, packet, &place)?,
        _ => fold(pseudo_header(&headers, packet) + sum(packet.get(place.from..headers.end)?)) == 0xffff,
    })
}

/// Makes every checksum right that is known here; a fragment's transport stays as it is.
pub(crate) fn repair(packet: &mut [u8]) {
    let Some(headers) = Headers::of(packet) else { return };
    for &at in &headers.ip_at {
        if let Some(header) = ipv4_header(packet, at) {
            let length = header.len();
            packet[at + 10..at + 12].fill(0);
            let right = !(sum(&packet[at..at + length]) as u16);
            packet[at + 10..at + 12].copy_from_slice(&right.to_be_bytes());
        }
    }
    let Some(place) = Place::of(&headers, packet).filter(|_| !headers.fragment) else { return };
    let range = place.at..place.at + place.bytes;
    if headers.protocol == SCTP {
        if let Some(right) = crc32c_of(&headers, packet, &place) {
            packet[range].copy_from_slice(&right);
        }
        return;
    }
    if headers.protocol == UDP && headers.version == 4 && packet[range.clone()] == [0, 0] {
        return;
    }
    packet[range.clone()].fill(0);
    let right = !(fold(pseudo_header(&headers, packet) + sum(&packet[place.from..headers.end])) as u16);
    // Zero would say that there is none.
    let right = if headers.protocol == UDP && right == 0 { 0xffff } else { right };
    packet[range].copy_from_slice(&right.to_be_bytes());
}

/// Where the transport's checksum stands, and from where on it sums up.
struct Place {
    from: usize,
    at: usize,
    bytes: usize,
}

impl Place {
    fn of(headers: &Headers, packet: &[u8]) -> Option<Place> {
        let from = headers.transport_at?;
        let (offset, bytes) = match headers.protocol {
            TCP => (16, 2),
            UDP => (6, 2),
            ICMP | ICMPV6 => (2, 2),
            SCTP => (8, 4),
            _ => return None,
        };
        let at = from + offset;
        (at + bytes <= headers.end && headers.end <= packet.len()).then_some(Place { from, at, bytes })
    }
}

fn crc32c_of(headers: &Headers, packet: &[u8], place: &Place) -> Option<[u8; 4]> {
    let mut digest = CRC32C.digest();
    digest.update(packet.get(place.from..place.at)?);
    digest.update(&[0; 4]);
    digest.update(packet.get(place.at + 4..headers.end)?);
    Some(digest.finalize().to_le_bytes())
}

/// The sum over addresses, protocol and length (RFC 9293, section 3.1; RFC 8200, section 8.1); ICMP has none.
fn pseudo_header(headers: &Headers, packet: &[u8]) -> u64 {
    if headers.protocol == ICMP {
        return 0;
    }
    let at = headers.innermost_at();
    let addresses =
        if headers.version == 4 { &packet[at + 12..at + 20] } else { &packet[at + 8..at + IPV6_BYTES] };
    let length = headers.end - headers.transport_at.unwrap_or(headers.end);
    sum(addresses) + u64::from(headers.protocol) + length as u64
}

fn ipv4_header(packet: &[u8], at: usize) -> Option<&[u8]> {
    (packet[at] >> 4 == 4).then(|| &packet[at..at + usize::from(packet[at] & 0x0f) * 4])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_path::packet::tests::{in_gre, ipv4, ipv6, tcp, udp};

    fn icmp() -> Vec<u8> {
        vec![8, 0, 0, 0, 0, 1, 0, 2, 9, 9]
    }

    fn sctp() -> Vec<u8> {
        vec![0x9c, 0x40, 0x13, 0x88, 1, 2, 3, 4, 0, 0, 0, 0, 0, 3, 0, 5, 7, 0, 0, 0]
    }

    fn all() -> Vec<Vec<u8>> {
        let inner = ipv4(TCP, &tcp((1, 2), 3, 0x18, b"odd"));
        vec![
            in_gre(&inner),
            inner,
            ipv4(UDP, &udp(1, 2, b"four")),
            ipv4(ICMP, &icmp()),
            ipv4(SCTP, &sctp()),
            ipv6(UDP, &udp(1, 2, b"abc")),
            ipv6(TCP, &tcp((1, 2), 3, 0x18, b"ab")),
            ipv6(ICMPV6, &icmp()),
        ]
    }

    #[test]
    fn repaired_ones_are_right_and_any_flipped_payload_bit_makes_them_wrong_until_repaired() {
        for packet in all() {
            assert_eq!(are_right(&packet), Some(true), "{packet:02x?}");
            for bit in 0..8 {
                let mut damaged = packet.clone();
                let last = damaged.len() - 1;
                damaged[last] ^= 1 << bit;
                assert_eq!(are_right(&damaged), Some(false), "{damaged:02x?}");
                repair(&mut damaged);
                assert_eq!(are_right(&damaged), Some(true), "{damaged:02x?}");
            }
        }
    }

    #[test]
    fn the_published_checks_of_the_two_crcs() {
        assert_eq!(CRC32C.checksum(b"123456789"), 0xe306_9283);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn udp_without_a_checksum_is_right_and_stays_without() {
        let mut packet = ipv4(UDP, &udp(1, 2, b"abc"));
        packet[26..28].fill(0);
        packet[30] ^= 1;
        assert_eq!(are_right(&packet), Some(true));
        repair(&mut packet);
        assert_eq!(packet[26..28], [0, 0]);
    }

    #[test]
    fn of_a_fragment_nothing_is_said_unless_its_header_is_wrong() {
        let mut packet = ipv4(UDP, &udp(1, 2, b"abc"));
        packet[6] = 0x20;
        repair(&mut packet);
        assert_eq!(are_right(&packet), None);
        packet[8] ^= 1;
        assert_eq!(are_right(&packet), Some(false));
    }
}
