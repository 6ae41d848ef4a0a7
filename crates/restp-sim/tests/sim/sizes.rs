//! Path MTU discovery: what a path carries is found, kept to, and given up when it shrinks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{Paths, Scheduler, Tuning};
use restp_proto::wire::{Cookie, Flow, Packet as Wire};
use restp_proto::{ConnId, ConnStats, PathId, Profile};
use restp_sim::pair::{Pair, client_path, pattern};
use restp_sim::{DropRule, HostId, LinkConfig, Loss, Packet};

use super::moving::with_two_addresses;

const MS: Duration = Duration::from_millis(1);
/// Headers of IPv4 and UDP.
const OUTER_BYTES: usize = 28;
/// What the search may leave unused.
const STEP_BYTES: usize = 16;

fn searching(profile: Profile) -> Profile {
    let tuning = Tuning { search_packet_bytes: Some(1472), ..profile.tuning };
    Profile { tuning, ..profile }
}

fn link(mtu_bytes: usize) -> LinkConfig {
    LinkConfig { mtu_bytes, ..LinkConfig::new(20_000_000, MS * 10) }
}

/// Lengths of the packets that enter the link from client to server, and a limit beyond which they vanish.
fn watch(pair: &mut Pair, path: usize) -> (Arc<Mutex<Vec<usize>>>, Arc<AtomicUsize>) {
    let (seen, limit) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(usize::MAX)));
    let (copy, bound) = (Arc::clone(&seen), Arc::clone(&limit));
    let vanish = move |packet: &Packet| {
        copy.lock().unwrap().push(packet.data.len());
        packet.data.len() > bound.load(Ordering::Relaxed)
    };
    pair.net.add_rule(pair.links[path].0, DropRule::first(u64::MAX, vanish));
    (seen, limit)
}

fn found(pair: &mut Pair, host: fn(&Pair) -> HostId, conn: ConnId) -> Vec<(PathId, usize)> {
    let host = host(pair);
    let stats = pair.net.host(host).endpoint.path_stats(conn);
    stats.into_iter().map(|(id, path)| (id, path.packet_bytes)).collect()
}

fn counters(pair: &mut Pair, conn: ConnId) -> ConnStats {
    pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap().clone()
}

/// Moves `size_bytes` from client to server within a minute; panics if they do not arrive whole.
fn carry(pair: &mut Pair, conn: ConnId, size_bytes: usize) {
    let sent: Vec<u8> = (0..size_bytes).map(pattern).collect();
    let accepted = pair.accepted().expect("it is connected");
    let (mut received, mut offset) = (Vec::new(), 0);
    for _ in 0..60_000 {
        while offset < sent.len() {
            let piece = sent[offset..sent.len().min(offset + 10_000)].to_vec();
            let length = piece.len();
            if pair.send(pair.client, conn, piece).is_err() {
                break;
            }
            offset += length;
        }
        received.extend(pair.receive(pair.server, accepted).into_iter().flat_map(|message| message.payload));
        if received.len() >= sent.len() {
            break;
        }
        pair.net.run_for(MS);
    }
    assert!(received == sent, "{} of {} bytes", received.len(), sent.len());
}

// R-SIZE-1, R-SIZE-2, R-NUM-4
#[test]
fn the_search_finds_what_the_path_carries_and_its_losses_slow_nothing_down() {
    for (mtu, profile) in [1500, 1400, 1330, 1228].into_iter().flat_map(|mtu| {
        [Profile::file_arq(), Profile::file_harq(), Profile::satellite_outage()].map(|profile| (mtu, profile))
    }) {
        let mut pair = Pair::new(3, &searching(profile.clone()), &link(mtu));
        let (seen, _) = watch(&mut pair, 0);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(30));
        let passes = mtu - OUTER_BYTES;
        let size = found(&mut pair, |pair| pair.client, conn)[0].1;
        assert!(size <= passes && passes - size < STEP_BYTES, "{profile}: {size} of {passes}");
        let accepted = pair.accepted().unwrap();
        assert_eq!(found(&mut pair, |pair| pair.server, accepted)[0].1, size, "{profile}: the other end");
        seen.lock().unwrap().clear();
        carry(&mut pair, conn, 100_000);
        let longest = seen.lock().unwrap().iter().copied().max().unwrap();
        assert!(longest <= size && size - longest < 24, "{profile}: {longest} of {size}");
        let stats = counters(&mut pair, conn);
        assert_eq!((stats.lost, stats.timeouts, stats.congestion_events), (0, 0, 0), "{profile}: {stats:?}");
        assert_eq!(stats.size_probes == 1, mtu == 1500, "{profile}: {}", stats.size_probes);
    }
}

