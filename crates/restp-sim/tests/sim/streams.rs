//! Streams within a connection: order for each, none among them; credit, priorities, ends before their time, refusals.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;
use restp_proto::profile::{FecKind, Ordering, Reliability, Tuning};
use restp_proto::wire::{ErrorBits, Flags, Frame, Order, Packet as Decoded};
use restp_proto::{
    CloseReason, ConnId, EventKind, Instant, Priority, Profile, SendError, StreamError, StreamEvent,
    StreamId, StreamKind,
};
use restp_sim::pair::{Pair, RestpHost, has_flags};
use restp_sim::{DropRule, HostId, LinkConfig, Loss, Packet};

const MS: Duration = Duration::from_millis(1);

fn profile() -> Profile {
    Profile::file_arq().with_streams()
}

fn link() -> LinkConfig {
    LinkConfig::new(10_000_000, MS * 20)
}

/// A line that is the bottleneck and loses nothing.
fn slow() -> LinkConfig {
    LinkConfig { queue_packets: 10_000, ..LinkConfig::new(2_000_000, MS * 20) }
}

/// A connection whose handshake is over.
fn connected(profile: &Profile, link: &LinkConfig) -> (Pair, ConnId, ConnId) {
    let mut pair = Pair::new(11, profile, link);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake succeeds");
    (pair, conn, accepted)
}

fn on<T>(pair: &mut Pair, host: HostId, step: impl FnOnce(&mut RestpHost, Instant) -> T) -> T {
    pair.net.with(host, step)
}

fn has_happened(pair: &Pair, host: HostId, conn: ConnId, what: impl Fn(&EventKind) -> bool) -> bool {
    pair.net.host(host).events.iter().any(|event| event.conn == conn && what(&event.kind))
}

fn open(pair: &mut Pair, host: HostId, conn: ConnId, kind: StreamKind) -> StreamId {
    on(pair, host, |host, now| host.endpoint.open_stream(now, conn, kind)).unwrap()
}

fn write(pair: &mut Pair, host: HostId, conn: ConnId, id: StreamId, data: &[u8]) -> usize {
    let mut data = Bytes::copy_from_slice(data);
    on(pair, host, |host, now| host.endpoint.write_stream(now, conn, id, &mut data)).unwrap()
}

fn finish(pair: &mut Pair, host: HostId, conn: ConnId, id: StreamId) {
    on(pair, host, |host, now| host.endpoint.finish_stream(now, conn, id)).unwrap();
}

/// What can be read of a stream now, and whether it has ended.
fn read(pair: &mut Pair, host: HostId, conn: ConnId, id: StreamId) -> (Vec<u8>, Result<bool, StreamError>) {
    let mut all = Vec::new();
    loop {
        match on(pair, host, |host, now| host.endpoint.read_stream(now, conn, id, 10_000)) {
            Ok(Some(data)) => all.extend_from_slice(&data),
            Ok(None) => return (all, Ok(true)),
            Err(StreamError::Blocked) => return (all, Ok(false)),
            Err(error) => return (all, Err(error)),
        }
    }
}

fn accept_all(pair: &mut Pair, host: HostId, conn: ConnId) -> Vec<StreamId> {
    on(pair, host, |host, now| std::iter::from_fn(|| host.endpoint.accept_stream(now, conn)).collect())
}

fn events(pair: &mut Pair, host: HostId, conn: ConnId) -> Vec<StreamEvent> {
    on(pair, host, |host, now| std::iter::from_fn(|| host.endpoint.poll_stream_event(now, conn)).collect())
}

fn pattern(id: StreamId, length: usize) -> Vec<u8> {
    (0..length).map(|place| (place as u64).wrapping_mul(31).wrapping_add(id.0 * 7) as u8).collect()
}

/// The frames of a datagram's payload, if it has any.
fn frames(packet: &Packet) -> Vec<(u64, usize, bool)> {
    let Ok(decoded) = Decoded::decode(&packet.data, None) else { return Vec::new() };
    let header = decoded.packet.header;
    if header.order != Order::Streams || header.error.contains(ErrorBits::ENC) {
        return Vec::new();
    }
    let mut rest = decoded.packet.payload;
    let mut found = Vec::new();
    while !rest.is_empty() {
        match Frame::decode(&mut rest) {
            Ok(Frame::Data { stream, data, fin, .. }) => found.push((stream, data.len(), fin)),
            Ok(_) => {}
            Err(_) => return Vec::new(),
        }
    }
    found
}

