//! Plays the burst-loss benchmark and writes its page: `cargo run --release -p bursts -- help`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bursts::attempt::Try;
use bursts::grid::{Cell, Grid, Line};
use bursts::page;
use bursts::stack::Stack;
use bursts::table::{Flow, Transfer};
use clap::{Parser, Subcommand};

/// The burst-loss benchmark.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Play the transfers; a line a try.
    Transfers {
        /// Seeds that nobody had looked at when they were registered.
        #[arg(long)]
        fresh: bool,
        #[command(flatten)]
        selection: Selection,
    },
    /// Play the flows of messages; a line a flow.
    Messages(Selection),
    /// Write the page from what was played.
    Page {
        /// Output of `transfers`.
        transfers: PathBuf,
        /// Output of `transfers --fresh`.
        fresh: PathBuf,
        /// Output of `messages`.
        messages: PathBuf,
        /// Output of `laboratory.py`.
        laboratory: PathBuf,
    },
}

/// What is played; everything, unless something is left out.
#[derive(clap::Args)]
struct Selection {
    /// Only these stacks.
    #[arg(long, value_delimiter = ',')]
    stacks: Vec<String>,
    /// Only so many tries of each cell.
    #[arg(long)]
    tries: Option<u64>,
    /// Only cells with at most so many bytes.
    #[arg(long)]
    at_most_bytes: Option<usize>,
    /// Only links with this loss.
    #[arg(long)]
    loss_percent: Option<u32>,
    /// Only links with bursts of so many packets.
    #[arg(long)]
    burst_packets: Option<u32>,
    /// Only links with this round-trip time.
    #[arg(long)]
    rtt_ms: Option<u64>,
    /// Only transfers of exactly so many bytes.
    #[arg(long)]
    bytes: Option<usize>,
    /// Only these seeds of those that are registered.
    #[arg(long, value_delimiter = ',')]
    seeds: Vec<u64>,
    /// Only every so-manieth cell.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Leave out so many lines at the beginning: those that an interrupted play has printed.
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Tries at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

impl Selection {
    fn rest<'a, T>(&self, jobs: &'a [T]) -> &'a [T] {
        jobs.get(self.skip..).unwrap_or_default()
    }

    fn has_line(&self, line: Line) -> bool {
        self.loss_percent.is_none_or(|loss| loss == line.loss_percent)
            && self.burst_packets.is_none_or(|burst| burst == line.burst_packets)
            && self.rtt_ms.is_none_or(|rtt| rtt == line.rtt_ms)
    }

    fn has_cell(&self, cell: Cell) -> bool {
        self.has_line(cell.line)
            && self.bytes.is_none_or(|bytes| bytes == cell.size_bytes)
            && self.at_most_bytes.is_none_or(|most| cell.size_bytes <= most)
    }

    fn has_seed(&self, seed: u64) -> bool {
        self.seeds.is_empty() || self.seeds.contains(&seed)
    }

    fn stacks(&self, all: Vec<Stack>) -> Vec<Stack> {
        all.into_iter()
            .filter(|stack| self.stacks.is_empty() || self.stacks.iter().any(|name| name == stack.name))
            .collect()
    }
}

/// Prints the line that `work` makes of each item, a few items at a time, in the order of the items and as soon as
/// all before it are there: what an interrupted play has printed is whole, and `--skip` goes on from it.
fn print_each<T: Sync>(items: &[T], threads: usize, work: impl Fn(&T) -> String + Sync) {
    let next = AtomicUsize::new(0);
    let waiting = Mutex::new((0, BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let (place, Some(item)) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    (place, items.get(place))
                } {
                    let line = work(item);
                    let (printed, lines) = &mut *waiting.lock().expect("no try panics");
                    lines.insert(place, line);
                    while let Some(line) = lines.remove(printed) {
                        println!("{line}");
                        *printed += 1;
                    }
                }
            });
        }
    });
}

fn transfers(selection: &Selection, fresh: bool) {
    let grid = Grid::registered();
    let stacks = selection.stacks(Stack::for_transfers());
    let tries = selection.tries.map_or(usize::MAX, |tries| tries as usize);
    let cells = grid.cells().into_iter().step_by(selection.every.max(1));
    let mut jobs = Vec::new();
    for cell in cells.filter(|cell| selection.has_cell(*cell)) {
        for stack in &stacks {
            let seeds = grid.seeds(cell, fresh).take(tries).filter(|seed| selection.has_seed(*seed));
            jobs.extend(seeds.map(|seed| (stack, cell, seed)));
        }
    }
    println!("{}", Transfer::HEAD);
    print_each(selection.rest(&jobs), selection.threads, |(stack, cell, seed)| {
        let attempt = Try { link: grid.link(cell.line), seed: *seed };
        let seconds = stack.transfer(&attempt, cell.size_bytes, Duration::from_secs(cell.limit_s));
        Transfer { stack: stack.name.into(), cell: *cell, seed: *seed, seconds }.to_line()
    });
}

fn messages(selection: &Selection) {
    let grid = Grid::registered();
    let stacks = selection.stacks(Stack::for_messages());
    let tries = selection.tries.unwrap_or(grid.messages.tries);
    let lines = grid.lines().into_iter().step_by(selection.every.max(1));
    let lines = lines.filter(|line| selection.has_line(*line));
    let jobs: Vec<_> = lines.flat_map(|line| stacks.iter().map(move |stack| (stack, line))).collect();
    println!("{}", Flow::HEAD);
    print_each(selection.rest(&jobs), selection.threads, |(stack, line)| {
        let delays_s = (1..=tries)
            .filter(|seed| selection.has_seed(*seed))
            .flat_map(|seed| stack.messages(&Try { link: grid.link(*line), seed }, &grid.messages))
            .collect();
        Flow::of(stack.name, *line, delays_s).to_line()
    });
}

fn main() -> ExitCode {
    match Arguments::parse().task {
        Task::Transfers { fresh, selection } => transfers(&selection, fresh),
        Task::Messages(selection) => messages(&selection),
        Task::Page { transfers, fresh, messages, laboratory } => {
            match page::write(&transfers, &fresh, &messages, &laboratory) {
                Ok(text) => print!("{text}"),
                Err(sentence) => {
                    eprintln!("{sentence}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}
