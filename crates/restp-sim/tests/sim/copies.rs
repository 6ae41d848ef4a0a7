//! Copies over paths: what fails or is lost on one path costs no time, and what a slow one cannot carry holds up nobody.

use std::time::Duration;

use proptest::prelude::*;
use restp_proto::profile::{Framing, Ordering, Paths, Reliability, Scheduler, Tuning};
use restp_proto::{CloseReason, ConnId, ConnStats, EventKind, Instant, Profile, SendOptions};
use restp_sim::pair::{Pair, has_payload};
use restp_sim::{DropRule, LinkConfig, Loss, Outage};

use super::paths::{download, join, joined};

const MS: Duration = Duration::from_millis(1);
/// Messages may be read this much later than they came: the step in which time passes here, and the line's own time.
const STEP: Duration = Duration::from_millis(2);

/// Messages of their own, and no acknowledgement that waits for a second packet.
fn messages() -> Profile {
    let copies = Profile::copies();
    Profile { framing: Framing::Fixed, tuning: Tuning { ack_every: 1, ..copies.tuning.clone() }, ..copies }
}

fn line(ms: u32) -> LinkConfig {
    LinkConfig::new(10_000_000, MS * ms)
}

/// Path `index` carries nothing either way from `from` until `until`.
fn cut(pair: &mut Pair, index: usize, from: Instant, until: Instant) {
    let (there, back) = pair.links[index];
    for direction in [there, back] {
        pair.net.link_mut(direction).outages.push(Outage { from, until });
    }
}

/// Sends `count` messages of 200 bytes, one each `interval`, and tells how long each was under way; none if it has not come
/// within 5 s of the last.
fn delays(
    pair: &mut Pair,
    conn: ConnId,
    accepted: ConnId,
    count: usize,
    interval: Duration,
) -> Vec<Option<Duration>> {
    let (client, server) = (pair.client, pair.server);
    let mut sent = Vec::new();
    let mut delays = vec![None; count];
    let end = pair.net.now() + interval * count as u32 + Duration::from_secs(5);
    while pair.net.now() < end && delays.iter().any(Option::is_none) {
        let now = pair.net.now();
        if sent.len() < count && sent.last().is_none_or(|last| now >= *last + interval) {
            let mut payload = vec![0; 200];
            payload[..4].copy_from_slice(&(sent.len() as u32).to_be_bytes());
            pair.send(client, conn, payload).expect("there is room");
            sent.push(now);
        }
        pair.net.run_for(MS);
        for message in pair.receive(server, accepted) {
            let number = u32::from_be_bytes(message.payload[..4].try_into().unwrap()) as usize;
            assert_eq!(delays[number], None, "message {number} came twice");
            delays[number] = Some(pair.net.now() - sent[number]);
        }
    }
    delays
}

fn worst(delays: &[Option<Duration>]) -> Duration {
    delays.iter().map(|delay| delay.unwrap_or(Duration::MAX)).max().unwrap()
}

fn stats(pair: &Pair, conn: ConnId) -> ConnStats {
    pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap().clone()
}

// R-MP-14
proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn whenever_a_path_dies_no_message_is_later_than_on_the_other(
        dead in 0..2usize,
        moment_ms in 0..1000u32,
        lasts_ms in prop::sample::select(vec![50u32, 400, 3000, 1_000_000]),
        ordered in any::<bool>(),
    ) {
        let ordering = if ordered { Ordering::Full } else { Ordering::Unordered };
        let profile = Profile { ordering, ..messages() };
        let (mut pair, conn, accepted) = joined(&profile, &[line(20), line(35)]);
        let from = pair.net.now() + MS * moment_ms;
        cut(&mut pair, dead, from, from + MS * lasts_ms);
        let delays = delays(&mut pair, conn, accepted, 500, MS * 10);
        prop_assert!(worst(&delays) <= MS * 35 + STEP, "{:?}", worst(&delays));
        let fast = MS * 20 + STEP;
        let late = delays.iter().filter(|delay| delay.unwrap() > fast).count() as u32;
        // Then its window has to open again.
        let most = if dead == 0 { lasts_ms / 10 + 60 } else { 0 };
        prop_assert!(late <= most, "{late} messages did not come over the fast path");
    }
}

