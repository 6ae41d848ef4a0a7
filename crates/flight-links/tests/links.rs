//! Every security carries messages both ways, and every combination of the axes that a library has does.

use std::time::Duration;

use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::{End, Output};
use flight_links::arrangement::Arrangement;
use flight_links::credentials::Credentials;
use flight_links::exchange::{Pair, Traffic};
use flight_links::link::State;
use flight_links::meter;
use flight_links::quic::{Delivery, QuicGround, QuicOptions, QuicSpace};
use flight_links::suite::{Cipher, Group, Provider, Resumption, Security, Signature, Suite};
use flight_links::tls::{TlsGround, TlsSpace};
use proptest::prelude::*;

fn message(octets: usize) -> Vec<u8> {
    command(benchmark::COMMAND, 1, benchmark::TAKE_DATA, &vec![0x5A; octets]).expect("short enough")
}

fn opened(arrangement: &Arrangement) -> (Pair, Traffic) {
    let mut pair = arrangement.open(&mut ()).expect("both ends can be made");
    let traffic = pair.settle(&mut ());
    assert!(matches!(pair.ground.state(), State::Established { .. }), "{:?}", pair.ground.state());
    assert!(matches!(pair.space.state(), State::Established { .. }), "{:?}", pair.space.state());
    (pair, traffic)
}

fn arrangement(security: Security, suite: Suite) -> Arrangement {
    Arrangement::new(security, suite, true).unwrap_or_else(|error| panic!("{security}, {suite}: {error}"))
}

/// Securities in which messages wait for the end of a handshake.
const WAIT: [Security; 7] = [
    Security::QuicStream,
    Security::QuicDatagram,
    Security::Tls,
    Security::Restp,
    Security::Dtls,
    Security::S2nStream,
    Security::S2nDatagram,
];

#[test]
fn every_security_carries_messages_both_ways() {
    for &security in Security::ALL {
        let (mut pair, _) = opened(&arrangement(security, Suite::of(security)));
        for octets in [1, 64, 1024] {
            let message = message(octets);
            pair.ground.apply(&message, pair.now).expect("it fits");
            assert_eq!(pair.settle(&mut ()).at_space, std::slice::from_ref(&message), "{security}");
            pair.space.apply(&message, pair.now).expect("it fits");
            assert_eq!(pair.settle(&mut ()).at_ground, [message], "{security}");
            pair.pass(pair.now + Duration::from_millis(50), &mut ());
        }
    }
}

/// What the bench of frames compares (`ONE_FRAME` in `space_frames.py`).
#[test]
fn a_frame_of_sdls_holds_978_octets_of_a_message_and_not_one_more() {
    for security in [Security::SdlsGcm, Security::SdlsGcmAwsLc] {
        let (mut pair, _) = opened(&arrangement(security, Suite::default()));
        for (octets, frames) in [(1, 1), (512, 1), (978, 1), (979, 2), (1024, 2)] {
            pair.ground.apply(&message(octets), pair.now).expect("it fits");
            let traffic = pair.settle(&mut ());
            assert_eq!(traffic.sent(End::Ground).1, frames, "{security}, {octets}");
            assert_eq!(traffic.at_space, [message(octets)], "{security}, {octets}");
        }
    }
}

#[test]
fn messages_wait_for_the_end_of_the_handshake() {
    for security in WAIT {
        let mut pair =
            arrangement(security, Suite::of(security)).open(&mut ()).expect("both ends can be made");
        pair.ground.apply(&message(64), pair.now).expect("it waits");
        assert_eq!(pair.settle(&mut ()).at_space, [message(64)], "{security}");
    }
}

