//! Error detection: header CRC-16 (HEC), payload CRC-32C, and the pseudo-header that raw IP adds to the HEC.

use core::net::{Ipv4Addr, Ipv6Addr};

use ::crc::{CRC_16_IBM_3740, Crc, Table};

use super::{MAX_HEADER_BYTES, STRICT_HEADER_WORDS, WORD_BYTES};

/// HEC generator 0x1021, start 0xFFFF, not reflected, no final XOR (C1); sixteen table lookups at a time.
// R-CRC-1
const HEC: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_IBM_3740);

/// The addresses a raw-IP packet was sent between, folded into its HEC (C2).
///
/// Datagrams inside UDP use no pseudo-header: there a NAT may legally rewrite the outer addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PseudoHeader {
    /// IPv4: source, destination, zero octet, protocol, length of header and payload (16 bits), as RFC 9293 has it.
    V4 {
        /// Source address.
        source: Ipv4Addr,
        /// Destination address.
        destination: Ipv4Addr,
        /// IP protocol number.
        protocol: u8,
    },
    /// IPv6: source, destination, length (32 bits), three zero octets, next header (RFC 8200, section 8.1).
    V6 {
        /// Source address.
        source: Ipv6Addr,
        /// Destination address.
        destination: Ipv6Addr,
        /// Next-header value.
        protocol: u8,
    },
}

/// CRC-16 of `header`, whose HEC field must be zero, preceded by the pseudo-header if there is one.
///
/// `datagram_bytes` is the length of header and payload, which the pseudo-header carries.
#[must_use]
// R-CRC-2
pub(super) fn header_crc(header: &[u8], datagram_bytes: usize, pseudo: Option<&PseudoHeader>) -> u16 {
    let mut digest = HEC.digest();
    update_pseudo(&mut digest, datagram_bytes, pseudo);
    digest.update(header);
    digest.finalize()
}

/// The same as [`header_crc`] over a received header, reading the two HEC octets at `hec_offset` as zero.
pub(super) fn received_header_crc(
    header: &[u8],
    hec_offset: usize,
    datagram_bytes: usize,
    pseudo: Option<&PseudoHeader>,
) -> u16 {
    // One run over a copy is faster than three short ones: the tables work on sixteen octets at a time. Nearly all
    // headers are short, and a long buffer costs more to clear than the CRC.
    if header.len() <= STRICT_HEADER_WORDS * WORD_BYTES {
        copied_header_crc::<{ STRICT_HEADER_WORDS * WORD_BYTES }>(header, hec_offset, datagram_bytes, pseudo)
    } else {
        copied_header_crc::<MAX_HEADER_BYTES>(header, hec_offset, datagram_bytes, pseudo)
    }
}

fn copied_header_crc<const ROOM: usize>(
    header: &[u8],
    hec_offset: usize,
    datagram_bytes: usize,
    pseudo: Option<&PseudoHeader>,
) -> u16 {
    let mut copy = [0; ROOM];
    let copy = &mut copy[..header.len()];
    copy.copy_from_slice(header);
    copy[hec_offset..hec_offset + 2].fill(0);
    header_crc(copy, datagram_bytes, pseudo)
}

fn update_pseudo(
    digest: &mut ::crc::Digest<'_, u16, Table<16>>,
    datagram_bytes: usize,
    pseudo: Option<&PseudoHeader>,
) {
    match pseudo {
        None => {}
        Some(PseudoHeader::V4 { source, destination, protocol }) => {
            // An IPv4 datagram is at most 65 535 bytes, so the low 16 bits are the whole length.
            let [.., high, low] = datagram_bytes.to_be_bytes();
            digest.update(&source.octets());
            digest.update(&destination.octets());
            digest.update(&[0, *protocol, high, low]);
        }
        Some(PseudoHeader::V6 { source, destination, protocol }) => {
            let [.., a, b, c, d] = datagram_bytes.to_be_bytes();
            digest.update(&source.octets());
            digest.update(&destination.octets());
            digest.update(&[a, b, c, d, 0, 0, 0, *protocol]);
        }
    }
}

/// CRC-32C (Castagnoli, generator 0x1EDC6F41, reflected, start and final XOR all ones; C1) by the processor's
/// instruction where it has one.
#[must_use]
// R-CRC-3
pub(super) fn payload_crc(payload: &[u8]) -> u32 {
    crc32c::crc32c(payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the CRC catalogue for the nine octets "123456789".
    #[test]
    fn c1_generators_have_the_catalogues_check_values() {
        // R-CRC-1, R-CRC-3
        assert_eq!(header_crc(b"123456789", 9, None), 0x29B1);
        assert_eq!(payload_crc(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn c2_pseudo_header_is_the_prefix_that_the_rfcs_draw() {
        // R-CRC-2
        let v4 = PseudoHeader::V4 {
            source: Ipv4Addr::new(192, 0, 2, 1),
            destination: Ipv4Addr::new(198, 51, 100, 2),
            protocol: 253,
        };
        let by_hand = [192, 0, 2, 1, 198, 51, 100, 2, 0, 253, 0, 20, 7, 7];
        assert_eq!(header_crc(&[7, 7], 20, Some(&v4)), header_crc(&by_hand, 0, None));

        let v6 =
            PseudoHeader::V6 { source: Ipv6Addr::LOCALHOST, destination: Ipv6Addr::LOCALHOST, protocol: 253 };
        let mut by_hand = [0u8; 42];
        (by_hand[15], by_hand[31], by_hand[35], by_hand[39]) = (1, 1, 20, 253);
        (by_hand[40], by_hand[41]) = (7, 7);
        assert_eq!(header_crc(&[7, 7], 20, Some(&v6)), header_crc(&by_hand, 0, None));
    }
}
