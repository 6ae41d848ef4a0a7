//! Every reliable preset, messages, and both ends of a connection's life over real UDP on loopback.

mod common;

use std::time::Duration;

use common::{HANGS, PORT, content, pair, server, transfer};
use restp::profile::{AckTiming, Tuning};
use restp::{CloseReason, DatagramPort, Endpoint, Error, Peer, Profile, SendError, SendOptions};
use tokio::time::timeout;

/// Bytes of one transfer: thousands of packets, many trains.
const SIZE_BYTES: usize = 4 << 20;

#[tokio::test]
async fn reliable_presets_move_megabytes_intact() {
    for name in ["file_arq", "file_harq", "web_opt", "satellite_outage", "multipath"] {
        let profile = Profile::preset(name).unwrap();
        let ((_client, outgoing), (_server, incoming)) = pair(&profile).await;
        assert!(outgoing.explain().contains("CLEAR TEXT"), "{name} must say that it is not protected");
        transfer(outgoing, incoming, SIZE_BYTES).await;
    }
}

#[tokio::test]
async fn the_dissertation_variants_move_megabytes_intact() {
    for name in ["file_arq", "file_harq", "web_opt", "satellite_outage", "multipath"] {
        let profile = Profile::preset(name).unwrap().dissertation();
        let ((_client, outgoing), (_server, incoming)) = pair(&profile).await;
        transfer(outgoing, incoming, SIZE_BYTES / 4).await;
    }
}

#[tokio::test]
async fn the_accepting_side_sends_as_well_as_it_receives() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    transfer(incoming, outgoing, SIZE_BYTES).await;
}

// R-SIZE-2
#[tokio::test]
async fn the_search_finds_that_loopback_carries_more_than_the_base() {
    let tuning = Tuning { search_packet_bytes: Some(1472), ..Profile::file_arq().tuning };
    let profile = Profile { tuning, ..Profile::file_arq() };
    let ((_client, outgoing), (_server, incoming)) = pair(&profile).await;
    let found = async {
        while [&outgoing, &incoming].iter().any(|end| end.path_stats()[0].1.packet_bytes < 1472) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(HANGS, found).await.expect("it hangs");
    transfer(outgoing, incoming, SIZE_BYTES / 4).await;
}

#[tokio::test]
async fn a_stream_carries_both_directions_at_once() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    let sent = content(SIZE_BYTES / 2);
    let ends = [outgoing, incoming].map(|connection| {
        let sent = sent.clone();
        async move {
            let (mut read, mut write) = tokio::io::split(connection.into_stream().unwrap());
            let writing = async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            };
            let mut received = Vec::new();
            let ((), count) = tokio::join!(writing, read.read_to_end(&mut received));
            assert_eq!(count.unwrap(), sent.len());
            assert!(received == sent);
        }
    });
    let [one, other] = ends;
    timeout(HANGS, async { tokio::join!(one, other) }).await.expect("it hangs");
}

#[tokio::test]
async fn voice_keeps_message_boundaries_and_order() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::voice()).await;
    let options = SendOptions { lifetime: Some(Duration::from_secs(5)), push: true };
    for index in 0..500_u32 {
        let mut frame = vec![0x55; 160];
        frame[..4].copy_from_slice(&index.to_be_bytes());
        outgoing.send_with(frame, options).await.unwrap();
    }
    outgoing.close();
    let mut last = None;
    let mut count = 0;
    while let Some(message) = timeout(HANGS, incoming.recv()).await.expect("it hangs").unwrap() {
        assert_eq!(message.payload.len(), 160);
        let index = u32::from_be_bytes(message.payload[..4].try_into().unwrap());
        assert!(last < Some(index), "{index} after {last:?}");
        last = Some(index);
        count += 1;
    }
    // Loopback loses nothing while the socket buffer has room for five hundred small packets.
    assert_eq!((count, last), (500, Some(499)));
}

#[tokio::test]
async fn messages_are_taken_in_one_go() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::voice()).await;
    for _ in 0..100 {
        outgoing.send(vec![1; 20]).await.unwrap();
    }
    outgoing.close();
    let mut messages = Vec::new();
    while timeout(HANGS, incoming.recv_many(&mut messages, 64)).await.expect("it hangs").unwrap() > 0 {}
    assert_eq!(messages.len(), 100);
}

