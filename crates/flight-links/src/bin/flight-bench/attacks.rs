//! The table of what each security gives: a row an attack, played when it is printed.

use flight_links::arrangement::check;
use flight_links::attacks::{Attack, succeeds};
use flight_links::suite::{Resumption, Security, Suite};

use super::rows::{Outcome, Rows};

/// Plays all attacks on the securities that were named, or on all: those with a suite as a pair of mutual and server-only,
/// and with 0-RTT.
pub fn run(named: &[Security]) -> Outcome {
    let mut rows = Rows::new("attack,security,mutual,resumption,outcome")?;
    for &attack in Attack::ALL {
        for &security in Security::ALL.iter().filter(|it| named.is_empty() || named.contains(it)) {
            for suite in suites(security) {
                let played = succeeds(attack, security, &suite);
                let outcome = match played.map_err(|error| format!("{attack}, {security}: {error}"))? {
                    Some(true) => "succeeds",
                    Some(false) => "fails",
                    None => continue,
                };
                let Suite { mutual, resumption, .. } = suite;
                rows.write(&format!("{attack},{security},{mutual},{resumption},{outcome}"))?;
            }
        }
    }
    rows.finish()
}

fn suites(security: Security) -> Vec<Suite> {
    let mutual = Suite::of(security);
    if !security.has_suite() {
        return vec![mutual];
    }
    let all =
        [mutual, Suite { mutual: false, ..mutual }, Suite { resumption: Resumption::EarlyData, ..mutual }];
    all.into_iter().filter(|suite| check(security, suite).is_ok()).collect()
}
