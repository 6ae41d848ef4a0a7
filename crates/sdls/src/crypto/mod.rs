//! Cryptographic algorithms behind one small interface, so that another library or a hardware unit can do the work.

#[cfg(feature = "aws-lc")]
mod aws_lc;
#[cfg(feature = "rustcrypto")]
mod rustcrypto;

#[cfg(feature = "aws-lc")]
pub use aws_lc::AwsLc;
#[cfg(feature = "rustcrypto")]
pub use rustcrypto::RustCrypto;

use alloc::boxed::Box;
use core::fmt::Debug;

/// Algorithms of CCSDS 352.0-B that link security uses here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// AES in Galois/counter mode (NIST SP 800-38D).
    AesGcm,
    /// AES in counter mode with CBC-MAC (RFC 3610, NIST SP 800-38C).
    AesCcm,
    /// AES-CMAC (RFC 4493, NIST SP 800-38B).
    AesCmac,
    /// HMAC with SHA-256 (RFC 2104, FIPS 198-1).
    HmacSha256,
}

impl Algorithm {
    /// The usual name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AesGcm => "AES-GCM",
            Self::AesCcm => "AES-CCM",
            Self::AesCmac => "AES-CMAC",
            Self::HmacSha256 => "HMAC-SHA-256",
        }
    }

    /// Whether it encrypts; the others only authenticate.
    #[must_use]
    pub fn encrypts(self) -> bool {
        matches!(self, Self::AesGcm | Self::AesCcm)
    }
}

/// Lengths that an association asks of an algorithm, in octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Of the key.
    pub key: usize,
    /// Of the initialisation vector; 0 for algorithms that have none.
    pub iv: usize,
    /// Of the message authentication code; 0 for encryption without authentication.
    pub mac: usize,
}

/// Why an engine does not do what it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CryptoError {
    /// The engine does not have the algorithm, or not with these lengths.
    #[error("{engine} has no {} with a key of {} octets, an IV of {} and a MAC of {}", .algorithm.name(), .shape.key, .shape.iv, .shape.mac)]
    Unsupported {
        /// Engine.
        engine: &'static str,
        /// Algorithm.
        algorithm: Algorithm,
        /// Lengths asked for.
        shape: Shape,
    },
    /// The message authentication code is not that of the message.
    #[error("the message authentication code does not hold")]
    BadMac,
    /// The message is longer than the algorithm takes.
    #[error("the message is longer than the algorithm takes")]
    TooLong,
}

/// A library or unit that has algorithms.
pub trait Engine: Debug + Send + Sync {
    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// Takes a key for an algorithm.
    ///
    /// # Errors
    /// [`CryptoError::Unsupported`] if it has no such algorithm.
    fn prepare(
        &self,
        algorithm: Algorithm,
        key: &[u8],
        shape: Shape,
    ) -> Result<Box<dyn PreparedKey>, CryptoError>;
}

/// A key with its algorithm and lengths. Algorithms that only authenticate take no text: all they cover is associated.
pub trait PreparedKey: Send + Sync {
    /// Encrypts `text` in place and writes the code of text and associated data to `mac`. With an empty `mac` this is
    /// plain counter mode, which decrypts too.
    ///
    /// # Errors
    /// If the message is too long.
    fn seal(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &mut [u8]) -> Result<(), CryptoError>;

    /// Checks the code in constant time and decrypts `text` in place.
    ///
    /// # Errors
    /// [`CryptoError::BadMac`]; `text` is of no use then.
    fn open(&self, iv: &[u8], associated: &[u8], text: &mut [u8], mac: &[u8]) -> Result<(), CryptoError>;
}

/// The engine of the features that are built in: RustCrypto before AWS-LC.
#[cfg(any(feature = "rustcrypto", feature = "aws-lc"))]
#[must_use]
pub fn default_engine() -> Box<dyn Engine> {
    #[cfg(feature = "rustcrypto")]
    return Box::new(RustCrypto);
    #[cfg(not(feature = "rustcrypto"))]
    return Box::new(AwsLc);
}
