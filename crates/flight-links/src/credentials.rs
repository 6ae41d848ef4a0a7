//! A private certificate authority and certificates of both ends, made anew.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType, SignatureAlgorithm,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::suite::{Provider, Signature};

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
    /// As rustls takes it, for this library.
    pub(crate) fn parts(&self, provider: Provider) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let key = match provider {
            Provider::OpenSsl => without_public_half(&self.key),
            Provider::Ring | Provider::AwsLc => self.key.clone_key(),
        };
        (vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(key))
    }
}

/// OpenSSL 3.0 reads no key that has its public half beside it (PKCS #8, version 2: RFC 5958, section 2), as those of
/// Ed25519 have here: the same key in version 1.
fn without_public_half(key: &PrivatePkcs8KeyDer<'static>) -> PrivatePkcs8KeyDer<'static> {
    // A sequence, its length, an integer: the version, 1 for the second. Then the algorithm, and the key in two wrappings.
    const ED25519: [u8; 11] = [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    const KEPT_OCTETS: usize = ED25519.len() + 32;
    match key.secret_pkcs8_der() {
        [0x30, _, 0x02, 0x01, 0x01, rest @ ..] if rest.starts_with(&ED25519) && rest.len() > KEPT_OCTETS => {
            PrivatePkcs8KeyDer::from([&[0x30, 0x2E, 0x02, 0x01, 0x00][..], &rest[..KEPT_OCTETS]].concat())
        }
        _ => key.clone_key(),
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

#[cfg(test)]
mod tests {
    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    #[test]
    fn a_key_without_its_public_half_is_the_same_key() {
        let made = Credentials::new(Signature::Ed25519).unwrap().space;
        let short = without_public_half(&made.key);
        assert_eq!((short.secret_pkcs8_der().len(), short.secret_pkcs8_der()[4]), (48, 0));
        let [whole, short] = [&made.key, &short]
            .map(|key| Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der()).unwrap());
        assert_eq!(whole.public_key().as_ref(), short.public_key().as_ref());
        let other = Credentials::new(Signature::EcdsaP256).unwrap().space.key;
        assert_eq!(without_public_half(&other), other);
    }
}
