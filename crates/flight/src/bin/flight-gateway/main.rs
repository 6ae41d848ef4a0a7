//! `flight-gateway`: ends a link's security in front of a flight software that knows nothing of it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use clap::Parser;
use flight::gateway::{Forward, Gateway};
use flight::security::End;
use flight::tools::{Clock, Outcome, SecurityOptions, Sockets, Tell};

/// Protected datagrams on the side of ground, plain messages on the side of an unmodified cFS
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// Where protected datagrams of ground come
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:2234")]
    ground: SocketAddr,
    /// The port that protected telemetry goes to, at the address that ground's command to TO_LAB names
    #[arg(long, value_name = "PORT", default_value_t = 2235)]
    telemetry_port: u16,
    /// Where CI_LAB takes plain messages
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1234")]
    commands: SocketAddr,
    /// Where plain telemetry of TO_LAB comes
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1235")]
    telemetry: SocketAddr,
    /// The gateway's address as TO_LAB sees it; that of --telemetry unless given
    #[arg(long, value_name = "IPV4")]
    here: Option<Ipv4Addr>,
    #[command(flatten)]
    security: SecurityOptions,
    /// Say where datagrams come, and the security, as a JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  A cFS on this machine, reached under SDLS:
    (umask 077; for way in up down; do echo \"$way $(openssl rand -hex 32)\"; done > keys)
    flight-gateway --security sdls-gcm --keys keys
    flight-ground echo --commands 127.0.0.1:2234 --telemetry 127.0.0.1:2235 \\
                  --security sdls-gcm --keys keys

  A gateway with an address of its own, between ground and a cFS at 10.0.0.2:
    flight-gateway --ground 10.1.0.1:1234 --telemetry-port 1235 --commands 10.0.0.2:1234 \\
                   --telemetry 10.0.0.1:1235 --security sdls-gcm --keys keys";

/// In whose name errors and warnings are told.
const PROGRAM: &str = "flight-gateway";

/// The sockets: towards ground, and towards the flight software.
const GROUND: usize = 0;
const FLIGHT: usize = 1;

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
    let here = match (cli.here, cli.telemetry.ip()) {
        (Some(here), _) => here,
        (None, IpAddr::V4(here)) if !here.is_unspecified() => here,
        _ => return Err("TO_LAB needs an IPv4 address to send to: give the gateway's with --here".to_owned()),
    };
    let link = cli.security.link_as_named(PROGRAM, End::Space)?;
    let security = link.name();
    let mut gateway = Gateway::new(link, here);
    let mut sockets = Sockets::bind(&[cli.ground, cli.telemetry])?;
    let (ground, telemetry) = (sockets.local(GROUND)?, sockets.local(FLIGHT)?);
    if cli.json {
        let bound = serde_json::json!({"event": "bound", "ground": ground.to_string(),
            "telemetry": telemetry.to_string(), "security": security});
        println!("{bound}");
    } else {
        println!(
            "ground comes to {ground}, telemetry to {telemetry}; commands go to {}; security: {security}",
            cli.commands
        );
    }
    let (clock, mut tell) = (Clock::new(), Tell::new(PROGRAM));
    loop {
        while let Some(datagram) = sockets.receive(GROUND)? {
            if let Err(refusal) = gateway.from_ground(&datagram, clock.now()) {
                tell.mistake(refusal.code, &refusal.reason);
            }
        }
        while let Some(message) = sockets.receive(FLIGHT)? {
            if let Err(refusal) = gateway.from_flight_software(&message, clock.now()) {
                tell.mistake(refusal.code, &refusal.reason);
            }
        }
        while let Some(forward) = gateway.poll(clock.now()) {
            let sent = match forward {
                Forward::ToFlightSoftware(message) => sockets.send(FLIGHT, &message, cli.commands),
                Forward::ToGround(address, datagram) => {
                    sockets.send(GROUND, &datagram, SocketAddr::from((address, cli.telemetry_port)))
                }
            };
            if let Err(error) = sent {
                tell.mistake("send", &error);
            }
        }
        tell.losses(&gateway);
        sockets.wait(gateway.next_wake().map(|wake| wake.saturating_sub(clock.now())))?;
    }
}
