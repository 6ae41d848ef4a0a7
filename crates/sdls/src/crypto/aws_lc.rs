//! The engine of AWS-LC.

use alloc::boxed::Box;

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::{cmac, hmac};
use subtle::ConstantTimeEq;

use super::{Algorithm, CryptoError, Engine, PreparedKey, Shape};

const NAME: &str = "AWS-LC";

/// AWS-LC: AES-GCM with IVs of 12 octets and a MAC of 16 or none, AES-CMAC with MACs of 8 to 16, HMAC-SHA-256 with keys
/// of 16 to 64 octets and MACs of 8 to 32. Keys of AES have 16 or 32 octets.
#[derive(Clone, Copy, Debug, Default)]
pub struct AwsLc;

impl Engine for AwsLc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        shape: Shape,
    ) -> Result<Box<dyn PreparedKey>, CryptoError> {
        let unsupported = CryptoError::Unsupported { engine: NAME, algorithm, shape };
        if key.len() != shape.key {
            return Err(unsupported);
        }
        let gcm = |algorithm| {
            let key = UnboundKey::new(algorithm, key).ok()?;
            Some(Box::new(Gcm(LessSafeKey::new(key))) as Box<dyn PreparedKey>)
        };
        let code = |algorithm| {
            let key = cmac::Key::new(algorithm, key).ok()?;
            Some(Box::new(Cmac(key)) as Box<dyn PreparedKey>)
        };
        let prepared = match (algorithm, shape.key, shape.iv, shape.mac) {
            (Algorithm::AesGcm, 16, 12, 0 | 16) => gcm(&AES_128_GCM),
            (Algorithm::AesGcm, 32, 12, 0 | 16) => gcm(&AES_256_GCM),
            (Algorithm::AesCmac, 16, 0, 8..=16) => code(cmac::AES_128),
            (Algorithm::AesCmac, 32, 0, 8..=16) => code(cmac::AES_256),
            (Algorithm::HmacSha256, 16..=64, 0, 8..=32) => {
                Some(Box::new(Hmac(hmac::Key::new(hmac::HMAC_SHA256, key))) as Box<dyn PreparedKey>)
            }
            _ => None,
        };
        prepared.ok_or(unsupported)
    }
}

struct Gcm(LessSafeKey);

impl PreparedKey for Gcm {
    fn seal(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &mut [u8]) -> Result<(), CryptoError> {
        let nonce = Nonce::try_assume_unique_for_key(iv).map_err(|_| CryptoError::TooLong)?;
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(associated), text)
            .map_err(|_| CryptoError::TooLong)?;
        let octets = mac.len();
        mac.copy_from_slice(&tag.as_ref()[..octets]);
        Ok(())
    }

    fn open(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        let nonce = Nonce::try_assume_unique_for_key(iv).map_err(|_| CryptoError::BadMac)?;
        let sealed = text.to_vec();
        self.0
            .open_separate_gather(nonce, Aad::from(associated), &sealed, mac, text)
            .map_err(|_| CryptoError::BadMac)
    }
}

struct Cmac(cmac::Key);

impl PreparedKey for Cmac {
    fn seal(
        &self,
        _iv: &[u8],
        associated: &[u8],
        _text: &mut [u8],
        mac: &mut [u8],
    ) -> Result<(), CryptoError> {
        let full = cmac::sign(&self.0, associated).map_err(|_| CryptoError::TooLong)?;
        let octets = mac.len();
        mac.copy_from_slice(&full.as_ref()[..octets]);
        Ok(())
    }

    fn open(&self, _iv: &[u8], associated: &[u8], _text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        let full = cmac::sign(&self.0, associated).map_err(|_| CryptoError::BadMac)?;
        same(&full.as_ref()[..mac.len()], mac)
    }
}

struct Hmac(hmac::Key);

impl PreparedKey for Hmac {
    fn seal(
        &self,
        _iv: &[u8],
        associated: &[u8],
        _text: &mut [u8],
        mac: &mut [u8],
    ) -> Result<(), CryptoError> {
        let full = hmac::sign(&self.0, associated);
        let octets = mac.len();
        mac.copy_from_slice(&full.as_ref()[..octets]);
        Ok(())
    }

    fn open(&self, _iv: &[u8], associated: &[u8], _text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        same(&hmac::sign(&self.0, associated).as_ref()[..mac.len()], mac)
    }
}

fn same(left: &[u8], right: &[u8]) -> Result<(), CryptoError> {
    if left.ct_eq(right).into() { Ok(()) } else { Err(CryptoError::BadMac) }
}