// R-STR-4, R-STR-5, R-STR-7
#[test]
fn many_streams_of_both_ends_arrive_whole_through_every_fault() {
    for reliability in [Reliability::Arq, Reliability::Harq(FecKind::Xor)] {
        let link = LinkConfig {
            loss: Loss::GilbertElliott { to_bad: 0.01, to_good: 0.3, loss_good: 0.005, loss_bad: 0.5 },
            bit_error_ratio: 1e-6,
            duplication: 0.01,
            reordering: 0.02,
            jitter: MS * 3,
            ..link()
        };
        let (mut pair, conn, accepted) = connected(&Profile { reliability, ..profile() }, &link);
        let (client, server) = (pair.client, pair.server);
        let mut waiting = BTreeMap::new();
        for _ in 0..5 {
            for kind in [StreamKind::BothWays, StreamKind::OneWay] {
                for (host, conn) in [(client, conn), (server, accepted)] {
                    let id = open(&mut pair, host, conn, kind);
                    waiting.insert((id, host == client), pattern(id, 200_000));
                }
            }
        }
        let mut got: BTreeMap<(StreamId, bool), Vec<u8>> = BTreeMap::new();
        let mut ended = 0;
        let wanted = waiting.clone();
        let done = (0..20_000).any(|_| {
            for ((id, by_client), rest) in &mut waiting {
                let (host, conn) = if *by_client { (client, conn) } else { (server, accepted) };
                if !rest.is_empty() {
                    let mut data = Bytes::copy_from_slice(rest);
                    match on(&mut pair, host, |host, now| {
                        host.endpoint.write_stream(now, conn, *id, &mut data)
                    }) {
                        Ok(count) => drop(rest.drain(..count)),
                        Err(StreamError::Blocked) => {}
                        Err(error) => panic!("{id}: {error}"),
                    }
                    if rest.is_empty() {
                        finish(&mut pair, host, conn, *id);
                    }
                }
            }
            for (id, by_client) in wanted.keys() {
                let (host, conn) = if *by_client { (server, accepted) } else { (client, conn) };
                let (data, end) = read(&mut pair, host, conn, *id);
                got.entry((*id, *by_client)).or_default().extend(data);
                ended += usize::from(end == Ok(true));
            }
            pair.net.run_for(MS * 5);
            ended == wanted.len()
        });
        assert!(done, "{ended} of {} streams ended", wanted.len());
        assert_eq!(got, wanted);
        let accepted_ids = accept_all(&mut pair, server, accepted);
        assert_eq!(accepted_ids.len(), 10);
        assert!(accepted_ids.iter().all(|id| !id.is_by_responder()));
    }
}

// R-ORD-1, R-STR-5: counted by what was delivered before the repetition arrived, not by time
#[test]
fn a_loss_in_one_stream_holds_up_no_other() {
    for (ordering, expected) in [(Ordering::Streams, 9), (Ordering::Full, 0)] {
        // Unpaced, so that all are under way before the loss is noticed.
        let tuning = Tuning { pacing: false, ..profile().tuning };
        let profile = Profile { ordering, tuning, ..profile() };
        let (mut pair, conn, accepted) = connected(&profile, &LinkConfig { rate_bps: None, ..link() });
        let (client, server) = (pair.client, pair.server);
        // The first packet with application data is lost once; its repetition marks the time.
        let there = pair.links[0].0;
        pair.net.add_rule(there, DropRule::first(1, restp_sim::pair::has_payload));
        let streams = ordering == Ordering::Streams;
        let ids: Vec<StreamId> = (0..10)
            .map(|_| if streams { open(&mut pair, client, conn, StreamKind::OneWay) } else { StreamId(0) })
            .collect();
        for id in &ids {
            // Each piece is a packet of its own, its end with it.
            if streams {
                on(&mut pair, client, |host, now| {
                    let mut data = Bytes::from(vec![7; 1000]);
                    host.endpoint.write_stream(now, conn, *id, &mut data).unwrap();
                    host.endpoint.finish_stream(now, conn, *id).unwrap();
                });
            } else {
                pair.send(client, conn, vec![7; 1000]).unwrap();
            }
            pair.net.run_for(MS / 10);
        }
        let (mut whole, mut steps) = (0, 0);
        let repeated = |pair: &Pair| {
            let stats = pair.net.host(client).endpoint.conn_stats(conn).unwrap();
            stats.retransmitted > 0
        };
        while !repeated(&pair) && steps < 10_000 {
            pair.net.step();
            steps += 1;
            if streams {
                whole +=
                    ids.iter().filter(|id| read(&mut pair, server, accepted, **id).1 == Ok(true)).count();
            } else {
                whole += pair.receive(server, accepted).len();
            }
        }
        assert!(repeated(&pair), "the lost packet is repeated");
        // What was under way when the repetition left arrives before it.
        pair.net.run_for(MS * 19);
        whole += if streams {
            ids.iter().filter(|id| read(&mut pair, server, accepted, **id).1 == Ok(true)).count()
        } else {
            pair.receive(server, accepted).len()
        };
        assert_eq!(whole, expected, "{ordering:?}");
        pair.net.run_for(MS * 500);
        if streams {
            assert_eq!(read(&mut pair, server, accepted, ids[0]), (vec![7; 1000], Ok(true)));
        } else {
            assert_eq!(pair.receive(server, accepted).len(), 10);
        }
    }
}