#[test]
fn a_message_longer_than_a_datagram_is_refused_and_a_stream_takes_it() {
    for (security, says) in [
        (Security::QuicDatagram, "a stream takes it"),
        (Security::Dtls, "a stream of QUIC takes it"),
        (Security::S2nDatagram, "a stream takes it"),
    ] {
        let (mut pair, _) = opened(&arrangement(security, Suite::of(security)));
        let refusal = pair.ground.apply(&message(1786), pair.now).unwrap_err();
        assert_eq!(refusal.code, "too-long", "{security}");
        assert!(refusal.reason.contains(says), "{}", refusal.reason);
    }
    for security in [Security::QuicStream, Security::S2nStream] {
        let (mut pair, _) = opened(&arrangement(security, Suite::default()));
        pair.ground.apply(&message(1786), pair.now).expect("it fits");
        assert_eq!(pair.settle(&mut ()).at_space, [message(1786)], "{security}");
    }
}

/// s2n-quic throws away what does not fit beside the rest of a packet. What is taken comes: with the end of the handshake,
/// whose packets hold most else, and beside acknowledgements.
#[test]
fn the_longest_message_that_a_datagram_of_s2n_quic_takes_comes() {
    let made = arrangement(Security::S2nDatagram, Suite::default());
    // Its header has eight octets.
    let longest = message(1200 - 8);
    let mut pair = made.open(&mut ()).expect("both ends can be made");
    pair.ground.apply(&longest, pair.now).expect("it waits");
    pair.space.apply(&longest, pair.now).expect("it waits");
    let traffic = pair.settle(&mut ());
    assert_eq!((traffic.at_space, traffic.at_ground), (vec![longest.clone()], vec![longest.clone()]));
    for _ in 0..40 {
        pair.ground.apply(&longest, pair.now).expect("it fits");
        pair.space.apply(&longest, pair.now).expect("it fits");
        let traffic = pair.pass(pair.now + Duration::from_millis(7), &mut ());
        assert_eq!((traffic.at_space, traffic.at_ground), (vec![longest.clone()], vec![longest.clone()]));
    }
    assert_eq!(pair.ground.apply(&message(1200 - 7), pair.now).unwrap_err().code, "too-long");
}

/// Datagrams are as long as quinn's: the path is not searched for longer ones, which would be work beside the messages.
#[test]
fn datagrams_of_s2n_quic_have_one_longest_length_from_the_first_on() {
    let (mut pair, mut traffic) = opened(&arrangement(Security::S2nStream, Suite::default()));
    for _ in 0..3 {
        pair.ground.apply(&message(20_000), pair.now).expect("it fits");
        traffic.flights.extend(pair.pass(pair.now + Duration::from_millis(50), &mut ()).flights);
    }
    let lengths = || traffic.datagrams(End::Ground).map(Vec::len);
    assert_eq!(lengths().max(), Some(1452));
    assert!(lengths().filter(|length| *length == 1452).count() > 3 * 20_000 / 1452 - 3);
    assert!(traffic.flights[0].datagrams[0].len() >= 1200, "RFC 9000, section 14.1");
}

/// A connection that ground opens anew takes the place of the one before, as a ground does that has restarted.
#[test]
fn space_of_s2n_quic_answers_to_the_connection_that_was_proven_last() {
    let made = arrangement(Security::S2nStream, Suite::default());
    let (mut pair, _) = opened(&made);
    for octets in 1..=6 {
        pair.ground = made.open(&mut ()).expect("both ends can be made").ground;
        pair.pass(pair.now + Duration::from_secs(1), &mut ());
        pair.ground.apply(&message(octets), pair.now).expect("it fits");
        assert_eq!(pair.settle(&mut ()).at_space, [message(octets)]);
        pair.space.apply(&message(octets), pair.now).expect("it fits");
        assert_eq!(pair.settle(&mut ()).at_ground, [message(octets)]);
    }
}

/// A link that is quiet stays, and one whose other end is away fails only when a message finds nobody.
#[test]
fn a_link_of_s2n_quic_has_no_idle_time_out() {
    let (mut pair, _) = opened(&arrangement(Security::S2nStream, Suite::default()));
    pair.pass(Duration::from_secs(3600), &mut ());
    pair.ground.apply(&message(64), pair.now).expect("it is still there");
    assert_eq!(pair.settle(&mut ()).at_space, [message(64)]);
}

