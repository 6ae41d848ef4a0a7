//! Known answers for an engine, so that a damaged unit is found before it protects anything.

use crate::crypto::{Algorithm, CryptoError, Engine, Shape};

/// What came of the known answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SelfTest {
    /// Algorithms that gave the known answer.
    pub passed: u8,
    /// Algorithms that did not.
    pub failed: u8,
    /// Algorithms that the engine does not have.
    pub absent: u8,
}

struct Known {
    algorithm: Algorithm,
    key: &'static [u8],
    iv: &'static [u8],
    associated: &'static [u8],
    text: &'static [u8],
    sealed: &'static [u8],
    mac: &'static [u8],
}

/// AES-GCM: test case 2 of the GCM specification by McGrew and Viega; AES-CCM: packet vector 1 of RFC 3610;
/// AES-CMAC: example 2 of RFC 4493; HMAC-SHA-256: test case 1 of RFC 4231.
const KNOWN: [Known; 4] = [
    Known {
        algorithm: Algorithm::AesGcm,
        key: &[0; 16],
        iv: &[0; 12],
        associated: &[],
        text: &[0; 16],
        sealed: &[
            0x03, 0x88, 0xda, 0xce, 0x60, 0xb6, 0xa3, 0x92, 0xf3, 0x28, 0xc2, 0xb9, 0x71, 0xb2, 0xfe, 0x78,
        ],
        mac: &[
            0xab, 0x6e, 0x47, 0xd4, 0x2c, 0xec, 0x13, 0xbd, 0xf5, 0x3a, 0x67, 0xb2, 0x12, 0x57, 0xbd, 0xdf,
        ],
    },
    Known {
        algorithm: Algorithm::AesCcm,
        key: &[
            0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf,
        ],
        iv: &[0, 0, 0, 3, 2, 1, 0, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5],
        associated: &[0, 1, 2, 3, 4, 5, 6, 7],
        text: &[
            0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17,
            0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e,
        ],
        sealed: &[
            0x58, 0x8c, 0x97, 0x9a, 0x61, 0xc6, 0x63, 0xd2, 0xf0, 0x66, 0xd0, 0xc2, 0xc0, 0xf9, 0x89, 0x80,
            0x6d, 0x5f, 0x6b, 0x61, 0xda, 0xc3, 0x84,
        ],
        mac: &[0x17, 0xe8, 0xd1, 0x2c, 0xfd, 0xf9, 0x26, 0xe0],
    },
    Known {
        algorithm: Algorithm::AesCmac,
        key: &[
            0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
        ],
        iv: &[],
        associated: &[
            0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
        ],
        text: &[],
        sealed: &[],
        mac: &[
            0x07, 0x0a, 0x16, 0xb4, 0x6b, 0x4d, 0x41, 0x44, 0xf7, 0x9b, 0xdd, 0x9d, 0xd0, 0x4a, 0x28, 0x7c,
        ],
    },
    Known {
        algorithm: Algorithm::HmacSha256,
        key: &[0x0b; 20],
        iv: &[],
        associated: b"Hi There",
        text: &[],
        sealed: &[],
        mac: &[
            0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
            0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7,
        ],
    },
];

impl SelfTest {
    /// Runs the known answers through an engine.
    #[must_use]
    pub fn run(engine: &dyn Engine) -> Self {
        let mut result = Self::default();
        for known in &KNOWN {
            match known.holds(engine) {
                Err(CryptoError::Unsupported { .. }) => result.absent += 1,
                Ok(true) => result.passed += 1,
                _ => result.failed += 1,
            }
        }
        result
    }
}

impl Known {
    fn holds(&self, engine: &dyn Engine) -> Result<bool, CryptoError> {
        let shape = Shape { key: self.key.len(), iv: self.iv.len(), mac: self.mac.len() };
        let prepared = engine.prepare(self.algorithm, self.key, shape)?;
        let mut text = self.text.to_vec();
        let mut mac = alloc::vec![0; self.mac.len()];
        prepared.seal(self.iv, self.associated, &mut text, &mut mac)?;
        let sealed = text == self.sealed && mac == self.mac;
        prepared.open(self.iv, self.associated, &mut text, self.mac)?;
        let opened = text == self.text;
        mac[0] ^= 1;
        let forged = prepared.open(self.iv, self.associated, &mut self.sealed.to_vec(), &mac).is_ok();
        Ok(sealed && opened && !forged)
    }
}