// R-STR-1
#[test]
fn a_peer_without_streams_refuses_them_and_goes_on_serving_others() {
    let plain = Profile { ordering: Ordering::Unordered, ..profile() };
    let path = [(link(), link())];
    let mut pair = Pair::with_config(3, &profile(), &plain, &path, &restp_proto::EndpointConfig::default());
    let conn = pair.connect();
    pair.net.run_for(MS * 500);
    let closed = EventKind::Closed(CloseReason::Refused);
    assert!(has_happened(&pair, pair.client, conn, |kind| *kind == closed), "the initiator says why");
    assert!(pair.accepted().is_none());
    // The other way round a listener with streams takes who does not ask for them.
    let mut pair = Pair::with_config(3, &plain, &profile(), &path, &restp_proto::EndpointConfig::default());
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().unwrap();
    pair.send(pair.client, conn, "a message").unwrap();
    pair.net.run_for(MS * 200);
    assert_eq!(pair.receive(pair.server, accepted)[0].payload, "a message");
    let client = pair.client;
    let refused = on(&mut pair, client, |host, now| host.endpoint.open_stream(now, conn, StreamKind::OneWay));
    assert_eq!(refused, Err(StreamError::NoStreams));
}

// R-STR-1
#[test]
fn a_syn_that_claims_streams_were_agreed_on_is_refused() {
    let mut pair = Pair::new(5, &profile(), &link());
    let server = pair.server;
    let mut header = restp_proto::wire::Header {
        flags: Flags::SYN,
        order: Order::Streams,
        flow: restp_proto::wire::Flow::CON,
        error: ErrorBits::ARQ | ErrorBits::CRC | ErrorBits::SAK,
        k: 1,
        source_port: 4711,
        destination_port: restp_sim::pair::SERVER_PORT,
        ..Default::default()
    };
    let mut answers = Vec::new();
    for order in [Order::Streams, Order::None] {
        header.order = order;
        let arq = restp_proto::wire::Arq { sequence: 9, acknowledgement: 0 };
        let packet = Decoded {
            sequence: restp_proto::wire::Sequence::Arq(arq),
            window: Some(100),
            ..Decoded::new(header)
        };
        let mut data = Vec::new();
        packet.encode(&mut data, None).unwrap();
        let path = restp_sim::pair::client_path(0);
        on(&mut pair, server, |host, now| {
            let back = restp_proto::PathAddr { local: path.remote, remote: path.local };
            host.endpoint.handle(now, back, restp_proto::Ecn::NotEct, &data);
            let mut out = Vec::new();
            host.endpoint.poll_transmit(now, 1, &mut out).unwrap();
            answers.push(Decoded::decode(&out, None).unwrap().packet.header.flags);
        });
    }
    assert_eq!(answers, [Flags::RST | Flags::ACK, Flags::SYN | Flags::ACK]);
}

// R-STR-6, R-STR-7
#[test]
fn nobody_sends_beyond_the_credit_and_reading_renews_it() {
    let (mut pair, conn, accepted) = connected(&profile(), &LinkConfig { rate_bps: None, ..link() });
    let (client, server) = (pair.client, pair.server);
    let small = Tuning::default();
    let id = open(&mut pair, client, conn, StreamKind::OneWay);
    let mut sent = 0;
    for _ in 0..400 {
        let mut data = Bytes::from(vec![1; 100_000]);
        sent += on(&mut pair, client, |host, now| host.endpoint.write_stream(now, conn, id, &mut data))
            .unwrap_or(0);
        pair.net.run_for(MS * 5);
    }
    let window = small.stream_window_bytes as usize;
    assert_eq!(sent, window + small.stream_send_bytes, "the window, and what waits behind it");
    events(&mut pair, client, conn);
    let (first, _) = read(&mut pair, server, accepted, id);
    assert_eq!(first.len(), window);
    assert!(events(&mut pair, client, conn).is_empty());
    pair.net.run_for(MS * 200);
    assert_eq!(events(&mut pair, client, conn), [StreamEvent::Writable(id)]);
    assert_eq!(read(&mut pair, server, accepted, id).0.len(), small.stream_send_bytes);
}

// R-STR-6, R-STR-7
#[test]
fn all_streams_together_have_a_credit_too_and_a_stream_that_is_not_read_takes_only_its_own() {
    let tuning =
        Tuning { connection_window_bytes: 1_500_000, stream_window_bytes: 500_000, ..Tuning::default() };
    let profile = Profile { tuning: Tuning { stream_send_bytes: 4 << 20, ..tuning }, ..profile() };
    let (mut pair, conn, accepted) = connected(&profile, &LinkConfig { rate_bps: None, ..link() });
    let (client, server) = (pair.client, pair.server);
    let ids: Vec<StreamId> = (0..4).map(|_| open(&mut pair, client, conn, StreamKind::OneWay)).collect();
    for id in &ids {
        assert_eq!(write(&mut pair, client, conn, *id, &vec![2; 1_000_000]), 1_000_000);
    }
    pair.net.run_for(Duration::from_secs(5));
    let held: Vec<usize> = ids.iter().map(|id| read(&mut pair, server, accepted, *id).0.len()).collect();
    assert_eq!(held.iter().sum::<usize>(), 1_500_000, "{held:?}");
    assert!(held.iter().all(|bytes| *bytes <= 500_000), "{held:?}");
    // From now on the first is not read any more; the others go on.
    for _ in 0..20 {
        pair.net.run_for(MS * 200);
        for id in &ids[1..] {
            let _ = read(&mut pair, server, accepted, *id);
        }
    }
    let stats = on(&mut pair, client, |host, _| host.endpoint.path_stats(conn));
    assert!(stats[0].1.delivered_bytes >= 3_500_000, "{}", stats[0].1.delivered_bytes);
}