#[test]
fn s2n_quic_takes_up_no_sessions_and_says_who_does() {
    for security in [Security::S2nStream, Security::S2nDatagram] {
        for resumption in [Resumption::Ticket, Resumption::EarlyData] {
            let suite = Suite { resumption, ..Suite::default() };
            let error = Arrangement::new(security, suite, false).err().expect("it has none").to_string();
            assert!(error.ends_with("quic-stream and quic-datagram take sessions up"), "{error}");
        }
    }
}

/// Whatever the libraries have, they agree on; whatever they do not have is refused before anything is made.
#[test]
fn each_combination_works_or_is_refused_by_a_sentence() {
    let (mut worked, mut refused) = (0, 0);
    let credentials: Vec<_> = Signature::ALL
        .iter()
        .map(|&signature| (signature, Credentials::new(signature).expect("the system has randomness")))
        .collect();
    // Ciphers and signatures do not depend on each other: each cipher is tried with one signature, and the other way round.
    // What OpenSSL has depends on its version, and is tried in a file of its own.
    let tried = |suite: &Suite| {
        let one =
            suite.cipher == Cipher::Aes256Gcm || (suite.signature == Signature::Ed25519 && suite.mutual);
        one && suite.provider != Provider::OpenSsl
    };
    for suite in Suite::all().filter(tried) {
        for security in [Security::QuicStream, Security::Tls, Security::S2nStream] {
            if security == Security::S2nStream && suite.resumption != Resumption::None {
                continue;
            }
            let (_, own) = credentials.iter().find(|(of, _)| *of == suite.signature).expect("one of each");
            match Arrangement::with(security, suite, own, false) {
                Ok(arrangement) => {
                    opened(&arrangement);
                    worked += 1;
                }
                Err(error) => {
                    let sentence = error.to_string();
                    assert_eq!(suite.provider, Provider::Ring, "{suite}: {sentence}");
                    assert!(sentence.starts_with("ring has no key exchange with"), "{suite}: {sentence}");
                    refused += 1;
                }
            }
        }
    }
    // ring lacks two of five groups: of ten pairs of provider and group, two.
    assert_eq!(refused * 4, worked);
}

/// What ground names in its first flight, which is in clear: a row of a bench is of the cipher and the group that it names.
#[test]
fn ground_offers_the_cipher_and_the_group_of_its_suite_and_no_other() {
    let mut tried = [0; 2];
    for (place, security) in [Security::Tls, Security::Dtls].into_iter().enumerate() {
        let plain = Suite::of(security);
        let credentials = Credentials::new(plain.signature).expect("the system has randomness");
        let same = |suite: &Suite| {
            let Suite { provider, cipher, group, .. } = *suite;
            Suite { provider, cipher, group, ..plain } == *suite
        };
        for (suite, metered) in Suite::all().filter(same).flat_map(|suite| [(suite, false), (suite, true)]) {
            let Ok(made) = Arrangement::with(security, suite, &credentials, metered) else { continue };
            let (_, traffic) = opened(&made);
            let hello = &traffic.flights[0].datagrams[0];
            let cipher = match suite.cipher {
                Cipher::Aes128Gcm => 1,
                Cipher::Aes256Gcm => 2,
                Cipher::ChaCha20Poly1305 => 3,
            };
            let group: u16 = match suite.group {
                Group::P256 => 23,
                Group::P384 => 24,
                Group::P521 => 25,
                Group::X25519 => 29,
                Group::X25519MlKem768 => 0x11EC,
            };
            let [high, low] = group.to_be_bytes();
            // RFC 8446, sections 4.1.2 and 4.2.7: a list of one suite, and no compression; the extension with one group.
            for offer in [&[0, 2, 0x13, cipher, 1, 0][..], &[0, 10, 0, 4, 0, 2, high, low]] {
                assert!(hello.windows(offer.len()).any(|part| part == offer), "{security}, {suite}");
            }
            tried[place] += 1;
        }
    }
    // Three ciphers, metered and not: of AWS-LC five groups, of ring three; DTLS has three of AWS-LC.
    let has =
        |&&group: &&Group| Suite { provider: Provider::OpenSsl, group, ..Suite::default() }.check().is_ok();
    let of_openssl = Group::ALL.iter().filter(has).count();
    assert_eq!(tried, [3 * 2 * (5 + 3 + of_openssl), 3 * 2 * 3]);
}

