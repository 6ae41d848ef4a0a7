//! Each limit of the server holds, over each protocol to which it applies.

mod common;

use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use bytes::Bytes;
use common::wire::{H2_BEGIN, H2_HEADERS, drip, h3_frame, h3_get, h3_post, initial_only};
use common::{Server, Stack, number};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use quinn::VarInt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::client::TlsStream;
use web::protocol::Protocol;
use web::tls::SERVER_NAME;

const TCP: [Protocol; 2] = [Protocol::H1, Protocol::H2];

/// An answer that nobody reads does not fit into what the kernel and both programs keep of it.
const LARGE: &str = "/bytes/100000000";

/// What waits of such an answer in the server's program: far less than the answer.
const WAITING_OCTETS: u64 = 1 << 20;

/// The word for a connection that is turned away.
fn turned_away(protocol: Protocol) -> &'static str {
    if protocol.is_quic() { "refused" } else { "reset" }
}

type H2 = http2::SendRequest<Empty<Bytes>>;

async fn h2(server: &Server) -> (H2, tokio::task::JoinHandle<()>) {
    let builder = http2::Builder::new(TokioExecutor::new());
    let (sender, connection) = builder.handshake(TokioIo::new(server.tcp().await)).await.expect("it agrees");
    (sender, tokio::spawn(async move { drop(connection.await) }))
}

fn get(path: &str) -> Request<Empty<Bytes>> {
    Request::get(format!("https://{SERVER_NAME}{path}")).body(Empty::new()).expect("a sound request")
}

/// Asks for a path on a stream of its own.
async fn h3_ask(connection: &quinn::Connection, head: &[u8]) -> (quinn::SendStream, quinn::RecvStream) {
    let (mut send, receive) = connection.open_bi().await.expect("there is credit");
    send.write_all(head).await.expect("the connection is open");
    (send, receive)
}

#[test]
fn a_tcp_client_that_says_nothing_has_so_long_for_its_handshake() {
    for protocol in TCP {
        let mut server = Server::start("handshake-time", protocol, &["--handshake-timeout-ms", "100"]);
        let mut stream = TcpStream::connect(server.address).expect("it listens");
        assert_eq!(stream.read(&mut [0; 10]).expect("the server closes it"), 0);
        let now = server.until_refused("handshake_timeout", 1);
        assert_eq!((&now["handshakes_failed"], &now["connections_open"]), (&1.into(), &0.into()));
    }
}

#[tokio::test]
async fn a_quic_client_that_goes_away_has_so_long_and_is_sent_little() {
    for stack in Stack::QUIC {
        let mut server = Server::start("handshake-time", stack, &["--handshake-timeout-ms", "4000"]);
        let endpoint = server.endpoint();
        let _deaf = initial_only(&endpoint, server.address).await;
        let now = server.until_refused("handshake_timeout", 1);
        assert_eq!((&now["handshakes_failed"], &now["connections_open"]), (&1.into(), &0.into()));
        // The libraries let the datagram with which they reach the three times be whole.
        let octets = |name: &str| number(&now, name);
        assert!(
            octets("bytes_out") > octets("bytes_in") && octets("bytes_out") < 4 * octets("bytes_in"),
            "{now}"
        );
        // The only datagram belonged to a connection.
        assert_eq!((octets("datagrams_received"), octets("datagrams_dropped_stateless")), (1, 0));
    }
}

#[tokio::test]
async fn a_head_that_drips_has_so_long() {
    let options = ["--header-timeout-ms", "300", "--idle-timeout-ms", "60000"];
    for (protocol, begin) in [
        (Protocol::H1, b"GET / HTTP/1.1\r\nhost: a\r\nx: ".to_vec()),
        (Protocol::H2, [H2_BEGIN, H2_HEADERS].concat()),
    ] {
        let mut server = Server::start("header-time", protocol, &options);
        let mut stream = server.tcp().await;
        stream.write_all(&begin).await.expect("the server reads");
        drip(stream).await;
        assert_eq!(server.until_refused("header_timeout", 1)["requests"], 0);
    }
}

