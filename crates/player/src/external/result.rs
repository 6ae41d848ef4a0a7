//! From the result files of the two programs to the flow's record.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use netlab::RunClock;
use serde::Deserialize;
use serde_json::Value;
use transports::DeliveryInstants;
use workload::{Ending, Exchange, FlowResult, FlowSpec, Message, OK, Summary};

use super::environment::Surroundings;
use super::process::{Bad, End};
use super::role::Role;
use super::stack::Stack;
use crate::record::{Note, SideNote};

const FORMAT: &str = "gauntlet-external-result";
const VERSION: u32 = 1;

/// Size of the messages that a stream is divided into for the record, where the application names none: the plan's
/// default for the same stream over TCP.
const MESSAGE_BYTES: u32 = 1448;

/// What one program has to say (`docs/formats/external-stack.md`). Instants are nanoseconds of its `clock`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    format: String,
    version: u32,
    clock: ClockName,
    software: Option<String>,
    started_ns: Option<i64>,
    transport_established_ns: Option<i64>,
    established_ns: Option<i64>,
    finished_ns: Option<i64>,
    #[serde(default)]
    sent: Vec<Step>,
    #[serde(default)]
    received: Vec<Step>,
    #[serde(default)]
    exchanges: Vec<Part>,
}

/// Bytes so far at an instant.
type Step = (i64, u64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ClockName {
    #[default]
    Monotonic,
    Realtime,
}

/// What one side knows of an exchange.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    object: String,
    size_bytes: Option<u64>,
    requested_ns: Option<i64>,
    connected_ns: Option<i64>,
    secured_ns: Option<i64>,
    first_byte_ns: Option<i64>,
    completed_ns: Option<i64>,
    outcome: Option<String>,
}

/// What became of a flow carried by programs of the user's own.
pub struct Outcome {
    /// Totals and instants.
    pub result: FlowResult,
    /// Its messages, when both sides told how many bytes they had when.
    pub messages: Vec<Message>,
    /// The objects that it exchanged.
    pub exchanges: Vec<Exchange>,
    /// Secrets of its secure sessions, for `keys.log`.
    pub keys: String,
    /// What the programs were.
    pub note: Note,
}

/// How instants of the programs become time of the run.
pub(super) struct Instants {
    pub(super) clock: RunClock,
    /// Now; nothing can have happened later.
    pub(super) until_ns: i64,
}

impl Instants {
    fn of(&self, clock: ClockName, instant_ns: i64) -> Result<i64, String> {
        let run_ns = match clock {
            ClockName::Monotonic => instant_ns - self.clock.to_monotonic_ns(0),
            ClockName::Realtime => self.clock.from_realtime_ns(instant_ns),
        };
        if (0..=self.until_ns).contains(&run_ns) {
            return Ok(run_ns);
        }
        Err(format!(
            "the instant {instant_ns} is not within the run; give nanoseconds of the clock that `clock` names, \
             \"monotonic\" (CLOCK_MONOTONIC) or \"realtime\" (CLOCK_REALTIME)"
        ))
    }
}

impl Report {
    /// Reads a result file, with all instants in time of the run; `None` when the program left none.
    fn read(path: &Path, instants: &Instants) -> Result<Option<Report>, String> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("it cannot be read: {error}")),
        };
        let mut report: Report = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if report.format != FORMAT || report.version != VERSION {
            return Err(format!(
                "format \"{}\" version {} is not known; \"{FORMAT}\" version {VERSION} is",
                report.format, report.version
            ));
        }
        report.convert(instants)?;
        Ok(Some(report))
    }

    fn convert(&mut self, instants: &Instants) -> Result<(), String> {
        let clock = self.clock;
        let single = [
            &mut self.started_ns,
            &mut self.transport_established_ns,
            &mut self.established_ns,
            &mut self.finished_ns,
        ];
        let of_exchanges = self.exchanges.iter_mut().flat_map(|part| {
            [
                &mut part.requested_ns,
                &mut part.connected_ns,
                &mut part.secured_ns,
                &mut part.first_byte_ns,
                &mut part.completed_ns,
            ]
        });
        for instant in single.into_iter().chain(of_exchanges).flatten() {
            *instant = instants.of(clock, *instant)?;
        }
        for steps in [&mut self.sent, &mut self.received] {
            for (instant, _) in steps.iter_mut() {
                *instant = instants.of(clock, *instant)?;
            }
            if !steps.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1) {
                return Err("`sent` and `received` are [instant, bytes so far]; neither may fall".into());
            }
        }
        Ok(())
    }
}

