//! Whole flows by QUIC over the loopback interface: what arrives, what is recorded, and what is said when it fails.

use serde_json::{Value, json};
use transports::Context;
use workload::FlowReport;

use crate::common::{all_in_time, context, flow, ok, reason, run, run_alone, two_at_once};

const MEGABYTE: u64 = 1_000_000;

fn bulk(stack: &str, params: Value, size_bytes: u64) -> FlowReport {
    run(&flow(stack, params, "bulk", json!({"size_bytes": size_bytes})), context())
}

/// Runs a sender whose receiver is not there.
fn alone(stack: &str, params: Value, ctx: Context) -> FlowReport {
    run_alone(&flow(stack, params, "bulk", json!({"size_bytes": MEGABYTE})), ctx)
}

const STACKS: &[(&str, &[&str])] = &[
    ("quic-quinn", &["cubic", "newreno", "bbr"]),
    ("quic-noq", &["cubic", "newreno", "bbr"]),
    ("quic-s2n", &["cubic", "bbr"]),
    #[cfg(feature = "quiche")]
    ("quic-quiche", &["cubic", "reno", "bbr"]),
];

#[test]
fn a_stream_arrives_whole_with_every_congestion_control() {
    for &(stack, controls) in STACKS {
        for control in controls {
            let report = bulk(stack, json!({"congestion_control": control}), 3_000_001);
            ok(&report);
            let result = &report.result;
            assert_eq!(
                (result.sent_bytes, result.received_bytes),
                (3_000_001, 3_000_001),
                "{stack} {control}"
            );
            assert_eq!((result.sent_messages, result.received_messages), (2072, 2072));
            assert!(result.established_s < result.first_received_s);
            assert!(result.last_received_s <= result.finished_s);
            assert_eq!(result.delivery_instants, "application");
            for pair in report.messages().collect::<Vec<_>>().windows(2) {
                assert!(pair[0].sent_ns <= pair[1].sent_ns && pair[0].received_ns <= pair[1].received_ns);
                assert!(pair[0].received_ns.is_some_and(|at| at >= pair[0].sent_ns), "{:?}", pair[0]);
            }
        }
    }
}

