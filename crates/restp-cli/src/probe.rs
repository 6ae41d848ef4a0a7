//! `restp probe`: does an endpoint answer, how fast, and what does it agree to?

use std::time::{Duration, Instant};

use clap::Args;
use restp::{Composition, Endpoint, Error};
use serde::Serialize;

use crate::numbers::{seconds, whole};
use crate::outcome::Outcome;
use crate::place::{Place, find, warn_if_clear};
use crate::profile_args::ProfileArgs;

/// Open connections one after the other and say how long each took.
#[derive(Args)]
pub struct Probe {
    /// Peer: HOST or HOST:UDP_PORT
    host: String,
    /// Inner port
    #[arg(long, short, default_value_t = 7)]
    port: u16,
    /// Connections
    #[arg(long, short, default_value_t = 4, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    count: u32,
    /// Time between two connections, in seconds
    #[arg(long, default_value = "0.5", value_parser = seconds)]
    interval_s: Duration,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    profile: ProfileArgs,
}

#[derive(Serialize)]
struct Report {
    remote: String,
    port: u16,
    /// Handshake durations of the connections that stood.
    handshake_s: Vec<f64>,
    /// Answers that refused the connection: the endpoint is there, the service is not.
    refused: u32,
    /// Attempts without answer.
    unanswered: u32,
    /// What is in force, in sentences.
    explain: Option<String>,
}

/// How one attempt ended.
enum Answer {
    Stood { handshake: Duration, explain: String },
    Refused(Error),
    Nothing(Error),
}

impl Probe {
    /// Probes and reports; an error if nothing ever stood.
    pub async fn run(self) -> Outcome {
        let composition = self.place.compose(&self.profile)?;
        if !self.json {
            warn_if_clear(&composition);
        }
        let remote = find(&self.host).await?;
        let end = self.place.bind_towards(remote).await?;
        let endpoint = end.endpoint.clone();
        end.run(self.measure(endpoint, remote, composition)).await
    }

    async fn measure(
        self,
        endpoint: Endpoint,
        remote: std::net::SocketAddr,
        composition: Composition,
    ) -> Outcome {
        let mut report = Report {
            remote: remote.to_string(),
            port: self.port,
            handshake_s: Vec::new(),
            refused: 0,
            unanswered: 0,
            explain: None,
        };
        for index in 0..self.count {
            if index > 0 {
                tokio::time::sleep(self.interval_s).await;
            }
            let line = match self.attempt(&endpoint, remote, &composition).await? {
                Answer::Stood { handshake, explain } => {
                    report.handshake_s.push(handshake.as_secs_f64());
                    report.explain = Some(explain);
                    format!(
                        "{remote} port {}: stood after {:.3} ms",
                        self.port,
                        handshake.as_secs_f64() * 1e3
                    )
                }
                Answer::Refused(error) => {
                    report.refused += 1;
                    self.place.explain(remote, self.port, &error)
                }
                Answer::Nothing(error) => {
                    report.unanswered += 1;
                    self.place.explain(remote, self.port, &error)
                }
            };
            if !self.json {
                println!("{line}");
            }
        }
        if self.json {
            println!("{}", serde_json::to_string(&report)?);
        } else {
            print!("{}", summary(&report));
        }
        match (report.handshake_s.is_empty(), report.refused) {
            (false, _) => Ok(()),
            (true, 0) => Err("nothing answered; check host, UDP port and firewalls".into()),
            (true, _) => Err("the endpoint answers but no connection stood".into()),
        }
    }

    async fn attempt(
        &self,
        endpoint: &Endpoint,
        remote: std::net::SocketAddr,
        composition: &Composition,
    ) -> Result<Answer, Error> {
        let start = Instant::now();
        match endpoint.connect(remote, self.port, composition).await {
            Ok(connection) => {
                let handshake = start.elapsed();
                let explain = connection.explain();
                connection.abort();
                Ok(Answer::Stood { handshake, explain })
            }
            Err(error @ (Error::Refused { .. } | Error::NotListening { .. })) => Ok(Answer::Refused(error)),
            Err(error @ Error::Closed(_)) => Ok(Answer::Nothing(error)),
            Err(error) => Err(error),
        }
    }
}

fn summary(report: &Report) -> String {
    let (stood, total) =
        (report.handshake_s.len(), report.handshake_s.len() as u32 + report.refused + report.unanswered);
    let mut text = format!("{stood} of {total} connections stood");
    let fastest = report.handshake_s.iter().copied().reduce(f64::min);
    let slowest = report.handshake_s.iter().copied().reduce(f64::max);
    if let Some((fastest, slowest)) = fastest.zip(slowest) {
        let mean = report.handshake_s.iter().sum::<f64>() / stood as f64;
        text += &format!(
            "; handshake least {:.3}, mean {:.3}, most {:.3} ms",
            fastest * 1e3,
            mean * 1e3,
            slowest * 1e3
        );
    }
    text + "\n" + report.explain.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_everything() {
        let report = Report {
            remote: "127.0.0.1:1".into(),
            port: 7,
            handshake_s: vec![0.002, 0.004],
            refused: 1,
            unanswered: 1,
            explain: Some("Profile x.\n".into()),
        };
        assert_eq!(
            summary(&report),
            "2 of 4 connections stood; handshake least 2.000, mean 3.000, most 4.000 ms\nProfile x.\n"
        );
    }
}
