//! What tests of whole flows share: a flow's description, its surroundings, and both halves run.

use serde_json::{Value, json};
use transports::{Clock, Context};
use workload::{FlowReport, FlowSpec, join, join_alone, prepare};

use crate::places::free_place;

/// A flow from one end of the loopback interface to the other.
pub fn flow(stack: &str, stack_params: Value, app: &str, app_params: Value) -> FlowSpec {
    serde_json::from_value(json!({
        "id": "f0", "stack": stack, "stack_params": stack_params, "app": app, "app_params": app_params,
        "from": "a", "to": "b", "start_s": 0.0
    }))
    .expect("a flow of the tests is written correctly")
}

/// Surroundings with 20 s until the limit.
pub fn context() -> Context {
    Context {
        clock: Clock::starting_now(false),
        limit_ns: 20_000_000_000,
        seed: 7,
        source: free_place(),
        destination: free_place(),
        further_ports: Vec::new(),
        source_further: Vec::new(),
        destination_further: Vec::new(),
        quiet_ns: 300_000_000,
        socket_interval_ns: Some(5_000_000),
        messages: true,
        wire: false,
        wake: false,
        keys: false,
        qlog: None,
        processor: None,
        progress: None,
    }
}

/// Runs both halves.
pub fn run(spec: &FlowSpec, ctx: Context) -> FlowReport {
    let flow = spec.check().expect("a flow of the tests makes sense");
    let (server, client) = prepare(flow, ctx).expect("descriptors are left");
    let (received, sent) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| server.run());
        let sent = client.run();
        (receiving.join().expect("the receiver does not panic"), sent)
    });
    join((server, received), (client, sent))
}

/// Runs a sender whose receiver is not there, or is another program.
pub fn run_alone(spec: &FlowSpec, ctx: Context) -> FlowReport {
    let flow = spec.check().expect("a flow of the tests makes sense");
    let (_, client) = prepare(flow, ctx).expect("descriptors are left");
    let sent = client.run_alone();
    join_alone((client, sent))
}

/// Runs two flows at once, whose bytes are not the same, and checks that all of each arrived.
pub fn two_at_once(spec: &FlowSpec, size_bytes: u64) {
    let reports = std::thread::scope(|scope| {
        let seeds = [1, 2].map(|seed| scope.spawn(move || run(spec, Context { seed, ..context() })));
        seeds.map(|thread| thread.join().expect("a flow does not panic"))
    });
    for report in &reports {
        ok(report);
        assert_eq!(report.result.received_bytes, size_bytes);
    }
}

/// Checks that nothing went wrong.
pub fn ok(report: &FlowReport) {
    assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None));
}

/// Why a flow failed.
pub fn reason(report: &FlowReport) -> &str {
    assert_eq!(report.result.outcome, "failed");
    report.result.reason.as_deref().expect("a failed flow has a reason")
}

/// Checks that what was sent arrived, and that it was all of `messages` or nearly so: a source whose session comes up too
/// late, or whose transport takes no more, leaves out what would be sent after its end.
pub fn all_in_time(report: &FlowReport, messages: u64) {
    let sent = report.result.sent_messages;
    assert_eq!(sent, report.result.received_messages);
    assert!((messages * 3 / 4..=messages).contains(&sent), "{sent} of {messages} messages");
}
