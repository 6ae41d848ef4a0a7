//! Peers whose address changes: translators that forget, and strangers that pretend.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{Protection, Tuning};
use restp_proto::wire::{Cookie, Flow, Packet as Wire};
use restp_proto::{EndpointConfig, Profile};
use restp_sim::pair::{Pair, client_ip, server_ip};
use restp_sim::{DropRule, LinkConfig, Packet};

const MS: Duration = Duration::from_millis(1);

/// A pair whose client has a second address, from which the server's only one is reached over the second path.
pub(super) fn with_two_addresses(
    seed: u64,
    profile: &Profile,
    paths: &[(LinkConfig, LinkConfig); 2],
) -> Pair {
    let mut pair = Pair::with_paths(seed, profile, paths);
    let (there, back) = pair.links[1];
    pair.net.route(client_ip(1), server_ip(0), &[there]);
    pair.net.route(server_ip(0), client_ip(1), &[back]);
    pair
}

// K3, R-ENCAP-3
#[test]
fn k3_a_peer_behind_a_forgetful_nat_keeps_its_connection() {
    let mut pair = Pair::new(31, &Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let outside = "198.51.100.7".parse().unwrap();
    pair.net.add_nat(client_ip(0), outside);
    let (there, back) = pair.links[0];
    pair.net.route(outside, server_ip(0), &[there]);
    pair.net.route(server_ip(0), outside, &[back]);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake passes the translator");
    for round in 0..5 {
        pair.net.rebind_nat(client_ip(0));
        pair.send(pair.client, conn, vec![round; 20_000]).unwrap();
        pair.net.run_for(Duration::from_secs(3));
        let got: usize =
            pair.receive(pair.server, accepted).iter().map(|message| message.payload.len()).sum();
        assert_eq!(got, 20_000, "round {round}");
    }
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 5);
}

// K3, R-ENCAP-3
#[test]
fn k3_a_repetition_from_a_new_address_is_known_as_one_and_resets_nothing() {
    let mut pair = Pair::new(31, &Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let outside = "198.51.100.7".parse().unwrap();
    pair.net.add_nat(client_ip(0), outside);
    let (there, back) = pair.links[0];
    pair.net.route(outside, server_ip(0), &[there]);
    pair.net.route(server_ip(0), outside, &[back]);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake passes the translator");
    // What was sent arrives, its acknowledgement does not, and the repetition comes from elsewhere.
    pair.net.add_rule(back, DropRule::first(1, |_| true));
    pair.send(pair.client, conn, vec![1; 100]).unwrap();
    pair.net.run_for(MS * 60);
    pair.net.rebind_nat(client_ip(0));
    pair.net.run_for(Duration::from_secs(3));
    pair.send(pair.client, conn, vec![2; 100]).unwrap();
    pair.net.run_for(Duration::from_secs(3));
    let got: Vec<u8> =
        pair.receive(pair.server, accepted).into_iter().flat_map(|message| message.payload).collect();
    assert_eq!(got, [[1; 100], [2; 100]].concat());
    assert_eq!(pair.net.host(pair.server).endpoint.stats().resets_sent, 0);
}

// R-ENCAP-3
#[test]
fn a_connection_goes_on_from_another_address_of_its_host() {
    let link = LinkConfig::new(5_000_000, MS * 10);
    let paths = [(link.clone(), link.clone()), (link.clone(), link)];
    let mut pair = with_two_addresses(8, &Profile::file_arq(), &paths);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("it is connected");
    let data: Vec<u8> = (0..400_000).map(restp_sim::pair::pattern).collect();
    pair.send(pair.server, accepted, data.clone()).unwrap();
    let mut received = Vec::new();
    for round in 0..3000 {
        if round == 150 {
            // The first address is gone: nothing passes there any more in either direction.
            for link in [pair.links[0].0, pair.links[0].1] {
                pair.net.add_rule(link, DropRule::first(u64::MAX, |_| true));
            }
            let local = std::net::SocketAddr::new(client_ip(1), restp_sim::pair::UDP_PORT);
            let moved = pair.net.with(pair.client, |host, now| {
                host.endpoint.rebind_path(now, conn, restp_proto::PathId(0), local)
            });
            assert_eq!(moved, Ok(()));
        }
        received.extend(pair.receive(pair.client, conn).into_iter().flat_map(|message| message.payload));
        pair.net.run_for(MS);
    }
    assert!(received == data, "{} bytes", received.len());
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 1);
}

