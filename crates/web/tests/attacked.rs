//! Attackers on the server: what its bounds are worth, those that lie in QUIC's library too.

mod common;

use common::attack::LATE_CRYPTO;
use common::{Server, Stack, number};
use web::protocol::Protocol;
use web::quic_library::QuicLibrary;

#[tokio::test]
async fn of_handshake_data_behind_a_hole_little_is_kept() {
    for stack in Stack::QUIC {
        let mut server = Server::start("late-crypto", stack, &[]);
        let before = number(&server.now(), "heap_bytes");
        let done = server.attacked(LATE_CRYPTO).await;
        let ended = &done["connections_ended"];
        match stack.quic_library {
            // CRYPTO_BUFFER_EXCEEDED (RFC 9000, section 20.1).
            QuicLibrary::Quinn => assert!(number(ended, "closed_0xd") > 0, "{done}"),
            // It has no use for what comes after the handshake, and throws it away.
            QuicLibrary::S2nQuic => assert_eq!(ended, &serde_json::json!({}), "{done}"),
        }
        let peak = number(&server.now(), "heap_peak_bytes");
        assert!(peak - before < 1 << 20, "{peak} octets after {before} over {}", stack.name());
    }
}

/// A body of which an octet comes every 100 ms.
const DRIPS: &str = "--variant body-drip --interval-ms 100";

/// As long as a server waits for a body, its requests are held: over each protocol as many.
#[tokio::test]
async fn bodies_in_drops_hold_as_many_connections_over_each_protocol() {
    for stack in Stack::ALL {
        let mut server = Server::start("body-drip", stack, &[]);
        let over = stack.protocol.name();
        let words = format!("slow --protocol {over} --held 10 --rate 100 --seconds 1 {DRIPS}");
        let done = server.attacked(&words).await;
        assert_eq!((number(&done, "held_max"), number(&done, "sent")), (10, 10), "{over}: {done}");
        assert_eq!(number(&server.now(), "requests"), 10, "{over}");
    }
}

#[tokio::test]
async fn of_initials_that_share_a_datagram_one_begins_a_handshake_and_it_has_so_long() {
    for stack in Stack::QUIC {
        let mut server = Server::start("coalesced", stack, &["--handshake-timeout-ms", "300"]);
        let done = server.attacked("coalesced-initials --packets 3 --rate 100 --seconds 0.2").await;
        assert_eq!(number(&done, "sent"), 20, "{done}");
        let now = server.until_refused("handshake_timeout", 20);
        assert_eq!((number(&now, "handshakes_begun"), number(&now, "connections_open")), (20, 0), "{now}");
    }
}

/// A hundred handshakes that are begun and never ended, all of them held at once where the server lets them be.
const STALLS: &str = "--variant handshake-stall --held 100 --rate 100 --seconds 2";

/// What a handshake takes of memory is taken as often as handshakes may be in flight, however many are begun.
#[tokio::test]
async fn stalled_handshakes_take_the_memory_of_as_many_as_may_be_in_flight() {
    for stack in [Protocol::H2.into(), Stack::QUIC[0], Stack::QUIC[1]] {
        let over = stack.protocol.name();
        let mut grown = [0; 2];
        for (grown, (bound, in_flight)) in grown.iter_mut().zip([("5", 5), ("1000", 100)]) {
            let name = format!("stalls-{bound}");
            let mut server = Server::start(&name, stack, &["--handshakes-in-flight", bound]);
            // What the first connection of all makes stays, whoever comes.
            assert_eq!(server.ask(&[]).outcome(), "ok", "{over}");
            let before = number(&server.now(), "heap_bytes");
            let done = server.attacked(&format!("slow --protocol {over} {STALLS}")).await;
            assert_eq!(number(&done, "held_max"), in_flight, "{over}: {done}");
            let now = server.now();
            assert_eq!(number(&now, "handshakes_in_flight_most"), in_flight, "{over}: {now}");
            *grown = number(&now, "heap_peak_bytes") - before;
        }
        // Twenty times as many: five leaves room for what else goes on.
        let [bounded, free] = grown;
        assert!(5 * bounded < free, "{over}: {bounded} octets with the bound, {free} without");
    }
}
