//! `flight-memory`: what both ends of a link need of memory, one security a process. Under valgrind the same program
//! tells instructions (callgrind) and the heap of C libraries (massif), which the counting allocator does not see.
//!
//! What is measured begins with the settings of both ends: the reading of options and of certificates comes before, and is
//! in no number but those of the resident set. Massif tells the peak of the whole process. So `--mark` has a block lie on the
//! heap from that beginning on, larger than anything before: the peak of the process is then that of the work, and
//! `heap_before` is the level, with the block, that it began from.
//!
//! It makes no certificates: that would be AWS-LC's work, in the process of every other library too.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use flight::dictionary::benchmark;
use flight::message::command;
use flight::security::End;
use flight_links::arrangement::Arrangement;
use flight_links::credentials::Credentials;
use flight_links::exchange::{Pair, Watch};
use flight_links::link::State;
use flight_links::suite::{Provider, Security, Suite};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Opens links, sends messages over the first, and says what that took of memory, in octets
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// The security
    #[arg(long, value_name = "NAME")]
    security: Security,
    /// Provider of QUIC, TLS and DTLS
    #[arg(long, value_name = "NAME", default_value = "aws-lc")]
    provider: Provider,
    /// Certificates of QUIC, TLS and DTLS, made by `flight-bench credentials`
    #[arg(long, value_name = "FILE")]
    credentials: Option<PathBuf>,
    /// Octets of a message behind its header of eight
    #[arg(long, value_name = "OCTETS", default_value_t = 1024)]
    payload: usize,
    /// Messages over the first link
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    messages: u16,
    /// Links that are open at once
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    links: usize,
    /// Octets of a block that lies on the heap, untouched, while links are opened and used, so that the peak that massif
    /// tells is of that time
    #[arg(long, value_name = "OCTETS", default_value_t = 0)]
    mark: usize,
}

const EXAMPLES: &str = "\
Examples:
  flight-memory --security sdls-gcm
  flight-bench credentials > ends.txt
  flight-memory --security quic-stream --provider ring --credentials ends.txt --links 100
  valgrind --tool=massif --peak-inaccuracy=0.0 flight-memory --security tls --credentials ends.txt --mark 16777216";

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flight-memory: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What each end keeps of the heap: what it took while it worked and did not give back then.
#[derive(Default)]
struct Held {
    began: usize,
    ground: i64,
    space: i64,
}

impl Watch for Held {
    fn begins(&mut self, _end: End) {
        self.began = HEAP.current_usage();
    }

    fn ends(&mut self, end: End) {
        let held = HEAP.current_usage() as i64 - self.began as i64;
        match end {
            End::Ground => self.ground += held,
            End::Space => self.space += held,
        }
    }
}

/// The certificates of the file, where the security needs some.
fn credentials(cli: &Cli) -> Result<Option<Credentials>, String> {
    if !cli.security.has_suite() {
        return Ok(None);
    }
    let Some(path) = &cli.credentials else {
        return Err(format!(
            "{} has certificates, which another process makes: flight-bench credentials --signature {} > FILE, then \
             --credentials FILE",
            cli.security,
            Suite::of(cli.security).signature
        ));
    };
    let text =
        fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    Credentials::read(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()))
}

/// The security with its usual suite, and with these certificates where it needs some.
fn arrangement(cli: &Cli, credentials: Option<&Credentials>) -> Result<Arrangement, String> {
    let usual = Suite::of(cli.security);
    let made = match credentials {
        None => Arrangement::new(cli.security, usual, false),
        Some(read) => Arrangement::with(cli.security, Suite { provider: cli.provider, ..usual }, read, false),
    };
    made.map_err(|error| error.to_string())
}