// R-SIZE-2
#[test]
fn after_ten_minutes_a_path_that_has_come_to_carry_more_is_searched_again() {
    let mut pair = Pair::new(3, &searching(Profile::file_arq()), &link(1500));
    let (_, bound) = watch(&mut pair, 0);
    bound.store(1250, Ordering::Relaxed);
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(30));
    let size = found(&mut pair, |pair| pair.client, conn)[0].1;
    assert!(size <= 1250 && 1250 - size < STEP_BYTES, "{size}");
    let probes = counters(&mut pair, conn).size_probes;
    bound.store(usize::MAX, Ordering::Relaxed);
    pair.net.run_for(Duration::from_secs(570));
    assert_eq!(counters(&mut pair, conn).size_probes, probes, "not earlier");
    pair.net.run_for(Duration::from_secs(30));
    assert_eq!(found(&mut pair, |pair| pair.client, conn)[0].1, 1472);
}

// R-SIZE-2
#[test]
fn only_the_answer_to_its_own_probe_says_that_a_length_passes() {
    let mut pair = Pair::new(3, &searching(Profile::file_arq()), &link(1500));
    let (_, bound) = watch(&mut pair, 0);
    bound.store(1250, Ordering::Relaxed);
    let answers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&answers);
    let note = move |packet: &Packet| {
        seen.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(pair.links[0].1, DropRule::first(u64::MAX, note));
    let conn = pair.connect();
    // For a minute somebody else answers whatever the client may ask.
    for _ in 0..600 {
        pair.net.run_for(MS * 100);
        let Some(newest) = answers.lock().unwrap().last().cloned() else { continue };
        let mut forged = Wire::decode(&newest.data, None).unwrap().packet;
        forged.header.flow |= Flow::CKI;
        forged.cookie = Cookie::new(&[0xFF; 16]);
        let mut data = Vec::new();
        if forged.encode(&mut data, None).is_ok() {
            pair.net.inject(Packet { data, ..newest });
        }
    }
    let size = found(&mut pair, |pair| pair.client, conn)[0].1;
    assert!(size <= 1250, "{size}");
}

// R-SIZE-1
#[test]
fn nobody_searches_who_was_not_asked_to() {
    let mut pair = Pair::new(3, &Profile::file_arq(), &link(1500));
    let (seen, _) = watch(&mut pair, 0);
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(30));
    carry(&mut pair, conn, 100_000);
    assert_eq!(seen.lock().unwrap().iter().max(), Some(&1200));
    assert_eq!(counters(&mut pair, conn).size_probes, 0);
}

// R-SIZE-3, R-SIZE-4
#[test]
fn a_path_that_swallows_long_packets_of_a_sudden_stops_nothing() {
    for (profile, limit) in
        [(Profile::file_arq(), 1250), (Profile::file_harq(), 1400), (Profile::satellite_outage(), 1200)]
    {
        let mut pair = Pair::new(3, &searching(profile.clone()), &link(1500));
        let (_, bound) = watch(&mut pair, 0);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(1));
        assert_eq!(found(&mut pair, |pair| pair.client, conn)[0].1, 1472, "{profile}");
        let sent: Vec<u8> = (0..400_000).map(pattern).collect();
        pair.send(pair.client, conn, sent.clone()).unwrap();
        pair.net.run_for(MS * 60);
        // In the middle of the transfer, with long packets on their way and behind them.
        bound.store(limit, Ordering::Relaxed);
        pair.net.run_for(Duration::from_secs(20));
        let accepted = pair.accepted().unwrap();
        let received: Vec<u8> =
            pair.receive(pair.server, accepted).into_iter().flat_map(|message| message.payload).collect();
        assert!(received == sent, "{profile}: {} bytes", received.len());
        let stats = counters(&mut pair, conn);
        assert!(stats.black_holes > 0 && stats.cut_packets > 0, "{profile}: {stats:?}");
        pair.net.run_for(Duration::from_secs(60));
        let size = found(&mut pair, |pair| pair.client, conn)[0].1;
        assert!(size <= limit && limit - size < STEP_BYTES, "{profile}: {size} of {limit}");
        carry(&mut pair, conn, 100_000);
    }
}