#[test]
fn a_paced_sender_sends_each_message_when_it_is_ready_and_is_sampled() {
    let cbr = json!({"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 0.5});
    for &(stack, _) in STACKS {
        let report = run(&flow(stack, json!({}), "cbr", cbr.clone()), context());
        ok(&report);
        all_in_time(&report, 50);
        for message in report.messages() {
            assert!(message.sent_ns >= i64::from(message.seq) * 10_000_000, "{message:?} left too early");
        }
        assert!(report.samples.len() > 5, "{} samples", report.samples.len());
        assert!(report.samples.iter().all(|sample| sample.cwnd_bytes > 0));
        let last = report.samples.last().expect("there are samples");
        assert!(last.srtt_ns > Some(0), "{last:?}");
    }
}

/// Libraries that have all of QUIC that a flow can ask for.
const COMPLETE: &[&str] = &[
    "quic-quinn",
    #[cfg(feature = "quiche")]
    "quic-quiche",
];

#[test]
fn datagrams_leave_at_their_rate_and_arrive() {
    let cbr = json!({"rate_bps": 1_600_000, "message_size_bytes": 200, "duration_s": 0.2});
    for stack in COMPLETE {
        let report = run(&flow(stack, json!({"datagrams": true}), "cbr", cbr.clone()), context());
        ok(&report);
        all_in_time(&report, 200);
        assert!(report.result.established_s.is_some());
    }
}

#[test]
fn a_datagram_that_does_not_fit_is_named_with_what_would() {
    let cbr = json!({"rate_bps": 1_600_000, "message_size_bytes": 1448, "duration_s": 0.2});
    for stack in COMPLETE {
        let report = run(&flow(stack, json!({"datagrams": true}), "cbr", cbr.clone()), context());
        let reason = reason(&report);
        assert!(reason.contains("1448") && reason.contains("at most"), "{stack}: {reason}");
    }
}

#[test]
fn early_data_is_sent_where_it_is_asked_for_and_there_is_a_ticket() {
    const SESSIONS: usize = 4;
    let periodic =
        json!({"message_size_bytes": 1000, "interval_s": 0.01, "duration_s": 0.04, "connection": "fresh"});
    for stack in COMPLETE {
        for early in [false, true] {
            let params = json!({"resumption": true, "early_data": early});
            let spec = flow(stack, params, "periodic", periodic.clone());
            let report = run(&spec, Context { keys: true, ..context() });
            ok(&report);
            assert_eq!(report.result.received_messages, SESSIONS as u64, "{stack}");
            let count = |label: &str| report.keys.lines().filter(|line| line.starts_with(label)).count();
            assert_eq!(count("CLIENT_HANDSHAKE_TRAFFIC_SECRET "), SESSIONS, "{stack}");
            let sent_early = count("CLIENT_EARLY_TRAFFIC_SECRET ");
            assert_eq!(sent_early > 0, early, "{stack}: {sent_early} of {SESSIONS}");
            assert!(sent_early < SESSIONS, "{stack}: the first session has no ticket");
        }
    }
}

#[test]
fn a_library_that_takes_up_no_tickets_refuses_to_resume() {
    let asked = flow("quic-s2n", json!({"resumption": true}), "bulk", json!({"size_bytes": MEGABYTE}));
    let refused = asked.check().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(refused.contains("`stack_params` of `quic-s2n`: unknown field `resumption`"), "{refused}");
}

#[test]
fn a_certificate_of_the_sender_is_shown_when_it_is_required() {
    for &(stack, _) in STACKS {
        ok(&bulk(stack, json!({"client_auth": true}), MEGABYTE));
    }
}

#[test]
fn wrong_certificates_fail_the_handshake_with_the_reason() {
    for &(stack, _) in STACKS {
        // s2n-quic tells every refusal of the receiver as the same alert.
        for (fault, words) in [
            ("wrong_ca", "not trusted"),
            ("expired_certificate", "expired"),
            ("no_client_certificate", if stack == "quic-s2n" { "turned it down" } else { "certificate" }),
        ] {
            let report = bulk(stack, json!({"fault": fault}), MEGABYTE);
            assert!(reason(&report).contains(words), "{stack} {fault}: {}", reason(&report));
            assert_eq!(report.result.received_bytes, 0);
        }
    }
}

#[test]
fn nobody_there_is_a_time_out() {
    for &(stack, _) in STACKS {
        let report = alone(stack, json!({"idle_timeout_s": 0.5}), context());
        assert!(reason(&report).starts_with("timed out"), "{stack}: {}", reason(&report));
        assert!(reason(&report).contains("did not answer"), "{stack}: {}", reason(&report));
        let ctx = context();
        let limit_ns = ctx.clock.now_ns() + 300_000_000;
        let report = alone(stack, json!({}), Context { limit_ns, ..ctx });
        assert!(reason(&report).starts_with("the limit of"), "{stack}: {}", reason(&report));
    }
}

#[test]
fn secrets_are_kept_on_request() {
    for &(stack, _) in STACKS {
        let spec = flow(stack, json!({}), "bulk", json!({"size_bytes": 1000}));
        let report = run(&spec, Context { keys: true, ..context() });
        ok(&report);
        for label in ["CLIENT_TRAFFIC_SECRET_0 ", "SERVER_HANDSHAKE_TRAFFIC_SECRET "] {
            assert!(report.keys.lines().any(|line| line.starts_with(label)), "no {label} in {}", report.keys);
        }
    }
}

#[test]
fn the_limit_ends_a_flow_that_would_go_on() {
    let cbr = json!({"rate_bps": 8000, "message_size_bytes": 100, "duration_s": 1000});
    for &(stack, _) in STACKS {
        let ctx = context();
        let limit_ns = ctx.clock.now_ns() + 2_000_000_000;
        let report = run(&flow(stack, json!({}), "cbr", cbr.clone()), Context { limit_ns, ..ctx });
        assert!(reason(&report).starts_with("the limit of"), "{stack}: {}", reason(&report));
        assert!(report.result.received_messages > 0, "{stack}");
    }
}

#[test]
fn two_flows_at_once_do_not_mix() {
    for &(stack, _) in STACKS {
        let spec = flow(stack, json!({}), "bulk", json!({"size_bytes": 2 * MEGABYTE}));
        two_at_once(&spec, 2 * MEGABYTE);
    }
}

#[test]
fn a_wrong_parameter_is_named() {
    for &(stack, _) in STACKS {
        for (params, words) in [
            (json!({"congestion_control": "vegas"}), "cubic"),
            (json!({"nodelay": true}), "nodelay"),
            (json!({"idle_timeout_s": 0}), "idle_timeout_s"),
        ] {
            let error = flow(stack, params, "bulk", json!({"size_bytes": 1000})).check().err();
            let sentence = error.expect("the parameter is refused").to_string();
            assert!(sentence.contains(words) && sentence.contains(stack), "{sentence}");
        }
    }
}

#[test]
#[cfg(not(feature = "quiche"))]
fn what_was_left_out_says_how_to_build_it_in() {
    let error = flow("quic-quiche", json!({}), "bulk", json!({"size_bytes": 1000})).check().err();
    let sentence = error.expect("it is not there").to_string();
    assert!(sentence.contains("without quiche") && sentence.contains("make setup"), "{sentence}");
}

#[test]
fn the_versions_of_the_libraries_are_those_that_are_built() {
    let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock"))
        .expect("the workspace has a lock file");
    for (name, version) in transports::LIBRARIES {
        let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
        assert!(lock.contains(&entry), "Cargo.lock has another version of {name} than {version}");
    }
}
