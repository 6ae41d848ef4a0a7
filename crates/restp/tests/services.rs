//! Services that need more than one round: early data, protection, several paths, offload, the event log, raw IP.

mod common;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use common::{HANGS, PORT, pair, transfer};
use restp::profile::{Paths, Protection, Scheduler};
use restp::protected::{Aead, Keys, Peers, PrivateKey};
use restp::{CloseReason, Connection, Dial, Endpoint, EndpointConfig, Error, EventKind, PathId, Profile};
use tokio::time::timeout;

#[tokio::test]
async fn with_a_cookie_the_request_travels_with_the_handshake() {
    let (_server, listener, address) = common::server(&Profile::web_opt()).await;
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let mut early = Vec::new();
    for _ in 0..2 {
        let outgoing = client.connect_early(address, PORT, Profile::web_opt()).await.unwrap();
        outgoing.send("GET /").await.unwrap();
        let incoming = timeout(HANGS, listener.accept()).await.expect("it hangs").unwrap();
        let request = timeout(HANGS, incoming.recv()).await.expect("it hangs").unwrap().unwrap();
        assert_eq!(request.payload, "GET /");
        early.push(request.early);
        incoming.send("200 OK").await.unwrap();
        assert_eq!(outgoing.recv().await.unwrap().unwrap().payload, "200 OK");
        outgoing.established().await.unwrap();
        tokio::try_join!(outgoing.finish(), incoming.finish()).unwrap();
    }
    // The first connection had to fetch the cookie; the second one used it.
    assert!(early[1], "{early:?}");
    assert_eq!(_server.stats().cookies_granted, 1);
}

fn protected(profile: Profile) -> Profile {
    Profile { protection: Protection::Protected, ..profile }
}

#[tokio::test]
async fn matching_keys_protect_a_stream() {
    let profile = protected(Profile::file_arq());
    let bind = || Endpoint::builder().keys(Keys::shared([7; 32])).bind("127.0.0.1:0");
    let (server, client) = tokio::try_join!(bind(), bind()).unwrap();
    let listener = server.listen(PORT, &profile).unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(server.local_addr(), PORT, &profile), listener.accept()).unwrap();
    let text = outgoing.explain();
    assert!(text.contains("Protected") && !text.contains("CLEAR TEXT"), "{text}");
    transfer(outgoing, incoming, 2 << 20).await;
}

/// A stream between a client and a server whose keys `make` chooses from both private keys.
async fn with_key_pairs(make: impl FnOnce(PrivateKey, PrivateKey) -> (Keys, Keys)) -> Result<(), Error> {
    let profile = protected(Profile::file_arq());
    let (own, hers) = (restp::generate_private_key()?, restp::generate_private_key()?);
    let (own_public, her_public) = (own.public(), hers.public());
    let (client, server) = make(hers, own);
    let bind = |keys: Keys| Endpoint::builder().keys(keys.with_aead(Aead::ChaChaPoly)).bind("127.0.0.1:0");
    let (server, client) = tokio::try_join!(bind(server), bind(client))?;
    let listener = server.listen(PORT, &profile)?;
    let outgoing =
        timeout(HANGS, client.connect(server.local_addr(), PORT, &profile)).await.expect("it hangs")?;
    let incoming = timeout(HANGS, listener.accept()).await.expect("it hangs")?;
    assert_eq!(outgoing.peer_public_key(), Some(own_public));
    assert_eq!(incoming.peer_public_key(), Some(her_public));
    assert!(incoming.explain().contains(&her_public.to_string()));
    transfer(outgoing, incoming, 1 << 20).await;
    Ok(())
}

#[tokio::test]
async fn key_pairs_protect_a_stream_in_both_patterns() {
    let ik = |client: PrivateKey, server: PrivateKey| {
        let (hers, own) = (client.public(), server.public());
        (Keys::ik_client(client, own), Keys::ik_server(server, Peers::only([hers])))
    };
    with_key_pairs(ik).await.unwrap();
    let xx = |client: PrivateKey, server: PrivateKey| {
        let own = server.public();
        (Keys::xx(client, Peers::only([own])), Keys::xx(server, Peers::Any))
    };
    with_key_pairs(xx).await.unwrap();
}

/// Within this time an attempt ends where the network or the peer tells that nothing will come of it.
const TOLD: Duration = Duration::from_secs(3);

