//! A web client over TCP or QUIC that notes what became of each request, on loopback: `gauntlet-web-client --help`.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use web::Refusal;
use web::client::{Options, Schedule, run};
use web::lines::Lines;
use web::protocol::Protocol;
use web::tls::SERVER_NAME;

/// Opens connections at fixed instants, whatever became of earlier ones, and asks over each. It writes a JSON object a
/// line: `request` for each request when it is over, `done` at the end. Keys of its connections go to the file that
/// SSLKEYLOGFILE names.
#[derive(Parser)]
#[command(version, name = "gauntlet-web-client")]
struct Arguments {
    /// What HTTP goes over.
    #[arg(long)]
    protocol: Protocol,
    /// The server, on loopback.
    #[arg(long, value_name = "ADDRESS")]
    connect: SocketAddr,
    /// The authority that must have signed its certificate (PEM).
    #[arg(long, value_name = "FILE")]
    ca: PathBuf,
    /// The name in that certificate.
    #[arg(long, default_value = SERVER_NAME, value_name = "NAME")]
    server_name: String,
    /// What to ask for.
    #[arg(long, default_value = "/")]
    path: String,
    /// How often to ask over each connection, one request after the other.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    requests_per_connection: u64,
    /// Connections.
    #[arg(long, default_value_t = 1, value_name = "N")]
    count: u64,
    /// Time between the beginnings of two connections.
    #[arg(long, default_value_t = 1000, value_name = "N")]
    interval_ms: u64,
    /// Connections a second, for --seconds, in place of --count and --interval-ms.
    #[arg(long, requires = "seconds", conflicts_with_all = ["count", "interval_ms"])]
    rate: Option<f64>,
    /// How long to open connections.
    #[arg(long, requires = "rate")]
    seconds: Option<f64>,
    /// How long a request may take, with its connection.
    #[arg(long, default_value_t = 60_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timeout_ms: u64,
    /// Ask before the end of the handshake where a ticket of an earlier connection allows it (0-RTT).
    #[arg(long)]
    early_data: bool,
    /// Resume sessions.
    #[arg(long)]
    resume: bool,
}

impl Arguments {
    fn schedule(&self) -> Result<Schedule, Refusal> {
        match (self.rate, self.seconds) {
            (Some(rate), Some(seconds)) => Schedule::rate(rate, seconds),
            _ => Schedule::every(Duration::from_millis(self.interval_ms), self.count),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let asked = arguments.schedule().and_then(|schedule| {
        let options = Options {
            protocol: arguments.protocol,
            connect: arguments.connect,
            authority: arguments.ca,
            server_name: arguments.server_name,
            path: arguments.path,
            requests_per_connection: arguments.requests_per_connection,
            schedule,
            timeout: Duration::from_millis(arguments.timeout_ms),
            early_data: arguments.early_data,
            resume: arguments.resume,
        };
        run(options, Lines::to(io::stdout()))
    });
    match asked {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("gauntlet-web-client: {refusal}");
            ExitCode::FAILURE
        }
    }
}
