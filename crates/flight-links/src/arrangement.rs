//! A security by its name: both ends of a link, made to fit each other.

use std::time::Duration;

use flight::security::{Algorithm, End, Keys, Plain, Sdls, SdlsConfig};
use restp_proto::protected::{Aead, Keys as RestpKeys, Peers, PrivateKey};
use sdls::crypto::{AwsLc, Engine, RustCrypto};

use crate::credentials::Credentials;
use crate::dtls::{DtlsGround, DtlsSpace};
use crate::exchange::{Pair, Watch};
use crate::metered_sdls::Metered;
use crate::quic::{Delivery, QuicGround, QuicOptions, QuicSpace};
use crate::restp::Restp;
use crate::s2n::{S2nGround, S2nSpace};
use crate::suite::{Cipher, Group, Provider, Resumption, Security, Signature, Suite, Unsupported};
use crate::tls::{TlsGround, TlsSpace};
use crate::tls_config::SetupError;

/// What makes links of one kind. Links of one arrangement share certificates and tickets.
pub struct Arrangement {
    security: Security,
    suite: Suite,
    metered: bool,
    made: Made,
}

enum Made {
    Keys,
    Quic(Box<(QuicGround, QuicSpace)>),
    S2n(Box<(S2nGround, S2nSpace)>),
    Tls(TlsGround, TlsSpace),
    Dtls(Box<(DtlsGround, DtlsSpace)>),
}

/// Octets that nobody can guess.
///
/// # Errors
/// If the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], SetupError> {
    let mut octets = [0; N];
    // By the system and no library: what a library takes to begin with counts for those that need it.
    getrandom::fill(&mut octets).map_err(SetupError::Randomness)?;
    Ok(octets)
}

/// Whether the libraries have this suite for a security.
///
/// # Errors
/// What is missing, and who has it.
pub fn check(security: Security, suite: &Suite) -> Result<(), Unsupported> {
    let fixed = Suite { cipher: suite.cipher, ..Suite::default() } == *suite;
    match security {
        Security::QuicStream | Security::QuicDatagram | Security::Tls => suite.check(),
        Security::S2nStream | Security::S2nDatagram if suite.resumption != Resumption::None => {
            Err(Unsupported::S2nTicket)
        }
        Security::S2nStream | Security::S2nDatagram => suite.check(),
        Security::Restp if fixed && suite.cipher != Cipher::Aes128Gcm => Ok(()),
        Security::Restp => Err(Unsupported::RestpSuite),
        Security::Dtls => match (suite.provider, suite.group, suite.signature, suite.resumption) {
            (
                Provider::AwsLc,
                Group::X25519 | Group::P256 | Group::P384,
                Signature::EcdsaP256,
                Resumption::None,
            ) => Ok(()),
            _ => Err(Unsupported::DtlsSuite),
        },
        _ if *suite == Suite::default() => Ok(()),
        _ => Err(Unsupported::NoSuite { security }),
    }
}

/// How the messages of a QUIC travel.
pub(crate) fn delivery(security: Security) -> Delivery {
    match security {
        Security::QuicStream | Security::S2nStream => Delivery::Stream,
        _ => Delivery::Datagram,
    }
}

impl Arrangement {
    /// What both ends need, with new certificates. With `metered` the time in ciphers is counted ([`crate::meter`]),
    /// other than ResTP's, which has no place for it.
    ///
    /// # Errors
    /// If a library does not have the suite, or something could not be made.
    pub fn new(security: Security, suite: Suite, metered: bool) -> Result<Self, SetupError> {
        check(security, &suite)?;
        if security.has_suite() {
            return Self::with(security, suite, &Credentials::new(suite.signature)?, metered);
        }
        Ok(Self { security, suite, metered, made: Made::Keys })
    }

    /// As [`new`](Self::new), but with certificates that were made before, whose keys are those of the suite.
    ///
    /// # Errors
    /// As there.
    pub fn with(
        security: Security,
        suite: Suite,
        credentials: &Credentials,
        metered: bool,
    ) -> Result<Self, SetupError> {
        check(security, &suite)?;
        let made = match security {
            Security::QuicStream | Security::QuicDatagram => {
                let options = QuicOptions::new(delivery(security));
                let ground = QuicGround::new(&suite, credentials, options, metered)?;
                Made::Quic(Box::new((ground, QuicSpace::new(&suite, credentials, options, metered)?)))
            }
            Security::S2nStream | Security::S2nDatagram => {
                let options = QuicOptions::new(delivery(security));
                let ground = S2nGround::new(&suite, credentials, options, metered)?;
                Made::S2n(Box::new((ground, S2nSpace::new(&suite, credentials, options, metered)?)))
            }
            Security::Tls => {
                let ground = TlsGround::new(&suite, credentials, metered)?;
                Made::Tls(ground, TlsSpace::new(&suite, credentials, metered)?)
            }
            Security::Dtls => {
                let ground = DtlsGround::new(&suite, credentials, metered)?;
                Made::Dtls(Box::new((ground, DtlsSpace::new(&suite, credentials, metered)?)))
            }
            _ => Made::Keys,
        };
        Ok(Self { security, suite, metered, made })
    }

