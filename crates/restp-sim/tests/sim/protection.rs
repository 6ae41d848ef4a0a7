//! The protected profile in simulated networks.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{Paths, Protection, Scheduler};
use restp_proto::protected::{Aead, Keys, Pattern, Peers, PrivateKey};
use restp_proto::wire::{self, Flags, Packet as Wire};
use restp_proto::{
    CloseReason, ConnId, ConnectError, Endpoint, EndpointConfig, EventKind, ListenError, Profile,
};
use restp_sim::pair::{Pair, client_path};
use restp_sim::{DropRule, LinkConfig, Loss, Packet};

use crate::moving::count_bytes_to;

const MS: Duration = Duration::from_millis(1);
const SECRET: &[u8] = b"a secret that must not be seen on the wire";

fn private(start: u8) -> PrivateKey {
    PrivateKey::from_random(std::array::from_fn(|place| start + place as u8)).unwrap()
}

/// Keys of a client and of a server that expect each other.
fn keys(pattern: Pattern, aead: Aead) -> (Keys, Keys) {
    let (client, server) = (private(2), private(3));
    let (client_public, server_public) = (client.public(), server.public());
    let (client, server) = match pattern {
        Pattern::NnPsk0 => (Keys::shared([1; 32]), Keys::shared([1; 32])),
        Pattern::Ik => {
            (Keys::ik_client(client, server_public), Keys::ik_server(server, Peers::only([client_public])))
        }
        Pattern::Xx => {
            (Keys::xx(client, Peers::only([server_public])), Keys::xx(server, Peers::only([client_public])))
        }
        other => panic!("{other:?} has no keys here"),
    };
    (client.with_aead(aead), server.with_aead(aead))
}

fn protected(profile: Profile) -> Profile {
    Profile { protection: Protection::Protected, ..profile }
}

fn pair(profile: &Profile, keys: (Keys, Keys), link: &LinkConfig, seed: u64) -> Pair {
    pair_with_paths(profile, keys, &[(link.clone(), link.clone())], seed)
}

fn pair_with_paths(
    profile: &Profile,
    (client, server): (Keys, Keys),
    links: &[(LinkConfig, LinkConfig)],
    seed: u64,
) -> Pair {
    let config = EndpointConfig { keys: Some(server), ..EndpointConfig::default() };
    let mut pair = Pair::with_config(seed, profile, profile, links, &config);
    let config = EndpointConfig { keys: Some(client), ..EndpointConfig::default() };
    let seed = pair.net.rng().seed_bytes();
    pair.net.with(pair.client, |host, _| host.endpoint = Endpoint::new(config, seed));
    pair
}

/// How the client's connection ended, if it did.
fn end_of(pair: &Pair, conn: ConnId) -> Option<CloseReason> {
    pair.net.host(pair.client).events.iter().find_map(|event| match event.kind {
        EventKind::Closed(reason) if event.conn == conn => Some(reason),
        _ => None,
    })
}

// R-PROT-1, R-PROT-2, R-PROT-8
#[test]
fn every_pattern_carries_streams_through_loss_and_bit_errors() {
    let link = LinkConfig {
        loss: Loss::Bernoulli(0.05),
        bit_error_ratio: 1e-6,
        duplication: 0.02,
        reordering: 0.02,
        ..LinkConfig::new(10_000_000, MS * 15)
    };
    for pattern in [Pattern::NnPsk0, Pattern::Ik, Pattern::Xx] {
        for (seed, profile) in
            [(1, Profile::file_arq()), (2, Profile::file_harq()), (3, Profile::satellite_outage())]
        {
            let aead = if seed == 2 { Aead::ChaChaPoly } else { Aead::AesGcm };
            let mut pair = pair(&protected(profile.clone()), keys(pattern, aead), &link, seed);
            let transferred = pair.transfer(150_000, Duration::from_secs(200));
            transferred.unwrap_or_else(|error| panic!("{pattern:?} {profile}: {error}"));
        }
    }
}