/// Puts together what became of a flow from the ends of its programs ([client, server]; none if it was not started)
/// and what they left.
pub(super) fn outcome(
    spec: &FlowSpec,
    stack: &Stack,
    surroundings: &Surroundings,
    instants: &Instants,
    keep_messages: bool,
    ends: [Option<End>; 2],
) -> Outcome {
    let mut problems = Problems::default();
    let mut sides = [Role::Client, Role::Server].map(|role| {
        Report::read(&surroundings.result_file(role), instants).unwrap_or_else(|error| {
            problems.failed.push(format!("the result file of the {} is not right: {error}", role.name()));
            None
        })
    });
    let notes = ends.map(|end| end.and_then(|end| problems.take(end)));
    let [client_note, server_note] = notes;
    let [client, server] = &mut sides;
    let note = Note {
        flow: spec.id.clone(),
        name: stack.name.clone(),
        client: client_note.map(|note| SideNote { software: software(client), ..note }),
        server: server_note.map(|note| SideNote { software: software(server), ..note }),
    };
    let exchanges = joined(client.as_ref(), server.as_ref(), &mut problems);
    let [client, server] = sides;
    let (sender, receiver) = match stack.sender() {
        Role::Client => (&client, &server),
        Role::Server => (&server, &client),
    };
    let mut received = receiver.as_ref().map(|report| report.received.clone()).unwrap_or_default();
    if received.is_empty() {
        received = arrivals(&exchanges);
    }
    let mut sent = sender.as_ref().map(|report| report.sent.clone()).unwrap_or_default();
    if sent.is_empty() {
        // A sender that keeps no count is not accused of a loss.
        sent = received.last().copied().into_iter().collect();
    }
    let totals = Totals { sent: total(&sent), received: total(&received) };
    problems.check_totals(spec, totals, &exchanges);

    let message_bytes = message_bytes(spec);
    let count = |bytes: u64| bytes.div_ceil(u64::from(message_bytes));
    let told = sender.as_ref().is_some_and(|report| !report.sent.is_empty());
    let messages = if keep_messages && told { messages(&sent, &received, message_bytes) } else { Vec::new() };
    let (listens, calls) = surroundings.endpoints();
    let (source, destination) = match stack.sender() {
        Role::Client => (calls, listens),
        Role::Server => (listens, calls),
    };
    let of_client = |pick: fn(&Report) -> Option<i64>| client.as_ref().and_then(pick);
    let summary = Summary {
        started_ns: of_client(|report| report.started_ns),
        transport_established_ns: of_client(|report| {
            report.transport_established_ns.or(report.established_ns)
        }),
        established_ns: of_client(|report| report.established_ns),
        received_ns: received.first().zip(received.last()).map(|(first, last)| (first.0, last.0)),
        finished_ns: of_client(|report| report.finished_ns),
        sent: (count(totals.sent), totals.sent),
        received: (count(totals.received), totals.received),
        message_bytes,
        ends: [source, destination],
        instants: DeliveryInstants::Application,
        subflows: None,
        sender_dropped_messages: None,
        counts: std::collections::BTreeMap::new(),
        warm_up: None,
    };
    let result = FlowResult::new(spec, problems.ending(), summary);
    Outcome { result, messages, exchanges, keys: surroundings.keys(), note }
}

fn software(report: &mut Option<Report>) -> Option<String> {
    report.as_mut().and_then(|report| report.software.take())
}

fn total(steps: &[Step]) -> u64 {
    steps.last().map_or(0, |step| step.1)
}

fn message_bytes(spec: &FlowSpec) -> u32 {
    let named = spec.app_params.get("message_size_bytes").and_then(Value::as_u64);
    named.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes > 0).unwrap_or(MESSAGE_BYTES)
}

#[derive(Clone, Copy)]
struct Totals {
    sent: u64,
    received: u64,
}

/// What went wrong, as sentences.
#[derive(Default)]
struct Problems {
    unsupported: Vec<String>,
    failed: Vec<String>,
}

impl Problems {
    fn take(&mut self, end: End) -> Option<SideNote> {
        match end.verdict {
            Ok(()) => {}
            Err(Bad::Unsupported(sentence)) => self.unsupported.push(sentence),
            Err(Bad::Failed(sentence)) => self.failed.push(sentence),
        }
        end.note
    }

    fn none(&self) -> bool {
        self.unsupported.is_empty() && self.failed.is_empty()
    }

