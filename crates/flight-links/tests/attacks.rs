//! The table of what each security gives: every cell is an attack that was played.

use flight_links::arrangement::check;
use flight_links::attacks::{Attack, Sessions, succeeds};
use flight_links::suite::{Provider, Resumption, Security, Suite};

/// Whether each attack succeeds: in the clear, under SDLS (AES-256-GCM, AES-256-CMAC), and where both ends prove who
/// they are by certificates or key pairs.
const EXPECTED: [(Attack, [bool; 4]); 8] = [
    (Attack::CommandAsStranger, [true, false, false, false]),
    (Attack::AnswerAsStranger, [true, false, false, false]),
    (Attack::Read, [true, false, true, false]),
    (Attack::Change, [true, false, false, false]),
    (Attack::Replay, [true, false, false, false]),
    (Attack::ReplayAfterRestart, [true, true, true, false]),
    (Attack::ReadWithLeakedKeys, [true, true, true, false]),
    (Attack::AnswerWithGroundsKeys, [true, true, true, false]),
];

fn played(attack: Attack, security: Security, suite: &Suite) -> Option<bool> {
    succeeds(attack, security, suite, Sessions::Once)
        .unwrap_or_else(|error| panic!("{attack}, {security}: {error}"))
}

#[test]
fn attacks_succeed_and_fail_as_the_table_says() {
    for (attack, [clear, gcm, cmac, proven]) in EXPECTED {
        for (security, expected) in [
            (Security::None, clear),
            (Security::SdlsGcm, gcm),
            (Security::SdlsGcmAwsLc, gcm),
            (Security::SdlsCmac, cmac),
            (Security::QuicStream, proven),
            (Security::QuicDatagram, proven),
            (Security::Tls, proven),
            (Security::Restp, proven),
            (Security::Dtls, proven),
            (Security::S2nStream, proven),
            (Security::S2nDatagram, proven),
        ] {
            assert_eq!(
                played(attack, security, &Suite::of(security)),
                Some(expected),
                "{attack}, {security}"
            );
        }
    }
}

/// As the study had it: no certificate of the client was asked for, so whoever came could command.
#[test]
fn without_a_certificate_of_ground_whoever_comes_commands_space() {
    let securities = Security::ALL.iter().copied().filter(|security| security.has_suite());
    for security in securities {
        let suite = Suite { mutual: false, ..Suite::of(security) };
        for (attack, expected) in [
            (Attack::CommandAsStranger, true),
            (Attack::AnswerAsStranger, false),
            (Attack::Read, false),
            (Attack::ReadWithLeakedKeys, false),
        ] {
            assert_eq!(played(attack, security, &suite), Some(expected), "{attack}, {security}");
        }
    }
}

/// A session that is taken up gives what a new one gives, to messages of its first flight too.
#[test]
fn sessions_that_are_taken_up_give_what_new_ones_give() {
    for resumption in [Resumption::Ticket, Resumption::EarlyData] {
        let suite = Suite { resumption, ..Suite::default() };
        let resumes = Security::ALL
            .iter()
            .copied()
            .filter(|&security| security.has_suite() && check(security, &suite).is_ok());
        for (attack, [.., proven]) in EXPECTED {
            for security in resumes.clone() {
                assert_eq!(played(attack, security, &suite), Some(proven), "{attack}, {security}, {suite}");
            }
        }
    }
}

/// Space takes each session up once: a first flight that comes again finds none.
#[test]
fn an_early_message_is_not_taken_twice() {
    for &provider in Provider::compiled_in() {
        let suite = Suite { provider, resumption: Resumption::EarlyData, ..Suite::default() };
        for security in [Security::QuicStream, Security::QuicDatagram, Security::Tls] {
            assert_eq!(played(Attack::ReplayEarly, security, &suite), Some(false), "{security}, {provider}");
        }
    }
    assert_eq!(played(Attack::ReplayEarly, Security::SdlsGcm, &Suite::default()), None);
}

/// That the attack fails where sessions are forgotten says something, for here it succeeds, and it alone.
#[test]
fn where_space_keeps_sessions_an_early_message_is_taken_twice() {
    let suite = Suite { resumption: Resumption::EarlyData, ..Suite::default() };
    for security in [Security::QuicStream, Security::QuicDatagram, Security::Tls] {
        for &attack in Attack::ALL {
            let once = played(attack, security, &suite);
            let kept = succeeds(attack, security, &suite, Sessions::Kept).unwrap();
            let expected = if attack == Attack::ReplayEarly { Some(true) } else { once };
            assert_eq!(kept, expected, "{attack}, {security}");
        }
    }
    let none = succeeds(Attack::ReplayEarly, Security::SdlsGcm, &Suite::default(), Sessions::Kept).unwrap();
    assert_eq!(none, None);
}
