//! The safety code at the end of every message of the safety and retransmission layer.
//!
//! The standard has MD4 with an initial value that the network chooses, its lower half or all of it. BLAKE2b and
//! SipHash-2-4 are what librasta offers beside it (`rastahashing.c` of Railway-CCS/rasta-protocol).

use std::fmt;
use std::hash::Hasher;

use blake2::Blake2bMac;
use blake2::digest::consts::{U8, U16};
use blake2::digest::{KeyInit, Mac};
use md4::digest::common::hazmat::SerializableState;
use md4::{Digest, Md4};
use siphasher::sip::SipHasher24;
use siphasher::sip128::{self, Hasher128};
use subtle::ConstantTimeEq;

/// The initial value that RFC 1320 (section 3.3) gives MD4: words A, B, C, D.
pub const MD4_INITIAL_VALUE: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];

/// How much of a code is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeLength {
    /// 8 octets; of MD4 the lower half, that is the first 8.
    Half,
    /// 16 octets.
    Full,
}

impl CodeLength {
    /// Octets on the wire.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Half => 8,
            Self::Full => 16,
        }
    }
}

/// Which safety code both ends use; it is configured, never agreed on the wire.
///
/// MD4 finds random damage. Against somebody who wants to forge, none of its uses helps: RaSTA alone is for networks
/// of category 1 and 2 of EN 50159, and SBB's manual asks for TLS beneath it in category 3.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SafetyCode {
    /// MD4 as in the standard.
    Md4 {
        /// Lower half or all of it.
        length: CodeLength,
        /// The words A, B, C, D with which the hash starts: a network's own, so that messages of another do not pass.
        initial_value: [u32; 4],
    },
    /// BLAKE2b with a key (RFC 7693), its digest as long as the code. Not in the standard; librasta offers it.
    Blake2b {
        /// Octets of the digest.
        length: CodeLength,
        /// 1 to 64 octets.
        key: Vec<u8>,
    },
    /// SipHash-2-4 with 64 or 128 bits. Not in the standard; librasta offers it.
    SipHash24 {
        /// 64 bits if half, 128 if full.
        length: CodeLength,
        /// The key.
        key: [u8; 16],
    },
    /// **No safety code: damaged messages are taken for good ones.** SBB's manual forbids it. For measurements of
    /// what the code costs or catches.
    Unprotected,
}

impl Default for SafetyCode {
    /// The lower half of MD4 with the initial value of RFC 1320, as librasta and SBB's stack have it by default.
    fn default() -> Self {
        Self::md4(CodeLength::Half)
    }
}

impl SafetyCode {
    /// MD4 with the initial value of RFC 1320.
    #[must_use]
    pub const fn md4(length: CodeLength) -> Self {
        Self::Md4 { length, initial_value: MD4_INITIAL_VALUE }
    }

    /// Octets that the code takes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        match self {
            Self::Md4 { length, .. } | Self::Blake2b { length, .. } | Self::SipHash24 { length, .. } => {
                length.bytes()
            }
            Self::Unprotected => 0,
        }
    }

    /// Its name, without key or initial value.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Md4 { length: CodeLength::Half, .. } => "md4-half",
            Self::Md4 { length: CodeLength::Full, .. } => "md4-full",
            Self::Blake2b { length: CodeLength::Half, .. } => "blake2b-half",
            Self::Blake2b { length: CodeLength::Full, .. } => "blake2b-full",
            Self::SipHash24 { length: CodeLength::Half, .. } => "siphash-half",
            Self::SipHash24 { length: CodeLength::Full, .. } => "siphash-full",
            Self::Unprotected => "none",
        }
    }

    /// Whether damage is found at all.
    #[must_use]
    pub const fn protects(&self) -> bool {
        !matches!(self, Self::Unprotected)
    }

    /// The code of `message`, as many octets as are sent.
    #[must_use]
    pub fn of(&self, message: &[u8]) -> Vec<u8> {
        let (code, bytes) = self.compute(message);
        code[..bytes].to_vec()
    }

    /// Appends the code of what `message` holds so far.
    pub(crate) fn append(&self, message: &mut Vec<u8>) {
        let (code, bytes) = self.compute(message);
        message.extend_from_slice(&code[..bytes]);
    }

    /// Whether `code` is that of `message`, in a time that does not tell where they differ.
    pub(crate) fn verify(&self, message: &[u8], code: &[u8]) -> bool {
        let (expected, bytes) = self.compute(message);
        expected[..bytes].ct_eq(code).into()
    }

    /// The code, and how many octets of it count.
    fn compute(&self, message: &[u8]) -> ([u8; 16], usize) {
        let mut code = [0; 16];
        match self {
            Self::Md4 { initial_value, .. } => code = md4(*initial_value, message),
            Self::Blake2b { length: CodeLength::Half, key } => {
                code[..8].copy_from_slice(&blake2b::<Blake2bMac<U8>>(key, message));
            }
            Self::Blake2b { length: CodeLength::Full, key } => {
                code.copy_from_slice(&blake2b::<Blake2bMac<U16>>(key, message));
            }
            Self::SipHash24 { length: CodeLength::Half, key } => {
                let mut hasher = SipHasher24::new_with_key(key);
                hasher.write(message);
                code[..8].copy_from_slice(&hasher.finish().to_le_bytes());
            }
            Self::SipHash24 { length: CodeLength::Full, key } => {
                let mut hasher = sip128::SipHasher24::new_with_key(key);
                hasher.write(message);
                code = hasher.finish128().as_bytes();
            }
            Self::Unprotected => {}
        }
        (code, self.bytes())
    }
}

/// MD4 that starts from `initial_value`: the library's fresh state with its four words exchanged.
fn md4(initial_value: [u32; 4], message: &[u8]) -> [u8; 16] {
    let mut state = Md4::default().serialize();
    for (place, word) in state.chunks_exact_mut(4).zip(initial_value) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let mut hash = Md4::deserialize(&state).expect("the state of a fresh hash, with other words");
    Digest::update(&mut hash, message);
    Digest::finalize(hash).into()
}

fn blake2b<M: Mac + KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut hash = <M as Mac>::new_from_slice(key).expect("the configuration checks the key");
    Mac::update(&mut hash, message);
    hash.finalize().into_bytes().to_vec()
}

impl fmt::Debug for SafetyCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_not_printed() {
        let code = SafetyCode::SipHash24 { length: CodeLength::Half, key: [0x42; 16] };
        assert_eq!(format!("{code:?}"), "siphash-half");
    }

    #[test]
    fn every_code_finds_a_changed_bit_and_none_finds_nothing() {
        let codes = [
            SafetyCode::md4(CodeLength::Half),
            SafetyCode::md4(CodeLength::Full),
            SafetyCode::Blake2b { length: CodeLength::Half, key: vec![1; 16] },
            SafetyCode::Blake2b { length: CodeLength::Full, key: vec![1; 64] },
            SafetyCode::SipHash24 { length: CodeLength::Half, key: [3; 16] },
            SafetyCode::SipHash24 { length: CodeLength::Full, key: [3; 16] },
        ];
        for code in codes {
            let mut message = b"occupied".to_vec();
            code.append(&mut message);
            let (text, sum) = message.split_at(8);
            assert_eq!(sum.len(), code.bytes(), "{code:?}");
            assert!(code.verify(text, sum), "{code:?}");
            assert!(!code.verify(b"occupiee", sum), "{code:?}");
            assert!(code.protects());
        }
        assert!(SafetyCode::Unprotected.verify(b"anything", b""));
        assert!(!SafetyCode::Unprotected.protects());
    }
}
