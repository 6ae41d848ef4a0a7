//! `flight-ground`: sends messages to a flight software and says which came back, and when.

mod show;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Parser, ValueEnum};
use flight::dictionary::benchmark;
use flight::ground::{Bench, Plan, Report, Step, Work};
use flight::message::MessageId;
use flight::security::{End, Link, Output};
use flight::time::Subseconds;
use flight::tools::{Clock, Outcome, SecurityOptions, Sockets, Tell, duration, subseconds};

/// Benchmark of a flight software with CI_LAB and TO_LAB, such as flight-node or NASA's cFS
#[derive(Parser)]
#[command(version, after_help = EXAMPLES)]
struct Cli {
    /// What is sent
    #[arg(value_enum)]
    work: Kind,
    /// Messages of each size and gap
    #[arg(long, short = 'n', value_name = "MESSAGES", default_value_t = 20)]
    messages: u32,
    /// Octets of payloads, several with commas between; CI_LAB as delivered takes echoes up to 752 and data up to 760
    #[arg(long, value_name = "OCTETS", value_delimiter = ',', default_value = "128,256,512")]
    octets: Vec<usize>,
    /// Time between two messages, several with commas between; kept to a millisecond, in bursts below that
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "10ms", value_parser = duration)]
    gap: Vec<Duration>,
    /// For how long something that does not come is waited for
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    wait: Duration,
    /// Where commands go
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1234")]
    commands: SocketAddr,
    /// Where telemetry comes
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:1235")]
    telemetry: SocketAddr,
    /// Ground's address as the spacecraft sees it; that of --telemetry unless given
    #[arg(long, value_name = "IPV4")]
    here: Option<Ipv4Addr>,
    /// Message id of echoes: telemetry's, and of nobody on board
    #[arg(long, value_name = "ID", default_value = "0x0888", value_parser = message_id)]
    id: MessageId,
    /// The format of sub-seconds in telemetry: 16, 32 or micros
    #[arg(long, value_name = "FORMAT", default_value = "16", value_parser = subseconds)]
    subseconds: Subseconds,
    #[command(flatten)]
    security: SecurityOptions,
    /// Print a JSON object with the time of every message instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Messages that come back: round trips
    Echo,
    /// Commands with payloads for the Benchmark module: how many arrive
    Data,
    /// Packets that the Benchmark module publishes: how many come, and the time between them
    Series,
}

const EXAMPLES: &str = "\
Examples:
  Round trips of 1,000 messages of each of two sizes, warm and with half a second between:
    flight-ground echo -n 1000 --octets 64,512 --gap 1ms,500ms

  A cFS on another machine, which sends telemetry to this one:
    flight-ground echo --commands 10.0.0.2:1234 --telemetry 10.0.0.1:1235

  Losses of the study's commands; packets of its Benchmark module:
    flight-ground data -n 1000 --octets 128,256,512 --gap 2ms
    flight-ground series

  Under SDLS, with a flight-node or a flight-gateway at the other end:
    flight-ground echo --security sdls-gcm --keys keys --json";

/// In whose name errors and warnings are told.
const PROGRAM: &str = "flight-ground";

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
    let mut link = cli.security.link(PROGRAM, End::Ground)?;
    let mut sockets = Sockets::bind(&[cli.telemetry])?;
    let here = match (cli.here, sockets.local(0)?.ip()) {
        (Some(here), _) => here,
        (None, IpAddr::V4(here)) if !here.is_unspecified() => here,
        _ => return Err("TO_LAB needs an IPv4 address to send to: give ground's with --here".to_owned()),
    };
    let clock = Clock::new();
    let mut bench = Bench::new(plan(cli, here), clock.now()).map_err(|error| error.to_string())?;
    let report = measure(cli, &mut bench, &mut link, &mut sockets, clock)?;
    let text = if cli.json { show::json(&report, &link) } else { show::text(&report, &link) };
    print!("{text}");
    Ok(())
}

fn plan(cli: &Cli, here: Ipv4Addr) -> Plan {
    let (work, octets) = match cli.work {
        Kind::Echo => (Work::Echo { id: cli.id }, cli.octets.clone()),
        Kind::Data => (Work::Data, cli.octets.clone()),
        // The size is what the module was given.
        Kind::Series => (Work::Series, vec![benchmark::PAYLOAD_OCTETS]),
    };
    let steps = octets
        .iter()
        .flat_map(|payload_octets| {
            cli.gap.iter().map(|gap| Step { payload_octets: *payload_octets, gap: *gap })
        })
        .collect();
    let mark = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u32);
    Plan { work, steps, messages: cli.messages, here, subseconds: cli.subseconds, wait: cli.wait, mark }
}

/// Runs the benchmark to its end.
fn measure(
    cli: &Cli,
    bench: &mut Bench,
    link: &mut Link,
    sockets: &mut Sockets,
    clock: Clock,
) -> Result<Report, String> {
    let mut tell = Tell::new(PROGRAM);
    loop {
        while let Some(datagram) = sockets.receive(0)? {
            let now = clock.now();
            if let Err(refusal) = link.process(&datagram, now) {
                tell.mistake(refusal.code, &refusal.reason);
            }
            drain(cli, bench, link, sockets, clock, &mut tell);
        }
        if let Some(outcome) = bench.outcome() {
            return outcome.map_err(|error| error.to_string());
        }
        // One message, and then what came: nothing waits for the end of a burst.
        if let Some(message) = bench.poll(clock.now()) {
            link.apply(&message, clock.now()).map_err(|refusal| refusal.to_string())?;
        } else if bench.outcome().is_none() {
            let wake = [bench.next_wake(), link.next_timeout()].into_iter().flatten().min();
            sockets.wait(wake.map(|wake| wake.saturating_sub(clock.now())))?;
        }
        drain(cli, bench, link, sockets, clock, &mut tell);
    }
}

/// Sends and hands on what the link has.
fn drain(cli: &Cli, bench: &mut Bench, link: &mut Link, sockets: &Sockets, clock: Clock, tell: &mut Tell) {
    while let Some(output) = link.poll(clock.now()) {
        match output {
            Output::Message(message) => bench.message_in(&message, clock.now()),
            Output::Datagram(datagram) => {
                if let Err(error) = sockets.send(0, &datagram, cli.commands) {
                    tell.mistake("send", &error);
                }
            }
        }
    }
}

fn message_id(text: &str) -> Result<MessageId, String> {
    let number =
        text.strip_prefix("0x").map_or_else(|| text.parse(), |digits| u16::from_str_radix(digits, 16));
    match number.map(MessageId) {
        Ok(id) if id.is_valid() && id.is_telemetry() => Ok(id),
        _ => Err(format!("«{text}» is no message id of telemetry: 0x0800 to 0x0FFF")),
    }
}