// R-PROT-6, R-PROT-7, R-PROT-8
#[test]
fn the_payload_is_not_on_the_wire_and_no_changed_packet_is_taken() {
    let profile = protected(Profile { crc: false, ..Profile::voice() });
    let mut pair = pair(&profile, keys(Pattern::NnPsk0, Aead::AesGcm), &LinkConfig::ideal(MS * 10), 4);
    let wire: Arc<Mutex<Vec<Packet>>> = Arc::default();
    let tap = Arc::clone(&wire);
    pair.net.add_rule(
        pair.links[0].0,
        DropRule::first(u64::MAX, move |packet| {
            tap.lock().unwrap().push(packet.clone());
            false
        }),
    );
    let conn = pair.connect();
    pair.net.run_for(MS * 100);
    let accepted = pair.accepted().expect("the handshake succeeds");
    pair.send(pair.client, conn, SECRET.to_vec()).unwrap();
    pair.net.run_for(MS * 100);
    assert_eq!(pair.receive(pair.server, accepted)[0].payload, SECRET);
    let seen = wire.lock().unwrap().clone();
    assert!(seen.iter().all(|packet| !packet.data.windows(8).any(|part| part == &SECRET[..8])));
    // Every sealed packet again: unchanged it is a replay, with any octet changed a forgery.
    let before = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().clone();
    for packet in &seen {
        pair.net.inject(packet.clone());
        for place in 0..packet.data.len() {
            let mut forged = packet.clone();
            forged.data[place] ^= 1;
            pair.net.inject(forged);
        }
    }
    let after = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap();
    assert_eq!((after.delivered, after.duplicates), (before.delivered, before.duplicates));
    assert!(after.unauthentic > before.unauthentic + 50, "{after:?}");
    assert!(pair.receive(pair.server, accepted).is_empty());
}

#[test]
fn without_the_right_keys_nothing_is_opened() {
    for (client, server) in [([1; 32], [2; 32]), ([2; 32], [1; 32])] {
        let profile = protected(Profile::file_arq());
        let keys = (Keys::shared(client), Keys::shared(server));
        let mut pair = pair(&profile, keys, &LinkConfig::ideal(MS * 10), 4);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(1));
        assert_eq!(pair.accepted(), None);
        assert_eq!(pair.net.host(pair.server).endpoint.connections(), 0);
        assert!(pair.net.host(pair.server).endpoint.stats().unauthentic > 0);
        assert_eq!(end_of(&pair, conn), Some(CloseReason::Unauthenticated));
    }
}

// R-PROT-10
#[test]
fn both_ends_know_and_check_whom_they_talk_to() {
    let (client, server) = (private(2), private(3));
    let (client_public, server_public, other) = (client.public(), server.public(), private(9).public());
    let only = |key| Peers::only([key]);
    let asked = move |key| Peers::verified_by(move |shown| *shown == key);
    // What the client expects, what the server takes, and whether they come together.
    let cases = [
        (Keys::ik_client(client.clone(), server_public), Keys::ik_server(server.clone(), Peers::Any), true),
        (
            Keys::ik_client(client.clone(), server_public),
            Keys::ik_server(server.clone(), asked(client_public)),
            true,
        ),
        (Keys::ik_client(client.clone(), server_public), Keys::ik_server(server.clone(), only(other)), false),
        (Keys::ik_client(client.clone(), other), Keys::ik_server(server.clone(), Peers::Any), false),
        (Keys::xx(client.clone(), Peers::Any), Keys::xx(server.clone(), Peers::Any), true),
        (Keys::xx(client.clone(), only(server_public)), Keys::xx(server.clone(), only(client_public)), true),
        (Keys::xx(client.clone(), only(other)), Keys::xx(server.clone(), Peers::Any), false),
        (Keys::xx(client.clone(), Peers::Any), Keys::xx(server.clone(), only(other)), false),
        (Keys::xx(client.clone(), Peers::Any), Keys::xx(server.clone(), asked(other)), false),
    ];
    for (number, (client, server, fit)) in cases.into_iter().enumerate() {
        let profile = protected(Profile::file_arq());
        let mut pair = pair(&profile, (client, server), &LinkConfig::ideal(MS * 10), 4);
        let conn = pair.connect();
        let _ = pair.send(pair.client, conn, SECRET.to_vec());
        pair.net.run_for(Duration::from_secs(1));
        let accepted = pair.accepted();
        assert_eq!(accepted.is_some(), fit, "case {number}");
        let shown = |host, conn| pair.net.host(host).endpoint.peer_public_key(conn);
        match accepted {
            Some(accepted) => {
                assert_eq!(shown(pair.client, conn), Some(server_public), "case {number}");
                assert_eq!(shown(pair.server, accepted), Some(client_public), "case {number}");
                let text = pair.net.host(pair.server).endpoint.explain(accepted).unwrap();
                assert!(text.contains(&client_public.to_string()), "{text}");
                assert_eq!(pair.receive(pair.server, accepted).len(), 1);
            }
            None => assert_eq!(end_of(&pair, conn), Some(CloseReason::Unauthenticated), "case {number}"),
        }
    }
}

