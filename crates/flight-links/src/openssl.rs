//! OpenSSL of the system as a library of cryptography under TLS (crate `rustls-openssl`), where the feature `openssl` is
//! compiled in. Elsewhere everything that is asked of it is refused by the sentence that says how it comes in.
//!
//! Each packet and each record opens a context of its own, with the key set anew: so the crate does it, and that is in the
//! time of every message.

pub use self::here::version;
pub(crate) use self::here::{group, provider, suites};

#[cfg(feature = "openssl")]
mod here {
    use std::sync::LazyLock;

    use rustls::SupportedCipherSuite;
    use rustls::crypto::{CryptoProvider, SupportedKxGroup};
    use rustls_openssl::{ALL_CIPHER_SUITES, custom_provider, kx_group};

    use crate::suite::{Group, Provider, Unsupported};

    /// OpenSSL for rustls, without groups: trying each, as the library's default does, would make a key of each.
    pub fn provider() -> Result<CryptoProvider, Unsupported> {
        Ok(custom_provider(ALL_CIPHER_SUITES.to_vec(), Vec::new()))
    }

    /// Its suites.
    pub fn suites() -> &'static [SupportedCipherSuite] {
        ALL_CIPHER_SUITES
    }

    /// Whether the library that is there has it, which is another one than that of the headers perhaps.
    static HAS_ML_KEM: LazyLock<bool> = LazyLock::new(|| kx_group::X25519MLKEM768.start().is_ok());

    /// Its key exchange with a group.
    pub fn group(group: Group) -> Result<&'static dyn SupportedKxGroup, Unsupported> {
        match group {
            Group::X25519 => Ok(kx_group::X25519),
            Group::P256 => Ok(kx_group::SECP256R1),
            Group::P384 => Ok(kx_group::SECP384R1),
            Group::P521 => Ok(kx_group::SECP521R1),
            Group::X25519MlKem768 if *HAS_ML_KEM => Ok(kx_group::X25519MLKEM768),
            Group::X25519MlKem768 => Err(Unsupported::OpenSslOlder { group, instead: Provider::AwsLc }),
        }
    }

    /// The version of the library that is there.
    #[must_use]
    pub fn version() -> Option<&'static str> {
        // "OpenSSL 3.0.19 27 Jan 2026"
        openssl::version::version().split_whitespace().nth(1)
    }
}

#[cfg(not(feature = "openssl"))]
mod here {
    use rustls::SupportedCipherSuite;
    use rustls::crypto::{CryptoProvider, SupportedKxGroup};

    use crate::suite::{Group, Unsupported};

    pub fn provider() -> Result<CryptoProvider, Unsupported> {
        Err(Unsupported::OpenSslAbsent)
    }

    pub fn suites() -> &'static [SupportedCipherSuite] {
        &[]
    }

    pub fn group(_: Group) -> Result<&'static dyn SupportedKxGroup, Unsupported> {
        Err(Unsupported::OpenSslAbsent)
    }

    /// The version of the library that is there; none, since it is not compiled in.
    #[must_use]
    pub fn version() -> Option<&'static str> {
        None
    }
}
