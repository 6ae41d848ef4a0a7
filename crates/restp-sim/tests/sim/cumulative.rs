//! Cumulative acknowledgements alone: a loss costs about the packet that was lost, whatever is in flight behind it.

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
