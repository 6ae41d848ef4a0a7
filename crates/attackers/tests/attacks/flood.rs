//! Handshakes at a rate.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use attackers::quic_wire::packet::{self, Kind};
use attackers::quic_wire::varint::Reader;
use attackers::quic_wire::{ConnectionId, frame, initial};
use rustls::Side;

use crate::attack;
use crate::peers::{self, Over};

/// 20 starts.
const STARTS: &str = "--rate 100 --seconds 0.2";

#[tokio::test]
async fn each_start_is_a_whole_handshake_and_a_request_over_every_protocol() {
    for protocol in ["h1", "h2", "h3"] {
        let peer = if protocol == "h3" { peers::quic(false, true) } else { peers::tcp(Over::Hyper).await };
        let log = attack("flood", peer.address, &format!("--protocol {protocol} {STARTS}")).await;
        assert_eq!(
            (log.count("offered"), log.count("sent"), log.ended("ok")),
            (20, 20, 20),
            "{protocol}: {}",
            log.done
        );
        assert_eq!(
            (peer.count(|seen| seen.shaken), peer.count(|seen| seen.requests)),
            (20, 20),
            "{protocol}"
        );
        // Each answer has 1,000 octets, and each handshake a certificate.
        assert!(log.count("bytes_in") > 20 * 1400, "{protocol}: {}", log.done);
        assert_eq!(log.seconds.iter().map(|second| second["offered"].as_u64().unwrap()).sum::<u64>(), 20);
        let ns = |line: &serde_json::Value, name: &str| line[name].as_u64().unwrap();
        let (first, last) = (&log.seconds[0], log.seconds.last().unwrap());
        assert!(ns(last, "ended_ns") - ns(first, "began_ns") >= 200_000_000, "{last}");
    }
}

#[tokio::test]
async fn without_a_request_only_the_handshake_is_made() {
    for protocol in ["h1", "h2", "h3"] {
        let peer = if protocol == "h3" { peers::quic(false, true) } else { peers::tcp(Over::Ears).await };
        let log =
            attack("flood", peer.address, &format!("--protocol {protocol} --no-request {STARTS}")).await;
        assert_eq!(log.ended("ok"), 20, "{protocol}: {}", log.done);
        peer.reaches(|seen| seen.shaken, 20).await;
        assert_eq!((peer.count(|seen| seen.failed), peer.count(|seen| seen.requests)), (0, 0), "{protocol}");
        let said: usize = peer.count(|seen| seen.said.iter().map(Vec::len).sum());
        assert_eq!(said, 0, "{protocol}");
    }
}

#[tokio::test]
async fn sources_are_taken_in_turn_and_servers_see_them() {
    for protocol in ["h2", "h3"] {
        let peer = if protocol == "h3" { peers::quic(false, true) } else { peers::tcp(Over::Hyper).await };
        let log =
            attack("flood", peer.address, &format!("--protocol {protocol} --sources 10 {STARTS}")).await;
        assert_eq!(log.ended("ok"), 20, "{protocol}: {}", log.done);
        let sources = peer.seen.lock().unwrap().sources.clone();
        assert_eq!(sources.len(), 10, "{protocol}");
        assert!(sources.into_iter().all(attackers::guard::is_loopback));
    }
}

#[tokio::test]
async fn a_retry_is_answered() {
    let peer = peers::quic(true, true);
    let log = attack("flood", peer.address, &format!("--protocol h3 {STARTS}")).await;
    assert_eq!((log.ended("ok"), peer.count(|seen| seen.begun)), (20, 20), "{}", log.done);
}

#[tokio::test]
async fn what_a_network_loses_is_sent_again() {
    let peer = peers::quic(false, true);
    let front = peers::lossy(peer.address, 5).await;
    let options = "--protocol h3 --rate 20 --seconds 0.5 --timeout-ms 30000 --path /bytes/20000";
    let log = attack("flood", front, options).await;
    assert_eq!(log.ended("ok"), 10, "{}", log.done);
}

#[tokio::test]
async fn with_an_authority_servers_are_verified() {
    let (peer, other) = (peers::tcp(Over::Hyper).await, peers::tcp(Over::Hyper).await);
    for (certificate, outcome) in [(&peer.certificate, "ok"), (&other.certificate, "tls")] {
        let file =
            std::env::temp_dir().join(format!("gauntlet-attacker-{}-{outcome}.pem", std::process::id()));
        std::fs::write(&file, certificate).unwrap();
        let log =
            attack("flood", peer.address, &format!("--protocol h1 {STARTS} --ca {}", file.display())).await;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(log.ended(outcome), 20, "{}", log.done);
    }
}

