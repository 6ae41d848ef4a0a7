//! What peers that have proven nothing can do to an endpoint with the protected profile.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use restp_proto::profile::Protection;
use restp_proto::protected::{Keys, Peers, PrivateKey};
use restp_proto::wire::{Flags, Flow, Packet as Wire};
use restp_proto::{
    CloseReason, Composition, ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile,
};

const PORT: u16 = 7;
const NOW: Instant = Instant::ZERO;

fn composition() -> Composition {
    Profile { protection: Protection::Protected, ..Profile::file_arq() }.validate().unwrap()
}

/// Few slots, because every stranger's key agreement takes time; limits for one address as by default.
const SLOTS: usize = 256;

fn endpoint(keys: Keys, seed: u8) -> Endpoint {
    let config = EndpointConfig { keys: Some(keys), max_half_open: SLOTS, ..EndpointConfig::default() };
    Endpoint::new(config, [seed; 32])
}

fn private(start: u8) -> PrivateKey {
    PrivateKey::from_random(std::array::from_fn(|place| start + place as u8)).unwrap()
}

/// A server that is known by its public key and takes any client, and the keys of a client of it.
fn server() -> (Endpoint, Keys) {
    server_with(EndpointConfig { max_half_open: SLOTS, ..EndpointConfig::default() })
}

fn server_with(config: EndpointConfig) -> (Endpoint, Keys) {
    let own = private(3);
    let client = Keys::ik_client(private(2), own.public());
    let keys = Some(Keys::ik_server(own, Peers::Any));
    let mut server = Endpoint::new(EndpointConfig { keys, ..config }, [9; 32]);
    server.listen(PORT, composition(), false).unwrap();
    (server, client)
}

/// The path of client number `number`, seen from there.
fn path(number: u32) -> PathAddr {
    let client = std::net::Ipv4Addr::from(0x0A80_0000 + number);
    PathAddr { local: (client, 61_253).into(), remote: ([10, 0, 0, 2], 61_253).into() }
}

fn turned(path: PathAddr) -> PathAddr {
    PathAddr { local: path.remote, remote: path.local }
}

fn packets(endpoint: &mut Endpoint, now: Instant) -> Vec<(PathAddr, Vec<u8>)> {
    let mut all = Vec::new();
    loop {
        let mut out = Vec::new();
        match endpoint.poll_transmit(now, 1, &mut out) {
            Some(transmit) => all.push((transmit.path, out)),
            None => return all,
        }
    }
}

/// Carries packets to and fro until nobody has anything to say; returns what `server` sent.
fn talk(client: &mut Endpoint, server: &mut Endpoint, now: Instant) -> Vec<Vec<u8>> {
    let mut said = Vec::new();
    loop {
        let there = packets(client, now);
        for (path, datagram) in &there {
            server.handle(now, turned(*path), Ecn::NotEct, datagram);
        }
        let back = packets(server, now);
        for (path, datagram) in &back {
            client.handle(now, turned(*path), Ecn::NotEct, datagram);
        }
        if there.is_empty() && back.is_empty() {
            return said;
        }
        said.extend(back.into_iter().map(|(_, datagram)| datagram));
    }
}

fn accepted(server: &mut Endpoint) -> Vec<ConnId> {
    std::iter::from_fn(|| server.poll_event())
        .filter(|event| matches!(event.kind, EventKind::Accepted { .. }))
        .map(|event| event.conn)
        .collect()
}

/// The first packet of a connection from `path`.
fn first_packet(client: &mut Endpoint, path: PathAddr, local_port: u16) -> Vec<u8> {
    client.connect(NOW, path, local_port, PORT, &composition()).unwrap();
    packets(client, NOW).pop().expect("a SYN").1
}

fn is_grant(datagram: &[u8]) -> bool {
    let header = Wire::decode(datagram, None).unwrap().packet.header;
    header.flags == Flags::SYN | Flags::ACK && header.flow.contains(Flow::CKI)
}