#[tokio::test]
async fn one_head_that_drips_has_so_long_while_others_are_answered() {
    let options = ["--header-timeout-ms", "300", "--idle-timeout-ms", "60000"];
    for stack in Stack::QUIC {
        let mut server = Server::start("header-time", stack, &options);
        let (_endpoint, connection) = server.quic().await;
        let (mut send, mut receive) = h3_ask(&connection, &h3_get("/", 0)).await;
        send.finish().expect("it is open");
        assert!(receive.read_to_end(10_000).await.expect("an answer").len() > 1000);
        let (send, receive) = h3_ask(&connection, &h3_frame(1, 1000)).await;
        drip(tokio::io::join(receive, send)).await;
        connection.closed().await;
        assert_eq!(server.until_refused("header_timeout", 1)["requests"], 1);
    }
}

#[tokio::test]
async fn a_connection_without_requests_has_so_long() {
    let options = ["--header-timeout-ms", "60000", "--idle-timeout-ms", "200"];
    let mut server = Server::start("idle", Protocol::H1, &options);
    let mut stream = server.tcp().await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("the server reads");
    // The end, without TLS's farewell, is an error.
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
    assert_eq!(server.until_refused("idle_timeout", 1)["requests_answered"], 1);

    let mut server = Server::start("idle", Protocol::H2, &options);
    let (mut sender, driver) = h2(&server).await;
    sender.send_request(get("/")).await.expect("an answer").into_body().collect().await.expect("all of it");
    driver.await.expect("it does not panic");
    assert_eq!(server.until_refused("idle_timeout", 1)["requests_answered"], 1);

    for stack in Stack::QUIC {
        let mut server = Server::start("idle", stack, &options);
        let (_endpoint, connection) = server.quic().await;
        let (mut send, mut receive) = h3_ask(&connection, &h3_get("/", 0)).await;
        send.finish().expect("it is open");
        receive.read_to_end(10_000).await.expect("an answer");
        // The server closes it with H3_NO_ERROR (RFC 9114, section 8.1).
        let quinn::ConnectionError::ApplicationClosed(close) = connection.closed().await else {
            panic!("{:?}", connection.close_reason());
        };
        assert_eq!(close.error_code, VarInt::from_u32(0x100));
        assert_eq!(server.until_refused("idle_timeout", 1)["requests_answered"], 1);
    }
}

#[tokio::test]
async fn an_answer_that_nobody_takes_has_so_long_and_little_of_it_waits() {
    let options = ["--idle-timeout-ms", "1500"];
    for stack in Stack::ALL {
        let mut server = Server::start("starved", stack, &options);
        let before = number(&server.now(), "heap_bytes");
        let held: Box<dyn std::any::Any> = match stack.protocol {
            Protocol::H1 => {
                let mut stream = server.tcp().await;
                let head = format!("GET {LARGE} HTTP/1.1\r\nhost: a\r\n\r\n");
                stream.write_all(head.as_bytes()).await.expect("the server reads");
                Box::new(stream)
            }
            Protocol::H2 => {
                let (mut sender, driver) = h2(&server).await;
                Box::new((sender.send_request(get(LARGE)).await.expect("an answer"), sender, driver))
            }
            Protocol::H3 => {
                let (endpoint, connection) = server.quic().await;
                let (send, mut receive) = h3_ask(&connection, &h3_get(LARGE, 0)).await;
                // While this test waits for the server, its client does not run: nothing is acknowledged.
                receive.read_exact(&mut [0; 10]).await.expect("an answer begins");
                Box::new((send, receive, connection, endpoint))
            }
        };
        server.until("the request", |now| now["requests"] == 1);
        let waiting = number(&server.now(), "heap_bytes").saturating_sub(before);
        assert!(waiting < WAITING_OCTETS, "{waiting} octets wait over {}", stack.name());
        let now = server.until_refused("idle_timeout", 1);
        assert_eq!((&now["requests_cancelled"], &now["connections_open"]), (&1.into(), &0.into()));
        let peak = number(&now, "heap_peak_bytes");
        assert!(peak - before < WAITING_OCTETS, "{peak} octets over {}", stack.name());
        // After a FIN the kernel would go on sending what it has.
        if let Ok(mut stream) = held.downcast::<TlsStream<tokio::net::TcpStream>>() {
            let end = stream.read_to_end(&mut Vec::new()).await.expect_err("the answer is cut off");
            assert_eq!(end.kind(), ErrorKind::ConnectionReset);
        }
    }
}