#[tokio::test]
async fn nobody_there_is_refused() {
    let listener = std::net::TcpListener::bind(peers::ANY).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for protocol in ["h1", "h3"] {
        let log = attack("flood", address, &format!("--protocol {protocol} {STARTS}")).await;
        assert_eq!((log.ended("refused"), log.count("failed")), (20, 20), "{protocol}: {}", log.done);
    }
}

/// A server that takes connections and says nothing: each start ends at its time-out, and none is left out. One that
/// waited for the end of another would come after that one's time-out.
#[tokio::test]
async fn starts_do_not_wait_for_answers() {
    const TIMEOUT: Duration = Duration::from_secs(2);
    let silent = std::net::TcpListener::bind(peers::ANY).unwrap();
    let address = silent.local_addr().unwrap();
    // Of a thread of its own, which nothing keeps from looking at the clock.
    let taken = std::thread::spawn(move || {
        let accepted = (0..20).map(|_| (silent.accept().unwrap(), Instant::now()));
        accepted.collect::<Vec<_>>()
    });
    let began = Instant::now();
    let options = format!("--protocol h1 {STARTS} --timeout-ms {}", TIMEOUT.as_millis());
    let log = attack("flood", address, &options).await;
    assert_eq!((log.count("sent"), log.ended("timeout")), (20, 20), "{}", log.done);
    let came: Vec<Instant> = taken.join().unwrap().into_iter().map(|(_, at)| at).collect();
    // One is due each 10 ms.
    let due = |number: u32| Duration::from_millis(10) * number;
    assert!(came.iter().zip(0..).all(|(at, number)| *at >= began + due(number)), "{came:?} from {began:?}");
    assert!(came[19] < came[0] + TIMEOUT, "{came:?}");
}

#[tokio::test]
async fn initials_are_valid_and_from_every_source() {
    let sink = peers::sink().await;
    let options = format!("--protocol h3 --variant initial-only --sources 7 {STARTS}");
    let log = attack("flood", sink.address, &options).await;
    assert_eq!((log.ended("ok"), log.count("bytes_out")), (20, 20 * 1200), "{}", log.done);
    let mut kept = sink.datagrams(20).await;
    assert_eq!(kept.len(), 20);
    let sources: BTreeSet<_> = kept.iter().map(|(from, _)| from.ip()).collect();
    assert_eq!(sources.len(), 7);
    let mut destinations = Vec::<ConnectionId>::new();
    for (_, datagram) in &mut kept {
        let header = packet::parse(datagram, 8).unwrap();
        assert_eq!((header.kind, header.end), (Kind::Initial, 1200));
        assert!(!destinations.contains(&header.destination), "each begins a connection of its own");
        destinations.push(header.destination);
        let keys = initial::keys(&header.destination, Side::Server);
        let revealed = packet::reveal(datagram, header.number_at, &*keys.remote.header, 0).unwrap();
        let (associated, body) = datagram.split_at_mut(revealed.body_at);
        let plain = keys.remote.packet.decrypt_in_place(revealed.number, associated, body).unwrap();
        let hello = frame::read(&mut Reader::new(plain)).unwrap();
        assert!(matches!(hello, frame::Frame::Crypto { offset: 0, data: [1, ..] }), "{hello:?}");
    }
}

/// quinn, which checks what it takes, begins a connection for each, and none gets further.
#[tokio::test]
async fn a_server_takes_initials_and_hears_no_more() {
    let peer = peers::quic(false, true);
    let log = attack("flood", peer.address, &format!("--protocol h3 --variant initial-only {STARTS}")).await;
    peer.reaches(|seen| seen.begun, 20).await;
    assert_eq!((peer.count(|seen| seen.begun), peer.count(|seen| seen.shaken)), (20, 0), "{}", log.done);
    assert_eq!(log.count("bytes_in"), 0);
}

#[tokio::test]
async fn over_tcp_a_client_hello_goes_out_and_nothing_more() {
    let listener = tokio::net::TcpListener::bind(peers::ANY).await.unwrap();
    let address = listener.local_addr().unwrap();
    let taken = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut said = Vec::new();
        let end = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut said).await;
        (said, end.map_err(|error| error.kind()))
    });
    let options = "--protocol h2 --variant initial-only --rate 1 --seconds 0.5 --hold-ms 200";
    let log = attack("flood", address, options).await;
    let (said, end) = taken.await.unwrap();
    // One record of the handshake, as long as it says, with a ClientHello.
    assert_eq!((said[0], said[5]), (22, 1));
    assert_eq!(usize::from(said[3]) * 256 + usize::from(said[4]), said.len() - 5);
    assert_eq!(end, Err(std::io::ErrorKind::ConnectionReset));
    assert_eq!((log.ended("ok"), log.count("held_max"), log.count("bytes_in")), (1, 1, 0), "{}", log.done);
}