/// Two paths of 20 ms that lose the given share of packets each, and messages at that interval; their delays in the order
/// of the messages, what the sender counts, and how many packets left with a payload.
fn over_lossy_paths(
    profile: &Profile,
    share: f64,
    count: usize,
    interval: Duration,
) -> (Vec<Option<Duration>>, ConnStats, u64) {
    let lossy = LinkConfig { loss: Loss::Bernoulli(share), ..line(20) };
    let mut pair = Pair::with_paths(7, profile, &[(lossy.clone(), line(20)), (lossy, line(20))]);
    let (conn, accepted) = join(&mut pair, 2);
    let payloads = [0, 1].map(|index| count_payloads(&mut pair, index));
    let delays = delays(&mut pair, conn, accepted, count, interval);
    (delays, stats(&pair, conn), payloads.iter().map(|count| *count.lock().unwrap()).sum())
}

// R-MP-14, R-MP-15
#[test]
fn with_independent_losses_only_what_both_paths_lost_is_late() {
    let profile = Profile { ordering: Ordering::Unordered, ..messages() };
    let (share, count) = (0.05, 8000);
    let (delays, ..) = over_lossy_paths(&profile, share, count, MS * 60);
    let late = delays.iter().filter(|delay| delay.unwrap() > MS * 20 + STEP).count() as f64;
    let both = share * share * count as f64;
    assert!((both * 0.5..both * 1.6).contains(&late), "{late} late, {both} expected");
}

// R-MP-15
#[test]
fn what_one_path_has_brought_another_repeats_by_its_number_alone_and_slows_down_for() {
    let profile = Profile { ordering: Ordering::Unordered, ..messages() };
    let (_, stats, payloads) = over_lossy_paths(&profile, 0.02, 8000, MS * 25);
    let repeated = stats.retransmitted - stats.stubs;
    assert!(stats.lost > 250 && repeated < stats.lost / 10, "{repeated} in full: {stats:?}");
    assert_eq!(payloads, stats.data_sent + stats.copies + repeated);
    assert!(stats.congestion_events > stats.lost * 8 / 10, "{stats:?}");
}

// R-MP-14
#[test]
fn no_more_copies_leave_than_were_asked_for_and_more_when_a_path_with_one_has_failed() {
    for (copies, lines) in [(15, 2), (15, 3), (2, 3)] {
        let profile = messages();
        let profile = Profile { tuning: Tuning { copies, ..profile.tuning.clone() }, ..profile };
        let links: Vec<_> = (0..lines).map(|index| line(20 + 5 * index)).collect();
        let (mut pair, conn, accepted) = joined(&profile, &links);
        let payloads: Vec<_> = (0..lines as usize).map(|index| count_payloads(&mut pair, index)).collect();
        let delays = delays(&mut pair, conn, accepted, 200, MS * 10);
        assert!(worst(&delays) <= MS * 20 + STEP, "{:?}", worst(&delays));
        let carried: Vec<u64> = payloads.iter().map(|count| *count.lock().unwrap()).collect();
        let wanted: Vec<u64> = (0..lines).map(|index| if index < copies { 200 } else { 0 }).collect();
        assert_eq!(carried, wanted, "{copies} copies");
        if copies == 2 {
            let from = pair.net.now();
            cut(&mut pair, 1, from, Instant::FAR_FUTURE);
            self::delays(&mut pair, conn, accepted, 200, MS * 10);
            let third = *payloads[2].lock().unwrap();
            assert!(third > 100, "{third} copies on the third path after the second failed");
        }
    }
}

// R-MP-14
#[test]
fn when_all_paths_with_a_copy_fail_another_brings_it() {
    let profile = messages();
    let profile = Profile { tuning: Tuning { copies: 2, ..profile.tuning.clone() }, ..profile };
    let (mut pair, conn, accepted) = joined(&profile, &[line(20), line(25), line(30)]);
    delays(&mut pair, conn, accepted, 20, MS * 10);
    let from = pair.net.now();
    for index in 0..2 {
        cut(&mut pair, index, from, Instant::FAR_FUTURE);
    }
    let delays = delays(&mut pair, conn, accepted, 1, MS * 10);
    assert!(worst(&delays) < Duration::from_secs(2), "{:?}", worst(&delays));
}

