//! Packets that arrive long after their connection has ended.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::wire::Flags;
use restp_proto::{ConnId, EventKind, Profile};
use restp_sim::pair::{Pair, has_flags, has_payload};
use restp_sim::{DropRule, LinkConfig, Packet};

const MS: Duration = Duration::from_millis(1);
const ORDER: &[u8] = b"Transfer 100 EUR";

/// Plays a connection to its end and returns what the client sent.
fn played(pair: &mut Pair, abort: bool) -> Vec<Packet> {
    let seen: Arc<Mutex<Vec<Packet>>> = Arc::default();
    let tap = Arc::clone(&seen);
    let note = move |packet: &Packet| {
        tap.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, note));
    let conn = pair.connect();
    pair.send(pair.client, conn, ORDER.to_vec()).unwrap();
    pair.net.run_for(MS * 200);
    finish(pair, conn, abort);
    std::mem::take(&mut *seen.lock().unwrap())
}

/// Reads the order and ends the connection on both sides.
fn finish(pair: &mut Pair, conn: ConnId, abort: bool) {
    let accepted = pair.accepted().expect("the handshake succeeds");
    assert_eq!(pair.receive(pair.server, accepted)[0].payload, ORDER);
    for (host, conn) in [(pair.server, accepted), (pair.client, conn)] {
        pair.net.with(host, |host, now| {
            if abort { host.endpoint.abort(now, conn) } else { host.endpoint.close(now, conn) }
        });
        pair.net.run_for(MS * 100);
    }
    pair.net.with(pair.server, |host, _| host.take_events());
    assert_eq!(pair.net.host(pair.server).endpoint.connections(), 0);
}

/// Lets `late` arrive, and says whether a connection was opened by it.
fn opens(pair: &mut Pair, late: &[Packet]) -> bool {
    for packet in late.iter().chain(late.iter().rev()) {
        pair.net.inject(packet.clone());
        pair.net.run_for(MS * 30);
    }
    let events = pair.net.with(pair.server, |host, _| host.take_events());
    events.iter().any(|event| matches!(event.kind, EventKind::Accepted { .. }))
}

// D12, R-CM-10
#[test]
fn a_late_copy_of_a_closed_connection_opens_no_other() {
    for (profile, again) in
        [(Profile::file_arq(), false), (Profile::web_opt(), false), (Profile::web_opt(), true)]
    {
        for abort in [false, true] {
            for wait_s in [1, 30, 61, 100, 200] {
                let mut pair = Pair::new(4, &profile, &LinkConfig::ideal(MS * 10));
                if again {
                    // The second connection of an opportunistic client has a cookie.
                    played(&mut pair, abort);
                }
                let late = played(&mut pair, abort);
                pair.net.run_for(Duration::from_secs(wait_s));
                let opened = opens(&mut pair, &late);
                assert!(!opened, "{profile} abort {abort} after {wait_s} s");
            }
        }
    }
}

// R-CM-10
#[test]
fn the_memory_of_openings_is_bounded_and_fails_closed() {
    let config = restp_proto::EndpointConfig { max_openings: 4, ..Default::default() };
    let link = LinkConfig::ideal(MS * 10);
    let profile = Profile::file_arq();
    let mut pair = Pair::with_config(4, &profile, &profile, &[(link.clone(), link)], &config);
    // An aborted connection leaves nothing behind but what its opening left.
    let late = played(&mut pair, true);
    for _ in 0..10 {
        played(&mut pair, true);
    }
    assert!(!opens(&mut pair, &late));
}

// D9, R-OPT-7
#[test]
fn a_first_flight_that_was_turned_down_is_not_executed_by_a_late_copy() {
    for wait_s in [1, 200, 80_000] {
        let mut pair = Pair::new(4, &Profile::web_opt(), &LinkConfig::ideal(MS * 10));
        // The second connection of an opportunistic client has a cookie.
        played(&mut pair, false);
        let held: Arc<Mutex<Vec<Packet>>> = Arc::default();
        let hold = Arc::clone(&held);
        let rule = move |packet: &Packet| {
            let opening = has_flags(packet, Flags::SYN);
            if opening {
                hold.lock().unwrap().push(packet.clone());
            }
            opening
        };
        pair.net.add_rule(pair.links[0].0, DropRule::first(2, rule));
        let conn = pair.connect();
        pair.send(pair.client, conn, ORDER.to_vec()).unwrap();
        // Of its first flight nothing comes in time but the data, and they are damaged.
        let held = held.lock().unwrap().clone();
        let mut damaged = held.last().expect("a first flight").clone();
        assert!(has_payload(&damaged));
        *damaged.data.last_mut().unwrap() ^= 1;
        pair.net.inject(damaged);
        pair.net.run_for(Duration::from_secs(5));
        finish(&mut pair, conn, false);
        pair.net.run_for(Duration::from_secs(wait_s));
        assert!(!opens(&mut pair, &held), "after {wait_s} s");
    }
}
