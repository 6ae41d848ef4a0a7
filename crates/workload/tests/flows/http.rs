//! Pages over HTTP on the loopback interface: every version over every transport, and what is said when it fails.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};
use transports::Context;
use workload::{Exchange, FlowReport, FlowSpec, OK, join_asking_alone, prepare};

use crate::common::{context, flow, reason, run};

const SIZES: [u64; 6] = [17_000, 300, 125_000, 0, 2_500, 800];

fn page(stack: &str, stack_params: &Value, http: &str, connections: Option<u32>) -> FlowSpec {
    page_of(&SIZES, stack, stack_params, http, connections)
}

fn page_of(
    sizes_bytes: &[u64],
    stack: &str,
    stack_params: &Value,
    http: &str,
    connections: Option<u32>,
) -> FlowSpec {
    let objects: Vec<_> = sizes_bytes
        .iter()
        .enumerate()
        .map(|(index, size_bytes)| json!({"object": format!("file {index}"), "size_bytes": size_bytes}))
        .collect();
    let mut params = json!({"http": http, "objects": objects, "size_bytes": sizes_bytes.iter().sum::<u64>()});
    if let Some(connections) = connections {
        params["connections"] = json!(connections);
    }
    flow(stack, stack_params.clone(), "page", params)
}

fn reno() -> Value {
    json!({"congestion_control": "reno"})
}

/// Transports that are there on every host (SCTP is tested in the guest), with the versions of HTTP over them.
fn combinations() -> Vec<(&'static str, Value, &'static str)> {
    let streams = ["1.1-fresh", "1.1", "2"];
    let tcp = streams.map(|http| ("tcp", reno(), http));
    let tls = streams.map(|http| ("tls", reno(), http));
    let quic = ["3", "3-fresh"].map(|http| ("quic-quinn", json!({}), http));
    tcp.into_iter().chain(tls).chain(quic).collect()
}

fn assert_in_order(exchange: &Exchange) {
    let instants =
        [exchange.connected_ns, exchange.secured_ns, exchange.first_byte_ns, exchange.completed_ns];
    let mut last_ns = exchange.requested_ns;
    for instant_ns in instants.into_iter().flatten() {
        assert!(last_ns <= instant_ns, "{exchange:?}");
        last_ns = instant_ns;
    }
}

#[test]
fn every_object_arrives_whole_with_every_version() {
    for (stack, params, http) in combinations() {
        let report = run(&page(stack, &params, http, None), context());
        let what = format!("{stack} {http}");
        assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None), "{what}");
        let total = SIZES.iter().sum::<u64>();
        assert_eq!((report.result.sent_bytes, report.result.received_bytes), (total, total), "{what}");
        assert_eq!((report.result.sent_messages, report.result.received_messages), (6, 6), "{what}");
        assert_eq!(report.exchanges.len(), SIZES.len(), "{what}");
        for (index, exchange) in report.exchanges.iter().enumerate() {
            assert_eq!(exchange.outcome, OK, "{what}");
            assert_eq!((&exchange.object, exchange.size_bytes), (&format!("file {index}"), SIZES[index]));
            assert!(exchange.first_byte_ns.is_some() && exchange.completed_ns.is_some());
            assert_in_order(exchange);
            // The first names the others.
            assert!(
                index == 0 || exchange.requested_ns >= report.exchanges[0].completed_ns.unwrap_or(i64::MAX)
            );
        }
        let opened = report.exchanges.iter().filter(|exchange| exchange.connected_ns.is_some()).count();
        let secured = report.exchanges.iter().filter(|exchange| exchange.secured_ns.is_some()).count();
        if http.ends_with("fresh") {
            for pair in report.exchanges.windows(2) {
                assert!(pair[1].requested_ns >= pair[0].completed_ns.expect("it arrived"), "{what}");
            }
        }
        match http {
            "1.1-fresh" | "3-fresh" => assert_eq!(opened, 6, "{what}"),
            "1.1" => assert!((2..=5).contains(&opened), "{what}: {opened} connections"),
            _ => assert_eq!(opened, 1, "{what}"),
        }
        assert_eq!(secured, if stack == "tls" { opened } else { 0 }, "{what}");
        assert!(report.result.established_s >= report.result.transport_established_s);
        assert_eq!(report.messages().count(), 0, "objects are no messages");
    }
}

