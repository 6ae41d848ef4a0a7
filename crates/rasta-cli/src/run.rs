//! The two commands.

use std::time::Duration;

use clap::Args;
use rasta::net::{NetError, Port, PortEvent, Report};
use rasta::{Event, Role, State};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::Instant;

use crate::config::Common;
use crate::outcome::{Failure, Outcome};
use crate::show::{SAME, Show, by_wish, refusals};

/// `rasta serve`.
#[derive(Args)]
pub struct Serve {
    #[command(flatten)]
    common: Common,
    /// Send every message back
    #[arg(long)]
    echo: bool,
    /// Wait for the next connection when one has ended
    #[arg(long)]
    again: bool,
}

/// `rasta connect`.
#[derive(Args)]
pub struct Connect {
    #[command(flatten)]
    common: Common,
    /// Send so many messages to a server with --echo, print round trips, and close
    #[arg(long, value_name = "MESSAGES")]
    ping: Option<u32>,
    /// Between two such messages
    #[arg(long, value_name = "MS", default_value_t = 100)]
    interval: u64,
    /// Octets of each
    #[arg(long, value_name = "OCTETS", default_value_t = 64, value_parser = clap::value_parser!(u16).range(4..=1055))]
    bytes: u16,
}

impl Serve {
    pub async fn run(self) -> Outcome {
        let show = Show { json: self.common.json };
        let mut port = bind(&self.common, Role::Server).await?;
        show.bound(&self.common.kinds(), port.local_addresses())?;
        loop {
            port.begin_open().await?;
            let outcome =
                if self.echo { echo(&mut port, show).await } else { talk(&mut port, show, false).await };
            let report = port.report().await?;
            show.report(&report)?;
            let outcome = outcome.map_err(|stop| stop.told(&report));
            match outcome {
                Err(Stop::Ended(why)) if self.again => eprintln!("rasta: {why}"),
                Ok(()) if self.again => {}
                outcome => return Ok(outcome?),
            }
        }
    }
}

impl Connect {
    pub async fn run(self) -> Outcome {
        let show = Show { json: self.common.json };
        let mut port = bind(&self.common, Role::Client).await?;
        port.begin_open().await?;
        let outcome = match self.ping {
            None => talk(&mut port, show, true).await,
            Some(messages) => {
                ping(&mut port, show, messages, Duration::from_millis(self.interval), self.bytes.into()).await
            }
        };
        let report = port.report().await?;
        show.report(&report)?;
        Ok(outcome.map_err(|stop| stop.told(&report))?)
    }
}

/// Why a connection's work ended before it was done.
#[derive(Debug)]
enum Stop {
    /// The connection ended otherwise than by wish, and how.
    Ended(String),
    /// Standard output cannot be written.
    Output(Failure),
}

impl From<NetError> for Stop {
    fn from(error: NetError) -> Self {
        Self::Ended(error.to_string())
    }
}

impl From<Failure> for Stop {
    fn from(error: Failure) -> Self {
        Self::Output(error)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Ended(why) => why.into(),
            Stop::Output(error) => error,
        }
    }
}

impl Stop {
    /// With what was counted: whether anything came from the other end, and was refused.
    fn told(self, report: &Report) -> Self {
        match self {
            Self::Ended(why) => Self::Ended(format!("{why}{}", came(report))),
            output => output,
        }
    }
}

/// What came of the other end's frames, where none was taken.
fn came(report: &Report) -> String {
    let refused = report.refused.frames();
    if report.sent.iter().sum::<u64>() == 0 {
        // The other end has seen nothing that it could refuse.
        "; no frame went out: no channel was up".into()
    } else if report.received.iter().sum::<u64>() == 0 {
        format!("; no frame came: nobody is there, or what this end sends is refused ({SAME})")
    } else if refused > 0 {
        format!("; {}", refusals(&report.refused))
    } else {
        String::new()
    }
}

async fn bind(common: &Common, role: Role) -> Result<Port, Failure> {
    let config = common.config(role)?;
    if !config.safety_code.protects() {
        eprintln!("rasta: without a safety code damaged messages are taken for good ones");
    }
    Ok(Port::bind(config, common.seeds()?, common.channels(role)?).await?)
}

