//! Ends that have closed: what their peers repeat gets its answer, wherever it comes from, and nobody else is taken for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::Duration;

use restp_proto::profile::Protection;
use restp_proto::{CloseReason, ConnId, EndpointConfig, Profile};
use restp_sim::pair::{Pair, SERVER_PORT, UDP_PORT, client_path};
use restp_sim::{DropRule, HostId, LinkConfig, Packet};

use super::moving::{common_keys, count_bytes_to, newest_from_client, profiles};
use super::rebinding::{end_of, go_on_from, present_port, without_keepalive};

const MS: Duration = Duration::from_millis(1);

/// Two ends that are connected, and do not ask of their own accord whether the other is there.
fn connected(profile: &Profile) -> (Pair, ConnId, ConnId) {
    let mut pair = with_keys(profile);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("it is connected");
    (pair, conn, accepted)
}

fn close(pair: &mut Pair, (host, conn): (HostId, ConnId)) {
    pair.net.with(host, |host, now| host.endpoint.close(now, conn));
    pair.net.run_for(MS * 20);
}

fn received_bytes(pair: &mut Pair, (host, conn): (HostId, ConnId)) -> usize {
    pair.receive(host, conn).iter().map(|message| message.payload.len()).sum()
}

const GRACEFUL: Option<CloseReason> = Some(CloseReason::Graceful);

// R-CM-5
#[test]
fn an_end_that_has_closed_answers_its_peer_wherever_that_goes_on() {
    for profile in profiles().into_iter().map(without_keepalive) {
        let (mut pair, conn, accepted) = connected(&profile);
        let (client, server) = ((pair.client, conn), (pair.server, accepted));
        let present = present_port(&mut pair);
        close(&mut pair, server);
        // Everything arrives, and the server, which closed first, is at its end, but the client does not hear of it.
        present.store(0, Ordering::Relaxed);
        pair.send(client.0, conn, vec![7; 5000]).unwrap();
        close(&mut pair, client);
        assert_eq!(end_of(&pair, server), GRACEFUL, "{profile}");
        go_on_from(&mut pair, conn, &present, UDP_PORT + 1);
        pair.net.run_for(MS * 100);
        assert_eq!(end_of(&pair, client), GRACEFUL, "{profile}");
        assert_eq!(received_bytes(&mut pair, server), 5000, "{profile}");
    }
}

// R-CM-5
#[test]
fn an_end_that_has_closed_answers_at_the_addresses_it_left() {
    for profile in profiles().into_iter().map(without_keepalive) {
        let (mut pair, conn, accepted) = connected(&profile);
        let (client, server) = ((pair.client, conn), (pair.server, accepted));
        close(&mut pair, client);
        // The server hears nothing of the client's move, nor that what it sends to the address before has arrived.
        let silent = Arc::new(AtomicBool::new(true));
        let is_silent = Arc::clone(&silent);
        let rule = DropRule::first(u64::MAX, move |_| is_silent.load(Ordering::Relaxed));
        pair.net.add_rule(pair.links[0].0, rule);
        go_on_from(&mut pair, conn, &AtomicU16::default(), UDP_PORT + 1);
        pair.send(server.0, accepted, vec![7; 5000]).unwrap();
        close(&mut pair, server);
        assert_eq!(end_of(&pair, client), GRACEFUL, "{profile}");
        silent.store(false, Ordering::Relaxed);
        pair.net.run_for(Duration::from_secs(1));
        assert_eq!(end_of(&pair, server), GRACEFUL, "{profile}");
        assert_eq!(received_bytes(&mut pair, client), 5000, "{profile}");
    }
}

// R-CM-5, R-SEC-1
#[test]
fn a_copy_of_a_packet_of_a_closed_connection_is_worth_no_more_than_itself() {
    for profile in profiles() {
        let (mut pair, conn, accepted) = connected(&profile);
        let (client, server) = ((pair.client, conn), (pair.server, accepted));
        let newest = newest_from_client(&mut pair);
        close(&mut pair, server);
        pair.send(client.0, conn, vec![7; 100]).unwrap();
        close(&mut pair, client);
        assert_eq!([client, server].map(|end| end_of(&pair, end)), [GRACEFUL; 2], "{profile}");
        let end = newest.lock().unwrap().take().expect("the end of its data");
        let victim: std::net::SocketAddr = "203.0.113.9:4000".parse().unwrap();
        let sent_bytes = count_bytes_to(&mut pair, victim.ip());
        // Sealed, the one was seen before and the other is nobody's; in clear text both pass for a repetition.
        let mut forged = end.clone();
        let sealed = profile.protection == Protection::Protected;
        if sealed {
            // The last octet of the packet number.
            forged.data[19] ^= 0x40;
        }
        let injected = end.data.len() + forged.data.len();
        for copy in [end, forged] {
            pair.net.inject(Packet { source: victim, ..copy });
        }
        pair.net.run_for(MS * 200);
        let got = sent_bytes.load(Ordering::Relaxed);
        assert!(if sealed { got == 0 } else { got > 0 && got <= injected * 3 }, "{profile}: {got} bytes");
        let stats = pair.net.host(pair.server).endpoint.stats();
        assert_eq!((stats.resets_sent, stats.rebindings), (0, 0), "{profile}");
    }
}

