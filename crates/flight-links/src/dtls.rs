//! DTLS 1.3 by dimpl: a message a record, a record a datagram, and nothing sent again but the handshake.
//!
//! dimpl proves that the other end holds the key of the certificate that it shows, and leaves to its user whether that
//! certificate is one to trust: here rustls' verifiers say so, as for QUIC and TLS.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dimpl::crypto::{CryptoProvider, Dtls13CipherSuite, NamedGroup, aws_lc_rs};
use dimpl::{Config, Dtls as Protocol, DtlsCertificate, Error, Output as Said, SecurityError};
use flight::security::{LinkSecurity, Output, Refusal};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;

use crate::credentials::{Credentials, Identity, SPACE_NAME};
use crate::link::{Link, State, check, over, too_long, wait};
use crate::metered_dtls;
use crate::suite::{Cipher, Group, Suite};
use crate::tls_config::{self, SetupError};

/// Octets of the longest UDP payload, as for QUIC.
const MTU_OCTETS: usize = 1452;

/// What a record has beside its message: flags, two octets each of number and length, the type, the tag (RFC 9147,
/// section 4).
const RECORD_OCTETS: usize = 5 + 1 + 16;

/// A timer that is further off never ends: the library has none then, and names an instant in ten years.
const NEVER: Duration = Duration::from_secs(366 * 86_400);

/// What both ends agree on. Making it tries the provider's algorithms, so it is made once for all links.
fn config(suite: &Suite, metered: bool) -> Result<Arc<Config>, SetupError> {
    let provider = aws_lc_rs::default_provider();
    let provider = if metered {
        CryptoProvider { dtls13_cipher_suites: metered_dtls::suites(), ..provider }
    } else {
        provider
    };
    let cipher = match suite.cipher {
        Cipher::Aes128Gcm => Dtls13CipherSuite::AES_128_GCM_SHA256,
        Cipher::Aes256Gcm => Dtls13CipherSuite::AES_256_GCM_SHA384,
        Cipher::ChaCha20Poly1305 => Dtls13CipherSuite::CHACHA20_POLY1305_SHA256,
    };
    let config = Config::builder()
        .with_crypto_provider(provider)
        .dtls13_cipher_suites(&[cipher])
        .kx_groups(&[group(suite.group)])
        .mtu(MTU_OCTETS)
        .require_client_certificate(suite.mutual)
        // A cookie proves an address, for a round trip: on a link with two ends there is nothing to prove, and QUIC asks
        // for none here either.
        .use_server_cookie(false)
        .build();
    config.map(Arc::new).map_err(|error| SetupError::Dtls(error.to_string()))
}

fn group(group: Group) -> NamedGroup {
    match group {
        Group::X25519 => NamedGroup::X25519,
        Group::P256 => NamedGroup::Secp256r1,
        Group::P384 => NamedGroup::Secp384r1,
        Group::P521 => NamedGroup::Secp521r1,
        // Its number is RFC 8446's registry's; the library has no name for it, and refuses it.
        Group::X25519MlKem768 => NamedGroup::from_u16(0x11EC),
    }
}

/// As the library takes it.
fn shown(identity: &Identity) -> DtlsCertificate {
    DtlsCertificate {
        certificate: identity.certificate.to_vec(),
        private_key: identity.key.secret_pkcs8_der().to_vec(),
    }
}

/// Settings of ground.
#[derive(Clone)]
pub struct DtlsGround {
    config: Arc<Config>,
    own: DtlsCertificate,
    trust: Trust,
}