// R-PROT-10
#[test]
fn a_client_of_xx_that_is_not_taken_is_told_by_a_sealed_reset_and_by_no_other() {
    for sealed in [true, false] {
        let strangers = Peers::only([private(9).public()]);
        let keys = (Keys::xx(private(2), Peers::Any), Keys::xx(private(3), strangers));
        let mut pair = pair(&protected(Profile::file_arq()), keys, &LinkConfig::ideal(MS * 10), 4);
        let held: Arc<Mutex<Vec<Packet>>> = Arc::default();
        let hold = Arc::clone(&held);
        let hold_resets = move |packet: &Packet| {
            let flags = Wire::decode(&packet.data, None).unwrap().packet.header.flags;
            if flags.contains(Flags::RST) {
                hold.lock().unwrap().push(packet.clone());
            }
            flags.contains(Flags::RST)
        };
        pair.net.add_rule(pair.links[0].1, DropRule::first(u64::MAX, hold_resets));
        let conn = pair.connect();
        pair.net.run_for(MS * 100);
        assert_eq!(end_of(&pair, conn), None, "it has heard of nothing yet");
        let reset = held.lock().unwrap().first().expect("the server does not take the client").clone();
        let decoded = Wire::decode(&reset.data, None).unwrap().packet;
        assert!(decoded.is_sealed());
        let mut data = reset.data.clone();
        if !sealed {
            // The same in clear text, as anybody could send it.
            let protection = decoded.protection.map(|own| wire::Protection { epoch: 0, ..own });
            data.clear();
            Wire { protection, payload: &[], ..decoded }.encode(&mut data, None).unwrap();
        }
        pair.net.inject(Packet { data, ..reset });
        assert_eq!(end_of(&pair, conn), sealed.then_some(CloseReason::Unauthenticated));
        assert_eq!(pair.accepted(), None);
    }
}

#[test]
fn keys_of_the_other_role_are_refused_at_once() {
    let composition = protected(Profile::file_arq()).validate().unwrap();
    let endpoint = |keys| Endpoint::new(EndpointConfig { keys: Some(keys), ..Default::default() }, [1; 32]);
    let mut client = endpoint(Keys::ik_client(private(2), private(3).public()));
    assert_eq!(client.listen(7, composition.clone(), false), Err(ListenError::UnusableKeys));
    let mut server = endpoint(Keys::ik_server(private(3), Peers::Any));
    let now = restp_proto::Instant::ZERO;
    let refused = server.connect(now, client_path(0), 1, 7, &composition);
    assert_eq!(refused, Err(ConnectError::UnusableKeys));
    assert_eq!(server.connections(), 0);
}

