//! The protected profile in simulated networks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{Paths, Protection, Scheduler};
use restp_proto::protected::{Aead, Keys, Pattern};
use restp_proto::{CloseReason, EndpointConfig, EventKind, Profile};
use restp_sim::restp::{Pair, client_path};
use restp_sim::{DropRule, LinkConfig, Loss, Packet};

const MS: Duration = Duration::from_millis(1);
const SECRET: &[u8] = b"a secret that must not be seen on the wire";

/// X25519 key pair for tests: the public key belongs to the private one of 32 times 3.
const SERVER_PRIVATE: [u8; 32] = [3; 32];

fn server_public() -> [u8; 32] {
    // The base point of Curve25519 times the private key, computed by the same library.
    use snow::resolvers::{CryptoResolver, DefaultResolver};
    let mut dh = DefaultResolver.resolve_dh(&snow::params::DHChoice::Curve25519).unwrap();
    dh.set(&SERVER_PRIVATE);
    dh.pubkey().try_into().unwrap()
}

fn keys(pattern: Pattern, aead: Aead) -> Keys {
    Keys {
        pattern,
        aead,
        psk: Some([1; 32]),
        local_private: Some(SERVER_PRIVATE),
        remote_public: Some(server_public()),
    }
}

fn protected(profile: Profile) -> Profile {
    Profile { protection: Protection::Protected, ..profile }
}

fn pair(profile: &Profile, keys: Keys, link: &LinkConfig, seed: u64) -> Pair {
    let config = EndpointConfig { keys: Some(keys), ..EndpointConfig::default() };
    Pair::with_config(seed, profile, profile, &[(link.clone(), link.clone())], &config)
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
            let (sent, received) = pair.transfer(150_000, Duration::from_secs(200));
            assert!(sent == received, "{pattern:?} {profile}: {} bytes", received.len());
        }
    }
}

// R-PROT-6
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
        let mut pair = pair(&profile, Keys::shared(server), &LinkConfig::ideal(MS * 10), 4);
        let config = EndpointConfig { keys: Some(Keys::shared(client)), ..EndpointConfig::default() };
        pair.net.with(pair.client, |host, _| host.endpoint = restp_proto::Endpoint::new(config, [7; 32]));
        pair.connect();
        pair.net.run_for(Duration::from_secs(200));
        assert_eq!(pair.accepted(), None);
        assert_eq!(pair.net.host(pair.server).endpoint.connections(), 0);
        assert!(pair.net.host(pair.server).endpoint.stats().unauthentic > 0);
        let events = &pair.net.host(pair.client).events;
        let timed_out = EventKind::Closed(CloseReason::TimedOut);
        assert!(events.iter().any(|event| event.kind == timed_out), "{events:?}");
    }
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
        let config = EndpointConfig { keys: Some(keys(pattern, aead)), ..EndpointConfig::default() };
        let links = [(link.clone(), link.clone()), (link.clone(), link)];
        let mut pair = Pair::with_config(8, &profile, &profile, &links, &config);
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
        let data: Vec<u8> = (0..600_000).map(restp_sim::restp::pattern).collect();
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
fn a_copied_packet_does_not_lead_a_protected_connection_to_another_address() {
    let profile = protected(Profile::file_arq());
    let mut pair = pair(&profile, keys(Pattern::NnPsk0, Aead::AesGcm), &LinkConfig::ideal(MS * 10), 4);
    let seen: Arc<Mutex<Vec<Packet>>> = Arc::default();
    let tap = Arc::clone(&seen);
    let note = move |packet: &Packet| {
        tap.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, note));
    let conn = pair.connect();
    pair.net.run_for(MS * 100);
    let accepted = pair.accepted().expect("the handshake succeeds");
    pair.send(pair.client, conn, SECRET.to_vec()).unwrap();
    pair.net.run_for(MS * 100);
    let copy = seen.lock().unwrap().last().expect("data").clone();
    pair.net.inject(Packet { source: "203.0.113.9:4000".parse().unwrap(), ..copy });
    let server = &pair.net.host(pair.server).endpoint;
    assert_eq!(server.stats().rebindings, 0);
    assert_eq!(server.path_stats(accepted)[0].1.addr.remote, client_path(0).local);
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