// R-PROT-9, R-PROT-11, R-SEC-2
#[test]
fn a_flood_of_first_messages_shuts_nobody_out_and_is_told_to_nobody() {
    let (mut server, keys) = server();
    let mut strangers = endpoint(keys.clone(), 1);
    for number in 0..300 {
        let syn = first_packet(&mut strangers, path(number), 1);
        server.handle(NOW, turned(path(number)), Ecn::NotEct, &syn);
        // They never hear what the server says: the addresses are not theirs.
        packets(&mut server, NOW);
    }
    assert_eq!(server.connections(), SLOTS / 2);
    assert_eq!(accepted(&mut server), [], "they have proven nothing");

    let mut client = endpoint(keys, 2);
    client.connect(NOW, path(5000), 1, PORT, &composition()).unwrap();
    let said = talk(&mut client, &mut server, NOW);
    assert!(is_grant(&said[0]), "a cookie is asked for");
    let theirs = accepted(&mut server);
    assert_eq!(theirs.len(), 1, "who can answer gets in");

    let later = NOW + Duration::from_secs(11);
    server.handle_timeout(later);
    packets(&mut server, later);
    assert_eq!(accepted(&mut server), []);
    assert_eq!(server.connections(), 1, "slots of the unproven are free again in seconds");
    assert!(server.is_established(theirs[0]));
}

// R-PROT-9
#[test]
fn a_recorded_first_message_takes_one_slot() {
    let (mut server, keys) = server();
    let mut client = endpoint(keys, 1);
    let syn = first_packet(&mut client, path(1), 1);
    for number in 1..=900 {
        server.handle(NOW, turned(path(number)), Ecn::NotEct, &syn);
    }
    assert_eq!(server.connections(), 1);
    let answers = packets(&mut server, NOW);
    assert_eq!(answers.iter().filter(|(_, answer)| is_grant(answer)).count(), 899);
    assert!(answers.iter().all(|(_, answer)| answer.len() <= 3 * syn.len()));
    // The one whose message it is goes on as if nothing had happened.
    for (to, answer) in answers.iter().filter(|(to, answer)| *to == turned(path(1)) && !is_grant(answer)) {
        client.handle(NOW, turned(*to), Ecn::NotEct, answer);
    }
    talk(&mut client, &mut server, NOW);
    assert_eq!(accepted(&mut server).len(), 1);
}

// R-SEC-1
#[test]
fn a_first_message_that_proves_nothing_gets_at_most_three_times_its_bytes() {
    // With XX the answer is twice as long as the first message.
    let keys = |start| Keys::xx(private(start), Peers::Any);
    // So long a wait that nothing else ends the repetitions.
    let lasting =
        EndpointConfig { half_open_lifetime: Duration::from_secs(600), ..EndpointConfig::default() };
    let mut server = Endpoint::new(EndpointConfig { keys: Some(keys(3)), ..lasting }, [9; 32]);
    server.listen(PORT, composition(), false).unwrap();
    let syn = first_packet(&mut endpoint(keys(2), 1), path(1), 1);
    let mut now = NOW;
    server.handle(now, turned(path(1)), Ecn::NotEct, &syn);
    let mut received = 0;
    for _ in 0..100 {
        received += packets(&mut server, now).iter().map(|(_, answer)| answer.len()).sum::<usize>();
        let Some(at) = server.poll_timeout() else { break };
        now = at;
        server.handle_timeout(now);
    }
    assert!(received > 0 && received <= syn.len() * 3, "{received} for {}", syn.len());
}

// R-SEC-2, R-PROT-9
#[test]
fn one_address_gets_its_share_of_slots() {
    let (mut server, keys) = server();
    let mut stranger = endpoint(keys, 1);
    let share = EndpointConfig::default().max_half_open_per_address;
    for round in 0..2 {
        for port in 0..100 {
            let syn = first_packet(&mut stranger, path(1), 1 + 1000 * round + port);
            server.handle(NOW, turned(path(1)), Ecn::NotEct, &syn);
        }
        // In the second round it shows the cookies that it was asked for.
        for (to, answer) in packets(&mut server, NOW).into_iter().filter(|(_, answer)| is_grant(answer)) {
            stranger.handle(NOW, turned(to), Ecn::NotEct, &answer);
        }
        for (_, syn) in packets(&mut stranger, NOW) {
            server.handle(NOW, turned(path(1)), Ecn::NotEct, &syn);
        }
    }
    assert_eq!(server.connections(), 2 * share, "without a cookie and with one");
    assert!(server.stats().limit_refusals > 0);
}

