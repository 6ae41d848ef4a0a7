//! Whole flows over the loopback interface: everything arrives, and what goes wrong is said in a sentence.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};

use serde_json::{Value, json};
use transports::Context;
use workload::FlowReport;

use crate::common::{all_in_time, context, flow, ok, reason, run, run_alone, two_at_once};
use crate::places::free_place;

fn cubic() -> Value {
    json!({"congestion_control": "cubic"})
}

fn assert_every_message_once_and_in_order(report: &FlowReport) {
    let messages: Vec<_> = report.messages().collect();
    assert_eq!(messages.len() as u64, report.result.sent_messages);
    assert_eq!(messages.iter().map(|m| u64::from(m.size_bytes)).sum::<u64>(), report.result.sent_bytes);
    for pair in messages.windows(2) {
        assert!(pair[0].sent_ns <= pair[1].sent_ns, "{pair:?} left out of order");
        assert!(pair[0].received_ns <= pair[1].received_ns, "{pair:?} arrived out of order");
    }
    for message in &messages {
        let received = message.received_ns.unwrap_or_else(|| panic!("{message:?} did not arrive"));
        assert!(received >= message.sent_ns, "{message:?} arrived before it left");
    }
}

#[test]
fn tcp_bulk_arrives_whole_with_a_short_last_message() {
    let spec = flow("tcp", cubic(), "bulk", json!({"size_bytes": 3_000_001}));
    let report = run(&spec, context());
    ok(&report);
    let result = &report.result;
    assert_eq!((result.sent_bytes, result.received_bytes), (3_000_001, 3_000_001));
    assert_eq!((result.sent_messages, result.received_messages), (2072, 2072));
    assert_eq!(report.messages().last().map(|m| m.size_bytes), Some(3_000_001 - 2071 * 1448));
    assert_every_message_once_and_in_order(&report);
    assert!(result.established_s < result.first_received_s);
    assert!(result.last_received_s <= result.finished_s);
    assert_eq!(result.delivery_instants, "application");
}

#[test]
fn totals_need_no_messages() {
    let spec = flow("tcp", json!({"congestion_control": "reno"}), "bulk", json!({"size_bytes": 3_000_000}));
    let report = run(&spec, Context { messages: false, ..context() });
    ok(&report);
    assert_eq!(report.result.received_bytes, 3_000_000);
    assert!(report.result.last_received_s > report.result.first_received_s);
    assert_eq!(report.messages().count(), 0);
}

