//! Several paths: joins, schedulers, failure and return, checks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{Congestion, Management, Paths, Scheduler, Tuning};
use restp_proto::wire::Packet as Wire;
use restp_proto::{ConnId, Dial, EndpointConfig, EventKind, Instant, PathId, Profile};
use restp_sim::pair::{Pair, client_ip, client_path, server_ip};
use restp_sim::{DropRule, LinkConfig, Loss, Outage, Packet};

const MS: Duration = Duration::from_millis(1);

fn profile(paths: Paths) -> Profile {
    Profile { paths, ..Profile::multipath() }
}

/// A connection over as many paths as `links` has.
pub fn joined(profile: &Profile, links: &[LinkConfig]) -> (Pair, ConnId, ConnId) {
    let links: Vec<_> = links.iter().map(|link| (link.clone(), link.clone())).collect();
    let mut pair = Pair::with_paths(31, profile, &links);
    let (conn, accepted) = join(&mut pair, links.len());
    (pair, conn, accepted)
}

/// Connects over the first `paths` paths of `pair`; the connection as either end knows it.
pub fn join(pair: &mut Pair, paths: usize) -> (ConnId, ConnId) {
    let conn = pair.connect();
    pair.net.run_for(MS * 500);
    for index in 1..paths as u8 {
        pair.net.with(pair.client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(index), false).unwrap();
        });
    }
    pair.net.run_for(MS * 500);
    let accepted = pair.accepted().expect("the handshake succeeds");
    for (host, id) in [(pair.client, conn), (pair.server, accepted)] {
        let usable =
            pair.net.host(host).endpoint.path_stats(id).iter().filter(|(_, path)| path.usable).count();
        assert_eq!(usable, paths);
    }
    (conn, accepted)
}

/// Sends `total` bytes and returns how long it takes, checking every byte.
pub fn download(pair: &mut Pair, conn: ConnId, accepted: ConnId, total: usize) -> Duration {
    let data: Vec<u8> = (0..total).map(restp_sim::pair::pattern).collect();
    let start = pair.net.now();
    let (client, server) = (pair.client, pair.server);
    let mut rest = bytes::Bytes::from(data.clone());
    let mut received = Vec::new();
    while received.len() < total {
        while !rest.is_empty() {
            let piece = rest.slice(..rest.len().min(50_000));
            if pair.send(client, conn, piece.clone()).is_err() {
                break;
            }
            rest = rest.slice(piece.len()..);
        }
        for message in pair.receive(server, accepted) {
            received.extend_from_slice(&message.payload);
        }
        pair.net.run_for(MS * 2);
        assert!(pair.net.now() - start < Duration::from_secs(300), "{} of {total} bytes", received.len());
    }
    assert!(received == data);
    pair.net.now() - start
}

// H2, H3, R-MP-1, R-MP-3, R-MPJ-1
#[test]
// R-MP-5
fn two_paths_are_joined_and_spreading_adds_their_rates() {
    let link = LinkConfig::new(5_000_000, MS * 20);
    let total = 4_000_000;
    let (mut one, conn, accepted) = joined(&profile(Paths::HotStandby), &[link.clone(), link.clone()]);
    let alone = download(&mut one, conn, accepted, total);
    for scheduler in [Scheduler::RoundRobin, Scheduler::FastestRtt] {
        let (mut two, conn, accepted) =
            joined(&profile(Paths::Spreading(scheduler)), &[link.clone(), link.clone()]);
        let together = download(&mut two, conn, accepted, total);
        assert!(
            together.as_secs_f64() < alone.as_secs_f64() * 0.65,
            "{scheduler:?}: {together:?} against {alone:?}"
        );
    }
}

#[test]
fn three_lossy_paths_deliver_everything_in_order() {
    for scheduler in [Scheduler::RoundRobin, Scheduler::FastestRtt] {
        let links =
            [(8_000_000, 10, 0.01), (3_000_000, 40, 0.03), (1_000_000, 120, 0.02)].map(|(rate, ms, loss)| {
                LinkConfig { loss: Loss::Bernoulli(loss), ..LinkConfig::new(rate, MS * ms) }
            });
        let (mut pair, conn, accepted) = joined(&profile(Paths::Spreading(scheduler)), &links);
        download(&mut pair, conn, accepted, 1_500_000);
    }
}