#[tokio::test]
async fn a_message_that_does_not_fit_is_refused_in_a_sentence() {
    let ((_client, outgoing), _server) = pair(&Profile::voice()).await;
    let limit = outgoing.max_message_bytes().unwrap();
    outgoing.send(vec![0; limit]).await.unwrap();
    let error = outgoing.send(vec![0; limit + 1]).await.unwrap_err();
    assert!(
        matches!(error, Error::Send(SendError::TooLong { limit_bytes, .. }) if limit_bytes == limit),
        "{error}"
    );
    assert!(matches!(outgoing.into_stream(), Err(Error::WrongService(_))));
}

async fn answer(port: &DatagramPort) {
    let (payload, peer) = port.recv_from().await.unwrap();
    port.send_to(payload, peer).await.unwrap();
}

#[tokio::test]
async fn datagrams_need_no_connection() {
    let one = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let other = Endpoint::bind("0.0.0.0:0").await.unwrap();
    let one_port = one.datagrams(5, Profile::datagram()).unwrap();
    let other_port = other.datagrams(6, Profile::datagram()).unwrap();
    let peer = Peer { addr: one.local_addr(), port: 5 };
    other_port.send_to("hello", peer).await.unwrap();
    answer(&one_port).await;
    let (payload, from) = timeout(HANGS, other_port.recv_from()).await.expect("it hangs").unwrap();
    assert_eq!((&payload[..], from), (&b"hello"[..], peer));
    assert_eq!(one.connections(), 0);
    assert!(matches!(one.datagrams(5, Profile::datagram()), Err(Error::Listen(_))));
    assert!(matches!(one.datagrams(8, Profile::voice()), Err(Error::WrongService(_))));
    assert!(matches!(one.listen(8, Profile::datagram()), Err(Error::WrongService(_))));
    let nothing = one.connect(other.local_addr(), 6, Profile::datagram()).await;
    assert!(matches!(nothing, Err(Error::WrongService(_))), "{nothing:?}");
    assert_eq!(one.connections(), 0);
}

#[tokio::test]
async fn a_peer_without_a_port_is_refused_at_once() {
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let error = client.connect("127.0.0.1:0", PORT, Profile::file_arq()).await.expect_err("nobody is there");
    assert!(error.to_string().starts_with("nothing can be sent to 127.0.0.1:0: "), "{error}");
}

#[tokio::test]
async fn a_connection_that_has_ended_has_counters_and_no_paths() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    outgoing.send(content(1000)).await.unwrap();
    assert_eq!((outgoing.path_stats().len(), incoming.path_stats().len()), (1, 1));
    let (sent, received) = tokio::join!(outgoing.finish(), incoming.finish());
    assert!(sent.is_ok() && received.is_ok(), "{sent:?}, {received:?}");
    assert_eq!((outgoing.path_stats(), incoming.path_stats()), (Vec::new(), Vec::new()));
    assert!(outgoing.stats().packets_sent > 0);
}

#[tokio::test]
async fn nobody_listens_is_told_in_a_sentence() {
    let (_server, _listener, address) = server(&Profile::file_arq()).await;
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let refused = client.connect(address, PORT + 1, Profile::file_arq()).await;
    let error = refused.expect_err("nobody listens there");
    assert!(error.to_string().contains("nobody listens on its inner port 8"), "{error}");
    assert!(error.is_peer());
}

#[tokio::test]
async fn a_service_that_the_listener_lacks_is_refused() {
    let server = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let listener = server.listen_exactly(PORT, Profile::file_arq()).unwrap();
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let strict = Profile { dispensable: Default::default(), ..Profile::file_harq() };
    let error = client.connect(server.local_addr(), PORT, strict).await.expect_err("HARQ is not offered");
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    drop(listener);
}

fn impatient(profile: Profile) -> Profile {
    let tuning = Tuning {
        initial_rto: Duration::from_millis(60),
        min_rto: Duration::from_millis(60),
        max_rto: Duration::from_millis(100),
        max_handshake_tries: 3,
        max_retries: 3,
        ..profile.tuning.clone()
    };
    Profile { tuning, ..profile }
}