    /// Programs that say that all went well must agree with each other and with what was asked.
    fn check_totals(&mut self, spec: &FlowSpec, totals: Totals, exchanges: &[Exchange]) {
        if !self.none() {
            return;
        }
        let asked = spec.app_params.get("size_bytes").and_then(Value::as_u64);
        let Totals { sent, received } = totals;
        if let Some(asked) = asked.filter(|asked| *asked != received) {
            self.failed.push(format!("the receiver had {received} of the {asked} bytes that were asked for"));
        } else if let Some(first) = exchanges.first().filter(|_| exchanges.iter().all(Exchange::failed)) {
            self.failed.push(format!("object \"{}\": {}", first.object, first.outcome));
        } else if received != sent && exchanges.is_empty() {
            self.failed.push(format!("the sender handed over {sent} bytes and the receiver had {received}"));
        } else if received == 0 {
            self.failed.push("neither program says that a byte arrived".into());
        }
    }

    /// What cannot be done is no failure, whatever else then happened.
    fn ending(self) -> Ending {
        if !self.unsupported.is_empty() {
            Ending::Unsupported(self.unsupported.join("; "))
        } else if !self.failed.is_empty() {
            Ending::Failed(self.failed.join("; "))
        } else {
            Ending::Ok
        }
    }
}

/// The exchanges of both sides as one list in the client's order, then the server's: the n-th of a name on one side is
/// the n-th of that name on the other.
fn joined(client: Option<&Report>, server: Option<&Report>, problems: &mut Problems) -> Vec<Exchange> {
    let parts_of = |side: Option<&Report>| side.map(|report| report.exchanges.clone()).unwrap_or_default();
    let mut parts = parts_of(client);
    let of_client = parts.len();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for other in parts_of(server) {
        let nth = seen.entry(other.object.clone()).or_default();
        match parts[..of_client].iter_mut().filter(|part| part.object == other.object).nth(*nth) {
            Some(part) => part.complete_with(other),
            None => parts.push(other),
        }
        *nth += 1;
    }
    let mut exchanges = Vec::with_capacity(parts.len());
    for part in parts {
        let (Some(requested_ns), Some(size_bytes)) = (part.requested_ns, part.size_bytes) else {
            problems.failed.push(format!(
                "no program tells `requested_ns` and `size_bytes` of the object \"{}\"",
                part.object
            ));
            continue;
        };
        let outcome = match part.outcome {
            Some(outcome) => outcome,
            None if part.completed_ns.is_some() => OK.into(),
            None => "it was not completed".into(),
        };
        exchanges.push(Exchange {
            object: part.object,
            size_bytes,
            requested_ns,
            connected_ns: part.connected_ns,
            secured_ns: part.secured_ns,
            first_byte_ns: part.first_byte_ns,
            completed_ns: part.completed_ns,
            outcome,
        });
    }
    exchanges
}

impl Part {
    fn complete_with(&mut self, other: Part) {
        self.size_bytes = self.size_bytes.or(other.size_bytes);
        self.requested_ns = self.requested_ns.or(other.requested_ns);
        self.connected_ns = self.connected_ns.or(other.connected_ns);
        self.secured_ns = self.secured_ns.or(other.secured_ns);
        self.first_byte_ns = self.first_byte_ns.or(other.first_byte_ns);
        self.completed_ns = self.completed_ns.or(other.completed_ns);
        self.outcome = self.outcome.take().or(other.outcome);
    }
}

/// The bytes received so far, for a receiver who tells only when each object was complete.
fn arrivals(exchanges: &[Exchange]) -> Vec<Step> {
    let mut complete: Vec<(i64, u64)> =
        exchanges.iter().filter_map(|it| Some((it.completed_ns?, it.size_bytes))).collect();
    complete.sort_unstable();
    let mut so_far = 0;
    for (_, bytes) in &mut complete {
        so_far += *bytes;
        *bytes = so_far;
    }
    complete
}

/// The stream cut into messages: each is sent and received when the count of bytes reaches its end.
fn messages(sent: &[Step], received: &[Step], message_bytes: u32) -> Vec<Message> {
    let all = total(sent);
    let size = u64::from(message_bytes);
    let instant = |steps: &[Step], end: u64| {
        let at = steps.partition_point(|step| step.1 < end);
        steps.get(at).map(|step| step.0)
    };
    (0..all.div_ceil(size))
        .filter_map(|seq| {
            let end = ((seq + 1) * size).min(all);
            Some(Message {
                seq: seq as u32,
                size_bytes: (end - seq * size) as u32,
                sent_ns: instant(sent, end)?,
                received_ns: instant(received, end),
            })
        })
        .collect()
}
