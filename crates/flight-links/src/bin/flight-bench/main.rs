//! `flight-bench`: what the security of a command link costs on this machine, in real time.

mod about;
mod arms;
mod attacks;
mod end;
mod first;
mod handshakes;
mod kind;
mod messages;
mod rows;
mod schedule;
mod socket;
mod summary;
mod turn;
mod wire;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use flight_links::credentials::Credentials;
use flight_links::suite::{Cipher, Provider, Security, Signature};

use self::kind::Kind;

/// Measures securities of a command link: both ends on this machine, over sockets of the loopback
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  flight-bench messages --quick > messages.csv
  flight-bench summary messages.csv
  flight-bench messages --security sdls-gcm --payload 1024 --gap 2000 > cold.csv
  flight-bench messages --payload 1024 --gap 2000 --samples 5 --alone --block 0 > alone.csv
  flight-bench handshakes --quick > handshakes.csv
  flight-bench credentials --signature rsa-2048 > ends.txt
  flight-bench first-handshake --credentials ends.txt --signature rsa-2048 --group p-256
  flight-bench attacks --security dtls
  flight-bench refusals
  flight-bench about";

#[derive(Subcommand)]
enum Command {
    /// The time that one message takes at its sender and at its receiver, after a gap
    Messages(Messages),
    /// Median and quartiles of each column, from what messages, handshakes or first-handshake printed
    Summary {
        /// Their rows; without it standard input
        file: Option<PathBuf>,
    },
    /// Computing time, octets and round trips of handshakes
    Handshakes(Handshakes),
    /// One handshake, the first of the processes of both ends
    FirstHandshake(Kind),
    /// One end of a first handshake, which lines on standard input lead: open, take, spent, say, heard, peer
    HandshakeEnd(HandshakeEnd),
    /// Prints certificates of both ends, with their private keys
    Credentials {
        /// The keys of the certificates
        #[arg(long, value_name = "NAME", default_value = "ed25519")]
        signature: Signature,
    },
    /// Plays every attack, and prints which succeed
    Attacks(Attacks),
    /// The sentence for every combination that a library refuses
    Refusals,
    /// Versions of the libraries, how long a reading of the clock takes, how many blocks there are
    About,
}

#[derive(Args)]
struct Messages {
    /// Fewer samples: some minutes
    #[arg(long)]
    quick: bool,
    /// Measure only these
    #[arg(long, value_name = "NAME")]
    security: Vec<Security>,
    /// Measure QUIC, TLS and DTLS with these libraries; without it QUIC by stream with aws-lc and ring, the rest with aws-lc
    #[arg(long, value_name = "NAME")]
    provider: Vec<Provider>,
    /// Measure QUIC, TLS and DTLS with this cipher only; SDLS has AES-256 here
    #[arg(long, value_name = "NAME")]
    cipher: Option<Cipher>,
    /// Octets of a message behind its header of eight
    #[arg(long, value_name = "OCTETS")]
    payload: Vec<usize>,
    /// Milliseconds of rest before a message is sent, and again before it is received
    #[arg(long, value_name = "MS")]
    gap: Vec<u64>,
    /// Measure only this block; the first is 0
    #[arg(long, value_name = "NUMBER")]
    block: Option<usize>,
    /// Samples of a block, of every gap alike
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    samples: Option<u32>,
    /// One turn after the other: without it those with long gaps are taken together, each in the others' gaps
    #[arg(long)]
    alone: bool,
    /// Order of what is measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct Handshakes {
    /// Fewer combinations and repetitions
    #[arg(long)]
    quick: bool,
    /// Measure only these, of quic-stream, s2n-stream, tls, dtls and restp
    #[arg(long, value_name = "NAME")]
    security: Vec<Security>,
    /// Measure with these libraries; without it with aws-lc and ring
    #[arg(long, value_name = "NAME")]
    provider: Vec<Provider>,
    /// Measure QUIC, TLS and DTLS with this cipher only
    #[arg(long, value_name = "NAME")]
    cipher: Option<Cipher>,
    /// Order of what is measured
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Args)]
struct HandshakeEnd {
    #[command(flatten)]
    kind: Kind,
    /// Where the other end is; without it this one waits for whoever comes
    #[arg(long, value_name = "ADDRESS")]
    to: Option<SocketAddr>,
}

#[derive(Args)]
struct Attacks {
    /// Attack only these
    #[arg(long, value_name = "NAME")]
    security: Vec<Security>,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Messages(options) => {
            let Messages { quick, security, provider, cipher, payload, gap, block, samples, alone, seed } =
                options;
            let schedule = schedule::Schedule::new(quick, &payload, &gap)
                .alone(alone)
                .samples(samples.map(|count| count as usize));
            arms::arms(&security, &provider, cipher)
                .and_then(|arms| messages::run(&messages::Plan { arms, schedule, block }, seed))
        }
        Command::Handshakes(Handshakes { quick, security, provider, cipher, seed }) => handshakes::run(
            quick,
            seed,
            handshakes::Named { securities: &security, providers: &provider, cipher },
        ),
        Command::FirstHandshake(kind) => first::run(&kind),
        Command::HandshakeEnd(HandshakeEnd { kind, to }) => end::run(&kind, to),
        Command::Credentials { signature } => {
            Credentials::new(signature).map_err(|error| error.to_string()).and_then(|made| {
                write!(io::stdout(), "{}", made.written())
                    .map_err(|error| rows::unwritten("certificates", &error))
            })
        }
        Command::Summary { file } => summary::run(file.as_deref()),
        Command::Attacks(options) => attacks::run(&options.security),
        Command::Refusals => arms::refusals(),
        Command::About => about::run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("flight-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