// R-CM-5
#[test]
fn a_peer_comes_again_from_the_same_ports_while_its_last_connection_is_remembered() {
    for profile in profiles() {
        let mut pair = with_keys(&profile);
        for round in 0..3 {
            let (client, server) = connect_from_one_port(&mut pair, &profile, round);
            assert_eq!(received_bytes(&mut pair, server), 100, "{profile}, round {round}");
            close(&mut pair, server);
            close(&mut pair, client);
            assert_eq!(end_of(&pair, server), GRACEFUL, "{profile}, round {round}");
            pair.net.with(pair.server, |host, _| host.take_events());
        }
    }
}

// R-CM-5
#[test]
fn a_peer_comes_again_from_the_same_ports_though_nobody_has_read_what_it_sent_before() {
    for profile in profiles() {
        let mut pair = with_keys(&profile);
        let mut ends = Vec::new();
        for round in 0..3 {
            let (client, server) = connect_from_one_port(&mut pair, &profile, round);
            close(&mut pair, server);
            close(&mut pair, client);
            assert_eq!(end_of(&pair, server), GRACEFUL, "{profile}, round {round}");
            ends.push(server);
        }
        let (_, newest) = connect_from_one_port(&mut pair, &profile, 3);
        // The ends of those before are told when they are read, and take nothing away from the newest.
        for (round, server) in (0..).zip(ends) {
            let got = pair.receive(server.0, server.1);
            assert!(
                got.len() == 1 && got[0].payload == vec![round; 100],
                "{profile}, round {round}: {got:?}"
            );
        }
        pair.net.with(pair.server, |host, _| host.take_events());
        assert_eq!(pair.net.host(pair.server).endpoint.connections(), 1, "{profile}");
        assert_eq!(received_bytes(&mut pair, newest), 100, "{profile}");
        close(&mut pair, newest);
        assert_eq!(pair.net.host(pair.server).endpoint.stats().resets_sent, 0, "{profile}");
    }
}

fn with_keys(profile: &Profile) -> Pair {
    let config = EndpointConfig { keys: common_keys(), ..EndpointConfig::default() };
    let link = LinkConfig::ideal(MS);
    Pair::with_config(31, profile, profile, &[(link.clone(), link)], &config)
}

/// A connection from a port that is always the same, over which 100 bytes have come, each of them `content`.
fn connect_from_one_port(
    pair: &mut Pair,
    profile: &Profile,
    content: u8,
) -> ((HostId, ConnId), (HostId, ConnId)) {
    let composition = profile.clone().validate().unwrap();
    let before = pair.accepted();
    let conn = pair.net.with(pair.client, |host, now| {
        host.endpoint.connect(now, client_path(0), 50_000, SERVER_PORT, &composition).unwrap()
    });
    pair.send(pair.client, conn, vec![content; 100]).unwrap();
    pair.net.run_for(MS * 100);
    let accepted = pair.accepted().filter(|accepted| Some(*accepted) != before).expect("it is connected");
    ((pair.client, conn), (pair.server, accepted))
}

// R-CM-5, R-CM-9
#[test]
fn an_end_that_was_aborted_is_not_remembered_as_one_that_closed() {
    let (mut pair, conn, accepted) = connected(&Profile::file_arq());
    let client = (pair.client, conn);
    close(&mut pair, client);
    // The reset is lost; what the server sends is not taken.
    pair.net.add_rule(pair.links[0].0, DropRule::first(1, |_| true));
    pair.net.with(pair.client, |host, now| host.endpoint.abort(now, conn));
    pair.send(pair.server, accepted, vec![7; 100]).unwrap();
    pair.net.run_for(Duration::from_secs(1));
    assert_eq!(end_of(&pair, (pair.server, accepted)), Some(CloseReason::Reset));
}