#[test]
fn paced_tcp_sends_each_message_when_it_is_ready() {
    let cbr = json!({"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 0.5});
    let report = run(&flow("tcp", cubic(), "cbr", cbr), context());
    ok(&report);
    all_in_time(&report, 50);
    for message in report.messages() {
        assert!(message.sent_ns >= i64::from(message.seq) * 10_000_000, "{message:?} left too early");
    }
    assert_every_message_once_and_in_order(&report);
    assert!(report.samples.len() > 5, "{} samples", report.samples.len());
    assert!(report.samples.iter().all(|sample| sample.cwnd_bytes > 0));
}

#[test]
fn a_source_that_is_woken_too_late_sends_what_was_ready_before_its_end() {
    // A message each 10 ms, the last one a microsecond before the end: no timer of the kernel is that sharp.
    let params = json!({"rate_bps": 80e3, "message_size_bytes": 100, "duration_s": 0.050_001});
    for (stack, stack_params) in [("udp", json!({})), ("tcp", cubic())] {
        let report = run(&flow(stack, stack_params, "cbr", params.clone()), context());
        ok(&report);
        assert_eq!((report.result.sent_messages, report.result.received_messages), (6, 6), "{stack}");
    }
}

#[test]
fn greedy_cbr_ends_with_its_duration() {
    let cbr = json!({"rate_bps": null, "message_size_bytes": 1448, "duration_s": 0.3});
    let report = run(&flow("tcp", cubic(), "cbr", cbr), context());
    ok(&report);
    assert!(report.result.received_bytes > 1_000_000);
    assert_eq!(report.result.received_bytes % 1448, 0);
    assert_every_message_once_and_in_order(&report);
}

#[test]
fn a_paced_transfer_takes_its_time_and_arrives_whole() {
    let bulk = json!({"size_bytes": 100_100, "message_size_bytes": 1000, "rate_bps": 2_000_000});
    let report = run(&flow("tcp", cubic(), "bulk", bulk), context());
    ok(&report);
    assert_eq!((report.result.received_messages, report.result.received_bytes), (101, 100_100));
    assert_every_message_once_and_in_order(&report);
    for message in report.messages() {
        assert!(message.sent_ns >= i64::from(message.seq) * 4_000_000, "{message:?} left too early");
    }
}

/// Nanoseconds between the hand-over of one message and the next, where they are longer than `than_ns`.
fn pauses_ns(report: &FlowReport, than_ns: i64) -> Vec<i64> {
    let sent: Vec<_> = report.messages().map(|message| message.sent_ns).collect();
    sent.windows(2).map(|pair| pair[1] - pair[0]).filter(|pause| *pause > than_ns).collect()
}

#[test]
fn an_on_off_source_pauses_and_leaves_nothing_out() {
    let vbr = |peak_rate_bps: Value| {
        json!({"peak_rate_bps": peak_rate_bps, "message_size_bytes": 1000, "mean_on_s": 0.03, "mean_off_s": 0.05,
               "duration_s": 0.6})
    };
    let stacks = [
        ("tcp", cubic(), json!(1_000_000)),
        ("tcp", cubic(), Value::Null),
        ("udp", json!({}), json!(1_000_000)),
    ];
    let mut paced = Vec::new();
    for (stack, params, rate) in stacks {
        let report = run(&flow(stack, params, "vbr", vbr(rate.clone())), context());
        ok(&report);
        assert_eq!(report.result.sent_messages, report.result.received_messages);
        assert_every_message_once_and_in_order(&report);
        // A message is ready each 8 ms while the source is on.
        assert!(pauses_ns(&report, 20_000_000).len() > 2, "{stack} at {rate} never paused");
        if rate.is_number() {
            paced.push(report.result.sent_messages);
        }
    }
    assert!(paced[0].abs_diff(paced[1]) <= 5, "both transports are offered the same: {paced:?}");
}

#[test]
fn udp_datagrams_leave_at_their_rate_and_arrive() {
    let cbr = json!({"rate_bps": 1_600_000, "message_size_bytes": 200, "duration_s": 0.2});
    let report = run(&flow("udp", json!({}), "cbr", cbr), context());
    ok(&report);
    all_in_time(&report, 200);
    assert_every_message_once_and_in_order(&report);
    assert_eq!(report.result.delivery_instants, "kernel");
    assert_eq!(report.result.established_s, None);
}

#[test]
fn udp_to_nobody_is_refused() {
    let cbr = json!({"rate_bps": 1_600_000, "message_size_bytes": 200, "duration_s": 0.2});
    let report = run_alone(&flow("udp", json!({}), "cbr", cbr), context());
    assert!(reason(&report).starts_with("refused"), "{:?}", report.result.reason);
}

#[test]
fn tcp_to_nobody_is_refused() {
    let report = run_alone(&flow("tcp", cubic(), "bulk", json!({"size_bytes": 1000})), context());
    assert!(reason(&report).starts_with("refused"), "{:?}", report.result.reason);
    assert_eq!(report.result.sent_messages, 0);
}

#[test]
fn a_receiver_that_dies_is_a_reset() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface is up");
    let ctx =
        Context { destination: listener.local_addr().expect("a bound socket has an address"), ..context() };
    let spec = flow("tcp", cubic(), "bulk", json!({"size_bytes": 500_000_000}));
    let report = std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut connection, _) = listener.accept().expect("the sender connects");
            // Data that nobody read turns the closing into a reset.
            connection.read_exact(&mut [0; 10_000]).expect("the sender sends");
        });
        run_alone(&spec, ctx)
    });
    assert!(reason(&report).starts_with("reset"), "{:?}", report.result.reason);
}

