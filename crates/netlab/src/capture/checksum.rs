//! Whether the kernel of the node at which a packet arrives keeps it, or throws it away because its checksums are wrong.

/// Shortest IPv4 header (RFC 791, section 3.1), and the header of IPv6 (RFC 8200, section 3).
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// Number of TCP among the protocols over IP (RFC 9293).
const TCP: u8 = 6;

/// Whether the checksums of the IPv4 header (RFC 791) and of TCP (RFC 9293, section 3.1) are right in a packet, given
/// from its IP header on and whole. What is neither, and a fragment, whose rest is elsewhere, is taken for right.
pub(super) fn is_right(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) => ipv4(packet),
        Some(6) => ipv6(packet),
        _ => false,
    }
}

fn ipv4(packet: &[u8]) -> bool {
    let header_bytes = usize::from(packet[0] & 0x0f) * 4;
    let Some(header) = packet.get(..header_bytes).filter(|header| header.len() >= IPV4_BYTES) else {
        return false;
    };
    let total_bytes = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let Some(payload) = packet.get(header_bytes..total_bytes) else { return false };
    if sum(header) != 0xffff {
        return false;
    }
    let more_or_offset = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
    header[9] != TCP || more_or_offset != 0 || tcp(&header[12..20], payload)
}

/// IPv6 has no checksum of its own.
fn ipv6(packet: &[u8]) -> bool {
    let Some(header) = packet.get(..IPV6_BYTES) else { return false };
    let payload_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let Some(payload) = packet.get(IPV6_BYTES..IPV6_BYTES + payload_bytes) else { return false };
    header[6] != TCP || tcp(&header[8..40], payload)
}

/// The sum over the pseudo header (addresses, length, protocol) and the segment.
fn tcp(addresses: &[u8], segment: &[u8]) -> bool {
    let pseudo = sum(addresses) + u64::from(TCP) + segment.len() as u64;
    fold(pseudo + sum(segment)) == 0xffff
}

/// The ones' complement sum of the 16-bit words of `bytes` (RFC 1071), the last one filled up with a zero.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
    fold(words.map(u64::from).sum())
}

pub(crate) fn fold(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the ones' complement of the sum that `packet` has without it.
    fn put(packet: &mut [u8], at: usize, sum: u64) {
        packet[at..at + 2].copy_from_slice(&(!(fold(sum) as u16)).to_be_bytes());
    }

    /// A segment of 21 bytes and 13 of data: an odd number.
    fn segment(addresses: &[u8]) -> Vec<u8> {
        let mut segment = vec![0x9c, 0x40, 0x13, 0x88, 1, 2, 3, 4, 9, 9, 9, 9, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
        segment.extend(*b"thirteen byte");
        let pseudo = sum(addresses) + u64::from(TCP) + segment.len() as u64;
        let all = pseudo + sum(&segment);
        put(&mut segment, 16, all);
        segment
    }

    fn over_ipv4() -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 53, 0xab, 0xcd, 0x40, 0, 64, TCP, 0, 0, 10, 0, 1, 1, 10, 0, 2, 1];
        let all = sum(&packet);
        put(&mut packet, 10, all);
        packet.extend(segment(&[10, 0, 1, 1, 10, 0, 2, 1]));
        packet
    }

    fn over_ipv6() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 33, TCP, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        let addresses = packet[8..40].to_vec();
        packet.extend(segment(&addresses));
        packet
    }

    /// The places of the bits whose change is not noticed.
    fn unnoticed(packet: &[u8]) -> Vec<usize> {
        assert!(is_right(packet));
        (0..packet.len() * 8)
            .filter(|bit| {
                let mut damaged = packet.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                is_right(&damaged)
            })
            .collect()
    }

    #[test]
    fn every_damaged_bit_over_ipv4_is_noticed() {
        assert_eq!(unnoticed(&over_ipv4()), [0_usize; 0]);
    }

    #[test]
    fn over_ipv6_nothing_that_the_segment_depends_on_changes_unnoticed() {
        // Traffic class, flow label and hop limit are covered by nothing; another next header is no TCP any more.
        let free = |bit: &usize| matches!(bit / 8, 0..=3 | 6 | 7);
        assert_eq!(
            unnoticed(&over_ipv6()).into_iter().filter(|bit| !free(bit)).collect::<Vec<_>>(),
            [0_usize; 0]
        );
    }

    #[test]
    fn what_follows_the_packet_does_not_count() {
        let mut padded = over_ipv4();
        padded.extend([1, 2, 3]);
        assert!(is_right(&padded));
    }

    #[test]
    fn a_packet_that_is_cut_is_not_right() {
        let packet = over_ipv4();
        assert!((0..packet.len()).all(|length| !is_right(&packet[..length])));
    }
}