// K3, R-ENCAP-3
#[test]
fn k3_a_download_goes_on_when_the_nat_forgets_in_the_middle() {
    let link = LinkConfig::new(5_000_000, MS * 10);
    // Who only receives must say something now and then, or nothing tells the server where he went.
    let tuning = Tuning { keepalive: Some(MS * 100), ..Profile::file_arq().tuning };
    let mut pair = Pair::new(31, &Profile { tuning, ..Profile::file_arq() }, &link);
    let outside = "198.51.100.7".parse().unwrap();
    pair.net.add_nat(client_ip(0), outside);
    let (there, back) = pair.links[0];
    pair.net.route(outside, server_ip(0), &[there]);
    pair.net.route(server_ip(0), outside, &[back]);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake passes the translator");
    let data: Vec<u8> = (0..2_000_000).map(restp_sim::pair::pattern).collect();
    pair.send(pair.server, accepted, data.clone()).unwrap();
    let mut received = Vec::new();
    for round in 0..8000 {
        if round % 600 == 200 {
            pair.net.rebind_nat(client_ip(0));
        }
        received.extend(pair.receive(pair.client, conn).into_iter().flat_map(|message| message.payload));
        pair.net.run_for(MS);
    }
    assert!(received == data, "{} bytes", received.len());
    assert!(pair.net.host(pair.server).endpoint.stats().rebindings >= 5);
}

/// Counts the bytes that leave for `victim`, an address that never answers.
pub fn count_bytes_to(pair: &mut Pair, victim: std::net::IpAddr) -> Arc<AtomicUsize> {
    let to_victim = pair.net.add_link(LinkConfig::ideal(MS));
    pair.net.route(server_ip(0), victim, &[to_victim]);
    let sent_bytes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent_bytes);
    let note = move |packet: &Packet| {
        count.fetch_add(packet.data.len(), Ordering::Relaxed);
        false
    };
    pair.net.add_rule(to_victim, DropRule::first(u64::MAX, note));
    sent_bytes
}

pub fn profiles() -> Vec<Profile> {
    let clear = Profile::file_arq();
    let protected = Profile { protection: Protection::Protected, ..clear.clone() };
    if cfg!(feature = "protected") { vec![clear, protected] } else { vec![clear] }
}

// R-ENCAP-3, R-SEC-1
#[test]
fn packets_from_an_address_that_never_answers_move_nothing() {
    for profile in profiles() {
        let link = LinkConfig::new(5_000_000, MS * 10);
        let config = EndpointConfig { keys: common_keys(), ..EndpointConfig::default() };
        let mut pair = Pair::with_config(31, &profile, &profile, &[(link.clone(), link)], &config);
        // Somebody on the path takes packets of the client away for a while and sends them in the name of a victim.
        let caught: Arc<Mutex<Vec<Packet>>> = Arc::default();
        let catching = Arc::new(AtomicBool::new(false));
        let (tap, on) = (Arc::clone(&caught), Arc::clone(&catching));
        let catch = move |packet: &Packet| {
            let takes = on.load(Ordering::Relaxed);
            if takes {
                tap.lock().unwrap().push(packet.clone());
            }
            takes
        };
        pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, catch));
        let conn = pair.connect();
        pair.net.run_for(MS * 200);
        let accepted = pair.accepted().expect("the handshake succeeds");
        let data: Vec<u8> = (0..1_000_000).map(restp_sim::pair::pattern).collect();
        pair.send(pair.server, accepted, data.clone()).unwrap();
        let victim: std::net::SocketAddr = "203.0.113.9:4000".parse().unwrap();
        let sent_bytes = count_bytes_to(&mut pair, victim.ip());
        let mut received = Vec::new();
        let mut injected = 0;
        for round in 0..8000 {
            catching.store((300..330).contains(&round), Ordering::Relaxed);
            for copy in caught.lock().unwrap().drain(..) {
                injected += copy.data.len();
                pair.net.inject(Packet { source: victim, ..copy });
            }
            received.extend(pair.receive(pair.client, conn).into_iter().flat_map(|message| message.payload));
            pair.net.run_for(MS);
        }
        let got = sent_bytes.load(Ordering::Relaxed);
        assert!(injected > 0 && got > 0 && got <= injected * 3, "{profile}: {got} bytes for {injected}");
        assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 0, "{profile}");
        assert!(received == data, "{profile}: the client lost its download: {} bytes", received.len());
    }
}

