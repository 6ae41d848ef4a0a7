//! Each weakness takes away what its line says: what a sound server ends, this one goes on with.
#![cfg(feature = "weak")]

mod common;
mod controls;

use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use common::attack::LATE_CRYPTO;
use common::wire::{H2_BEGIN, H2_HEADERS, h3_frame, h3_get, h3_post, initial_only};
use common::{Server, number};
use h2::client::SendRequest;
use hyper::Request;
use quinn::VarInt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use web::protocol::Protocol;
use web::tls::SERVER_NAME;

/// Far longer than the time-outs that a server of these tests is started with.
const LONG: Duration = Duration::from_secs(1);

fn weak(name: &str, protocol: Protocol, options: &[&str]) -> Server {
    let server = Server::start(&format!("weak-{name}"), protocol, &[options, &["--weakness", name]].concat());
    assert_eq!(server.ready["weaknesses"], serde_json::json!([name]));
    server
}

async fn still_open(server: &mut Server) {
    tokio::time::sleep(LONG).await;
    let now = server.now();
    assert_eq!(now["connections_open"], 1, "{now}");
    nothing_ended(&now);
}

/// That no limit acted.
fn nothing_ended(now: &Value) {
    assert!(now["refused"].as_object().expect("a map").values().all(|count| count == 0), "{now}");
}

/// A connection over HTTP/2, ready for a request.
async fn over_h2(server: &Server) -> SendRequest<Bytes> {
    let (client, connection) = h2::client::handshake(server.tcp().await).await.expect("it agrees");
    tokio::spawn(async move { drop(connection.await) });
    client.ready().await.expect("it is open")
}

#[tokio::test]
async fn no_handshake_timeout() {
    let options = ["--handshake-timeout-ms", "50"];
    let mut server = weak("no-handshake-timeout", Protocol::H1, &options);
    let _silent = TcpStream::connect(server.address).expect("it listens");
    still_open(&mut server).await;
    let mut server = weak("no-handshake-timeout", Protocol::H3, &options);
    let endpoint = server.endpoint();
    let _deaf = initial_only(&endpoint, server.address).await;
    still_open(&mut server).await;
}

#[tokio::test]
async fn no_header_timeout() {
    let options = ["--header-timeout-ms", "50"];
    let begun = [(Protocol::H1, b"GET / HT".to_vec()), (Protocol::H2, [H2_BEGIN, H2_HEADERS].concat())];
    for (protocol, begun) in begun {
        let mut server = weak("no-header-timeout", protocol, &options);
        let mut stream = server.tcp().await;
        stream.write_all(&begun).await.expect("the server reads");
        still_open(&mut server).await;
    }
    let mut server = weak("no-header-timeout", Protocol::H3, &options);
    let (_endpoint, connection) = server.quic().await;
    let (mut send, _receive) = connection.open_bi().await.expect("there is credit");
    send.write_all(&h3_frame(1, 1000)).await.expect("the connection is open");
    still_open(&mut server).await;
}

#[tokio::test]
async fn no_idle_timeout() {
    let mut server = weak("no-idle-timeout", Protocol::H3, &["--idle-timeout-ms", "50"]);
    let (_endpoint, connection) = server.quic().await;
    let (mut send, mut receive) = connection.open_bi().await.expect("there is credit");
    send.write_all(&h3_get("/", 0)).await.expect("the connection is open");
    receive.read_to_end(10_000).await.expect("an answer");
    still_open(&mut server).await;
}

#[tokio::test]
async fn no_body_timeout() {
    let options = ["--body-timeout-ms", "50"];
    let mut server = weak("no-body-timeout", Protocol::H1, &options);
    let mut stream = server.tcp().await;
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\na")
        .await
        .expect("the server reads");
    still_open(&mut server).await;
    still_open_with_a_request(&mut server);

    let mut server = weak("no-body-timeout", Protocol::H2, &options);
    let mut client = over_h2(&server).await;
    let request = Request::post(format!("https://{SERVER_NAME}/")).body(()).expect("a sound request");
    let (_answer, mut body) = client.send_request(request, false).expect("it is open");
    body.send_data(Bytes::from_static(b"a"), false).expect("it is open");
    still_open(&mut server).await;
    still_open_with_a_request(&mut server);

    let mut server = weak("no-body-timeout", Protocol::H3, &options);
    let (_endpoint, connection) = server.quic().await;
    let (mut send, _receive) = connection.open_bi().await.expect("there is credit");
    // A DATA frame of ten octets, of which one comes.
    let begun = [h3_post("/"), h3_frame(0, 10), b"a".to_vec()].concat();
    send.write_all(&begun).await.expect("the connection is open");
    still_open(&mut server).await;
    still_open_with_a_request(&mut server);
}

#[tokio::test]
async fn unbounded_bodies() {
    let options = ["--idle-timeout-ms", "500", "--body-timeout-ms", "60000"];
    let mut server = weak("unbounded-bodies", Protocol::H1, &options);
    let before = number(&server.now(), "heap_bytes");
    let mut stream = server.tcp().await;
    let head = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n";
    stream.write_all(head).await.expect("the server reads");
    stream.write_all(&vec![b'a'; 5_000_000]).await.expect("the server reads");
    stream.flush().await.expect("the server reads");
    server.until("the body", |now| number(now, "heap_bytes") > before + 4_000_000);
    // Each octet more keeps it open.
    for _ in 0..20 {
        stream.write_all(b"a").await.expect("the server reads");
        stream.flush().await.expect("the server reads");
        tokio::time::sleep(LONG / 20).await;
    }
    still_open_with_a_request(&mut server);
}

