//! BoringSSL's half of a flow's TLS: the same certificates, checks and key log as the other stacks have.

use std::io::{self, Write};
use std::sync::Arc;

use boring::error::ErrorStack;
use boring::pkey::PKey;
use boring::ssl::{SslContext, SslContextBuilder, SslMethod, SslVerifyMode};
use boring::x509::X509;

use crate::error::Failure;
use crate::secure::{KeyLines, TlsCredentials};

/// A TLS context that checks and shows what `credentials` say.
pub(super) fn context(credentials: &TlsCredentials<'_>) -> Result<SslContextBuilder, Failure> {
    made(credentials).map_err(|error| Failure::new(format!("the TLS configuration was refused: {error}")))
}

fn made(credentials: &TlsCredentials<'_>) -> Result<SslContextBuilder, ErrorStack> {
    let mut context = SslContext::builder(SslMethod::tls())?;
    context.cert_store_mut().add_cert(X509::from_der(credentials.trusted)?)?;
    if let Some((certificate, key)) = credentials.own {
        let certificate = X509::from_der(certificate)?;
        context.set_certificate(&certificate)?;
        let key = PKey::private_key_from_pkcs8(key)?;
        context.set_private_key(&key)?;
    }
    context.set_verify(if credentials.demands {
        SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT
    } else {
        SslVerifyMode::NONE
    });
    Ok(context)
}

/// Takes the lines of BoringSSL's key log.
pub(super) struct KeyWriter(pub(super) Arc<KeyLines>);

impl Write for KeyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.add(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
