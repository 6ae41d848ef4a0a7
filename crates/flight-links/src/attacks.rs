//! Attacks on a command link, each played for real against a security: what it gives is whether they fail.
//!
//! The attacker has the link in his hands: he records, changes, repeats and makes datagrams. What else he has, each
//! attack says.

use std::sync::Arc;
use std::time::Duration;

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::{Algorithm, End, Keys, Plain, Sdls, SdlsConfig};
use restp_proto::protected::{Keys as RestpKeys, Peers, PrivateKey};
use rustls::server::{ServerSessionMemoryCache, StoresServerSessions};

use crate::arrangement::{delivery, random};
use crate::credentials::Credentials;
use crate::dtls::{DtlsGround, DtlsSpace};
use crate::exchange::Pair;
use crate::link::{Link, State};
use crate::quic::{QuicGround, QuicOptions, QuicSpace};
use crate::restp::Restp;
use crate::s2n::{S2nGround, S2nSpace};
use crate::suite::{Resumption, Security, Suite, axis};
use crate::tls::{TlsGround, TlsSpace};
use crate::tls_config::{self, SetupError};

axis! {
    /// What the attacker tries.
    Attack, "attack":
    /// He commands space without any key of the link.
    CommandAsStranger = "command as a stranger",
    /// He answers ground in space's place without any key of the link.
    AnswerAsStranger = "answer as a stranger",
    /// He reads a recorded command.
    Read = "read",
    /// He changes an octet of a command under way, and puts right what stands over it without a key.
    Change = "change",
    /// He sends a recorded command to space again.
    Replay = "replay",
    /// He sends the whole recording to space again after it has restarted and forgotten what it took.
    ReplayAfterRestart = "replay after a restart",
    /// He records today, gets all long-term keys of both ends later, and reads the recording.
    ReadWithLeakedKeys = "read with keys leaked later",
    /// He has ground's long-term keys, and answers ground in space's place.
    AnswerWithGroundsKeys = "answer with ground's keys",
    /// He sends a recorded first flight with early messages (0-RTT) to space again.
    ReplayEarly = "replay 0-RTT",
}

axis! {
    /// What space does with a session that was taken up.
    Sessions, "handling of sessions":
    /// It forgets it: whoever comes with the same ticket again opens a new session.
    Once = "once",
    /// It keeps it for whoever comes again, as servers do that do not tell each other, or whose guard against replay is off.
    Kept = "kept",
}

/// The long-term secrets of both ends, for any security.
#[derive(Clone)]
struct Secrets {
    sdls: Keys,
    credentials: Credentials,
    restp_ground: PrivateKey,
    restp_space: PrivateKey,
}

impl Secrets {
    fn new(suite: &Suite) -> Result<Self, SetupError> {
        let key = || PrivateKey::from_random(random()?).map_err(|error| SetupError::Restp(error.to_string()));
        Ok(Self {
            sdls: Keys { up: random()?, down: random()? },
            credentials: Credentials::new(suite.signature)?,
            restp_ground: key()?,
            restp_space: key()?,
        })
    }
}

/// A site: what an end keeps from one link to the next, beside its secrets.
enum Site {
    Quic(Box<(QuicGround, QuicSpace)>),
    S2n(Box<(S2nGround, S2nSpace)>),
    Tls(TlsGround, TlsSpace),
    Dtls(Box<(DtlsGround, DtlsSpace)>),
    Other,
}

/// One side's means to open links.
struct Party {
    security: Security,
    secrets: Secrets,
    site: Site,
    /// The public key of the other end that ResTP's ends ask for.
    restp_known: (PrivateKey, PrivateKey),
}