/// Counts packets with payload on the way there of path `index`.
fn count_payloads(pair: &mut Pair, index: usize) -> std::sync::Arc<std::sync::Mutex<u64>> {
    let count = std::sync::Arc::<std::sync::Mutex<u64>>::default();
    let tap = count.clone();
    let note = move |packet: &restp_sim::Packet| {
        *tap.lock().unwrap() += u64::from(has_payload(packet));
        false
    };
    pair.net.add_rule(pair.links[index].0, DropRule::first(u64::MAX, note));
    count
}

// R-MP-14
#[test]
fn a_fast_path_does_not_wait_for_a_slow_one_and_is_followed_at_once_when_it_fails() {
    let slow = LinkConfig { queue_packets: 20, ..LinkConfig::new(500_000, MS * 100) };
    let fast = LinkConfig::new(5_000_000, MS * 10);
    let bytes = 4_000_000;
    let (mut alone, conn, accepted) = joined(&Profile::copies(), std::slice::from_ref(&fast));
    let one = download(&mut alone, conn, accepted, bytes);
    let (mut pair, conn, accepted) = joined(&Profile::copies(), &[fast, slow]);
    let both = download(&mut pair, conn, accepted, bytes);
    assert!(
        both.as_secs_f64() < one.as_secs_f64() * 1.15,
        "{both:?} with a slow path beside it, {one:?} alone"
    );
    let skipped = 4_000_000 / 1160 - stats(&pair, conn).copies;
    assert!(skipped > 2000, "{skipped} copies left out");
    // The slow path's queue holds what the fast one has long brought; then it goes on where the fast one stopped.
    let from = pair.net.now() + MS * 300;
    cut(&mut pair, 0, from, Instant::FAR_FUTURE);
    let mut last = from;
    let mut longest = Duration::ZERO;
    let mut rest = 300_000;
    while pair.net.now() < from + Duration::from_secs(4) {
        while rest > 0 && pair.send(pair.client, conn, vec![0; 10_000]).is_ok() {
            rest -= 10_000;
        }
        pair.net.run_for(MS);
        if !pair.receive(pair.server, accepted).is_empty() {
            longest = longest.max(pair.net.now().saturating_since(last));
            last = pair.net.now();
        }
    }
    assert!(longest < MS * 600, "silent for {longest:?}");
}

// R-MP-14
#[test]
fn the_end_of_the_data_is_told_on_every_path() {
    for dead in 0..2 {
        let (mut pair, conn, accepted) = joined(&messages(), &[line(20), line(35)]);
        delays(&mut pair, conn, accepted, 5, MS * 10);
        let now = pair.net.now();
        cut(&mut pair, dead, now, Instant::FAR_FUTURE);
        pair.net.with(pair.client, |host, now| host.endpoint.close(now, conn));
        let finished = |pair: &Pair| {
            pair.net.host(pair.server).events.iter().any(|event| event.kind == EventKind::Finished)
        };
        pair.net.run_for(MS * 35 + STEP);
        assert!(finished(&pair), "path {dead} is dead");
    }
}

// R-MP-14, R-ORD-3
#[test]
fn without_repetition_copies_bring_all_but_what_both_paths_lose() {
    let base = messages();
    let tuning = Tuning { hold: MS * 30, ..base.tuning.clone() };
    for ordering in [Ordering::Unordered, Ordering::Partial] {
        let profile =
            Profile { reliability: Reliability::None, ordering, tuning: tuning.clone(), ..base.clone() };
        let (delays, stats, _) = over_lossy_paths(&profile, 0.05, 8000, MS * 60);
        let missing = delays.iter().filter(|delay| delay.is_none()).count();
        assert!((10..40).contains(&missing), "{ordering:?}: {missing} of 8000 are missing");
        // In order, the message after a hole waits for it.
        let most = if ordering == Ordering::Partial { MS * 50 } else { MS * 20 };
        // A window that is full of what was lost opens after a timeout.
        let late = delays.iter().flatten().filter(|delay| **delay > most + STEP).count();
        assert!(late < 80, "{ordering:?}: {late} of 8000 are late");
        assert_eq!(stats.retransmitted, 0);
    }
}

