//! Client and server over each protocol: answers, counters, tickets, early data, Retry, kinds of certificate.

mod common;

use std::path::Path;

use common::wire::h3_get;
use common::{Server, Stack, certificates, client, number, server_command};
use serde_json::Value;
use web::certificates::Kind;
use web::protocol::Protocol;
use web::quic_library::QuicLibrary;

#[test]
fn each_protocol_answers_and_counts() {
    for stack in Stack::ALL {
        let server = Server::start("answers", stack, &[]);
        assert_eq!(server.ready["protocol"], stack.protocol.name());
        let library = stack.protocol.is_quic().then(|| stack.quic_library.name());
        assert_eq!(server.ready["quic_library"].as_str(), library);
        assert!(server.ready["versions"]["rustls"].is_string());
        assert_eq!(server.ready["weaknesses"], serde_json::json!([]));
        let page = server.ask(&[]);
        assert_eq!((page.outcome(), number(&page.requests[0], "bytes")), ("ok", 1000));
        let large = server.ask(&["--path", "/bytes/3000000", "--count", "2", "--interval-ms", "1"]);
        assert_eq!(large.outcomes(), ["ok", "ok"]);
        assert!(large.requests.iter().all(|request| number(request, "bytes") == 3_000_000));
        assert_eq!(large.done["outcomes"], serde_json::json!({"ok": 2}));
        let done = server.stop();
        for (name, count) in [
            ("handshakes_begun", 3),
            ("handshakes_completed", 3),
            ("handshakes_failed", 0),
            ("handshakes_in_flight", 0),
            ("requests", 3),
            ("requests_answered", 3),
            ("requests_cancelled", 0),
            ("tickets_redeemed", 0),
            ("early_data", 0),
            ("retries_sent", 0),
        ] {
            assert_eq!(number(&done, name), count, "{name} of {}: {done}", stack.name());
        }
        assert!(number(&done, "bytes_out") > 6_001_000, "{done}");
        assert!((1_000..1_000_000).contains(&number(&done, "bytes_in")), "{done}");
        assert!(number(&done, "cpu_ns") > 0);
        assert!(number(&done, "heap_peak_bytes") > 10_000);
        assert!((1..=3).contains(&number(&done, "connections_most")), "{done}");
        assert_eq!(stack.protocol.is_quic(), number(&done, "datagrams_received") > 0, "{done}");
    }
}

#[test]
fn instants_of_a_request_are_in_their_order() {
    for stack in Stack::ALL {
        let server = Server::start("instants", stack, &[]);
        let asked = server.ask(&["--count", "3", "--interval-ms", "20"]);
        for (index, request) in asked.requests.iter().enumerate() {
            let instants = ["due_ns", "start_ns", "connected_ns", "first_byte_ns", "end_ns"];
            let instants = instants.map(|name| number(request, name));
            assert!(instants.is_sorted(), "{}: {request}", stack.name());
            let apart = number(request, "due_ns") - number(&asked.requests[0], "due_ns");
            assert_eq!(apart, 20_000_000 * index as u64);
        }
    }
}

#[test]
fn several_requests_share_a_connection_when_that_is_asked() {
    for stack in Stack::ALL {
        let server = Server::start("shared", stack, &[]);
        let asked = server.ask(&["--requests-per-connection", "4"]);
        assert_eq!(asked.outcomes(), ["ok"; 4]);
        let connected: Vec<bool> =
            asked.requests.iter().map(|request| request["connected_ns"].is_u64()).collect();
        assert_eq!(connected, [true, false, false, false]);
        let done = server.stop();
        assert_eq!((number(&done, "handshakes_completed"), number(&done, "requests")), (1, 4));
    }
}

#[test]
fn listed_resources_are_served_and_others_are_not_found() {
    let list = r#"{"/site/a.css": {"octets": 70000, "type": "text/css"}}"#;
    for stack in Stack::ALL {
        let folder = certificates(&format!("sites-{}", stack.name()), Kind::P256);
        let file = folder.join("sites.json");
        std::fs::write(&file, list).expect("the folder is there");
        let server = Server::start_with(&folder, stack, &["--sites", file.to_str().expect("text")]);
        let listed = server.ask(&["--path", "/site/a.css"]);
        assert_eq!((listed.outcome(), number(&listed.requests[0], "bytes")), ("ok", 70_000));
        let missing = server.ask(&["--path", "/site/b.css"]);
        assert_eq!((missing.outcome(), number(&missing.requests[0], "status")), ("status", 404));
    }
}

