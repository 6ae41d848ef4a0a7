//! Attackers on the server: what each bound that lies in QUIC's library, and is set here, is worth.

mod common;

use common::attack::LATE_CRYPTO;
use common::{Server, number};
use web::protocol::Protocol;

#[tokio::test]
async fn handshake_data_behind_a_hole_ends_the_connection_and_little_of_it_is_kept() {
    let mut server = Server::start("late-crypto", Protocol::H3, &[]);
    let before = number(&server.now(), "heap_bytes");
    let done = server.attacked(LATE_CRYPTO).await;
    // CRYPTO_BUFFER_EXCEEDED (RFC 9000, section 20.1).
    assert!(number(&done["connections_ended"], "closed_0xd") > 0, "{done}");
    let peak = number(&server.now(), "heap_peak_bytes");
    assert!(peak - before < 1 << 20, "{peak} octets after {before}");
}

/// A body of which an octet comes every 100 ms.
const DRIPS: &str = "--variant body-drip --interval-ms 100";

/// As long as a server waits for a body, its requests are held: over each protocol as many.
#[tokio::test]
async fn bodies_in_drops_hold_as_many_connections_over_each_protocol() {
    for protocol in Protocol::ALL {
        let mut server = Server::start("body-drip", protocol, &[]);
        let over = protocol.name();
        let words = format!("slow --protocol {over} --held 10 --rate 100 --seconds 1 {DRIPS}");
        let done = server.attacked(&words).await;
        assert_eq!((number(&done, "held_max"), number(&done, "sent")), (10, 10), "{over}: {done}");
        assert_eq!(number(&server.now(), "requests"), 10, "{over}");
    }
}

#[tokio::test]
async fn of_initials_that_share_a_datagram_one_begins_a_handshake_and_it_has_so_long() {
    let mut server = Server::start("coalesced", Protocol::H3, &["--handshake-timeout-ms", "300"]);
    let done = server.attacked("coalesced-initials --packets 3 --rate 100 --seconds 0.2").await;
    assert_eq!(number(&done, "sent"), 20, "{done}");
    let now = server.until_refused("handshake_timeout", 20);
    assert_eq!((number(&now, "handshakes_begun"), number(&now, "connections_open")), (20, 0), "{now}");
}
