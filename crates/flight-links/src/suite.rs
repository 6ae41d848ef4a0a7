//! What can be chosen of a TLS handshake and its ciphers, and the sentence for what a library does not have.

use std::fmt;

use rustls::NamedGroup;

use crate::openssl;

/// A choice that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("«{given}» is no {axis}{meant}: {known}")]
pub struct Unknown {
    /// What was asked for.
    pub axis: &'static str,
    /// What was given.
    pub given: String,
    /// A question in brackets, where what was given is how names begin.
    pub meant: String,
    /// What there is.
    pub known: String,
}

impl Unknown {
    /// For an axis with these names.
    pub(crate) fn new(axis: &'static str, given: &str, names: &[&str]) -> Self {
        let begins = |name: &&&str| name.strip_prefix(given).is_some_and(|rest| rest.starts_with('-'));
        let near: Vec<_> = names.iter().filter(begins).copied().collect();
        let meant = match near[..] {
            [] => String::new(),
            _ => format!(" (did you mean {}?)", near.join(" or ")),
        };
        Self { axis, given: given.to_owned(), meant, known: names.join(", ") }
    }
}

/// An axis of choices, each with its name.
macro_rules! axis {
    ($(#[$about:meta])* $type:ident, $axis:literal: $($(#[$doc:meta])* $choice:ident = $name:literal),+ $(,)?) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $($(#[$doc])* $choice),+
        }

        impl $type {
            /// All choices.
            pub const ALL: &[Self] = &[$(Self::$choice),+];

            /// Its name, as options have it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$choice => $name),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::suite::Unknown;

            fn from_str(text: &str) -> Result<Self, $crate::suite::Unknown> {
                Self::ALL.iter().copied().find(|choice| choice.name() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|choice| choice.name()).collect();
                    $crate::suite::Unknown::new($axis, text, &names)
                })
            }
        }
    };
}

pub(crate) use axis;

axis! {
    /// The library of cryptography under TLS (rustls).
    Provider, "provider":
    /// *ring*.
    Ring = "ring",
    /// AWS-LC.
    AwsLc = "aws-lc",
    /// OpenSSL of the system, where it is compiled in.
    OpenSsl = "openssl",
}

axis! {
    /// A cipher suite of TLS 1.3 (RFC 8446, appendix B.4).
    Cipher, "cipher":
    /// TLS_AES_128_GCM_SHA256.
    Aes128Gcm = "aes-128-gcm",
    /// TLS_AES_256_GCM_SHA384.
    Aes256Gcm = "aes-256-gcm",
    /// TLS_CHACHA20_POLY1305_SHA256.
    ChaCha20Poly1305 = "chacha20-poly1305",
}

axis! {
    /// A group of the key exchange (RFC 8446, section 4.2.7; X25519MLKEM768: draft-ietf-tls-ecdhe-mlkem).
    Group, "group":
    /// Curve25519.
    X25519 = "x25519",
    /// secp256r1.
    P256 = "p-256",
    /// secp384r1.
    P384 = "p-384",
    /// secp521r1.
    P521 = "p-521",
    /// X25519 and ML-KEM-768 together: holds as long as one of them does.
    X25519MlKem768 = "x25519mlkem768",
}

axis! {
    /// The keys of the certificates.
    Signature, "signature":
    /// Ed25519.
    Ed25519 = "ed25519",
    /// ECDSA with P-256 and SHA-256.
    EcdsaP256 = "ecdsa-p256",
    /// RSA with 2,048 bits.
    Rsa2048 = "rsa-2048",
}

axis! {
    /// Whether a further session takes up the keys of an earlier one.
    Resumption, "resumption":
    /// Every session begins anew.
    None = "none",
    /// By a ticket of the earlier session.
    Ticket = "ticket",
    /// By a ticket, with messages in the first flight already.
    EarlyData = "0-rtt",
}