// R-STR-4, R-STR-7
#[test]
fn as_many_streams_as_the_peer_allows_and_more_when_some_have_ended() {
    let (mut pair, conn, accepted) = connected(&profile(), &link());
    let (client, server) = (pair.client, pair.server);
    let kind = StreamKind::BothWays;
    let mut ids: Vec<StreamId> = (0..16).map(|_| open(&mut pair, client, conn, kind)).collect();
    let refused = on(&mut pair, client, |host, now| host.endpoint.open_stream(now, conn, kind));
    assert_eq!(refused, Err(StreamError::TooMany));
    // The last, named first, begins all before it.
    write(&mut pair, client, conn, ids[15], b"x");
    pair.net.run_for(MS * 200);
    assert_eq!(accept_all(&mut pair, server, accepted), ids);
    assert_eq!(events(&mut pair, client, conn), [StreamEvent::MayOpen(kind)]);
    ids.extend((16..100).map(|_| open(&mut pair, client, conn, kind)));
    let refused = on(&mut pair, client, |host, now| host.endpoint.open_stream(now, conn, kind));
    assert_eq!(refused, Err(StreamError::TooMany));
    for id in &ids {
        finish(&mut pair, client, conn, *id);
    }
    pair.net.run_for(MS * 500);
    assert_eq!(accept_all(&mut pair, server, accepted).len(), 84);
    for id in &ids {
        assert_eq!(read(&mut pair, server, accepted, *id).1, Ok(true));
        // One direction of each is still open.
        assert!(events(&mut pair, client, conn).is_empty());
    }
    for id in &ids {
        finish(&mut pair, server, accepted, *id);
    }
    pair.net.run_for(MS * 500);
    assert!(events(&mut pair, client, conn).contains(&StreamEvent::MayOpen(kind)));
    assert_eq!(open(&mut pair, client, conn, kind), StreamId(400));
}

/// The order in which streams end at the server.
fn order_of_ends(pair: &mut Pair, accepted: ConnId, ids: &[StreamId]) -> Vec<StreamId> {
    let server = pair.server;
    let mut ended = Vec::new();
    while ended.len() < ids.len() {
        assert!(pair.net.step(), "{ended:?}");
        for id in ids {
            if !ended.contains(id) && read(pair, server, accepted, *id).1 == Ok(true) {
                ended.push(*id);
            }
        }
    }
    ended
}

// R-STR-10
#[test]
fn urgent_streams_are_served_first_and_incremental_ones_in_turns() {
    let (mut pair, conn, accepted) = connected(&profile(), &slow());
    let client = pair.client;
    let ids: Vec<StreamId> = (0..6).map(|_| open(&mut pair, client, conn, StreamKind::OneWay)).collect();
    let priorities = [
        Priority::new(5, false),
        Priority::new(3, true),
        Priority::new(3, true),
        Priority::new(3, false),
        Priority::new(3, false),
        Priority::new(0, false),
    ];
    on(&mut pair, client, |host, now| {
        for (id, priority) in ids.iter().zip(priorities) {
            host.endpoint.set_stream_priority(now, conn, *id, priority).unwrap();
            let mut data = Bytes::from(pattern(*id, 30_000));
            host.endpoint.write_stream(now, conn, *id, &mut data).unwrap();
            host.endpoint.finish_stream(now, conn, *id).unwrap();
        }
    });
    let mut turns = Vec::new();
    let server = pair.server;
    let mut ended = {
        let (mut ended, mut seen) = (Vec::new(), vec![0; ids.len()]);
        while ended.len() < ids.len() {
            assert!(pair.net.step());
            for (place, id) in ids.iter().enumerate() {
                if seen[place] == 30_000 {
                    continue;
                }
                let (data, _) = read(&mut pair, server, accepted, *id);
                seen[place] += data.len();
                if !data.is_empty() && (place == 1 || place == 2) {
                    turns.push(place);
                }
                if seen[place] == 30_000 {
                    ended.push(place);
                }
            }
        }
        ended
    };
    // Those in turns end together, whichever had the last one.
    ended[3..5].sort_unstable();
    assert_eq!(ended, [5, 3, 4, 1, 2, 0], "by urgency, then by number, then in turns");
    assert!(turns.windows(2).filter(|pair| pair[0] != pair[1]).count() > 20, "{turns:?}");
}

// R-STR-10
#[test]
fn the_receiver_of_a_stream_can_ask_for_it_first() {
    let (mut pair, conn, accepted) = connected(&profile(), &slow());
    let (client, server) = (pair.client, pair.server);
    let ids: Vec<StreamId> = (0..3).map(|_| open(&mut pair, client, conn, StreamKind::OneWay)).collect();
    for id in &ids {
        // It hears of them all before one of them takes the line for long.
        write(&mut pair, client, conn, *id, b"x");
    }
    pair.net.run_for(MS * 100);
    for id in &ids {
        write(&mut pair, client, conn, *id, &pattern(*id, 60_000));
        finish(&mut pair, client, conn, *id);
    }
    on(&mut pair, server, |host, now| {
        host.endpoint.ask_stream_priority(now, accepted, ids[2], Priority::new(1, false)).unwrap();
    });
    assert_eq!(order_of_ends(&mut pair, accepted, &ids), [ids[2], ids[0], ids[1]]);
}

