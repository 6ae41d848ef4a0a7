//! Datagrams whose answers are not read, or only counted.

use attackers::quic_wire::packet::{self, Kind};

use crate::attack;
use crate::peers;

/// 20 starts.
const STARTS: &str = "--rate 100 --seconds 0.2";

#[tokio::test]
async fn what_comes_back_is_counted_and_nothing_answered() {
    let peer = peers::quic(false, true);
    let log = attack("amplification", peer.address, &format!("--listen-ms 1500 --sources 3 {STARTS}")).await;
    assert_eq!((log.ended("ok"), log.count("bytes_out")), (20, 20 * 1200), "{}", log.done);
    let (median, most) =
        (log.done["factor_median"].as_f64().unwrap(), log.done["factor_max"].as_f64().unwrap());
    // quinn asks before each datagram whether it has sent three times what it got, so that its last may go beyond.
    assert!(median > 1.0 && median <= most && most < 4.0, "{}", log.done);
    let mean = log.count("bytes_in") as f64 / log.count("bytes_out") as f64;
    assert!(mean > 1.0 && mean < 4.0, "{}", log.done);
    assert_eq!(peer.count(|seen| seen.shaken), 0);
}

#[tokio::test]
async fn a_client_hello_in_a_short_datagram_is_ignored() {
    let peer = peers::quic(false, true);
    let log = attack("amplification", peer.address, &format!("--listen-ms 200 --octets 600 {STARTS}")).await;
    assert_eq!(
        (log.count("bytes_out"), log.count("bytes_in"), log.ended("timeout")),
        (20 * 600, 0, 20),
        "{}",
        log.done
    );
    assert_eq!(log.done["factor_max"], 0.0);
    assert_eq!(peer.count(|seen| seen.begun), 0);
}

#[tokio::test]
async fn initials_of_several_connections_share_a_datagram() {
    let sink = peers::sink().await;
    let log = attack("coalesced-initials", sink.address, &format!("--packets 3 {STARTS}")).await;
    assert_eq!(log.ended("ok"), 20, "{}", log.done);
    let kept = sink.datagrams(20).await;
    assert_eq!(kept.len(), 20);
    for (_, datagram) in &kept {
        assert_eq!(datagram.len(), 1200);
        let mut rest = &datagram[..];
        let mut destinations = Vec::new();
        while let Some(header) = packet::parse(rest, 8) {
            assert_eq!(header.kind, Kind::Initial);
            destinations.push(header.destination);
            rest = &rest[header.end..];
        }
        assert!(rest.is_empty());
        assert_eq!(destinations.len(), 3, "as many as are asked for fit: {destinations:?}");
        assert!(destinations.iter().all(|id| destinations.iter().filter(|other| id == *other).count() == 1));
    }
}

#[tokio::test]
async fn datagrams_without_a_payload_go_out() {
    let sink = peers::sink().await;
    let log = attack("zero-length", sink.address, STARTS).await;
    assert_eq!((log.ended("ok"), log.count("bytes_out")), (20, 0), "{}", log.done);
    let kept = sink.datagrams(20).await;
    assert_eq!(kept.len(), 20);
    assert!(kept.iter().all(|(_, datagram)| datagram.is_empty()));
}
