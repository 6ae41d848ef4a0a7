//! Beginnings: three-way and opportunistic handshakes and what survives which loss.

use std::time::Duration;

use restp_proto::wire::{Flags, Flow, Packet as Wire};
use restp_proto::{Instant, PathAddr, Profile};
use restp_sim::pair::{Pair, client_path, has_flags, has_payload};
use restp_sim::{DropRule, LinkConfig, Packet};

const MS: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(50);

fn is_bare_syn(packet: &Packet) -> bool {
    has_flags(packet, Flags::SYN) && !has_payload(packet)
}

fn is_bare_syn_ack(packet: &Packet) -> bool {
    has_flags(packet, Flags::SYN | Flags::ACK) && !has_payload(packet)
}

/// A client that has a cookie already.
fn with_cookie(profile: &Profile) -> Pair {
    let mut pair = Pair::new(21, profile, &LinkConfig::ideal(DELAY));
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(2));
    pair.net.with(pair.client, |host, now| host.endpoint.forget(now, conn));
    pair.net.run_for(Duration::from_secs(1));
    pair.net.with(pair.server, |host, _| host.take_events());
    pair
}

/// Sends a request, answers it, and returns when the client has the answer, counted from the call to connect.
fn page_load(pair: &mut Pair) -> Duration {
    let start = pair.net.now();
    let (client, server) = (pair.client, pair.server);
    let conn = pair.connect();
    pair.send(client, conn, vec![1; 300]).unwrap();
    let mut answered = None;
    for _ in 0..8000 {
        if let Some(accepted) = pair.accepted()
            && answered.is_none()
            && !pair.receive(server, accepted).is_empty()
        {
            pair.send(server, accepted, vec![2; 3000]).unwrap();
            answered = Some(accepted);
        }
        let bytes: usize = pair.receive(client, conn).iter().map(|message| message.payload.len()).sum();
        if bytes > 0 {
            return pair.net.now() - start;
        }
        pair.net.run_for(MS);
    }
    panic!("no answer");
}

// R-CM-2
#[test]
fn three_way_costs_two_round_trips_and_opportunistic_one() {
    let mut three_way = Pair::new(1, &Profile::file_arq(), &LinkConfig::ideal(DELAY));
    let time = page_load(&mut three_way);
    assert!((200..215).contains(&time.as_millis()), "{time:?}");
    let mut opportunistic = with_cookie(&Profile::web_opt());
    let time = page_load(&mut opportunistic);
    assert!((100..110).contains(&time.as_millis()), "{time:?}");
    // Without a cookie the request takes the round trip that fetches one.
    let mut first_contact = Pair::new(1, &Profile::web_opt(), &LinkConfig::ideal(DELAY));
    let time = page_load(&mut first_contact);
    assert!((200..215).contains(&time.as_millis()), "{time:?}");
}

#[test]
fn a_cookie_that_was_handed_over_is_as_good_as_one_from_a_handshake_but_for_its_own_address_only() {
    for (address_is_right, low) in [(true, 100), (false, 200)] {
        let mut pair = Pair::new(1, &Profile::web_opt(), &LinkConfig::ideal(DELAY));
        let PathAddr { local: client, remote: server } = client_path(0);
        let address = if address_is_right { client.ip() } else { server.ip() };
        let cookie = pair.net.with(pair.server, |host, now| host.endpoint.cookie_for(now, address)).unwrap();
        pair.net.with(pair.client, |host, _| host.endpoint.remember_cookie(server, cookie));
        let time = page_load(&mut pair);
        assert!((low..low + 15).contains(&time.as_millis()), "{time:?}");
    }
}

// D4, R-OPT-2, R-OPT-3
#[test]
// R-OPT-4
fn opportunistic_survives_the_loss_of_syn_of_syn_ack_and_of_both_without_delay() {
    for (lose_syn, lose_syn_ack) in [(true, false), (false, true), (true, true)] {
        let mut pair = with_cookie(&Profile::web_opt());
        let (there, back) = pair.links[0];
        if lose_syn {
            pair.net.add_rule(there, DropRule::first(1, is_bare_syn));
        }
        if lose_syn_ack {
            pair.net.add_rule(back, DropRule::first(1, is_bare_syn_ack));
        }
        let time = page_load(&mut pair);
        assert!((100..110).contains(&time.as_millis()), "SYN {lose_syn}, SYN-ACK {lose_syn_ack}: {time:?}");
    }
}