// R-STR-8, R-STR-9
#[test]
fn a_reset_drops_what_waits_and_tells_its_number() {
    let (mut pair, conn, accepted) = connected(&profile(), &LinkConfig::new(1_000_000, MS * 20));
    let (client, server) = (pair.client, pair.server);
    let id = open(&mut pair, client, conn, StreamKind::BothWays);
    let other = open(&mut pair, client, conn, StreamKind::BothWays);
    write(&mut pair, client, conn, id, &[3; 200_000]);
    pair.net.run_for(MS * 100);
    on(&mut pair, client, |host, now| host.endpoint.reset_stream(now, conn, id, 4711).unwrap());
    write(&mut pair, client, conn, other, b"goes on");
    pair.net.run_for(MS * 1000);
    assert_eq!(read(&mut pair, server, accepted, id).1, Err(StreamError::Reset(4711)));
    assert_eq!(read(&mut pair, server, accepted, id).1, Err(StreamError::Unknown));
    assert_eq!(read(&mut pair, server, accepted, other).0, b"goes on");
    let delivered = on(&mut pair, client, |host, _| host.endpoint.path_stats(conn)[0].1.delivered_bytes);
    assert!(delivered < 100_000, "{delivered}: what was not numbered was dropped");
    // The server's direction stands.
    write(&mut pair, server, accepted, id, b"an answer");
    pair.net.run_for(MS * 200);
    assert_eq!(read(&mut pair, client, conn, id).0, b"an answer");
}

// R-STR-9
#[test]
fn a_stop_ends_the_sender_and_gives_its_credit_back() {
    let (mut pair, conn, accepted) = connected(&profile(), &LinkConfig { rate_bps: None, ..link() });
    let (client, server) = (pair.client, pair.server);
    // More than the credit of the connection, stream after stream.
    for round in 0..12 {
        let id = open(&mut pair, client, conn, StreamKind::OneWay);
        for _ in 0..10 {
            let mut data = Bytes::from(vec![4; 1 << 20]);
            let _ = on(&mut pair, client, |host, now| host.endpoint.write_stream(now, conn, id, &mut data));
            pair.net.run_for(MS * 20);
        }
        on(&mut pair, server, |host, now| host.endpoint.stop_stream(now, accepted, id, round).unwrap());
        pair.net.run_for(MS * 200);
        assert!(events(&mut pair, client, conn).contains(&StreamEvent::Stopped(id, round)), "{round}");
        let mut data = Bytes::from_static(b"more");
        let told = on(&mut pair, client, |host, now| host.endpoint.write_stream(now, conn, id, &mut data));
        assert_eq!(told, Err(StreamError::Stopped(round)));
        let told = on(&mut pair, client, |host, now| host.endpoint.finish_stream(now, conn, id));
        assert_eq!(told, Err(StreamError::Stopped(round)));
        assert_eq!(read(&mut pair, server, accepted, id).1, Err(StreamError::Unknown));
        events(&mut pair, server, accepted);
    }
    // Each has ended at both ends, so that others take its place.
    for _ in 0..110 {
        let id = open(&mut pair, client, conn, StreamKind::OneWay);
        write(&mut pair, client, conn, id, b"x");
        pair.net.run_for(MS * 50);
        on(&mut pair, server, |host, now| host.endpoint.stop_stream(now, accepted, id, 1).unwrap());
        pair.net.run_for(MS * 100);
        let _ = on(&mut pair, client, |host, now| host.endpoint.finish_stream(now, conn, id));
        events(&mut pair, client, conn);
    }
    let id = open(&mut pair, client, conn, StreamKind::OneWay);
    write(&mut pair, client, conn, id, &[5; 200_000]);
    pair.net.run_for(MS * 500);
    assert_eq!(read(&mut pair, server, accepted, id).0.len(), 200_000);
}

// R-STR-12
#[test]
fn closing_waits_for_what_was_written_and_the_peer_can_still_read_it() {
    let (mut pair, conn, accepted) = connected(&profile(), &link());
    let (client, server) = (pair.client, pair.server);
    let ids: Vec<StreamId> = (0..3).map(|_| open(&mut pair, client, conn, StreamKind::OneWay)).collect();
    for id in &ids {
        write(&mut pair, client, conn, *id, &pattern(*id, 60_000));
    }
    finish(&mut pair, client, conn, ids[0]);
    on(&mut pair, client, |host, now| host.endpoint.close(now, conn));
    let late = on(&mut pair, client, |host, now| host.endpoint.open_stream(now, conn, StreamKind::OneWay));
    assert_eq!(late, Err(StreamError::NotOpen));
    pair.net.run_for(MS * 1000);
    assert!(has_happened(&pair, server, accepted, |kind| *kind == EventKind::Finished));
    on(&mut pair, server, |host, now| host.endpoint.close(now, accepted));
    pair.net.run_for(MS * 1000);
    let graceful = EventKind::Closed(CloseReason::Graceful);
    for (host, conn) in [(client, conn), (server, accepted)] {
        assert!(has_happened(&pair, host, conn, |kind| *kind == graceful));
    }
    for id in &ids {
        assert_eq!(read(&mut pair, server, accepted, *id).0, pattern(*id, 60_000));
    }
}

