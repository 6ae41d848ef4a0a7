//! A private certificate authority, made anew for every flow, and the TLS configurations that trust it.
//!
//! Keys are ECDSA P-256. Nothing is read from disk and nothing is kept: in a guest the keys follow from the run's seed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use serde::Deserialize;
use time::{Duration, OffsetDateTime};

use super::KeyLines;
use super::kept_sessions::KeptSessions;
use crate::error::Failure;

/// The name in the receiver's certificate, which the sender asks for (a name reserved for tests: RFC 6761).
pub const SERVER_NAME: &str = "server.gauntlet.test";

/// How long a certificate is valid to either side of now: far longer than any run.
const VALID_FOR: Duration = Duration::days(365);

/// What is wrong on purpose, for tests of what a stack says about it (`fault` of `stack_params`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The sender trusts another authority than the one that signed the receiver's certificate.
    WrongCa,
    /// The receiver's certificate expired a day ago.
    ExpiredCertificate,
    /// The receiver requires a certificate of the sender, which has none.
    NoClientCertificate,
    /// The receiver takes a ticket as often as it comes, and early data with it.
    TicketsKept,
}

/// The cryptography of every secure stack.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A certificate with its key, as the wire and the file formats have them (DER, PKCS #8).
struct Identity {
    certificate: CertificateDer<'static>,
    key: PrivatePkcs8KeyDer<'static>,
}

/// A certificate authority with a certificate for the receiver and one for the sender.
pub struct Pki {
    /// The authority that the sender trusts.
    trusted: CertificateDer<'static>,
    /// The authority that signed both certificates.
    authority: CertificateDer<'static>,
    server: Identity,
    client: Identity,
    fault: Option<Fault>,
}

impl Pki {
    /// Makes an authority and both certificates, valid now by the system's clock. The receiver's names
    /// [`SERVER_NAME`] and `server`.
    ///
    /// # Errors
    /// A sentence: the system has no randomness or its clock stands before 1970.
    pub fn new(server: IpAddr, fault: Option<Fault>) -> Result<Self, Failure> {
        Self::make(server, fault)
            .map_err(|error| Failure::new(format!("the certificates could not be made: {error}")))
    }

    fn make(server: IpAddr, fault: Option<Fault>) -> Result<Self, Box<dyn std::error::Error>> {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let now = OffsetDateTime::from_unix_timestamp(since_1970.as_secs().try_into()?)?;
        let valid = (now - VALID_FOR, now + VALID_FOR);
        let (authority, issuer) = authority("Gauntlet run authority", valid)?;
        let trusted = match fault {
            Some(Fault::WrongCa) => self::authority("Another authority", valid)?.0,
            _ => authority.clone(),
        };
        let server_valid = match fault {
            Some(Fault::ExpiredCertificate) => (now - VALID_FOR, now - Duration::days(1)),
            _ => valid,
        };
        let server_names = vec![SanType::DnsName(SERVER_NAME.try_into()?), SanType::IpAddress(server)];
        let client_names = vec![SanType::DnsName("client.gauntlet.test".try_into()?)];
        Ok(Self {
            trusted,
            authority,
            server: identity(
                &issuer,
                "server",
                server_names,
                ExtendedKeyUsagePurpose::ServerAuth,
                server_valid,
            )?,
            client: identity(&issuer, "client", client_names, ExtendedKeyUsagePurpose::ClientAuth, valid)?,
            fault,
        })
    }

    /// Authority, certificates and keys as PEM files, for programs that bring their own TLS: `ca.pem` (what is to be
    /// trusted), `server.pem`, `server.key`, `client.pem`, `client.key` (PKCS #8).
    pub fn pem_files(&self) -> [(&'static str, String); 5] {
        let certificate = |der: &CertificateDer| text("CERTIFICATE", der);
        let key = |key: &PrivatePkcs8KeyDer| text("PRIVATE KEY", key.secret_pkcs8_der());
        [
            ("ca.pem", certificate(&self.trusted)),
            ("server.pem", certificate(&self.server.certificate)),
            ("server.key", key(&self.server.key)),
            ("client.pem", certificate(&self.client.certificate)),
            ("client.key", key(&self.client.key)),
        ]
    }

    /// What the receiver checks and shows, for a library with a TLS of its own; as for [`Pki::server_config`].
    pub fn server_credentials(&self, client_auth: bool) -> TlsCredentials<'_> {
        TlsCredentials {
            trusted: &self.authority,
            own: Some(self.server.parts()),
            demands: client_auth || self.fault == Some(Fault::NoClientCertificate),
        }
    }