// R-SEC-2
#[test]
fn a_connection_that_is_proven_gives_its_slot_back() {
    let (mut server, keys) = server_with(EndpointConfig { max_half_open: 8, ..EndpointConfig::default() });
    let mut clients = endpoint(keys, 1);
    for number in 0..20 {
        clients.connect(NOW, path(number), 1, PORT, &composition()).unwrap();
        let said = talk(&mut clients, &mut server, NOW);
        assert_eq!(accepted(&mut server).len(), 1, "client {number} gets in");
        assert!(!said.iter().any(|datagram| is_grant(datagram)), "client {number} is asked for no cookie");
    }
    assert_eq!(server.connections(), 20);
}

// R-SEC-2, R-PROT-9
#[test]
fn strangers_who_show_a_cookie_and_prove_nothing_hold_no_more_slots_than_there_are() {
    let limits = [
        EndpointConfig { max_half_open: 8, ..EndpointConfig::default() },
        EndpointConfig { max_connections: 8, ..EndpointConfig::default() },
    ];
    for config in limits {
        let (mut server, keys) = server_with(config);
        let mut strangers = endpoint(keys, 1);
        for number in 0..20 {
            let syn = first_packet(&mut strangers, path(number), 1);
            server.handle(NOW, turned(path(number)), Ecn::NotEct, &syn);
            // They show the cookie that they are asked for, and never go on.
            for (_, grant) in packets(&mut server, NOW).iter().filter(|(_, answer)| is_grant(answer)) {
                strangers.handle(NOW, path(number), Ecn::NotEct, grant);
            }
            for (_, syn) in packets(&mut strangers, NOW) {
                server.handle(NOW, turned(path(number)), Ecn::NotEct, &syn);
            }
        }
        assert_eq!((server.connections(), server.stats().limit_refusals), (8, 12));
    }
}

/// A server that takes one client, the keys of that client, and how often it was asked whether it takes one: once for
/// each key agreement that comes so far.
fn asking_server() -> (Endpoint, Keys, Arc<AtomicUsize>) {
    let (own, client) = (private(3), private(2));
    let (asked, expected) = (Arc::new(AtomicUsize::new(0)), client.public());
    let counter = Arc::clone(&asked);
    let peers = Peers::verified_by(move |key| {
        counter.fetch_add(1, Ordering::Relaxed);
        *key == expected
    });
    let keys = Keys::ik_client(client, own.public());
    let mut server = endpoint(Keys::ik_server(own, peers), 9);
    server.listen(PORT, composition(), false).unwrap();
    (server, keys, asked)
}

/// Plays `syn` to the server once in each of the `milliseconds`, from where `from` says; those in which a key agreement
/// failed.
fn flood(server: &mut Endpoint, syn: &[u8], milliseconds: Range<u32>, from: fn(u32) -> PathAddr) -> Vec<u32> {
    let failed = milliseconds.filter(|ms| {
        let (now, before) = (NOW + Duration::from_millis((*ms).into()), server.stats().unauthentic);
        server.handle(now, turned(from(*ms)), Ecn::NotEct, syn);
        packets(server, now);
        server.stats().unauthentic > before
    });
    failed.collect()
}

/// The most of `moments` that lie in one second, wherever it begins.
fn most_in_a_second(moments: &[u32]) -> u32 {
    let within = |from: &u32| moments.iter().filter(|ms| (*from..*from + 1000).contains(ms)).count();
    moments.iter().map(within).max().unwrap_or(0) as u32
}

// R-PROT-9
#[test]
fn a_flood_of_first_messages_that_come_to_nothing_costs_few_key_agreements_and_shuts_nobody_out() {
    let rate = EndpointConfig::default().max_failed_openings_per_s;
    let not_taken = Keys::ik_client(private(4), private(3).public());
    let not_opened = Keys::ik_client(private(2), private(5).public());
    for (strange, is_asked_about) in [(not_taken, true), (not_opened, false)] {
        let (mut server, keys, asked) = asking_server();
        let syn = first_packet(&mut endpoint(strange, 1), path(0), 1);
        let failed = flood(&mut server, &syn, 0..1501, path);
        let most = most_in_a_second(&failed);
        assert!((rate..=rate + rate / 10).contains(&most), "{most} in a second");
        assert_eq!(asked.load(Ordering::Relaxed), if is_asked_about { failed.len() } else { 0 });
        let others = 1501 - failed.len() as u64;
        assert_eq!(server.stats().cookies_granted, others, "the others are asked for a cookie");
        assert_eq!(server.connections(), 0, "none of them takes a slot");

        let now = NOW + Duration::from_millis(1500);
        let mut client = endpoint(keys, 2);
        client.connect(now, path(5000), 1, PORT, &composition()).unwrap();
        let said = talk(&mut client, &mut server, now);
        assert!(is_grant(&said[0]), "a cookie is asked for");
        assert_eq!(accepted(&mut server).len(), 1, "who can answer gets in");
    }
}

