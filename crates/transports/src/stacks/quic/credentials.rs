//! Certificates and TLS settings of a QUIC flow: what both of its ends share.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::{ClientConfig, ServerConfig};

use crate::error::Failure;
use crate::secure::{Fault, Pki};
use crate::session::Session;

/// The application's protocol (ALPN), which QUIC demands (RFC 9001, section 8.1).
pub(super) const PROTOCOL: &[u8] = b"gauntlet";

/// Sessions that a sender remembers, as rustls does by itself.
const REMEMBERED_SESSIONS: usize = 256;

/// What the TLS inside QUIC is to do.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TlsOptions {
    /// The sender, too, shows a certificate.
    pub(super) client_auth: bool,
    /// A later connection of the flow takes up the keys of an earlier one.
    pub(super) resumption: bool,
    /// And sends data in its first flight (0-RTT).
    pub(super) early_data: bool,
    /// What is wrong on purpose.
    pub(super) fault: Option<Fault>,
}

/// The certificates of one flow, made when the first of its ends needs them.
pub(super) struct Credentials {
    options: TlsOptions,
    pki: Mutex<Option<Arc<Pki>>>,
}

impl Credentials {
    pub(super) fn new(options: TlsOptions) -> Self {
        Self { options, pki: Mutex::new(None) }
    }

    /// Whether later connections of the flow take up the keys of earlier ones.
    pub(super) fn resumes(&self) -> bool {
        self.options.resumption || self.options.early_data
    }

    /// The certificates.
    pub(super) fn pki(&self, session: &Session) -> Result<Arc<Pki>, Failure> {
        let mut pki = self.pki.lock().unwrap_or_else(PoisonError::into_inner);
        match &*pki {
            Some(made) => Ok(Arc::clone(made)),
            None => {
                let made = Arc::new(Pki::new(session.ctx.destination.ip(), self.options.fault)?);
                Ok(Arc::clone(pki.insert(made)))
            }
        }
    }

    /// The receiver's TLS.
    pub(super) fn server(&self, session: &Session) -> Result<ServerConfig, Failure> {
        let mut config = self.pki(session)?.server_config(self.options.client_auth)?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        if self.options.early_data {
            // The only value besides 0 that QUIC allows (RFC 9001, section 4.6.1).
            config.max_early_data_size = u32::MAX;
        }
        Ok(config)
    }

    /// The sender's TLS; its secrets are noted when the session keeps them.
    pub(super) fn client(&self, session: &Session) -> Result<ClientConfig, Failure> {
        let mut config = self.pki(session)?.client_config(self.options.client_auth, session.keys())?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        config.enable_early_data = self.options.early_data;
        config.resumption = if self.resumes() {
            Resumption::in_memory_sessions(REMEMBERED_SESSIONS)
        } else {
            Resumption::disabled()
        };
        Ok(config)
    }
}