// A11, R-MP-6
#[test]
fn overflow_uses_the_second_path_only_when_the_first_is_full() {
    let link = LinkConfig::new(5_000_000, MS * 20);
    let (mut pair, conn, accepted) = joined(&profile(Paths::Overflow), &[link.clone(), link]);
    for _ in 0..50 {
        pair.send(pair.client, conn, vec![1; 500]).unwrap();
        pair.net.run_for(MS * 50);
        pair.receive(pair.server, accepted);
    }
    let quiet = pair.net.link_stats(pair.links[1].0).entered;
    download(&mut pair, conn, accepted, 2_000_000);
    let busy = pair.net.link_stats(pair.links[1].0).entered;
    assert!(quiet < 20 && busy > quiet + 300, "{quiet} then {busy}");
}

// H9, R-MP-7, R-MP-8
#[test]
// R-MP-13
fn hot_standby_switches_after_two_timeouts_or_at_once_by_dial_and_loses_nothing() {
    for by_dial in [false, true] {
        let link = LinkConfig::new(5_000_000, MS * 20);
        let (mut pair, conn, accepted) = joined(&profile(Paths::HotStandby), &[link.clone(), link.clone()]);
        let (there, back) = pair.links[0];
        let down = Outage { from: pair.net.now() + MS * 300, until: Instant::FAR_FUTURE };
        pair.net.link_mut(there).outages.push(down);
        pair.net.link_mut(back).outages.push(down);
        let start = pair.net.now();
        if by_dial {
            let client = pair.client;
            pair.send(client, conn, vec![0; 300_000]).unwrap();
            pair.net.run_until(down.from);
            pair.net.with(client, |host, now| host.endpoint.dial(now, conn, Dial::PathDown(client_path(0))));
            let mut got = 0;
            while got < 300_000 {
                pair.net.run_for(MS * 5);
                got += pair
                    .receive(pair.server, accepted)
                    .iter()
                    .map(|message| message.payload.len())
                    .sum::<usize>();
                assert!(pair.net.now() - start < Duration::from_secs(3), "{got}");
            }
        } else {
            let time = download(&mut pair, conn, accepted, 1_000_000);
            assert!(time < Duration::from_secs(6), "{time:?}");
        }
        let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
        assert!(stats.switch_overs == 1 && stats.reinjected > 0, "{stats:?}");
        let events = &pair.net.host(pair.client).events;
        assert!(events.iter().any(|event| event.kind == EventKind::PathDown(PathId(0))));
    }
}

// R-ARQ-6, R-MP-6
#[test]
fn the_round_trip_of_a_path_in_standby_is_that_of_an_answer_and_not_of_the_peer_s_own_probe() {
    // Both ends probe, and never at the same time.
    for other in [13, 17, 26, 33, 40] {
        let links = [LinkConfig::new(5_000_000, MS * 10), LinkConfig::new(5_000_000, MS * other)];
        let (mut pair, conn, accepted) = joined(&profile(Paths::HotStandby), &links);
        for _ in 0..400 {
            pair.send(pair.client, conn, vec![1; 500]).unwrap();
            pair.net.run_for(MS * 50);
            pair.receive(pair.server, accepted);
        }
        for (host, id) in [(pair.client, conn), (pair.server, accepted)] {
            let (_, path) = &pair.net.host(host).endpoint.path_stats(id)[1];
            let srtt = path.srtt.unwrap();
            assert!(srtt >= MS * other * 2 && srtt < MS * (other * 2 + 5), "{srtt:?} of {other} ms one way");
        }
    }
}

// H9, R-MP-7
#[test]
fn a_path_that_comes_back_is_used_again_after_it_has_proved_itself() {
    let link = LinkConfig::new(5_000_000, MS * 20);
    let (mut pair, conn, accepted) = joined(&profile(Paths::HotStandby), &[link.clone(), link]);
    let (there, back) = pair.links[0];
    let down = Outage { from: pair.net.now(), until: pair.net.now() + Duration::from_secs(5) };
    pair.net.link_mut(there).outages.push(down);
    pair.net.link_mut(back).outages.push(down);
    download(&mut pair, conn, accepted, 500_000);
    let is_up = |pair: &Pair| {
        pair.net
            .host(pair.client)
            .endpoint
            .path_stats(conn)
            .iter()
            .any(|(id, path)| *id == PathId(0) && path.usable)
    };
    assert!(!is_up(&pair));
    pair.net.run_until(down.until + Duration::from_secs(4));
    assert!(!is_up(&pair), "too early: hysteresis");
    pair.net.run_until(down.until + Duration::from_secs(10));
    assert!(is_up(&pair));
    let before = pair.net.link_stats(there).entered;
    download(&mut pair, conn, accepted, 500_000);
    assert!(pair.net.link_stats(there).entered > before + 300, "the first path is preferred again");
}

