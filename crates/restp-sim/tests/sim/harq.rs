//! HARQ on a short line with a small queue: encoded packets let nothing into the network, and cost a preset nothing.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::AckReport;
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
    for loss in [0.0, 0.001, 0.01, 0.05] {
        let (arq_s, arq_packets) = means(&Profile::file_arq(), &line(loss));
        let (seconds, packets) = means(&Profile::file_harq(), &line(loss));
        assert!(seconds <= arq_s * 1.03, "at loss {loss} {seconds} s, with ARQ {arq_s} s");
        assert!(packets <= arq_packets * 1.05, "at loss {loss} {packets} packets, with ARQ {arq_packets}");
    }
}