#[test]
fn tickets_are_redeemed_by_a_client_that_resumes() {
    for protocol in Protocol::ALL {
        let server = Server::start("tickets", protocol, &["--tickets", "1"]);
        let asked = server.ask(&["--count", "3", "--interval-ms", "200", "--resume"]);
        assert_eq!(asked.outcomes(), ["ok"; 3]);
        let offered: Vec<&Value> = asked.requests.iter().map(|request| &request["ticket"]).collect();
        assert_eq!(offered, [false, true, true], "{}", protocol.name());
        assert_eq!(number(&asked.done, "tickets_offered"), 2);
        let done = server.stop();
        assert_eq!((number(&done, "tickets_issued"), number(&done, "tickets_redeemed")), (3, 2), "{done}");
        assert_eq!(number(&done, "early_data"), 0);
    }
}

#[test]
fn early_data_is_sent_taken_and_answered() {
    for protocol in Protocol::ALL {
        let server = Server::start("early", protocol, &["--early-data"]);
        let asked = server.ask(&["--count", "3", "--interval-ms", "200", "--early-data"]);
        assert_eq!(asked.outcomes(), ["ok"; 3], "{:?}", asked.requests);
        let early: Vec<&Value> = asked.requests.iter().map(|request| &request["early_data"]).collect();
        assert_eq!(early, [false, true, true], "{}", protocol.name());
        let done = server.stop();
        assert_eq!(number(&done, "early_data"), 2, "{}: {done}", protocol.name());
        assert_eq!((number(&done, "requests_answered"), number(&done, "handshakes_completed")), (3, 3));
    }
}

#[test]
fn a_connection_whose_answer_came_early_waits_for_its_ticket() {
    let server = Server::start("early-again", Protocol::H3, &["--early-data", "--tickets", "1"]);
    // So far apart that one is over before the next begins, on a busy machine too: each brings the other's only ticket.
    let asked = server.ask(&["--count", "10", "--interval-ms", "500", "--early-data"]);
    let early = asked.requests.iter().filter(|request| request["early_data"] == true).count();
    assert_eq!(early, 9, "{:?}", asked.requests);
    assert_eq!(number(&server.stop(), "tickets_redeemed"), 9);
}

#[test]
fn a_server_that_takes_no_early_data_is_asked_after_the_handshake() {
    for protocol in Protocol::ALL {
        let server = Server::start("not-early", protocol, &[]);
        let asked = server.ask(&["--count", "2", "--interval-ms", "200", "--early-data"]);
        assert_eq!(asked.outcomes(), ["ok"; 2]);
        assert!(asked.requests.iter().all(|request| request["early_data"] == false));
        let done = server.stop();
        assert_eq!((number(&done, "tickets_redeemed"), number(&done, "early_data")), (1, 0));
    }
}

#[test]
fn every_kind_of_certificate_is_served_by_every_protocol() {
    for kind in Kind::ALL {
        let folder = certificates(&format!("kind-{}", kind.name()), kind);
        for stack in Stack::ALL {
            let server = Server::start_with(&folder, stack, &[]);
            assert_eq!(server.ask(&[]).outcome(), "ok", "{} over {}", kind.name(), stack.name());
        }
    }
}

#[test]
fn retry_asks_each_client_to_show_that_it_receives() {
    for stack in Stack::QUIC {
        for (rule, retries) in [("off", 0), ("always", 5), ("above=0", 0)] {
            let server = Server::start(&format!("retry-{rule}"), stack, &["--retry", rule]);
            let asked = server.ask(&["--count", "5", "--interval-ms", "100"]);
            assert_eq!(asked.outcomes(), ["ok"; 5], "{rule} over {}", stack.name());
            let done = server.stop();
            assert_eq!(number(&done, "retries_sent"), retries, "{rule} over {}", stack.name());
            assert_eq!(number(&done, "handshakes_begun"), 5);
            // What was answered with a Retry packet left nothing behind.
            assert!(number(&done, "datagrams_dropped_stateless") >= retries, "{done}");
        }
    }
}

/// What went through the socket of a client is what the server counted, however it was taken.
#[tokio::test]
async fn octets_and_datagrams_are_those_of_the_client() {
    for stack in Stack::QUIC {
        let mut server = Server::start("counted", stack, &["--retry", "always"]);
        let (endpoint, connection) = server.quic().await;
        let (mut send, mut receive) = connection.open_bi().await.expect("there is credit");
        send.write_all(&h3_get("/bytes/50000", 0)).await.expect("the connection is open");
        send.finish().expect("it is open");
        assert!(receive.read_to_end(60_000).await.expect("an answer").len() > 50_000);
        connection.close(0x100_u32.into(), b"");
        endpoint.wait_idle().await;
        let sent = connection.stats();
        let now = server
            .until("its last datagram", |now| number(now, "datagrams_received") == sent.udp_tx.datagrams);
        assert_eq!(number(&now, "bytes_in"), sent.udp_tx.bytes, "{}: {now}", stack.name());
        // All of it fits into the client's socket; what a busy machine has sent twice is less than all.
        let taken = sent.udp_rx.bytes;
        assert!((taken..2 * taken).contains(&number(&now, "bytes_out")), "{taken} of {now}");
        let counts = ["handshakes_completed", "retries_sent", "requests", "requests_answered"];
        assert_eq!(counts.map(|name| number(&now, name)), [1; 4], "{}: {now}", stack.name());
    }
}