// R-SIZE-2, R-NUM-4
#[test]
fn with_a_shorter_path_beside_it_a_longer_one_keeps_to_what_both_carry() {
    let profile = Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() };
    let paths = [(link(1500), link(1500)), (link(1300), link(1300))];
    let mut pair = Pair::with_paths(9, &searching(profile), &paths);
    let taps = [watch(&mut pair, 0), watch(&mut pair, 1)];
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(5));
    assert_eq!(found(&mut pair, |pair| pair.client, conn), [(PathId(0), 1472)]);
    // Long packets are on their way when the second path opens: some of them go there, in parts.
    let sent: Vec<u8> = (0..600_000).map(pattern).collect();
    pair.send(pair.client, conn, sent.clone()).unwrap();
    pair.net.run_for(MS * 40);
    pair.net
        .with(pair.client, |host, now| host.endpoint.open_path(now, conn, client_path(1), false))
        .unwrap();
    pair.net.run_for(MS * 100);
    taps[0].1.store(0, Ordering::Relaxed);
    pair.net.run_for(Duration::from_secs(20));
    let accepted = pair.accepted().unwrap();
    let received: Vec<u8> =
        pair.receive(pair.server, accepted).into_iter().flat_map(|message| message.payload).collect();
    assert!(received == sent, "{} bytes", received.len());
    taps[0].1.store(usize::MAX, Ordering::Relaxed);
    pair.net.run_for(Duration::from_secs(60));
    let sizes = found(&mut pair, |pair| pair.client, conn);
    assert!(sizes.iter().any(|(id, size)| *id == PathId(1) && (1256..=1272).contains(size)), "{sizes:?}");
    for (seen, _) in &taps {
        seen.lock().unwrap().clear();
    }
    carry(&mut pair, conn, 200_000);
    let limit = sizes.iter().map(|(_, size)| *size).min().unwrap();
    let longest =
        taps.iter().filter_map(|(seen, _)| seen.lock().unwrap().iter().copied().max()).max().unwrap();
    assert!(longest > 1200 && longest <= limit, "{longest} beyond {limit}");
}

// R-SIZE-2, R-ENCAP-3
#[test]
fn after_a_move_both_ends_find_what_the_new_way_carries() {
    for (before, after) in [(1500, 1300), (1300, 1500)] {
        let paths = [before, after].map(|mtu| (link(mtu), link(mtu)));
        let mut pair = with_two_addresses(9, &searching(Profile::file_arq()), &paths);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(60));
        let accepted = pair.accepted().expect("it is connected");
        let sizes = |pair: &mut Pair| {
            let own = found(pair, |pair| pair.client, conn)[0].1;
            [own, found(pair, |pair| pair.server, accepted)[0].1]
        };
        let passes =
            |mtu| move |size: &usize| *size <= mtu - OUTER_BYTES && mtu - OUTER_BYTES - *size < STEP_BYTES;
        assert!(sizes(&mut pair).iter().all(passes(before)), "{:?} of {before}", sizes(&mut pair));
        let local = client_path(1).local;
        pair.net
            .with(pair.client, |host, now| host.endpoint.rebind_path(now, conn, PathId(0), local))
            .unwrap();
        // Nothing is sent but what keeps the connection, so that no loss of long packets tells of the change.
        pair.net.run_for(Duration::from_secs(60));
        assert!(sizes(&mut pair).iter().all(passes(after)), "{:?} of {after}", sizes(&mut pair));
    }
}

// R-SIZE-2, R-SIZE-3
#[test]
fn losses_do_not_pass_for_a_short_path_for_long() {
    for seed in 0..5 {
        let lossy = LinkConfig { loss: Loss::bursts(0.05, 3.0), ..link(1500) };
        let mut pair = Pair::new(seed, &searching(Profile::file_harq()), &lossy);
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(10));
        carry(&mut pair, conn, 2_000_000);
        pair.net.run_for(Duration::from_secs(60));
        let size = found(&mut pair, |pair| pair.client, conn)[0].1;
        assert!(size > 1400, "seed {seed}: {size}");
    }
}

// R-SIZE-1, R-SIZE-4
#[cfg(feature = "protected")]
#[test]
fn probes_and_parts_are_sealed_as_everything_else_is() {
    use restp_proto::EndpointConfig;
    use restp_proto::profile::Protection;
    use restp_proto::protected::Keys;

    let profile = searching(Profile { protection: Protection::Protected, ..Profile::file_arq() });
    let config = EndpointConfig { keys: Some(Keys::shared([7; 32])), ..EndpointConfig::default() };
    let mut pair = Pair::with_config(3, &profile, &profile, &[(link(1400), link(1400))], &config);
    let (_, bound) = watch(&mut pair, 0);
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(30));
    let size = found(&mut pair, |pair| pair.client, conn)[0].1;
    assert!((1357..=1372).contains(&size), "{size}");
    bound.store(1250, Ordering::Relaxed);
    carry(&mut pair, conn, 300_000);
    let stats = counters(&mut pair, conn);
    assert!(stats.black_holes > 0 && stats.cut_packets > 0, "{stats:?}");
}
