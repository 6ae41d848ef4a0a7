//! Peers whose address changes: translators that forget, and strangers that pretend.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::Tuning;
use restp_sim::restp::{Pair, client_ip, server_ip};
use restp_sim::{DropRule, LinkConfig, Packet};

const MS: Duration = Duration::from_millis(1);

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
    let data: Vec<u8> = (0..2_000_000).map(restp_sim::restp::pattern).collect();
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

// R-ENCAP-3, R-SEC-1
#[test]
fn a_new_address_gets_at_most_three_times_what_came_from_it_until_it_answers() {
    let link = LinkConfig::new(5_000_000, MS * 10);
    let mut pair = Pair::new(31, &Profile::file_arq(), &link);
    let seen: Arc<Mutex<Vec<Packet>>> = Arc::default();
    let tap = Arc::clone(&seen);
    let note = move |packet: &Packet| {
        tap.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, note));
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake succeeds");
    pair.send(pair.server, accepted, vec![7; 1_000_000]).unwrap();
    pair.net.run_for(MS * 300);
    // Somebody who can see the packets repeats the newest in the name of a victim.
    let mut copy = seen.lock().unwrap().last().expect("acknowledgements").clone();
    copy.source = "203.0.113.9:4000".parse().unwrap();
    let (victim, injected) = (copy.source.ip(), copy.data.len());
    let to_victim = pair.net.add_link(LinkConfig::ideal(MS));
    pair.net.route(server_ip(0), victim, &[to_victim]);
    let sent_bytes = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent_bytes);
    let note = move |packet: &Packet| {
        count.fetch_add(packet.data.len(), Ordering::Relaxed);
        false
    };
    pair.net.add_rule(to_victim, DropRule::first(u64::MAX, note));
    pair.net.inject(copy);
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 1);
    // The peer has nothing more to say, so nothing leads the connection back.
    pair.net.with(pair.client, |host, now| host.endpoint.forget(now, conn));
    pair.net.run_for(Duration::from_secs(20));
    let got = sent_bytes.load(Ordering::Relaxed);
    assert!(got > 0 && got <= injected * 3, "{got} bytes for {injected}");
}
