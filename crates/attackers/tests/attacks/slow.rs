//! The slow family: what a server hears, and that it never hears the end.

use std::time::Duration;

use attackers::http::{h1, h2};

use crate::peers::{self, Over, Peer};
use crate::{Log, attack};

/// Five connections, which speak some ten times.
const HELD: &str = "--held 5 --rate 100 --interval-ms 80";

async fn slow(peer: &Peer, protocol: &str, variant: &str, more: &str) -> Log {
    slow_for(1, peer, protocol, variant, more).await
}

async fn slow_for(seconds: u32, peer: &Peer, protocol: &str, variant: &str, more: &str) -> Log {
    let words = format!("--protocol {protocol} --variant {variant} {HELD} --seconds {seconds} {more}");
    let log = attack("slow", peer.address, &words).await;
    assert_eq!(
        (log.ended("ok"), log.count("held_max"), log.count("failed")),
        (5, 5, 0),
        "{protocol}: {}",
        log.done
    );
    log
}

/// Frames of HTTP/2 that a client said after its preface.
fn frames(said: &[u8]) -> Vec<h2::Frame<'_>> {
    let mut rest = said.strip_prefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
    let mut frames = Vec::new();
    while let Some((frame, behind)) = h2::first_frame(rest) {
        frames.push(frame);
        rest = behind;
    }
    assert!(rest.is_empty());
    frames
}

#[tokio::test]
async fn a_stalled_handshake_is_not_finished() {
    for protocol in ["h1", "h2"] {
        let peer = peers::tcp(Over::Ears).await;
        let log = slow(&peer, protocol, "handshake-stall", "").await;
        peer.reaches(|seen| seen.begun, 5).await;
        assert_eq!((peer.count(|seen| seen.begun), peer.count(|seen| seen.shaken)), (5, 0), "{protocol}");
        // The server's part was read, its certificate with it.
        assert!(log.count("bytes_in") > 5 * 500, "{}", log.done);
    }
    let peer = peers::quic(false, true);
    let log = slow(&peer, "h3", "handshake-stall", "").await;
    assert_eq!((peer.count(|seen| seen.begun), peer.count(|seen| seen.shaken)), (5, 0));
    // Besides the Initials some signs of life went out.
    assert!(log.count("bytes_out") > 5 * 1200 + 5 * 3 * 30, "{}", log.done);
}

#[tokio::test]
async fn the_fields_of_a_request_drip_and_do_not_end() {
    let peer = peers::tcp(Over::Ears).await;
    slow(&peer, "h1", "header-drip", "").await;
    for said in &peer.seen.lock().unwrap().said {
        let text = String::from_utf8(said.clone()).unwrap();
        assert!(
            text.starts_with("GET / HTTP/1.1\r\nHost: server.gauntlet.test\r\nx-0: a\r\nx-1: a\r\n"),
            "{text}"
        );
        assert!(!text.contains("\r\n\r\n"), "{text}");
    }

    let peer = peers::tcp(Over::Ears).await;
    slow(&peer, "h2", "header-drip", "").await;
    for said in &peer.seen.lock().unwrap().said {
        let frames = frames(said);
        let at = frames.iter().position(|frame| frame.kind == h2::kind::HEADERS).expect("HEADERS");
        assert_eq!(frames[at].flags, h2::flag::END_STREAM, "not END_HEADERS");
        let rest = &frames[at + 1..];
        assert!(rest.len() >= 2, "{frames:?}");
        // Only CONTINUATION may follow, or the server would close.
        assert!(
            rest.iter().all(|frame| frame.kind == h2::kind::CONTINUATION && frame.flags == 0),
            "{frames:?}"
        );
    }

    let peer = peers::quic(false, true);
    slow(&peer, "h3", "header-drip", "").await;
    assert_eq!(peer.count(|seen| seen.requests), 0, "no stream ended");
    for said in &peer.seen.lock().unwrap().said {
        assert_eq!(said[..5], [0x01, 0x7e, 0x80, 0, 0], "HEADERS of 16,000 octets");
        assert!(said.windows(8).any(|window| window == b"\x23x-1\x01a\x23x"), "{said:?}");
    }
}