    /// What the sender checks and shows; as for [`Pki::client_config`].
    pub fn client_credentials(&self, client_auth: bool) -> TlsCredentials<'_> {
        let shows = client_auth && self.fault != Some(Fault::NoClientCertificate);
        TlsCredentials { trusted: &self.trusted, own: shows.then(|| self.client.parts()), demands: true }
    }

    /// What tells whether the receiver trusts a certificate of the sender.
    ///
    /// # Errors
    /// A sentence: the authority is refused.
    pub fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Failure> {
        WebPkiClientVerifier::builder_with_provider(roots(&self.authority)?, provider())
            .build()
            .map_err(refused)
    }

    /// What tells whether the sender trusts the receiver's certificate.
    ///
    /// # Errors
    /// As for [`Pki::client_verifier`].
    pub fn server_verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, Failure> {
        let verifier = WebPkiServerVerifier::builder_with_provider(roots(&self.trusted)?, provider());
        Ok(verifier.build().map_err(refused)?)
    }

    /// The receiver's side of TLS 1.3 (and of QUIC). With `client_auth` it requires a certificate of the sender.
    /// Protocol names (ALPN), tickets and early data are the caller's to add.
    ///
    /// # Errors
    /// A sentence: the configuration is refused.
    pub fn server_config(&self, client_auth: bool) -> Result<ServerConfig, Failure> {
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?;
        let builder = if client_auth || self.fault == Some(Fault::NoClientCertificate) {
            builder.with_client_cert_verifier(self.client_verifier()?)
        } else {
            builder.with_no_client_auth()
        };
        let (chain, key) = self.server.present();
        let mut config = builder.with_single_cert(chain, key).map_err(refused)?;
        if self.fault == Some(Fault::TicketsKept) {
            config.session_storage = Arc::new(KeptSessions::default());
        }
        Ok(config)
    }

    /// The sender's side of TLS 1.3 (and of QUIC). With `client_auth` it has a certificate to show; its secrets are
    /// written to `keys`, which suffices to decrypt both directions.
    ///
    /// # Errors
    /// A sentence: the configuration is refused.
    pub fn client_config(
        &self,
        client_auth: bool,
        keys: Option<Arc<KeyLines>>,
    ) -> Result<ClientConfig, Failure> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(refused)?
            .with_root_certificates(roots(&self.trusted)?);
        let mut config = if client_auth && self.fault != Some(Fault::NoClientCertificate) {
            let (chain, key) = self.client.present();
            builder.with_client_auth_cert(chain, key).map_err(refused)?
        } else {
            builder.with_no_client_auth()
        };
        if let Some(keys) = keys {
            config.key_log = keys;
        }
        Ok(config)
    }
}

/// What one side of a handshake checks and shows, in DER (keys: PKCS #8).
#[derive(Debug, Clone, Copy)]
pub struct TlsCredentials<'a> {
    /// The authority that must have signed the other side's certificate.
    pub trusted: &'a [u8],
    /// Its own certificate and the key of that.
    pub own: Option<(&'a [u8], &'a [u8])>,
    /// Whether the other side must show a certificate.
    pub demands: bool,
}

impl Identity {
    fn parts(&self) -> (&[u8], &[u8]) {
        (&self.certificate, self.key.secret_pkcs8_der())
    }

    fn present(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (vec![self.certificate.clone()], PrivateKeyDer::Pkcs8(self.key.clone_key()))
    }
}

fn text(tag: &str, der: &[u8]) -> String {
    pem::encode(&pem::Pem::new(tag, der))
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::new(format!("the TLS configuration was refused: {error}"))
}

fn roots(authority: &CertificateDer<'static>) -> Result<Arc<RootCertStore>, Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.clone()).map_err(refused)?;
    Ok(Arc::new(roots))
}

type Valid = (OffsetDateTime, OffsetDateTime);

fn params(name: &str, (from, until): Valid) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = from;
    params.not_after = until;
    params
}