impl Party {
    fn new(
        security: Security,
        suite: &Suite,
        secrets: &Secrets,
        genuine: &Secrets,
    ) -> Result<Self, SetupError> {
        let credentials = &secrets.credentials;
        let site = match security {
            Security::QuicStream | Security::QuicDatagram => {
                let options = QuicOptions::new(delivery(security));
                let ground = QuicGround::new(suite, credentials, options, false)?;
                Site::Quic(Box::new((ground, QuicSpace::new(suite, credentials, options, false)?)))
            }
            Security::S2nStream | Security::S2nDatagram => {
                let options = QuicOptions::new(delivery(security));
                let ground = S2nGround::new(suite, credentials, options, false)?;
                Site::S2n(Box::new((ground, S2nSpace::new(suite, credentials, options, false)?)))
            }
            Security::Tls => Site::Tls(
                TlsGround::new(suite, credentials, false)?,
                TlsSpace::new(suite, credentials, false)?,
            ),
            Security::Dtls => Site::Dtls(Box::new((
                DtlsGround::new(suite, credentials, false)?,
                DtlsSpace::new(suite, credentials, false)?,
            ))),
            _ => Site::Other,
        };
        let restp_known = (genuine.restp_ground.clone(), genuine.restp_space.clone());
        Ok(Self { security, secrets: secrets.clone(), site, restp_known })
    }

    /// Has space forget no session; a security without sessions has none to keep.
    fn keep_sessions(&mut self, suite: &Suite) -> Result<(), SetupError> {
        if !matches!(self.site, Site::Quic(_) | Site::Tls(..)) {
            return Ok(());
        }
        let mut config = tls_config::space(suite, &self.secrets.credentials, false)?;
        config.session_storage = Arc::new(NeverForgotten(ServerSessionMemoryCache::new(8)));
        match &mut self.site {
            Site::Quic(ends) => {
                let options = QuicOptions::new(delivery(self.security));
                ends.1 = QuicSpace::with_tls(config, suite.provider, options)?;
            }
            Site::Tls(_, space) => *space = TlsSpace::with_tls(config),
            Site::S2n(_) | Site::Dtls(_) | Site::Other => {}
        }
        Ok(())
    }

    fn sdls(&self, end: End) -> Result<Box<dyn Link>, SetupError> {
        let algorithm = match self.security {
            Security::SdlsCmac => Algorithm::Cmac,
            _ => Algorithm::Gcm,
        };
        Ok(Box::new(Sdls::new(end, &SdlsConfig::new(algorithm, self.secrets.sdls.clone()))?))
    }

    fn ground(&self) -> Result<Box<dyn Link>, SetupError> {
        Ok(match (&self.site, self.security) {
            (Site::Quic(ends), _) => Box::new(ends.0.open(Duration::ZERO)?),
            (Site::S2n(ends), _) => Box::new(ends.0.open(Duration::ZERO)?),
            (Site::Tls(ground, _), _) => Box::new(ground.open()?),
            (Site::Dtls(ends), _) => Box::new(ends.0.open(Duration::ZERO)),
            (Site::Other, Security::None) => Box::new(Plain::default()),
            (Site::Other, Security::Restp) => {
                let keys =
                    RestpKeys::ik_client(self.secrets.restp_ground.clone(), self.restp_known.1.public());
                Box::new(Restp::ground(keys, random()?, Duration::ZERO)?)
            }
            (Site::Other, _) => self.sdls(End::Ground)?,
        })
    }

    fn space(&self) -> Result<Box<dyn Link>, SetupError> {
        Ok(match (&self.site, self.security) {
            (Site::Quic(ends), _) => Box::new(ends.1.wait(Duration::ZERO)),
            (Site::S2n(ends), _) => Box::new(ends.1.wait(Duration::ZERO)?),
            (Site::Tls(_, space), _) => Box::new(space.wait()?),
            (Site::Dtls(ends), _) => Box::new(ends.1.wait(Duration::ZERO)),
            (Site::Other, Security::None) => Box::new(Plain::default()),
            (Site::Other, Security::Restp) => {
                let peers = Peers::only([self.restp_known.0.public()]);
                let keys = RestpKeys::ik_server(self.secrets.restp_space.clone(), peers);
                Box::new(Restp::space(keys, random()?)?)
            }
            (Site::Other, _) => self.sdls(End::Space)?,
        })
    }
}

/// The command that matters. Its payload is long enough not to stand anywhere by chance.
fn secret_command() -> Vec<u8> {
    command(benchmark::COMMAND, 7, benchmark::TAKE_DATA, b"FIRE THE THRUSTERS FOR 40 SECONDS").expect("short")
}

