//! Transfers with cumulative acknowledgements beside the same with SACK, also through losses with other timers, and
//! through losses with SNACK: `cargo run --release --package restp-sim --example recovery`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use restp_proto::log::{LogEvent, Observer};
use restp_proto::profile::{AckReport, Congestion, Tuning};
use restp_proto::{ConnId, Instant, Profile};
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

/// Counts expiries of the retransmission timer.
struct Timeouts(Arc<AtomicU32>);

impl Observer for Timeouts {
    fn event(&mut self, _: Instant, _: ConnId, event: &LogEvent) {
        if matches!(event, LogEvent::Timeout { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What of the study's `restp-3wh-arq` takes its time where every fifth packet is lost on a line without delay: its reports,
/// its least timeout, or that it sends no tail probes.
fn timers() {
    let line = LinkConfig { queue_packets: 10, ..LinkConfig::new(2_000_000, Duration::from_micros(20)) };
    println!("2 Mbit/s, 0.02 ms each way, 10 packets of queue, 1 MB as restp-3wh-arq, mean of {TRIES} tries");
    println!("loss report least_timeout_s tail_probes s timeouts");
    for loss in [0.1, 0.2] {
        let there = LinkConfig { loss: Loss::Bernoulli(loss), ..line.clone() };
        for report in [AckReport::Cumulative, AckReport::Sack] {
            for (min_rto_s, tail_probe) in [(1.0, false), (0.2, false), (0.2, true)] {
                let studied =
                    Profile { crc: false, ack_report: report, ..Profile::file_arq().dissertation() };
                let min_rto = Duration::from_secs_f64(min_rto_s);
                let tuning =
                    Tuning { min_rto, tail_probe, send_buffer_packets: 16, ..studied.tuning.clone() };
                let profile = Profile { tuning, ..studied };
                let (timeouts, mut took_s) = (Arc::new(AtomicU32::new(0)), 0.0);
                for seed in 1..=u64::from(TRIES) {
                    let mut pair = Pair::with_paths(seed, &profile, &[(there.clone(), line.clone())]);
                    let counter = Timeouts(Arc::clone(&timeouts));
                    pair.net.with(pair.client, |host, _| host.endpoint.observe(Box::new(counter)));
                    let transferred = pair.transfer(1_000_000, LIMIT);
                    took_s += transferred.unwrap_or_else(|error| panic!("{error}")).took.as_secs_f64();
                }
                let mean = |sum: f64| sum / f64::from(TRIES);
                let expired = mean(timeouts.load(Ordering::Relaxed).into());
                println!("{loss} {report:?} {min_rto_s} {tail_probe} {:.2} {expired:.1}", mean(took_s));
            }
        }
    }
}

fn main() {
    starts();
    timers();
    losses();
}