// R-ENCAP-3, R-SEC-1
#[test]
fn strangers_who_take_turns_are_asked_no_more_often_than_one() {
    let mut pair = Pair::new(31, &Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let newest = newest_from_client(&mut pair);
    pair.connect();
    pair.net.run_for(MS * 200);
    let copy = newest.lock().unwrap().take().expect("the third packet");
    let victims = ["203.0.113.9:4000", "203.0.113.10:4000"].map(|addr| addr.parse().unwrap());
    let sent_bytes = victims.map(|victim: std::net::SocketAddr| count_bytes_to(&mut pair, victim.ip()));
    let sent = || sent_bytes.each_ref().map(|bytes| bytes.load(Ordering::Relaxed));
    let mut counts = Vec::new();
    for millisecond in 0..120 {
        pair.net.inject(Packet { source: victims[millisecond % 2], ..copy.clone() });
        pair.net.run_for(MS);
        counts.push(sent());
    }
    // The third packet comes from the first of them again.
    let once = counts[2];
    assert!(once[0] > 0 && once[0] == once[1], "each is asked: {once:?}");
    assert_eq!(counts[95], once, "and not again within 100 ms");
    assert_eq!(counts[119], once.map(|bytes| bytes * 2), "but then");
}

/// Keeps a copy of the packet that the client sent last.
pub(super) fn newest_from_client(pair: &mut Pair) -> Arc<Mutex<Option<Packet>>> {
    let newest: Arc<Mutex<Option<Packet>>> = Arc::default();
    let tap = Arc::clone(&newest);
    let note = move |packet: &Packet| {
        *tap.lock().unwrap() = Some(packet.clone());
        false
    };
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, note));
    newest
}

// R-ENCAP-3
#[test]
fn a_challenge_that_was_forged_or_overheard_moves_nothing() {
    let mut pair = Pair::new(31, &Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let newest = newest_from_client(&mut pair);
    let answered: Arc<AtomicUsize> = Arc::default();
    let count = Arc::clone(&answered);
    let note = move |packet: &Packet| {
        count.fetch_add(usize::from(has_cookie(packet)), Ordering::Relaxed);
        false
    };
    pair.net.add_rule(pair.links[0].1, DropRule::first(u64::MAX, note));
    pair.connect();
    pair.net.run_for(MS * 200);
    let stranger: std::net::SocketAddr = "203.0.113.9:4000".parse().unwrap();
    let newest = newest.lock().unwrap().take().expect("the third packet");
    for first in [0x00, 0x80] {
        // The numbers of the client, but nothing that the server asked for.
        let mut octets = [7; 16];
        octets[0] = first;
        let mut forged = Wire::decode(&newest.data, None).unwrap().packet;
        forged.header.flow |= Flow::CKI;
        forged.cookie = Cookie::new(&octets);
        let mut data = Vec::new();
        forged.encode(&mut data, None).unwrap();
        pair.net.inject(Packet { source: stranger, data, ..newest.clone() });
        pair.net.run_for(MS * 200);
    }
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 0);
    let answers = answered.load(Ordering::Relaxed);
    assert_eq!(answers, 1, "a challenge is answered, but where the peer is known to be; an answer is not");
}

fn has_cookie(packet: &Packet) -> bool {
    Wire::decode(&packet.data, None).unwrap().packet.cookie.is_some()
}

#[cfg(feature = "protected")]
pub fn common_keys() -> Option<restp_proto::protected::Keys> {
    Some(restp_proto::protected::Keys::shared([1; 32]))
}

#[cfg(not(feature = "protected"))]
pub fn common_keys() -> Option<restp_proto::protected::Keys> {
    None
}
