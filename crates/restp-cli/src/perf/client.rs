//! The side that asks for a measurement and prints what came out.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use restp::{Connection, Endpoint};
use serde::Serialize;

use super::figures::{Delays, Moved, cpu_time};
use super::plan::{Answer, CONTROL_PORT, Control, Request, Seen, Test};
use super::server::control_profile;
use super::traffic;
use crate::end::{End, Held};
use crate::frames::Frames;
use crate::numbers::{MOST_MS, seconds, whole};
use crate::outcome::Outcome;
use crate::place::{Place, find, warn_if_clear};
use crate::profile_args::ProfileArgs;

/// What all measurements have in common.
#[derive(Args)]
struct Common {
    /// Server: HOST or HOST:UDP_PORT
    host: String,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    profile: ProfileArgs,
}

/// Move bytes.
#[derive(Args)]
pub struct Throughput {
    /// Bytes to move
    #[arg(long, default_value_t = 100_000_000, value_parser = whole::<u64>(0..=u64::MAX))]
    bytes: u64,
    /// From the server to here
    #[arg(long)]
    reverse: bool,
    #[command(flatten)]
    common: Common,
}

/// Requests and responses, one at a time.
#[derive(Args)]
pub struct Requests {
    /// Bytes of a request
    #[arg(long, default_value_t = 160, value_parser = whole::<usize>(1..=u64::MAX))]
    request_bytes: usize,
    /// Bytes of a response
    #[arg(long, default_value_t = 160, value_parser = whole::<usize>(1..=u64::MAX))]
    response_bytes: usize,
    /// Duration in seconds
    #[arg(long, default_value = "5", value_parser = seconds)]
    seconds: Duration,
    #[command(flatten)]
    common: Common,
}

/// One-way delay of a steady flow.
#[derive(Args)]
pub struct Delay {
    /// Bytes of a message, which begins with its number and time
    #[arg(long, default_value_t = 160, value_parser = whole::<usize>(traffic::STAMP_BYTES as u64..=u64::MAX))]
    message_bytes: usize,
    /// Time between two messages, in milliseconds
    #[arg(long, default_value_t = 20, value_parser = whole::<u64>(0..=MOST_MS))]
    interval_ms: u64,
    /// Messages
    #[arg(long, default_value_t = 250, value_parser = whole::<u64>(1..=u64::MAX))]
    count: u64,
    #[command(flatten)]
    common: Common,
}

/// What is printed: the request, and the figures of both sides.
#[derive(Serialize)]
struct Report<T: Serialize> {
    profile: String,
    test: Test,
    #[serde(flatten)]
    figures: T,
}

/// A measurement that is about to begin.
struct Session {
    control: Control,
    connection: Connection,
    profile_name: String,
    held: [Held; 2],
}

/// From where and whereto.
struct Ends {
    endpoint: Endpoint,
    remote: SocketAddr,
}

impl Common {
    /// Binds this end.
    async fn bind(&self) -> Result<(End, Ends), Box<dyn std::error::Error + Send + Sync>> {
        let composition = self.place.compose(&self.profile)?;
        if !self.json {
            warn_if_clear(&composition);
        }
        let remote = find(&self.host).await?;
        let end = self.place.bind_towards(remote).await?;
        let endpoint = end.endpoint.clone();
        Ok((end, Ends { endpoint, remote }))
    }

    async fn begin(
        &self,
        Ends { endpoint, remote }: &Ends,
        test: &Test,
    ) -> Result<Session, Box<dyn std::error::Error + Send + Sync>> {
        let profile = self.place.protect(&self.profile);
        let composition = profile.compose()?;
        let services = self.place.compose(&control_profile())?;
        let control = self.place.connect(endpoint, *remote, CONTROL_PORT, services).await?;
        let held_control = Held::new(control.clone());
        let mut control = Control::new(control);
        control.say(&Request { test: test.clone(), profile }).await?;
        let port = match control.hear().await? {
            Answer::Port(port) => port,
            Answer::Refused(reason) => return Err(format!("the server refused: {reason}").into()),
        };
        let profile_name = composition.profile().name.clone();
        let connection = self.place.connect(endpoint, *remote, port, composition).await?;
        let held = [held_control, Held::new(connection.clone())];
        Ok(Session { control, connection, profile_name, held })
    }

    /// Prints the figures, as JSON or as `text`.
    fn print<T: Serialize>(&self, session: &Session, test: Test, figures: T, text: String) -> Outcome {
        if self.json {
            let report = Report { profile: session.profile_name.clone(), test, figures };
            println!("{}", serde_json::to_string(&report)?);
        } else {
            println!("{}: {text}", session.profile_name);
        }
        Ok(())
    }
}

impl Session {
    async fn seen(&mut self) -> Result<Seen, Box<dyn std::error::Error + Send + Sync>> {
        match self.control.hear().await? {
            Seen::Failed(reason) => Err(format!("the server gave up: {reason}").into()),
            seen => Ok(seen),
        }
    }

    async fn end(self) -> Outcome {
        self.control.connection().finish().await?;
        self.held.into_iter().for_each(Held::let_go);
        Ok(())
    }
}