// R-PROT-10
#[tokio::test]
async fn who_is_not_expected_is_told_so_at_once() {
    let wrong_server = |client: PrivateKey, server: PrivateKey| {
        let other = client.public();
        (Keys::ik_client(client, other), Keys::ik_server(server, Peers::Any))
    };
    let impostor = |client: PrivateKey, server: PrivateKey| {
        let other = client.public();
        (Keys::xx(client, Peers::only([other])), Keys::xx(server, Peers::Any))
    };
    let attempts =
        [timeout(TOLD, with_key_pairs(wrong_server)).await, timeout(TOLD, with_key_pairs(impostor)).await];
    for attempt in attempts {
        let error = attempt.expect("it takes too long").expect_err("the key is another one");
        assert!(matches!(error, Error::Closed(CloseReason::Unauthenticated)), "{error}");
    }
}

#[tokio::test]
async fn two_protected_paths_share_a_transfer() {
    let profile =
        protected(Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() });
    let bind = || Endpoint::builder().keys(Keys::shared([7; 32])).bind("0.0.0.0:0");
    let (server, client) = tokio::try_join!(bind(), bind()).unwrap();
    let port = server.local_addr().port();
    let listener = server.listen(PORT, &profile).unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(("127.0.0.1", port), PORT, &profile), listener.accept()).unwrap();
    let second = SocketAddr::from(([127, 0, 0, 2], port));
    let opening = outgoing.open_path(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3)), second, false);
    let path = timeout(HANGS, opening).await.expect("it hangs").unwrap();
    for expected in [EventKind::PathsAllowed, EventKind::PathUp(path)] {
        let event = timeout(HANGS, outgoing.next_event()).await.expect("it hangs").unwrap();
        assert_eq!(event, Some(expected));
    }
    let usable = outgoing.path_stats().iter().filter(|(_, stats)| stats.usable).count();
    assert_eq!(usable, 2);
    assert_eq!(paths_of_a_transfer(&outgoing, &incoming).await, 2);
}

/// Sends 2 MB and ends both sides; over how many paths they arrived.
async fn paths_of_a_transfer(outgoing: &Connection, incoming: &Connection) -> usize {
    let sent = common::content(2 << 20);
    let sending = async {
        for piece in sent.chunks(32 << 10) {
            outgoing.send(piece.to_vec()).await.unwrap();
        }
    };
    let receiving = async {
        let mut received = Vec::new();
        while received.len() < sent.len() {
            received.extend_from_slice(&incoming.recv().await.unwrap().expect("more was sent").payload);
        }
        received
    };
    let ((), received) = timeout(HANGS, async { tokio::join!(sending, receiving) }).await.expect("it hangs");
    assert!(received == sent);
    let used = outgoing.path_stats().iter().filter(|(_, stats)| stats.delivered_bytes > 0).count();
    tokio::try_join!(outgoing.finish(), incoming.finish()).unwrap();
    used
}

// R-PROT-10
#[tokio::test]
async fn a_wrong_key_is_refused_and_takes_no_place() {
    let profile = protected(Profile::file_arq());
    let builder = |key| Endpoint::builder().keys(Keys::shared([key; 32]));
    // One place, so that whoever leaves something behind shuts out the next.
    let config = EndpointConfig { max_connections: 1, max_half_open: 1, ..EndpointConfig::default() };
    let server =
        Endpoint::builder().config(config).keys(Keys::shared([1; 32])).bind("127.0.0.1:0").await.unwrap();
    let listener = server.listen(PORT, &profile).unwrap();
    let stranger = builder(2).bind("127.0.0.1:0").await.unwrap();
    let connecting = stranger.connect(server.local_addr(), PORT, &profile);
    let error = timeout(TOLD, connecting).await.expect("it takes too long").expect_err("the keys differ");
    assert!(matches!(error, Error::Closed(CloseReason::Unauthenticated)), "{error}");
    assert!(server.stats().unauthentic > 0, "{:?}", server.stats());
    let friend = builder(1).bind("127.0.0.1:0").await.unwrap();
    let connecting = friend.connect(server.local_addr(), PORT, &profile);
    let outgoing = timeout(HANGS, connecting).await.expect("it hangs").expect("the place is free");
    let incoming = timeout(HANGS, listener.accept()).await.expect("it hangs").unwrap();
    assert_eq!(incoming.remote_addr(), friend.local_addr(), "and nobody else was accepted");
    transfer(outgoing, incoming, 1000).await;
}