#[tokio::test]
async fn the_body_of_a_request_drips_and_does_not_end() {
    let peer = peers::tcp(Over::Ears).await;
    slow(&peer, "h1", "body-drip", "").await;
    for said in &peer.seen.lock().unwrap().said {
        let body = said
            .strip_prefix(&h1::post("server.gauntlet.test", "/", 16_000)[..])
            .expect("the head of a POST");
        assert!(body.len() >= 2 && body.iter().all(|octet| *octet == b'a'), "{body:?}");
    }

    let peer = peers::tcp(Over::Ears).await;
    slow(&peer, "h2", "body-drip", "").await;
    for said in &peer.seen.lock().unwrap().said {
        let data: Vec<_> = frames(said).into_iter().filter(|frame| frame.kind == h2::kind::DATA).collect();
        assert!(
            data.len() >= 2 && data.iter().all(|frame| frame.flags == 0 && frame.payload == b"a"),
            "{data:?}"
        );
    }

    let peer = peers::quic(false, true);
    slow(&peer, "h3", "body-drip", "").await;
    assert_eq!(peer.count(|seen| seen.requests), 0, "no stream ended");
    for said in &peer.seen.lock().unwrap().said {
        assert!(said.ends_with(b"aa"), "{said:?}");
    }
}

/// Of the server's connections over TCP: which timer of the kernel runs (proc_net_tcp.rst: 1 sends again, 4 asks for a
/// window), and how often it has sent again.
fn timers(port: u16) -> Vec<(u32, u32)> {
    let hex = |text: &str| u32::from_str_radix(text, 16).unwrap();
    std::fs::read_to_string("/proc/net/tcp")
        .unwrap()
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[3] == "01" && fields[1].ends_with(&format!(":{port:04X}")))
        .map(|fields| (hex(fields[5].split(':').next().unwrap()), hex(fields[6])))
        .collect()
}

#[tokio::test]
async fn an_answer_finds_no_room() {
    let peer = peers::tcp(Over::Mouth).await;
    slow(&peer, "h1", "window-starvation", "").await;
    // Of 50 MB that the server has to say, what its own buffers take.
    let written = peer.count(|seen| seen.written);
    assert!(written < 5 * 9_000_000, "{written}");
    assert!(
        peer.seen
            .lock()
            .unwrap()
            .said
            .iter()
            .all(|said| said.starts_with(b"GET /bytes/10000000 HTTP/1.1\r\n"))
    );

    let peer = peers::tcp(Over::Ears).await;
    slow_for(4, &peer, "h2", "window-starvation", "").await;
    for said in &peer.seen.lock().unwrap().said {
        let frames = frames(said);
        assert_eq!((frames[0].kind, frames[0].payload), (h2::kind::SETTINGS, &[0, 4, 0, 0, 0, 0][..]));
        assert!(frames.iter().any(|frame| frame.kind == h2::kind::HEADERS && frame.flags == 5));
        assert!(frames.iter().filter(|frame| frame.kind == h2::kind::PING).count() >= 2);
        assert!(frames.iter().all(|frame| frame.kind != h2::kind::WINDOW_UPDATE));
    }

    let peer = peers::quic(false, true);
    let log = slow_for(4, &peer, "h3", "window-starvation", "").await;
    assert_eq!(peer.count(|seen| seen.requests), 5);
    assert!(log.count("bytes_in") < 100_000, "{}", log.done);
    assert!(peer.frames(|frames| frames.ping) >= 10);
    assert_eq!(peer.frames(|frames| frames.max_stream_data + frames.max_data), 0);
    // At the end connections are closed, as the kernel does over TCP.
    peer.settles().await;
    assert!(peer.seen.lock().unwrap().quic.iter().all(|connection| connection.close_reason().is_some()));
}

