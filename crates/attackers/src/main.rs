//! `gauntlet-attacker`: open-loop load on a server of one's own, on loopback.

#![forbid(unsafe_code)]

use std::io::{self, Write};
use std::process::ExitCode;

use attackers::attacks::Kind;
use attackers::context::SetupError;
use clap::Parser;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Open-loop load on a server of one's own: floods, slow connections, and frames that cost more than their sending
///
/// The server is on this machine: every address outside of 127.0.0.0/8 and ::1 is refused. At most 20000 starts a second,
/// 20000 connections held, 600 seconds.
///
/// Starts are made at their times, whether or not earlier ones are done. A line of JSON a second says how many were due
/// ("offered"), made ("sent"), and what came of them; the last line ("done") has the totals and whether the attacker
/// itself was the bottleneck ("saturated", and "why"): then its numbers say nothing about the server.
#[derive(Parser)]
#[command(name = "gauntlet-attacker", version, about)]
struct Cli {
    #[command(subcommand)]
    kind: Kind,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    raise_descriptors();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error, ExitCode::FAILURE),
    };
    let mut out = io::stdout().lock();
    match runtime.block_on(cli.kind.run(&mut out)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error @ SetupError::Io(_)) => fail(&error, ExitCode::FAILURE),
        // As clap ends where options are wrong.
        Err(error) => fail(&error, ExitCode::from(2)),
    }
}

fn fail(error: &dyn std::error::Error, code: ExitCode) -> ExitCode {
    let _ = writeln!(io::stderr(), "gauntlet-attacker: {error}");
    code
}

/// Each connection takes a descriptor: as many as the machine lets. What is still missing shows in the log ("local").
fn raise_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}