// R-PROT-5, R-PROT-8
#[test]
fn several_paths_are_protected_and_joins_cannot_be_forged_or_repeated() {
    for (pattern, aead) in
        [(Pattern::NnPsk0, Aead::AesGcm), (Pattern::Ik, Aead::ChaChaPoly), (Pattern::Xx, Aead::AesGcm)]
    {
        let profile =
            protected(Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() });
        let link = LinkConfig { loss: Loss::Bernoulli(0.02), ..LinkConfig::new(5_000_000, MS * 10) };
        let links = [(link.clone(), link.clone()), (link.clone(), link)];
        let mut pair = pair_with_paths(&profile, keys(pattern, aead), &links, 8);
        let seen: Arc<Mutex<Vec<Packet>>> = Arc::default();
        let tap = Arc::clone(&seen);
        pair.net.add_rule(
            pair.links[1].0,
            DropRule::first(u64::MAX, move |packet| {
                tap.lock().unwrap().push(packet.clone());
                false
            }),
        );
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(4));
        pair.net.with(pair.client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(1), false).unwrap();
        });
        pair.net.run_for(Duration::from_secs(4));
        let accepted = pair.accepted().expect("the handshake succeeds");
        let join = seen.lock().unwrap()[0].clone();
        // The same join from another address is a repetition, and with any octet changed a forgery.
        for place in 0..join.data.len() {
            let mut forged = Packet { source: "203.0.113.9:4000".parse().unwrap(), ..join.clone() };
            pair.net.inject(forged.clone());
            forged.data[place] ^= 1;
            pair.net.inject(forged);
        }
        let paths = pair.net.host(pair.server).endpoint.path_stats(accepted);
        assert_eq!(paths.iter().filter(|(_, path)| path.usable).count(), 2, "{pattern:?}: {paths:?}");
        let data: Vec<u8> = (0..600_000).map(restp_sim::pair::pattern).collect();
        pair.send(pair.client, conn, data.clone()).unwrap();
        let mut received = Vec::new();
        for _ in 0..6000 {
            received
                .extend(pair.receive(pair.server, accepted).into_iter().flat_map(|message| message.payload));
            pair.net.run_for(MS);
        }
        assert!(received == data, "{pattern:?}: {} bytes", received.len());
        for (there, _) in &pair.links {
            assert!(pair.net.link_stats(*there).entered > 150, "{pattern:?}: both paths are used");
        }
    }
}

// R-ENCAP-3, R-PROT-7
#[test]
fn a_copied_packet_moves_nothing_and_only_one_that_comes_first_is_answered() {
    for copy_first in [true, false] {
        let profile = protected(Profile::file_arq());
        let mut pair = pair(&profile, keys(Pattern::NnPsk0, Aead::AesGcm), &LinkConfig::ideal(MS * 10), 4);
        let stranger: std::net::SocketAddr = "203.0.113.9:4000".parse().unwrap();
        let sent_bytes = count_bytes_to(&mut pair, stranger.ip());
        let conn = pair.connect();
        pair.net.run_for(MS * 100);
        let accepted = pair.accepted().expect("the handshake succeeds");
        let caught: Arc<Mutex<Option<Packet>>> = Arc::default();
        let tap = Arc::clone(&caught);
        let catch = move |packet: &Packet| {
            *tap.lock().unwrap() = Some(packet.clone());
            copy_first
        };
        pair.net.add_rule(pair.links[0].0, DropRule::first(1, catch));
        pair.send(pair.client, conn, SECRET.to_vec()).unwrap();
        pair.net.run_for(MS * 50);
        let original = caught.lock().unwrap().take().expect("the data left");
        pair.net.inject(Packet { source: stranger, ..original.clone() });
        if copy_first {
            pair.net.inject(original);
        }
        pair.net.run_for(MS * 50);
        let asked = sent_bytes.load(Ordering::Relaxed) > 0;
        assert_eq!(asked, copy_first, "what opened before says nothing of where its sender is");
        let got = pair.receive(pair.server, accepted);
        assert!(got.len() == 1 && got[0].payload == SECRET, "{got:?}");
        let server = &pair.net.host(pair.server).endpoint;
        assert_eq!(server.stats().rebindings, 0);
        assert_eq!(server.path_stats(accepted)[0].1.addr.remote, client_path(0).local);
    }
}