#[tokio::test]
async fn so_many_requests_of_a_connection_may_be_open() {
    let server = Server::start("streams", Protocol::H2, &["--streams", "2"]);
    let builder = http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) =
        builder.handshake(TokioIo::new(server.tcp().await)).await.expect("it agrees");
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        answer = sender.send_request(get("/")) => drop(answer.expect("an answer")),
        ended = &mut connection => panic!("{ended:?}"),
    }
    assert_eq!(connection.current_max_send_streams(), 2);

    for stack in Stack::QUIC {
        let server = Server::start("streams", stack, &["--streams", "2"]);
        let (_endpoint, connection) = server.quic().await;
        let _first = connection.open_bi().await.expect("there is credit");
        let _second = connection.open_bi().await.expect("there is credit");
        let third = connection.open_bi();
        tokio::select! {
            biased;
            _ = third => panic!("there is credit for a third"),
            () = std::future::ready(()) => {}
        }
    }
}

#[tokio::test]
async fn so_many_connections_may_be_open() {
    for stack in Stack::ALL {
        let mut server = Server::start("connections", stack, &["--connections", "1"]);
        let held: Box<dyn std::any::Any> = if stack.protocol.is_quic() {
            Box::new(server.quic().await)
        } else {
            Box::new(server.tcp().await)
        };
        server.until("the first connection", |now| now["handshakes_completed"] == 1);
        assert_eq!(server.ask(&[]).outcome(), turned_away(stack.protocol));
        drop(held);
        tokio::task::yield_now().await;
        let endpoints_end = std::time::Duration::from_millis(50);
        tokio::time::sleep(endpoints_end).await;
        server.until("the end of the first connection", |now| now["connections_open"] == 0);
        assert_eq!(server.ask(&[]).outcome(), "ok");
        let done = server.stop();
        assert_eq!((&done["refused"]["connections"], &done["connections_most"]), (&1.into(), &1.into()));
    }
}

#[tokio::test]
async fn so_many_handshakes_may_be_in_flight() {
    for stack in Stack::ALL {
        let mut server = Server::start("in-flight", stack, &["--handshakes-in-flight", "1"]);
        let endpoint = server.endpoint();
        let _held: Box<dyn std::any::Any> = if stack.protocol.is_quic() {
            Box::new(initial_only(&endpoint, server.address).await)
        } else {
            Box::new(TcpStream::connect(server.address).expect("it listens"))
        };
        server.until("the handshake", |now| now["handshakes_in_flight"] == 1);
        assert_eq!(server.ask(&[]).outcome(), turned_away(stack.protocol));
        let done = server.stop();
        assert_eq!(done["refused"]["handshakes_in_flight"], 1);
        assert_eq!((&done["handshakes_begun"], &done["handshakes_in_flight_most"]), (&1.into(), &1.into()));
    }
}

#[tokio::test]
async fn with_retry_nothing_is_kept_of_clients_that_do_not_answer() {
    let rules = [("off", 5), ("always", 0)];
    for (stack, (retry, kept)) in Stack::QUIC.into_iter().flat_map(|stack| rules.map(|rule| (stack, rule))) {
        let mut server = Server::start("retry-helps", stack, &["--retry", retry]);
        let endpoint = server.endpoint();
        let mut deaf = Vec::new();
        for _ in 0..5 {
            deaf.push(initial_only(&endpoint, server.address).await);
        }
        let now = server.until("five first flights", |now| {
            now["handshakes_in_flight"] == kept && now["retries_sent"] == 5 - kept
        });
        let octets = |name: &str| number(&now, name);
        assert_eq!(octets("bytes_out") < octets("bytes_in"), kept == 0, "{now}");
    }
}