fn authority(
    name: &str,
    valid: Valid,
) -> Result<(CertificateDer<'static>, Issuer<'static, KeyPair>), rcgen::Error> {
    let mut params = params(name, valid);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.der().clone(), Issuer::new(params, key)))
}

fn identity(
    issuer: &Issuer<'static, KeyPair>,
    name: &str,
    names: Vec<SanType>,
    purpose: ExtendedKeyUsagePurpose,
    valid: Valid,
) -> Result<Identity, rcgen::Error> {
    let mut params = params(name, valid);
    params.subject_alt_names = names;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![purpose];
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok(Identity {
        certificate: certificate.der().clone(),
        key: PrivatePkcs8KeyDer::from(key.serialize_der()),
    })
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;
    use rustls::{ClientConnection, ServerConnection};

    use super::*;

    /// Lets both ends talk to each other until the handshake is over or one of them gives up, and returns the
    /// sender's error and the receiver's.
    fn handshake(pki: &Pki, client_auth: bool, keys: Option<Arc<KeyLines>>) -> [Option<rustls::Error>; 2] {
        let server = pki.server_config(client_auth).expect("a sound configuration");
        let client = pki.client_config(client_auth, keys).expect("a sound configuration");
        let name = ServerName::try_from(SERVER_NAME).expect("a valid name");
        let mut client = ClientConnection::new(Arc::new(client), name).expect("a sound configuration");
        let mut server = ServerConnection::new(Arc::new(server)).expect("a sound configuration");
        let mut errors = [None, None];
        for _ in 0..6 {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).expect("memory takes everything");
            server.read_tls(&mut wire.as_slice()).expect("memory gives everything");
            errors[1] = errors[1].take().or(server.process_new_packets().err());
            let mut wire = Vec::new();
            server.write_tls(&mut wire).expect("memory takes everything");
            client.read_tls(&mut wire.as_slice()).expect("memory gives everything");
            errors[0] = errors[0].take().or(client.process_new_packets().err());
        }
        assert!(errors.iter().any(Option::is_some) || !(client.is_handshaking() || server.is_handshaking()));
        errors
    }

    fn pki(fault: Option<Fault>) -> Pki {
        Pki::new(IpAddr::from([127, 0, 0, 1]), fault).expect("the system has randomness")
    }

    #[test]
    fn the_pem_files_hold_what_the_configurations_use() {
        let pki = pki(None);
        let files = pki.pem_files();
        let content = |name: &str| {
            let (_, text) = files.iter().find(|(known, _)| *known == name).expect("the file is there");
            pem::parse(text).expect("PEM")
        };
        assert_eq!(content("ca.pem").contents(), pki.trusted.as_ref());
        assert_eq!(content("server.pem").contents(), pki.server.certificate.as_ref());
        assert_eq!(content("server.key").tag(), "PRIVATE KEY");
        assert_eq!(content("client.key").contents(), pki.client.key.secret_pkcs8_der());
    }

    #[test]
    fn both_ends_agree_with_and_without_a_certificate_of_the_sender() {
        for client_auth in [false, true] {
            let keys = Arc::new(KeyLines::default());
            assert_eq!(handshake(&pki(None), client_auth, Some(Arc::clone(&keys))), [None, None]);
            let text = keys.text();
            for label in ["CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 "] {
                assert!(text.lines().any(|line| line.starts_with(label)), "no {label} in {text}");
            }
        }
    }

    #[test]
    fn every_fault_is_noticed_for_what_it_is() {
        use rustls::{AlertDescription, CertificateError, Error};
        let [client, server] = handshake(&pki(Some(Fault::WrongCa)), false, None);
        assert_eq!(client, Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)));
        assert_eq!(server, Some(Error::AlertReceived(AlertDescription::UnknownCA)));
        let [client, server] = handshake(&pki(Some(Fault::ExpiredCertificate)), false, None);
        assert!(
            matches!(client, Some(Error::InvalidCertificate(CertificateError::ExpiredContext { .. }))),
            "{client:?}"
        );
        assert_eq!(server, Some(Error::AlertReceived(AlertDescription::CertificateExpired)));
        let [client, server] = handshake(&pki(Some(Fault::NoClientCertificate)), true, None);
        assert_eq!(client, Some(Error::AlertReceived(AlertDescription::CertificateRequired)));
        assert_eq!(server, Some(Error::NoCertificatesPresented));
    }
}
