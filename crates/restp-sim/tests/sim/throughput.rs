//! Golden table: throughput against loss, round-trip time and profile, kept as a committed snapshot.

use std::fmt::Write;
use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::{Congestion, LossCause};
use restp_sim::pair::Pair;
use restp_sim::{LinkConfig, Loss};

use crate::snapshot::compare;

const RATE_BPS: u64 = 10_000_000;
const SIZE_BYTES: usize = 1_000_000;

fn rows() -> Vec<(&'static str, Profile)> {
    let with = |congestion| Profile { congestion, ..Profile::file_arq() };
    vec![
        ("newreno", with(Congestion::NewReno)),
        ("bic", with(Congestion::Bic)),
        ("cubic", with(Congestion::Cubic)),
        ("bbr", with(Congestion::Bbr)),
        ("harq", Profile::file_harq()),
        ("opt", Profile::web_opt()),
        ("outage", Profile::satellite_outage()),
        ("dissertation", Profile::file_arq().dissertation()),
        (
            "corruption",
            Profile { loss_cause: LossCause::Corruption, i_own_the_path: true, ..Profile::file_arq() },
        ),
    ]
}

/// Throughput in kbit/s of one download.
fn measure(profile: &Profile, loss: f64, rtt_ms: u64) -> f64 {
    let there = LinkConfig {
        loss: Loss::Bernoulli(loss),
        ..LinkConfig::new(RATE_BPS, Duration::from_millis(rtt_ms) / 2)
    };
    let back = LinkConfig::new(RATE_BPS, Duration::from_millis(rtt_ms) / 2);
    let mut pair = Pair::with_paths(1, profile, &[(there, back)]);
    let start = pair.net.now();
    let transferred = pair.transfer(SIZE_BYTES, Duration::from_secs(3000));
    transferred.unwrap_or_else(|error| panic!("{profile} at loss {loss}, RTT {rtt_ms} ms: {error}"));
    SIZE_BYTES as f64 * 8.0 / (pair.net.now() - start).as_secs_f64() / 1000.0
}

#[test]
fn throughput_is_what_it_was() {
    let mut table = String::from("profile loss rtt_ms throughput_kbps\n");
    for (name, profile) in rows() {
        for loss in [0.0, 0.001, 0.01, 0.05] {
            for rtt_ms in [10, 100, 600] {
                let kbps = measure(&profile, loss, rtt_ms);
                writeln!(table, "{name} {loss} {rtt_ms} {kbps:.0}").unwrap();
            }
        }
    }
    compare(&table, include_str!("throughput.txt"), "throughput.txt");
}