#[tokio::test]
async fn protection_without_keys_says_what_is_missing() {
    let endpoint = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let error = endpoint.listen(PORT, protected(Profile::file_arq())).expect_err("no keys");
    assert!(error.to_string().contains("the endpoint has no keys"), "{error}");
}

#[tokio::test]
async fn two_paths_share_a_transfer() {
    let profile = Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() };
    let server = Endpoint::bind("0.0.0.0:0").await.unwrap();
    let client = Endpoint::bind("0.0.0.0:0").await.unwrap();
    let port = server.local_addr().port();
    let listener = server.listen(PORT, &profile).unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(("127.0.0.1", port), PORT, &profile), listener.accept()).unwrap();
    let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let id = outgoing.open_path(second, (second, port).into(), false).await.unwrap();
    for expected in [EventKind::PathsAllowed, EventKind::PathUp(id)] {
        let event = timeout(HANGS, outgoing.next_event()).await.expect("it hangs").unwrap();
        assert_eq!(event, Some(expected));
    }
    let paths = outgoing.path_stats();
    assert_eq!(paths.len(), 2);
    assert!(paths.iter().any(|(_, stats)| stats.addr.local.ip() == second && stats.usable));
    assert_eq!(paths_of_a_transfer(&outgoing, &incoming).await, 2);
}

#[tokio::test]
async fn a_path_that_fails_is_replaced_while_the_connection_lives() {
    for profile in [Profile::multipath(), Profile::copies()] {
        let server = Endpoint::bind("0.0.0.0:0").await.unwrap();
        let client = Endpoint::bind("0.0.0.0:0").await.unwrap();
        let port = server.local_addr().port();
        let listener = server.listen(PORT, &profile).unwrap();
        let (outgoing, incoming) =
            tokio::try_join!(client.connect(("127.0.0.1", port), PORT, &profile), listener.accept()).unwrap();
        let open = async |host| {
            let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, host));
            outgoing.open_path(address, (address, port).into(), false).await.unwrap()
        };
        let told = async |expected: EventKind| {
            while timeout(HANGS, outgoing.next_event()).await.expect("it hangs").unwrap().as_ref()
                != Some(&expected)
            {}
        };
        let second = open(2).await;
        told(EventKind::PathUp(second)).await;
        let first = outgoing.path_stats()[0].1.addr;
        outgoing.dial(Dial::PathDown(first));
        told(EventKind::PathDown(PathId(0))).await;
        let third = open(3).await;
        told(EventKind::PathUp(third)).await;
        outgoing.close_path(PathId(0)).unwrap();
        let left: Vec<PathId> = outgoing.path_stats().iter().map(|(id, _)| *id).collect();
        assert!(left.len() == 2 && left.contains(&second) && left.contains(&third), "{left:?}");
        assert_eq!(paths_of_a_transfer(&outgoing, &incoming).await, 2);
    }
}

#[tokio::test]
async fn a_single_address_has_no_second_path() {
    let ((_client, outgoing), _server) = pair(&Profile::multipath()).await;
    let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let error =
        outgoing.open_path(second, outgoing.remote_addr(), false).await.expect_err("bound to one address");
    assert!(error.to_string().contains("bind it to 0.0.0.0"), "{error}");
}

#[tokio::test]
async fn without_offload_packets_go_one_by_one() {
    let server = Endpoint::builder().offload(false).bind("127.0.0.1:0").await.unwrap();
    let client = Endpoint::builder().offload(false).bind("127.0.0.1:0").await.unwrap();
    let listener = server.listen(PORT, Profile::file_arq()).unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(server.local_addr(), PORT, Profile::file_arq()), listener.accept())
            .unwrap();
    transfer(outgoing, incoming, 1 << 20).await;
}

