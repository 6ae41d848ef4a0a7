//! Settings of TLS 1.3 for both ends, as QUIC and TLS take them.

use std::sync::Arc;

use rustls::client::{Resumption as Sessions, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs, ring};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{CipherSuite, ClientConfig, RootCertStore, ServerConfig, SupportedCipherSuite};

use crate::credentials::Credentials;
use crate::group_p521::P521;
use crate::metered_tls;
use crate::openssl;
use crate::suite::{Cipher, Group, Provider, Resumption, Suite, Unsupported};

/// Why an end cannot be as it is wanted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// A library does not have something.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// There are no keys without it.
    #[error("the system has no randomness: {0}")]
    Randomness(getrandom::Error),
    /// Certificates could not be made.
    #[error("the certificates could not be made: {0}")]
    Certificates(#[from] rcgen::Error),
    /// rustls refuses the settings.
    #[error("TLS refuses its settings: {0}")]
    Tls(#[from] rustls::Error),
    /// rustls refuses the authority.
    #[error("TLS refuses the authority of the certificates: {0}")]
    Authority(#[from] rustls::server::VerifierBuilderError),
    /// ResTP refuses its profile.
    #[error("ResTP refuses its profile: {0}")]
    Restp(String),
    /// SDLS refuses its settings.
    #[error(transparent)]
    Sdls(#[from] flight::security::SdlsError),
    /// QUIC cannot be set up so.
    #[error("QUIC cannot be opened: {0}")]
    Quic(String),
    /// DTLS cannot be set up so.
    #[error("DTLS cannot be opened: {0}")]
    Dtls(String),
}

/// The application's protocol (ALPN), which QUIC demands (RFC 9001, section 8.1).
const PROTOCOL: &[u8] = b"gauntlet-command-link";

/// Sessions that ground remembers.
const REMEMBERED: usize = 8;

impl Cipher {
    fn of_tls(self) -> CipherSuite {
        match self {
            Self::Aes128Gcm => CipherSuite::TLS13_AES_128_GCM_SHA256,
            Self::Aes256Gcm => CipherSuite::TLS13_AES_256_GCM_SHA384,
            Self::ChaCha20Poly1305 => CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
        }
    }
}

fn provider_of(provider: Provider) -> Result<CryptoProvider, Unsupported> {
    match provider {
        Provider::Ring => Ok(ring::default_provider()),
        Provider::AwsLc => Ok(aws_lc_rs::default_provider()),
        Provider::OpenSsl => openssl::provider().ok_or(Unsupported::OpenSslAbsent),
    }
}

/// Has a library gather the randomness that it begins with, which else the first handshake of a process waits for: AWS-LC
/// takes it from the processor's jitter, tens of milliseconds of computing.
///
/// # Errors
/// If the library has none, or is not compiled in.
pub fn gather_randomness(provider: Provider) -> Result<(), SetupError> {
    let filled = provider_of(provider)?.secure_random.fill(&mut [0; 32]);
    filled.map_err(|error| SetupError::Tls(error.into()))
}

fn group(suite: &Suite) -> Result<&'static dyn SupportedKxGroup, Unsupported> {
    Ok(match (suite.provider, suite.group) {
        (Provider::OpenSsl, group) => openssl::group(group.of_tls())
            .ok_or(Unsupported::OpenSslOlder { group, instead: Provider::AwsLc })?,
        (_, Group::P521) => P521,
        (_, Group::X25519MlKem768) => aws_lc_rs::kx_group::X25519MLKEM768,
        (Provider::Ring, Group::X25519) => ring::kx_group::X25519,
        (Provider::Ring, Group::P256) => ring::kx_group::SECP256R1,
        (Provider::Ring, Group::P384) => ring::kx_group::SECP384R1,
        (Provider::AwsLc, Group::X25519) => aws_lc_rs::kx_group::X25519,
        (Provider::AwsLc, Group::P256) => aws_lc_rs::kx_group::SECP256R1,
        (Provider::AwsLc, Group::P384) => aws_lc_rs::kx_group::SECP384R1,
    })
}

fn cipher(provider: Provider, name: CipherSuite) -> Option<SupportedCipherSuite> {
    provider_of(provider).ok()?.cipher_suites.into_iter().find(|suite| suite.suite() == name)
}

/// The provider with just this cipher and this group, so that nothing else can be agreed on.
fn provider(suite: &Suite, metered: bool) -> Result<Arc<CryptoProvider>, SetupError> {
    suite.check()?;
    let name = suite.cipher.of_tls();
    let found = if metered { metered_tls::suite(suite.provider, name) } else { cipher(suite.provider, name) };
    let cipher_suites = found.into_iter().collect();
    Ok(Arc::new(CryptoProvider {
        cipher_suites,
        kx_groups: vec![group(suite)?],
        ..provider_of(suite.provider)?
    }))
}

/// The cipher of QUIC's first packets, which is the same for all (RFC 9001, section 5.2).
pub(crate) fn initial(provider: Provider) -> Option<rustls::quic::Suite> {
    cipher(provider, CipherSuite::TLS13_AES_128_GCM_SHA256)?.tls13()?.quic_suite()
}

fn roots(credentials: &Credentials) -> Result<Arc<RootCertStore>, SetupError> {
    let mut roots = RootCertStore::empty();
    roots.add(credentials.authority.clone())?;
    Ok(Arc::new(roots))
}

/// What takes space's certificate, for where the library does not ask for it itself.
///
/// # Errors
/// If a library does not have the suite, or refuses the authority.
pub(crate) fn server_verifier(
    suite: &Suite,
    credentials: &Credentials,
) -> Result<Arc<WebPkiServerVerifier>, SetupError> {
    let builder = WebPkiServerVerifier::builder_with_provider(roots(credentials)?, provider(suite, false)?);
    Ok(builder.build()?)
}

/// What takes ground's certificate.
///
/// # Errors
/// As there.
pub(crate) fn client_verifier(
    suite: &Suite,
    credentials: &Credentials,
) -> Result<Arc<dyn ClientCertVerifier>, SetupError> {
    let builder = WebPkiClientVerifier::builder_with_provider(roots(credentials)?, provider(suite, false)?);
    Ok(builder.build()?)
}

/// Ground's side: it checks space's certificate, and shows its own if the suite is mutual and there is one.
///
/// # Errors
/// If a library does not have the suite, or refuses the credentials.
pub fn ground(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<ClientConfig, SetupError> {
    let builder = ClientConfig::builder_with_provider(provider(suite, metered)?)
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(roots(credentials)?);
    let mut config = match credentials.ground.as_ref().filter(|_| suite.mutual) {
        Some(identity) => {
            let (chain, key) = identity.parts(suite.provider);
            builder.with_client_auth_cert(chain, key)?
        }
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = match suite.resumption {
        Resumption::None => Sessions::disabled(),
        Resumption::Ticket | Resumption::EarlyData => Sessions::in_memory_sessions(REMEMBERED),
    };
    config.enable_early_data = suite.resumption == Resumption::EarlyData;
    Ok(config)
}

/// Space's side: it shows its certificate, and demands one of ground if the suite is mutual.
///
/// # Errors
/// If a library does not have the suite, or refuses the credentials.
pub fn space(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<ServerConfig, SetupError> {
    let builder =
        ServerConfig::builder_with_provider(provider(suite, metered)?).with_protocol_versions(&[&TLS13])?;
    let builder = if suite.mutual {
        builder.with_client_cert_verifier(client_verifier(suite, credentials)?)
    } else {
        builder.with_no_client_auth()
    };
    let (chain, key) = credentials.space.parts(suite.provider);
    let mut config = builder.with_single_cert(chain, key)?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    if suite.resumption == Resumption::None {
        config.send_tls13_tickets = 0;
    }
    if suite.resumption == Resumption::EarlyData {
        // QUIC allows no other value but 0 (RFC 9001, section 4.6.1).
        config.max_early_data_size = u32::MAX;
    }
    Ok(config)
}
