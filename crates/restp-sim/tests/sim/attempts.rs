//! How attempts to connect end that cannot succeed, and after how long: the table of `docs/guide/restp.md`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::Protection;
use restp_proto::protected::{Keys, Peers, PrivateKey};
use restp_proto::{CloseReason, Endpoint, EndpointConfig, EventKind, Instant, Profile};
use restp_sim::pair::{Pair, SERVER_PORT, client_path};
use restp_sim::{DropRule, LinkConfig};

const MS: Duration = Duration::from_millis(1);
const RTT: Duration = Duration::from_millis(20);

fn private(start: u8) -> PrivateKey {
    PrivateKey::from_random(std::array::from_fn(|place| start + place as u8)).unwrap()
}

fn presets(protection: Protection) -> [Profile; 2] {
    [Profile::file_arq(), Profile::file_harq()].map(|profile| Profile { protection, ..profile })
}

fn pair(seed: u64, client: &Profile, server: &Profile, keys: [Option<Keys>; 2]) -> Pair {
    let link = LinkConfig::ideal(RTT / 2);
    let [own, theirs] = keys.map(|keys| EndpointConfig { keys, ..EndpointConfig::default() });
    let mut pair = Pair::with_config(seed, client, server, &[(link.clone(), link)], &theirs);
    let bytes = pair.net.rng().seed_bytes();
    pair.net.with(pair.client, |host, _| host.endpoint = Endpoint::new(own, bytes));
    pair
}

/// Connects; how the attempt ends, after how long, and whether the client took it for a connection before.
fn attempt(pair: &mut Pair) -> (CloseReason, Duration, bool) {
    let start = pair.net.now();
    pair.connect();
    let (reason, at) = end(pair);
    let connected = pair.net.host(pair.client).events.iter().any(|event| event.kind == EventKind::Connected);
    (reason, at - start, connected)
}

/// How the client's connection ends, and when.
fn end(pair: &mut Pair) -> (CloseReason, Instant) {
    let until = pair.net.now() + Duration::from_secs(100);
    while pair.net.now() < until {
        let ended = pair.net.host(pair.client).events.iter().find_map(|event| match event.kind {
            EventKind::Closed(reason) => Some(reason),
            _ => None,
        });
        if let Some(reason) = ended {
            return (reason, pair.net.now());
        }
        pair.net.step();
    }
    panic!("the attempt does not end");
}

// R-CM-4
#[test]
fn where_nobody_answers_an_attempt_ends_after_all_its_repetitions() {
    // 1 + 2 + 4 + 8 + 16 + 32 s; 121 waits of 250 ms, then 0.5 + 1 + 2 + 4 + 8 s: each wait an eighth more or less.
    let computed = [63.0, 45.75];
    for (profile, seconds) in presets(Protection::ClearText).iter().zip(computed) {
        for seed in 1..=100 {
            let mut pair = pair(seed, profile, profile, [None, None]);
            pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, |_| true));
            let (reason, took, connected) = attempt(&mut pair);
            assert_eq!((reason, connected), (CloseReason::TimedOut, false));
            assert!((took.as_secs_f64() / seconds - 1.0).abs() < 0.125, "{}: {took:?}", profile.name);
        }
    }
}

// R-PROT-1, R-CM-9
#[test]
fn an_attempt_is_refused_where_one_end_is_protected_and_the_other_is_not() {
    let keys = || Some(Keys::shared([1; 32]));
    for (clear, sealed) in presets(Protection::ClearText).iter().zip(&presets(Protection::Protected)) {
        for (client, server, owned) in [
            (clear, sealed, [None, keys()]),
            (sealed, clear, [keys(), None]),
            (sealed, clear, [keys(), keys()]),
        ] {
            let end = attempt(&mut pair(1, client, server, owned));
            assert_eq!(end, (CloseReason::Refused, RTT, false), "{} {:?}", client.name, client.protection);
        }
    }
}

// R-PROT-10
#[test]
fn a_wrong_key_is_told_within_a_round_trip_or_two() {
    let (client, server, other) = (private(2), private(3), private(9).public());
    let (hers, own) = (client.public(), server.public());
    let only = |key| Peers::only([key]);
    let cases = [
        ("shared", Keys::shared([1; 32]), Keys::shared([2; 32]), 1, false),
        (
            "ik, the server's",
            Keys::ik_client(client.clone(), other),
            Keys::ik_server(server.clone(), Peers::Any),
            1,
            false,
        ),
        (
            "ik, the client's",
            Keys::ik_client(client.clone(), own),
            Keys::ik_server(server.clone(), only(other)),
            1,
            false,
        ),
        (
            "xx, the server's",
            Keys::xx(client.clone(), only(other)),
            Keys::xx(server.clone(), only(hers)),
            1,
            false,
        ),
        // The client shows its key last: by then it takes the connection to stand.
        (
            "xx, the client's",
            Keys::xx(client.clone(), only(own)),
            Keys::xx(server.clone(), only(other)),
            2,
            true,
        ),
        ("ik to xx", Keys::ik_client(client.clone(), own), Keys::xx(server.clone(), only(hers)), 1, false),
        (
            "xx to ik",
            Keys::xx(client.clone(), only(own)),
            Keys::ik_server(server.clone(), only(hers)),
            1,
            false,
        ),
    ];
    for profile in presets(Protection::Protected) {
        for (name, client, server, round_trips, stood) in &cases {
            let keys = [Some(client.clone()), Some(server.clone())];
            let (reason, took, connected) = attempt(&mut pair(1, &profile, &profile, keys));
            assert_eq!((reason, connected), (CloseReason::Unauthenticated, *stood), "{name}");
            assert_eq!(took, RTT * *round_trips, "{name}");
        }
    }
}

// R-CM-3, R-CM-9
#[test]
fn a_refusal_is_told_within_a_round_trip() {
    for profile in presets(Protection::ClearText) {
        let own = Profile { crc: false, ..profile.clone() };
        for (listens, expected) in [(true, CloseReason::Refused), (false, CloseReason::NotListening)] {
            let mut pair = pair(1, &profile, &own, [None, None]);
            pair.net.with(pair.server, |host, _| {
                host.endpoint.unlisten(SERVER_PORT);
                if listens {
                    host.endpoint.listen(SERVER_PORT, own.clone().validate().unwrap(), true).unwrap();
                }
            });
            assert_eq!(attempt(&mut pair), (expected, RTT, false), "{}", profile.name);
        }
    }
}

// R-CM-4
#[test]
fn what_the_network_reports_ends_an_attempt_when_its_first_wait_is_over() {
    for (profile, wait) in presets(Protection::ClearText).iter().zip([MS * 1000, MS * 250]) {
        let mut pair = pair(1, profile, profile, [None, None]);
        let syn = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&syn);
        pair.net.add_rule(
            pair.links[0].0,
            DropRule::first(u64::MAX, move |packet| {
                seen.lock().unwrap().clone_from(&packet.data);
                true
            }),
        );
        let start = pair.net.now();
        pair.connect();
        pair.net.run_for(RTT);
        let report = syn.lock().unwrap().clone();
        pair.net
            .with(pair.client, |host, now| host.endpoint.unreachable(now, client_path(0).remote, &report));
        let (reason, at) = end(&mut pair);
        assert_eq!(reason, CloseReason::Unreachable);
        let share = (at - start).as_secs_f64() / wait.as_secs_f64();
        assert!((0.875..=1.125).contains(&share), "{share}");
    }
}
