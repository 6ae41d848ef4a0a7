//! Which first handshake: options that the command and the processes of its ends share.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use flight_links::credentials::Credentials;
use flight_links::suite::{Cipher, Group, Provider, Security, Signature, Suite};

#[derive(Args)]
pub struct Kind {
    /// Certificates of both ends, made by `flight-bench credentials`
    #[arg(long, value_name = "FILE")]
    credentials: PathBuf,
    /// The keys of these certificates
    #[arg(long, value_name = "NAME", default_value = "ed25519")]
    signature: Signature,
    /// The security: one that has certificates, as QUIC, TLS and DTLS have
    #[arg(long, value_name = "NAME", default_value = "quic-stream")]
    pub security: Security,
    /// Library of cryptography
    #[arg(long, value_name = "NAME", default_value = "aws-lc")]
    provider: Provider,
    /// Cipher of the messages
    #[arg(long, value_name = "NAME", default_value = "aes-256-gcm")]
    cipher: Cipher,
    /// Group of the key exchange
    #[arg(long, value_name = "NAME", default_value = "x25519")]
    group: Group,
    /// Ground, too, shows its certificate
    #[arg(long)]
    mutual: bool,
}

impl Kind {
    /// The suite, or why there is none.
    pub fn suite(&self) -> Result<Suite, String> {
        if !self.security.has_suite() {
            let have = Security::ALL.iter().filter(|it| it.has_suite()).map(|it| it.name());
            return Err(format!(
                "«{}» has no certificates; these have: {}",
                self.security,
                have.collect::<Vec<_>>().join(", ")
            ));
        }
        Ok(Suite {
            provider: self.provider,
            cipher: self.cipher,
            group: self.group,
            signature: self.signature,
            mutual: self.mutual,
            ..Suite::default()
        })
    }

    /// The certificates, which another process made.
    pub fn credentials(&self) -> Result<Credentials, String> {
        let path = self.credentials.display();
        let text = fs::read_to_string(&self.credentials)
            .map_err(|error| format!("{path} cannot be read: {error}"))?;
        Credentials::read(&text).map_err(|error| format!("{path}: {error}"))
    }

    /// The options that say the same to another process.
    pub fn words(&self) -> Vec<OsString> {
        let Self { credentials, signature, security, provider, cipher, group, mutual } = self;
        let mut words = vec!["--credentials".into(), credentials.into()];
        for (option, name) in [
            ("--signature", signature.name()),
            ("--security", security.name()),
            ("--provider", provider.name()),
            ("--cipher", cipher.name()),
            ("--group", group.name()),
        ] {
            words.extend([option.into(), name.into()]);
        }
        words.extend(mutual.then(|| "--mutual".into()));
        words
    }
}
