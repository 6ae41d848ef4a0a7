//! What happens, for people on standard error or for machines on standard output.

use std::io::Write;
use std::time::Duration;

use rasta::net::{PortEvent, Refused, Report};
use rasta::{ChannelReport, DisconnectReason, Disconnection, Ending, Event};
use serde_json::{Value, json};

use crate::outcome::Outcome;

/// What has to be alike, since nothing of it is agreed on the wire.
pub const SAME: &str =
    "--safety-code and its key or initial value, --check-code, --id and --peer have to fit on both sides";

/// Where things are shown, and how.
#[derive(Clone, Copy)]
pub struct Show {
    pub json: bool,
}

impl Show {
    /// A message of the peer: its text, or for machines also its octets.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn message(self, message: &[u8]) -> Outcome {
        if self.json {
            let octets: String = message.iter().map(|octet| format!("{octet:02x}")).collect();
            return self.line(&json!({"event": "message", "bytes": message.len(), "hex": octets}));
        }
        let mut out = std::io::stdout().lock();
        out.write_all(message)?;
        out.write_all(b"\n")?;
        Ok(out.flush()?)
    }

    /// Anything else.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn event(self, event: &PortEvent) -> Outcome {
        let (value, text) = match event {
            PortEvent::Rasta(Event::Message(message)) => return self.message(message),
            PortEvent::Rasta(Event::State(state)) => {
                (json!({"event": "state", "state": state.name()}), format!("connection {}", state.name()))
            }
            PortEvent::Rasta(Event::Ended(ending)) => {
                // For people it is what the command fails with.
                if !self.json && !by_wish(ending) {
                    return Ok(());
                }
                let (by, said) = ending_parts(*ending);
                let reason = said.map(|said| said.reason.name());
                let value = json!({"event": "ended", "by": by, "reason": reason, "reason_number":
                    said.map(|said| said.reason.number()), "detail": said.map(|said| said.detail)});
                (
                    value,
                    format!(
                        "ended by {by}: {}",
                        said.map_or("not used".into(), |said| said.reason.to_string())
                    ),
                )
            }
            PortEvent::Rasta(Event::ChannelDiagnosis { channel, report }) => {
                let mut value = channel_json(report);
                value["event"] = "channel_diagnosis".into();
                value["channel"] = (*channel).into();
                (value, format!("channel {channel}: missed {} of {} frames", report.missed, report.frames))
            }
            PortEvent::Rasta(Event::ConnectionDiagnosis(report)) => {
                let value = json!({"event": "connection_diagnosis", "messages": report.messages,
                    "upper_ends_ms": report.upper_ends_ms, "round_trips": report.round_trips, "alive": report.alive});
                (value, format!("round trips by fifths of T_max: {:?}", report.round_trips))
            }
            PortEvent::Refused(refused) => {
                let mut value = named(&refused.named());
                value["event"] = "refused".into();
                value["frames"] = refused.frames().into();
                (value, format!("{} ({SAME})", refusals(refused)))
            }
            PortEvent::ChannelUp { channel } => {
                (json!({"event": "channel_up", "channel": channel}), format!("channel {channel} up"))
            }
            PortEvent::ChannelDown { channel, why } => (
                json!({"event": "channel_down", "channel": channel, "why": why}),
                format!("channel {channel} down: {why}"),
            ),
            // The library may tell more one day; what this tool does not know it does not show.
            _ => return Ok(()),
        };
        if self.json {
            return self.line(&value);
        }
        eprintln!("rasta: {text}");
        Ok(())
    }

    /// Where a server waits.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn bound(self, kinds: &[&str], addresses: &[std::net::SocketAddr]) -> Outcome {
        for (channel, (kind, address)) in kinds.iter().zip(addresses).enumerate() {
            if self.json {
                self.line(&json!({"event": "bound", "channel": channel, "kind": kind, "address": address.to_string()}))?;
            } else {
                eprintln!("rasta: channel {channel}: {kind} {address}");
            }
        }
        Ok(())
    }

    /// Round trips of messages.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn pings(self, sent: u32, mut round_trips: Vec<Duration>) -> Outcome {
        round_trips.sort_unstable();
        // The value that at least this share of all does not exceed.
        let at = |share: f64| {
            let rank = (share * round_trips.len() as f64).ceil() as usize;
            round_trips.get(rank.max(1) - 1).map(|one| one.as_secs_f64() * 1e3)
        };
        if self.json {
            return self.line(&json!({"event": "pings", "sent": sent, "answered": round_trips.len(),
                "round_trip_min_ms": at(0.0), "round_trip_p50_ms": at(0.5), "round_trip_p99_ms": at(0.99),
                "round_trip_max_ms": at(1.0)}));
        }
        match (at(0.0), at(0.5), at(0.99), at(1.0)) {
            (Some(min), Some(p50), Some(p99), Some(max)) => println!(
                "{} of {sent} answered; round trip min {min:.2} ms, p50 {p50:.2} ms, p99 {p99:.2} ms, max {max:.2} ms",
                round_trips.len()
            ),
            _ if sent == 0 => println!("no message was sent"),
            _ => println!("none of {sent} answered"),
        }
        Ok(())
    }

    /// The counters at the end.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn report(self, report: &Report) -> Outcome {
        let errors = named(&report.connection.errors.named());
        let frames = named(&report.frames.named());
        let counts = report.received.iter().zip(&report.sent).zip(&report.not_sent);
        let channels: Vec<_> = counts
            .map(|((received, sent), not_sent)| json!({"received": received, "sent": sent, "not_sent": not_sent}))
            .collect();
        if self.json {
            return self.line(
                &json!({"event": "report", "state": report.state.name(), "errors": errors, "frames": frames,
                "refused": named(&report.refused.named()), "channels": channels, "unconfirmed": report.unconfirmed}),
            );
        }
        if report.unconfirmed > 0 {
            eprintln!(
                "rasta: {} not confirmed and may have arrived or not",
                counted(report.unconfirmed as u64, "message")
            );
        }
        Ok(())
    }

    fn line(self, value: &Value) -> Outcome {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{value}")?;
        Ok(out.flush()?)
    }
}

fn named(counts: &[(&'static str, u64)]) -> Value {
    counts
        .iter()
        .map(|(name, count)| ((*name).to_owned(), Value::from(*count)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn channel_json(report: &ChannelReport) -> Value {
    json!({"frames": report.frames, "missed": report.missed, "drift_ms": report.drift_ms, "drift2_ms2": report.drift2_ms2})
}

/// How many of `what`, as a subject.
fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what} was"),
        count => format!("{count} {what}s were"),
    }
}

/// How many frames were refused, and by what.
pub fn refusals(refused: &Refused) -> String {
    let by = [
        (refused.malformed, "form"),
        (refused.check_code, "check code"),
        (refused.safety_code, "safety code"),
        (refused.address, "identifications"),
    ];
    let by = by.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} by {what}"));
    let by = by.collect::<Vec<_>>().join(", ");
    format!("{} refused so far: {by}", counted(refused.frames(), "frame"))
}

/// Whether an application closed the connection.
pub fn by_wish(ending: &Ending) -> bool {
    matches!(ending, Ending::Here(said) | Ending::There(said) if said.reason == DisconnectReason::UserRequest)
}

fn ending_parts(ending: Ending) -> (&'static str, Option<Disconnection>) {
    match ending {
        Ending::Here(said) => ("this end", Some(said)),
        Ending::There(said) => ("the peer", Some(said)),
        Ending::Unused => ("nobody", None),
    }
}
