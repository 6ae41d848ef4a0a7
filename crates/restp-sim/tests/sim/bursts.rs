//! Losses in bursts: a preset for files must not stall where other transports arrive.

use std::time::Duration;

use restp_proto::profile::{AckReport, Congestion, Reliability, Tuning};
use restp_proto::{ConnId, Profile};
use restp_sim::pair::{Pair, has_payload};
use restp_sim::{DropRule, LinkConfig, Loss};

const MS: Duration = Duration::from_millis(1);

/// The link on which the presets stalled: 10 Mbit/s, 50 ms, a fifth of all packets lost, five in a row on average.
fn rough_link() -> LinkConfig {
    LinkConfig { loss: Loss::bursts(0.2, 5.0), ..LinkConfig::new(10_000_000, MS * 25) }
}

/// Moves `size_bytes` and closes: the seconds it took, and the packets that the client sent.
fn transfer(seed: u64, profile: &Profile, link: &LinkConfig, size_bytes: usize) -> (f64, u64) {
    let mut pair = Pair::new(seed, profile, link);
    transfer_over(&mut pair, profile, size_bytes)
}

fn transfer_over(pair: &mut Pair, profile: &Profile, size_bytes: usize) -> (f64, u64) {
    let start = pair.net.now();
    let transferred = pair.transfer(size_bytes, Duration::from_secs(25));
    transferred.unwrap_or_else(|error| panic!("{profile}: {error}"));
    let seconds = (pair.net.now() - start).as_secs_f64();
    (seconds, pair.net.link_stats(pair.links[0].0).entered)
}

#[test]
fn files_arrive_through_bursts() {
    for profile in [Profile::file_arq(), Profile::file_harq()] {
        for seed in 1..=5 {
            transfer(seed, &profile, &rough_link(), 500_000);
        }
    }
}

/// The mean over seeds hides what a single burst does to a handshake.
fn mean_s(profile: &Profile, link: &LinkConfig, size_bytes: usize) -> f64 {
    mean_of_s(10, profile, link, size_bytes)
}

fn mean_of_s(tries: u32, profile: &Profile, link: &LinkConfig, size_bytes: usize) -> f64 {
    (1..=tries).map(|seed| transfer(seed.into(), profile, link, size_bytes).0).sum::<f64>() / f64::from(tries)
}

#[test]
fn the_preset_for_lossy_links_takes_no_loss_for_congestion_as_such() {
    let preset = Profile::file_harq();
    let loss_based = Profile { congestion: Congestion::Cubic, ..preset.clone() };
    let (own, other) = (mean_s(&preset, &rough_link(), 500_000), mean_s(&loss_based, &rough_link(), 500_000));
    assert!(own * 3.0 < other, "{own} s, with a window that each loss shrinks {other} s");
}

/// More packets are on their way than a report names, and repetitions are lost as well.
// R-ARQ-5
#[test]
fn a_satellite_that_loses_every_twentieth_packet_is_no_obstacle() {
    let link = LinkConfig { loss: Loss::Bernoulli(0.05), ..LinkConfig::new(10_000_000, MS * 300) };
    let preset = Profile { reliability: Reliability::Arq, ..Profile::file_harq() };
    for seed in 1..=3 {
        let (seconds, packets) = transfer(seed, &preset, &link, 10_000_000);
        assert!(
            seconds < 15.0 && packets < 9_500,
            "{seconds} s, {packets} packets, of which 8,550 are needed"
        );
    }
}

