//! What a sender does on a way that it has not used before: it begins anew, and at once.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use restp_proto::profile::Tuning;
use restp_proto::{PathId, Profile};
use restp_sim::LinkConfig;
use restp_sim::pair::{Pair, UDP_PORT, client_ip};

use super::moving::with_two_addresses;
use super::rebinding::{go_on_from, present_port};

const MS: Duration = Duration::from_millis(1);

/// How long the rest of a download takes after the client was `away` and went on from another port.
fn rest_after(profile: &Profile, away: Duration) -> Duration {
    let mut pair = Pair::new(31, profile, &LinkConfig::new(20_000_000, MS * 50));
    let present = present_port(&mut pair);
    let conn = pair.connect();
    pair.net.run_for(MS * 500);
    let accepted = pair.accepted().expect("it is connected");
    let size_bytes = 2_000_000;
    pair.send(pair.server, accepted, vec![7; size_bytes]).unwrap();
    pair.net.run_for(MS * 300);
    present.store(0, Ordering::Relaxed);
    pair.net.run_for(away);
    go_on_from(&mut pair, conn, &present, UDP_PORT + 1);
    let start = pair.net.now();
    let mut got = 0;
    while got < size_bytes {
        let took = pair.net.now() - start;
        assert!(took < Duration::from_secs(60), "{profile}: {got} bytes in {took:?}");
        pair.net.run_for(MS);
        got += pair.receive(pair.client, conn).iter().map(|message| message.payload.len()).sum::<usize>();
    }
    pair.net.now() - start
}

// R-ENCAP-5
#[test]
fn a_transfer_goes_on_at_once_where_its_peer_went_after_a_long_absence() {
    let without_probes = Tuning { tail_probe: false, ..Profile::file_arq().tuning };
    for profile in [Profile::file_arq(), Profile { tuning: without_probes, ..Profile::file_arq() }] {
        let prompt = rest_after(&profile, Duration::ZERO);
        let took = rest_after(&profile, Duration::from_secs(20));
        // In 20 s the timeout backs off to as much, and the window falls to 2 packets of 170.
        assert!(took < prompt + Duration::from_secs(1), "{took:?}, without absence {prompt:?}");
    }
}

// R-ENCAP-5
#[test]
fn a_long_way_is_not_timed_by_the_short_one_before() {
    let (near, far) = (LinkConfig::ideal(MS), LinkConfig::ideal(MS * 300));
    let paths = [(near.clone(), near), (far.clone(), far)];
    let mut pair = with_two_addresses(8, &Profile::file_arq(), &paths);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("it is connected");
    let download = |pair: &mut Pair, size_bytes, time| {
        pair.send(pair.server, accepted, vec![7; size_bytes]).unwrap();
        pair.net.run_for(time);
        let got: usize = pair.receive(pair.client, conn).iter().map(|message| message.payload.len()).sum();
        assert_eq!(got, size_bytes);
        let stats = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap();
        (stats.timeouts, stats.retransmitted)
    };
    assert_eq!(download(&mut pair, 20_000, MS * 500), (0, 0));
    let local = SocketAddr::new(client_ip(1), UDP_PORT);
    let moved =
        pair.net.with(pair.client, |host, now| host.endpoint.rebind_path(now, conn, PathId(0), local));
    assert_eq!(moved, Ok(()));
    pair.net.run_for(Duration::from_secs(3));
    assert_eq!(pair.net.host(pair.server).endpoint.stats().rebindings, 1);
    assert_eq!(download(&mut pair, 100_000, Duration::from_secs(5)), (0, 0), "nothing is lost there");
}