// H9
#[test]
fn spreading_survives_the_failure_of_one_path() {
    let link = LinkConfig::new(5_000_000, MS * 20);
    let (mut pair, conn, accepted) =
        joined(&profile(Paths::Spreading(Scheduler::RoundRobin)), &[link.clone(), link]);
    let (there, back) = pair.links[1];
    let down = Outage { from: pair.net.now() + MS * 500, until: Instant::FAR_FUTURE };
    pair.net.link_mut(there).outages.push(down);
    pair.net.link_mut(back).outages.push(down);
    let time = download(&mut pair, conn, accepted, 3_000_000);
    assert!(time < Duration::from_secs(9), "{time:?}");
}

/// Before an outage the window says what the path takes; what goes out in it, a packet at a time, says nothing.
// R-CC-2
#[test]
fn a_timeout_halves_the_threshold_once_and_each_further_one_after_progress_again() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    let mut link = LinkConfig::new(10_000_000, MS * 20);
    link.outages = [(3, 9), (12, 18)].map(|(from, until)| Outage { from: at(from), until: at(until) }).into();
    let profile = Profile { congestion: Congestion::NewReno, ..Profile::file_arq() };
    let mut pair = Pair::new(5, &profile, &link);
    let (conn, accepted) = join(&mut pair, 1);
    let told = |pair: &Pair| {
        let stats = &pair.net.host(pair.client).endpoint.path_stats(conn)[0].1;
        (stats.window_packets, stats.slow_start_threshold_packets)
    };
    for out_from in [3, 12] {
        greedy(&mut pair, conn, accepted, at(out_from));
        let (window, _) = told(&pair);
        assert!(window > 20, "{window}");
        greedy(&mut pair, conn, accepted, at(out_from + 5));
        let (left, threshold) = told(&pair);
        assert_eq!(left, 1, "several timeouts have passed");
        assert!(threshold.is_some_and(|it| it.abs_diff(window / 2) <= 2), "{threshold:?} of {window}");
    }
}

/// The client sends as much as goes until then.
fn greedy(pair: &mut Pair, conn: ConnId, accepted: ConnId, until: Instant) {
    let (client, server) = (pair.client, pair.server);
    while pair.net.now() < until {
        while pair.send(client, conn, bytes::Bytes::from_static(&[7; 50_000])).is_ok() {}
        pair.receive(server, accepted);
        pair.net.run_for(MS * 2);
    }
}

/// Time-outs in a row say once how much the path took: what came after the first was a packet at a time.
// R-CC-2
#[test]
fn a_path_that_was_out_for_long_has_its_rate_again_soon_after_it_is_used() {
    let link = LinkConfig::new(10_000_000, MS * 20);
    let (mut pair, conn, accepted) =
        joined(&profile(Paths::Spreading(Scheduler::RoundRobin)), &[link.clone(), link]);
    let start = pair.net.now();
    let at = |s| start + Duration::from_secs(s);
    for direction in [pair.links[1].0, pair.links[1].1] {
        pair.net.link_mut(direction).outages.push(Outage { from: at(3), until: at(9) });
    }
    let there = pair.links[1].0;
    let mut entered = |until| {
        greedy(&mut pair, conn, accepted, until);
        pair.net.link_stats(there).entered
    };
    let alone = entered(at(2));
    let before = entered(at(3)) - alone;
    let waiting = entered(at(16));
    let after = entered(at(17)) - waiting;
    assert!(after * 10 > before * 9, "{after} packets in a second; before it was out {before}");
}