// R-MP-14, R-ARQ-7
#[test]
fn what_was_lost_on_both_paths_and_came_too_late_holds_up_no_end() {
    let base = messages();
    let profile = Profile { ordering: Ordering::Partial, ..base };
    let (mut pair, conn, accepted) = joined(&profile, &[line(20), line(35)]);
    let (client, server) = (pair.client, pair.server);
    let options = SendOptions { lifetime: Some(MS * 100), ..SendOptions::default() };
    let from = pair.net.now() + MS * 200;
    for index in 0..2 {
        cut(&mut pair, index, from, from + MS * 500);
    }
    let mut read = 0;
    for _ in 0..100 {
        pair.net
            .with(client, |host, now| host.endpoint.send(now, conn, vec![1; 100].into(), options).unwrap());
        pair.net.run_for(MS * 20);
        read += pair.receive(server, accepted).len();
    }
    assert!((60..98).contains(&read), "{read} of 100 messages were in time");
    assert!(close_within(&mut pair, conn, accepted, Duration::from_secs(1)));
}

/// Both ends close and the server reads on; whether both have closed in time.
fn close_within(pair: &mut Pair, conn: ConnId, accepted: ConnId, limit: Duration) -> bool {
    let (client, server) = (pair.client, pair.server);
    for (host, id) in [(client, conn), (server, accepted)] {
        pair.net.with(host, |host, now| host.endpoint.close(now, id));
    }
    let end = pair.net.now() + limit;
    while pair.net.now() < end {
        pair.net.run_for(MS * 10);
        pair.receive(server, accepted);
    }
    let graceful = EventKind::Closed(CloseReason::Graceful);
    let closed = |host| pair.net.host(host).events.iter().any(|event| event.kind == graceful);
    closed(client) && closed(server)
}

// R-ARQ-7, R-MP-15
#[test]
fn messages_that_are_too_late_are_repeated_by_their_numbers_alone_and_hold_up_no_path() {
    let paths = Paths::Spreading(Scheduler::RoundRobin);
    let profile = Profile { paths, ordering: Ordering::Partial, ..messages() };
    let (mut pair, conn, accepted) = joined(&profile, &[line(20), line(20)]);
    for (there, _) in pair.links.clone() {
        pair.net.link_mut(there).loss = Loss::Bernoulli(0.05);
    }
    let (client, server) = (pair.client, pair.server);
    // Shorter than a round trip: no repetition is in time.
    let options = SendOptions { lifetime: Some(MS * 30), ..SendOptions::default() };
    let mut read = 0;
    for _ in 0..1000 {
        pair.net
            .with(client, |host, now| host.endpoint.send(now, conn, vec![1; 100].into(), options).unwrap());
        pair.net.run_for(MS * 10);
        read += pair.receive(server, accepted).len();
    }
    assert!((900..990).contains(&read), "{read} of 1000 messages were in time");
    let stats = stats(&pair, conn);
    assert!(stats.stubs > 20 && stats.stubs > stats.retransmitted / 2, "{stats:?}");
    assert!(close_within(&mut pair, conn, accepted, Duration::from_secs(10)));
}

// R-MP-14
#[test]
fn an_end_copies_when_it_wants_to_and_when_the_other_asked_for_it() {
    let spreading = Profile { paths: Paths::Spreading(Scheduler::FastestRtt), ..messages() };
    for (client, server, wanted) in [
        (messages(), messages(), [true, true]),
        (messages(), spreading.clone(), [true, true]),
        (spreading.clone(), messages(), [false, true]),
    ] {
        let links = vec![(line(20), line(20)); 2];
        let mut pair = Pair::with_config(3, &client, &server, &links, &Default::default());
        let (conn, accepted) = join(&mut pair, 2);
        let ends = [(pair.client, conn), (pair.server, accepted)];
        for (host, id) in ends {
            for _ in 0..50 {
                pair.send(host, id, vec![1; 100]).unwrap();
                pair.net.run_for(MS * 20);
                pair.receive(pair.client, conn);
                pair.receive(pair.server, accepted);
            }
        }
        let copies = ends.map(|(host, id)| pair.net.host(host).endpoint.conn_stats(id).unwrap().copies > 40);
        assert_eq!(copies, wanted);
    }
}
