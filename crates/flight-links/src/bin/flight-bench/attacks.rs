//! The table of what each security gives: a row an attack, played when it is printed.

use flight_links::arrangement::check;
use flight_links::attacks::{Attack, Sessions, succeeds};
use flight_links::suite::{Resumption, Security, Suite};

use super::rows::{Outcome, Rows};

/// Plays all attacks on the securities that were named, or on all: those with a suite as a pair of mutual and server-only,
/// and with 0-RTT; what is sent again of 0-RTT also where space keeps sessions.
pub fn run(named: &[Security]) -> Outcome {
    let mut rows = Rows::new("attack,security,mutual,resumption,outcome")?;
    for &attack in Attack::ALL {
        for &security in Security::ALL.iter().filter(|it| named.is_empty() || named.contains(it)) {
            for (suite, sessions) in terms(attack, security) {
                let played = succeeds(attack, security, &suite, sessions);
                let outcome = match played.map_err(|error| format!("{attack}, {security}: {error}"))? {
                    Some(true) => "succeeds",
                    Some(false) => "fails",
                    None => continue,
                };
                let Suite { mutual, resumption, .. } = suite;
                let kept = if sessions == Sessions::Kept { "-kept" } else { "" };
                rows.write(&format!("{attack},{security},{mutual},{resumption}{kept},{outcome}"))?;
            }
        }
    }
    rows.finish()
}

/// The suites that an attack is played on, and what space does with sessions.
fn terms(attack: Attack, security: Security) -> Vec<(Suite, Sessions)> {
    let mutual = Suite::of(security);
    if !security.has_suite() {
        return vec![(mutual, Sessions::Once)];
    }
    let early = Suite { resumption: Resumption::EarlyData, ..mutual };
    let mut all: Vec<_> =
        [mutual, Suite { mutual: false, ..mutual }, early].map(|suite| (suite, Sessions::Once)).into();
    if attack == Attack::ReplayEarly {
        all.push((early, Sessions::Kept));
    }
    all.retain(|(suite, _)| check(security, suite).is_ok());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_kept_where_early_messages_are_sent_again() {
        let kept = |attack, security| {
            let of = terms(attack, security).into_iter().filter(|(_, sessions)| *sessions == Sessions::Kept);
            of.map(|(suite, _)| suite.resumption).collect::<Vec<_>>()
        };
        for security in [Security::QuicStream, Security::QuicDatagram, Security::Tls] {
            assert_eq!(kept(Attack::ReplayEarly, security), [Resumption::EarlyData], "{security}");
            assert_eq!(kept(Attack::Replay, security), [], "{security}");
            assert_eq!(terms(Attack::Replay, security).len(), 3, "{security}");
        }
        for security in [Security::Dtls, Security::S2nStream, Security::S2nDatagram] {
            assert_eq!(kept(Attack::ReplayEarly, security), [], "{security}");
            let both: Vec<_> = terms(Attack::Replay, security).iter().map(|(it, _)| it.mutual).collect();
            assert_eq!(both, [true, false], "{security}: it takes up no sessions");
        }
        assert_eq!(kept(Attack::ReplayEarly, Security::SdlsGcm), []);
    }
}