// RFC 7413, section 4.1
#[test]
fn data_that_are_the_syn_wait_for_its_repetition_and_survive_the_loss_of_the_syn_ack() {
    let mut profile = Profile::web_opt().dissertation();
    profile.tuning.syn_first = false;
    for (lose_syn, lose_syn_ack, low, high) in [
        (false, false, 100, 110),
        (true, false, 3100, 3115),
        (false, true, 100, 110),
        (true, true, 3100, 3115),
    ] {
        let mut pair = with_cookie(&profile);
        let (there, back) = pair.links[0];
        if lose_syn {
            pair.net.add_rule(there, DropRule::first(1, |packet| has_flags(packet, Flags::SYN)));
        }
        if lose_syn_ack {
            pair.net.add_rule(back, DropRule::first(1, is_bare_syn_ack));
        }
        let time = page_load(&mut pair);
        assert!((low..high).contains(&time.as_millis()), "SYN {lose_syn}, SYN-ACK {lose_syn_ack}: {time:?}");
    }
}

// D11, R-CM-4
#[test]
fn a_lost_syn_costs_one_second_in_three_way_and_three_in_the_dissertation() {
    for (profile, low, high) in
        [(Profile::file_arq(), 1075, 1340), (Profile::file_arq().dissertation(), 3200, 3215)]
    {
        for rule in [is_bare_syn as fn(&Packet) -> bool, is_bare_syn_ack] {
            let mut pair = Pair::new(1, &profile, &LinkConfig::ideal(DELAY));
            let (there, back) = pair.links[0];
            pair.net.add_rule(there, DropRule::first(1, rule));
            pair.net.add_rule(back, DropRule::first(1, rule));
            let time = page_load(&mut pair);
            assert!((low..high).contains(&time.as_millis()), "{profile}: {time:?}");
        }
    }
}

#[test]
fn a_lost_third_acknowledgement_costs_nothing_when_data_follow() {
    let mut pair = Pair::new(1, &Profile::file_arq(), &LinkConfig::ideal(DELAY));
    pair.net.add_rule(
        pair.links[0].0,
        DropRule::first(1, |packet| has_flags(packet, Flags::ACK) && !has_payload(packet)),
    );
    let time = page_load(&mut pair);
    assert!((200..215).contains(&time.as_millis()), "{time:?}");
}

#[test]
fn a_server_that_speaks_first_gets_through_although_the_third_acknowledgement_is_lost() {
    let mut pair = Pair::new(1, &Profile::file_arq(), &LinkConfig::ideal(DELAY));
    pair.net.add_rule(pair.links[0].0, DropRule::first(1, |packet| has_flags(packet, Flags::ACK)));
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(3));
    let accepted = pair.accepted().expect("the acknowledgement is repeated");
    pair.send(pair.server, accepted, vec![3; 100]).unwrap();
    pair.net.run_for(Duration::from_secs(1));
    assert_eq!(pair.receive(pair.client, conn).len(), 1);
}

// D9, R-OPT-8
#[test]
fn early_data_are_marked_and_later_data_are_not() {
    let mut pair = with_cookie(&Profile::web_opt());
    let conn = pair.connect();
    pair.send(pair.client, conn, vec![1; 100]).unwrap();
    pair.net.run_for(MS * 60);
    let accepted = pair.accepted().expect("the cookie opens the connection");
    let first = pair.receive(pair.server, accepted);
    assert!(first.len() == 1 && first[0].early);
    pair.net.run_for(MS * 200);
    pair.send(pair.client, conn, vec![1; 100]).unwrap();
    pair.net.run_for(MS * 60);
    let later = pair.receive(pair.server, accepted);
    assert!(later.len() == 1 && !later[0].early);
}

// D7, R-OPT-5
#[test]
// R-OPT-1
fn a_cookie_that_the_server_no_longer_knows_is_replaced_and_nothing_is_lost() {
    let mut pair = with_cookie(&Profile::web_opt());
    // Two days later every cookie has expired.
    pair.net.run_for(Duration::from_secs(48 * 3600));
    let time = page_load(&mut pair);
    assert!((200..215).contains(&time.as_millis()), "{time:?}");
    assert_eq!(pair.net.host(pair.server).endpoint.stats().cookies_refused, 2, "SYN and doubled SYN");
}

