//! `flight-bench`: what the security of a command link costs on this machine, in real time.

mod arms;
mod attacks;
mod handshakes;
mod messages;
mod rows;
mod wire;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use flight_links::suite::{Cipher, Security};

/// Measures securities of a command link: both ends in one process, over sockets of the loopback
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  flight-bench messages --quick > messages.csv
  flight-bench messages --security sdls-gcm --payload 1024 --gap 2000 > cold.csv
  flight-bench handshakes --quick > handshakes.csv
  flight-bench attacks
  flight-bench refusals";

#[derive(Subcommand)]
enum Command {
    /// The time that one message takes at its sender and at its receiver, after a gap
    Messages(Messages),
    /// Computing time, octets and round trips of handshakes
    Handshakes(Handshakes),
    /// Plays every attack on every security, and prints which succeed
    Attacks,
    /// The sentence for every combination that a library refuses
    Refusals,
}

#[derive(Args)]
struct Messages {
    /// Fewer samples: some minutes
    #[arg(long)]
    quick: bool,
    /// Measure only these
    #[arg(long, value_name = "NAME")]
    security: Vec<Security>,
    /// Cipher of QUIC and TLS; SDLS has AES-256 here
    #[arg(long, value_name = "NAME", default_value = "aes-256-gcm")]
    cipher: Cipher,
    /// Octets of a message behind its header of eight
    #[arg(long, value_name = "OCTETS")]
    payload: Vec<usize>,
    /// Milliseconds of rest before a message is sent, and again before it is received
    #[arg(long, value_name = "MS")]
    gap: Vec<u64>,
    /// Order of what is measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Handshakes {
    /// Fewer combinations and repetitions
    #[arg(long)]
    quick: bool,
    /// Order of what is measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The payloads of Figures 4.1 and 4.2 of the study (key SPACE), and the ends of the range here: the longest is that of
/// CryptoLib's TM and AOS frames.
const PAYLOADS: [usize; 6] = [64, 128, 256, 512, 1024, 1786];

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Messages(options) => {
            let gaps = messages::gaps(options.quick, &options.gap);
            let payloads = match (options.payload.is_empty(), options.quick) {
                (false, _) => options.payload,
                (true, true) => vec![128, 1024],
                (true, false) => PAYLOADS.to_vec(),
            };
            arms::arms(&options.security, options.cipher).and_then(|arms| {
                let plan =
                    messages::Plan { arms, payloads, gaps, blocks: if options.quick { 3 } else { 10 } };
                messages::run(&plan, options.seed)
            })
        }
        Command::Handshakes(options) => handshakes::run(options.quick, options.seed),
        Command::Attacks => attacks::run(),
        Command::Refusals => arms::refusals(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flight-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