/// First flights of clients that never answer take all places that there are, but none where a Retry comes first.
#[tokio::test]
async fn with_retry_honest_clients_find_a_place() {
    const PLACES: usize = 5;
    let rules = [("off", turned_away(Protocol::H3)), ("always", "ok")];
    for (stack, (retry, outcome)) in Stack::QUIC.into_iter().flat_map(|stack| rules.map(|rule| (stack, rule)))
    {
        let options = ["--retry", retry, "--handshakes-in-flight", &PLACES.to_string()];
        let mut server = Server::start("retry-leaves-room", stack, &options);
        let endpoint = server.endpoint();
        let mut deaf = Vec::new();
        for _ in 0..PLACES {
            deaf.push(initial_only(&endpoint, server.address).await);
        }
        server.until("the first flights", |now| {
            number(now, "handshakes_in_flight") + number(now, "retries_sent") == PLACES as u64
        });
        assert_eq!(server.ask(&[]).outcome(), outcome, "retry {retry}");
    }
}

#[tokio::test]
async fn retry_begins_above_its_number_of_handshakes_in_flight() {
    for stack in Stack::QUIC {
        let mut server = Server::start("retry-above", stack, &["--retry", "above=0"]);
        assert_eq!(server.ask(&[]).outcome(), "ok");
        assert_eq!(server.now()["retries_sent"], 0);
        let endpoint = server.endpoint();
        let _held = initial_only(&endpoint, server.address).await;
        server.until("the handshake", |now| now["handshakes_in_flight"] == 1);
        assert_eq!(server.ask(&[]).outcome(), "ok");
        assert_eq!(server.now()["retries_sent"], 1);
    }
}

/// A client that has shown its address is let in by the same bounds, however it is turned away.
#[tokio::test]
async fn after_a_retry_the_bounds_hold_too() {
    for (stack, outcome) in Stack::QUIC.into_iter().zip([turned_away(Protocol::H3), "timeout"]) {
        let mut server = Server::start("retry-full", stack, &["--retry", "always", "--connections", "0"]);
        assert_eq!(server.ask(&["--timeout-ms", "1000"]).outcome(), outcome, "{}", stack.name());
        let now = server.until_refused("connections", 1);
        assert_eq!((&now["retries_sent"], &now["handshakes_begun"]), (&1.into(), &0.into()), "{now}");
    }
}

/// What is none of a client's first packets begins nothing that lasts, and takes nobody's place.
#[tokio::test]
async fn a_first_packet_that_cannot_be_read_leaves_nothing_behind() {
    for stack in Stack::QUIC {
        let mut server = Server::start("unreadable", stack, &["--handshakes-in-flight", "1"]);
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        // A long header with the type Initial, version 1, ids of 8 octets, no token, and a length of two octets (RFC
        // 9000, section 17.2.2); what follows is protected by no key.
        let mut first = [&[0xc0, 0, 0, 0, 1, 8][..], &[7; 8], &[8], &[9; 8], &[0, 0x44, 0x92]].concat();
        first.resize(1200, 0);
        socket.send_to(&first, server.address).await.expect("loopback takes it");
        let now = server.until("the packet", |now| now["datagrams_received"] == 1);
        assert_eq!((&now["handshakes_in_flight"], &now["connections_open"]), (&0.into(), &0.into()), "{now}");
        assert_eq!(server.ask(&[]).outcome(), "ok", "{}", stack.name());
    }
}

#[tokio::test]
async fn a_client_that_gives_up_its_requests_is_sent_away() {
    let mut server = Server::start("cancelled", Protocol::H2, &[]);
    let (client, connection) = h2::client::handshake(server.tcp().await).await.expect("it agrees");
    tokio::spawn(async move { drop(connection.await) });
    let mut given_up = 0;
    let mut client = client;
    while given_up < 1000 {
        let Ok(ready) = client.ready().await else { break };
        client = ready;
        let request =
            Request::get(format!("https://{SERVER_NAME}{LARGE}")).body(()).expect("a sound request");
        let Ok((answer, mut stream)) = client.send_request(request, true) else { break };
        if answer.await.is_err() {
            break;
        }
        stream.send_reset(h2::Reason::CANCEL);
        given_up += 1;
    }
    assert!((201..300).contains(&given_up), "{given_up}");
    assert_eq!(server.until_refused("cancelled_requests", 1)["connections_open"], 0);

    for stack in Stack::QUIC {
        let mut server = Server::start("cancelled", stack, &[]);
        let (_endpoint, connection) = server.quic().await;
        let mut given_up = 0;
        while given_up < 1000 {
            let Ok((mut send, _receive)) = connection.open_bi().await else { break };
            if send.write_all(&h3_frame(1, 1000)).await.is_err()
                || send.reset(VarInt::from_u32(0x10c)).is_err()
            {
                break;
            }
            given_up += 1;
        }
        assert!((201..1000).contains(&given_up), "{given_up} over {}", stack.name());
        let now = server.until_refused("cancelled_requests", 1);
        assert_eq!((&now["connections_open"], &now["requests"]), (&0.into(), &0.into()));
    }
}

