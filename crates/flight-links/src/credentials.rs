//! A private certificate authority and certificates of both ends, made anew.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SignatureAlgorithm,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::suite::Signature;

/// The name in space's certificate, which ground asks for (a name reserved for tests: RFC 6761).
pub const SPACE_NAME: &str = "space.gauntlet.test";

/// The name in ground's certificate.
pub const GROUND_NAME: &str = "ground.gauntlet.test";

/// A certificate with its key (PKCS #8).
pub struct Identity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// Its key.
    pub key: PrivatePkcs8KeyDer<'static>,
}

impl Identity {
    /// As rustls takes it.
    pub(crate) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { certificate: self.certificate.clone(), key: self.key.clone_key() }
    }
}

/// What an end trusts and shows. Each end uses what it needs of it.
#[derive(Clone)]
pub struct Credentials {
    /// The authority that must have signed the other end's certificate.
    pub authority: CertificateDer<'static>,
    /// Ground's certificate, where it has one.
    pub ground: Option<Identity>,
    /// Space's certificate.
    pub space: Identity,
}

impl Credentials {
    /// A new authority that signed a certificate for each end.
    ///
    /// # Errors
    /// If the system has no randomness.
    pub fn new(signature: Signature) -> Result<Self, rcgen::Error> {
        let algorithm = match signature {
            Signature::Ed25519 => &rcgen::PKCS_ED25519,
            Signature::EcdsaP256 => &rcgen::PKCS_ECDSA_P256_SHA256,
            // 2,048 bits are what the library makes when it is not told otherwise.
            Signature::Rsa2048 => &rcgen::PKCS_RSA_SHA256,
        };
        let mut params = named("Gauntlet command link");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate_for(algorithm)?;
        let authority = params.self_signed(&key)?.der().clone();
        let issuer = Issuer::new(params, key);
        Ok(Self {
            authority,
            ground: Some(identity(&issuer, algorithm, GROUND_NAME, ExtendedKeyUsagePurpose::ClientAuth)?),
            space: identity(&issuer, algorithm, SPACE_NAME, ExtendedKeyUsagePurpose::ServerAuth)?,
        })
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn identity(
    issuer: &Issuer<'static, KeyPair>,
    algorithm: &'static SignatureAlgorithm,
    name: &str,
    purpose: ExtendedKeyUsagePurpose,
) -> Result<Identity, rcgen::Error> {
    let mut params = named(name);
    params.subject_alt_names = vec![SanType::DnsName(name.try_into()?)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate_for(algorithm)?;
    let certificate = params.signed_by(&key, issuer)?.der().clone();
    Ok(Identity { certificate, key: PrivatePkcs8KeyDer::from(key.serialize_der()) })
}
