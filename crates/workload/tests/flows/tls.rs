//! TLS over the loopback interface: everything arrives, set-up has its instants, and what goes wrong is said.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use transports::Context;
use workload::FlowReport;

use crate::common::{context, flow, ok, reason, run, run_alone};

fn tls(more: Value) -> Value {
    let mut params = json!({"congestion_control": "cubic"});
    params.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    params
}

fn bulk(more: Value, size_bytes: u64) -> workload::FlowSpec {
    flow("tls", tls(more), "bulk", json!({"size_bytes": size_bytes}))
}

#[test]
fn everything_arrives_whatever_is_kept() {
    for (messages, more) in [(true, json!({})), (false, json!({})), (true, json!({"client_auth": true}))] {
        let report = run(&bulk(more, 3_000_001), Context { messages, keys: true, ..context() });
        let result = &report.result;
        ok(&report);
        assert_eq!((result.sent_bytes, result.received_bytes), (3_000_001, 3_000_001));
        assert_eq!((result.sent_messages, result.received_messages), (2072, 2072));
        assert!(Some(result.start_s) <= result.transport_established_s);
        assert!(result.transport_established_s < result.established_s);
        assert!(result.established_s < result.first_received_s);
        assert!(result.last_received_s <= result.finished_s);
        assert_eq!(result.delivery_instants, "application");
        assert!(report.keys.contains("SERVER_TRAFFIC_SECRET_0 "), "{}", report.keys);
        for message in report.messages() {
            assert!(message.received_ns >= Some(message.sent_ns), "{message:?}");
        }
    }
}

#[test]
fn messages_of_any_size_go_one_by_one() {
    for message_bytes in [8, 100, 16_384, 16_385, 50_000] {
        let app = json!({"size_bytes": 200_001, "message_size_bytes": message_bytes});
        let report = run(&flow("tls", tls(json!({})), "bulk", app), context());
        assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None), "{message_bytes}");
        assert_eq!(report.result.received_messages, 200_001_u64.div_ceil(message_bytes));
    }
}

#[test]
fn every_fault_has_its_sentence() {
    let cases = [
        ("wrong_ca", "an authority that is not trusted"),
        ("expired_certificate", "has expired"),
        ("no_client_certificate", "no certificate, and one is required"),
    ];
    for (fault, says) in cases {
        let report = run(&bulk(json!({"client_auth": true, "fault": fault}), 1000), context());
        assert!(reason(&report).contains(says), "{fault}: {}", reason(&report));
        assert_eq!(report.result.received_bytes, 0, "{fault}");
    }
}

/// Runs only the sender; `server` happens at the other end of its connection.
fn alone(size_bytes: u64, server: impl FnOnce(std::net::TcpStream) + Send) -> FlowReport {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface is up");
    let destination = listener.local_addr().expect("a bound socket has an address");
    std::thread::scope(|scope| {
        scope.spawn(move || server(listener.accept().expect("the sender connects").0));
        run_alone(&bulk(json!({}), size_bytes), Context { destination, ..context() })
    })
}

#[test]
fn a_server_that_does_not_speak_tls_is_said() {
    let report = alone(1000, |mut stream| {
        let _ = stream.read(&mut [0; 100]);
        stream.write_all(b"220 smtp.example ESMTP\r\n").expect("the sender reads");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    assert!(reason(&report).contains("does not speak TLS"), "{}", reason(&report));
}

#[test]
fn a_server_that_closes_in_the_handshake_is_said() {
    let report = alone(1000, |mut stream| {
        let _ = stream.read(&mut [0; 4000]);
    });
    assert!(reason(&report).starts_with("the TLS handshake failed"), "{}", reason(&report));
}

#[test]
fn parameters_of_the_transport_are_checked() {
    for (params, says) in [
        (json!({}), "congestion_control"),
        (json!({"congestion_control": "cubic", "streams": 2}), "unknown field `streams`"),
        (json!({"transport": "sctp", "congestion_control": "cubic"}), "unknown field `congestion_control`"),
        (json!({"transport": "sctp", "streams": 2}), "`streams` must be 1"),
        (json!({"congestion_control": "cubic", "early_data": true}), "`resumption`"),
        (json!({"congestion_control": "cubic", "fault": "gremlins"}), "gremlins"),
    ] {
        let error =
            flow("tls", params, "bulk", json!({"size_bytes": 1})).check().err().expect("a wrong flow");
        assert!(error.to_string().contains(says), "{error}");
    }
}