#[test]
fn messages_and_streams_do_not_mix() {
    let (mut pair, conn, _) = connected(&profile(), &link());
    let refused = pair.send(pair.client, conn, "a message");
    assert_eq!(refused, Err(SendError::Streams));
    assert!(pair.receive(pair.client, conn).is_empty());
}

// R-STR-2, R-STR-3, R-STR-4, R-STR-5, R-STR-6, R-STR-8, R-STR-11
#[test]
fn who_breaks_a_rule_of_streams_is_sent_away() {
    let data = |stream, offset, fin, data| Frame::Data { stream, offset, fin, data };
    let far = [0; 100];
    let broken: [(&str, Vec<Frame<'_>>); 12] = [
        ("a stream too many", vec![data(4 * 100, 0, false, b"x")]),
        ("a stream of ours", vec![data(1, 0, false, b"x")]),
        ("beyond the credit of a stream", vec![data(0, 70_000 + (1 << 20), false, b"x")]),
        ("beyond the credit of all", (0..6).map(|count| data(4 * count, 65_000, false, b"x")).collect()),
        ("twice", vec![data(0, 0, false, b"abc"), data(0, 2, false, b"cd")]),
        ("twice behind a hole", vec![data(0, 10, false, b"abc"), data(0, 8, false, b"cde")]),
        ("beyond the end", vec![data(0, 0, true, b"abc"), data(0, 3, false, b"d")]),
        ("two ends", vec![data(0, 0, true, b"abc"), data(0, 4, true, b"")]),
        (
            "an end before the data",
            vec![data(0, 50, false, &far), Frame::Reset { stream: 0, code: 0, final_bytes: 100 }],
        ),
        ("credit for what we do not send", vec![Frame::StreamCredit { stream: 2, limit_bytes: 1 }]),
        ("stop of what we did not open", vec![Frame::Stop { stream: 5, code: 1 }]),
        (
            "priority of what we did not open",
            vec![Frame::Priority { stream: 1, urgency: 1, incremental: false }],
        ),
    ];
    for (what, frames) in broken {
        let mut payload = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut payload));
        assert_eq!(end_of_hostile(&payload), Some(CloseReason::Violation), "{what}");
    }
    for payload in [&[0][..], &[0x04], &[0x04, 0x40, 0x01], &[0x07, 0, 16], &[0x99, 1, 1]] {
        assert_eq!(end_of_hostile(payload), Some(CloseReason::Violation), "{payload:?}");
    }
    let mut fine = Vec::new();
    for frame in [data(0, 0, false, b"abc"), data(0, 3, true, b""), data(4, 10, false, b"x")] {
        frame.encode(&mut fine);
    }
    Frame::Credit { limit_bytes: 5 }.encode(&mut fine);
    assert_eq!(end_of_hostile(&fine), None, "a lower limit is ignored");
}

/// How the server's connection ends when its client sends this payload.
fn end_of_hostile(payload: &[u8]) -> Option<CloseReason> {
    // A client that speaks of messages writes the frames itself: nothing but the order differs.
    let (mut pair, conn, accepted) = connected(&profile(), &link());
    let (client, server) = (pair.client, pair.server);
    let there = pair.links[0].0;
    let sent = std::sync::Arc::new(std::sync::Mutex::new(None));
    let copy = std::sync::Arc::clone(&sent);
    pair.net.add_rule(
        there,
        DropRule::first(1, move |packet| {
            let data = !frames(packet).is_empty();
            if data {
                *copy.lock().unwrap() = Some(packet.clone());
            }
            data
        }),
    );
    let id = open(&mut pair, client, conn, StreamKind::OneWay);
    write(&mut pair, client, conn, id, b"x");
    pair.net.run_for(MS);
    let mut packet: Packet = sent.lock().unwrap().take().expect("a packet with data left");
    let decoded = Decoded::decode(&packet.data, None).unwrap();
    let forged = Decoded { payload, ..decoded.packet };
    let mut bytes = Vec::new();
    forged.encode(&mut bytes, None).unwrap();
    packet.data = bytes;
    on(&mut pair, server, |host, now| {
        let path = restp_proto::PathAddr { local: packet.destination, remote: packet.source };
        host.endpoint.handle(now, path, restp_proto::Ecn::NotEct, &packet.data);
    });
    pair.net.run_for(MS);
    let events = &pair.net.host(server).events;
    events.iter().filter(|event| event.conn == accepted).find_map(|event| match event.kind {
        EventKind::Closed(reason) => Some(reason),
        _ => None,
    })
}