// R-HARQ-4
#[test]
fn encoded_packets_cost_a_transfer_nothing() {
    let harq = Profile::file_harq();
    let arq = Profile { reliability: Reliability::Arq, ..harq.clone() };
    for loss in [Loss::None, Loss::Bernoulli(0.02)] {
        let link = LinkConfig { loss, ..LinkConfig::new(10_000_000, MS * 25) };
        // Encoded packets shift which packets are lost: a hundred tries tell their cost from luck.
        let mean_s = |profile| mean_of_s(100, profile, &link, 1_000_000);
        let (with, without) = (mean_s(&harq), mean_s(&arq));
        assert!(with <= without * 1.02, "{with} s with, {without} s without");
    }
    let link = LinkConfig::new(10_000_000, MS * 25);
    let sent = |profile| transfer(1, profile, &link, 1_000_000).1;
    let (with, without) = (sent(&harq), sent(&arq));
    assert!(
        with > without && with < without + without / 50,
        "the end is encoded and nothing else: {with}, {without}"
    );
}

// R-HARQ-4
#[test]
fn encoded_packets_spare_the_last_packet_a_round_trip() {
    let last_is_lost = |profile: &Profile| {
        let mut pair = Pair::new(1, profile, &LinkConfig::new(10_000_000, MS * 100));
        // 10 kB are nine packets of data.
        pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload).after(6));
        transfer_over(&mut pair, profile, 10_000).0
    };
    let harq = Profile::file_harq();
    let (with, without) =
        (last_is_lost(&harq), last_is_lost(&Profile { reliability: Reliability::Arq, ..harq.clone() }));
    assert!(with + 0.15 < without, "{with} s with, {without} s without");
}

// R-ARQ-4
#[test]
fn probes_go_on_through_a_long_burst() {
    // Everything is lost for 24 packets; the timeout alone, at 0.2 s and doubling, would need hours for as many.
    let profile = Profile::file_arq();
    let mut pair = Pair::new(3, &profile, &LinkConfig::new(10_000_000, MS * 25));
    pair.net.add_rule(pair.links[0].0, DropRule::first(24, has_payload).after(9));
    let (seconds, _) = transfer_over(&mut pair, &profile, 12_000);
    assert!(seconds < 4.0, "{seconds} s");
}

/// A client whose first message leaves into a silence of `silence_s` on both ways, without keepalives; the connections of both.
fn after_a_silence(silence_s: u64) -> (Pair, ConnId, ConnId) {
    let tuning = Tuning { keepalive: None, idle_timeout: None, ..Profile::file_arq().tuning };
    let profile = Profile { tuning, ..Profile::file_arq() };
    let mut pair = Pair::new(3, &profile, &LinkConfig::new(10_000_000, MS * 25));
    let client = pair.connect();
    pair.net.run_for(MS * 300);
    let server = pair.accepted().expect("the handshake succeeds");
    let (there, back) = pair.links[0];
    for link in [there, back] {
        pair.net.link_mut(link).loss = Loss::Bernoulli(1.0);
    }
    pair.send(pair.client, client, vec![1; 1000]).unwrap();
    pair.net.run_for(Duration::from_secs(silence_s));
    for link in [there, back] {
        pair.net.link_mut(link).loss = Loss::None;
    }
    (pair, client, server)
}

// R-ARQ-4
#[test]
fn the_end_of_a_long_silence_is_found_within_an_eighth_of_it() {
    for silence_s in [40, 60, 110, 200] {
        let (mut pair, _, server) = after_a_silence(silence_s);
        // The timeout alone, at 0.2 s and doubling, comes 51 and 102 s after the message, and then each 60 s.
        pair.net.run_for(Duration::from_secs(silence_s) / 8 + MS * 500);
        assert_eq!(pair.receive(pair.server, server).len(), 1, "after {silence_s} s");
    }
}

// R-ARQ-4
#[test]
fn a_peer_that_is_heard_after_a_long_silence_is_probed_at_once() {
    for silence_s in [40, 60, 110, 200] {
        let (mut pair, _, server) = after_a_silence(silence_s);
        pair.send(pair.server, server, vec![2; 100]).unwrap();
        pair.net.run_for(MS * 200);
        assert_eq!(pair.receive(pair.server, server).len(), 1, "after {silence_s} s");
    }
}