impl DtlsGround {
    /// Settings of ground.
    ///
    /// # Errors
    /// If the library does not have the suite, or ground has no certificate.
    pub fn new(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<Self, SetupError> {
        let own = credentials.ground.as_ref().map(shown);
        let own = own.ok_or_else(|| {
            SetupError::Dtls(
                "its library wants a certificate of ground, even one that nobody asks for".to_owned(),
            )
        })?;
        let trust = Trust::OfGround(tls_config::server_verifier(suite, credentials)?);
        Ok(Self { config: config(suite, metered)?, own, trust })
    }

    /// Begins a session.
    #[must_use]
    pub fn open(&self, now: Duration) -> Dtls {
        let mut dtls = Dtls::new(&self.config, self.own.clone(), self.trust.clone(), now);
        dtls.protocol.set_active(true);
        dtls.advance();
        dtls.settle();
        dtls
    }
}

/// Settings of space.
#[derive(Clone)]
pub struct DtlsSpace {
    config: Arc<Config>,
    own: DtlsCertificate,
    trust: Trust,
}

impl DtlsSpace {
    /// Settings of space.
    ///
    /// # Errors
    /// If the library does not have the suite.
    pub fn new(suite: &Suite, credentials: &Credentials, metered: bool) -> Result<Self, SetupError> {
        let trust = if suite.mutual {
            Trust::OfSpace(tls_config::client_verifier(suite, credentials)?)
        } else {
            Trust::Anybody
        };
        Ok(Self { config: config(suite, metered)?, own: shown(&credentials.space), trust })
    }

    /// An end that waits for ground.
    #[must_use]
    pub fn wait(&self, now: Duration) -> Dtls {
        let mut dtls = Dtls::new(&self.config, self.own.clone(), self.trust.clone(), now);
        dtls.advance();
        dtls.settle();
        dtls
    }
}

/// Whose certificate an end takes.
#[derive(Clone)]
enum Trust {
    /// Ground: one with space's name.
    OfGround(Arc<dyn ServerCertVerifier>),
    /// Space, where it asks for one: any of a client's.
    OfSpace(Arc<dyn ClientCertVerifier>),
    /// Space, where it asks for none.
    Anybody,
}

impl Trust {
    /// Checks a certificate by authority, name, purpose and time.
    fn check(&self, certificate: &[u8]) -> Result<(), String> {
        let (certificate, now) = (CertificateDer::from(certificate), UnixTime::now());
        let checked = match self {
            Self::OfGround(verifier) => {
                let name = ServerName::try_from(SPACE_NAME).map_err(|error| error.to_string())?;
                verifier.verify_server_cert(&certificate, &[], &name, &[], now).map(drop)
            }
            Self::OfSpace(verifier) => verifier.verify_client_cert(&certificate, &[], now).map(drop),
            Self::Anybody => Ok(()),
        };
        checked.map_err(|error| error.to_string())
    }
}

/// One end of a link that DTLS protects.
pub struct Dtls {
    protocol: Protocol,
    trust: Trust,
    /// The other end has shown a certificate that is to be trusted, or none is asked for.
    trusted: bool,
    /// The library's time at zero of the link's.
    zero: Instant,
    now: Duration,
    due: Option<Duration>,
    state: State,
    waiting: VecDeque<Vec<u8>>,
    outputs: VecDeque<Output>,
    out: Vec<u8>,
}

impl Dtls {
    fn new(config: &Arc<Config>, own: DtlsCertificate, trust: Trust, now: Duration) -> Self {
        let zero = Instant::now();
        Self {
            protocol: Protocol::new_13(Arc::clone(config), own, zero + now),
            trusted: matches!(trust, Trust::Anybody),
            trust,
            zero,
            now,
            due: None,
            state: State::Handshaking,
            waiting: VecDeque::new(),
            outputs: VecDeque::new(),
            out: vec![0; 2 * MTU_OCTETS],
        }
    }

    /// Tells the library what time it is.
    fn advance(&mut self) {
        if let Err(error) = self.protocol.handle_timeout(self.zero + self.now) {
            self.state = State::Failed(error.to_string());
        }
    }

    fn look_at(&mut self, now: Duration) {
        if now > self.now {
            self.now = now;
            self.advance();
        }
    }

    /// Takes what the library says, and gives it what waits. Of a link that is over nothing more comes out.
    fn settle(&mut self) {
        loop {
            if let Err(reason) = self.listen() {
                self.state = State::Failed(reason);
            }
            if !matches!(self.state, State::Established { .. }) {
                return;
            }
            let Some(message) = self.waiting.pop_front() else { return };
            if let Err(error) = self.protocol.send_application_data(&message) {
                self.state = State::Failed(error.to_string());
                return;
            }
        }
    }