#[test]
fn what_has_no_suite_takes_none() {
    let chosen = Suite { group: Group::P384, ..Suite::default() };
    for security in [Security::None, Security::SdlsGcm, Security::SdlsCmac] {
        let error = Arrangement::new(security, chosen, false).err().expect("it has no group").to_string();
        assert!(error.starts_with(&format!("«{security}» has no suite of TLS")), "{error}");
    }
    let error = Arrangement::new(Security::Restp, chosen, false).err().expect("it has one group").to_string();
    assert!(error.contains("Noise IK"), "{error}");
}

/// The longest message that DTLS takes leaves in one datagram of the length that is allowed, and comes.
#[test]
fn the_longest_message_of_dtls_fills_a_datagram() {
    let (mut pair, _) = opened(&arrangement(Security::Dtls, Suite::of(Security::Dtls)));
    // Its header has eight octets, the record 22 beside the message.
    let longest = message(1452 - 22 - 8);
    pair.ground.apply(&longest, pair.now).expect("it fits");
    let traffic = pair.settle(&mut ());
    assert_eq!(traffic.sent(End::Ground), (1452, 1));
    assert_eq!(traffic.at_space, [longest]);
    assert_eq!(pair.ground.apply(&message(1452 - 22 - 7), pair.now).unwrap_err().code, "too-long");
}

/// What anybody can send does not end a session of DTLS: neither a stranger's first flight, nor one that claims to be a
/// later message, which the library takes for the end of everything.
#[test]
fn a_session_of_dtls_outlives_what_others_send() {
    let dtls = arrangement(Security::Dtls, Suite::of(Security::Dtls));
    let (mut pair, handshake) = opened(&dtls);
    let stranger = dtls.open(&mut ()).expect("both ends can be made").ground.poll();
    let Some(Output::Datagram(hello)) = stranger else { panic!("{stranger:?}") };
    // The number of the message stands behind the record's header of 13, type and length (RFC 9147, section 5.2).
    let mut later = hello.clone();
    later[18] = 9;
    let mut changed = handshake.flights[0].datagrams[0].clone();
    *changed.last_mut().expect("it is long") ^= 1;
    let own_last = &handshake.flights[2].datagrams[0];
    let mut refused = 0;
    for datagram in [&hello[..], &later, &changed, own_last, &[0x5A; 40], &[]] {
        refused += usize::from(pair.space.process(datagram, pair.now).is_err());
        pair.ground.apply(&message(64), pair.now).expect("it fits");
        assert_eq!(pair.settle(&mut ()).at_space, [message(64)]);
    }
    assert!(refused > 0, "all of them were ignored, so that nothing was tried");
}

/// A record that was changed under way costs its message and no other.
#[test]
fn a_changed_record_of_dtls_costs_one_message() {
    let (mut pair, _) = opened(&arrangement(Security::Dtls, Suite::of(Security::Dtls)));
    pair.ground.apply(&message(64), pair.now).expect("it fits");
    let Some(Output::Datagram(mut datagram)) = pair.ground.poll() else { panic!("no datagram") };
    *datagram.last_mut().expect("it is long") ^= 1;
    let _ = pair.space.process(&datagram, pair.now);
    pair.ground.apply(&message(65), pair.now).expect("it fits");
    assert_eq!(pair.settle(&mut ()).at_space, [message(65)]);
}

