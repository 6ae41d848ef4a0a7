//! What every transport of the registry must do, whatever it is: the same checks for all.
//!
//! A transport that is new in the registry is checked without a word here, unless it needs parameters
//! ([`parameters`]).

use std::time::Duration;

use serde_json::{Value, json};
use transports::Clock;
use workload::{FlowReport, FlowSpec, join, prepare_apart};

use crate::harness::{Line, Options, Outcome, context, flow, in_virtual_time};

const CLEAN: Line = Line { rate_bps: 5_200_000.0, delay_s: 0.025, loss: 0.0, corrupt: 0.0 };
/// One packet in twenty is lost, and each way takes 300 ms.
const HARSH: Line = Line { rate_bps: 5_200_000.0, delay_s: 0.3, loss: 0.05, corrupt: 0.0 };

/// A transport with the parameters that it is checked with.
pub struct Candidate {
    /// What it is called in the output.
    pub name: String,
    stack: &'static str,
    params: Value,
}

/// The parameters to check a transport with, one set a line; none are needed for most.
fn parameters(stack: &str) -> Vec<Value> {
    match stack {
        "tcp" | "mptcp" => vec![json!({"congestion_control": "cubic"})],
        "tls" => vec![
            json!({"congestion_control": "cubic"}),
            json!({"congestion_control": "bbr", "client_auth": true, "resumption": true}),
            json!({"transport": "sctp"}),
        ],
        "dtls" => vec![json!({}), json!({"version": "1.2", "client_auth": true})],
        "quic-quinn" | "quic-noq" | "quic-quiche" => vec![json!({}), json!({"datagrams": true})],
        // With the three transmissions of its default a frame in some thousands is given up at 5 % loss.
        "sdls-cop1" => vec![json!({"window_frames": 100, "transmission_limit": 10})],
        // TCP alone may be silent for longer than the 1.8 s that T_max is by default, once a packet is lost twice.
        "rasta-tls" => vec![json!({"congestion_control": "cubic", "t_max_s": 60})],
        _ => vec![json!({})],
    }
}

/// Every transport of the registry.
pub fn candidates() -> Vec<Candidate> {
    let each = |stack| {
        parameters(stack).into_iter().map(move |params| {
            let more: Vec<_> = params
                .as_object()
                .into_iter()
                .flatten()
                .map(|(key, value)| format!("{key} {value}"))
                .collect();
            Candidate {
                name: [vec![stack.to_owned()], more].concat().join(" ").replace('"', ""),
                stack,
                params,
            }
        })
    };
    transports::names().flat_map(each).collect()
}

/// One thing that is checked.
pub type Check = fn(&Candidate) -> Outcome<()>;

/// Everything that is checked, by what it says.
pub const CHECKS: &[(&str, Check)] = &[
    ("a million bytes arrive intact, and the sender sees the end after the last byte", arrives),
    ("everything arrives at 5 % loss and 300 ms one way", survives),
    ("two flows at once do not mix", two_at_once),
    ("nobody listens", refused),
    ("the receiver is killed half-way", killed),
];

/// An error unless the condition holds.
///
/// # Errors
/// What `otherwise` says.
pub fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Outcome<()> {
    if condition { Ok(()) } else { Err(otherwise().into()) }
}

impl Candidate {
    /// Whether what is handed over may be lost: then there is no promise to check.
    fn is_lossy(&self) -> bool {
        matches!(self.stack, "udp" | "sdls" | "dtls")
            || self.params.get("datagrams").is_some_and(|on| on == true)
    }

    /// Whether it ends a session that it cannot trust any more rather than go on: RaSTA does once a request for
    /// retransmission is lost, which it does not repeat.
    fn may_end(&self) -> bool {
        self.stack == "rasta"
    }

    /// As many bytes as a reliable transport takes, or about as many at half the line's rate.
    fn transfer(&self, size_bytes: u64) -> FlowSpec {
        self.transfer_at(size_bytes, 2.6e6)
    }

    /// As many bytes as a reliable transport takes, or about as many at a rate that one without promises is to carry.
    fn transfer_at(&self, size_bytes: u64, rate_bps: f64) -> FlowSpec {
        let (app, params) = if self.is_lossy() {
            let duration_s = size_bytes as f64 * 8.0 / rate_bps;
            ("cbr", json!({"rate_bps": rate_bps, "message_size_bytes": 1000, "duration_s": duration_s}))
        } else {
            ("bulk", json!({"size_bytes": size_bytes}))
        };
        flow(self.stack, self.params.clone(), app, params)
    }
}

fn went_well(report: &FlowReport) -> Outcome<()> {
    ensure(report.result.outcome == "ok", || format!("{:?}", report.result))
}