#[tokio::test]
async fn a_head_may_be_so_large() {
    let field = "a".repeat(20_000);
    let mut server = Server::start("header-size", Protocol::H1, &[]);
    let mut stream = server.tcp().await;
    let head = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {field}\r\n\r\n");
    drop(stream.write_all(head.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    assert!(answer.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answer));
    assert_eq!(server.now()["requests"], 0);

    let mut server = Server::start("header-size", Protocol::H2, &[]);
    let (mut sender, _driver) = h2(&server).await;
    let mut request = get("/");
    request.headers_mut().insert("x", field.parse().expect("a header value"));
    let status = sender.send_request(request).await.map(|answer| answer.status().as_u16());
    assert!(status.as_ref().map_or(true, |status| *status == 431), "{status:?}");
    assert_eq!(server.now()["requests"], 0);

    for stack in Stack::QUIC {
        let mut server = Server::start("header-size", stack, &[]);
        let (_endpoint, connection) = server.quic().await;
        // So near to the bound that the frame fits into what a stream may carry, and its fields do not.
        let (mut send, mut receive) = h3_ask(&connection, &h3_get("/", (16 << 10) - 100)).await;
        send.finish().expect("it is open");
        let answer = receive.read_to_end(10_000).await.expect("an answer");
        assert!(answer.len() < 100, "{answer:?}");
        assert_eq!(server.now()["requests"], 0);
    }
}

#[tokio::test]
async fn what_comes_over_a_stream_of_http_3_is_little_whatever_length_was_stated() {
    /// A field section, and SETTINGS on a control stream.
    const FRAMES: [(bool, u8); 2] = [(true, 1), (false, 4)];
    for (stack, (is_request, kind)) in Stack::QUIC.into_iter().flat_map(|stack| FRAMES.map(|it| (stack, it)))
    {
        let mut server = Server::start("stated", stack, &[]);
        let before = number(&server.now(), "heap_bytes");
        let (_endpoint, connection) = server.quic().await;
        let mut send = if is_request {
            connection.open_bi().await.expect("there is credit").0
        } else {
            let mut send = connection.open_uni().await.expect("there is credit");
            send.write_all(&[0]).await.expect("the connection is open");
            send
        };
        send.write_all(&h3_frame(kind, 100_000_000)).await.expect("the connection is open");
        let piece = [b'a'; 10_000];
        let mut sent = 0;
        while sent < 10_000_000 && send.write_all(&piece).await.is_ok() {
            sent += piece.len();
        }
        assert!(sent < 1_000_000, "{sent} octets were taken");
        connection.closed().await;
        let now = server.until("the end of the connection", |now| now["connections_open"] == 0);
        assert!(number(&now, "heap_peak_bytes") - before < WAITING_OCTETS);
    }
}

#[tokio::test]
async fn what_a_get_brings_is_not_read() {
    for protocol in TCP {
        let server = Server::start("body", protocol, &[]);
        let mut stream = server.tcp().await;
        if protocol == Protocol::H1 {
            let head = b"GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n";
            stream.write_all(head).await.expect("the server reads");
            let mut answer = [0; 15];
            stream.read_exact(&mut answer).await.expect("an answer");
            assert_eq!(&answer, b"HTTP/1.1 200 OK");
        } else {
            let (client, connection) = h2::client::handshake(stream).await.expect("it agrees");
            tokio::spawn(async move { drop(connection.await) });
            let mut client = client.ready().await.expect("it is open");
            let request = Request::get(format!("https://{SERVER_NAME}/")).body(()).expect("a sound request");
            let (answer, _body) = client.send_request(request, false).expect("it is open");
            assert_eq!(answer.await.expect("an answer").status().as_u16(), 200);
        }
    }
    for stack in Stack::QUIC {
        let server = Server::start("body", stack, &[]);
        let (_endpoint, connection) = server.quic().await;
        let (_unfinished, mut receive) = h3_ask(&connection, &h3_get("/", 0)).await;
        assert!(receive.read_to_end(10_000).await.expect("an answer").len() > 1000);
    }
}

/// The words of a POST over HTTP/1.1 that says it has so many octets.
fn h1_post(octets: u32) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {octets}\r\n\r\n").into_bytes()
}

