//! `rasta`: RaSTA connections from the command line.

mod config;
mod outcome;
mod run;
mod show;
mod tls;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// RaSTA (DIN VDE V 0831-200 as publicly documented) over UDP, TCP and TLS. No conformance is claimed.
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  Two UDP channels; lines of one terminal come out in the other:
    rasta serve   --id 97 --peer 96 -c udp:127.0.0.1:9001 -c udp:127.0.0.1:9002
    rasta connect --id 96 --peer 97 -c udp:127.0.0.1:9001 -c udp:127.0.0.1:9002

  Round trips of 50 messages, one each 100 ms, as JSON lines:
    rasta serve   --id 97 --peer 96 -c tcp:127.0.0.1:9001 --echo
    rasta connect --id 96 --peer 97 -c tcp:127.0.0.1:9001 --ping 50 --json

  TLS on one channel, both sides with certificates:
    rasta serve   --id 97 --peer 96 -c tls:127.0.0.1:9001 --tls-cert s.pem --tls-key s.key --tls-ca ca.pem
    rasta connect --id 96 --peer 97 -c tls:127.0.0.1:9001 --tls-name s.example \\
                  --tls-cert c.pem --tls-key c.key --tls-ca ca.pem";

#[derive(Subcommand)]
enum Command {
    /// Wait for the peer on the given channels
    Serve(run::Serve),
    /// Open a connection over the given channels
    Connect(run::Connect),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("rasta: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run().await,
            Command::Connect(command) => command.run().await,
        }
    });
    // A read of standard input cannot be called back; it must not keep the program alive.
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rasta: {error}");
            ExitCode::FAILURE
        }
    }
}