/// Bytes are compared with those that were sent as they arrive: an altered one fails the flow.
///
/// # Errors
/// It went wrong, something is missing, or a message took no time.
pub fn all_arrived(report: &FlowReport) -> Outcome<()> {
    went_well(report)?;
    let result = &report.result;
    ensure(
        result.sent_bytes == result.received_bytes && result.sent_messages == result.received_messages,
        || format!("{result:?}"),
    )?;
    for message in report.messages() {
        ensure(message.received_ns > Some(message.sent_ns), || format!("{message:?} did not take any time"))?;
    }
    Ok(())
}

fn arrives(candidate: &Candidate) -> Outcome<()> {
    let spec = candidate.transfer(1_000_001);
    let reports = CLEAN.run(&[spec], &Options { wire: true, ..Options::default() })?;
    let result = &reports[0].result;
    all_arrived(&reports[0])?;
    ensure(result.received_bytes >= 1_000_000, || format!("{result:?}"))?;
    let instants = [
        Some(result.start_s),
        result.transport_established_s.or(Some(result.start_s)),
        result.established_s.or(Some(result.start_s)),
        result.first_received_s,
        result.last_received_s,
        result.finished_s,
    ];
    ensure(instants.iter().all(Option::is_some) && instants.is_sorted(), || {
        format!("{instants:?} do not rise")
    })?;
    if candidate.is_lossy() {
        return Ok(());
    }
    // The sender has ended its half; that the receiver has all of it and ends too comes back over the line.
    let back_s = result.finished_s.unwrap_or(0.0) - result.last_received_s.unwrap_or(0.0);
    ensure(back_s >= CLEAN.delay_s, || format!("the end came back after {back_s} s"))
}

fn survives(candidate: &Candidate) -> Outcome<()> {
    let options = Options { limit_s: 2000, ..Options::default() };
    // Datagrams of QUIC obey its congestion control, which 5 % loss leaves about five packets a round trip of 0.6 s
    // (RFC 9438, section 5): what is offered beyond that, the sender drops.
    let report = HARSH.run(&[candidate.transfer_at(200_000, 24e3)], &options)?.remove(0);
    if candidate.may_end() && report.result.outcome == "failed" {
        return failed_with_a_sentence(&report);
    }
    if !candidate.is_lossy() {
        return all_arrived(&report);
    }
    went_well(&report)?;
    let (sent, arrived) = (report.result.sent_messages, report.result.received_messages);
    ensure(arrived < sent && arrived > sent * 8 / 10, || format!("{arrived} of {sent} arrived"))
}

fn two_at_once(candidate: &Candidate) -> Outcome<()> {
    let specs = [candidate.transfer(400_000), candidate.transfer(500_000)];
    for report in CLEAN.run(&specs, &Options::default())? {
        went_well(&report)?;
        ensure(report.result.received_bytes >= 400_000 || candidate.is_lossy(), || {
            format!("{:?}", report.result)
        })?;
    }
    Ok(())
}

fn failed_with_a_sentence(report: &FlowReport) -> Outcome<()> {
    let result = &report.result;
    let said = result.reason.as_deref().unwrap_or_default();
    ensure(result.outcome == "failed" && said.len() > 10, || format!("{result:?}"))
}

fn refused(candidate: &Candidate) -> Outcome<()> {
    let report = apart(candidate, 60, None)?;
    failed_with_a_sentence(&report)?;
    ensure(report.result.received_bytes == 0, || format!("{:?}", report.result))
}

fn killed(candidate: &Candidate) -> Outcome<()> {
    let report = apart(candidate, 300, Some(Duration::from_secs(6)))?;
    failed_with_a_sentence(&report)?;
    let (sent, received) = (report.result.sent_bytes, report.result.received_bytes);
    ensure(received > 0 && received < 20_000_000 && sent > 0, || format!("{:?}", report.result))
}

/// A long transfer between two halves that know of each other only what crosses the line. The receiver is ended after
/// `alive`, or is never there.
fn apart(candidate: &Candidate, limit_s: i64, alive: Option<Duration>) -> Outcome<FlowReport> {
    let network = CLEAN.build()?;
    let options = Options { limit_s, ..Options::default() };
    let ctx = context(0, Clock::starting_now(in_virtual_time()), &options);
    let (server, client) = prepare_apart(candidate.transfer(20_000_000).check()?, ctx)?;
    let sending = network.node("client")?.spawn("client", move || (client.run_alone(), client))?;
    let received = match alive {
        None => None,
        Some(alive) => {
            let server = std::sync::Arc::new(server);
            let there = std::sync::Arc::clone(&server);
            let serving = network.node("server")?.spawn("server", move || there.run())?;
            std::thread::sleep(alive);
            server.call_off("the receiver was killed");
            let result = serving.join().map_err(|_| "the receiver panicked")?;
            let server = std::sync::Arc::into_inner(server).ok_or("the receiver is still at work")?;
            Some((server, result))
        }
    };
    let (sent, client) = sending.join().map_err(|_| "the sender panicked")?;
    Ok(match received {
        Some(received) => join(received, (client, sent)),
        None => workload::join_alone((client, sent)),
    })
}
