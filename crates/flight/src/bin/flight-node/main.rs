//! `flight-node`: a flight-software node to talk to, on UDP.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use flight::dictionary::benchmark;
use flight::gateway::{Forward, Gateway};
use flight::node::{Node, NodeConfig, Series};
use flight::security::End;
use flight::time::Subseconds;
use flight::tools::{Clock, Outcome, SecurityOptions, Sockets, Tell, duration, subseconds};

/// A flight-software node that takes commands as CI_LAB and sends telemetry as TO_LAB of NASA's cFS
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// Where commands come
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1234")]
    commands: SocketAddr,
    /// The port telemetry goes to, at the address that TO_LAB's command names
    #[arg(long, value_name = "PORT", default_value_t = 1235)]
    telemetry_port: u16,
    /// The format of sub-seconds in telemetry: 16, 32 or micros
    #[arg(long, value_name = "FORMAT", default_value = "16", value_parser = subseconds)]
    subseconds: Subseconds,
    /// Octets of the longest message that Command Ingest takes
    #[arg(long, value_name = "OCTETS", default_value_t = 768)]
    largest_ingest: usize,
    /// Packets that the Benchmark module publishes when it is started
    #[arg(long, value_name = "PACKETS", default_value_t = benchmark::PACKETS)]
    packets: u32,
    /// Time between two of them
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = duration)]
    gap: Duration,
    /// Octets of their payloads
    #[arg(long, value_name = "OCTETS", default_value_t = benchmark::PAYLOAD_OCTETS)]
    payload: usize,
    #[command(flatten)]
    security: SecurityOptions,
    /// Say where commands come, and the security, as a JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  A node where cFS would be, and the benchmark against it:
    flight-node
    flight-ground echo

  The Benchmark module publishes 1,000 packets of 512 octets, one each 10 ms:
    flight-node --packets 1000 --gap 10ms --payload 512
    flight-ground series --messages 1000 --gap 10ms

  Both directions under SDLS:
    (umask 077; for way in up down; do echo \"$way $(openssl rand -hex 32)\"; done > keys)
    flight-node --security sdls-gcm --keys keys
    flight-ground echo --security sdls-gcm --keys keys";

/// In whose name errors and warnings are told.
const PROGRAM: &str = "flight-node";

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{PROGRAM}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Outcome {
    let config = NodeConfig {
        subseconds: cli.subseconds,
        largest_ingest_octets: cli.largest_ingest,
        series: Series { packets: cli.packets, gap: cli.gap, payload_octets: cli.payload },
    };
    let mut node = Node::new(&config).map_err(|error| error.to_string())?;
    // A gateway in front of the node, in one process: it ends the security, if there is any.
    let link = cli.security.link(PROGRAM, End::Space)?;
    let security = link.name();
    let mut gateway = Gateway::new(link, Ipv4Addr::LOCALHOST);
    let mut sockets = Sockets::bind(&[cli.commands])?;
    let commands = sockets.local(0)?;
    if cli.json {
        let bound = serde_json::json!({"event": "bound", "commands": commands.to_string(),
            "security": security});
        println!("{bound}");
    } else {
        let port = cli.telemetry_port;
        println!("commands come to {commands}, telemetry goes to port {port}; security: {security}");
    }
    let (clock, mut tell) = (Clock::new(), Tell::new(PROGRAM));
    loop {
        while let Some(datagram) = sockets.receive(0)? {
            if let Err(refusal) = gateway.from_ground(&datagram, clock.now()) {
                tell.mistake(refusal.code, &refusal.reason);
            }
            serve(&mut node, &mut gateway, &sockets, cli.telemetry_port, clock, &mut tell);
        }
        serve(&mut node, &mut gateway, &sockets, cli.telemetry_port, clock, &mut tell);
        tell.losses(&gateway);
        let wake = [node.next_wake(), gateway.next_wake()].into_iter().flatten().min();
        sockets.wait(wake.map(|wake| wake.saturating_sub(clock.now())))?;
    }
}

/// Does everything that can be done now.
fn serve(
    node: &mut Node,
    gateway: &mut Gateway,
    sockets: &Sockets,
    telemetry_port: u16,
    clock: Clock,
    tell: &mut Tell,
) {
    loop {
        let now = clock.now();
        // Telemetry first: the node's pipes are bounded.
        if let Some((_, message)) = node.poll_out(now) {
            if let Err(refusal) = gateway.from_flight_software(&message, now) {
                tell.mistake(refusal.code, &refusal.reason);
            }
            continue;
        }
        match gateway.poll(now) {
            Some(Forward::ToFlightSoftware(message)) => node.datagram_in(&message, now),
            Some(Forward::ToGround(ground, datagram)) => {
                let to = SocketAddr::from((ground, telemetry_port));
                if let Err(error) = sockets.send(0, &datagram, to) {
                    tell.mistake("send", &error);
                }
            }
            None => return,
        }
    }
}