/// Long enough for all repetitions of a handshake that may succeed.
const PATIENCE: Duration = Duration::from_secs(3);

/// What a receiver takes of datagrams, one after the other.
fn taken(receiver: Box<dyn Link>, datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut pair = Pair::new(Box::new(Plain::default()), receiver);
    let mut came = Vec::new();
    for datagram in datagrams {
        // A refusal is what the attacker gets; what counts is whether a message comes out.
        let _ = pair.space.process(datagram, pair.now);
        while let Some(output) = pair.space.poll() {
            if let flight::security::Output::Message(message) = output {
                came.push(message);
            }
        }
    }
    came
}

/// Whether an attack succeeds; none if there is nothing to attack so.
///
/// # Errors
/// If the ends cannot be made, or the link does not work without an attacker.
pub fn succeeds(
    attack: Attack,
    security: Security,
    suite: &Suite,
    sessions: Sessions,
) -> Result<Option<bool>, SetupError> {
    let genuine = Secrets::new(suite)?;
    let mut party = Party::new(security, suite, &genuine, &genuine)?;
    if sessions == Sessions::Kept {
        party.keep_sessions(suite)?;
    }
    let secret = secret_command();
    let mut stranger = Secrets::new(suite)?;
    // He believes whatever the other end shows.
    stranger.credentials.authority = genuine.credentials.authority.clone();
    if suite.resumption != Resumption::None {
        // The session that is taken up.
        opened(&party)?;
    }
    match attack {
        Attack::CommandAsStranger => {
            let attacker = Party::new(security, suite, &stranger, &genuine)?;
            let mut pair = Pair::new(attacker.ground()?, party.space()?);
            // A link that is refused at once refuses the message too.
            let _ = pair.ground.apply(&secret, pair.now);
            Ok(Some(pair.pass(PATIENCE, &mut ()).at_space.contains(&secret)))
        }
        Attack::AnswerAsStranger => {
            let attacker = Party::new(security, suite, &stranger, &genuine)?;
            answers(&party, &attacker, &secret)
        }
        Attack::AnswerWithGroundsKeys => {
            let mut leaked = Secrets::new(suite)?;
            leaked.sdls = genuine.sdls.clone();
            leaked.restp_space = genuine.restp_ground.clone();
            leaked.credentials = genuine.credentials.clone();
            if let Some(ground) = &genuine.credentials.ground {
                leaked.credentials.space = ground.clone();
            }
            let attacker = Party::new(security, suite, &leaked, &genuine)?;
            answers(&party, &attacker, &secret)
        }
        Attack::Read => {
            let all = recorded(&party, &secret)?;
            let payload = &secret[8..];
            Ok(Some(all.iter().any(|datagram| datagram.windows(payload.len()).any(|part| part == payload))))
        }
        Attack::Change => {
            let mut pair = opened(&party)?;
            let datagrams = sent(&mut pair, &secret)?;
            let mut came = Vec::new();
            for mut datagram in datagrams {
                let place = datagram.len() * 3 / 4;
                datagram[place] ^= 1;
                put_right(security, &mut datagram);
                let _ = pair.space.process(&datagram, pair.now);
            }
            while let Some(output) = pair.space.poll() {
                if let flight::security::Output::Message(message) = output {
                    came.push(message);
                }
            }
            Ok(Some(!came.is_empty()))
        }
        Attack::Replay => {
            let mut pair = opened(&party)?;
            let datagrams = sent(&mut pair, &secret)?;
            let mut count = 0;
            for datagram in datagrams.iter().chain(&datagrams) {
                let _ = pair.space.process(datagram, pair.now);
                count += pair.settle(&mut ()).at_space.len();
            }
            Ok(Some(count > 1))
        }
        Attack::ReplayAfterRestart => {
            let all = recorded(&party, &secret)?;
            let came = taken(Party::new(security, suite, &genuine, &genuine)?.space()?, &all);
            Ok(Some(came.contains(&secret)))
        }
        Attack::ReadWithLeakedKeys => {
            let all = recorded(&party, &secret)?;
            let payload = &secret[8..];
            let plain =
                all.iter().any(|datagram| datagram.windows(payload.len()).any(|part| part == payload));
            // With all keys he is as good as a copy of space: it plays the recording and makes nothing but its own part
            // of a handshake anew, whose secrets were thrown away.
            let came = taken(Party::new(security, suite, &genuine, &genuine)?.space()?, &all);
            Ok(Some(plain || came.contains(&secret)))
        }
        Attack::ReplayEarly => {
            if !security.has_suite() || suite.resumption != Resumption::EarlyData {
                return Ok(None);
            }
            Ok(Some(early_twice(&party, &secret)?))
        }
    }
}