// R-ARQ-5
#[test]
fn cumulative_acknowledgements_do_not_cost_a_round_trip_for_each_hole() {
    let profile = Profile {
        ack_report: AckReport::Cumulative,
        congestion: Congestion::NewReno,
        tuning: Tuning { initial_window_packets: 64, ..Profile::file_arq().tuning },
        ..Profile::file_arq()
    };
    let mut pair = Pair::new(1, &profile, &LinkConfig::new(100_000_000, MS * 50));
    // Every other packet of the first flight: 30 holes, which one by one would take 30 round trips, 3 s.
    for hole in 0..30 {
        pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload).after(2 + hole));
    }
    let (seconds, _) = transfer_over(&mut pair, &profile, 80_000);
    assert!(seconds < 2.5, "{seconds} s");
}

// R-ARQ-5
#[test]
fn a_path_that_reorders_is_soon_waited_for() {
    // A queue that never overflows, so that nothing is lost at all.
    let link = LinkConfig {
        reordering: 0.05,
        reorder_delay: MS * 8,
        queue_packets: 10_000,
        ..LinkConfig::new(10_000_000, MS * 25)
    };
    let in_order = LinkConfig { reordering: 0.0, ..link.clone() };
    let seconds = |link| transfer(1, &Profile::file_arq(), link, 3_000_000).0;
    let (reordered_s, in_order_s) = (seconds(&link), seconds(&in_order));
    // Counting three packets alone takes what was overtaken for lost, and the window shrinks each time.
    assert!(reordered_s < in_order_s * 1.5, "{reordered_s} s instead of {in_order_s} s");
}

// R-CC-1
#[test]
fn the_first_window_of_a_long_path_is_wider_where_the_profile_says_so() {
    let link = LinkConfig::new(10_000_000, MS * 300);
    let narrow = Profile {
        tuning: Tuning { initial_rate_pps: 0, ..Profile::file_harq().tuning },
        ..Profile::file_harq()
    };
    let (wide_s, narrow_s) =
        (transfer(1, &Profile::file_harq(), &link, 200_000).0, transfer(1, &narrow, &link, 200_000).0);
    assert!(wide_s + 1.0 < narrow_s, "{wide_s} s and {narrow_s} s: two round trips at least");
}

// R-CM-4
#[test]
fn a_preset_for_lossy_links_repeats_its_syn_sooner_and_evenly_at_first() {
    let opened = |profile: &Profile| {
        let mut pair = Pair::new(1, profile, &LinkConfig::new(10_000_000, MS * 25));
        pair.net.add_rule(pair.links[0].0, DropRule::first(6, |_| true));
        transfer_over(&mut pair, profile, 1_000).0
    };
    assert!(opened(&Profile::file_harq()) < 2.0, "six times 250 ms and two round trips");
}

/// A receiver that never sent data has no RTT sample, and nothing but its FIN to send.
// R-ARQ-4
#[test]
fn a_burst_of_answers_at_the_end_is_probed_through() {
    let link = LinkConfig::new(10_000_000, MS * 5);
    for profile in [Profile::file_harq(), Profile::file_arq()] {
        let transfer = |rule: Option<DropRule>| {
            let mut pair = Pair::new(1, &profile, &link);
            let (start, back) = (pair.net.now(), pair.links[0].1);
            rule.into_iter().for_each(|rule| pair.net.add_rule(back, rule));
            let transferred = pair.transfer(100_000, Duration::from_secs(600));
            transferred.unwrap_or_else(|error| panic!("{profile}: {error}"));
            ((pair.net.now() - start).as_secs_f64(), pair.net.link_stats(back).entered)
        };
        let (_, answers) = transfer(None);
        // The last answer is the acknowledgement of all data with the FIN.
        let (seconds, _) = transfer(Some(DropRule::first(40, |_| true).after(answers - 1)));
        assert!(seconds < 35.0, "{profile}: {seconds} s");
    }
}