// R-PROT-3, R-PROT-7
#[test]
fn forged_answers_do_not_spoil_a_handshake() {
    for pattern in [Pattern::NnPsk0, Pattern::Ik, Pattern::Xx] {
        let profile = protected(Profile::file_arq());
        let mut pair = pair(&profile, keys(pattern, Aead::AesGcm), &LinkConfig::ideal(MS * 10), 4);
        // Somebody on the path holds back the server's answer, and then what the client says to it.
        let ways = [(pair.links[0].1, 0), (pair.links[0].0, 1)].map(|(link, skip)| {
            let held: Arc<Mutex<Vec<Packet>>> = Arc::default();
            let hold = Arc::clone(&held);
            let rule = move |packet: &Packet| {
                hold.lock().unwrap().push(packet.clone());
                true
            };
            pair.net.add_rule(link, DropRule::first(1, rule).after(skip));
            held
        });
        pair.connect();
        for held in ways {
            pair.net.run_for(MS * 30);
            let genuine = held.lock().unwrap().last().expect("it was held back").clone();
            let decoded = Wire::decode(&genuine.data, None).unwrap().packet;
            for place in 0..decoded.payload.len() {
                let mut payload = decoded.payload.to_vec();
                payload[place] ^= 1;
                let mut data = Vec::new();
                Wire { payload: &payload, ..decoded }.encode(&mut data, None).unwrap();
                pair.net.inject(Packet { data, ..genuine.clone() });
            }
            assert_eq!(pair.accepted(), None, "{pattern:?}");
            pair.net.inject(genuine);
        }
        pair.net.run_for(MS * 100);
        assert!(pair.accepted().is_some(), "{pattern:?}");
    }
}

// R-PROT-1
#[test]
fn a_protected_port_takes_no_clear_text_and_the_other_way_round() {
    for (client, server) in [
        (Profile::file_arq(), protected(Profile::file_arq())),
        (protected(Profile::file_arq()), Profile::file_arq()),
    ] {
        let link = LinkConfig::ideal(MS * 10);
        let config = EndpointConfig { keys: Some(Keys::shared([1; 32])), ..EndpointConfig::default() };
        let mut pair = Pair::with_config(1, &client, &server, &[(link.clone(), link)], &config);
        pair.connect();
        pair.net.run_for(Duration::from_secs(2));
        assert_eq!(pair.accepted(), None);
    }
}

// R-PROT-7
#[test]
fn a_packet_that_does_not_open_is_no_evidence_of_anything() {
    let link = LinkConfig { bit_error_ratio: 2e-5, ..LinkConfig::new(10_000_000, MS * 5) };
    // The clear one shows that there is evidence to be had.
    for protection in [Protection::ClearText, Protection::Protected] {
        let tuning = restp_proto::profile::Tuning { pacing: false, ..Profile::file_arq().tuning };
        let profile = Profile { protection, crc: true, tuning, ..Profile::file_arq() };
        let mut pair = pair(&profile, keys(Pattern::NnPsk0, Aead::AesGcm), &link, 11);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(4));
        let accepted = pair.accepted().expect("the handshake succeeds");
        pair.send(pair.client, conn, vec![7; 200_000]).unwrap();
        pair.net.run_for(Duration::from_secs(20));
        let stats = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap();
        let sealed = protection == Protection::Protected;
        assert_eq!(stats.corrupt_payloads == 0, sealed, "{stats:?}");
        assert_eq!(stats.unauthentic > 5, sealed, "{stats:?}");
    }
}