// R-PROT-9
#[test]
fn who_shows_a_cookie_may_fail_less_often_and_spends_the_budget_of_no_other_address() {
    let (mut server, keys, asked) = asking_server();
    let mut stranger = endpoint(Keys::ik_client(private(4), private(3).public()), 1);
    let syn = first_packet(&mut stranger, path(0), 1);
    let grant = loop {
        server.handle(NOW, turned(path(0)), Ecn::NotEct, &syn);
        if let Some((_, grant)) = packets(&mut server, NOW).into_iter().find(|(_, answer)| is_grant(answer)) {
            break grant;
        }
    };
    stranger.handle(NOW, path(0), Ecn::NotEct, &grant);
    let with_cookie = packets(&mut stranger, NOW).pop().expect("a SYN with the cookie").1;
    let (before, rate) = (asked.load(Ordering::Relaxed), EndpointConfig::default().max_failed_openings_per_s);
    let failed = flood(&mut server, &with_cookie, 0..1500, |_| path(0));
    assert_eq!(most_in_a_second(&failed), rate / 10);
    assert_eq!(asked.load(Ordering::Relaxed) - before, failed.len());
    assert_eq!(server.stats().limit_refusals, 1500 - failed.len() as u64, "the others are dropped");

    let unproven = flood(&mut server, &syn, 1500..1520, path);
    assert_eq!(unproven.len(), 11, "who shows none spends another budget: ten at once, then one in 10 ms");
    let now = NOW + Duration::from_millis(1519);
    let mut client = endpoint(keys, 2);
    client.connect(now, path(5000), 1, PORT, &composition()).unwrap();
    talk(&mut client, &mut server, now);
    assert_eq!(accepted(&mut server).len(), 1, "with a cookie from elsewhere");
}

// R-PROT-9
#[test]
fn a_server_may_ask_everybody_for_a_cookie_before_a_key_agreement() {
    let own = private(3);
    let keys = Keys::ik_client(private(2), own.public());
    let config = EndpointConfig {
        keys: Some(Keys::ik_server(own, Peers::Any)),
        max_failed_openings_per_s: 0,
        ..EndpointConfig::default()
    };
    let mut server = Endpoint::new(config, [9; 32]);
    server.listen(PORT, composition(), false).unwrap();
    let mut client = endpoint(keys, 2);
    client.connect(NOW, path(1), 1, PORT, &composition()).unwrap();
    let said = talk(&mut client, &mut server, NOW);
    assert!(is_grant(&said[0]));
    assert_eq!(accepted(&mut server).len(), 1);
}

// R-PROT-9
#[test]
fn a_client_shows_at_most_two_cookies_and_then_gives_up() {
    let own = private(3);
    let mut client = endpoint(Keys::ik_client(private(2), own.public()), 2);
    client.connect(NOW, path(1), 1, PORT, &composition()).unwrap();
    let mut shown = 0;
    // Every SYN meets a server that has granted no cookie yet, and asks everybody for one of its own.
    for seed in 10..30 {
        let Some((_, syn)) = packets(&mut client, NOW).pop() else { break };
        shown += u32::from(Wire::decode(&syn, None).unwrap().packet.cookie.is_some());
        let config = EndpointConfig {
            keys: Some(Keys::ik_server(own.clone(), Peers::Any)),
            max_failed_openings_per_s: 0,
            ..EndpointConfig::default()
        };
        let mut server = Endpoint::new(config, [seed; 32]);
        server.listen(PORT, composition(), false).unwrap();
        server.handle(NOW, turned(path(1)), Ecn::NotEct, &syn);
        let (_, grant) = packets(&mut server, NOW).pop().expect("a cookie");
        assert!(is_grant(&grant));
        client.handle(NOW, path(1), Ecn::NotEct, &grant);
    }
    assert_eq!(shown, 2, "cookies were shown");
    let refused = EventKind::Closed(CloseReason::Refused);
    assert!(std::iter::from_fn(|| client.poll_event()).any(|event| event.kind == refused));
}
