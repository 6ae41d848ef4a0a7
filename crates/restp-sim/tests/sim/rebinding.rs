//! Ends that go on from other addresses of their host: in quick succession, with nothing to say, over links that lose.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use restp_proto::profile::{Protection, Tuning};
use restp_proto::{CloseReason, ConnId, EndpointConfig, EventKind, PathId, Profile};
use restp_sim::pair::{Pair, UDP_PORT, client_ip, pattern};
use restp_sim::{DropRule, HostId, LinkConfig, Loss, Packet, SimRng};

use super::moving::{common_keys, profiles, with_two_addresses};

const MS: Duration = Duration::from_millis(1);

/// Lets the client go on from port `port` of its first address, and nothing reach the ones before.
pub(super) fn go_on_from(pair: &mut Pair, conn: ConnId, present: &AtomicU16, port: u16) {
    present.store(port, Ordering::Relaxed);
    let local = SocketAddr::new(client_ip(0), port);
    let moved =
        pair.net.with(pair.client, |host, now| host.endpoint.rebind_path(now, conn, PathId(0), local));
    assert_eq!(moved, Ok(()));
}

/// The port at which the client receives: what is sent to another one is lost, as where its socket was closed.
pub(super) fn present_port(pair: &mut Pair) -> Arc<AtomicU16> {
    let present = Arc::new(AtomicU16::new(UDP_PORT));
    let port = Arc::clone(&present);
    let elsewhere = move |packet: &Packet| packet.destination.port() != port.load(Ordering::Relaxed);
    pair.net.add_rule(pair.links[0].1, DropRule::first(u64::MAX, elsewhere));
    present
}

/// A profile whose ends do not ask of their own accord whether the other is there: nothing else then heals a silence.
pub(super) fn without_keepalive(profile: Profile) -> Profile {
    Profile { tuning: Tuning { keepalive: None, idle_timeout: None, ..profile.tuning }, ..profile }
}

/// The time in which the client gets `size_bytes` from the server, which it does not answer to before.
fn download(pair: &mut Pair, conn: ConnId, accepted: ConnId, size_bytes: usize) -> Duration {
    pair.send(pair.server, accepted, vec![7; size_bytes]).unwrap();
    let start = pair.net.now();
    let mut got = 0;
    while got < size_bytes {
        let took = pair.net.now() - start;
        assert!(took < Duration::from_secs(30), "{got} bytes in {took:?}");
        pair.net.run_for(MS);
        got += pair.receive(pair.client, conn).iter().map(|message| message.payload.len()).sum::<usize>();
    }
    pair.net.now() - start
}

// R-ENCAP-3
#[test]
fn an_end_that_moves_faster_than_it_is_asked_is_followed_though_it_has_nothing_to_say() {
    for profile in profiles().into_iter().map(without_keepalive) {
        let config = EndpointConfig { keys: common_keys(), ..EndpointConfig::default() };
        let link = LinkConfig::ideal(MS);
        let mut pair = Pair::with_config(31, &profile, &profile, &[(link.clone(), link)], &config);
        let present = present_port(&mut pair);
        let conn = pair.connect();
        pair.net.run_for(MS * 200);
        let accepted = pair.accepted().expect("it is connected");
        for port in 1..=6 {
            go_on_from(&mut pair, conn, &present, UDP_PORT + port);
            pair.net.run_for(MS * 10);
        }
        let followed = pair.net.host(pair.server).endpoint.stats().rebindings;
        assert_eq!(followed, 4, "{profile}: no more addresses are asked within 100 ms");
        let took = download(&mut pair, conn, accepted, 20_000);
        assert!(took < Duration::from_secs(2), "{profile}: {took:?}");
        let probes = pair.net.link_stats(pair.links[0].0).entered;
        pair.net.run_for(Duration::from_secs(600));
        let more = pair.net.link_stats(pair.links[0].0).entered - probes;
        assert!(more < 4, "{profile}: {more} packets though the peer has followed");
    }
}

// R-ENCAP-3
#[test]
fn a_move_survives_the_loss_of_any_packet_that_tells_of_it() {
    for lost in 0..4 {
        let profile = without_keepalive(Profile::file_arq());
        let mut pair = Pair::new(31, &profile, &LinkConfig::ideal(MS));
        let present = present_port(&mut pair);
        let conn = pair.connect();
        pair.net.run_for(MS * 200);
        let accepted = pair.accepted().expect("it is connected");
        // What the client says first and second, and the challenge and the next packet of the server.
        let (there, back) = pair.links[0];
        let link = if lost < 2 { there } else { back };
        pair.net.add_rule(link, DropRule::first(1, |_| true).after(lost % 2));
        go_on_from(&mut pair, conn, &present, UDP_PORT + 1);
        pair.net.run_for(MS * 50);
        let took = download(&mut pair, conn, accepted, 20_000);
        assert!(took < Duration::from_secs(2), "{lost}: {took:?}");
    }
}