#[test]
fn dtls_has_what_its_library_has() {
    let usual = Suite::of(Security::Dtls);
    for cipher in Cipher::ALL {
        for group in [Group::X25519, Group::P256, Group::P384] {
            for mutual in [false, true] {
                let suite = Suite { cipher: *cipher, group, mutual, ..usual };
                opened(&arrangement(Security::Dtls, suite));
            }
        }
    }
    for refused in [
        Suite::default(),
        Suite { provider: Provider::Ring, ..usual },
        Suite { group: Group::P521, ..usual },
        Suite { group: Group::X25519MlKem768, ..usual },
        Suite { resumption: Resumption::Ticket, ..usual },
    ] {
        let error = Arrangement::new(Security::Dtls, refused, false).err().expect("it has less").to_string();
        assert!(error.starts_with("DTLS by dimpl has aws-lc with x25519"), "{error}");
    }
}

/// An earlier session's keys spare space its certificate, and 0-RTT spares ground the wait.
#[test]
fn a_session_is_taken_up_and_early_messages_arrive_with_the_first_flight() {
    for security in [Security::QuicStream, Security::QuicDatagram, Security::Tls] {
        let octets = |resumption| {
            let arrangement = arrangement(security, Suite { resumption, ..Suite::default() });
            opened(&arrangement);
            let (_, traffic) = opened(&arrangement);
            traffic.sent(End::Space).0
        };
        let (anew, taken_up) = (octets(Resumption::None), octets(Resumption::Ticket));
        assert!(security != Security::Tls || taken_up + 300 < anew, "{security}: {taken_up}, {anew}");

        let suite = Suite { resumption: Resumption::EarlyData, ..Suite::default() };
        let arrangement = arrangement(security, suite);
        opened(&arrangement);
        let (pair, _) = opened(&arrangement);
        assert_eq!(
            pair.ground.state(),
            State::Established { early: true },
            "{security}, and nothing was sent"
        );
        let mut pair = arrangement.open(&mut ()).expect("both ends can be made");
        pair.ground.apply(&message(64), pair.now).expect("it leaves at once");
        let traffic = pair.settle(&mut ());
        assert_eq!(traffic.at_space, [message(64)], "{security}");
        assert_eq!(pair.ground.state(), State::Established { early: true }, "{security}");
        // Another message goes the usual way behind it.
        pair.ground.apply(&message(65), pair.now).expect("it fits");
        assert_eq!(pair.settle(&mut ()).at_space, [message(65)], "{security}");
    }
}

/// Space has forgotten the session (it is another one with the same certificate): nothing that was sent early is lost, and
/// nothing comes twice.
#[test]
fn early_messages_that_space_does_not_take_are_sent_again() {
    let suite = Suite { resumption: Resumption::EarlyData, ..Suite::default() };
    let credentials = Credentials::new(suite.signature).expect("the system has randomness");
    for security in [Security::QuicStream, Security::QuicDatagram, Security::Tls] {
        let mut pairs: Vec<Pair> = if security == Security::Tls {
            let ground = TlsGround::new(&suite, &credentials, false).expect("settings of TLS");
            let spaces =
                [(); 2].map(|()| TlsSpace::new(&suite, &credentials, false).expect("settings of TLS"));
            let open = |space: &TlsSpace| {
                let mut pair = Pair::new(
                    Box::new(ground.open().expect("a session")),
                    Box::new(space.wait().expect("an end")),
                );
                pair.ground.apply(&message(64), pair.now).expect("it waits or leaves at once");
                pair
            };
            // Each is opened when the one before has given its ticket.
            let mut first = open(&spaces[0]);
            first.settle(&mut ());
            vec![first, open(&spaces[1])]
        } else {
            let delivery =
                if security == Security::QuicStream { Delivery::Stream } else { Delivery::Datagram };
            let options = QuicOptions::new(delivery);
            let ground = QuicGround::new(&suite, &credentials, options, false).expect("settings of QUIC");
            let space = || QuicSpace::new(&suite, &credentials, options, false).expect("settings of QUIC");
            let open = || {
                let end = ground.open(Duration::ZERO).expect("a connection");
                let mut pair = Pair::new(Box::new(end), Box::new(space().wait(Duration::ZERO)));
                pair.ground.apply(&message(64), pair.now).expect("it waits or leaves at once");
                pair
            };
            let mut first = open();
            first.settle(&mut ());
            vec![first, open()]
        };
        let pair = pairs.last_mut().expect("two");
        let came = pair.pass(Duration::from_secs(2), &mut ()).at_space;
        assert_eq!(came, [message(64)], "{security}");
        assert_eq!(pair.ground.state(), State::Established { early: false }, "{security}");
    }
}

