//! Certificates and keys from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Options of TLS channels.
#[derive(Args)]
pub struct Tls {
    /// Certificate chain of this end (PEM)
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Authorities that the other end's certificate must come from (PEM); a server without them takes any client
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Name that the server's certificate must have
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Tls {
    /// For channels that wait.
    ///
    /// # Errors
    /// What is missing or cannot be read.
    pub fn server(&self) -> Result<Arc<ServerConfig>, String> {
        let (chain, key) =
            self.identity()?.ok_or("a server with a tls channel needs --tls-cert FILE and --tls-key FILE")?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match self.roots()? {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let verifier =
                    rustls::server::WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(verifier.build().map_err(|error| error.to_string())?)
            }
        };
        builder
            .with_single_cert(chain, key)
            .map(Arc::new)
            .map_err(|error| format!("--tls-cert and --tls-key: {error}"))
    }

    /// For channels that connect, with the name that is expected.
    ///
    /// # Errors
    /// What is missing or cannot be read.
    pub fn client(&self) -> Result<(ServerName<'static>, Arc<ClientConfig>), String> {
        let roots = self.roots()?.ok_or("a tls channel needs --tls-ca FILE: whom to trust")?;
        let name = self
            .tls_name
            .clone()
            .ok_or("a tls channel needs --tls-name NAME: what the server's certificate says")?;
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("--tls-name: «{name}» is no name of a host"))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let config = match self.identity()? {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("--tls-cert and --tls-key: {error}"))?,
        };
        Ok((name, Arc::new(config)))
    }

    fn identity(&self) -> Result<Option<Identity>, String> {
        match (&self.tls_cert, &self.tls_key) {
            (None, None) => Ok(None),
            (Some(chain), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
                Ok(Some((certificates(chain)?, key)))
            }
            _ => Err("--tls-cert and --tls-key go together".into()),
        }
    }

    fn roots(&self) -> Result<Option<RootCertStore>, String> {
        let Some(file) = &self.tls_ca else { return Ok(None) };
        let mut roots = RootCertStore::empty();
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|error| unreadable(file, &error))?;
        }
        Ok(Some(roots))
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(file).map_err(|error| unreadable(file, &error))?.collect();
    match certificates {
        Ok(certificates) if certificates.is_empty() => {
            Err(format!("{}: no certificate is in it", file.display()))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unreadable(file, &error)),
    }
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
}