/// What is lost while every path is out tells no more than the first timeout did, and a pace that one packet's window set
/// ends with that window.
// R-CC-2, R-MP-8
#[test]
fn where_every_path_was_out_the_one_that_is_left_has_its_rate_within_a_second_and_the_others_when_they_are_used()
 {
    for rate_bps in [5_000_000, 40_000_000] {
        let links = [13, 16, 21].map(|ms| LinkConfig::new(rate_bps, MS * ms));
        let (mut pair, conn, accepted) = joined(&profile(Paths::Spreading(Scheduler::RoundRobin)), &links);
        let start = pair.net.now();
        let at = |s| start + Duration::from_secs(s);
        for (there, back) in pair.links.clone() {
            for direction in [there, back] {
                pair.net.link_mut(direction).outages.push(Outage { from: at(4), until: at(16) });
            }
        }
        let there: Vec<_> = pair.links.iter().map(|(there, _)| *there).collect();
        let mut entered = |from, until| -> Vec<u64> {
            let mut counts = |until| {
                greedy(&mut pair, conn, accepted, until);
                there.iter().map(|link| pair.net.link_stats(*link).entered).collect::<Vec<_>>()
            };
            let before = counts(from);
            counts(until).iter().zip(before).map(|(after, before)| after - before).collect()
        };
        let carried = entered(at(3), at(4)).into_iter().max().unwrap();
        let first = entered(at(17), at(18)).into_iter().max().unwrap();
        assert!(first * 10 > carried * 8, "{first} packets in a second; before they were out {carried}");
        let later = entered(at(23), at(24));
        assert!(
            later.iter().all(|it| it * 10 > carried * 8),
            "{later:?} packets; before they were out {carried}"
        );
    }
}

/// What is lost of what leaves after the first answer is the path of now, of which the timeout told nothing.
// R-CC-2
#[test]
fn a_path_that_is_slower_after_an_outage_is_not_overrun() {
    let at = |s| Instant::ZERO + Duration::from_secs(s);
    let outages = vec![Outage { from: at(5), until: at(10) }];
    let link = LinkConfig { outages, queue_packets: 400, ..LinkConfig::new(20_000_000, MS * 20) };
    let profile = Profile { congestion: Congestion::NewReno, ..Profile::file_arq() };
    let mut pair = Pair::new(1, &profile, &link);
    let (conn, accepted) = join(&mut pair, 1);
    greedy(&mut pair, conn, accepted, at(9));
    let there = pair.links[0].0;
    let slower = pair.net.link_mut(there);
    slower.rate_bps = Some(2_000_000);
    slower.queue_packets = 10;
    let before = pair.net.link_stats(there);
    greedy(&mut pair, conn, accepted, at(20));
    let after = pair.net.link_stats(there);
    let (entered, lost) = (after.entered - before.entered, after.overflow - before.overflow);
    assert!(entered > 1500 && lost * 5 < entered, "{lost} of {entered} packets lost to the queue");
}

// H6, H9, H10
#[test]
fn a_backup_brings_a_connection_to_its_end_when_the_first_path_is_gone_for_good() {
    for paths in
        [Paths::Spreading(Scheduler::FastestRtt), Paths::Spreading(Scheduler::RoundRobin), Paths::HotStandby]
    {
        let link = LinkConfig::new(5_000_000, MS * 20);
        let (mut pair, conn, accepted) = joined(&profile(paths), &[link.clone(), link]);
        pair.net.with(pair.client, |host, now| host.endpoint.set_backup(now, conn, PathId(1), true).unwrap());
        pair.net.run_for(MS * 200);
        let (there, back) = pair.links[0];
        let down = Outage { from: pair.net.now() + MS * 300, until: Instant::FAR_FUTURE };
        pair.net.link_mut(there).outages.push(down);
        pair.net.link_mut(back).outages.push(down);
        download(&mut pair, conn, accepted, 1_000_000);
        let (client, server) = (pair.client, pair.server);
        pair.net.with(client, |host, now| host.endpoint.close(now, conn));
        let seen = |pair: &Pair, host, wanted: &EventKind| {
            pair.net.host(host).events.iter().any(|event| event.kind == *wanted)
        };
        let start = pair.net.now();
        let graceful = EventKind::Closed(restp_proto::CloseReason::Graceful);
        while !(seen(&pair, client, &graceful) && seen(&pair, server, &graceful)) {
            pair.net.run_for(MS * 10);
            if seen(&pair, server, &EventKind::Finished) {
                pair.net.with(server, |host, now| host.endpoint.close(now, accepted));
            }
            let waited = pair.net.now() - start;
            assert!(
                waited < Duration::from_secs(15),
                "{paths:?}: {:?} {:?}",
                pair.net.host(client).events,
                pair.net.host(server).events
            );
        }
    }
}

