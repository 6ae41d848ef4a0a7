//! Sentences for TLS sessions that do not come about or break.

use rustls::{AlertDescription, CertificateError, Error};

use crate::error::Failure;

/// The failure of a session over which TLS reported `error` while `doing` something ("the handshake").
pub fn tls_failure(doing: &str, error: &Error) -> Failure {
    let why = match error {
        Error::AlertReceived(alert) => {
            return Failure::Echo(format!(
                "{doing} failed: the other side turned it down: {}",
                alert_meaning(*alert)
            ));
        }
        Error::InvalidCertificate(error) => certificate(error),
        Error::NoCertificatesPresented => {
            "the other side showed no certificate, and one is required".to_owned()
        }
        Error::InvalidMessage(_) | Error::InappropriateMessage { .. } => {
            format!("the other side does not speak TLS as expected ({error})")
        }
        error => error.to_string(),
    };
    Failure::new(format!("{doing} failed: {why}"))
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "the certificate was signed by an authority that is not trusted here".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the certificate has expired ({error})")
        }
        error => format!("the certificate is not acceptable ({error})"),
    }
}

/// Alerts that a peer sends about certificates (RFC 8446, section 6.2).
fn alert_meaning(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnknownCA => "it does not trust the authority of our certificate".to_owned(),
        AlertDescription::CertificateExpired => "our certificate has expired".to_owned(),
        AlertDescription::CertificateRequired => "it requires a certificate and none was shown".to_owned(),
        other => format!("alert {other:?}"),
    }
}
