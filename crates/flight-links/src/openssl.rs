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

    use rustls::crypto::{CryptoProvider, SupportedKxGroup};
    use rustls::{NamedGroup, SupportedCipherSuite};
    use rustls_openssl::{ALL_CIPHER_SUITES, custom_provider, kx_group};

    /// OpenSSL for rustls, without groups: trying each, as the library's default does, would make a key of each.
    #[expect(clippy::unnecessary_wraps, reason = "a build without the feature has none")]
    pub fn provider() -> Option<CryptoProvider> {
        Some(custom_provider(ALL_CIPHER_SUITES.to_vec(), Vec::new()))
    }

    /// Its suites.
    pub fn suites() -> &'static [SupportedCipherSuite] {
        ALL_CIPHER_SUITES
    }

    /// Whether the library that is there has it, which is another one than that of the headers perhaps.
    static HAS_ML_KEM: LazyLock<bool> = LazyLock::new(|| kx_group::X25519MLKEM768.start().is_ok());

    /// Its key exchange with a group; none with one that the library that is there lacks.
    pub fn group(name: NamedGroup) -> Option<&'static dyn SupportedKxGroup> {
        match name {
            NamedGroup::X25519 => Some(kx_group::X25519),
            NamedGroup::secp256r1 => Some(kx_group::SECP256R1),
            NamedGroup::secp384r1 => Some(kx_group::SECP384R1),
            NamedGroup::secp521r1 => Some(kx_group::SECP521R1),
            NamedGroup::X25519MLKEM768 if *HAS_ML_KEM => Some(kx_group::X25519MLKEM768),
            _ => None,
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
    use rustls::crypto::{CryptoProvider, SupportedKxGroup};
    use rustls::{NamedGroup, SupportedCipherSuite};

    pub fn provider() -> Option<CryptoProvider> {
        None
    }

    pub fn suites() -> &'static [SupportedCipherSuite] {
        &[]
    }

    pub fn group(_: NamedGroup) -> Option<&'static dyn SupportedKxGroup> {
        None
    }

    /// The version of the library that is there; none, since it is not compiled in.
    #[must_use]
    pub fn version() -> Option<&'static str> {
        None
    }
}