/// More than a hundred, the streams that a connection of QUIC may have open at first.
#[test]
fn a_page_of_many_objects_arrives_whole_over_one_connection() {
    let many = [700; 250];
    for (stack, params, http) in [("tls", reno(), "2"), ("quic-quinn", json!({"idle_timeout_s": 1.0}), "3")] {
        let report = run(&page_of(&many, stack, &params, http, None), context());
        assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None), "{stack} {http}");
        assert_eq!(report.exchanges.iter().filter(|exchange| exchange.outcome == OK).count(), many.len());
        assert_eq!(report.exchanges.iter().filter(|exchange| exchange.connected_ns.is_some()).count(), 1);
    }
}

/// A page whose objects name each other, each as (what names it, origin, bytes).
fn graph_page(objects: &[(usize, usize, u64)], stack: &str, stack_params: &Value, http: &str) -> FlowSpec {
    let sizes_bytes: Vec<_> = objects.iter().map(|(.., size_bytes)| *size_bytes).collect();
    let mut spec = page_of(&sizes_bytes, stack, stack_params, http, None);
    for (index, (after, origin, _)) in objects.iter().enumerate() {
        spec.app_params["objects"][index]["after"] = json!(after);
        spec.app_params["objects"][index]["origin"] = json!(origin);
    }
    spec
}

#[test]
fn an_object_is_asked_for_when_the_one_that_names_it_is_there_over_the_connection_of_its_origin() {
    let objects = [(0, 0, 9000), (0, 1, 30_000), (0, 0, 400), (0, 1, 50), (1, 1, 2000), (4, 2, 700)];
    for (stack, params, http) in
        [("tcp", reno(), "2"), ("tls", reno(), "2"), ("quic-quinn", json!({"pad_to_mtu": true}), "3")]
    {
        let report = run(&graph_page(&objects, stack, &params, http), context());
        assert_eq!((report.result.outcome, &report.result.reason), ("ok", &None), "{stack}");
        let row = |index: usize| {
            let name = format!("file {index}");
            report.exchanges.iter().find(|row| row.object == name).expect("every object was asked for")
        };
        for (index, (after, _, size_bytes)) in objects.iter().enumerate().skip(1) {
            assert_eq!((row(index).outcome.as_str(), row(index).size_bytes), (OK, *size_bytes), "{stack}");
            assert!(
                row(index).requested_ns >= row(*after).completed_ns.expect("it is there"),
                "{stack} {index}"
            );
        }
        let opened = (0..objects.len()).filter(|index| row(*index).connected_ns.is_some());
        assert_eq!(opened.collect::<Vec<_>>(), [0, 1, 5], "{stack}: the first of each origin");
    }
}

#[test]
fn graphs_that_cannot_be_loaded_are_refused() {
    let refused = |objects: &[(usize, usize, u64)], http: &str| {
        graph_page(objects, "tcp", &reno(), http).check().err().expect("it is refused").to_string()
    };
    assert!(refused(&[(0, 0, 1), (1, 0, 1)], "2").contains("`after` of object 1 is 1"));
    assert!(refused(&[(1, 0, 1), (0, 0, 1)], "2").contains("`after` of object 0 is 1"));
    assert!(refused(&[(0, 0, 1), (0, 100, 1)], "2").contains("must be below 100"));
    assert!(refused(&[(0, 0, 1), (0, 1, 1)], "1.1").contains("choose \"2\" or \"3\""));
}

#[test]
fn one_connection_is_one_connection() {
    let report = run(&page("tcp", &reno(), "1.1", Some(1)), context());
    let opened: Vec<_> = report.exchanges.iter().map(|exchange| exchange.connected_ns.is_some()).collect();
    assert_eq!(opened, [true, false, false, false, false, false]);
    for pair in report.exchanges.windows(2) {
        assert!(pair[1].requested_ns >= pair[0].completed_ns.expect("it arrived"), "one after the other");
    }
}

#[test]
fn the_receiver_of_a_page_is_its_destination() {
    let ctx = context();
    let (source, destination) = (ctx.source.to_string(), ctx.destination.ip().to_string());
    let report = run(&page("tcp", &reno(), "1.1-fresh", None), ctx);
    assert_eq!(report.result.source, source);
    assert_eq!(report.result.destination, format!("{destination}:0"));
}

#[test]
fn keys_of_every_connection_are_kept_on_request() {
    for (stack, params, http) in [("tls", reno(), "2"), ("quic-quinn", json!({}), "3")] {
        let report = run(&page(stack, &params, http, None), Context { keys: true, ..context() });
        assert!(report.keys.contains("SERVER_TRAFFIC_SECRET_0 "), "{stack}: {}", report.keys);
    }
}