axis! {
    /// What protects the link.
    Security, "security":
    /// Nothing.
    None = "none",
    /// SDLS with AES-256-GCM by RustCrypto.
    SdlsGcm = "sdls-gcm",
    /// SDLS with AES-256-GCM by AWS-LC.
    SdlsGcmAwsLc = "sdls-gcm-aws-lc",
    /// SDLS with AES-256-CMAC by RustCrypto: authenticated, not secret.
    SdlsCmac = "sdls-cmac",
    /// QUIC by quinn, messages on a stream.
    QuicStream = "quic-stream",
    /// QUIC by quinn, messages in datagrams.
    QuicDatagram = "quic-datagram",
    /// TLS over a byte stream.
    Tls = "tls",
    /// ResTP, protected.
    Restp = "restp",
    /// DTLS, a message a record.
    Dtls = "dtls",
    /// QUIC by s2n-quic, messages on a stream.
    S2nStream = "s2n-stream",
    /// QUIC by s2n-quic, messages in datagrams.
    S2nDatagram = "s2n-datagram",
}

impl Provider {
    /// Those that are compiled in.
    #[must_use]
    pub fn compiled_in() -> &'static [Self] {
        if cfg!(feature = "openssl") { Self::ALL } else { &[Self::Ring, Self::AwsLc] }
    }
}

impl Security {
    /// Whether a suite of TLS protects it.
    #[must_use]
    pub fn has_suite(self) -> bool {
        !matches!(self, Self::None | Self::SdlsGcm | Self::SdlsGcmAwsLc | Self::SdlsCmac | Self::Restp)
    }

    /// The library that does its cryptography; `provider` is that of TLS.
    #[must_use]
    pub fn crypto_library(self, provider: Provider) -> &'static str {
        match self {
            Self::None => "-",
            Self::SdlsGcm | Self::SdlsCmac => "rustcrypto",
            Self::SdlsGcmAwsLc => Provider::AwsLc.name(),
            Self::Restp => Provider::Ring.name(),
            Self::QuicStream
            | Self::QuicDatagram
            | Self::Tls
            | Self::Dtls
            | Self::S2nStream
            | Self::S2nDatagram => provider.name(),
        }
    }
}

/// One choice on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Suite {
    /// Library of cryptography.
    pub provider: Provider,
    /// Cipher of the messages.
    pub cipher: Cipher,
    /// Group of the key exchange.
    pub group: Group,
    /// Keys of the certificates.
    pub signature: Signature,
    /// Ground, too, shows a certificate.
    pub mutual: bool,
    /// Taking up earlier sessions.
    pub resumption: Resumption,
}

impl Default for Suite {
    /// AES-256-GCM as SDLS has it, X25519, Ed25519, both ends with certificates, no resumption.
    fn default() -> Self {
        Self {
            provider: Provider::AwsLc,
            cipher: Cipher::Aes256Gcm,
            group: Group::X25519,
            signature: Signature::Ed25519,
            mutual: true,
            resumption: Resumption::None,
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, cipher, group, signature, mutual, resumption } = self;
        let mutual = if *mutual { "mutual" } else { "server-only" };
        write!(f, "{provider}/{cipher}/{group}/{signature}/{mutual}/{resumption}")
    }
}

/// What a library does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// A group.
    #[error("{provider} has no key exchange with {group}; {instead} has it")]
    Group {
        /// Asked for.
        provider: Provider,
        /// Asked for.
        group: Group,
        /// Who has it.
        instead: Provider,
    },
    /// OpenSSL is not compiled in.
    #[error(
        "openssl is not compiled in: cargo build --profile measure -p flight-links --features openssl --target-dir \
         target/openssl, with OpenSSL's headers (Debian: libssl-dev, pkg-config)"
    )]
    OpenSslAbsent,
    /// OpenSSL of the system has no such group yet.
    #[error("openssl has {group} from version 3.5 on, and the one here is older; {instead} has it")]
    OpenSslOlder {
        /// Asked for.
        group: Group,
        /// Who has it.
        instead: Provider,
    },
    /// Nothing can be chosen.
    #[error("«{security}» has no suite of TLS; leave out cipher, group, signature, mutual and resumption")]
    NoSuite {
        /// Asked for.
        security: Security,
    },
    /// ResTP's handshake is what it is.
    #[error(
        "ResTP's handshake is Noise IK with X25519, mutual and without resumption; only its cipher can be chosen: \
             aes-256-gcm or chacha20-poly1305"
    )]
    RestpSuite,
    /// DTLS's library has less than those of TLS.
    #[error(
        "DTLS by dimpl has aws-lc with x25519, p-256 or p-384, certificates of ecdsa-p256 and no resumption; its cipher \
             and who shows a certificate can be chosen"
    )]
    DtlsSuite,
    /// s2n-quic takes up no sessions, but with a feature that it calls unstable.
    #[error(
        "s2n-quic gives no tickets: every session begins anew; quic-stream and quic-datagram take sessions up"
    )]
    S2nTicket,
}

