//! What a handshake costs both ends, until neither has anything more to say: tickets and confirmations are part of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use flight::security::End;
use flight_links::arrangement::{Arrangement, check};
use flight_links::credentials::Credentials;
use flight_links::exchange::Watch;
use flight_links::link::State;
use flight_links::suite::{Cipher, Provider, Security, Suite};
use nix::time::{ClockId, clock_gettime};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::arms::USUAL;
use super::rows::{Outcome, Rows};

/// Computing time of both ends, by the thread's clock.
#[derive(Default)]
struct Stopwatch {
    began: i64,
    ground: i64,
    space: i64,
}

/// What this thread has computed.
pub fn thread_ns() -> i64 {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

impl Watch for Stopwatch {
    fn begins(&mut self, _end: End) {
        self.began = thread_ns();
    }

    fn ends(&mut self, end: End) {
        let spent = thread_ns() - self.began;
        match end {
            End::Ground => self.ground += spent,
            End::Space => self.space += spent,
        }
    }
}

/// Columns of what is measured.
pub const KIND: &str = "security,provider,cipher,group,signature,mutual,resumption";
const SPENT: &str = "ground_cpu_ns,space_cpu_ns,ground_octets,space_octets,ground_datagrams,space_datagrams,\
round_trips,early";

/// Blocks, and handshakes of each kind in one.
const FULL: (usize, usize) = (10, 20);
const QUICK: (usize, usize) = (5, 2);

/// Securities with a handshake of their own.
const WITH_HANDSHAKE: [Security; 5] =
    [Security::Restp, Security::QuicStream, Security::Tls, Security::Dtls, Security::S2nStream];

/// What of everything that there is was named.
#[derive(Clone, Copy, Default)]
pub struct Named<'a> {
    /// All, if there is none.
    pub securities: &'a [Security],
    /// The usual ones, if there is none.
    pub providers: &'a [Provider],
    /// All, if there is none.
    pub cipher: Option<Cipher>,
}

/// Every kind that the libraries have of what was named; or, quick: the groups with the usual signature, the signatures with
/// the usual group, and resumption.
fn kinds(quick: bool, named: Named<'_>) -> Vec<(Security, Suite)> {
    let Named { securities, providers, cipher } = named;
    let providers: &[Provider] = if providers.is_empty() { &USUAL } else { providers };
    let near = |plain: Suite, suite: &Suite| {
        let rest = Suite { provider: plain.provider, mutual: plain.mutual, ..*suite };
        let group = Suite { group: plain.group, ..rest } == plain;
        let signature = Suite { signature: plain.signature, ..rest } == plain;
        group || signature || Suite { resumption: plain.resumption, ..rest } == plain
    };
    let mut kinds = Vec::new();
    for security in WITH_HANDSHAKE.into_iter().filter(|it| securities.is_empty() || securities.contains(it)) {
        let usual = Suite::of(security);
        if !security.has_suite() {
            kinds.push((security, usual));
            continue;
        }
        let asked = |suite: &Suite| {
            providers.contains(&suite.provider) && cipher.is_none_or(|cipher| suite.cipher == cipher)
        };
        let all = Suite::all()
            .filter(|suite| check(security, suite).is_ok() && asked(suite) && (!quick || near(usual, suite)));
        kinds.extend(all.map(|suite| (security, suite)));
    }
    kinds
}

