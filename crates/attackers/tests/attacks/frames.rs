//! Frames and streams at a rate, on connections that stay.

use std::time::Duration;

use attackers::http::h2;

use crate::peers::{self, Over, Peer};
use crate::{Log, attack};

/// 60 starts.
const STARTS: &str = "--rate 200 --seconds 0.3";

/// All starts were made at their times, or the server left no room for them.
fn all_made(log: &Log) {
    assert_eq!((log.count("offered"), log.count("sent") + log.ended("blocked")), (60, 60), "{}", log.done);
    assert_eq!(log.ended("ok"), log.count("sent"), "{}", log.done);
}

/// How connections ended.
fn closed(log: &Log, code: &str) -> u64 {
    log.done["connections_ended"][code].as_u64().unwrap_or_default()
}

#[tokio::test]
async fn streams_of_http2_are_opened_and_cancelled() {
    cancelled_over_http2(1).await;
}

#[tokio::test]
async fn a_start_cancels_as_many_requests_as_are_asked_for() {
    cancelled_over_http2(10).await;
}

async fn cancelled_over_http2(requests: u32) {
    let peer = peers::tcp(Over::Ears).await;
    let options = format!("--protocol h2 --connections 2 --requests {requests} {STARTS}");
    let log = attack("rapid-reset", peer.address, &options).await;
    all_made(&log);
    assert_eq!((log.ended("ok"), log.count("held_max")), (60, 2), "{}", log.done);
    peer.settles().await;
    for said in &peer.seen.lock().unwrap().said {
        let mut rest = said.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
        let (mut opened, mut cancelled) = (Vec::new(), Vec::new());
        while let Some((frame, behind)) = h2::first_frame(rest) {
            rest = behind;
            match frame.kind {
                h2::kind::HEADERS => opened.push(frame.stream),
                h2::kind::RST_STREAM => {
                    assert_eq!(frame.payload, [0, 0, 0, 8], "CANCEL");
                    cancelled.push(frame.stream);
                }
                _ => {}
            }
        }
        assert_eq!(opened, (0..30 * requests).map(|number| number * 2 + 1).collect::<Vec<_>>());
        assert_eq!(opened, cancelled);
    }
}

#[tokio::test]
async fn streams_of_http3_are_opened_and_cancelled_within_the_servers_limit() {
    let peer = peers::quic(false, true);
    let log = attack("rapid-reset", peer.address, &format!("--protocol h3 {STARTS}")).await;
    all_made(&log);
    peer.settles().await;
    assert!(log.ended("ok") > 0);
    assert!(peer.frames(|frames| frames.reset_stream) >= log.count("sent"), "{}", log.done);
    assert!(peer.frames(|frames| frames.stop_sending) >= log.count("sent"));
    assert_eq!(peer.count(|seen| seen.requests), 0);
}

/// The answers are short: while more waits than its window takes, quinn holds its close back.
#[tokio::test]
async fn acknowledgements_run_ahead_and_quinn_closes() {
    let peer = peers::quic(false, true);
    let options = "--rate 20 --seconds 0.5 --lead 50 --path /bytes/100";
    let log = attack("optimistic-ack", peer.address, options).await;
    assert!(closed(&log, "closed_0xa") > 0, "PROTOCOL_VIOLATION: {}", log.done);
}

#[tokio::test]
async fn acknowledgements_run_ahead_of_a_long_answer_and_quinn_drops_it() {
    let peer = peers::quic(false, true);
    let log = attack("optimistic-ack", peer.address, "--rate 20 --seconds 2 --lead 50").await;
    let seen = peer.seen.lock().unwrap();
    let noticed: Vec<_> = seen
        .quic
        .iter()
        .filter(|connection| is_ended(connection, quinn::TransportErrorCode::PROTOCOL_VIOLATION))
        .collect();
    assert!(!noticed.is_empty(), "{}", log.done);
    // HTTP/3's first words, and a request before anything was acknowledged ahead.
    assert!(noticed.iter().all(|connection| connection.stats().frame_rx.stream >= 2), "{}", log.done);
    // The run may end before the last of them is known to be gone.
    let told = closed(&log, "closed_0xa") + closed(&log, "reset");
    assert!(told > 0 && told + 1 >= noticed.len() as u64, "{} noticed: {}", noticed.len(), log.done);
}