fn run(cli: &Cli) -> Result<(), String> {
    let credentials = credentials(cli)?;
    let mark: Vec<u8> = Vec::with_capacity(cli.mark);
    // Nobody reads it, and yet it has to be there.
    black_box(&mark);
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let arrangement = arrangement(cli, credentials.as_ref())?;
    let shared = HEAP.current_usage();
    let mut links = Vec::with_capacity(cli.links.max(1));
    let mut held = Held::default();
    for _ in 0..cli.links.max(1) {
        let mut pair = arrangement.open(&mut held).map_err(|error| error.to_string())?;
        pair.pass(Duration::from_secs(1), &mut held);
        match pair.ground.state() {
            State::Established { .. } => links.push(pair),
            other => return Err(format!("{}: the handshake did not end: {other:?}", cli.security)),
        }
    }
    let open = HEAP.current_usage();
    for sequence in 0..cli.messages {
        exchange(&mut links[0], sequence & 0x3FFF, cli.payload)?;
    }
    let peak = HEAP.peak_usage();
    drop(black_box(mark));
    let heap = Heap { before, shared, open, peak, held };
    let resident = [kibibytes("/proc/self/status", "VmHWM:")?, kibibytes("/proc/self/smaps_rollup", "Pss:")?];
    println!("{HEADING}");
    println!(
        "{},{},{},{},{}",
        cli.security,
        cli.security.crypto_library(cli.provider),
        links.len(),
        cli.messages,
        columns(&heap, links.len(), resident)
    );
    Ok(())
}

/// Octets of the heap.
struct Heap {
    /// Before the settings of both ends were made.
    before: usize,
    /// With them.
    shared: usize,
    /// With all links open.
    open: usize,
    /// At most, from the settings on.
    peak: usize,
    /// What the ends of all links keep.
    held: Held,
}

/// The values of the columns from `heap_before` on, of so many links; `resident` is the peak of the resident set, and what of
/// it is the process' own share.
fn columns(heap: &Heap, links: usize, resident: [u64; 2]) -> String {
    let Heap { before, shared, open, peak, held } = heap;
    let [rss_peak, pss] = resident;
    let each = |octets: i64| octets / links as i64;
    format!(
        "{before},{},{},{},{},{},{rss_peak},{pss}",
        shared.saturating_sub(*before),
        open.saturating_sub(*shared) / links,
        each(held.ground),
        each(held.space),
        peak.saturating_sub(*before),
    )
}

const HEADING: &str = "security,provider,links,messages,heap_before,heap_shared,heap_a_link,\
heap_a_link_ground,heap_a_link_space,heap_peak,rss_peak,pss";

fn exchange(pair: &mut Pair, sequence: u16, payload: usize) -> Result<(), String> {
    let message = command(benchmark::COMMAND, sequence, benchmark::TAKE_DATA, &vec![0x5A; payload])
        .map_err(|error| error.to_string())?;
    pair.ground.apply(&message, pair.now).map_err(|refusal| refusal.reason)?;
    let came = pair.pass(pair.now + Duration::from_millis(30), &mut ()).at_space;
    if came == [message] { Ok(()) } else { Err("the message did not come out as it went in".to_owned()) }
}

/// Octets of a line of a file of `/proc`, which has kibibytes.
fn kibibytes(path: &str, name: &str) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let number = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    number.map(|kibibytes| kibibytes * 1024).ok_or_else(|| format!("{path} has no line «{name}»"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_in_each_column_what_it_says() {
        let held = Held { began: 0, ground: 4 * 110, space: 4 * 70 };
        let heap = Heap { before: 1000, shared: 1500, open: 1500 + 4 * 200, peak: 3100, held };
        let columns = columns(&heap, 4, [9000, 8000]);
        let names = HEADING.split(',').skip_while(|name| *name != "heap_before");
        assert_eq!(names.clone().count(), columns.split(',').count());
        assert_eq!(
            names.zip(columns.split(',')).collect::<Vec<_>>(),
            [
                ("heap_before", "1000"),
                ("heap_shared", "500"),
                ("heap_a_link", "200"),
                ("heap_a_link_ground", "110"),
                ("heap_a_link_space", "70"),
                ("heap_peak", "2100"),
                ("rss_peak", "9000"),
                ("pss", "8000"),
            ]
        );
    }

    /// In whole mebibytes, beside which nothing counts that the test's own surroundings take.
    #[test]
    fn each_end_keeps_what_it_took_while_it_worked() {
        const MEBIBYTE: usize = 1 << 20;
        let mut held = Held::default();
        let mut kept: Vec<Vec<u8>> = Vec::with_capacity(6);
        for (end, mebibytes) in [(End::Ground, 8), (End::Space, 3), (End::Ground, 4)] {
            held.begins(end);
            kept.push(Vec::with_capacity(mebibytes * MEBIBYTE));
            held.ends(end);
            kept.push(Vec::with_capacity(50 * MEBIBYTE));
        }
        let whole = |octets: i64| (octets as f64 / MEBIBYTE as f64).round();
        assert_eq!((whole(held.ground), whole(held.space)), (12.0, 3.0));
    }
}