/// Whether an event ends the work: well if somebody wished it, badly otherwise.
fn ending(event: &PortEvent) -> Option<Result<(), Stop>> {
    let PortEvent::Rasta(Event::Ended(ending)) = event else { return None };
    Some(match ending {
        ending if by_wish(ending) => Ok(()),
        other => Err(NetError::Ended(*other).into()),
    })
}

/// Lines of standard input go to the peer once the connection is up. The end of the input closes it if `closes`: a
/// client has said what it wanted to say, a server without input goes on listening.
async fn talk(port: &mut Port, show: Show, closes: bool) -> Result<(), Stop> {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let (mut up, mut input) = (false, true);
    loop {
        tokio::select! {
            event = port.event() => {
                let event = event?;
                show.event(&event)?;
                up |= matches!(event, PortEvent::Rasta(Event::State(State::Up)));
                if let Some(outcome) = ending(&event) {
                    return outcome;
                }
            }
            line = lines.next_line(), if up && input => match line {
                Ok(Some(line)) if line.is_empty() => {}
                Ok(Some(line)) => port.send(line).await?,
                Ok(None) => {
                    input = false;
                    if closes {
                        return finish(port, show).await;
                    }
                }
                Err(error) => return Err(Stop::Output(format!("standard input: {error}").into())),
            },
        }
    }
}

/// Waits until the peer has confirmed everything, and until a frame has confirmed what the peer said last; then closes.
async fn finish(port: &mut Port, show: Show) -> Result<(), Stop> {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    // Frames that had gone out when the peer was last heard, until the connection is closed.
    let (mut sent_then, mut closed) = (None, false);
    loop {
        tokio::select! {
            event = port.event() => {
                let event = event?;
                show.event(&event)?;
                if let Some(outcome) = ending(&event) {
                    return outcome;
                }
                if matches!(event, PortEvent::Rasta(Event::Message(_))) {
                    sent_then = None;
                }
            }
            _ = ticks.tick(), if !closed => {
                let report = port.report().await?;
                let sent: u64 = report.sent.iter().sum();
                closed = report.unconfirmed == 0 && sent > *sent_then.get_or_insert(sent);
                if closed {
                    port.close(0).await?;
                }
            }
        }
    }
}

async fn echo(port: &mut Port, show: Show) -> Result<(), Stop> {
    loop {
        match port.event().await? {
            PortEvent::Rasta(Event::Message(message)) => port.send(message).await?,
            event => {
                show.event(&event)?;
                if let Some(outcome) = ending(&event) {
                    return outcome;
                }
            }
        }
    }
}

/// Messages that begin with their number; the peer sends them back.
async fn ping(
    port: &mut Port,
    show: Show,
    messages: u32,
    interval: Duration,
    bytes: usize,
) -> Result<(), Stop> {
    let (mut sent_at, mut round_trips) = (Vec::new(), Vec::new());
    let mut up = false;
    let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(1)));
    let outcome = loop {
        if round_trips.len() == messages as usize && up {
            break finish(port, show).await;
        }
        tokio::select! {
            event = port.event() => match event? {
                PortEvent::Rasta(Event::Message(message)) => {
                    let number = message.first_chunk().map(|number| u32::from_le_bytes(*number) as usize);
                    if let Some(sent) = number.and_then(|number| sent_at.get(number)) {
                        round_trips.push(Instant::now() - *sent);
                    }
                }
                event => {
                    show.event(&event)?;
                    up |= matches!(event, PortEvent::Rasta(Event::State(State::Up))) && sent_at.is_empty();
                    if let Some(outcome) = ending(&event) {
                        break outcome;
                    }
                }
            },
            _ = ticks.tick(), if up && sent_at.len() < messages as usize => {
                let mut message = vec![0; bytes];
                message[..4].copy_from_slice(&(sent_at.len() as u32).to_le_bytes());
                sent_at.push(Instant::now());
                port.send(message).await?;
            }
        }
    };
    show.pings(sent_at.len() as u32, round_trips)?;
    outcome
}