#[tokio::test]
async fn the_event_log_tells_the_story_in_json_lines() {
    let path = std::env::temp_dir().join(format!("restp-log-{}.jsonl", std::process::id()));
    {
        let server = Endpoint::bind("127.0.0.1:0").await.unwrap();
        let client = Endpoint::builder().log_file(&path).unwrap().bind("127.0.0.1:0").await.unwrap();
        let listener = server.listen(PORT, Profile::file_arq()).unwrap();
        let (outgoing, incoming) = tokio::try_join!(
            client.connect(server.local_addr(), PORT, Profile::file_arq()),
            listener.accept()
        )
        .unwrap();
        transfer(outgoing, incoming, 100_000).await;
        client.idle().await.unwrap();
        drop(client);
        // The file is complete when the endpoint's task has ended; it needs a turn for that.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let count = |event: &str| lines.iter().filter(|line| line["event"] == event).count();
    assert!(count("packet_sent") > 80, "{}", lines.len());
    assert!(count("packet_received") > 1);
    assert_eq!(count("closed"), 1);
    let times: Vec<f64> = lines.iter().map(|line| line["time_s"].as_f64().unwrap()).collect();
    assert!(times.is_sorted());
}

#[tokio::test]
async fn raw_ip_carries_a_stream_or_says_what_is_missing() {
    let bind = || Endpoint::builder().raw_ip().bind("127.0.0.1:0");
    let server = match bind().await {
        Ok(server) => server,
        Err(error) => {
            assert!(matches!(error, Error::NoRawIp), "{error}");
            common::skipped("raw_ip_carries_a_stream_or_says_what_is_missing", &error.to_string());
            return;
        }
    };
    // Raw sockets see each other's packets: every end has an address of its own, which no other process uses either.
    drop(server);
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let end = |side: u8| SocketAddr::from(([127, side + high, middle, low], 0));
    let server = Endpoint::builder().raw_ip().bind(end(64)).await.unwrap();
    let client = Endpoint::builder().raw_ip().bind(end(128)).await.unwrap();
    let listener = server.listen(PORT, Profile::file_arq()).unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(end(64), PORT, Profile::file_arq()), listener.accept()).unwrap();
    transfer(outgoing, incoming, 1 << 20).await;
}

/// Passes datagrams between a client and `server`; every tenth to the server gets the mark "congestion experienced".
fn marking_relay(server: SocketAddr) -> SocketAddr {
    const ECT_0: u32 = 2;
    const CONGESTION_EXPERIENCED: u32 = 3;
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    // Ends with the test program, at the latest after a while without traffic.
    socket.set_read_timeout(Some(HANGS)).unwrap();
    std::thread::spawn(move || {
        let (mut buffer, mut client, mut passed) = ([0; 2000], server, 0);
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let mut to = server;
            let mut mark = ECT_0;
            if from == server {
                to = client;
            } else {
                client = from;
                passed += 1;
                if passed % 10 == 0 {
                    mark = CONGESTION_EXPERIENCED;
                }
            }
            socket2::SockRef::from(&socket).set_tos_v4(mark).unwrap();
            socket.send_to(&buffer[..length], to).unwrap();
        }
    });
    address
}

// R-CC-7
#[tokio::test]
async fn congestion_marks_come_back_and_slow_the_sender() {
    let (_server, listener, address) = common::server(&Profile::file_arq()).await;
    let relay = marking_relay(address);
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let (outgoing, incoming) =
        tokio::try_join!(client.connect(relay, PORT, Profile::file_arq()), listener.accept()).unwrap();
    transfer(outgoing.clone(), incoming, 300_000).await;
    let stats = outgoing.stats();
    assert!(stats.ecn_echoes > 0 && stats.congestion_events > 0, "{stats:?}");
}

// R-CM-4
#[tokio::test]
async fn a_port_where_nobody_is_is_told_before_the_second_transmission_fails() {
    // Bound and dropped, so that nothing listens there.
    let gone = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (bind, remote) in [("127.0.0.1:0", gone), ("[::]:0", gone)] {
        let client = Endpoint::bind(bind).await.unwrap();
        // By default the attempt would go on for a minute.
        let attempt = timeout(TOLD, client.connect(remote, PORT, Profile::file_arq())).await;
        let Err(error) = attempt.expect("it takes too long") else { panic!("somebody answered") };
        assert!(matches!(error, Error::Closed(CloseReason::Unreachable)), "{bind}: {error}");
    }
}

#[tokio::test]
async fn a_port_of_a_peer_where_nobody_listens_is_told_at_once() {
    let (_server, _listener, address) = common::server(&Profile::file_arq()).await;
    let client = Endpoint::bind("127.0.0.1:0").await.unwrap();
    let attempt = timeout(TOLD, client.connect(address, PORT + 1, Profile::file_arq())).await;
    let Err(error) = attempt.expect("it takes too long") else { panic!("somebody answered") };
    assert!(matches!(error, Error::NotListening { .. }), "{error}");
}