#[tokio::test]
async fn a_silent_peer_is_given_up() {
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let profile = impatient(Profile::file_arq());
    let connecting = client.connect(silent.local_addr().unwrap(), PORT, &profile);
    let error = timeout(HANGS, connecting).await.expect("it hangs").expect_err("nobody answers");
    assert_eq!(error.to_string(), "the connection ended: no answer from the peer");
}

#[tokio::test]
async fn a_peer_that_dies_in_mid_connection_is_noticed() {
    let profile = impatient(Profile::file_arq());
    let (server, listener, address) = server(&profile).await;
    let runtime = std::thread::spawn(move || {
        // The client lives in a runtime of its own, which ends without a word to the peer.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
            client.connect(address, PORT, Profile::file_arq()).await.unwrap()
        })
    });
    let incoming = timeout(HANGS, listener.accept()).await.expect("it hangs").unwrap();
    let dead = tokio::task::spawn_blocking(|| runtime.join().unwrap()).await.unwrap();
    incoming.send(vec![1; 100]).await.unwrap();
    let reason = timeout(HANGS, incoming.closed()).await.expect("it hangs").unwrap();
    assert_eq!(reason, CloseReason::TimedOut);
    assert!(matches!(incoming.recv().await, Err(Error::Closed(CloseReason::TimedOut))));
    assert!(matches!(incoming.send("x").await, Err(Error::Closed(CloseReason::TimedOut))));
    assert!(matches!(dead.send("x").await, Err(Error::Stopped(_))));
    drop(server);
}