fn still_open_with_a_request(server: &mut Server) {
    let now = server.now();
    let counts = ["connections_open", "requests", "requests_answered"].map(|name| number(&now, name));
    assert_eq!(counts, [1, 1, 0], "{now}");
}

#[tokio::test]
async fn unbounded_handshakes_and_connections() {
    let mut server = weak("unbounded-handshakes", Protocol::H1, &["--handshakes-in-flight", "1"]);
    let _held: Vec<_> = (0..5).map(|_| TcpStream::connect(server.address).expect("it listens")).collect();
    server.until("five handshakes", |now| now["handshakes_in_flight"] == 5);
    let mut server = weak("unbounded-connections", Protocol::H1, &["--connections", "1"]);
    let _held: Vec<_> = (0..5).map(|_| TcpStream::connect(server.address).expect("it listens")).collect();
    server.until("five connections", |now| now["connections_open"] == 5);
}

/// Over HTTP/3. Over HTTP/2, where it is an attack's control, `controls::rapid_reset` has it.
#[tokio::test]
async fn unbounded_resets() {
    let mut server = weak("unbounded-resets", Protocol::H3, &[]);
    let (_endpoint, connection) = server.quic().await;
    for _ in 0..1000 {
        let (mut send, _receive) = connection.open_bi().await.expect("there is credit");
        send.write_all(&h3_frame(1, 1000)).await.expect("the connection is open");
        send.reset(VarInt::from_u32(0x10c)).expect("it is open");
    }
    let now = server.now();
    assert_eq!((&now["connections_open"], &now["refused"]["cancelled_requests"]), (&1.into(), &0.into()));
}

#[tokio::test]
async fn unbounded_headers() {
    const OCTETS: usize = 100_000;
    let mut server = weak("unbounded-headers", Protocol::H1, &[]);
    let mut stream = server.tcp().await;
    let head = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "a".repeat(OCTETS));
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    let mut answer = [0; 15];
    stream.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    assert_eq!(server.now()["requests"], 1);

    let mut server = weak("unbounded-headers", Protocol::H2, &[]);
    let mut client = over_h2(&server).await;
    let request = Request::get(format!("https://{SERVER_NAME}/")).header("x", "a".repeat(OCTETS)).body(());
    let (answer, _) = client.send_request(request.expect("a sound request"), true).expect("it is open");
    assert_eq!(answer.await.expect("an answer").status().as_u16(), 200);
    assert_eq!(server.now()["requests"], 1);

    let mut server = weak("unbounded-headers", Protocol::H3, &[]);
    let (_endpoint, connection) = server.quic().await;
    let (mut send, mut receive) = connection.open_bi().await.expect("there is credit");
    send.write_all(&h3_get("/", OCTETS)).await.expect("the connection is open");
    send.finish().expect("it is open");
    // The page, and not a word that the head is too large.
    assert!(receive.read_to_end(10_000).await.expect("an answer").len() > 1000);
    assert_eq!(server.now()["requests"], 1);
}

#[tokio::test]
async fn unbounded_control() {
    let mut server = weak("unbounded-control", Protocol::H3, &[]);
    let before = number(&server.now(), "heap_bytes");
    let (_endpoint, connection) = server.quic().await;
    let mut send = connection.open_uni().await.expect("there is credit");
    send.write_all(&[&[0][..], &h3_frame(4, 100_000_000)].concat()).await.expect("the connection is open");
    send.write_all(&vec![b'a'; 5_000_000]).await.expect("the connection is open");
    server.until("the frame", |now| number(now, "heap_bytes") > before + 4_000_000);
}

#[tokio::test]
async fn unbounded_sending() {
    let mut server = weak("unbounded-sending", Protocol::H3, &[]);
    let before = number(&server.now(), "heap_bytes");
    let (_endpoint, connection) = server.quic().await;
    let (mut send, mut receive) = connection.open_bi().await.expect("there is credit");
    send.write_all(&h3_get("/bytes/50000000", 0)).await.expect("the connection is open");
    send.finish().expect("it is open");
    receive.read_exact(&mut [0; 10]).await.expect("an answer begins");
    server.until("the answer in memory", |now| number(now, "heap_peak_bytes") > before + 10_000_000);
}

#[tokio::test]
async fn unbounded_crypto() {
    let mut server = weak("unbounded-crypto", Protocol::H3, &[]);
    let before = number(&server.now(), "heap_bytes");
    let done = server.attacked(LATE_CRYPTO).await;
    assert_eq!(done["connections_ended"], serde_json::json!({}), "{done}");
    let peak = number(&server.now(), "heap_peak_bytes");
    assert!(peak > before + 2_000_000, "{peak} octets after {before}");
}

#[tokio::test]
async fn repeats_datagrams() {
    let mut server = weak("repeats-datagrams", Protocol::H3, &["--handshake-timeout-ms", "500"]);
    let endpoint = server.endpoint();
    let _deaf = initial_only(&endpoint, server.address).await;
    let now = server.until_refused("handshake_timeout", 1);
    let octets = |name: &str| number(&now, name);
    assert!(octets("bytes_out") >= 4 * octets("bytes_in"), "{now}");
}

#[test]
fn a_weakness_that_there_is_not_is_refused_with_those_that_there_are() {
    let folder = common::certificates("weak-unknown", web::certificates::Kind::P256);
    let options = ["--listen", "127.0.0.1:0", "--weakness", "none"];
    let output =
        common::server_command(Protocol::H1, &folder, &options).output().expect("the program starts");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("no weakness `none`") && said.contains("unbounded-bodies"), "{said}");
}