#[test]
fn only_so_many_messages_wait_for_a_handshake() {
    for security in WAIT {
        let mut pair =
            arrangement(security, Suite::of(security)).open(&mut ()).expect("both ends can be made");
        let refusal = (0..10_000).find_map(|_| pair.ground.apply(&message(1), pair.now).err());
        assert_eq!(refusal.expect("there is a limit").code, "full", "{security}");
    }
}

/// One call for each packet or record at either end, and in QUIC and DTLS one for the header, too.
#[test]
fn ciphers_are_metered_in_every_security_that_has_a_place_for_it() {
    for &security in Security::ALL {
        let (mut pair, _) = opened(&arrangement(security, Suite::of(security)));
        meter::take();
        pair.ground.apply(&message(64), pair.now).expect("it fits");
        let datagrams: Vec<_> = std::iter::from_fn(|| pair.ground.poll()).collect();
        let [Output::Datagram(datagram)] = &datagrams[..] else { panic!("{security}: {datagrams:?}") };
        let sealed = meter::take().calls;
        pair.space.process(datagram, pair.now).expect("it came as it was sent");
        let opened = meter::take().calls;
        let expected = match security {
            Security::None | Security::Restp => 0,
            Security::QuicStream
            | Security::QuicDatagram
            | Security::Dtls
            | Security::S2nStream
            | Security::S2nDatagram => 2,
            _ => 1,
        };
        assert_eq!((sealed, opened), (expected, expected), "{security}");
    }
}

#[test]
fn a_handshake_takes_one_round_trip() {
    for security in WAIT {
        let (_, traffic) = opened(&arrangement(security, Suite::of(security)));
        assert_eq!(traffic.round_trips(), 1, "{security}");
        let (octets, datagrams) = traffic.sent(End::Ground);
        assert_eq!(octets, traffic.datagrams(End::Ground).map(Vec::len).sum::<usize>(), "{security}");
        assert!(datagrams >= 1 && octets >= 100, "{security}: {datagrams}, {octets}");
    }
    let (_, traffic) = opened(&arrangement(Security::None, Suite::default()));
    assert_eq!(traffic.round_trips(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// A reliable security brings every message in order whatever is lost, as long as time passes.
    #[test]
    fn lost_datagrams_are_sent_again(
        lost in prop::collection::vec(prop::bool::weighted(0.3), 1..200),
        security in prop::sample::select(vec![Security::QuicStream, Security::S2nStream, Security::Restp]),
    ) {
        let mut pair = arrangement(security, Suite::default()).open(&mut ()).expect("both ends can be made");
        let sent: Vec<_> = (1..=8).map(|octets| message(octets * 40)).collect();
        for message in &sent {
            pair.ground.apply(message, pair.now).expect("it waits");
        }
        let mut lost = lost.into_iter();
        let mut came = Vec::new();
        for _ in 0..2000 {
            let traffic = pair.settle_losing(|| lost.next().unwrap_or(false));
            came.extend(traffic.at_space);
            if came.len() == sent.len() {
                break;
            }
            pair.now += Duration::from_millis(100);
        }
        prop_assert_eq!(came, sent);
    }
}