// D2, R-NUM-3
#[test]
fn initial_numbers_differ_between_seeds() {
    assert_ne!(first_syn(1), first_syn(2));
}

/// The initial number of the first connection of a client with this seed.
fn first_syn(seed: u64) -> u32 {
    let mut endpoint = restp_proto::Endpoint::new(Default::default(), [seed as u8; 32]);
    let composition = Profile::file_arq().validate().unwrap();
    endpoint.connect(Instant::ZERO, restp_sim::pair::client_path(0), 1, 2, &composition).unwrap();
    let mut out = Vec::new();
    endpoint.poll_transmit(Instant::ZERO, 1, &mut out).expect("a SYN");
    let decoded = Wire::decode(&out, None).unwrap();
    assert!(decoded.packet.header.flow.contains(Flow::CON));
    decoded.packet.sequence.number().expect("a SYN is numbered")
}

// R-CM-4
#[test]
fn an_attempt_without_answer_fails_after_six_tries() {
    let mut pair = Pair::new(1, &Profile::file_arq(), &LinkConfig::ideal(DELAY));
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, |_| true));
    pair.connect();
    pair.net.run_for(Duration::from_secs(200));
    let events = pair.net.with(pair.client, |host, _| host.take_events());
    let reason = restp_proto::EventKind::Closed(restp_proto::CloseReason::TimedOut);
    assert!(events.iter().any(|event| event.kind == reason), "{events:?}");
    assert_eq!(pair.net.link_stats(pair.links[0].0).scripted, 6);
}

// R-CM-9
#[test]
fn a_port_without_listener_refuses() {
    let mut pair = Pair::new(1, &Profile::file_arq(), &LinkConfig::ideal(DELAY));
    pair.net.with(pair.server, |host, _| host.endpoint.unlisten(restp_sim::pair::SERVER_PORT));
    pair.connect();
    pair.net.run_for(Duration::from_secs(1));
    let events = pair.net.with(pair.client, |host, _| host.take_events());
    let reason = restp_proto::EventKind::Closed(restp_proto::CloseReason::NotListening);
    assert!(events.iter().any(|event| event.kind == reason), "{events:?}");
}

// R-CM-3, R-CM-9
#[test]
fn services_that_a_listener_does_not_take_are_told_from_a_port_without_listener() {
    let link = LinkConfig::ideal(DELAY);
    let config = restp_proto::EndpointConfig::default();
    let own = Profile { crc: false, ..Profile::file_arq() };
    let mut pair = Pair::with_config(1, &Profile::file_arq(), &own, &[(link.clone(), link)], &config);
    pair.net.with(pair.server, |host, _| {
        host.endpoint.unlisten(restp_sim::pair::SERVER_PORT);
        host.endpoint.listen(restp_sim::pair::SERVER_PORT, own.validate().unwrap(), true).unwrap();
    });
    pair.connect();
    pair.net.run_for(Duration::from_secs(1));
    let events = pair.net.with(pair.client, |host, _| host.take_events());
    let reason = restp_proto::EventKind::Closed(restp_proto::CloseReason::Refused);
    assert!(events.iter().any(|event| event.kind == reason), "{events:?}");
}

// R-OPT-9
#[test]
fn an_answer_longer_than_an_unproven_client_may_get_waits_and_arrives_whole() {
    let mut pair = with_cookie(&Profile::web_opt());
    // Old enough that the address may have gone to somebody else.
    pair.net.run_for(Duration::from_secs(600));
    let (client, server) = (pair.client, pair.server);
    let conn = pair.connect();
    pair.send(client, conn, "GET everything").unwrap();
    let answer: Vec<u8> = (0..100_000).map(restp_sim::pair::pattern).collect();
    let (mut answered, mut received) = (false, Vec::new());
    for _ in 0..2000 {
        if let Some(accepted) = pair.accepted()
            && !pair.receive(server, accepted).is_empty()
        {
            pair.send(server, accepted, answer.clone()).unwrap();
            answered = true;
        }
        received.extend(pair.receive(client, conn).into_iter().flat_map(|message| message.payload));
        pair.net.run_for(MS);
    }
    assert!(answered && received == answer, "{} bytes", received.len());
}
