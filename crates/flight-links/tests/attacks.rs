//! The table of what each security gives: every cell is an attack that was played.

use std::time::Duration;

use flight::dictionary::benchmark;
use flight::message::command;
use flight_links::arrangement::check;
use flight_links::attacks::{Attack, Sessions, succeeds};
use flight_links::credentials::{Credentials, Identity};
use flight_links::dtls::{DtlsGround, DtlsSpace};
use flight_links::exchange::Pair;
use flight_links::link::{Link, State};
use flight_links::quic::{Delivery, QuicGround, QuicOptions, QuicSpace};
use flight_links::s2n::{S2nGround, S2nSpace};
use flight_links::suite::{Provider, Resumption, Security, Suite};
use flight_links::tls::{TlsGround, TlsSpace};
use rustls::pki_types::CertificateDer;

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

/// Space of a security, and a stranger who knows its authority and has no certificate to show, not even a wrong one.
fn with_a_stranger(security: Security, suite: &Suite) -> Pair {
    let genuine = Credentials::new(suite.signature).expect("the system has randomness");
    let mut stranger = Credentials { ground: None, ..genuine.clone() };
    let delivery = match security {
        Security::QuicStream | Security::S2nStream => Delivery::Stream,
        _ => Delivery::Datagram,
    };
    let (options, now) = (QuicOptions::new(delivery), Duration::ZERO);
    let (ground, space): (Box<dyn Link>, Box<dyn Link>) = match security {
        Security::QuicStream | Security::QuicDatagram => {
            let ground = QuicGround::new(suite, &stranger, options, false).expect("settings of QUIC");
            let space = QuicSpace::new(suite, &genuine, options, false).expect("settings of QUIC");
            (Box::new(ground.open(now).expect("a connection")), Box::new(space.wait(now)))
        }
        Security::S2nStream | Security::S2nDatagram => {
            let ground = S2nGround::new(suite, &stranger, options, false).expect("settings of QUIC");
            let space = S2nSpace::new(suite, &genuine, options, false).expect("settings of QUIC");
            (Box::new(ground.open(now).expect("a connection")), Box::new(space.wait(now).expect("an end")))
        }
        Security::Tls => {
            let ground = TlsGround::new(suite, &stranger, false).expect("settings of TLS");
            let space = TlsSpace::new(suite, &genuine, false).expect("settings of TLS");
            (Box::new(ground.open().expect("a session")), Box::new(space.wait().expect("an end")))
        }
        Security::Dtls => {
            // Its library shows an empty list of certificates where the certificate has no octets.
            let key = genuine.space.key.clone_key();
            stranger.ground = Some(Identity { certificate: CertificateDer::from(vec![]), key });
            let ground = DtlsGround::new(suite, &stranger, false).expect("settings of DTLS");
            let space = DtlsSpace::new(suite, &genuine, false).expect("settings of DTLS");
            (Box::new(ground.open(now)), Box::new(space.wait(now)))
        }
        _ => unreachable!("{security} has no certificates"),
    };
    Pair::new(ground, space)
}

/// Who shows no certificate at all is refused where both ends need one, and is whoever comes where only space does.
#[test]
fn without_any_certificate_nobody_commands_space_that_asks_for_one() {
    let order = command(benchmark::COMMAND, 7, benchmark::TAKE_DATA, b"FIRE").expect("short");
    let securities = Security::ALL.iter().copied().filter(|security| security.has_suite());
    for security in securities {
        for mutual in [true, false] {
            let mut pair = with_a_stranger(security, &Suite { mutual, ..Suite::of(security) });
            // A link that is refused at once refuses the message too.
            let _ = pair.ground.apply(&order, pair.now);
            let came = pair.pass(Duration::from_secs(3), &mut ()).at_space;
            let expected = if mutual { vec![] } else { vec![order.clone()] };
            assert_eq!(came, expected, "{security}, mutual {mutual}");
            let open = matches!(pair.space.state(), State::Established { .. });
            assert_eq!(open, !mutual, "{security}: {:?}", pair.space.state());
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