/// A browser whose server is not there, or is another program.
fn browser_alone(spec: &FlowSpec, ctx: Context) -> FlowReport {
    let flow = spec.check().expect("a flow of the tests makes sense");
    let (server, _) = prepare(flow, ctx).expect("descriptors are left");
    let received = server.run_alone();
    join_asking_alone((server, received))
}

#[test]
fn a_server_that_is_not_there_refuses() {
    for (stack, http) in [("tcp", "1.1-fresh"), ("tcp", "2"), ("tls", "1.1")] {
        let report = browser_alone(&page(stack, &reno(), http, None), context());
        assert!(reason(&report).starts_with("refused: nothing listens at"), "{}", reason(&report));
        assert_eq!(report.exchanges.len(), 1, "nobody knows the others without the first");
        assert_eq!(report.exchanges[0].outcome, reason(&report));
        assert_eq!(report.exchanges[0].completed_ns, None);
    }
}

#[test]
fn a_server_that_is_not_there_does_not_answer_over_quic() {
    let report = browser_alone(&page("quic-quinn", &json!({"idle_timeout_s": 0.3}), "3", None), context());
    assert!(reason(&report).starts_with("timed out:"), "{}", reason(&report));
}

/// Answers one request with this, and closes.
fn answers_with(answer: &'static str, ctx: &Context) -> std::thread::JoinHandle<()> {
    let listener = TcpListener::bind(ctx.source).expect("the port was free");
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("the browser comes");
        let mut request = [0; 4096];
        let count = socket.read(&mut request).expect("the browser asks");
        assert!(request[..count].starts_with(b"GET /0/file%200 HTTP/1.1\r\n"));
        socket.write_all(answer.as_bytes()).expect("the browser listens");
    })
}

#[test]
fn a_server_that_is_not_as_it_should_be_is_told_apart() {
    let cases = [
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 17000\r\n\r\n",
            "closed the connection before the answer was whole",
        ),
        ("", "closed the connection before the answer was whole"),
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "404 Not Found instead of 200"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwrong", "arrived altered after 0 bytes"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "ended after 0 of 17000 bytes"),
        ("nonsense\r\n\r\n", "failed"),
    ];
    for (answer, sentence) in cases {
        let ctx = context();
        let server = answers_with(answer, &ctx);
        let report = browser_alone(&page("tcp", &reno(), "1.1-fresh", None), ctx);
        server.join().expect("the server does not panic");
        assert!(reason(&report).contains(sentence), "{answer:?}: {}", reason(&report));
    }
}

#[test]
fn certificates_that_do_not_fit_are_named() {
    for (stack, http) in [("tls", "1.1-fresh"), ("tls", "2"), ("quic-quinn", "3")] {
        let mut params = if stack == "tls" { reno() } else { json!({}) };
        params["fault"] = json!("wrong_ca");
        let report = run(&page(stack, &params, http, None), context());
        assert!(reason(&report).contains("not trusted"), "{}", reason(&report));
    }
}

#[test]
fn a_server_that_never_answers_ends_at_the_limit() {
    let ctx = Context { limit_ns: 300_000_000, ..context() };
    let _listener = TcpListener::bind(ctx.source).expect("the port was free");
    let report = browser_alone(&page("tcp", &reno(), "2", None), ctx);
    assert!(reason(&report).contains("limit of 0.3 s"), "{}", reason(&report));
    assert_eq!(report.exchanges[0].outcome, reason(&report));
}

#[test]
fn versions_and_transports_that_do_not_fit_are_refused() {
    let refused = |stack: &str, params: Value, http: &str| {
        page(stack, &params, http, None).check().err().expect("it is refused").to_string()
    };
    assert!(refused("tcp", reno(), "3").contains("needs QUIC"));
    assert!(refused("quic-quinn", json!({}), "2").contains("needs TCP, SCTP or TLS"));
    assert!(refused("quic-quinn", json!({"datagrams": true}), "3").contains("needs streams"));
    assert!(refused("udp", json!({}), "1.1").contains("`tcp`, `sctp`, `tls` or `quic-quinn`"));
    assert!(refused("tcp", reno(), "4").contains("1.1-fresh"));
    assert!(page("tcp", &reno(), "1.1", Some(7)).check().is_err());
    let mut spec = page("tcp", &reno(), "1.1", None);
    spec.app_params["size_bytes"] = json!(1);
    assert!(spec.check().err().expect("it is refused").to_string().contains("sum of the sizes"));
}