#[derive(Serialize)]
struct ThroughputFigures {
    #[serde(flatten)]
    moved: Moved,
    /// CPU time of this process; of the sender unless the test is reversed.
    client_cpu_s: f64,
    retransmitted: u64,
}

impl Throughput {
    /// Measures and prints.
    pub async fn run(self) -> Outcome {
        let (end, ends) = self.common.bind().await?;
        end.run(self.measure(ends)).await
    }

    async fn measure(self, ends: Ends) -> Outcome {
        let test = Test::Throughput { size_bytes: self.bytes, reverse: self.reverse };
        let mut session = self.common.begin(&ends, &test).await?;
        let cpu_before = cpu_time();
        let moved = if self.reverse {
            let moved = traffic::drain(&session.connection, self.bytes).await?;
            session.connection.finish().await?;
            session.seen().await?;
            moved
        } else {
            traffic::pour(&session.connection, self.bytes).await?;
            match session.seen().await? {
                Seen::Moved(moved) => moved,
                _ => {
                    return Err(
                        "the server measured something else; use the same version on both sides".into()
                    );
                }
            }
        };
        let client_cpu_s = (cpu_time() - cpu_before).as_secs_f64();
        let retransmitted = session.connection.stats().retransmitted;
        let verdict = if moved.intact { "intact" } else { "NOT INTACT" };
        let text = format!(
            "{} bytes in {:.3} s, {:.1} Mbit/s, {verdict}, CPU {client_cpu_s:.3} s here",
            moved.size_bytes,
            moved.duration_s,
            moved.throughput_bps / 1e6,
        );
        let intact = moved.intact;
        let figures = ThroughputFigures { moved, client_cpu_s, retransmitted };
        self.common.print(&session, test, figures, text)?;
        session.end().await?;
        let reliable = self.common.profile.compose()?.profile().reliability.retransmits();
        if reliable && !intact { Err("what arrived is not what was sent".into()) } else { Ok(()) }
    }
}

#[derive(Serialize)]
struct RequestFigures {
    requests: usize,
    duration_s: f64,
    requests_per_s: f64,
    response_time: Delays,
}

impl Requests {
    /// Measures and prints.
    pub async fn run(self) -> Outcome {
        let (end, ends) = self.common.bind().await?;
        end.run(self.measure(ends)).await
    }

    async fn measure(self, ends: Ends) -> Outcome {
        let test = Test::Requests { request_bytes: self.request_bytes, response_bytes: self.response_bytes };
        let mut session = self.common.begin(&ends, &test).await?;
        let mut frames = Frames::new(session.connection.clone());
        let request = Bytes::from(vec![0x51; self.request_bytes]);
        let start = Instant::now();
        let mut times_s = Vec::new();
        while start.elapsed() < self.seconds {
            let sent_at = Instant::now();
            frames.send(request.clone()).await?;
            if frames.recv(self.response_bytes).await?.is_none() {
                return Err("the server closed the connection in the middle".into());
            }
            times_s.push(sent_at.elapsed().as_secs_f64());
        }
        let duration_s = start.elapsed().as_secs_f64();
        session.connection.finish().await?;
        session.seen().await?;
        let requests = times_s.len();
        let figures = RequestFigures {
            requests,
            duration_s,
            requests_per_s: requests as f64 / duration_s,
            response_time: Delays::of(times_s),
        };
        let text = format!(
            "{:.0} requests per second; response time median {:.1}, 99 % {:.1}, most {:.1} microseconds",
            figures.requests_per_s,
            figures.response_time.median_s * 1e6,
            figures.response_time.p99_s * 1e6,
            figures.response_time.most_s * 1e6,
        );
        self.common.print(&session, test, figures, text)?;
        session.end().await
    }
}

#[derive(Serialize)]
struct DelayFigures {
    sent: u64,
    lost: u64,
    one_way_delay: Delays,
}

impl Delay {
    /// Measures and prints.
    pub async fn run(self) -> Outcome {
        let (end, ends) = self.common.bind().await?;
        end.run(self.measure(ends)).await
    }

    async fn measure(self, ends: Ends) -> Outcome {
        let test = Test::Delay { message_bytes: self.message_bytes };
        let mut session = self.common.begin(&ends, &test).await?;
        let mut ticks = tokio::time::interval(Duration::from_millis(self.interval_ms.max(1)));
        for number in 0..self.count {
            ticks.tick().await;
            session.connection.send(traffic::stamped(number, self.message_bytes)).await?;
        }
        session.connection.finish().await?;
        let Seen::Delays(delays) = session.seen().await? else {
            return Err("the server measured something else; use the same version on both sides".into());
        };
        let lost = self.count.saturating_sub(delays.received as u64);
        let text = format!(
            "{} of {} messages; one-way delay least {:.3}, median {:.3}, 99 % {:.3}, most {:.3} ms (by both hosts' clocks)",
            delays.received,
            self.count,
            delays.least_s * 1e3,
            delays.median_s * 1e3,
            delays.p99_s * 1e3,
            delays.most_s * 1e3,
        );
        self.common.print(
            &session,
            test,
            DelayFigures { sent: self.count, lost, one_way_delay: delays },
            text,
        )?;
        session.end().await
    }
}
