//! Each way in which a request can end, in the client's words, over each protocol.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::Arc;

use common::{Asked, Server, Stack, ask, certificates, number};
use quinn::VarInt;
use rustls::{ServerConnection, StreamOwned};
use web::certificates::Kind;
use web::limits::Limits;
use web::protocol::Protocol;
use web::tls::ServerTls;

const LIMIT_MS: &str = "400";

fn ask_within(protocol: Protocol, address: SocketAddr, folder: &Path) -> Asked {
    ask(protocol, address, folder, &["--timeout-ms", LIMIT_MS])
}

/// A port of this machine, and what keeps others from it.
fn silent(protocol: Protocol) -> (SocketAddr, Box<dyn std::any::Any>) {
    if protocol.is_quic() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        (socket.local_addr().expect("it is bound"), Box::new(socket))
    } else {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        (listener.local_addr().expect("it is bound"), Box::new(listener))
    }
}

fn tls(folder: &Path, protocol: Protocol) -> rustls::ServerConfig {
    let (certificate, key) = (folder.join("server.pem"), folder.join("server.key"));
    let tls = ServerTls { certificate: &certificate, key: &key, tickets: 0, early_data: false };
    tls.config(protocol, &Limits::default(), &Arc::default()).expect("a sound configuration")
}

/// A server over TLS that reads a request and sends `answer`.
fn answering(folder: &Path, answer: &'static [u8]) -> SocketAddr {
    let tls = Arc::new(tls(folder, Protocol::H1));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the client comes");
        let tls = ServerConnection::new(tls).expect("a sound configuration");
        let mut stream = StreamOwned::new(tls, stream);
        let mut request = [0; 1000];
        let read = stream.read(&mut request).expect("a request");
        assert!(request[..read].starts_with(b"GET / HTTP/1.1\r\n"));
        stream.write_all(answer).and_then(|()| stream.flush()).expect("the client reads");
    });
    address
}

/// A QUIC server that does something to the first request.
async fn upsetting(
    folder: &Path,
    act: impl Fn(quinn::Connection, quinn::SendStream),
) -> (quinn::Endpoint, Asked) {
    let crypto =
        quinn::crypto::rustls::QuicServerConfig::try_from(tls(folder, Protocol::H3)).expect("TLS 1.3");
    let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let endpoint =
        quinn::Endpoint::server(config, "127.0.0.1:0".parse().expect("an address")).expect("a socket");
    let address = endpoint.local_addr().expect("it is bound");
    let folder = folder.to_owned();
    let asked =
        tokio::task::spawn_blocking(move || ask(Protocol::H3, address, &folder, &["--timeout-ms", "20000"]));
    let connection = endpoint.accept().await.expect("the client comes").await.expect("it agrees");
    let (send, _receive) = connection.accept_bi().await.expect("it asks");
    act(connection, send);
    (endpoint, asked.await.expect("it does not panic"))
}

#[test]
fn a_server_that_says_nothing_is_a_timeout_with_its_line() {
    for protocol in Protocol::ALL {
        let folder = certificates(&format!("silent-{}", protocol.name()), Kind::P256);
        let (address, _port) = silent(protocol);
        let asked = ask_within(protocol, address, &folder);
        assert_eq!(asked.outcome(), "timeout");
        let request = &asked.requests[0];
        let instant = |name: &str| number(request, name);
        assert!(instant("end_ns") - instant("due_ns") >= 400_000_000, "{request}");
        assert!(request["connected_ns"].is_null() && request["first_byte_ns"].is_null(), "{request}");
        assert_eq!(asked.done["outcomes"], serde_json::json!({"timeout": 1}));
    }
}

#[test]
fn a_port_where_nobody_listens_refuses_over_tcp_and_is_silent_over_quic() {
    for (protocol, outcome) in
        [(Protocol::H1, "refused"), (Protocol::H2, "refused"), (Protocol::H3, "timeout")]
    {
        let folder = certificates(&format!("closed-{}", protocol.name()), Kind::P256);
        let (address, port) = silent(protocol);
        drop(port);
        assert_eq!(ask_within(protocol, address, &folder).outcome(), outcome, "{}", protocol.name());
    }
}

