//! Keyed hashes: unpredictable numbers without stored state, and the authentication of joins.

use std::hash::Hasher;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use siphasher::sip128::{Hasher128, SipHasher24};

use crate::profile::JoinHash;
use crate::wire::CapableFlags;

/// A secret from which unpredictable values are derived.
#[derive(Clone)]
pub(crate) struct Secret([u8; 16]);

/// What a derived value is for, so that two uses never give the same value.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    InitialNumber = 1,
    Cookie = 2,
    PathKey = 3,
    TableHash = 4,
    FirstMessage = 5,
    Challenge = 6,
}

impl Secret {
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// 128 pseudo-random bits that depend on `purpose` and all of `parts`.
    pub fn derive(&self, purpose: Purpose, parts: &[&[u8]]) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u8(purpose as u8);
        for part in parts {
            hasher.write_usize(part.len());
            hasher.write(part);
        }
        hasher.finish128().as_u128()
    }
}

/// The hash as negotiated in MP_CAPABLE.
pub(crate) fn capable_flags(hash: JoinHash) -> CapableFlags {
    match hash {
        JoinHash::Sha256 => CapableFlags::HMAC_SHA256,
        JoinHash::Sha1 => CapableFlags::HMAC_SHA1,
    }
}

fn digest(hash: JoinHash, key: u64) -> Vec<u8> {
    match hash {
        JoinHash::Sha256 => Sha256::digest(key.to_be_bytes()).to_vec(),
        JoinHash::Sha1 => Sha1::digest(key.to_be_bytes()).to_vec(),
    }
}

/// The token that names a connection: the first 32 bits of the hash of a key (RFC 6824 section 3.2).
// R-MP-2
pub(crate) fn token(hash: JoinHash, key: u64) -> u32 {
    let digest = digest(hash, key);
    u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
}

/// The initial data number: the low 32 bits of the hash of a key (answer H5).
pub(crate) fn initial_data_number(hash: JoinHash, key: u64) -> u32 {
    let digest = digest(hash, key);
    let tail = &digest[digest.len() - 4..];
    u32::from_be_bytes([tail[0], tail[1], tail[2], tail[3]])
}

/// HMAC of a join: keyed with the prover's and the verifier's key, over the prover's and the verifier's nonce; the
/// leftmost 160 bits (RFC 6824 section 3.2).
pub(crate) fn join_mac(hash: JoinHash, keys: [u64; 2], nonces: [u32; 2]) -> [u8; 20] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&keys[0].to_be_bytes());
    key[8..].copy_from_slice(&keys[1].to_be_bytes());
    let mut message = [0; 8];
    message[..4].copy_from_slice(&nonces[0].to_be_bytes());
    message[4..].copy_from_slice(&nonces[1].to_be_bytes());
    let mut out = [0; 20];
    match hash {
        JoinHash::Sha256 => out.copy_from_slice(&mac::<Hmac<Sha256>>(&key, &message)[..20]),
        JoinHash::Sha1 => out.copy_from_slice(&mac::<Hmac<Sha1>>(&key, &message)[..20]),
    }
    out
}

fn mac<M: Mac + KeyInit>(key: &[u8; 16], message: &[u8]) -> Vec<u8> {
    match <M as KeyInit>::new_from_slice(key) {
        Ok(mut mac) => {
            mac.update(message);
            mac.finalize().into_bytes().to_vec()
        }
        // HMAC takes keys of any length; an empty answer would only make the comparison fail.
        Err(_) => vec![0; 32],
    }
}

/// Compares without telling by its duration where the difference lies.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    use subtle::ConstantTimeEq;
    a.ct_eq(b).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // R-MP-2
    fn token_and_data_number_come_from_both_ends_of_the_digest() {
        // SHA-1 of eight zero octets is 05fe405753166f125559e7c9ac558654f107c7e9.
        assert_eq!(token(JoinHash::Sha1, 0), 0x05fe_4057);
        assert_eq!(initial_data_number(JoinHash::Sha1, 0), 0xf107_c7e9);
    }

    #[test]
    fn macs_of_both_directions_differ() {
        for hash in [JoinHash::Sha1, JoinHash::Sha256] {
            assert_ne!(join_mac(hash, [1, 2], [3, 4]), join_mac(hash, [2, 1], [4, 3]));
        }
    }

    #[test]
    fn purposes_and_part_borders_matter() {
        let secret = Secret::new([7; 16]);
        let cookie = secret.derive(Purpose::Cookie, &[b"ab", b"c"]);
        assert_ne!(cookie, secret.derive(Purpose::Cookie, &[b"a", b"bc"]));
        assert_ne!(cookie, secret.derive(Purpose::InitialNumber, &[b"ab", b"c"]));
    }
}