// A9, R-CC-6
#[test]
fn lia_takes_less_than_uncoupled_newreno_where_paths_share_a_bottleneck() {
    let total = |congestion| {
        let link = LinkConfig::ideal(MS * 5);
        let profile = Profile { congestion, ..profile(Paths::Spreading(Scheduler::RoundRobin)) };
        let mut pair = Pair::with_paths(31, &profile, &[(link.clone(), link.clone()), (link.clone(), link)]);
        let shared = LinkConfig { queue_packets: 60, ..LinkConfig::new(10_000_000, MS * 20) };
        let bottleneck = pair.net.add_link(shared);
        for index in 0..2 {
            pair.net.route(client_ip(index), server_ip(index), &[bottleneck]);
        }
        let conn = pair.connect();
        pair.net.run_for(MS * 500);
        pair.net.with(pair.client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(1), false).unwrap()
        });
        pair.net.run_for(MS * 500);
        let accepted = pair.accepted().unwrap();
        download(&mut pair, conn, accepted, 10_000_000);
        pair.net.link_stats(bottleneck).overflow
    };
    let (coupled, uncoupled) = (total(Congestion::Lia), total(Congestion::NewReno));
    assert!(coupled < uncoupled, "losses caused: {coupled} against {uncoupled}");
}

// H6, R-MPP-1
#[test]
fn h6_a_path_can_be_made_a_backup_later() {
    let link = LinkConfig::new(5_000_000, MS * 20);
    let (mut pair, conn, accepted) =
        joined(&profile(Paths::Spreading(Scheduler::RoundRobin)), &[link.clone(), link]);
    pair.net.with(pair.client, |host, now| host.endpoint.set_backup(now, conn, PathId(1), true).unwrap());
    pair.net.run_for(MS * 200);
    let server = &pair.net.host(pair.server).endpoint;
    assert!(server.path_stats(accepted).iter().any(|(id, path)| *id == PathId(1) && path.backup));
    let before = pair.net.link_stats(pair.links[1].0).entered;
    download(&mut pair, conn, accepted, 500_000);
    assert!(pair.net.link_stats(pair.links[1].0).entered < before + 20);
}

// H10, R-MP-10
#[test]
fn h10_the_end_of_data_and_of_every_path_is_graceful() {
    let link = LinkConfig { loss: Loss::Bernoulli(0.1), ..LinkConfig::new(5_000_000, MS * 20) };
    for seed in 0..5 {
        let profile = profile(Paths::Spreading(Scheduler::RoundRobin));
        let mut pair =
            Pair::with_paths(seed, &profile, &[(link.clone(), link.clone()), (link.clone(), link.clone())]);
        let transferred = pair.transfer(100_000, Duration::from_secs(200));
        transferred.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        for host in [pair.client, pair.server] {
            let events = &pair.net.host(host).events;
            let graceful = EventKind::Closed(restp_proto::CloseReason::Graceful);
            assert!(events.iter().any(|event| event.kind == graceful), "seed {seed}: {events:?}");
        }
    }
}

// R-MP-4, R-CM-9
#[test]
fn joins_beyond_the_limit_are_refused_at_once() {
    let link = LinkConfig::ideal(MS * 10);
    let links: Vec<_> = (0..7).map(|_| (link.clone(), link.clone())).collect();
    let mut pair = Pair::with_paths(31, &profile(Paths::Spreading(Scheduler::RoundRobin)), &links);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    for index in 1..7 {
        pair.net.with(pair.client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(index), false).unwrap();
        });
    }
    pair.net.run_for(MS * 200);
    let events = &pair.net.host(pair.client).events;
    let count = |wanted: fn(&EventKind) -> bool| events.iter().filter(|event| wanted(&event.kind)).count();
    let up = count(|kind| matches!(kind, EventKind::PathUp(_)));
    let down = count(|kind| matches!(kind, EventKind::PathDown(_)));
    assert_eq!((up, down), (4, 2), "{events:?}");
}