// R-STR-1, R-PROT-3
#[cfg(feature = "protected")]
#[test]
fn streams_are_sealed_and_nobody_can_talk_them_away() {
    use restp_proto::profile::Protection;
    use restp_proto::protected::Keys;
    let profile = Profile { protection: Protection::Protected, ..profile() };
    let config = restp_proto::EndpointConfig { keys: Some(Keys::shared([9; 32])), ..Default::default() };
    let path = [(link(), link())];
    let mut pair = Pair::with_config(3, &profile, &profile, &path, &config);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().unwrap();
    let (client, server) = (pair.client, pair.server);
    let id = open(&mut pair, client, conn, StreamKind::BothWays);
    write(&mut pair, client, conn, id, b"a secret");
    pair.net.run_for(MS * 200);
    assert_eq!(read(&mut pair, server, accepted, id).0, b"a secret");
}

// R-STR-1, R-MP-13
#[test]
fn streams_go_over_several_paths_and_through_the_loss_of_one() {
    let profile = Profile::multipath().with_streams();
    let paths = [(link(), link()), (link(), link())];
    let mut pair = Pair::with_paths(3, &profile, &paths);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().unwrap();
    let (client, server) = (pair.client, pair.server);
    let path = restp_sim::pair::client_path(1);
    on(&mut pair, client, |host, now| host.endpoint.open_path(now, conn, path, false).unwrap());
    pair.net.run_for(MS * 200);
    let id = open(&mut pair, client, conn, StreamKind::OneWay);
    let wanted = pattern(id, 250_000);
    write(&mut pair, client, conn, id, &wanted);
    finish(&mut pair, client, conn, id);
    pair.net.run_for(MS * 60);
    let first = pair.links[0].0;
    pair.net.link_mut(first).loss = Loss::Bernoulli(1.0);
    pair.net.run_for(Duration::from_secs(20));
    assert_eq!(read(&mut pair, server, accepted, id), (wanted, Ok(true)));
}

/// What an application may do with streams.
#[derive(Clone, Copy, Debug)]
enum Step {
    Open { server: bool, one_way: bool },
    Write { server: bool, pick: u8, bytes: u16 },
    Finish { server: bool, pick: u8 },
    Reset { server: bool, pick: u8 },
    Stop { server: bool, pick: u8 },
    Read { server: bool, pick: u8 },
    Prioritise { server: bool, pick: u8, urgency: u8, incremental: bool },
    Wait { ms: u8 },
}

fn arb_step() -> impl Strategy<Value = Step> {
    let (server, pick) = (any::<bool>(), any::<u8>());
    prop_oneof![
        (server, any::<bool>()).prop_map(|(server, one_way)| Step::Open { server, one_way }),
        (any::<bool>(), pick, 0_u16..4000).prop_map(|(server, pick, bytes)| Step::Write {
            server,
            pick,
            bytes
        }),
        (any::<bool>(), any::<u8>()).prop_map(|(server, pick)| Step::Finish { server, pick }),
        (any::<bool>(), any::<u8>()).prop_map(|(server, pick)| Step::Reset { server, pick }),
        (any::<bool>(), any::<u8>()).prop_map(|(server, pick)| Step::Stop { server, pick }),
        (any::<bool>(), any::<u8>()).prop_map(|(server, pick)| Step::Read { server, pick }),
        (any::<bool>(), any::<u8>(), 0_u8..8, any::<bool>()).prop_map(
            |(server, pick, urgency, incremental)| {
                Step::Prioritise { server, pick, urgency, incremental }
            }
        ),
        any::<u8>().prop_map(|ms| Step::Wait { ms }),
    ]
}

/// What one end has written and read on the streams it knows.
#[derive(Default)]
struct Book {
    known: Vec<StreamId>,
    written: BTreeMap<StreamId, Vec<u8>>,
    finished: BTreeMap<StreamId, bool>,
    read: BTreeMap<StreamId, (Vec<u8>, bool)>,
    broken: BTreeMap<StreamId, bool>,
}

