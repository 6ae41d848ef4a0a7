//! TLS 1.3 as all attackers use it: rustls, over TCP and in QUIC alike.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file of the authority cannot be used.
    #[error("{path} holds no certificate of an authority: {why}")]
    Authority {
        /// Where it was looked for.
        path: String,
        /// What was wrong.
        why: String,
    },
    /// rustls refuses it.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] Error),
}

/// A configuration for one application protocol (`alpn`), without tickets, so that each handshake is a whole one.
///
/// With an authority's certificate in `authority` the server's is verified. Without, nothing is verified: what comes is
/// read, hashed and believed, which spares the attacker the cost of two or more signature checks a handshake.
///
/// # Errors
/// If the file cannot be read, or rustls refuses something.
pub fn client(authority: Option<&Path>, alpn: &str) -> Result<Arc<ClientConfig>, ConfigError> {
    let provider = Arc::new(ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(&[&TLS13])?;
    let mut config = match authority {
        Some(path) => builder.with_root_certificates(roots(path)?).with_no_client_auth(),
        None => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
            .with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    Ok(Arc::new(config))
}

fn roots(path: &Path) -> Result<RootCertStore, ConfigError> {
    let wrong = |why: String| ConfigError::Authority { path: path.display().to_string(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("there is none in it".to_owned())) } else { Ok(roots) }
}

/// Believes every server: its certificate and its signature.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_off_and_the_protocol_is_named() {
        let config = client(None, "h3").unwrap();
        assert_eq!(config.alpn_protocols, [b"h3".to_vec()]);
        assert!(!config.enable_early_data);
    }

    #[test]
    fn a_file_without_certificates_is_refused_with_its_name() {
        let refused = client(Some(Path::new("/dev/null")), "h2").unwrap_err().to_string();
        assert!(refused.contains("/dev/null"), "{refused}");
    }
}
