//! What a try of the burst-loss benchmark (docs/bursts.md) with `restp-file_harq` has met: how many packets in a row each
//! direction lost, and for how long the sender heard nothing.
//!
//! `cargo run --release -p restp-sim --example unfinished -- LOSS_PERCENT BURST_PACKETS RTT_MS BYTES SEED LIMIT_S`

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use restp_proto::{Instant, Profile, SendError};
use restp_sim::pair::{Pair, pattern};
use restp_sim::{LinkConfig, LinkId, Loss};

/// Runs of lost packets that are told, from this many on.
const LONG_RUN: u64 = 20;

/// Packets lost in a row on one link. Where one step of the simulator loses some and passes others, the losses are taken to
/// end a run that goes on and to begin one otherwise.
struct Run {
    link: LinkId,
    name: &'static str,
    lost: u64,
    passed: u64,
    length: u64,
    since: Instant,
}

impl Run {
    fn new(link: LinkId, name: &'static str) -> Self {
        Self { link, name, lost: 0, passed: 0, length: 0, since: Instant::ZERO }
    }

    fn look(&mut self, pair: &Pair) {
        let (now, stats) = (pair.net.now(), pair.net.link_stats(self.link));
        let (lost, passed) = (stats.lost - self.lost, stats.passed - self.passed);
        (self.lost, self.passed) = (stats.lost, stats.passed);
        if self.length == 0 {
            self.since = now;
        }
        let goes_on = self.length > 0;
        self.length += lost;
        if goes_on && passed > 0 {
            self.tell(now);
            self.length = 0;
        }
    }

    fn tell(&self, now: Instant) {
        if self.length >= LONG_RUN {
            let (from, to) = (seconds(self.since), seconds(now));
            println!("{}: {} packets in a row lost, {from:.1} to {to:.1} s", self.name, self.length);
        }
    }
}

fn seconds(now: Instant) -> f64 {
    (now - Instant::ZERO).as_secs_f64()
}

fn main() {
    let arguments: Vec<f64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [loss_percent, burst_packets, rtt_ms, bytes, seed, limit_s] = arguments[..] else {
        eprintln!("Six numbers are wanted: LOSS_PERCENT BURST_PACKETS RTT_MS BYTES SEED LIMIT_S.");
        std::process::exit(2);
    };
    let loss = Loss::bursts(loss_percent / 100.0, burst_packets);
    let link = LinkConfig { loss, ..LinkConfig::new(10_000_000, Duration::from_secs_f64(rtt_ms / 2000.0)) };
    let mut pair = Pair::new(seed as u64, &Profile::file_harq(), &link);
    let conn = pair.connect();
    let (client, server, bytes) = (pair.client, pair.server, bytes as usize);
    let piece_bytes = pair.net.host(client).endpoint.max_message_bytes(conn).expect("it has just begun");
    let mut pieces: VecDeque<Bytes> =
        (0..bytes).map(pattern).collect::<Vec<_>>().chunks(piece_bytes).map(Bytes::copy_from_slice).collect();
    let (there, back) = pair.links[0];
    let mut runs = [Run::new(there, "to the receiver"), Run::new(back, "to the sender")];
    let (mut received, mut closing, mut heard, mut silence) = (0, false, (0, Instant::ZERO), Duration::ZERO);
    while received < bytes && pair.net.next_event().is_some_and(|at| seconds(at) <= limit_s) {
        while let Some(piece) = pieces.pop_front() {
            match pair.send(client, conn, piece) {
                Ok(()) => continue,
                Err(SendError::Full(piece)) => pieces.push_front(piece),
                Err(error) => panic!("{error}"),
            }
            break;
        }
        if pieces.is_empty() && !closing {
            closing = true;
            pair.net.with(client, |host, now| host.endpoint.close(now, conn));
        }
        pair.net.step();
        runs.iter_mut().for_each(|run| run.look(&pair));
        let packets = pair.net.host(client).endpoint.conn_stats(conn).map_or(0, |it| it.packets_received);
        if packets > heard.0 {
            heard = (packets, pair.net.now());
        }
        silence = silence.max(pair.net.now() - heard.1);
        if let Some(accepted) = pair.accepted() {
            received += pair.receive(server, accepted).iter().map(|it| it.payload.len()).sum::<usize>();
        }
    }
    let now = pair.net.now();
    runs.iter().for_each(|run| run.tell(now));
    println!("the sender heard nothing for {:.1} s at most", silence.as_secs_f64());
    println!("{received} of {bytes} bytes after {:.1} s", seconds(now));
}
