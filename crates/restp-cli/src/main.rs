//! `restp`: use and measure ResTP from the command line.

mod choose;
mod end;
mod files;
mod frames;
mod keys;
mod log;
mod netcat;
mod numbers;
mod outcome;
mod perf;
mod place;
mod probe;
mod profile_args;
mod recipe;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// ResTP, a transport whose services are chosen one by one.
#[derive(Parser)]
#[command(version, about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Accept a connection; what comes goes to standard output, standard input goes to the peer
    Serve(netcat::Serve),
    /// Connect; standard input goes to the peer, what comes goes to standard output
    Connect(netcat::Connect),
    /// Measure throughput, request rate and one-way delay
    Perf(perf::Perf),
    /// From what is needed to services, with reasons and options
    Choose(choose::Choose),
    /// Make a key pair
    Keygen(keys::Keygen),
    /// See whether an endpoint answers, how fast, and what it agrees to
    Probe(probe::Probe),
}

fn main() -> ExitCode {
    let matches = numbers::may_be_negative(Cli::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("restp: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run().await,
            Command::Connect(command) => command.run().await,
            Command::Perf(command) => command.run().await,
            Command::Choose(command) => command.run(),
            Command::Keygen(command) => command.run(),
            Command::Probe(command) => command.run().await,
        }
    });
    // A read of standard input cannot be called back; it must not keep the program alive.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("restp: {error}");
            ExitCode::FAILURE
        }
    }
}
