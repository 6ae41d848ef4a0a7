//! OpenSSL under TLS: what it has works with another library at the other end, and refuses what that would refuse.

use std::process::Command;
use std::time::Duration;

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::{End, Output};
use flight_links::arrangement::Arrangement;
use flight_links::attacks::{Attack, Sessions, succeeds};
use flight_links::credentials::Credentials;
use flight_links::exchange::Pair;
use flight_links::link::State;
use flight_links::meter;
use flight_links::openssl::version;
use flight_links::single::Single;
use flight_links::suite::{Cipher, Group, Provider, Resumption, Security, Signature, Suite};

/// Those that are secured by rustls.
const SECURITIES: [Security; 5] =
    [Security::QuicStream, Security::QuicDatagram, Security::Tls, Security::S2nStream, Security::S2nDatagram];

const OPENSSL: Suite = Suite {
    provider: Provider::OpenSsl,
    cipher: Cipher::Aes256Gcm,
    group: Group::X25519,
    signature: Signature::Ed25519,
    mutual: true,
    resumption: Resumption::None,
};

fn message(octets: usize) -> Vec<u8> {
    command(benchmark::COMMAND, 1, benchmark::TAKE_DATA, &vec![0x5A; octets]).expect("short enough")
}

fn credentials(signature: Signature) -> Credentials {
    Credentials::new(signature).expect("the system has randomness")
}

/// Both ends, each with its own suite and certificates, after they had the time for a handshake and for its failure.
fn met(security: Security, ground: (&Suite, &Credentials), space: (&Suite, &Credentials)) -> Pair {
    let [ground, space] = [(End::Ground, ground), (End::Space, space)].map(|(end, (suite, credentials))| {
        let single = Single::new(end, security, suite, credentials);
        single.and_then(|single| single.open()).unwrap_or_else(|error| panic!("{security}, {suite}: {error}"))
    });
    let mut pair = Pair::new(ground, space);
    pair.pass(Duration::from_secs(1), &mut ());
    pair
}

/// Each cipher with each group, and each signature.
fn suites() -> Vec<Suite> {
    let of = |&suite: &Suite| suite.provider == Provider::OpenSsl && suite.check().is_ok();
    let tried = |suite: &Suite| Suite { cipher: suite.cipher, group: suite.group, ..OPENSSL } == *suite;
    let signed = |suite: &Suite| Suite { signature: suite.signature, ..OPENSSL } == *suite;
    Suite::all().filter(of).filter(|suite| tried(suite) || signed(suite)).collect()
}

#[test]
fn a_command_and_an_answer_go_through_between_openssl_and_another_library() {
    let suites = suites();
    let groups = Group::ALL.iter().filter(|&&group| Suite { group, ..OPENSSL }.check().is_ok()).count();
    assert_eq!(suites.len(), 3 * groups + 2, "ciphers with groups, and two more signatures");
    for own in suites {
        let other = Suite { provider: Provider::AwsLc, ..own };
        let credentials = credentials(own.signature);
        for security in SECURITIES {
            for (ground, space) in [(own, other), (other, own)] {
                let mut pair = met(security, (&ground, &credentials), (&space, &credentials));
                assert!(matches!(pair.ground.state(), State::Established { .. }), "{security}, {ground}");
                pair.ground.apply(&message(64), pair.now).expect("it fits");
                assert_eq!(pair.settle(&mut ()).at_space, [message(64)], "{security}, {ground}");
                pair.space.apply(&message(1024), pair.now).expect("it fits");
                assert_eq!(pair.settle(&mut ()).at_ground, [message(1024)], "{security}, {ground}");
            }
        }
    }
}

/// Space's certificate is of an authority that ground does not know, or ground's of one that space does not know.
#[test]
fn a_certificate_of_another_authority_is_refused() {
    for signature in Signature::ALL {
        let (own, other) = (credentials(*signature), credentials(*signature));
        let suite = Suite { signature: *signature, ..OPENSSL };
        let stranger = Credentials { ground: other.ground.clone(), ..own.clone() };
        for security in SECURITIES {
            for (ground, space) in [(&own, &other), (&stranger, &own)] {
                let mut pair = met(security, (&suite, ground), (&suite, space));
                assert!(matches!(pair.ground.state(), State::Failed(_)), "{security}, {signature}");
                assert!(pair.ground.apply(&message(64), pair.now).is_err(), "{security}, {signature}");
                assert_eq!(pair.settle(&mut ()).at_space, Vec::<Vec<u8>>::new(), "{security}, {signature}");
            }
        }
    }
}

#[test]
fn no_attack_succeeds_on_it() {
    for security in SECURITIES {
        let played = |attack| succeeds(attack, security, &OPENSSL, Sessions::Once).expect("both ends work");
        let all: Vec<_> = Attack::ALL.iter().copied().filter_map(played).collect();
        assert_eq!(all, [false; 8], "{security}: all but that on early messages, of which there are none");
    }
}

#[test]
fn its_ciphers_are_metered() {
    for &cipher in Cipher::ALL {
        let made =
            Arrangement::new(Security::QuicStream, Suite { cipher, ..OPENSSL }, true).expect("settings");
        let mut pair = made.open(&mut ()).expect("both ends can be made");
        pair.settle(&mut ());
        meter::take();
        pair.ground.apply(&message(64), pair.now).expect("it fits");
        let Some(Output::Datagram(datagram)) = pair.ground.poll() else { panic!("{cipher}: no datagram") };
        assert_eq!(meter::take().calls, 2, "{cipher}: packet and header");
        pair.space.process(&datagram, pair.now).expect("it came as it was sent");
        assert_eq!(meter::take().calls, 2, "{cipher}: packet and header");
    }
}

#[test]
fn the_hybrid_group_is_there_from_version_3_5_on_and_refused_before() {
    let version = version().expect("it is compiled in");
    let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
    let refused = Suite { group: Group::X25519MlKem768, ..OPENSSL }.check().err().map(|it| it.to_string());
    let sentence = "openssl has x25519mlkem768 from version 3.5 on, and the one here is older; aws-lc has it";
    assert_eq!(refused.as_deref(), (numbers.as_slice() < [3, 5].as_slice()).then_some(sentence), "{version}");
}

fn printed(words: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_flight-bench")).args(words).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
}

#[test]
fn the_bench_measures_it_where_it_is_named() {
    let about = printed(&["about"]);
    assert!(about.contains(&format!("openssl,{}", version().expect("it is compiled in"))), "{about:?}");
    assert!(about.iter().any(|line| line.starts_with("rustls-openssl,0.")), "{about:?}");
    let asked = ["messages", "--security", "quic-stream", "--payload", "64", "--gap", "0", "--samples", "2"];
    let rows = |more: &[&str]| printed(&[&asked[..], &["--block", "0"], more].concat())[1..].to_vec();
    let named = rows(&["--provider", "openssl"]);
    assert_eq!(named.len(), 3 * 2 * 2, "ciphers, ends, samples");
    assert!(named.iter().all(|row| row.starts_with("quic-stream,openssl,")), "{named:?}");
    assert!(rows(&[]).iter().all(|row| !row.contains("openssl")));
    let quick = ["handshakes", "--quick", "--security", "quic-stream", "--cipher", "aes-256-gcm"];
    let handshakes = printed(&[&quick[..], &["--provider", "openssl"]].concat())[1..].to_vec();
    assert!(!handshakes.is_empty() && handshakes.iter().all(|row| row.starts_with("quic-stream,openssl,")));
}
