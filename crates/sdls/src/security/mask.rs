//! Authentication bit masks: which bits of the headers the message authentication code covers.

use alloc::vec::Vec;

use crate::frame::FrameKind;

/// Which bits are authenticated, from the first octet of the frame on. What is beyond the mask is covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthMask {
    /// Of the frame's header, the virtual channel and, in TC and USLP, the multiplexer access point; of the security
    /// header all but the IV, whose value the code depends on anyway. Counts and lengths, which layers below may change,
    /// are left out. Two public ground and flight implementations use this mask (yamcs, `StandardAuthMask`; F Prime,
    /// `SdlsAuthMask`).
    Standard,
    /// Every bit.
    All,
    /// These octets; what is beyond them is covered.
    Octets(Vec<u8>),
}

impl AuthMask {
    /// A copy of `octets`, which begin with a frame's header of `header` octets and its security header, with only what
    /// the mask lets through. The security header has an IV of `iv` octets, and `rest` behind it.
    pub(crate) fn covered(
        &self,
        kind: FrameKind,
        header: usize,
        iv: usize,
        rest: usize,
        octets: &[u8],
    ) -> Vec<u8> {
        let mut covered = octets.to_vec();
        match self {
            Self::All => {}
            Self::Octets(mask) => {
                for (octet, bits) in covered.iter_mut().zip(mask) {
                    *octet &= bits;
                }
            }
            Self::Standard => {
                for (place, octet) in covered.iter_mut().take(header + SPI_OCTETS + iv + rest).enumerate() {
                    *octet &= standard(kind, header, iv, place);
                }
            }
        }
        covered
    }
}

/// Octets of the number of a security association, with which a security header begins.
pub(super) const SPI_OCTETS: usize = 2;

/// The octet of the standard mask at `place`.
fn standard(kind: FrameKind, header: usize, iv: usize, place: usize) -> u8 {
    if place >= header {
        let iv_from = header + SPI_OCTETS;
        return if (iv_from..iv_from + iv).contains(&place) { 0 } else { 0xFF };
    }
    match (kind, place) {
        (FrameKind::Tc, 2) => 0b1111_1100,
        (FrameKind::Tc, 5) => 0xFF,
        (FrameKind::Tm, 1) => 0b0000_1110,
        (FrameKind::Aos, 1) => 0b0011_1111,
        (FrameKind::Uslp, 2) => 0b0000_0111,
        (FrameKind::Uslp, 3) => 0b1111_1110,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_mask_leaves_out_counts_lengths_and_the_iv() {
        for (kind, header) in [
            (FrameKind::Tc, &[0, 0, 0b1111_1100, 0, 0, 0xFF][..]),
            (FrameKind::Tc, &[0, 0, 0b1111_1100, 0, 0]),
            (FrameKind::Tm, &[0, 0b0000_1110, 0, 0, 0, 0]),
            (FrameKind::Aos, &[0, 0b0011_1111, 0, 0, 0, 0]),
            (FrameKind::Uslp, &[0, 0, 0b0000_0111, 0b1111_1110, 0, 0, 0]),
        ] {
            let (iv, rest, text) = (3, 2, 4);
            let octets = [0xFF].repeat(header.len() + SPI_OCTETS + iv + rest + text);
            let behind = [0xFF, 0xFF, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
            let covered = AuthMask::Standard.covered(kind, header.len(), iv, rest, &octets);
            assert_eq!(covered, [header, &behind].concat(), "{kind:?}");
        }
    }
}