/// Whether quinn ended the connection by an error, told or not.
fn is_ended(connection: &quinn::Connection, code: quinn::TransportErrorCode) -> bool {
    matches!(
        connection.close_reason(),
        Some(quinn::ConnectionError::TransportError(error)) if error.code == code
    )
}

async fn quinn(kind: &str, options: &str) -> (Peer, Log) {
    let peer = peers::quic(false, true);
    let log = attack(kind, peer.address, &format!("{STARTS} {options}")).await;
    all_made(&log);
    peer.settles().await;
    (peer, log)
}

#[tokio::test]
async fn new_ids_retire_old_ones_and_nothing_is_acknowledged() {
    let (peer, log) = quinn("cid-exhaustion", "--variant stuff").await;
    assert!(peer.frames(|frames| frames.new_connection_id) >= log.count("sent"), "{}", log.done);
    // quinn owes 60 and waits.
    peer.hears_no_acknowledgements();
}

/// Nothing is acknowledged, so what is owed for them waits, and quinn bounds how much.
#[tokio::test]
async fn ids_that_come_late_are_all_owed_back_and_quinn_ends_it() {
    let peer = peers::quic(false, true);
    let options = "--variant late --frames 30 --rate 1000 --seconds 0.5";
    let log = attack("cid-exhaustion", peer.address, options).await;
    peer.settles().await;
    let seen = peer.seen.lock().unwrap();
    let ended = |code| seen.quic.iter().filter(|connection| is_ended(connection, code)).count();
    assert!(ended(quinn::TransportErrorCode::CONNECTION_ID_LIMIT_ERROR) > 0, "{}", log.done);
    // The one that asks for all others back, and a packet of these.
    let issued: u64 = seen.quic.iter().map(|connection| connection.stats().frame_rx.new_connection_id).sum();
    assert!(issued > 30, "{issued}: {}", log.done);
}

#[tokio::test]
async fn a_packet_has_as_many_ids_as_are_asked_for() {
    let (peer, log) = quinn("cid-exhaustion", "--variant stuff --frames 30").await;
    assert!(peer.frames(|frames| frames.new_connection_id) >= 30, "{}", log.done);
    assert!(log.count("sent") <= 60);
}

#[tokio::test]
async fn ids_of_the_server_are_given_back_and_come_again() {
    let (peer, log) = quinn("cid-exhaustion", "--variant retire").await;
    let retired = peer.frames(|frames| frames.retire_connection_id);
    // More than it offers at once.
    assert!(retired > 8 && retired >= log.ended("ok"), "{retired}: {}", log.done);
}

#[tokio::test]
async fn path_challenges_go_out() {
    let (peer, log) = quinn("path-challenge", "").await;
    assert_eq!((peer.frames(|frames| frames.path_challenge), log.ended("ok")), (60, 60), "{}", log.done);
    // Of sixty answers.
    peer.hears_no_acknowledgements();
}

#[tokio::test]
async fn a_packet_has_as_many_path_challenges_as_are_asked_for() {
    let (peer, log) = quinn("path-challenge", "--frames 100").await;
    assert_eq!((peer.frames(|frames| frames.path_challenge), log.ended("ok")), (6000, 60), "{}", log.done);
}

#[tokio::test]
async fn handshake_data_leaves_a_hole_and_quinn_closes() {
    let (peer, log) = quinn("crypto-after-handshake", "").await;
    assert!(closed(&log, "closed_0xd") > 0, "CRYPTO_BUFFER_EXCEEDED: {}", log.done);
    assert!(peer.frames(|frames| frames.crypto) > 10);
}

/// quinn's window of a stream.
const WINDOW_OCTETS: u64 = 1_250_000;