    /// The security.
    #[must_use]
    pub fn security(&self) -> Security {
        self.security
    }

    /// Its suite.
    #[must_use]
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// Both ends of a new link. What has no certificates gets new keys. `watch` sees when an end with a handshake works.
    ///
    /// # Errors
    /// If a library refuses something.
    pub fn open(&self, watch: &mut dyn Watch) -> Result<Pair, SetupError> {
        Ok(match &self.made {
            Made::Quic(ends) => {
                let ground = watched(watch, End::Ground, || ends.0.open(Duration::ZERO))?;
                let space = watched(watch, End::Space, || ends.1.wait(Duration::ZERO));
                Pair::new(Box::new(ground), Box::new(space))
            }
            Made::S2n(ends) => {
                let ground = watched(watch, End::Ground, || ends.0.open(Duration::ZERO))?;
                let space = watched(watch, End::Space, || ends.1.wait(Duration::ZERO))?;
                Pair::new(Box::new(ground), Box::new(space))
            }
            Made::Tls(ground, space) => {
                let ground = watched(watch, End::Ground, || ground.open())?;
                let space = watched(watch, End::Space, || space.wait())?;
                Pair::new(Box::new(ground), Box::new(space))
            }
            Made::Dtls(ends) => {
                let ground = watched(watch, End::Ground, || ends.0.open(Duration::ZERO));
                let space = watched(watch, End::Space, || ends.1.wait(Duration::ZERO));
                Pair::new(Box::new(ground), Box::new(space))
            }
            Made::Keys => match self.security {
                Security::SdlsGcm => self.sdls(watch, Algorithm::Gcm, || Box::new(RustCrypto))?,
                Security::SdlsGcmAwsLc => self.sdls(watch, Algorithm::Gcm, || Box::new(AwsLc))?,
                Security::SdlsCmac => self.sdls(watch, Algorithm::Cmac, || Box::new(RustCrypto))?,
                Security::Restp => self.restp(watch)?,
                _ => Pair::new(Box::new(Plain::default()), Box::new(Plain::default())),
            },
        })
    }

    fn sdls(
        &self,
        watch: &mut dyn Watch,
        algorithm: Algorithm,
        engine: fn() -> Box<dyn Engine>,
    ) -> Result<Pair, SetupError> {
        let config = SdlsConfig::new(algorithm, Keys { up: random()?, down: random()? });
        let engine = || if self.metered { Box::new(Metered(engine())) } else { engine() };
        let [ground, space] = [End::Ground, End::Space]
            .map(|end| watched(watch, end, || Sdls::with_engine(end, &config, engine())));
        Ok(Pair::new(Box::new(ground?), Box::new(space?)))
    }

    /// Each end knows the other's public key (pattern IK).
    fn restp(&self, watch: &mut dyn Watch) -> Result<Pair, SetupError> {
        let key = || PrivateKey::from_random(random()?).map_err(|error| SetupError::Restp(error.to_string()));
        let (ground, space): (PrivateKey, PrivateKey) = (key()?, key()?);
        let aead =
            if self.suite.cipher == Cipher::ChaCha20Poly1305 { Aead::ChaChaPoly } else { Aead::AesGcm };
        let (known_ground, known_space) = (ground.public(), space.public());
        let ground = RestpKeys::ik_client(ground, known_space).with_aead(aead);
        let space = RestpKeys::ik_server(space, Peers::only([known_ground])).with_aead(aead);
        let (seed, other_seed) = (random()?, random()?);
        let ground = watched(watch, End::Ground, || Restp::ground(ground, seed, Duration::ZERO))?;
        let space = watched(watch, End::Space, || Restp::space(space, other_seed))?;
        Ok(Pair::new(Box::new(ground), Box::new(space)))
    }
}

fn watched<T>(watch: &mut dyn Watch, end: End, make: impl FnOnce() -> T) -> T {
    watch.begins(end);
    let made = make();
    watch.ends(end);
    made
}