#[test]
fn the_counters_can_be_asked_for_while_it_serves() {
    for stack in Stack::ALL {
        let mut server = Server::start("now", stack, &[]);
        assert_eq!(number(&server.now(), "requests"), 0);
        server.ask(&[]);
        let now = server.now();
        assert_eq!(number(&now, "requests"), 1);
        let first_ns = number(&now, "at_ns");
        assert!(number(&server.now(), "at_ns") > first_ns);
    }
}

#[test]
fn lines_go_to_the_descriptor_that_was_named() {
    let folder = certificates("control", Kind::P256);
    let mut command = server_command(Protocol::H1, &folder, &["--listen", "127.0.0.1:0", "--control", "2"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut line = String::new();
    let mut errors = std::io::BufReader::new(child.stderr.take().expect("it is piped"));
    std::io::BufRead::read_line(&mut errors, &mut line).expect("text");
    child.kill().expect("it runs");
    let output = child.wait_with_output().expect("it was started");
    assert!(line.starts_with(r#"{"ready":"#), "{line}");
    assert!(output.stdout.is_empty());
}

/// What a program says that does not start.
fn refusal(mut command: std::process::Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn addresses_outside_loopback_are_refused() {
    let folder = certificates("outside", Kind::P256);
    for protocol in Protocol::ALL {
        for address in ["0.0.0.0:0", "192.0.2.1:443", "[2001:db8::1]:443"] {
            let said = refusal(server_command(protocol, &folder, &["--listen", address]));
            assert!(said.contains("not on loopback"), "{said}");
            let asked = client(protocol, address.parse().expect("an address"), &folder, &[]);
            assert!(!asked.status.success() && asked.stdout.is_empty());
            let said = String::from_utf8(asked.stderr).expect("text");
            assert!(said.contains("not on loopback"), "{said}");
        }
    }
}

#[test]
fn what_a_user_gets_wrong_is_said_in_a_sentence() {
    let folder = certificates("wrong", Kind::P256);
    let start = |options: &[&str]| {
        refusal(server_command(Protocol::H3, &folder, &[&["--listen", "127.0.0.1:0"], options].concat()))
    };
    assert!(start(&["--retry", "sometimes"]).contains("above=N"));
    assert!(start(&["--early-data", "--tickets", "0"]).contains("--tickets 1"));
    assert!(start(&["--sites", "/no/such/file"]).contains("/no/such/file"));
    assert!(start(&["--control", "99"]).contains("descriptor 99"));
    let nowhere = Path::new("/no/such/folder");
    assert!(
        refusal(server_command(Protocol::H1, nowhere, &["--listen", "127.0.0.1:0"])).contains("server.key")
    );
    let asked = client(
        Protocol::H1,
        "127.0.0.1:1".parse().expect("an address"),
        &folder,
        &["--rate", "1e9", "--seconds", "1"],
    );
    assert!(String::from_utf8_lossy(&asked.stderr).contains("honest"), "{asked:?}");
}

#[test]
fn what_s2n_quic_does_not_have_is_refused() {
    let folder = certificates("refused", Kind::P256);
    let start = |protocol: Protocol, options: &[&str]| {
        let stack = Stack { protocol, quic_library: QuicLibrary::S2nQuic };
        refusal(server_command(stack, &folder, &[&["--listen", "127.0.0.1:0"], options].concat()))
    };
    assert!(start(Protocol::H1, &[]).contains("--protocol h3"));
    assert!(start(Protocol::H3, &["--early-data"]).contains("no early data"));
    assert!(start(Protocol::H3, &["--tickets", "1"]).contains("no tickets"));
    if cfg!(feature = "weak") {
        let weakness = ["--weakness", "no-idle-timeout"];
        assert!(start(Protocol::H3, &weakness).contains("no bound"));
    }
    let too_long = start(Protocol::H3, &["--idle-timeout-ms", "18446744073709551615"]);
    assert!(too_long.contains("refuses a limit"), "{too_long}");
}

#[cfg(not(feature = "weak"))]
#[test]
fn a_sound_build_has_no_weaknesses() {
    let folder = certificates("sound", Kind::P256);
    let options = ["--listen", "127.0.0.1:0", "--weakness", "no-idle-timeout"];
    let said = refusal(server_command(Protocol::H1, &folder, &options));
    assert!(said.contains("--weakness"), "{said}");
}