#[tokio::test]
async fn an_answer_is_not_acknowledged() {
    for protocol in ["h1", "h2"] {
        let peer = peers::tcp(Over::Mouth).await;
        // The kernel sends again after 200 ms for the first time; a busy machine takes longer to hold all five.
        let sent_again = async {
            let mut timers = Vec::new();
            for _ in 0..45 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                timers = self::timers(peer.address.port());
                if timers.len() == 5 && timers.iter().all(|(_, again)| *again > 0) {
                    break;
                }
            }
            timers
        };
        let (_, timers) = tokio::join!(slow_for(5, &peer, protocol, "ack-withholding", ""), sent_again);
        // It is not that nobody reads: what was sent is sent again.
        assert_eq!(timers.len(), 5, "{protocol}: {timers:?}");
        assert!(timers.iter().all(|(timer, again)| *timer == 1 && *again > 0), "{protocol}: {timers:?}");
        let written = peer.count(|seen| seen.written);
        assert!(written < 5 * 9_000_000, "{protocol}: {written}");
    }
    let peer = peers::quic(false, true);
    slow_for(5, &peer, "h3", "ack-withholding", "").await;
    // The answer was asked for, and pings went out, but what the server has in flight stays there.
    assert_eq!(peer.count(|seen| seen.requests), 5);
    assert!(peer.frames(|frames| frames.ping) >= 10);
    peer.hears_no_acknowledgements();
    for connection in &peer.seen.lock().unwrap().quic {
        let path = connection.stats().path;
        assert!(path.sent_packets < 3000, "all of the answer went out: {path:?}");
    }
}

/// The server may end what is held; it is counted, by how, and replaced.
#[tokio::test]
async fn what_the_server_ends_is_replaced() {
    let listener = tokio::net::TcpListener::bind(peers::ANY).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let log =
        attack("slow", address, "--protocol h1 --variant header-drip --held 2 --rate 50 --seconds 0.5").await;
    assert!(log.count("offered") > 10, "{}", log.done);
    assert_eq!(log.count("failed"), log.count("offered"), "{}", log.done);
}

/// Over QUIC an idle time-out ends a connection without a word, so what answers nothing for two seconds has ended.
#[tokio::test]
async fn what_answers_nothing_is_ended_without_a_word() {
    let words = |variant: &str| {
        format!("--protocol h3 --variant {variant} --held 3 --rate 50 --interval-ms 200 --seconds 6")
    };
    let against = async |variant: &str, silent: bool| {
        let peer = peers::quic(false, true);
        let after = Duration::from_secs(if silent { 2 } else { 60 });
        let front = peers::falls_silent(peer.address, after).await;
        attack("slow", front, &words(variant)).await
    };
    let (stall, header, body, window, acks, answered) = tokio::join!(
        against("handshake-stall", true),
        against("header-drip", true),
        against("body-drip", true),
        against("window-starvation", true),
        against("ack-withholding", true),
        against("handshake-stall", false),
    );
    for log in [stall, header, body, window] {
        assert_eq!((log.ended("silent"), log.ended("ok"), log.count("held_max")), (3, 0, 3), "{}", log.done);
        // Silence begins after two seconds, and two more have to pass; what was said last may be a little older.
        let early: u64 = log.seconds[..3].iter().filter_map(|line| line["failed"].as_u64()).sum();
        assert_eq!(early, 0, "{}", log.done);
        assert!(log.count("offered") > 3, "they are replaced: {}", log.done);
    }
    assert_eq!((acks.ended("ok"), acks.count("failed")), (3, 0), "its silence is the attack: {}", acks.done);
    assert_eq!((answered.ended("ok"), answered.count("failed")), (3, 0), "{}", answered.done);
}

#[tokio::test]
async fn unless_told_otherwise_each_speaks_once_a_second() {
    let peer = peers::tcp(Over::Ears).await;
    attack("slow", peer.address, "--protocol h1 --variant header-drip --held 2 --rate 50 --seconds 2.6")
        .await;
    peer.settles().await;
    for said in &peer.seen.lock().unwrap().said {
        let text = String::from_utf8(said.clone()).unwrap();
        assert!(text.ends_with("\r\nx-0: a\r\nx-1: a\r\n"), "{text}");
    }
}
