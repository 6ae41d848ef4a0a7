//! Plays the burst-loss benchmark and writes its page: `cargo run --release -p bursts -- help`.

use std::collections::BTreeMap;
use std::io::{self, Write};
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
    /// Only so many tries of each cell, if it has more.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
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
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    every: usize,
    /// Leave out the head and so many lines after it: those that an interrupted play has printed whole, to which what is
    /// printed now can be appended.
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Tries at a time.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "it takes a number from 1 on".into())
}

impl Selection {
    /// Prints `head`, and the line that `work` makes of each of `jobs`; neither what is to be left out.
    fn print<T: Sync>(
        &self,
        head: &str,
        jobs: &[T],
        work: impl Fn(&T) -> String + Sync,
    ) -> Result<(), String> {
        if jobs.is_empty() {
            return Err(
                "nothing of the registered grid (crates/bursts/grid.toml) is left: leave out some options"
                    .into(),
            );
        }
        let said = |error: io::Error| format!("cannot write the table: {error}");
        if self.skip == 0 {
            writeln!(io::stdout(), "{head}").map_err(said)?;
        }
        print_each(jobs.get(self.skip..).unwrap_or_default(), self.threads, work).map_err(said)
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

    fn stacks(&self, all: Vec<Stack>) -> Result<Vec<Stack>, String> {
        let names: Vec<&str> = all.iter().map(|stack| stack.name).collect();
        if let Some(wrong) = self.stacks.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(format!("no stack is called '{wrong}'; there are {}", names.join(", ")));
        }
        let chosen =
            |stack: &Stack| self.stacks.is_empty() || self.stacks.iter().any(|name| name == stack.name);
        Ok(all.into_iter().filter(chosen).collect())
    }
}

/// Prints the line that `work` makes of each item, a few items at a time, in the order of the items and as soon as
/// all before it are there: what an interrupted play has printed is whole, and `--skip` goes on from it.
fn print_each<T: Sync>(items: &[T], threads: usize, work: impl Fn(&T) -> String + Sync) -> io::Result<()> {
    let next = AtomicUsize::new(0);
    let waiting = Mutex::new((0, BTreeMap::new()));
    let play = || {
        while let (place, Some(item)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            (place, items.get(place))
        } {
            let line = work(item);
            let (printed, lines) = &mut *waiting.lock().expect("no try panics");
            lines.insert(place, line);
            while let Some(line) = lines.remove(printed) {
                if let Err(error) = writeln!(io::stdout(), "{line}") {
                    // Nobody begins another one.
                    next.store(items.len(), Ordering::Relaxed);
                    return Err(error);
                }
                *printed += 1;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(play)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no try panics"))
    })
}

fn transfers(selection: &Selection, fresh: bool) -> Result<(), String> {
    let grid = Grid::registered();
    let stacks = selection.stacks(Stack::for_transfers())?;
    let tries = selection.tries.map_or(usize::MAX, |tries| tries as usize);
    let cells = grid.cells().into_iter().step_by(selection.every);
    let mut jobs = Vec::new();
    for cell in cells.filter(|cell| selection.has_cell(*cell)) {
        for stack in &stacks {
            let seeds = grid.seeds(cell, fresh).take(tries).filter(|seed| selection.has_seed(*seed));
            jobs.extend(seeds.map(|seed| (stack, cell, seed)));
        }
    }
    selection.print(Transfer::HEAD, &jobs, |(stack, cell, seed)| {
        let attempt = Try { link: grid.link(cell.line), seed: *seed };
        let seconds = stack.transfer(&attempt, cell.size_bytes, Duration::from_secs(cell.limit_s));
        Transfer { stack: stack.name.into(), cell: *cell, seed: *seed, seconds }.to_line()
    })
}

fn messages(selection: &Selection) -> Result<(), String> {
    let grid = Grid::registered();
    let stacks = selection.stacks(Stack::for_messages())?;
    let tries = selection.tries.unwrap_or(grid.messages.tries);
    let lines = grid.lines().into_iter().step_by(selection.every);
    let lines = lines.filter(|line| selection.has_line(*line));
    let seeds: Vec<u64> = (1..=tries).filter(|seed| selection.has_seed(*seed)).collect();
    let lines = lines.filter(|_| !seeds.is_empty());
    let jobs: Vec<_> = lines.flat_map(|line| stacks.iter().map(move |stack| (stack, line))).collect();
    selection.print(Flow::HEAD, &jobs, |(stack, line)| {
        let play = |seed: &u64| stack.messages(&Try { link: grid.link(*line), seed: *seed }, &grid.messages);
        let delays_s = seeds.iter().flat_map(play).collect();
        Flow::of(stack.name, *line, delays_s).to_line()
    })
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().task {
        Task::Transfers { fresh, selection } => transfers(&selection, fresh),
        Task::Messages(selection) => messages(&selection),
        Task::Page { transfers, fresh, messages, laboratory } => {
            page::write(&transfers, &fresh, &messages, &laboratory).and_then(|text| {
                write!(io::stdout(), "{text}").map_err(|error| format!("cannot write the page: {error}"))
            })
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("{sentence}");
            ExitCode::FAILURE
        }
    }
}
