//! Ends that an application brings about: with a number for the peer.

use std::time::Duration;

use restp_proto::profile::{Paths, Scheduler};
use restp_proto::{CloseReason, EventKind, Profile};
use restp_sim::pair::{Pair, has_payload};
use restp_sim::{DropRule, LinkConfig, Packet};

const MS: Duration = Duration::from_millis(1);

/// Why the server's connection ended after the client had aborted with `code`; `damage` hits packets on their way.
fn told(profile: &Profile, code: Option<u32>, rule: Option<DropRule>) -> Option<CloseReason> {
    let mut pair = Pair::new(4, profile, &LinkConfig::ideal(MS * 10));
    let conn = pair.connect();
    pair.send(pair.client, conn, vec![1; 100]).unwrap();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("it is connected");
    if let Some(rule) = rule {
        pair.net.add_rule(pair.links[0].0, rule);
    }
    pair.net.with(pair.client, |host, now| match code {
        Some(code) => host.endpoint.abort_with(now, conn, code),
        None => host.endpoint.abort(now, conn),
    });
    pair.net.run_for(MS * 200);
    let own = EventKind::Closed(CloseReason::Aborted);
    assert!(pair.net.host(pair.client).events.iter().any(|event| event.conn == conn && event.kind == own));
    pair.net.host(pair.server).events.iter().find_map(|event| match event.kind {
        EventKind::Closed(reason) if event.conn == accepted => Some(reason),
        _ => None,
    })
}

// R-CM-11
#[test]
fn the_peer_hears_the_number_of_the_application_in_every_kind_of_connection() {
    let spreading = Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() };
    let unchecked = Profile { crc: false, ..Profile::file_arq() };
    let profiles = [
        Profile::file_arq(),
        Profile::file_harq(),
        Profile::web_opt(),
        Profile::voice(),
        spreading,
        unchecked,
    ];
    for profile in profiles {
        for code in [0, 1, u32::MAX] {
            assert_eq!(told(&profile, Some(code), None), Some(CloseReason::Application(code)), "{profile}");
        }
        assert_eq!(told(&profile, None, None), Some(CloseReason::Reset), "{profile}");
    }
}

// R-CM-11
#[test]
fn the_number_is_told_once() {
    let lost = DropRule::first(1, |packet: &Packet| has_payload(packet));
    assert_eq!(told(&Profile::file_arq(), Some(7), Some(lost)), None);
}