/// Measures, and prints a row a handshake.
pub fn run(quick: bool, seed: u64, named: Named<'_>) -> Outcome {
    if let Some(other) = named.securities.iter().find(|it| !WITH_HANDSHAKE.contains(it)) {
        let known = WITH_HANDSHAKE.map(Security::name).join(", ");
        return Err(format!("«{other}» has no handshake of its own; these have: {known}"));
    }
    for &provider in named.providers {
        Suite { provider, ..Suite::default() }.check().map_err(|refusal| refusal.to_string())?;
    }
    let (blocks, each) = if quick { QUICK } else { FULL };
    let mut arrangements = Vec::new();
    // RSA keys take their time to be found: those of a signature are for all its kinds.
    let mut credentials = BTreeMap::new();
    for (security, suite) in kinds(quick, named) {
        let own = match credentials.entry(suite.signature) {
            Entry::Occupied(there) => there.into_mut(),
            Entry::Vacant(place) => {
                place.insert(Credentials::new(suite.signature).map_err(|error| error.to_string())?)
            }
        };
        let made = Arrangement::with(security, suite, own, false);
        arrangements.push(made.map_err(|error| format!("{security}, {suite}: {error}"))?);
    }
    if arrangements.is_empty() {
        return Err("no library has the provider and the cipher that were named for the security".to_owned());
    }
    eprintln!("flight-bench: {} kinds, {} handshakes each", arrangements.len(), blocks * each);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut rows = Rows::new(&format!("{KIND},block,order,{SPENT}"))?;
    let mut order = 0;
    for block in 0..blocks {
        for place in (1..arrangements.len()).rev() {
            arrangements.swap(place, (rng.next_u64() % (place as u64 + 1)) as usize);
        }
        for arrangement in &arrangements {
            // The first warms up, and gives a ticket to whoever can use one.
            handshake(arrangement, &mut Stopwatch::default())?;
            for _ in 0..each {
                let mut watch = Stopwatch::default();
                let measured = handshake(arrangement, &mut watch)?;
                order += 1;
                let columns = columns(arrangement.security(), arrangement.suite());
                rows.write(&format!(
                    "{columns},{block},{order},{},{},{measured}",
                    watch.ground, watch.space
                ))?;
            }
        }
    }
    rows.finish()
}

/// What stands in these columns.
pub fn columns(security: Security, suite: &Suite) -> String {
    let Suite { provider, cipher, group, signature, mutual, resumption } = suite;
    let library = security.crypto_library(*provider);
    // ResTP's ends know each other's keys and sign nothing.
    let signature = if security == Security::Restp { "-" } else { signature.name() };
    format!("{security},{library},{cipher},{group},{signature},{mutual},{resumption}")
}

/// One handshake: the columns of what went over the link.
fn handshake(arrangement: &Arrangement, watch: &mut Stopwatch) -> Result<String, String> {
    let what = || format!("{}, {}", arrangement.security(), arrangement.suite());
    let mut pair = arrangement.open(watch).map_err(|error| format!("{}: {error}", what()))?;
    let traffic = pair.settle(watch);
    let (State::Established { early }, State::Established { .. }) = (pair.ground.state(), pair.space.state())
    else {
        return Err(format!("{}: the handshake did not end: {:?}", what(), pair.ground.state()));
    };
    let ((ground, ground_datagrams), (space, space_datagrams)) =
        (traffic.sent(End::Ground), traffic.sent(End::Space));
    let round_trips = traffic.round_trips();
    Ok(format!("{ground},{space},{ground_datagrams},{space_datagrams},{round_trips},{early}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_that_the_libraries_have_of_what_was_named() {
        let of = |named: Named<'_>| kinds(false, named).len();
        let count = |securities: &[Security]| kinds(false, Named { securities, ..Named::default() }).len();
        // Two providers with three groups and AWS-LC with two more; ciphers, signatures, certificates, resumption.
        assert_eq!(count(&[Security::QuicStream]), 8 * 3 * 3 * 2 * 3);
        // One provider, three groups; ciphers, certificates.
        assert_eq!(count(&[Security::Dtls]), 3 * 3 * 2);
        // As quinn, but without resumption.
        assert_eq!(count(&[Security::S2nStream]), 8 * 3 * 3 * 2);
        assert_eq!(count(&[]), 1 + 2 * 432 + 18 + 144);
        let cipher = Some(Cipher::Aes256Gcm);
        let both = &[Security::QuicStream, Security::S2nStream];
        assert_eq!(of(Named { securities: both, cipher, ..Named::default() }), (432 + 144) / 3);
        let providers = &[Provider::Ring];
        assert_eq!(of(Named { securities: both, providers, cipher }), 3 * (3 * 2 * 3 + 3 * 2));
        let refused = |named| run(true, 1, named).unwrap_err();
        let sdls = Named { securities: &[Security::SdlsGcm], ..Named::default() };
        assert_eq!(refused(sdls).split(';').next(), Some("«sdls-gcm» has no handshake of its own"));
        let dtls = Named { securities: &[Security::Dtls], providers, cipher };
        assert!(refused(dtls).starts_with("no library has the provider"));
    }
}