#[test]
fn a_server_that_is_full_resets_over_tcp_and_refuses_over_quic() {
    for stack in Stack::ALL {
        let outcome = if stack.protocol.is_quic() { "refused" } else { "reset" };
        let server = Server::start("full", stack, &["--connections", "0"]);
        let asked = server.ask(&["--count", "2", "--interval-ms", "1"]);
        assert_eq!(asked.outcomes(), [outcome; 2], "{}: {:?}", stack.name(), asked.requests);
        let done = server.stop();
        assert_eq!(done["refused"]["connections"], 2);
        assert_eq!(done["handshakes_begun"], 0);
    }
}

#[test]
fn a_connection_that_is_reset_is_a_reset() {
    for protocol in [Protocol::H1, Protocol::H2] {
        let folder = certificates(&format!("reset-{}", protocol.name()), Kind::P256);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = listener.local_addr().expect("it is bound");
        let resetting = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("the client comes");
            socket2::SockRef::from(&stream)
                .set_linger(Some(std::time::Duration::ZERO))
                .expect("an option of TCP");
        });
        assert_eq!(ask_within(protocol, address, &folder).outcome(), "reset");
        resetting.join().expect("it does not panic");
    }
}

#[tokio::test]
async fn an_answer_that_is_reset_is_a_reset() {
    let folder = certificates("stream-reset", Kind::P256);
    let kept = std::sync::Mutex::new(None);
    let (_endpoint, asked) = upsetting(&folder, |connection, mut send| {
        send.reset(VarInt::from_u32(0x10c)).expect("the stream is open");
        *kept.lock().expect("nobody panics") = Some(connection);
    })
    .await;
    assert_eq!(asked.outcome(), "reset", "{:?}", asked.requests);
}

#[tokio::test]
async fn a_connection_that_is_closed_too_early_is_closed() {
    let folder = certificates("quic-closed", Kind::P256);
    let (_endpoint, asked) =
        upsetting(&folder, |connection, _| connection.close(VarInt::from_u32(0x100), b"")).await;
    assert_eq!(asked.outcome(), "closed", "{:?}", asked.requests);
}

#[test]
fn half_an_answer_is_closed() {
    let folder = certificates("half", Kind::P256);
    let address = answering(&folder, b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    let asked = ask_within(Protocol::H1, address, &folder);
    assert_eq!(asked.outcome(), "closed", "{:?}", asked.requests);
    assert!(asked.requests[0]["first_byte_ns"].is_u64());
    assert_eq!(asked.requests[0]["bytes"], 4);
}

#[test]
fn what_is_no_http_is_a_breach_of_protocol() {
    let folder = certificates("no-http", Kind::P256);
    let address = answering(&folder, b"220 mail.gauntlet.test ESMTP\r\n\r\n");
    let asked = ask_within(Protocol::H1, address, &folder);
    assert_eq!(asked.outcome(), "protocol", "{:?}", asked.requests);
}

#[test]
fn a_server_that_another_authority_signed_is_a_failure_of_tls() {
    for stack in Stack::ALL {
        let server = Server::start("foreign", stack, &[]);
        let folder = certificates(&format!("foreign-{}-client", stack.name()), Kind::P256);
        let asked = ask(stack.protocol, server.address, &folder, &[]);
        assert_eq!(asked.outcome(), "tls", "{}: {:?}", stack.name(), asked.requests);
        let mut server = server;
        server.until("the failed handshake", |now| now["handshakes_failed"] == 1);
    }
}

#[test]
fn what_is_not_there_is_a_status() {
    for stack in Stack::ALL {
        let server = Server::start("status", stack, &[]);
        let asked = server.ask(&["--path", "/nothing", "--requests-per-connection", "2"]);
        assert_eq!(asked.outcomes(), ["status"; 2]);
        assert_eq!(asked.requests[0]["status"], 404);
    }
}
