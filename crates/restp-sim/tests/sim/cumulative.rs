//! With cumulative acknowledgements a loss costs about the lost packets, on a short line and behind a long queue.

use std::time::Duration;

use restp_proto::profile::{AckReport, Congestion, Dispensable};
use restp_proto::{EndpointConfig, Profile};
use restp_sim::pair::{Pair, SERVER_PORT, has_payload, pattern};
use restp_sim::{DropRule, LinkConfig, Packet};

const LIMIT: Duration = Duration::from_secs(300);

/// The dissertation's file transfer, without SACK and with it.
fn profiles() -> [Profile; 2] {
    [AckReport::Cumulative, AckReport::Sack]
        .map(|ack_report| Profile { ack_report, ..Profile::file_arq().dissertation() })
}

/// Seconds for a transfer, and the packets that entered the link to the server.
fn cost(pair: &mut Pair, bytes: usize) -> (f64, f64) {
    let start = pair.net.now();
    pair.transfer(bytes, LIMIT).unwrap();
    ((pair.net.now() - start).as_secs_f64(), pair.net.link_stats(pair.links[0].0).entered as f64)
}

/// 5 Mbit/s with a queue of rate times round trip.
fn long_line(delay_ms: u64) -> LinkConfig {
    let queue_packets = usize::try_from(5_000_000 * 2 * delay_ms / 1000 / 8 / 1450).unwrap();
    LinkConfig { queue_packets, ..LinkConfig::new(5_000_000, Duration::from_millis(delay_ms)) }
}

// R-ARQ-5
#[test]
fn a_start_that_overruns_a_long_queue_does_not_cost_a_round_trip_for_each_hole() {
    // Beyond two round trips' worth of bytes nearly every second packet of the start is lost: hundreds.
    for (delay_ms, bytes) in [(100, 1_000_000), (100, 5_000_000), (300, 5_000_000)] {
        let [(without_s, packets), (with_s, needed)] =
            profiles().map(|profile| cost(&mut Pair::new(1, &profile, &long_line(delay_ms)), bytes));
        assert!(without_s <= with_s * 1.8, "{bytes} bytes, {delay_ms} ms: {without_s} s, SACK {with_s} s");
        assert!(packets <= needed * 1.25, "{bytes} bytes, {delay_ms} ms: {packets} packets, SACK {needed}");
    }
}

// R-ARQ-5
#[test]
fn what_arrived_behind_a_small_queue_is_not_sent_twice() {
    let line = LinkConfig { queue_packets: 10, ..LinkConfig::new(2_000_000, Duration::from_micros(20)) };
    let [(without_s, packets), (with_s, needed)] =
        profiles().map(|profile| cost(&mut Pair::new(1, &profile, &line), 1_000_000));
    assert!(packets <= needed * 1.1, "{packets} packets, SACK {needed}");
    assert!(without_s <= with_s * 1.1, "{without_s} s, SACK {with_s} s");
}

// R-ARQ-5
#[test]
fn a_lost_repetition_in_the_only_hole_is_found_without_a_timeout() {
    for profile in profiles() {
        let mut pair = Pair::new(1, &profile, &LinkConfig::new(2_000_000, Duration::from_millis(20)));
        // A packet that is known by the bytes in its midst is lost, and its first repetition, too.
        let mark: Vec<u8> = (50_000..50_200).map(pattern).collect();
        let is_marked = move |packet: &Packet| packet.data.windows(200).any(|window| window == mark);
        let link = pair.links[0].0;
        pair.net.add_rule(link, DropRule::first(2, is_marked));
        let (seconds, _) = cost(&mut pair, 200_000);
        assert_eq!(pair.net.link_stats(link).scripted, 2);
        // The least timeout of the dissertation is 1 s, and the transfer takes as long without.
        assert!(seconds < 1.5, "{:?}: {seconds} s", profile.ack_report);
    }
}

// R-ARQ-5
#[test]
fn a_repetition_behind_a_long_queue_is_waited_for_while_duplicates_come() {
    // One loss while the start fills the queue, of whose length no RTT tells that was sampled before.
    let link = LinkConfig { queue_packets: 860, ..long_line(100) };
    let [(without_s, packets), (with_s, needed)] = profiles().map(|profile| {
        let mut pair = Pair::new(1, &profile, &link);
        pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload).after(700));
        cost(&mut pair, 3_000_000)
    });
    assert!(packets <= needed * 1.02, "{packets} packets, SACK {needed}");
    assert!(without_s <= with_s * 1.02, "{without_s} s, SACK {with_s} s");
}

// R-CC-4
#[test]
fn a_recovery_that_ends_does_not_open_the_window_by_what_it_hid() {
    let [without, with] = profiles().map(|profile| {
        let profile =
            Profile { congestion: Congestion::Cubic, tuning: Profile::file_arq().tuning, ..profile };
        let mut pair = Pair::new(1, &profile, &long_line(100));
        pair.transfer(20_000_000, LIMIT).unwrap();
        pair.net.link_stats(pair.links[0].0).overflow as f64
    });
    assert!(without <= with * 1.5, "{without} packets overran the queue, with SACK {with}");
}

// R-CM-3, R-ARQ-5
#[test]
fn who_hoped_for_reports_and_gets_none_recovers_like_one_who_knew() {
    let [cumulative, sack] = profiles();
    let hopes = Profile { dispensable: Dispensable { ack_report: true, ..Dispensable::default() }, ..sack };
    let line = long_line(100);
    let [knew, hoped] = [&cumulative, &hopes].map(|profile| {
        let paths = [(line.clone(), line.clone())];
        let mut pair = Pair::with_config(1, profile, &cumulative, &paths, &EndpointConfig::default());
        let own = cumulative.clone().validate().unwrap();
        pair.net.with(pair.server, |host, _| {
            host.endpoint.unlisten(SERVER_PORT);
            host.endpoint.listen(SERVER_PORT, own, true).unwrap();
        });
        cost(&mut pair, 1_000_000)
    });
    assert_eq!(knew, hoped);
}