impl Book {
    /// Everything that was written here, and ended well, was read there.
    fn is_read_by(&self, reader: &Self) -> bool {
        let whole = |id: &StreamId| !self.broken.contains_key(id);
        let empty = (Vec::new(), false);
        let read = |id: &StreamId| reader.read.get(id).unwrap_or(&empty);
        let all =
            self.written.iter().filter(|(id, _)| whole(id)).all(|(id, data)| read(id).0.len() == data.len());
        all && self.finished.keys().filter(|id| whole(id)).all(|id| read(id).1)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // R-STR-4, R-STR-5, R-STR-6, R-STR-8, R-STR-9, R-STR-10
    #[test]
    fn whatever_applications_do_each_reads_a_beginning_of_what_the_other_wrote(
        seed: u64,
        loss in 0.0..0.1,
        steps in prop::collection::vec(arb_step(), 1..80),
    ) {
        let link = LinkConfig { loss: Loss::Bernoulli(loss), reordering: 0.05, duplication: 0.02, ..link() };
        let mut pair = Pair::new(seed, &profile(), &link);
        let conn = pair.connect();
        let client = pair.client;
        pair.net.run_while(Duration::from_secs(60), |net| net.host(client).endpoint.is_established(conn));
        pair.net.run_for(MS * 3000);
        let Some(accepted) = pair.accepted() else { return Ok(()) };
        let ends = [(pair.client, conn), (pair.server, accepted)];
        let mut books = [Book::default(), Book::default()];
        for step in steps {
            for (at, (host, conn)) in ends.iter().enumerate() {
                books[at].known.extend(accept_all(&mut pair, *host, *conn));
            }
            let (server, pick) = match step {
                Step::Open { server, .. } => (server, 0),
                Step::Write { server, pick, .. }
                | Step::Finish { server, pick }
                | Step::Reset { server, pick }
                | Step::Stop { server, pick }
                | Step::Read { server, pick }
                | Step::Prioritise { server, pick, .. } => (server, pick),
                Step::Wait { ms } => {
                    pair.net.run_for(MS * ms.into());
                    continue;
                }
            };
            let (host, conn) = ends[usize::from(server)];
            let book = &mut books[usize::from(server)];
            if let Step::Open { one_way, .. } = step {
                let kind = if one_way { StreamKind::OneWay } else { StreamKind::BothWays };
                let opened = on(&mut pair, host, |host, now| host.endpoint.open_stream(now, conn, kind));
                book.known.extend(opened);
                continue;
            }
            if book.known.is_empty() {
                continue;
            }
            let id = book.known[usize::from(pick) % book.known.len()];
            match step {
                Step::Write { bytes, .. } => {
                    let from = book.written.entry(id).or_default();
                    let all = pattern(id, from.len() + usize::from(bytes));
                    let mut data = Bytes::copy_from_slice(&all[from.len()..]);
                    if let Ok(count) = on(&mut pair, host, |host, now| {
                        if data.is_empty() { return Ok(0) }
                        host.endpoint.write_stream(now, conn, id, &mut data)
                    }) {
                        *from = all[..from.len() + count].to_vec();
                    }
                }
                Step::Finish { .. } => {
                    let done = on(&mut pair, host, |host, now| host.endpoint.finish_stream(now, conn, id));
                    if done.is_ok() {
                        book.finished.insert(id, true);
                    }
                }
                Step::Reset { .. } => {
                    let _ = on(&mut pair, host, |host, now| host.endpoint.reset_stream(now, conn, id, 1));
                    book.broken.insert(id, true);
                }
                Step::Stop { .. } => {
                    let _ = on(&mut pair, host, |host, now| host.endpoint.stop_stream(now, conn, id, 2));
                    books[usize::from(!server)].broken.insert(id, true);
                }
                Step::Read { .. } => {
                    let (data, end) = read(&mut pair, host, conn, id);
                    let entry = book.read.entry(id).or_default();
                    entry.0.extend(data);
                    entry.1 |= end == Ok(true);
                }
                Step::Prioritise { urgency, incremental, .. } => {
                    let priority = Priority::new(urgency, incremental);
                    let _ = on(&mut pair, host, |host, now| {
                        let _ = host.endpoint.ask_stream_priority(now, conn, id, priority);
                        host.endpoint.set_stream_priority(now, conn, id, priority)
                    });
                }
                Step::Open { .. } | Step::Wait { .. } => {}
            }
        }
        // Then both read everything, for as long as it takes.
        for _ in 0..4000 {
            pair.net.run_for(MS * 50);
            for (at, (host, conn)) in ends.iter().enumerate() {
                books[at].known.extend(accept_all(&mut pair, *host, *conn));
                for id in books[at].known.clone() {
                    let (data, end) = read(&mut pair, *host, *conn, id);
                    let entry = books[at].read.entry(id).or_default();
                    entry.0.extend(data);
                    entry.1 |= end == Ok(true);
                }
            }
            if books[0].is_read_by(&books[1]) && books[1].is_read_by(&books[0]) {
                break;
            }
        }
        for (host, conn) in ends {
            let closed = has_happened(&pair, host, conn, |kind| matches!(kind, EventKind::Closed(_)));
            prop_assert!(!closed, "an honest peer is never sent away");
        }
        for at in 0..2 {
            let (reader, writer) = (&books[at], &books[1 - at]);
            for (id, (data, ended)) in &reader.read {
                let empty = Vec::new();
                let written = writer.written.get(id).unwrap_or(&empty);
                prop_assert!(written.starts_with(data), "{id}: {} of {}", data.len(), written.len());
                let broken = writer.broken.contains_key(id);
                if !broken {
                    prop_assert_eq!(data.len(), written.len(), "{}: all of it", id);
                    prop_assert_eq!(*ended, writer.finished.contains_key(id), "{}: its end", id);
                }
            }
        }
    }
}

#[test]
fn a_handshake_with_streams_survives_the_loss_of_each_of_its_packets() {
    for flags in [Flags::SYN, Flags::SYN | Flags::ACK, Flags::ACK] {
        let mut pair = Pair::new(7, &profile(), &link());
        let (there, back) = pair.links[0];
        let lost = if flags == Flags::SYN | Flags::ACK { back } else { there };
        pair.net.add_rule(lost, DropRule::first(1, move |packet| has_flags(packet, flags)));
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(4));
        let accepted = pair.accepted().unwrap_or_else(|| panic!("{flags:?}"));
        let (client, server) = (pair.client, pair.server);
        let id = open(&mut pair, client, conn, StreamKind::OneWay);
        write(&mut pair, client, conn, id, b"here");
        pair.net.run_for(Duration::from_secs(4));
        assert_eq!(read(&mut pair, server, accepted, id).0, b"here", "{flags:?}");
    }
}
