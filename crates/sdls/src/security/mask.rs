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
    /// The octets of the mask over a frame's header and security header.
    #[must_use]
    pub fn octets(&self, kind: FrameKind, header: usize, iv: usize, rest: usize) -> Vec<u8> {
        match self {
            Self::All => Vec::new(),
            Self::Octets(octets) => octets.clone(),
            Self::Standard => {
                let mut mask = alloc::vec![0; header];
                match kind {
                    FrameKind::Tc => {
                        mask[2] = 0b1111_1100;
                        if header > 5 {
                            mask[5] = 0xFF;
                        }
                    }
                    FrameKind::Tm => mask[1] = 0b0000_1110,
                    FrameKind::Aos => mask[1] = 0b0011_1111,
                    FrameKind::Uslp => {
                        mask[2] = 0b0000_0111;
                        mask[3] = 0b1111_1110;
                    }
                }
                mask.extend([0xFF; 2]);
                mask.resize(mask.len() + iv, 0);
                mask.resize(mask.len() + rest, 0xFF);
                mask
            }
        }
    }

    /// A copy of `octets` with only what the mask lets through.
    pub(crate) fn apply(mask: &[u8], octets: &[u8]) -> Vec<u8> {
        let mut masked = octets.to_vec();
        for (octet, bits) in masked.iter_mut().zip(mask) {
            *octet &= bits;
        }
        masked
    }
}
