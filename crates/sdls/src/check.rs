//! Check fields: the CRC of the frame error control field, and the Reed-Solomon code of the AOS header.

use crc::{CRC_16_IBM_3740, Crc, Table};

/// Octets of the frame error control field.
pub const FECF_OCTETS: usize = 2;

/// Octets of the frame header error control field of AOS.
pub const FHEC_OCTETS: usize = 2;

/// The coefficients of x^3 to x^0 of the product of (x + alpha^6) to (x + alpha^9); that of x^4 is one.
const GENERATOR: [u8; 4] = [8, 2, 8, 1];

/// Sixteen octets at a time, by tables of 8 KiB: octet by octet the check took longer than AES-256-GCM itself.
static FECF: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_IBM_3740);

/// The frame error control field over `octets`: polynomial x^16 + x^12 + x^5 + 1, all ones to begin with, nothing
/// reflected (CCSDS 232.0-B, annex on the FECF; the check value of "123456789" is 0x29B1).
#[must_use]
pub fn fecf(octets: &[u8]) -> u16 {
    FECF.checksum(octets)
}

/// The frame header error control field over the first two octets and the sixth of an AOS header: a shortened
/// Reed-Solomon code (10, 6) over GF(16), field polynomial x^4 + x + 1, roots alpha^6 to alpha^9 (CCSDS 732.0-B).
#[must_use]
pub fn fhec(identifier: [u8; 2], signalling: u8) -> u16 {
    let data = [
        identifier[0] >> 4,
        identifier[0] & 15,
        identifier[1] >> 4,
        identifier[1] & 15,
        signalling >> 4,
        signalling & 15,
    ];
    let mut rest = [0_u8; 4];
    for symbol in data {
        let factor = symbol ^ rest[0];
        rest = [rest[1], rest[2], rest[3], 0];
        for (place, coefficient) in rest.iter_mut().zip(GENERATOR) {
            *place ^= multiply(factor, coefficient);
        }
    }
    u16::from_be_bytes([rest[0] << 4 | rest[1], rest[2] << 4 | rest[3]])
}

/// Product in GF(16) with x^4 + x + 1.
fn multiply(mut left: u8, mut right: u8) -> u8 {
    let mut product = 0;
    while right != 0 {
        if right & 1 != 0 {
            product ^= left;
        }
        left <<= 1;
        if left & 16 != 0 {
            left ^= 0b1_0011;
        }
        right >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crc_has_the_published_check_value() {
        assert_eq!(fecf(b"123456789"), 0x29B1);
    }

    /// yamcs/yamcs, yamcs-core/src/test/java/org/yamcs/tctm/ccsds/error/AosFrameHeaderErrorCorrTest.java
    #[test]
    fn the_header_code_agrees_with_another_implementation() {
        assert_eq!(fhec([0x12, 0x34], 0x56), 0x94DC);
        assert_eq!(fhec([0x36, 0x9C], 0xFA), 0x457C);
    }

    #[test]
    fn the_generator_is_the_product_of_its_roots() {
        let mut polynomial = alloc::vec![1_u8];
        for exponent in 6..10 {
            let root = (0..exponent).fold(1, |power, _| multiply(power, 2));
            let mut next = polynomial.clone();
            next.push(0);
            for (place, coefficient) in polynomial.iter().enumerate() {
                next[place + 1] ^= multiply(*coefficient, root);
            }
            polynomial = next;
        }
        assert_eq!(polynomial[1..], GENERATOR);
    }
}
