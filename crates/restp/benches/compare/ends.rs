//! Two threads, each with a runtime and a core of its own, and what they measure.

use std::future::Future;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;

/// How long the sending side sends; in the short form just long enough for several batches.
const SENDING: Duration = Duration::from_secs(1);
const SENDING_SHORT: Duration = Duration::from_millis(20);
/// Bytes of a packet, ResTP's or QUIC's, at most.
pub const PACKET_BYTES: usize = 1452;
/// Bytes of a small message.
pub const MESSAGE_BYTES: usize = 160;
/// Bytes of a message of which no packet holds two, so that everybody sends a packet for each.
pub const LARGE_MESSAGE_BYTES: usize = 800;
/// Longest time without news after which a receiver of something unreliable stops.
pub const SILENCE: Duration = Duration::from_millis(300);
/// Longest time until the first news: a busy machine may take its time to start the other end.
const START: Duration = Duration::from_secs(30);

/// Whether everything is tried and nothing measured: under `cargo test`, which unlike `cargo bench` does not say
/// `--bench`, and under `cargo bench … -- --test`, as with Criterion.
pub fn short() -> bool {
    let said = |word: &str| std::env::args().any(|argument| argument == word);
    !said("--bench") || said("--test")
}

/// The time in which the sending side sends, but at least once.
pub struct Sending {
    until: Instant,
    begun: bool,
}

impl Sending {
    /// It begins now.
    pub fn start() -> Self {
        Self { until: Instant::now() + if short() { SENDING_SHORT } else { SENDING }, begun: false }
    }

    /// Whether there is time for another piece.
    pub fn goes_on(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true) || Instant::now() < self.until
    }
}

/// What a measurement counted.
#[derive(Clone, Copy, Debug)]
pub enum Figure {
    /// Bytes that arrived.
    Bytes { bytes: u64, duration: Duration, cpu: Duration },
    /// Messages, or connections.
    Count { count: u64, duration: Duration, cpu: Duration },
}

impl Figure {
    /// Bytes, messages or connections.
    pub fn count(&self) -> u64 {
        match self {
            Self::Bytes { bytes: count, .. } | Self::Count { count, .. } => *count,
        }
    }

    /// Mbit/s, or events per second.
    pub fn rate(&self) -> f64 {
        match self {
            Self::Bytes { bytes, duration, .. } => *bytes as f64 * 8e-6 / duration.as_secs_f64(),
            Self::Count { count, duration, .. } => *count as f64 / duration.as_secs_f64(),
        }
    }

    /// CPU seconds of both ends per gigabyte, or per million events.
    pub fn cpu_cost(&self) -> f64 {
        match self {
            Self::Bytes { bytes, cpu, .. } => cpu.as_secs_f64() / (*bytes as f64 / 1e9),
            Self::Count { count, cpu, .. } => cpu.as_secs_f64() / (*count as f64 / 1e6),
        }
    }
}

/// What arrived, and between which moments.
#[derive(Default)]
pub struct Tally {
    first: Option<Instant>,
    last: Option<Instant>,
    count: u64,
}

impl Tally {
    /// `count` bytes or messages arrived now.
    pub fn add(&mut self, count: usize) {
        let now = Instant::now();
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.count += count as u64;
    }

    /// How long its receiver waits for more of something that has no end before it stops.
    pub fn patience(&self) -> Duration {
        if self.first.is_some() { SILENCE } else { START }
    }

    fn duration(&self) -> Duration {
        self.first.zip(self.last).map_or(Duration::from_nanos(1), |(first, last)| last - first)
    }
}

/// Runs both ends to their end and counts what the server got as bytes.
pub fn bytes<S, C>(
    server: impl FnOnce(Announce) -> S + Send,
    client: impl FnOnce(SocketAddr) -> C + Send,
) -> Figure
where
    S: Future<Output = Tally>,
    C: Future<Output = ()>,
{
    let (tally, (), cpu) = run(server, client);
    Figure::Bytes { bytes: tally.count, duration: tally.duration(), cpu }
}

/// Likewise as messages.
pub fn messages<S, C>(
    server: impl FnOnce(Announce) -> S + Send,
    client: impl FnOnce(SocketAddr) -> C + Send,
) -> Figure
where
    S: Future<Output = Tally>,
    C: Future<Output = ()>,
{
    let (tally, (), cpu) = run(server, client);
    Figure::Count { count: tally.count, duration: tally.duration(), cpu }
}

/// Runs both ends until the client ends and counts what the client did.
pub fn connections<S, C>(
    server: impl FnOnce(Announce) -> S + Send,
    client: impl FnOnce(SocketAddr) -> C + Send,
) -> Figure
where
    S: Future<Output = ()>,
    C: Future<Output = Tally>,
{
    let ((), tally, cpu) = run(server, client);
    Figure::Count { count: tally.count, duration: tally.duration(), cpu }
}

/// Tells the client where the server is.
pub struct Announce(std::sync::mpsc::Sender<SocketAddr>);

impl Announce {
    /// The server is bound.
    pub fn at(&self, address: SocketAddr) {
        self.0.send(address).expect("the client waits for it");
    }
}

fn run<S, C>(
    server: impl FnOnce(Announce) -> S + Send,
    client: impl FnOnce(SocketAddr) -> C + Send,
) -> (S::Output, C::Output, Duration)
where
    S: Future<Output: Send>,
    C: Future<Output: Send>,
{
    let before = cpu_time();
    let (announce, announced) = std::sync::mpsc::channel();
    let (served, sent) = std::thread::scope(|scope| {
        let server = scope.spawn(|| on_core(0, || server(Announce(announce))));
        let address = announced.recv().expect("the server binds");
        let client = scope.spawn(move || on_core(1, || client(address)));
        let sent = client.join().expect("the client ends well");
        (server.join().expect("the server ends well"), sent)
    });
    (served, sent, cpu_time() - before)
}

/// Runs a future on a runtime and a core of its own (on the only core if there is one).
fn on_core<F: Future>(core: usize, future: impl FnOnce() -> F) -> F::Output {
    let mut set = CpuSet::new();
    set.set(core).expect("a small number");
    if sched_setaffinity(Pid::from_raw(0), &set).is_err() {
        eprintln!("core {core} cannot be had; this end runs wherever the system likes");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let output = runtime.block_on(async { future().await });
    runtime.shutdown_background();
    output
}

fn cpu_time() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("it cannot fail");
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}

/// Resident memory of this process in bytes.
pub fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages: f64 = statm.split_whitespace().nth(1).and_then(|word| word.parse().ok()).expect("a number");
    pages * 4096.0
}

/// The middle one.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