#[tokio::test]
async fn a_post_is_answered_when_its_body_is_whole() {
    let mut server = Server::start("post", Protocol::H1, &[]);
    let mut stream = server.tcp().await;
    stream.write_all(&[&h1_post(2)[..], b"a"].concat()).await.expect("the server reads");
    server.until("the head", |now| now["requests"] == 1);
    assert_eq!(server.now()["requests_answered"], 0);
    stream.write_all(b"b").await.expect("the server reads");
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    server.until("the answer", |now| now["requests_answered"] == 1);

    for stack in Stack::QUIC {
        let mut server = Server::start("post", stack, &[]);
        let (_endpoint, connection) = server.quic().await;
        // A DATA frame of two octets (RFC 9114, section 7.2.1), of which one comes.
        let begun = [h3_post("/"), h3_frame(0, 2), b"a".to_vec()].concat();
        let (mut send, mut receive) = h3_ask(&connection, &begun).await;
        // The client runs only while this waits for it.
        while number(&server.now(), "requests") == 0 {
            assert!(connection.close_reason().is_none(), "the head did not come");
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(server.now()["requests_answered"], 0);
        send.write_all(b"b").await.expect("the connection is open");
        send.finish().expect("it is open");
        assert!(receive.read_to_end(10_000).await.expect("an answer").len() > 1000);
        server.until("the answer", |now| now["requests_answered"] == 1);
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_by_its_head_is_refused_at_once() {
    let server = Server::start("long-body", Protocol::H1, &[]);
    let mut stream = server.tcp().await;
    stream.write_all(&h1_post(1 << 20)).await.expect("the server reads");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_body_that_is_too_long_without_saying_so_is_refused_over_http2() {
    let server = Server::start("long-body", Protocol::H2, &[]);
    let (client, connection) = h2::client::handshake(server.tcp().await).await.expect("it agrees");
    tokio::spawn(async move { drop(connection.await) });
    let mut client = client.ready().await.expect("it is open");
    let request = Request::post(format!("https://{SERVER_NAME}/")).body(()).expect("a sound request");
    let (answer, mut body) = client.send_request(request, false).expect("it is open");
    body.send_data(Bytes::from(vec![0; 20_000]), false).expect("it is open");
    assert_eq!(answer.await.expect("an answer").status().as_u16(), 413);
}

/// A body of which an octet comes every 20 ms.
const DRIPS: &str = "--variant body-drip --interval-ms 20";

/// Each is as slow as it may be and is in its request, so that only the time for bodies is left to end it.
#[tokio::test]
async fn bodies_in_drops_have_so_long_over_each_protocol() {
    for stack in Stack::ALL {
        let mut server = Server::start("body-time", stack, &["--body-timeout-ms", "300"]);
        let over = stack.protocol.name();
        let words = format!("slow --protocol {over} --held 5 --rate 50 --seconds 1 {DRIPS}");
        let done = server.attacked(&words).await;
        assert!(done["sent"].as_u64().expect("a number") > 10, "{done}");
        let now = server.until("their ends", |now| now["connections_open"] == 0);
        assert!(now["refused"]["body_timeout"].as_u64().expect("a number") >= 5, "{now}");
    }
}