#[tokio::test]
async fn an_abort_reaches_the_peer() {
    let ((_client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    outgoing.abort();
    assert_eq!(timeout(HANGS, incoming.closed()).await.expect("it hangs").unwrap(), CloseReason::Reset);
    assert_eq!(outgoing.closed().await.unwrap(), CloseReason::Aborted);
}

#[tokio::test]
async fn connections_that_nobody_accepts_are_reset_beyond_a_limit() {
    const BACKLOG: usize = 1024;
    let (server, listener, address) = server(&Profile::file_arq()).await;
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let connect = || async { client.connect(address, PORT, Profile::file_arq()).await.unwrap() };
    let mut waiting = Vec::new();
    for _ in 0..BACKLOG {
        waiting.push(connect().await);
    }
    let beyond = connect().await;
    assert_eq!(timeout(HANGS, beyond.closed()).await.expect("it hangs").unwrap(), CloseReason::Reset);
    assert_eq!(server.connections(), BACKLOG);
    // Who is accepted makes room for another.
    let _first = listener.accept().await.unwrap();
    waiting.push(connect().await);
    for _ in 0..BACKLOG {
        timeout(HANGS, listener.accept()).await.expect("it hangs").unwrap();
    }
}

#[tokio::test]
async fn what_was_sent_arrives_although_all_handles_are_dropped() {
    let ((client, outgoing), (_server, incoming)) = pair(&Profile::file_arq()).await;
    let sent = content(1 << 20);
    for piece in sent.chunks(32 << 10) {
        outgoing.send(piece.to_vec()).await.unwrap();
    }
    drop((outgoing, client));
    let mut received = Vec::new();
    while let Some(piece) = timeout(HANGS, incoming.recv()).await.expect("it hangs").unwrap() {
        received.extend_from_slice(&piece.payload);
    }
    assert!(received == sent);
}

#[tokio::test]
async fn an_endpoint_becomes_idle_and_keeps_the_last_statistics() {
    let ((client, outgoing), (server, incoming)) = pair(&Profile::file_arq()).await;
    outgoing.send("last words").await.unwrap();
    tokio::try_join!(outgoing.finish(), incoming.finish()).unwrap();
    assert!(outgoing.stats().packets_sent > 0);
    assert!(incoming.stats().bytes_received > 10);
    assert!(outgoing.explain().starts_with("Profile file_arq"));
    assert!(outgoing.next_event().await.unwrap().is_none());
    drop((outgoing, incoming));
    timeout(HANGS, async { tokio::try_join!(client.idle(), server.idle()) })
        .await
        .expect("it hangs")
        .unwrap();
    assert_eq!(client.connections() + server.connections(), 0);
}

#[tokio::test]
async fn contradicting_services_are_refused_in_sentences() {
    let endpoint = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let profile = Profile { ack_timing: AckTiming::None, ..Profile::file_arq() };
    let error = endpoint.listen(PORT, profile).expect_err("it must be refused");
    assert!(
        error.to_string().contains("Retransmission reads acknowledgements, but none are sent"),
        "{error}"
    );
}

#[tokio::test]
async fn a_taken_port_says_what_to_do() {
    let endpoint = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let error = Endpoint::bind(endpoint.local_addr()).await.expect_err("it is taken");
    assert!(error.to_string().contains("choose an address of this host and a free port"), "{error}");
    let _first = endpoint.listen(PORT, Profile::voice()).unwrap();
    assert!(endpoint.listen(PORT, Profile::voice()).is_err());
}

#[tokio::test]
async fn ipv6_endpoints_speak_to_both_families() {
    let Ok(server) = Endpoint::bind("[::]:0").await else {
        common::skipped("ipv6_endpoints_speak_to_both_families", "this host has no IPv6");
        return;
    };
    let listener = server.listen(PORT, Profile::file_arq()).unwrap();
    let port = server.local_addr().port();
    let v4 = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(v4.connect(("127.0.0.1", port), PORT, Profile::file_arq()), listener.accept())
            .unwrap();
    transfer(outgoing, incoming, 1 << 20).await;
    let v6 = Endpoint::bind("[::1]:0").await.unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(v6.connect(("::1", port), PORT, Profile::file_arq()), listener.accept()).unwrap();
    transfer(outgoing, incoming, 1 << 20).await;
    let wrong = v4.connect("[::1]:9", PORT, Profile::file_arq()).await;
    assert!(matches!(wrong, Err(Error::NoAddress { family: "IPv4" })));
}

#[tokio::test]
async fn an_endpoint_moves_within_its_family_of_addresses_only() {
    let profile = Profile::file_arq();
    let ((client, outgoing), (_server, incoming)) = pair(&profile).await;
    let before = client.local_addr();
    let error = client.rebind("[::1]:0".parse().unwrap()).expect_err("it is bound to IPv4");
    assert!(error.to_string().contains("stands for no IPv4 address"), "{error}");
    assert_eq!((client.local_addr(), outgoing.local_addr()), (before, before));
    // The same address as IPv6 writes it.
    client.rebind("[::ffff:127.0.0.1]:0".parse().unwrap()).unwrap();
    assert!(client.local_addr().is_ipv4() && client.local_addr() != before);
    assert_eq!(outgoing.local_addr(), client.local_addr());
    transfer(outgoing, incoming, 100_000).await;

    let (_server, listener, address) = common::server(&profile).await;
    for anew in ["127.0.0.1:0", "0.0.0.0:0"] {
        let Ok(both) = Endpoint::bind("[::]:0").await else {
            common::skipped("an_endpoint_moves_within_its_family_of_addresses_only", "this host has no IPv6");
            return;
        };
        let (outgoing, incoming) =
            tokio::try_join!(both.connect(address, PORT, &profile), listener.accept()).unwrap();
        both.rebind(anew.parse().unwrap()).unwrap();
        assert_eq!(outgoing.local_addr().port(), both.local_addr().port());
        transfer(outgoing, incoming, 100_000).await;
    }
}

#[tokio::test]
async fn a_path_from_an_address_of_another_host_is_refused() {
    let server = Endpoint::bind("0.0.0.0:0").await.unwrap();
    let client = Endpoint::bind("0.0.0.0:0").await.unwrap();
    let port = server.local_addr().port();
    let listener = server.listen(PORT, Profile::multipath()).unwrap();
    let (outgoing, _incoming) =
        tokio::try_join!(client.connect(("127.0.0.1", port), PORT, Profile::multipath()), listener.accept())
            .unwrap();
    // An address of documentation (RFC 5737), which nobody has.
    let hers = "192.0.2.7".parse().unwrap();
    let error = outgoing.open_path(hers, outgoing.remote_addr(), false).await.expect_err("it is not ours");
    assert!(error.to_string().contains("192.0.2.7; choose an address of this host"), "{error}");
}
