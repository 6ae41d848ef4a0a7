//! The engine of the RustCrypto libraries.

use alloc::boxed::Box;

use aes::{Aes128, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::{U8, U12, U13, U16};
use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use ccm::Ccm;
use cmac::{Cmac, Mac};
use hmac::Hmac;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Algorithm, CryptoError, Engine, PreparedKey, Shape};

const NAME: &str = "RustCrypto";

/// Pure Rust: AES-GCM with IVs of 12 or 16 octets and a MAC of 16 or none, AES-CCM with IVs of 12 or 13 and MACs of 8 or
/// 16 or none, AES-CMAC with MACs of 8 to 16, HMAC-SHA-256 with keys of 16 to 64 octets and MACs of 8 to 32. Keys of AES
/// have 16 or 32 octets.
#[derive(Clone, Copy, Debug, Default)]
pub struct RustCrypto;

impl Engine for RustCrypto {
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
        let prepared = match (algorithm, shape.key, shape.iv, shape.mac) {
            (Algorithm::AesGcm, 16, 12, 0 | 16) => aead::<AesGcm<Aes128, U12>>(key),
            (Algorithm::AesGcm, 32, 12, 0 | 16) => aead::<AesGcm<Aes256, U12>>(key),
            (Algorithm::AesGcm, 16, 16, 0 | 16) => aead::<AesGcm<Aes128, U16>>(key),
            (Algorithm::AesGcm, 32, 16, 0 | 16) => aead::<AesGcm<Aes256, U16>>(key),
            (Algorithm::AesCcm, 16, 12, 0 | 16) => aead::<Ccm<Aes128, U16, U12>>(key),
            (Algorithm::AesCcm, 32, 12, 0 | 16) => aead::<Ccm<Aes256, U16, U12>>(key),
            (Algorithm::AesCcm, 16, 13, 0 | 16) => aead::<Ccm<Aes128, U16, U13>>(key),
            (Algorithm::AesCcm, 32, 13, 0 | 16) => aead::<Ccm<Aes256, U16, U13>>(key),
            (Algorithm::AesCcm, 16, 12, 8) => aead::<Ccm<Aes128, U8, U12>>(key),
            (Algorithm::AesCcm, 32, 12, 8) => aead::<Ccm<Aes256, U8, U12>>(key),
            (Algorithm::AesCcm, 16, 13, 8) => aead::<Ccm<Aes128, U8, U13>>(key),
            (Algorithm::AesCcm, 32, 13, 8) => aead::<Ccm<Aes256, U8, U13>>(key),
            (Algorithm::AesCmac, 16, 0, 8..=16) => code::<Cmac<Aes128>>(key),
            (Algorithm::AesCmac, 32, 0, 8..=16) => code::<Cmac<Aes256>>(key),
            (Algorithm::HmacSha256, 16..=64, 0, 8..=32) => code::<Hmac<Sha256>>(key),
            _ => None,
        };
        prepared.ok_or(unsupported)
    }
}

fn aead<A: AeadInOut + KeyInit + Send + Sync + 'static>(key: &[u8]) -> Option<Box<dyn PreparedKey>> {
    A::new_from_slice(key).ok().map(|cipher| Box::new(Aead(cipher)) as Box<dyn PreparedKey>)
}

fn code<M: Mac + KeyInit + Clone + Send + Sync + 'static>(key: &[u8]) -> Option<Box<dyn PreparedKey>> {
    <M as KeyInit>::new_from_slice(key).ok().map(|code| Box::new(Code(code)) as Box<dyn PreparedKey>)
}

struct Aead<A>(A);

impl<A: AeadInOut + Send + Sync> PreparedKey for Aead<A> {
    fn seal(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &mut [u8]) -> Result<(), CryptoError> {
        let nonce = Nonce::<A>::try_from(iv).map_err(|_| CryptoError::TooLong)?;
        let tag = self
            .0
            .encrypt_inout_detached(&nonce, associated, text.into())
            .map_err(|_| CryptoError::TooLong)?;
        let octets = mac.len();
        mac.copy_from_slice(&tag[..octets]);
        Ok(())
    }

    fn open(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        let nonce = Nonce::<A>::try_from(iv).map_err(|_| CryptoError::BadMac)?;
        let tag = Tag::<A>::try_from(mac).map_err(|_| CryptoError::BadMac)?;
        self.0.decrypt_inout_detached(&nonce, associated, text.into(), &tag).map_err(|_| CryptoError::BadMac)
    }
}

struct Code<M>(M);

impl<M: Mac + Clone + Send + Sync> PreparedKey for Code<M> {
    fn seal(
        &self,
        _iv: &[u8],
        associated: &[u8],
        _text: &mut [u8],
        mac: &mut [u8],
    ) -> Result<(), CryptoError> {
        let full = self.0.clone().chain_update(associated).finalize().into_bytes();
        let octets = mac.len();
        mac.copy_from_slice(&full[..octets]);
        Ok(())
    }

    fn open(&self, _iv: &[u8], associated: &[u8], _text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError> {
        let full = self.0.clone().chain_update(associated).finalize().into_bytes();
        let same: bool = full[..mac.len()].ct_eq(mac).into();
        if same { Ok(()) } else { Err(CryptoError::BadMac) }
    }
}
