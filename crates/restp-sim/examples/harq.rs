//! HARQ beside ARQ through losses one by one and in bursts, all else being equal:
//! `cargo run --release --package restp-sim --example harq`, with the tries of each row as an argument if not 400.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use restp_proto::profile::{Reliability, Tuning};
use restp_proto::{Profile, SendError};
use restp_sim::pair::{Pair, pattern};
use restp_sim::{LinkConfig, Loss};

const LIMIT: Duration = Duration::from_secs(300);
/// Tries of each row.
const TRIES: u64 = 400;
/// Seeds count from here: none of them is among those that docs/bursts.md is made of.
const FIRST_SEED: u64 = 1_000_000;
/// Standard errors to each side of a mean that 95 % of such means keep to.
const INTERVAL: f64 = 1.96;

const SIZES_BYTES: [usize; 3] = [10_000, 100_000, 500_000];

/// The preset for lossy links, and the same without encoded packets.
///
/// Packets of HARQ are 8 bytes shorter, so that their encoded ones fit the path, too; those of ARQ are as short here, lest
/// another number of packets decides.
fn profiles() -> [Profile; 2] {
    let harq = Profile::file_harq();
    let tuning = Tuning { max_packet_bytes: harq.tuning.max_packet_bytes - 8, ..harq.tuning.clone() };
    let arq = Profile { reliability: Reliability::Arq, tuning, ..harq.clone() };
    [harq, arq]
}

/// Seconds from the call of `connect` to the last byte in the hands of the receiver; the limit if it never arrives.
fn seconds(seed: u64, profile: &Profile, link: &LinkConfig, size_bytes: usize) -> f64 {
    let mut pair = Pair::new(seed, profile, link);
    let start = pair.net.now();
    let conn = pair.connect();
    let (client, server) = (pair.client, pair.server);
    let piece_bytes = pair.net.host(client).endpoint.max_message_bytes(conn).expect("it has just begun");
    let data: Bytes = (0..size_bytes).map(pattern).collect();
    let mut pieces: VecDeque<Bytes> = (0..size_bytes)
        .step_by(piece_bytes)
        .map(|at| data.slice(at..(at + piece_bytes).min(size_bytes)))
        .collect();
    let (mut received, mut closing) = (0, false);
    while received < size_bytes && pair.net.next_event().is_some_and(|at| at <= start + LIMIT) {
        while let Some(piece) = pieces.pop_front() {
            match pair.send(client, conn, piece) {
                Ok(()) => continue,
                Err(SendError::Full(piece)) => pieces.push_front(piece),
                Err(_) => return LIMIT.as_secs_f64(),
            }
            break;
        }
        if pieces.is_empty() && !closing {
            closing = true;
            pair.net.with(client, |host, now| host.endpoint.close(now, conn));
        }
        pair.net.step();
        if let Some(accepted) = pair.accepted() {
            received +=
                pair.receive(server, accepted).iter().map(|message| message.payload.len()).sum::<usize>();
        }
    }
    if received < size_bytes { LIMIT.as_secs_f64() } else { (pair.net.now() - start).as_secs_f64() }
}

/// A mean and its standard error.
fn mean(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}

/// The geometric mean of the ratios of `rows`, with 95 %; each row is a size, the logarithm of its ratio and that one's error.
fn together(rows: &[(usize, f64, f64)]) -> String {
    let count = rows.len() as f64;
    let log = rows.iter().map(|(_, log, _)| log).sum::<f64>() / count;
    let side = INTERVAL * rows.iter().map(|(_, _, error)| error * error).sum::<f64>().sqrt() / count;
    format!("{:.3} {:.3} {:.3}", log.exp(), (log - side).exp(), (log + side).exp())
}

fn main() {
    let tries = std::env::args().nth(1).map_or(TRIES, |word| word.parse().expect("a number of tries"));
    println!(
        "10 Mbit/s, {tries} tries; ratio of the means of HARQ and ARQ, and of their logarithms' means, with 95 %"
    );
    println!("bytes loss_percent burst_packets rtt_ms harq_s arq_s ratio low high log_ratio low high");
    let mut all = Vec::new();
    for size_bytes in SIZES_BYTES {
        for loss_percent in [2, 10, 30] {
            for burst_packets in [1, 5, 20] {
                for rtt_ms in [10, 50, 200, 600] {
                    let link = LinkConfig {
                        loss: Loss::bursts(f64::from(loss_percent) / 100.0, f64::from(burst_packets)),
                        ..LinkConfig::new(10_000_000, Duration::from_millis(rtt_ms) / 2)
                    };
                    let [harq, arq] = profiles().map(|profile| -> Vec<f64> {
                        (0..tries)
                            .map(|seed| seconds(FIRST_SEED + seed, &profile, &link, size_bytes))
                            .collect()
                    });
                    let [(harq_s, harq_error_s), (arq_s, arq_error_s)] =
                        [&harq, &arq].map(|took_s| mean(took_s.iter().copied()));
                    let ratio = harq_s / arq_s;
                    let side = INTERVAL * ratio * (harq_error_s / harq_s).hypot(arq_error_s / arq_s);
                    let [(harq_log, harq_error), (arq_log, arq_error)] =
                        [&harq, &arq].map(|took_s| mean(took_s.iter().map(|seconds| seconds.ln())));
                    let (log, error) = (harq_log - arq_log, harq_error.hypot(arq_error));
                    let [log_low, log_high] = [-1.0, 1.0].map(|sign| (log + sign * INTERVAL * error).exp());
                    println!(
                        "{size_bytes} {loss_percent} {burst_packets} {rtt_ms} {harq_s:.3} {arq_s:.3} {ratio:.3} {:.3} {:.3} \
                         {:.3} {log_low:.3} {log_high:.3}",
                        ratio - side,
                        ratio + side,
                        log.exp()
                    );
                    all.push((size_bytes, log, error));
                }
            }
        }
    }
    for size_bytes in SIZES_BYTES {
        let rows: Vec<_> = all.iter().filter(|row| row.0 == size_bytes).copied().collect();
        println!("all of {size_bytes} {}", together(&rows));
    }
    println!("all {}", together(&all));
}