/// Sessions that may be taken up as often as somebody comes.
#[derive(Debug)]
struct NeverForgotten(Arc<ServerSessionMemoryCache>);

impl StoresServerSessions for NeverForgotten {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.0.put(key, value)
    }

    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    fn can_cache(&self) -> bool {
        self.0.can_cache()
    }
}

/// The error control field of a frame (FECF), which anybody can compute: what is left to refuse a change is the key.
fn put_right(security: Security, datagram: &mut [u8]) {
    if let Security::SdlsGcm | Security::SdlsGcmAwsLc | Security::SdlsCmac = security
        && let Some((frame, check)) = datagram.split_last_chunk_mut()
    {
        *check = sdls::check::fecf(frame).to_be_bytes();
    }
}

/// Whether space takes an early message a second time, from a copy of the first flight that brought it.
fn early_twice(party: &Party, message: &[u8]) -> Result<bool, SetupError> {
    let mut pair = Pair::new(party.ground()?, party.space()?);
    pair.ground.apply(message, pair.now).map_err(|refusal| SetupError::Quic(refusal.reason))?;
    let traffic = pair.settle(&mut ());
    let came = |messages: &[Vec<u8>]| messages.iter().any(|came| came == message);
    if pair.ground.state() != (State::Established { early: true }) || !came(&traffic.at_space) {
        return Err(SetupError::Quic("no early message came without an attacker".to_owned()));
    }
    Ok(came(&taken(party.space()?, &traffic.flights[0].datagrams)))
}

/// A link between both ends of a party, without an attacker.
fn opened(party: &Party) -> Result<Pair, SetupError> {
    let mut pair = Pair::new(party.ground()?, party.space()?);
    pair.settle(&mut ());
    match pair.ground.state() {
        State::Established { .. } => Ok(pair),
        other => Err(SetupError::Quic(format!("the link does not work without an attacker: {other:?}"))),
    }
}

/// The datagrams of a message, which have not been delivered.
fn sent(pair: &mut Pair, message: &[u8]) -> Result<Vec<Vec<u8>>, SetupError> {
    pair.ground.apply(message, pair.now).map_err(|refusal| SetupError::Quic(refusal.reason))?;
    Ok(std::iter::from_fn(|| pair.ground.poll())
        .filter_map(|output| match output {
            flight::security::Output::Datagram(datagram) => Some(datagram),
            flight::security::Output::Message(_) => None,
        })
        .collect())
}

/// All datagrams that ground sent for a message, with those of the handshake. In a session that was taken up with 0-RTT it
/// is among the first.
fn recorded(party: &Party, message: &[u8]) -> Result<Vec<Vec<u8>>, SetupError> {
    let mut pair = Pair::new(party.ground()?, party.space()?);
    pair.ground.apply(message, pair.now).map_err(|refusal| SetupError::Quic(refusal.reason))?;
    let traffic = pair.settle(&mut ());
    if !traffic.at_space.iter().any(|came| came == message) {
        return Err(SetupError::Quic("the message does not come without an attacker".to_owned()));
    }
    Ok(traffic.datagrams(End::Ground).cloned().collect())
}

/// Whether ground takes a message of the attacker as space's.
fn answers(party: &Party, attacker: &Party, message: &[u8]) -> Result<Option<bool>, SetupError> {
    let mut pair = Pair::new(party.ground()?, attacker.space()?);
    let mut came = pair.settle(&mut ()).at_ground;
    let _ = pair.space.apply(message, pair.now);
    came.extend(pair.pass(PATIENCE, &mut ()).at_ground);
    Ok(Some(came.iter().any(|came| came == message)))
}
