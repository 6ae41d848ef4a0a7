//! A web server over TCP or QUIC with limits and counters, on loopback: `gauntlet-web-server --help`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use web::Refusal;
use web::heap::Counting;
use web::limits::{Limits, Retry};
use web::lines::Control;
use web::protocol::Protocol;
use web::quic_library::QuicLibrary;
use web::server::{Options, run};
use web::site::Site;

#[global_allocator]
static HEAP: Counting = Counting;

/// Serves a page (/), any number of octets (/bytes/N) and generated sites, until SIGTERM. It writes a JSON object a
/// line: `ready`, `now` at each SIGUSR1, `done`.
#[derive(Parser)]
#[command(version, name = "gauntlet-web-server")]
struct Arguments {
    /// What HTTP goes over.
    #[arg(long)]
    protocol: Protocol,
    /// The QUIC library beneath HTTP/3. s2n-quic has neither tickets nor early data.
    #[arg(long, value_enum, default_value_t, value_name = "NAME")]
    quic_library: QuicLibrary,
    /// Where to listen, on loopback; port 0 for any that is free.
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The certificate, with those that lead to the authority (PEM): RSA, P-256 or Ed25519.
    #[arg(long, value_name = "FILE")]
    certificate: PathBuf,
    /// Its key (PEM).
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// When QUIC clients have to show that they receive: off, always, or above=N handshakes in flight.
    #[arg(long, default_value = "off", value_name = "RULE")]
    retry: Retry,
    /// Handshakes that may be in flight.
    #[arg(long, default_value_t = Limits::default().handshakes_in_flight, value_name = "N")]
    handshakes_in_flight: usize,
    /// Time for a handshake.
    #[arg(long, default_value_t = milliseconds(Limits::default().handshake_timeout), value_name = "N")]
    handshake_timeout_ms: u64,
    /// Time for the head of a request.
    #[arg(long, default_value_t = milliseconds(Limits::default().header_timeout), value_name = "N")]
    header_timeout_ms: u64,
    /// Time for the body of a request (POST).
    #[arg(long, default_value_t = milliseconds(Limits::default().body_timeout), value_name = "N")]
    body_timeout_ms: u64,
    /// Time without a request that begins, a piece of a body, or one of an answer that is taken.
    #[arg(long, default_value_t = milliseconds(Limits::default().idle_timeout), value_name = "N")]
    idle_timeout_ms: u64,
    /// Requests of a connection that may be open.
    #[arg(long, default_value_t = Limits::default().streams, value_name = "N")]
    streams: u32,
    /// Connections that may be open.
    #[arg(long, default_value_t = Limits::default().connections, value_name = "N")]
    connections: usize,
    /// Let clients that resume ask before the end of the handshake (0-RTT).
    #[arg(long)]
    early_data: bool,
    /// Tickets for each connection, with which a client may resume [default: 2, and none over s2n-quic].
    #[arg(long, value_name = "N")]
    tickets: Option<usize>,
    /// Resources beside the page: a JSON object, {"/PATH": {"octets": N, "type": "TYPE/SUBTYPE"}, ...}.
    #[arg(long, value_name = "FILE")]
    sites: Option<PathBuf>,
    /// Where the lines go: the number of an open descriptor, or - for standard output.
    #[arg(long, default_value = "-", value_name = "FD")]
    control: Control,
    /// A bound to take away; may be given several times.
    #[cfg(feature = "weak")]
    #[arg(long, value_name = "NAME")]
    weakness: Vec<String>,
}

fn milliseconds(time: Option<Duration>) -> u64 {
    time.map_or(u64::MAX, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

impl Arguments {
    fn limits(&self) -> Result<Limits, Refusal> {
        let time = |milliseconds| Some(Duration::from_millis(milliseconds));
        #[cfg_attr(
            not(feature = "weak"),
            expect(unused_mut, reason = "only weaknesses change what was asked for")
        )]
        let mut limits = Limits {
            retry: self.retry,
            handshakes_in_flight: self.handshakes_in_flight,
            handshake_timeout: time(self.handshake_timeout_ms),
            header_timeout: time(self.header_timeout_ms),
            body_timeout: time(self.body_timeout_ms),
            idle_timeout: time(self.idle_timeout_ms),
            streams: self.streams,
            connections: self.connections,
            ..Limits::default()
        };
        #[cfg(feature = "weak")]
        for name in &self.weakness {
            let weakness = web::weakness::find(name).ok_or_else(|| unknown(name))?;
            (weakness.apply)(&mut limits);
        }
        Ok(limits)
    }

    #[cfg(feature = "weak")]
    fn weaknesses(&self) -> Vec<String> {
        self.weakness.clone()
    }

    #[cfg(not(feature = "weak"))]
    fn weaknesses(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(feature = "weak")]
fn unknown(name: &str) -> Refusal {
    let known = web::weakness::REGISTRY
        .iter()
        .map(|one| format!("\n  {}: takes away that {}", one.name, one.removes));
    Refusal::new(format!("there is no weakness `{name}`; there are:{}", known.collect::<String>()))
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let served = || {
        let lines = arguments.control.open()?;
        let options = Options {
            protocol: arguments.protocol,
            quic_library: arguments.quic_library,
            listen: arguments.listen,
            limits: arguments.limits()?,
            weaknesses: arguments.weaknesses(),
            tickets: arguments.tickets,
            early_data: arguments.early_data,
            site: Site::open(arguments.sites.as_deref())?,
            certificate: arguments.certificate,
            key: arguments.key,
        };
        run(options, &lines)
    };
    match served() {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            eprintln!("gauntlet-web-server: {refusal}");
            ExitCode::FAILURE
        }
    }
}