#[test]
fn a_taken_port_fails_both_halves() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("the loopback interface is up");
    let destination = taken.local_addr().expect("a bound socket has an address");
    let spec = flow("tcp", cubic(), "bulk", json!({"size_bytes": 1000}));
    let report = run(&spec, Context { destination, ..context() });
    assert!(reason(&report).contains(&destination.to_string()), "{:?}", report.result.reason);
}

#[test]
fn an_unknown_congestion_control_names_the_known_ones() {
    let spec = flow("tcp", json!({"congestion_control": "cubik"}), "bulk", json!({"size_bytes": 1000}));
    let report = run(&spec, context());
    assert!(reason(&report).contains("`cubik`") && reason(&report).contains("cubic"), "{}", reason(&report));
}

#[test]
fn the_limit_ends_a_flow_that_would_go_on() {
    let cbr = json!({"rate_bps": 8000, "message_size_bytes": 100, "duration_s": 1000});
    for stack in ["tcp", "udp"] {
        let params = if stack == "tcp" { cubic() } else { json!({}) };
        let ctx = context();
        let limit_ns = ctx.clock.now_ns() + 400_000_000;
        let report = run(&flow(stack, params, "cbr", cbr.clone()), Context { limit_ns, ..ctx });
        assert!(reason(&report).starts_with("the limit of"), "{stack}: {:?}", report.result.reason);
        assert!(report.result.received_messages > 0, "{stack}");
    }
}

#[test]
fn the_limit_ends_a_sender_that_sleeps_until_its_next_message() {
    let cbr = json!({"rate_bps": 8, "message_size_bytes": 100, "duration_s": 1000});
    for (stack, params) in [("tcp", cubic()), ("udp", json!({}))] {
        let report =
            run(&flow(stack, params, "cbr", cbr.clone()), Context { limit_ns: 300_000_000, ..context() });
        assert!(reason(&report).starts_with("the limit of"), "{stack}: {:?}", report.result.reason);
        assert_eq!(report.result.sent_messages, 1, "{stack}");
    }
}

#[test]
fn a_start_beyond_the_limit_is_said() {
    let mut spec = flow("tcp", cubic(), "bulk", json!({"size_bytes": 1000}));
    spec.start_s = 1.0;
    let report = run(&spec, Context { limit_ns: 200_000_000, ..context() });
    assert!(reason(&report).contains("not to start before"), "{:?}", report.result.reason);
}

#[test]
fn a_transport_that_the_kernel_lacks_is_named() {
    for (stack, params) in [("sctp", json!({})), ("mptcp", cubic())] {
        let report = run(&flow(stack, params, "bulk", json!({"size_bytes": 100_000})), context());
        if report.result.outcome == "ok" {
            assert_eq!(report.result.received_bytes, 100_000);
        } else {
            assert!(reason(&report).contains(&format!("`{stack}`")), "{}", reason(&report));
        }
    }
}

#[test]
fn two_flows_at_once_do_not_mix() {
    let spec = flow("tcp", cubic(), "bulk", json!({"size_bytes": 2_000_000}));
    two_at_once(&spec, 2_000_000);
}

#[test]
fn a_buffer_above_the_kernels_maximum_is_refused() {
    let params = json!({"congestion_control": "cubic", "receive_buffer_bytes": 1_000_000_000});
    let report = run(&flow("tcp", params, "bulk", json!({"size_bytes": 1000})), context());
    assert!(reason(&report).contains("net.core.rmem_max"), "{}", reason(&report));
}

#[test]
fn an_address_of_another_machine_cannot_be_bound() {
    let spec =
        flow("udp", json!({}), "cbr", json!({"rate_bps": 8000, "message_size_bytes": 100, "duration_s": 1}));
    let source = SocketAddr::from(([192, 0, 2, 1], free_place().port()));
    let report = run(&spec, Context { source, ..context() });
    assert!(reason(&report).contains("192.0.2.1"), "{}", reason(&report));
}
