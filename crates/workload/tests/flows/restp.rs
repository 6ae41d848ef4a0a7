//! ResTP over the loopback interface, in every way in which its services deliver.

use serde_json::{Value, json};
use transports::Context;
use workload::{FlowReport, FlowSpec};

use crate::common::{context, flow, ok, reason, run, run_alone};
use crate::places::own_address;

fn bulk(stack_params: Value, size_bytes: u64) -> FlowReport {
    run(
        &flow("restp", stack_params, "bulk", json!({"size_bytes": size_bytes, "message_size_bytes": 1000})),
        context(),
    )
}

fn assert_in_order(report: &FlowReport) {
    let received: Vec<_> = report.messages().map(|message| message.received_ns).collect();
    assert!(received.iter().all(Option::is_some));
    assert!(received.is_sorted());
}

#[test]
fn every_preset_that_promises_it_brings_a_file_whole() {
    for profile in ["file_arq", "file_harq", "web_opt", "satellite_outage", "multipath"] {
        let report = bulk(json!({"profile": profile}), 300_001);
        ok(&report);
        assert_eq!((report.result.sent_bytes, report.result.received_bytes), (300_001, 300_001), "{profile}");
        assert_eq!(report.result.received_messages, 301, "{profile}");
        assert_in_order(&report);
        assert_eq!(report.result.delivery_instants, "application");
        assert!(report.result.established_s <= report.result.first_received_s);
        assert!(report.result.last_received_s <= report.result.finished_s);
    }
}

#[test]
fn single_services_replace_those_of_the_preset() {
    for services in [
        json!({"congestion": "bbr"}),
        json!({"congestion": "newreno", "ack_report": "nack", "crc": false}),
        json!({"dissertation": true}),
        json!({"protection": "protected"}),
        json!({"loss_cause": "dynamic", "pacing": false, "packet_bytes": 400}),
        json!({"profile": "file_harq", "fec_timer": false}),
        json!({"profile": "web_opt", "visited": true, "syn_first": false}),
    ] {
        let report = bulk(services.clone(), 100_000);
        assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None), "{services}");
        assert_eq!(report.result.received_bytes, 100_000, "{services}");
    }
}

#[test]
fn messages_keep_their_boundaries_with_fixed_framing() {
    for ordering in ["full", "none"] {
        let report = bulk(json!({"framing": "fixed", "ordering": ordering}), 100_000);
        ok(&report);
        assert_eq!(report.result.received_messages, 100, "{ordering}");
    }
}

#[test]
fn live_messages_arrive_with_and_without_a_connection() {
    let cbr = json!({"rate_bps": 64_000, "message_size_bytes": 160, "duration_s": 3.0});
    for profile in ["voice", "datagram"] {
        let report = run(&flow("restp", json!({"profile": profile}), "cbr", cbr.clone()), context());
        ok(&report);
        assert!(report.result.sent_messages > 0, "{profile}");
        assert_eq!(report.result.sent_messages, report.result.received_messages, "{profile}");
        assert_in_order(&report);
        assert!(report.result.established_s <= report.result.first_received_s, "{profile}");
    }
}

#[test]
fn a_greedy_sender_is_held_back_and_sampled() {
    let cbr = json!({"rate_bps": null, "message_size_bytes": 1448, "duration_s": 2.0});
    let report = run(&flow("restp", json!({}), "cbr", cbr), context());
    ok(&report);
    assert!(report.result.received_bytes > 0);
    assert_in_order(&report);
    assert!(report.samples.iter().any(|sample| sample.cwnd_bytes > 0 && sample.srtt_ns > Some(0)));
}

#[test]
fn a_small_send_buffer_keeps_messages_with_the_application() {
    // With a constant window of four packets the way through the network is the same; what differs is the wait before.
    let longest_delay_ns = |send_buffer_bytes: u64| {
        let services = json!({
            "send_buffer_bytes": send_buffer_bytes, "congestion": "none", "i_own_the_path": true,
            "open_window_packets": 4
        });
        let report = bulk(services, 3_000_000);
        ok(&report);
        let delays = report.messages().filter_map(|message| Some(message.received_ns? - message.sent_ns));
        delays.max().expect("messages arrived")
    };
    assert!(longest_delay_ns(4_000) < longest_delay_ns(4_000_000));
}

