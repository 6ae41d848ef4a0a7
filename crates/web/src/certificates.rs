//! Certificates for experiments: an authority and a server that it signed, both with keys of the same kind.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::Ed25519KeyPair;
use clap::ValueEnum;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SignatureAlgorithm,
};
use rustls::pki_types::PrivatePkcs8KeyDer;

use crate::Refusal;

/// A kind of key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// RSA with 2048 bits.
    #[value(name = "rsa-2048")]
    Rsa2048,
    /// RSA with 4096 bits.
    #[value(name = "rsa-4096")]
    Rsa4096,
    /// ECDSA on the curve P-256.
    #[value(name = "p-256")]
    P256,
    /// Ed25519.
    #[value(name = "ed25519")]
    Ed25519,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rsa2048, Self::Rsa4096, Self::P256, Self::Ed25519];

    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rsa2048 => "rsa-2048",
            Self::Rsa4096 => "rsa-4096",
            Self::P256 => "p-256",
            Self::Ed25519 => "ed25519",
        }
    }

    fn key(self) -> Result<KeyPair, Refusal> {
        let refused = |error: rcgen::Error| Refusal::of(format!("a key of kind {}", self.name()), error);
        match self {
            Self::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(refused),
            Self::Ed25519 => self.elsewhere(Ed25519KeyPair::generate(), &rcgen::PKCS_ED25519),
            Self::Rsa2048 => self.elsewhere(RsaKeyPair::generate(KeySize::Rsa2048), &rcgen::PKCS_RSA_SHA256),
            Self::Rsa4096 => self.elsewhere(RsaKeyPair::generate(KeySize::Rsa4096), &rcgen::PKCS_RSA_SHA256),
        }
    }

    /// A key that aws-lc made. ring, which does everything else here, makes none of RSA, and writes those of Ed25519 with
    /// the public key beside (RFC 5958, version 2), which OpenSSL does not read.
    fn elsewhere<K: AsDer<Pkcs8V1Der<'static>>>(
        self,
        made: Result<K, Unspecified>,
        algorithm: &'static SignatureAlgorithm,
    ) -> Result<KeyPair, Refusal> {
        let refused = |error: &dyn Display| Refusal::of(format!("a key of kind {}", self.name()), error);
        let der = made.and_then(|key| key.as_der()).map_err(|error| refused(&error))?;
        let der = PrivatePkcs8KeyDer::from(der.as_ref().to_vec());
        KeyPair::from_pkcs8_der_and_sign_algo(&der, algorithm).map_err(|error| refused(&error))
    }
}

/// An authority's certificate, a server's and its key (PEM; the key in PKCS #8).
pub struct Identity {
    /// What a client has to trust.
    pub authority: String,
    /// What the server shows.
    pub certificate: String,
    /// The key of that.
    pub key: String,
}

impl Identity {
    /// Writes `ca.pem`, `server.pem` and `server.key` into `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("ca.pem"), &self.authority)?;
        std::fs::write(folder.join("server.pem"), &self.certificate)?;
        std::fs::write(folder.join("server.key"), &self.key)
    }
}

/// Makes an authority and a server of this name, which also stands for 127.0.0.1 and ::1.
///
/// # Errors
/// A sentence: the name is none, or the system has no randomness.
pub fn make(kind: Kind, name: &str) -> Result<Identity, Refusal> {
    let refused = |error: rcgen::Error| Refusal::of(format!("a certificate for `{name}`"), error);
    let mut root = named("Gauntlet authority for experiments");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let root_key = kind.key()?;
    let authority = root.self_signed(&root_key).map_err(refused)?;
    let issuer = Issuer::new(root, root_key);

    let mut server = named(name);
    server.subject_alt_names = vec![
        SanType::DnsName(name.try_into().map_err(refused)?),
        SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        SanType::IpAddress(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = kind.key()?;
    let certificate = server.signed_by(&key, &issuer).map_err(refused)?;
    let text = |tag, der: &[u8]| pem::encode(&pem::Pem::new(tag, der));
    Ok(Identity {
        authority: text("CERTIFICATE", authority.der()),
        certificate: text("CERTIFICATE", certificate.der()),
        key: text("PRIVATE KEY", key.serialized_der()),
    })
}

/// Valid for as long as rcgen's certificates are: longer than any experiment.
fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_the_kind_that_was_asked_for() {
        let octets = Kind::ALL.map(|kind| kind.key().expect("a key").public_key_raw().len());
        let [rsa_2048, rsa_4096, p256, ed25519] = octets;
        assert!((256..300).contains(&rsa_2048), "{rsa_2048}");
        assert!((512..550).contains(&rsa_4096), "{rsa_4096}");
        assert_eq!((p256, ed25519), (65, 32));
    }

    #[test]
    fn openssl_reads_every_key_since_each_is_of_the_first_version() {
        /// A sequence, of whatever length, that begins with the integer 0 (RFC 5208, PrivateKeyInfo).
        fn version(der: &[u8]) -> &[u8] {
            let behind_length = match der[1] {
                short if short < 0x80 => 2,
                long => 2 + usize::from(long & 0x7f),
            };
            &der[behind_length..behind_length + 3]
        }
        for kind in Kind::ALL {
            let key = kind.key().expect("a key");
            assert_eq!(version(key.serialized_der()), [0x02, 0x01, 0x00], "{}", kind.name());
        }
    }

    #[test]
    fn a_name_that_is_none_is_refused() {
        assert!(make(Kind::P256, "schl\u{f6}sser").is_err());
    }
}
