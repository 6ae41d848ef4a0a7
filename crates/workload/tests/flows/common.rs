//! What tests of whole flows share: a flow's description, its surroundings, and both halves run.

use serde_json::{Value, json};
use transports::{Clock, Context};
use workload::{FlowReport, FlowSpec, join, prepare};

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
        source_further: Vec::new(),
        destination_further: Vec::new(),
        quiet_ns: 300_000_000,
        socket_interval_ns: Some(5_000_000),
        messages: true,
        wire: false,
        wake: false,
        keys: false,
        qlog: None,
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

/// Checks that what was sent arrived, and that it was all of `messages` or nearly so: a source that the machine woke up
/// too late leaves out what would be sent after its end.
pub fn all_in_time(report: &FlowReport, messages: u64) {
    let sent = report.result.sent_messages;
    assert_eq!(sent, report.result.received_messages);
    assert!((messages * 3 / 4..=messages).contains(&sent), "{sent} of {messages} messages");
}
