//! Whether the certificate of the other end is one to trust: dimpl checks that its owner holds the key, and leaves this to
//! its user.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;

use crate::error::Failure;
use crate::secure::{SERVER_NAME, tls_failure};

/// What one end trusts.
pub(super) enum Trust {
    /// The sender: the receiver's certificate, for its name.
    OfSender(Arc<dyn ServerCertVerifier>),
    /// The receiver: the sender's certificate, where it shows one.
    OfReceiver(Arc<dyn ClientCertVerifier>),
}

impl Trust {
    /// Checks a certificate (DER) by its authority, name, purpose and time.
    ///
    /// # Errors
    /// A sentence: it is not to be trusted.
    pub(super) fn check(&self, certificate: &[u8]) -> Result<(), Failure> {
        let (certificate, now) = (CertificateDer::from(certificate), UnixTime::now());
        let checked = match self {
            Self::OfSender(verifier) => {
                let name = ServerName::try_from(SERVER_NAME).map_err(|e| Failure::new(e.to_string()))?;
                verifier.verify_server_cert(&certificate, &[], &name, &[], now).map(drop)
            }
            Self::OfReceiver(verifier) => verifier.verify_client_cert(&certificate, &[], now).map(drop),
        };
        checked.map_err(|error| tls_failure("the DTLS handshake", &error))
    }

    /// Whether the other end must have shown a certificate that is to be trusted, whatever the library says.
    pub(super) fn is_demanded(&self) -> bool {
        matches!(self, Self::OfSender(_))
    }
}