impl Group {
    /// Its name in TLS.
    pub(crate) fn of_tls(self) -> NamedGroup {
        match self {
            Self::X25519 => NamedGroup::X25519,
            Self::P256 => NamedGroup::secp256r1,
            Self::P384 => NamedGroup::secp384r1,
            Self::P521 => NamedGroup::secp521r1,
            Self::X25519MlKem768 => NamedGroup::X25519MLKEM768,
        }
    }
}

impl Suite {
    /// What a security has where nothing is chosen: the default, but for DTLS ECDSA, since its library has no Ed25519.
    #[must_use]
    pub fn of(security: Security) -> Self {
        let signature =
            if security == Security::Dtls { Signature::EcdsaP256 } else { Self::default().signature };
        Self { signature, ..Self::default() }
    }

    /// Whether the libraries of TLS have this combination.
    ///
    /// # Errors
    /// What is missing, and who has it.
    pub fn check(&self) -> Result<(), Unsupported> {
        match (self.provider, self.group) {
            (provider @ Provider::Ring, group @ (Group::P521 | Group::X25519MlKem768)) => {
                Err(Unsupported::Group { provider, group, instead: Provider::AwsLc })
            }
            (Provider::OpenSsl, _) if openssl::version().is_none() => Err(Unsupported::OpenSslAbsent),
            (Provider::OpenSsl, group) if openssl::group(group.of_tls()).is_none() => {
                Err(Unsupported::OpenSslOlder { group, instead: Provider::AwsLc })
            }
            _ => Ok(()),
        }
    }

    /// All combinations of the libraries that are compiled in, those that [`check`](Self::check) refuses too.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut all = Vec::new();
        for &provider in Provider::compiled_in() {
            for &cipher in Cipher::ALL {
                for &group in Group::ALL {
                    for &signature in Signature::ALL {
                        for mutual in [false, true] {
                            for &resumption in Resumption::ALL {
                                all.push(Self { provider, cipher, group, signature, mutual, resumption });
                            }
                        }
                    }
                }
            }
        }
        all.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written_and_mistakes_list_what_there_is() {
        for group in Group::ALL {
            assert_eq!(group.name().parse(), Ok(*group));
        }
        let error = "p-512".parse::<Group>().unwrap_err().to_string();
        assert_eq!(error, "«p-512» is no group: x25519, p-256, p-384, p-521, x25519mlkem768");
    }

    #[test]
    fn a_refusal_says_what_is_missing_and_who_has_it() {
        let suite = Suite { provider: Provider::Ring, group: Group::X25519MlKem768, ..Suite::default() };
        let error = suite.check().unwrap_err().to_string();
        assert_eq!(error, "ring has no key exchange with x25519mlkem768; aws-lc has it");
    }

    #[test]
    fn a_library_that_is_not_compiled_in_says_how_it_is() {
        let here = Provider::compiled_in();
        assert!(Suite::all().all(|suite| here.contains(&suite.provider)));
        for &provider in Provider::ALL {
            let refused = Suite { provider, ..Suite::default() }.check().err().map(|error| error.to_string());
            let said =
                refused.is_some_and(|error| error.starts_with("openssl is not compiled in: cargo build"));
            assert_eq!(said, !here.contains(&provider), "{provider}");
        }
    }
}
