//! On a short line with a small queue a loss costs about the packet that was lost, whatever is in flight behind it and
//! however much acknowledgements say.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::AckReport;
use restp_sim::pair::{Pair, pattern};
use restp_sim::{DropRule, LinkConfig, Loss, Packet};

const SIZE_BYTES: usize = 1_000_000;

/// The study's line: 2 Mbit/s, a queue of ten packets, next to no delay; damage on the way of the data.
fn line(loss: f64) -> (LinkConfig, LinkConfig) {
    let plain = LinkConfig { queue_packets: 10, ..LinkConfig::new(2_000_000, Duration::from_micros(20)) };
    (LinkConfig { loss: Loss::Bernoulli(loss), ..plain.clone() }, plain)
}

/// Means over ten seeds: seconds for 1 MB, and packets that the sender put on the wire.
fn means(profile: &Profile, (there, back): &(LinkConfig, LinkConfig)) -> (f64, f64) {
    let (mut seconds, mut packets) = (0.0, 0.0);
    for seed in 1..=10 {
        let mut pair = Pair::with_paths(seed, profile, &[(there.clone(), back.clone())]);
        let start = pair.net.now();
        let transferred = pair.transfer(SIZE_BYTES, Duration::from_secs(300));
        transferred.unwrap_or_else(|error| panic!("{profile}: {error}"));
        seconds += (pair.net.now() - start).as_secs_f64() / 10.0;
        packets += pair.net.link_stats(pair.links[0].0).entered as f64 / 10.0;
    }
    (seconds, packets)
}

/// The dissertation's file transfer, with SACK and without.
fn profiles() -> (Profile, Profile) {
    let sack = Profile::file_arq().dissertation();
    (Profile { ack_report: AckReport::Cumulative, ..sack.clone() }, sack)
}

// R-ARQ-5
#[test]
fn cumulative_acknowledgements_repeat_little_that_has_arrived() {
    let (cumulative, sack) = profiles();
    let (there, back) = line(0.0);
    // Nothing is lost where the queue holds everything.
    let (_, needed) = means(&sack, &(LinkConfig { queue_packets: 10_000, ..there }, back));
    for loss in [0.0, 0.001, 0.01] {
        let (seconds, packets) = means(&cumulative, &line(loss));
        let (with_sack_s, _) = means(&sack, &line(loss));
        assert!(packets <= needed * 1.1, "at loss {loss} {packets} packets where {needed} are enough");
        assert!(seconds <= with_sack_s * 1.1, "at loss {loss} {seconds} s, with SACK {with_sack_s} s");
    }
}

// R-ARQ-5
#[test]
fn a_lost_repetition_is_found_by_duplicate_acknowledgements() {
    let (cumulative, sack) = profiles();
    let ((seconds, _), (with_sack_s, _)) = (means(&cumulative, &line(0.05)), means(&sack, &line(0.05)));
    assert!(seconds <= with_sack_s * 1.25, "{seconds} s, with SACK {with_sack_s} s");
}

// R-ARQ-5
#[test]
fn a_lost_repetition_in_the_only_hole_is_found_without_a_timeout() {
    for ack_report in [AckReport::Cumulative, AckReport::Nack, AckReport::Snack, AckReport::Sack] {
        let profile = Profile { ack_report, ..Profile::file_arq().dissertation() };
        let (there, back) = (LinkConfig::new(2_000_000, Duration::from_millis(20)), line(0.0).1);
        let mut pair = Pair::with_paths(1, &profile, &[(there, back)]);
        // A packet that is known by the bytes in its midst is lost, and its first repetition, too.
        let mark: Vec<u8> = (50_000..50_200).map(pattern).collect();
        let is_marked = move |packet: &Packet| packet.data.windows(200).any(|window| window == mark);
        pair.net.add_rule(pair.links[0].0, DropRule::first(2, is_marked));
        let start = pair.net.now();
        pair.transfer(200_000, Duration::from_secs(60)).unwrap();
        let seconds = (pair.net.now() - start).as_secs_f64();
        assert_eq!(pair.net.link_stats(pair.links[0].0).scripted, 2);
        // The least timeout of the dissertation is 1 s, and the transfer takes as long without.
        assert!(seconds < 1.5, "{ack_report:?}: {seconds} s");
    }
}

// R-HARQ-1, R-ARQ-5
#[test]
fn answers_to_encoded_packets_let_nothing_into_the_network() {
    let (arq, _) = profiles();
    for ack_report in [AckReport::Cumulative, AckReport::Sack, AckReport::Snack] {
        let harq = Profile { ack_report, ..Profile::file_harq().dissertation() };
        for loss in [0.0, 0.001, 0.01] {
            let (arq_s, data) = means(&arq, &line(loss));
            let (seconds, packets) = means(&harq, &line(loss));
            // The timer of the encoded packets makes groups of two to three at this rate.
            let most = data * 1.5;
            assert!(packets <= most, "{ack_report:?}, loss {loss}: {packets} packets, for {data} of ARQ");
            assert!(seconds <= arq_s * 1.5, "{ack_report:?}, loss {loss}: {seconds} s, with ARQ {arq_s} s");
        }
    }
}

// R-CC-5, R-HARQ-4
#[test]
fn the_preset_for_lossy_links_is_as_fast_as_any_on_a_short_line() {
    for loss in [0.0, 0.001, 0.01, 0.05] {
        let (arq_s, arq_packets) = means(&Profile::file_arq(), &line(loss));
        let (seconds, packets) = means(&Profile::file_harq(), &line(loss));
        assert!(seconds <= arq_s * 1.03, "at loss {loss} {seconds} s, with ARQ {arq_s} s");
        assert!(packets <= arq_packets * 1.05, "at loss {loss} {packets} packets, with ARQ {arq_packets}");
    }
}

// R-ARQ-5
#[test]
fn a_start_that_overruns_a_long_queue_does_not_cost_a_round_trip_for_each_hole() {
    let (cumulative, sack) = profiles();
    // Beyond two round trips' worth of bytes nearly every second packet of the start is lost: hundreds.
    for (delay_ms, bytes) in [(100, 1_000_000), (100, 5_000_000), (300, 5_000_000)] {
        let long = LinkConfig {
            queue_packets: 5_000_000 * 2 * delay_ms / 1000 / 8 / 1450,
            ..LinkConfig::new(5_000_000, Duration::from_millis(delay_ms as u64))
        };
        let seconds = |profile: &Profile| {
            let mut pair = Pair::with_paths(1, profile, &[(long.clone(), long.clone())]);
            let start = pair.net.now();
            pair.transfer(bytes, Duration::from_secs(300)).unwrap();
            (pair.net.now() - start).as_secs_f64()
        };
        let (without_s, with_s) = (seconds(&cumulative), seconds(&sack));
        assert!(
            without_s <= with_s * 2.2,
            "{bytes} bytes at {delay_ms} ms: {without_s} s, with SACK {with_s} s"
        );
    }
}