#[test]
fn an_event_tells_when_paths_can_be_opened() {
    for profile in
        [Profile::multipath(), Profile { management: Management::Opportunistic, ..Profile::multipath() }]
    {
        let link = LinkConfig::ideal(MS * 10);
        let mut pair = Pair::with_paths(31, &profile, &[(link.clone(), link.clone()), (link.clone(), link)]);
        let conn = pair.connect();
        let allowed = |host: &restp_sim::pair::RestpHost| {
            host.events.iter().any(|event| event.kind == EventKind::PathsAllowed)
        };
        let (client, server) = (pair.client, pair.server);
        assert!(pair.net.run_while(Duration::from_secs(2), |net| allowed(net.host(client))));
        pair.net.with(client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(1), false).expect("it was allowed");
        });
        pair.net.run_for(MS * 200);
        assert!(!allowed(pair.net.host(server)), "only the side that connected opens paths");
    }
}

// C4, R-DSS-4
#[test]
fn c4_checks_of_every_payload_are_in_force_if_either_end_asks() {
    let plain = Profile { crc: false, ..profile(Paths::Spreading(Scheduler::RoundRobin)) };
    let asking = Profile { tuning: Tuning { path_checks: true, ..plain.tuning.clone() }, ..plain.clone() };
    let noisy = LinkConfig { bit_error_ratio: 2e-6, ..LinkConfig::new(5_000_000, MS * 10) };
    for (client, server, checked) in
        [(&plain, &plain, false), (&asking, &plain, true), (&plain, &asking, true), (&asking, &asking, true)]
    {
        let link = if checked { noisy.clone() } else { LinkConfig::ideal(MS * 10) };
        let links = [(link.clone(), link.clone()), (link.clone(), link)];
        let mut pair = Pair::with_config(5, client, server, &links, &EndpointConfig::default());
        let seen: Arc<Mutex<(u32, u32)>> = Arc::default();
        for index in 0..2 {
            let tap = Arc::clone(&seen);
            let note = move |packet: &Packet| {
                let decoded = Wire::decode(&packet.data, None).expect("our own packets are legal");
                let mapping = decoded.packet.dss.and_then(|dss| dss.mapping);
                if !decoded.packet.payload.is_empty() {
                    let mut counts = tap.lock().unwrap();
                    match mapping.and_then(|mapping| mapping.payload_crc) {
                        Some(_) => counts.0 += 1,
                        None => counts.1 += 1,
                    }
                }
                false
            };
            pair.net.add_rule(pair.links[index].0, DropRule::first(u64::MAX, note));
        }
        let conn = pair.connect();
        pair.net.run_for(MS * 500);
        pair.net.with(pair.client, |host, now| {
            host.endpoint.open_path(now, conn, client_path(1), false).unwrap();
        });
        pair.net.run_for(MS * 500);
        let accepted = pair.accepted().expect("the handshake succeeds");
        download(&mut pair, conn, accepted, 1_000_000);
        let (with, without) = *seen.lock().unwrap();
        assert_eq!((with > 800, without > 800), (checked, !checked), "{with} with, {without} without");
        assert!(!(checked && without > 0), "{without} without a check");
        let stats = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap();
        assert_eq!(stats.corrupt_payloads > 0, checked, "{stats:?}");
    }
}

// R-ARQ-5
#[test]
fn a_round_trip_that_grows_twentyfold_is_not_taken_for_the_loss_of_everything() {
    // As when a train leaves the last cell and a satellite carries on: 10 ms, then 200 ms.
    for congestion in [Congestion::Cubic, Congestion::NewReno] {
        let link = LinkConfig { queue_packets: 40, ..LinkConfig::new(5_000_000, MS * 5) };
        let profile = Profile { congestion, ..Profile::file_arq() };
        let (mut pair, conn, accepted) = joined(&profile, std::slice::from_ref(&link));
        download(&mut pair, conn, accepted, 1_000_000);
        let (there, back) = pair.links[0];
        for direction in [there, back] {
            pair.net.link_mut(direction).delay = MS * 100;
        }
        let repeated =
            |pair: &Pair| pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap().retransmitted;
        let before = repeated(&pair);
        let time = download(&mut pair, conn, accepted, 5_000_000);
        let again = repeated(&pair) - before;
        assert!(
            time < Duration::from_secs(25) && again < 300,
            "{time:?}, {again} of 4281 packets sent again"
        );
    }
}
