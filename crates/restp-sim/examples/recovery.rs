//! Transfers with cumulative acknowledgements beside the same with SACK, and through losses with SNACK:
//! `cargo run --release --package restp-sim --example recovery`.

use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::{AckReport, Congestion};
use restp_sim::pair::Pair;
use restp_sim::{LinkConfig, Loss};

const LIMIT: Duration = Duration::from_secs(3600);
/// Tries of each row with losses; their seeds count from 1.
const TRIES: u32 = 40;

/// Seconds that a transfer takes.
fn seconds(seed: u64, profile: &Profile, there: &LinkConfig, back: &LinkConfig, bytes: usize) -> f64 {
    let mut pair = Pair::with_paths(seed, profile, &[(there.clone(), back.clone())]);
    let start = pair.net.now();
    pair.transfer(bytes, LIMIT).unwrap_or_else(|error| panic!("{profile}: {error}"));
    (pair.net.now() - start).as_secs_f64()
}

/// Starts that overrun a queue of `queue_trips` times rate and round trip.
fn starts() {
    let newreno = Profile { congestion: Congestion::NewReno, ..Profile::file_arq() };
    let studied = Profile::file_arq().dissertation();
    println!("5 Mbit/s, no losses but those of the queue");
    println!("profile delay_ms queue_trips bytes cumulative_s sack_s");
    for (name, profile, delay_ms, queue_trips, bytes) in [
        ("dissertation", &studied, 100, 1, 1_000_000),
        ("dissertation", &studied, 100, 1, 5_000_000),
        ("dissertation", &studied, 300, 1, 5_000_000),
        ("newreno", &newreno, 100, 10, 5_000_000),
    ] {
        let queue_packets =
            queue_trips * usize::try_from(5_000_000 * 2 * delay_ms / 1000 / 8 / 1450).unwrap();
        let line =
            LinkConfig { queue_packets, ..LinkConfig::new(5_000_000, Duration::from_millis(delay_ms)) };
        let [cumulative, sack] = [AckReport::Cumulative, AckReport::Sack].map(|ack_report| {
            let profile = Profile { ack_report, ..profile.clone() };
            seconds(1, &profile, &line, &line, bytes)
        });
        println!("{name} {delay_ms} {queue_trips} {bytes} {cumulative:.1} {sack:.1}");
    }
}

/// CUBIC where windows are of a few packets, and an acknowledgement with SNACK may tell of more than one; with SACK, which
/// tells of each when it arrives, beside it.
fn losses() {
    println!("10 Mbit/s, 1 MB with satellite_outage, mean of {TRIES} tries\nloss rtt_ms snack_s sack_s");
    for loss in [0.01, 0.05] {
        for rtt_ms in [10, 100, 600] {
            let back = LinkConfig::new(10_000_000, Duration::from_millis(rtt_ms) / 2);
            let there = LinkConfig { loss: Loss::Bernoulli(loss), ..back.clone() };
            let [snack_s, sack_s] = [AckReport::Snack, AckReport::Sack].map(|ack_report| {
                let profile = Profile { ack_report, ..Profile::satellite_outage() };
                let took_s = |seed| seconds(seed, &profile, &there, &back, 1_000_000);
                (1..=u64::from(TRIES)).map(took_s).sum::<f64>() / f64::from(TRIES)
            });
            println!("{loss} {rtt_ms} {snack_s:.2} {sack_s:.2}");
        }
    }
}

fn main() {
    starts();
    losses();
}