// R-ENCAP-3
#[test]
fn an_answer_that_comes_after_its_address_was_left_again_does_not_keep_the_peer_there() {
    let profile = without_keepalive(Profile::file_arq());
    let (near, far) = (LinkConfig::ideal(MS * 5), LinkConfig::ideal(MS * 400));
    let paths = [(near.clone(), near.clone()), (far, near)];
    let mut pair = with_two_addresses(8, &profile, &paths);
    let (_, back) = pair.links[1];
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("it is connected");
    let go_on = |pair: &mut Pair, ip: u8| {
        let local = SocketAddr::new(client_ip(ip), UDP_PORT);
        pair.net
            .with(pair.client, |host, now| host.endpoint.rebind_path(now, conn, PathId(0), local))
            .unwrap();
    };
    go_on(&mut pair, 1);
    // Its answer has left from there, and takes 400 ms.
    pair.net.run_for(MS * 410);
    go_on(&mut pair, 0);
    pair.net.add_rule(back, DropRule::first(u64::MAX, |_| true));
    pair.net.run_for(MS * 395);
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 1, "to where nobody is any more");
    pair.net.run_for(Duration::from_secs(1));
    let took = download(&mut pair, conn, accepted, 20_000);
    assert!(took < Duration::from_secs(1), "{took:?}");
}

/// A link, a profile, protected or not, and whether sockets are closed when they are left.
fn any_setting(rng: &mut SimRng) -> (LinkConfig, Profile, bool) {
    let delay = MS * (1 + rng.below(60) as u32);
    let link = LinkConfig {
        loss: Loss::Bernoulli(rng.below(25) as f64 / 100.0),
        jitter: delay * rng.below(3) as u32,
        jitter_reorders: true,
        duplication: 0.02,
        ..LinkConfig::new(20_000_000, delay)
    };
    let profiles = [Profile::file_arq(), Profile::file_harq()];
    let profile = without_keepalive(profiles[rng.below(2) as usize].clone());
    let search_packet_bytes = (rng.below(2) == 0).then_some(1452);
    let protects = rng.below(3) == 0 && cfg!(feature = "protected");
    let protection = if protects { Protection::Protected } else { Protection::ClearText };
    let tuning = Tuning { search_packet_bytes, ..profile.tuning };
    (link, Profile { tuning, protection, ..profile }, rng.below(4) > 0)
}

/// What the first event of a connection says for which `tell` says anything.
fn told<T>(pair: &Pair, (host, conn): (HostId, ConnId), tell: impl Fn(&EventKind) -> Option<T>) -> Option<T> {
    let events = &pair.net.host(host).events;
    events.iter().filter(|event| event.conn == conn).find_map(|event| tell(&event.kind))
}

/// Why a connection ended, if it did.
pub(super) fn end_of(pair: &Pair, end: (HostId, ConnId)) -> Option<CloseReason> {
    told(pair, end, |kind| if let EventKind::Closed(reason) = kind { Some(*reason) } else { None })
}

/// A transfer in each direction while the client moves among a few addresses. One end closes when it has read everything.
fn move_at_random(seed: u64) {
    let mut rng = SimRng::new(seed);
    let (link, profile, closes) = any_setting(&mut rng);
    let what = format!("seed {seed}, {profile}, {link:?}, sockets close: {closes}");
    let config = EndpointConfig { keys: common_keys(), ..EndpointConfig::default() };
    let lossless = LinkConfig { loss: Loss::None, ..link.clone() };
    let mut pair = Pair::with_config(seed, &profile, &profile, &[(lossless.clone(), lossless)], &config);
    let present = if closes { present_port(&mut pair) } else { Arc::default() };
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(1));
    let client = (pair.client, conn);
    let server = (pair.server, pair.accepted().expect("it is connected"));
    for way in [pair.links[0].0, pair.links[0].1] {
        pair.net.link_mut(way).loss = link.loss.clone();
    }
    let data = [0; 2].map(|_| (0..1 + rng.below(200_000) as usize).map(pattern).collect::<Vec<u8>>());
    for ((host, conn), data) in [client, server].into_iter().zip(&data) {
        pair.send(host, conn, data.clone()).unwrap();
    }
    let (first, second) = if rng.below(2) == 0 { (client, server) } else { (server, client) };
    pair.net.with(first.0, |host, now| host.endpoint.close(now, first.1));
    let mut moves = 1 + rng.below(12);
    let start = pair.net.now();
    let mut move_at = start;
    let mut received = [Vec::new(), Vec::new()];
    while [client, server].into_iter().any(|end| end_of(&pair, end).is_none()) {
        let now = pair.net.now();
        if moves > 0 && now >= move_at && end_of(&pair, client).is_none() {
            go_on_from(&mut pair, conn, &present, UDP_PORT + rng.below(6) as u16);
            moves -= 1;
            move_at = now + MS * rng.below(150) as u32;
        }
        for ((host, conn), received) in [server, client].into_iter().zip(&mut received) {
            received.extend(pair.receive(host, conn).into_iter().flat_map(|message| message.payload));
        }
        if told(&pair, second, |kind| (*kind == EventKind::Finished).then_some(())).is_some() {
            pair.net.with(second.0, |host, now| host.endpoint.close(now, second.1));
        }
        let got = received.each_ref().map(Vec::len);
        let took = now - start;
        assert!(took < Duration::from_secs(60), "{what}: {got:?} of {:?}", data.each_ref().map(Vec::len));
        pair.net.run_for(MS);
    }
    assert!(received == data, "{what}");
    // Who has forgotten its peer would answer with a reset what that repeats from elsewhere.
    let reasons = [client, server].map(|end| end_of(&pair, end));
    assert_eq!(reasons, [Some(CloseReason::Graceful); 2], "{what}");
}

// R-ENCAP-3, R-SIZE-2, R-CM-5
#[test]
fn transfers_finish_wherever_and_however_often_an_end_goes_on() {
    (0..400).for_each(move_at_random);
}