    fn listen(&mut self) -> Result<(), String> {
        while !matches!(self.state, State::Failed(_)) {
            let Self { protocol, out, outputs, .. } = self;
            match protocol.poll_output(out) {
                Said::Packet(datagram) => outputs.push_back(Output::Datagram(datagram.to_vec())),
                Said::BufferTooSmall { needed } => out.resize(needed, 0),
                Said::Timeout(due) => {
                    let due = due.saturating_duration_since(self.zero);
                    self.due = Some(due).filter(|due| due.saturating_sub(self.now) < NEVER);
                    return Ok(());
                }
                Said::PeerCert(certificate) => {
                    self.trust.check(certificate)?;
                    self.trusted = true;
                }
                Said::Connected if !self.trusted => {
                    return Err("the other end showed no certificate".to_owned());
                }
                Said::Connected => self.state = State::Established { early: false },
                Said::ApplicationData(message) => outputs.push_back(Output::Message(message.to_vec())),
                Said::CloseNotify => return Err("the other end closed it".to_owned()),
                // Keys for other protocols, which nobody asks for.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether anybody can bring this about in a session that is up. His datagrams are discarded, and the session goes on
/// (RFC 9147, section 4.5.2).
fn is_a_strangers(error: &Error) -> bool {
    !matches!(
        error,
        Error::Timeout(_) | Error::ConnectionClosed | Error::SecurityError(SecurityError::FatalAlert { .. })
    )
}

impl LinkSecurity for Dtls {
    fn name(&self) -> &'static str {
        "dtls"
    }

    fn apply(&mut self, message: &[u8], now: Duration) -> Result<(), Refusal> {
        self.look_at(now);
        check(&self.state, message)?;
        let most = MTU_OCTETS - RECORD_OCTETS;
        if message.len() > most {
            let record = format!("a DTLS record of at most {most} octets");
            return Err(too_long(message, &record, "TLS or a stream of QUIC"));
        }
        wait(&mut self.waiting, message)?;
        self.settle();
        Ok(())
    }

    fn process(&mut self, datagram: &[u8], now: Duration) -> Result<(), Refusal> {
        self.look_at(now);
        if let State::Failed(reason) = &self.state {
            return Err(over(reason));
        }
        let established = matches!(self.state, State::Established { .. });
        let taken = self.protocol.handle_packet(datagram);
        if let Err(error) = &taken
            && !(established && is_a_strangers(error))
        {
            self.state = State::Failed(error.to_string());
        }
        self.settle();
        match &self.state {
            State::Failed(reason) => Err(Refusal { code: "dtls", reason: reason.clone() }),
            _ => taken.map_err(|error| Refusal { code: "dtls", reason: error.to_string() }),
        }
    }

    fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.due.filter(|_| !matches!(self.state, State::Failed(_)))
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.now = self.now.max(now);
        if !matches!(self.state, State::Failed(_)) {
            self.advance();
            self.settle();
        }
    }
}

impl Link for Dtls {
    fn state(&self) -> State {
        self.state.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Pair;
    use crate::suite::Security;

    /// Space's own check, behind the library's: ground was asked for nothing and has shown nothing.
    #[test]
    fn who_has_shown_no_certificate_is_not_trusted() {
        let mutual = Suite::of(Security::Dtls);
        let server_only = Suite { mutual: false, ..mutual };
        let credentials = Credentials::new(mutual.signature).unwrap();
        for asks in [true, false] {
            let ground = DtlsGround::new(&mutual, &credentials, false).unwrap();
            let mut space = DtlsSpace::new(&mutual, &credentials, false).unwrap();
            if !asks {
                space.config = config(&server_only, false).unwrap();
            }
            let now = Duration::ZERO;
            let mut pair = Pair::new(Box::new(ground.open(now)), Box::new(space.wait(now)));
            pair.settle(&mut ());
            let refused = State::Failed("the other end showed no certificate".to_owned());
            assert_eq!(pair.space.state(), if asks { State::Established { early: false } } else { refused });
        }
    }
}