#[tokio::test]
async fn settings_go_on_while_the_server_reads() {
    let peer = peers::quic(false, true);
    let seen = peer.seen.clone();
    let reader = tokio::spawn(async move {
        let connection = loop {
            if let Some(connection) = seen.lock().unwrap().quic.first() {
                break connection.clone();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let mut control = connection.accept_uni().await.unwrap();
        let mut said = Vec::new();
        while let Ok(Some(piece)) = control.read_chunk(1 << 16, true).await {
            said.extend_from_slice(&piece.bytes);
        }
        said
    });
    // Slow enough that the server has read most of it when the connection ends, which loses the rest.
    let log = attack("long-settings", peer.address, "--rate 2000 --seconds 1.2").await;
    let said = reader.await.unwrap();
    assert!(said.starts_with(&[0, 4, 0xc0, 0, 1, 0, 0, 0, 0, 0]), "{:?}", &said[..16]);
    assert!(said.len() as u64 > WINDOW_OCTETS && log.ended("ok") * 1000 > WINDOW_OCTETS, "{}", log.done);
    assert_eq!(log.ended("ok") + log.ended("blocked"), 2400, "{}", log.done);
}

#[tokio::test]
async fn settings_stop_where_nobody_reads() {
    let peer = peers::quic(false, true);
    let log = attack("long-settings", peer.address, "--rate 8000 --seconds 0.3").await;
    // Ten octets of head are in the window too.
    assert_eq!((log.ended("ok"), log.ended("blocked")), (1249, 1151), "{}", log.done);
}

#[tokio::test]
async fn fields_of_http2_expand_by_the_dynamic_table() {
    let peer = peers::tcp(Over::Ears).await;
    let log = attack("header-expansion", peer.address, &format!("--protocol h2 --fields 500 {STARTS}")).await;
    all_made(&log);
    peer.settles().await;
    let seen = peer.seen.lock().unwrap();
    let mut rest = seen.said[0].strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
    let mut requests = Vec::new();
    while let Some((frame, behind)) = h2::first_frame(rest) {
        rest = behind;
        if frame.kind == h2::kind::HEADERS {
            requests.push(frame.payload);
        }
    }
    assert_eq!(requests.len(), 60);
    assert!(requests.iter().all(|fields| fields.ends_with(&[0xbe; 500])));
    // The long field is said once.
    assert!(requests[0].len() > 4500 && requests[1..].iter().all(|fields| fields.len() < 600));
    assert_eq!(log.count("octets_read_per_request"), 500 * 4064);
}

/// hyper's reader of HPACK is not ours.
#[tokio::test]
async fn a_server_reads_expanded_fields() {
    let peer = peers::tcp(Over::Hyper).await;
    let log = attack("header-expansion", peer.address, &format!("--protocol h2 --fields 2 {STARTS}")).await;
    all_made(&log);
    assert_eq!(log.done["connections_ended"].as_object().map(serde_json::Map::len), Some(0), "{}", log.done);
    // Not all sixty: at the end the connection is closed with answers unread, and what the server has not read is gone.
    assert!(peer.count(|seen| seen.requests) > 0, "{}", log.done);
}

#[tokio::test]
async fn fields_of_http3_expand_by_the_static_table() {
    let (peer, log) = quinn("header-expansion", "--protocol h3 --fields 3000").await;
    assert!(peer.count(|seen| seen.requests) > 0, "{}", log.done);
    for said in peer.seen.lock().unwrap().said.iter().filter(|said| said.len() > 3000) {
        assert!(said.ends_with(&[0xc0 | 58; 3000]));
        assert!(said.len() < 3100);
    }
    assert_eq!(log.count("octets_read_per_request"), 3000 * 69);
}

/// While a server is away, starts are blocked, not late.
#[tokio::test]
async fn without_a_server_starts_are_blocked() {
    let listener = std::net::TcpListener::bind(peers::ANY).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let log = attack("rapid-reset", address, &format!("--protocol h2 --timeout-ms 200 {STARTS}")).await;
    assert_eq!((log.ended("blocked"), log.count("sent")), (60, 0), "{}", log.done);
    assert!(closed(&log, "refused") > 0, "{}", log.done);
}
