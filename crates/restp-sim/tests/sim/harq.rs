//! What encoded packets cost and spare: on a short line with a small queue they let nothing into the network, and nowhere is the
//! preset slower with them than without.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::{AckReport, Reliability, Tuning};
use restp_sim::pair::Pair;
use restp_sim::{LinkConfig, Loss};

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

// R-HARQ-1, R-ARQ-5
#[test]
fn answers_to_encoded_packets_let_nothing_into_the_network() {
    let arq = Profile::file_arq().dissertation();
    let harq = Profile { ack_report: AckReport::Sack, ..Profile::file_harq().dissertation() };
    for loss in [0.0, 0.001, 0.01] {
        let (arq_s, data) = means(&arq, &line(loss));
        let (seconds, packets) = means(&harq, &line(loss));
        // The timer of the encoded packets makes groups of two to three at this rate.
        let most = data * 1.5;
        assert!(packets <= most, "Loss {loss}: {packets} packets, for {data} of ARQ");
        assert!(seconds <= arq_s * 1.5, "Loss {loss}: {seconds} s, with ARQ {arq_s} s");
    }
}

// R-CC-5, R-HARQ-4
#[test]
fn the_preset_for_lossy_links_is_as_fast_as_any_on_a_short_line() {
    // With room for few packets the connection never sees how much its application still has.
    for send_buffer_packets in [16, 8192] {
        let [arq, harq] = [Profile::file_arq(), Profile::file_harq()]
            .map(|profile| Profile { tuning: Tuning { send_buffer_packets, ..profile.tuning }, ..profile });
        for loss in [0.0, 0.001, 0.01, 0.05] {
            let (arq_s, arq_packets) = means(&arq, &line(loss));
            let (seconds, packets) = means(&harq, &line(loss));
            let what = format!("loss {loss}, room for {send_buffer_packets}");
            println!("{what}: {seconds:.1} s, with ARQ {arq_s:.1} s");
            assert!(seconds <= arq_s * 1.03, "{what}: {seconds} s, with ARQ {arq_s} s");
            assert!(packets <= arq_packets * 1.05, "{what}: {packets} packets, with ARQ {arq_packets}");
        }
    }
}

/// Seconds of `tries` transfers with HARQ and with ARQ, all else being equal.
fn both_s(link: &LinkConfig, size_bytes: usize, tries: u32) -> [Vec<f64>; 2] {
    let harq = Profile::file_harq();
    // Packets of HARQ are 8 bytes shorter, so that their encoded ones fit the path, too. How many a size takes, and whether the
    // last acknowledgement waits for another packet, must not decide.
    let tuning = Tuning { max_packet_bytes: harq.tuning.max_packet_bytes - 8, ..harq.tuning.clone() };
    let arq = Profile { reliability: Reliability::Arq, tuning, ..harq.clone() };
    [harq, arq].map(|profile| {
        let took_s = |seed: u32| {
            let mut pair = Pair::new(seed.into(), &profile, link);
            let transferred = pair.transfer(size_bytes, Duration::from_secs(300));
            transferred.unwrap_or_else(|error| panic!("{profile}: {error}")).took.as_secs_f64()
        };
        (1..=tries).map(took_s).collect()
    })
}

/// Their means.
fn with_and_without(link: &LinkConfig, size_bytes: usize, tries: u32) -> (f64, f64) {
    let [with_s, without_s] =
        both_s(link, size_bytes, tries).map(|all_s| all_s.iter().sum::<f64>() / f64::from(tries));
    (with_s, without_s)
}

// R-HARQ-4
#[test]
fn where_nothing_is_lost_encoded_packets_hold_up_nothing() {
    for delay_ms in [1, 5, 25, 300] {
        let link = LinkConfig::new(10_000_000, Duration::from_millis(delay_ms));
        for size_bytes in [10_000, 50_000, 100_000, 1_000_000] {
            let (with_s, without_s) = with_and_without(&link, size_bytes, 1);
            assert!(with_s <= without_s * 1.01, "{size_bytes}, {delay_ms} ms: {with_s} s, ARQ {without_s} s");
        }
    }
}

// R-HARQ-4
#[test]
fn where_packets_are_lost_one_by_one_encoded_packets_make_nothing_slower() {
    for loss in [0.02, 0.1] {
        for delay_ms in [5, 50, 300] {
            let link = LinkConfig {
                loss: Loss::Bernoulli(loss),
                ..LinkConfig::new(10_000_000, Duration::from_millis(delay_ms))
            };
            for size_bytes in [10_000, 100_000] {
                // Which packets are lost differs, and a thousand tries tell the cost from that.
                let (with_s, without_s) = with_and_without(&link, size_bytes, 1000);
                assert!(
                    with_s <= without_s * 1.03,
                    "{size_bytes}, {loss}, {delay_ms} ms: {with_s} s, ARQ {without_s} s"
                );
            }
        }
    }
}

// R-HARQ-4
#[test]
fn where_packets_are_lost_in_bursts_encoded_packets_make_nothing_slower() {
    const TRIES: u32 = 500;
    let (mut logs, mut cells) = (0.0, 0.0);
    for loss in [0.1, 0.3] {
        for delay_ms in [5, 50, 300] {
            let link = LinkConfig {
                loss: Loss::bursts(loss, 5.0),
                ..LinkConfig::new(10_000_000, Duration::from_millis(delay_ms))
            };
            for size_bytes in [10_000, 100_000] {
                // A burst that swallows a flight whole takes ten times as long as all others: logarithms keep one such
                // try from being the mean. All cells together tell a hundredth from luck, and one alone a tenth.
                let [with, without] = both_s(&link, size_bytes, TRIES)
                    .map(|all_s| all_s.iter().map(|seconds| seconds.ln()).sum::<f64>() / f64::from(TRIES));
                let ratio = (with - without).exp();
                println!("{size_bytes}, {loss}, {delay_ms} ms: {ratio:.3}");
                assert!(
                    ratio <= 1.15,
                    "{size_bytes}, {loss}, {delay_ms} ms: {ratio:.3} times as long as ARQ"
                );
                logs += with - without;
                cells += 1.0;
            }
        }
    }
    let ratio = (logs / cells).exp();
    println!("{ratio:.4}");
    assert!(ratio <= 1.03, "{ratio:.4} times as long as ARQ");
}