#[test]
fn every_message_may_have_a_session_of_its_own() {
    for profile in ["file_arq", "web_opt"] {
        let periodic = json!({
            "message_size_bytes": 500, "interval_s": 0.2, "duration_s": 1.0, "connection": "fresh"
        });
        let mut ctx = context();
        ctx.source.set_port(0);
        let report = run(&flow("restp", json!({"profile": profile}), "periodic", periodic), ctx);
        ok(&report);
        assert_eq!(report.exchanges.len(), 5, "{profile}");
        assert!(report.exchanges.iter().all(|exchange| exchange.outcome == "ok"), "{:?}", report.exchanges);
    }
}

#[test]
fn pages_are_loaded_over_any_byte_stream() {
    for (stack, params) in [("restp", json!({})), ("tcp", json!({"congestion_control": "cubic"}))] {
        let report = run(&flow(stack, params, "web", json!({"page": "fixed"})), context());
        ok(&report);
        let sizes: Vec<_> = report.exchanges.iter().map(|exchange| exchange.size_bytes).collect();
        assert_eq!(sizes, [79_453, 226], "{stack}");
        for exchange in &report.exchanges {
            assert_eq!(exchange.outcome, "ok", "{stack}");
            assert!(exchange.first_byte_ns >= Some(exchange.requested_ns), "{stack}");
            assert!(exchange.completed_ns >= exchange.first_byte_ns, "{stack}");
        }
        assert_eq!((report.result.sent_messages, report.result.received_messages), (2, 2), "{stack}");
    }
}

#[test]
fn a_path_beside_the_first_is_opened() {
    let stack_params = json!({
        "profile": "multipath",
        "further_paths": [{"source": own_address(1), "destination": own_address(2)}]
    });
    ok(&bulk(stack_params, 1_000_000));
}

#[test]
fn a_path_is_opened_while_data_flow() {
    let further = json!([{"source": own_address(1), "destination": own_address(2), "open_s": 0.3}]);
    let stack_params = json!({"profile": "multipath", "further_paths": further});
    let cbr = json!({"rate_bps": 800_000, "message_size_bytes": 1000, "duration_s": 1});
    ok(&run(&flow("restp", stack_params, "cbr", cbr), context()));
}

#[test]
fn nobody_to_talk_to_is_said_at_the_limit() {
    let spec = flow("restp", json!({}), "bulk", json!({"size_bytes": 1000}));
    let report = run_alone(&spec, Context { limit_ns: 300_000_000, ..context() });
    assert!(reason(&report).contains("did not answer the connection request"), "{}", reason(&report));
}

#[test]
fn the_limit_ends_a_sender_that_pauses() {
    let cbr = json!({"rate_bps": 8, "message_size_bytes": 100, "duration_s": 1000});
    let ctx = Context { limit_ns: 400_000_000, ..context() };
    let report = run(&flow("restp", json!({}), "cbr", cbr), ctx);
    assert!(reason(&report).starts_with("the limit of"), "{}", reason(&report));
    assert_eq!(report.result.sent_messages, 1);
}

#[test]
fn a_message_that_fits_no_packet_is_refused() {
    let cbr = json!({"rate_bps": 100_000, "message_size_bytes": 1490, "duration_s": 1});
    let report = run(&flow("restp", json!({"profile": "voice"}), "cbr", cbr), context());
    assert!(reason(&report).contains("1490 bytes does not fit"), "{}", reason(&report));
}

#[test]
fn wrong_parameters_are_named() {
    let cases = [
        (json!({"profil": "voice"}), "unknown field `profil`"),
        (json!({"profile": "fax"}), "no `profile` `fax`"),
        (json!({"encapsulation": "tcp"}), "`encapsulation` is `tcp`; choose one of udp, ip"),
        (json!({"lifetime_s": 1.0}), "`lifetime_s` means something with partial ordering only"),
        (json!({"paths_at_once": 1}), "`paths_at_once` must be at least 2"),
        (json!({"send_buffer_bytes": 0}), "`send_buffer_bytes` must be at least 1"),
    ];
    for (params, part) in cases {
        let spec: FlowSpec = flow("restp", params, "bulk", json!({"size_bytes": 1000}));
        let sentence = spec.check().err().expect("the flow is wrong").to_string();
        assert!(sentence.contains(part), "{sentence}");
    }
}
