//! What peers that have proven nothing can do to an endpoint with the protected profile.

use std::time::Duration;

use restp_proto::profile::Protection;
use restp_proto::protected::{Keys, Peers, PrivateKey};
use restp_proto::wire::{Flags, Flow, Packet as Wire};
use restp_proto::{
    Composition, ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile,
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
    let own = private(3);
    let client = Keys::ik_client(private(2), own.public());
    let mut server = endpoint(Keys::ik_server(own, Peers::Any), 9);
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
