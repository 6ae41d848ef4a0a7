//! Connections and datagrams without a runtime, over real UDP on loopback.

mod common;

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use common::{HANGS, PORT};
use restp::blocking::Endpoint;
use restp::profile::{Paths, Scheduler};
use restp::{Bytes, CloseReason, Error, EventKind, Peer, Profile, SendError};

#[test]
fn an_early_connection_tells_whether_it_stands() {
    let server = Endpoint::bind("127.0.0.1:0").unwrap();
    let listener = server.listen_exactly(PORT, Profile::file_arq()).unwrap();
    assert_eq!(listener.port(), PORT);
    let client = Endpoint::bind("127.0.0.1:0").unwrap();
    let early = |port, profile: Profile| {
        let mut connection = client.connect_early(server.local_addr(), port, profile).unwrap();
        connection.set_read_timeout(Some(HANGS));
        connection
    };
    let outgoing = early(PORT, Profile::file_arq());
    outgoing.established().unwrap();
    let mut incoming = listener.accept_timeout(HANGS).unwrap();
    incoming.set_read_timeout(Some(HANGS));
    outgoing.abort();
    assert_eq!(outgoing.closed().unwrap(), CloseReason::Aborted);
    assert_eq!(incoming.closed().unwrap(), CloseReason::Reset);

    let strict = Profile { dispensable: Default::default(), ..Profile::file_harq() };
    let error = early(PORT, strict).established().expect_err("HARQ is not offered");
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    let error = early(PORT + 1, Profile::file_arq()).established().expect_err("nobody listens there");
    assert!(matches!(error, Error::NotListening { .. }), "{error}");
}

#[test]
fn datagrams_fill_their_packets() {
    let one = Endpoint::bind("127.0.0.1:0").unwrap();
    let other = Endpoint::bind("127.0.0.1:0").unwrap();
    let mut here = one.datagrams(5, Profile::datagram()).unwrap();
    here.set_read_timeout(Some(HANGS));
    let there = other.datagrams(6, Profile::datagram()).unwrap();
    assert_eq!((here.port(), there.port()), (5, 6));
    let to = Peer { addr: one.local_addr(), port: here.port() };
    let longest = Bytes::from(vec![7; there.max_packet_bytes() - 12]);
    there.send_to(longest.clone(), to).unwrap();
    let from = Peer { addr: other.local_addr(), port: there.port() };
    assert_eq!(here.recv_from().unwrap(), (longest.clone(), from));
    let error = there.send_to([&longest[..], b"1"].concat(), to).unwrap_err();
    assert!(matches!(error, Error::Send(SendError::TooLong { .. })), "{error}");
}

#[test]
fn a_path_is_opened_and_its_events_come_without_a_runtime() {
    let profile = Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() };
    let (server, client) = (Endpoint::bind("0.0.0.0:0").unwrap(), Endpoint::bind("0.0.0.0:0").unwrap());
    let port = server.local_addr().port();
    let listener = server.listen(PORT, &profile).unwrap();
    let mut outgoing = client.connect(("127.0.0.1", port), PORT, &profile).unwrap();
    let _incoming = listener.accept_timeout(HANGS).unwrap();
    outgoing.set_read_timeout(Some(HANGS));
    let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let path = outgoing.open_path(second, (second, port).into(), false).unwrap();
    for expected in [EventKind::PathsAllowed, EventKind::PathUp(path)] {
        assert_eq!(outgoing.next_event().unwrap(), Some(expected));
    }
    let limit = Duration::from_millis(20);
    outgoing.set_read_timeout(Some(limit));
    assert!(
        matches!(outgoing.next_event(), Err(Error::TimedOut(after)) if after == limit),
        "nothing happens"
    );
    outgoing.abort();
    assert_eq!(outgoing.next_event().unwrap(), None);
}

#[test]
fn who_sends_datagrams_faster_than_they_leave_need_not_wait() {
    let one = Endpoint::bind("127.0.0.1:0").unwrap();
    let mut port = one.datagrams(5, Profile::datagram()).unwrap();
    port.set_write_timeout(Some(Duration::ZERO));
    let peer = Peer { addr: one.local_addr(), port: 9 };
    let refused = (0..10_000_000).find_map(|_| port.send_to(vec![7; 8], peer).err());
    assert!(matches!(refused, Some(Error::TimedOut(Duration::ZERO))), "{refused:?}");
}
