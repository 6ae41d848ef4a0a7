//! ResTP against QUIC (quinn), kernel TCP and KCP over loopback, in one run, each end on a core of its own.
//!
//! `cargo bench -p restp --bench compare [-- bulk|messages|connections|memory … only=voice only=quinn …]`. Every figure is
//! the median of several rounds in which the peers take turns, so that what else the machine does falls on all of them
//! alike. Ratios count, to the first line; absolute figures depend on the machine. `only=` picks the lines whose name
//! has the word in it, for profilers. `cargo test -p restp --bench compare` tries everything shortly.

mod ends;
mod kcp;
mod noise;
mod quic;
mod tcp;
mod unprotected;

mod restp_peer;

use ends::{Figure, median};

/// Rounds of each measurement; one in the short form.
const ROUNDS: usize = 3;
/// Idle connections of ResTP and of quinn, and both in the short form.
const IDLE: (usize, usize) = (4000, 500);
const IDLE_SHORT: (usize, usize) = (50, 50);

/// A transport under one name.
type Run = fn() -> Figure;

fn main() {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-') && !word.contains('=')).collect();
    let asked = |name: &str| wanted.is_empty() || wanted.iter().any(|word| word == name);
    if asked("bulk") {
        table(
            "bulk: a stream for 1 s, packets of 1452 bytes (TCP and KCP: their own)",
            "Mbit/s",
            &[
                ("restp clear, no CRC", restp_peer::bulk_plain),
                ("restp clear, CRC (file_arq)", restp_peer::bulk),
                ("restp protected", restp_peer::bulk_protected),
                ("quinn, protection off", quic::bulk_unprotected),
                ("quinn", quic::bulk),
                ("kernel TCP", tcp::bulk),
                ("kcp (tokio_kcp, fastest)", kcp::bulk),
            ],
        );
    }
    if asked("messages") {
        table(
            "messages of 160 bytes, one way, for 1 s",
            "1/s",
            &[
                ("restp records (all, in order)", restp_peer::records),
                ("restp records protected", restp_peer::records_protected),
                ("restp voice packed", restp_peer::packed),
                ("restp voice packed protected", restp_peer::packed_protected),
                ("restp voice (a packet each)", restp_peer::messages),
                ("restp voice protected", restp_peer::messages_protected),
                ("quinn datagrams (may lose)", quic::messages),
                ("quinn datagrams, a packet each", quic::single_messages),
                ("quinn stream", quic::stream_messages),
                ("kernel TCP, no delay", tcp::messages),
                ("kcp", kcp::messages),
            ],
        );
        table(
            "messages of 800 bytes, one way, for 1 s: a packet each, several to a system call where the system takes them",
            "1/s",
            &[
                ("restp voice", restp_peer::large_messages),
                ("restp voice protected", restp_peer::large_messages_protected),
                ("quinn datagrams (may lose)", quic::large_messages),
            ],
        );
    }
    if asked("connections") {
        table(
            "connections one after the other: open, 160 bytes there and back, close, for 1 s",
            "1/s",
            &[
                ("restp three-way", restp_peer::connections),
                ("restp opportunistic", restp_peer::connections_opportunistic),
                ("restp protected", restp_peer::connections_protected),
                ("quinn", quic::connections),
                ("kernel TCP", tcp::connections),
            ],
        );
    }
    if asked("memory") {
        memory();
    }
}

/// Prints the medians, and how they stand to the first line.
fn table(title: &str, unit: &str, all: &[(&str, Run)]) {
    let only: Vec<String> =
        std::env::args().filter_map(|word| word.strip_prefix("only=").map(String::from)).collect();
    let picked = |name: &str| only.is_empty() || only.iter().any(|word| name.contains(word.as_str()));
    let runs: Vec<(&str, Run)> = all.iter().copied().filter(|(name, _)| picked(name)).collect();
    println!("\n{title}");
    println!("{:<32} {:>12} {:>8} {:>18}", "", unit, "ratio", "CPU s / GB or 1e6");
    let mut figures: Vec<Vec<Figure>> = vec![Vec::new(); runs.len()];
    for _ in 0..if ends::short() { 1 } else { ROUNDS } {
        for (index, (name, run)) in runs.iter().enumerate() {
            let figure = run();
            assert!(figure.count() > 0, "{name} carried nothing");
            figures[index].push(figure);
        }
    }
    let mut first = None;
    for ((name, _), rounds) in runs.iter().zip(&figures) {
        let rate = median(rounds.iter().map(|figure| figure.rate()));
        let cost = median(rounds.iter().map(|figure| figure.cpu_cost()));
        let base = *first.get_or_insert(rate);
        println!("{name:<32} {rate:>12.0} {:>8.2} {cost:>18.2}", rate / base);
    }
}

/// Resident memory of idle connections, both ends in this process, halved.
fn memory() {
    println!("\nmemory per idle connection and end (resident set, both ends in one process, halved)");
    let (restp, quinn) = if ends::short() { IDLE_SHORT } else { IDLE };
    for (name, bytes) in
        [("restp three-way, file_arq", restp_peer::idle_bytes(restp)), ("quinn", quic::idle_bytes(quinn))]
    {
        println!("{name:<32} {bytes:>12.0} bytes");
    }
}
