//! With cumulative acknowledgements a loss costs about the lost packets, on a short line and behind a long queue.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::AckReport;
use restp_sim::LinkConfig;
use restp_sim::pair::Pair;

/// Seconds for a download over `link`, with cumulative acknowledgements and with SACK, and the packets of each.
fn both(link: &LinkConfig, bytes: usize) -> [(f64, f64); 2] {
    [AckReport::Cumulative, AckReport::Sack].map(|ack_report| {
        let profile = Profile { ack_report, ..Profile::file_arq().dissertation() };
        let mut pair = Pair::with_paths(1, &profile, &[(link.clone(), link.clone())]);
        let start = pair.net.now();
        pair.transfer(bytes, Duration::from_secs(300)).unwrap();
        ((pair.net.now() - start).as_secs_f64(), pair.net.link_stats(pair.links[0].0).entered as f64)
    })
}

// R-ARQ-5
#[test]
fn a_start_that_overruns_a_long_queue_does_not_cost_a_round_trip_for_each_hole() {
    // Beyond two round trips' worth of bytes nearly every second packet of the start is lost: hundreds.
    for (delay_ms, bytes) in [(100, 1_000_000), (100, 5_000_000), (300, 5_000_000)] {
        let link = LinkConfig {
            queue_packets: 5_000_000 * 2 * delay_ms / 1000 / 8 / 1450,
            ..LinkConfig::new(5_000_000, Duration::from_millis(delay_ms as u64))
        };
        let [(without_s, packets), (with_s, needed)] = both(&link, bytes);
        assert!(without_s <= with_s * 1.8, "{bytes} bytes, {delay_ms} ms: {without_s} s, SACK {with_s} s");
        assert!(packets <= needed * 1.25, "{bytes} bytes, {delay_ms} ms: {packets} packets, SACK {needed}");
    }
}

// R-ARQ-5
#[test]
fn what_arrived_behind_a_small_queue_is_not_sent_twice() {
    let line = LinkConfig { queue_packets: 10, ..LinkConfig::new(2_000_000, Duration::from_micros(20)) };
    let [(without_s, packets), (with_s, needed)] = both(&line, 1_000_000);
    assert!(packets <= needed * 1.1, "{packets} packets, SACK {needed}");
    assert!(without_s <= with_s * 1.1, "{without_s} s, SACK {with_s} s");
}
