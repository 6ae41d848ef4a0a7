//! Measures what a flow costs: wall time for each virtual second, with and without message instants.
//!
//! Build it with `--release`, run it as the first process of a guest in virtual time, one case at a time (a guest passes
//! the words after `--` on its command line on to its first process), and measure the guest's processor time from
//! outside. Without a case all of them run.

mod harness;

use harness::{Line, Options, Outcome, flow, run_as_first_process};
use serde_json::{Value, json};
use workload::FlowSpec;

/// The line of the rail studies: 5.2 Mbit/s, 25 ms each way.
const LINE: Line = Line { rate_bps: 5_200_000.0, delay_s: 0.025, loss: 0.0, corrupt: 0.0 };
/// Virtual seconds of each case.
const DURATION_S: f64 = 100.0;

fn cbr(stack: &str, params: Value, rate_bps: Option<f64>) -> FlowSpec {
    flow(
        stack,
        params,
        "cbr",
        json!({"rate_bps": rate_bps, "message_size_bytes": 1448, "duration_s": DURATION_S}),
    )
}

/// About as many bytes as the line carries in the duration.
fn bulk(stack: &str, params: Value) -> FlowSpec {
    flow(stack, params, "bulk", json!({"size_bytes": (LINE.rate_bps / 8.0 * DURATION_S) as u64}))
}

fn cases() -> Vec<(&'static str, FlowSpec, Options)> {
    let cubic = || json!({"congestion_control": "cubic"});
    let plain = Options::default();
    let totals = Options { messages: false, ..plain.clone() };
    let wire = Options { wire: true, ..plain.clone() };
    let sampled = Options { socket_interval_ns: Some(100_000_000), ..totals.clone() };
    let unreleased = Options { fq: false, ..plain.clone() };
    vec![
        ("tcp-greedy-totals", cbr("tcp", cubic(), None), totals.clone()),
        ("tcp-greedy-sampled", cbr("tcp", cubic(), None), sampled),
        ("tcp-greedy-wire", cbr("tcp", cubic(), None), wire.clone()),
        ("tcp-greedy-application", cbr("tcp", cubic(), None), plain.clone()),
        ("tcp-paced-wire", cbr("tcp", cubic(), Some(4_500_000.0)), wire.clone()),
        ("tls-greedy-totals", cbr("tls", cubic(), None), totals.clone()),
        ("tls-greedy-wire", cbr("tls", cubic(), None), wire),
        ("tls-greedy-application", cbr("tls", cubic(), None), plain.clone()),
        ("tls-sctp-greedy", cbr("tls", json!({"transport": "sctp"}), None), plain.clone()),
        ("mptcp-greedy", cbr("mptcp", cubic(), None), plain.clone()),
        ("sctp-greedy", cbr("sctp", json!({}), None), plain.clone()),
        ("sctp-bulk-totals", bulk("sctp", json!({})), totals.clone()),
        ("udp-paced-released", cbr("udp", json!({}), Some(5_200_000.0)), plain),
        ("udp-paced-slept", cbr("udp", json!({}), Some(5_200_000.0)), unreleased),
    ]
}

fn main() {
    let wanted = std::env::args().nth(1);
    run_as_first_process(|| {
        for (name, spec, options) in cases() {
            if wanted.as_ref().is_none_or(|wanted| wanted == name) {
                report(name, &spec, &options)?;
            }
        }
        Ok(())
    });
}

fn report(name: &str, spec: &FlowSpec, options: &Options) -> Outcome<()> {
    let report = LINE.run(std::slice::from_ref(spec), options)?.remove(0);
    println!("{name}: {}", serde_json::to_string(&report.result)?);
    Ok(())
}
