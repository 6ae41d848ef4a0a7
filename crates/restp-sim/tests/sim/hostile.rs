//! Hostile input: amplification, state exhaustion, replay, blind injection.

use std::sync::atomic::Ordering;
use std::time::Duration;

use restp_proto::wire::{
    Arq, Cong, Cookie, ErrorBits, Flags, Flow, Header, JoinStep, MpJoin, Multipath, Order, Packet as Wire,
    PathMode, Sequence,
};
use restp_proto::{
    CloseReason, ConnId, Ecn, Endpoint, EndpointConfig, EventKind, Instant, PathAddr, Profile,
};
use restp_sim::pair::{Pair, SERVER_PORT, UDP_PORT, client_ip, client_path, server_ip};
use restp_sim::{LinkConfig, Packet};

use crate::moving::count_bytes_to;

const MS: Duration = Duration::from_millis(1);

/// Header bits of the plain reliable stream that `server` listens for.
fn header(flags: Flags, flow: Flow) -> Header {
    Header {
        flags,
        order: Order::Full,
        flow,
        error: ErrorBits::ARQ | ErrorBits::CRC | ErrorBits::SAK,
        cong: Cong::CUBIC,
        k: 1,
        source_port: 40_000,
        destination_port: SERVER_PORT,
        ..Header::default()
    }
}

pub fn packet(flags: Flags, flow: Flow, sequence: u32, acknowledgement: u32) -> Wire<'static> {
    Wire {
        window: Some(100),
        sequence: Sequence::Arq(Arq { sequence, acknowledgement }),
        ..Wire::new(header(flags, flow))
    }
}

pub fn bytes(packet: &Wire<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    packet.encode(&mut out, None).expect("the test builds legal packets");
    out
}

fn server(config: EndpointConfig, profile: &Profile) -> Endpoint {
    let mut endpoint = Endpoint::new(config, [9; 32]);
    endpoint.listen(SERVER_PORT, profile.clone().validate().unwrap(), false).unwrap();
    endpoint
}

/// The server's view of the path to client number `client`.
fn from_client(client: u32) -> PathAddr {
    PathAddr {
        local: (server_ip(0), UDP_PORT).into(),
        remote: (std::net::Ipv4Addr::from(0x0A80_0000 + client), UDP_PORT).into(),
    }
}

fn answers(endpoint: &mut Endpoint, now: Instant) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    loop {
        let mut out = Vec::new();
        match endpoint.poll_transmit(now, 1, &mut out) {
            Some(_) => all.push(out),
            None => return all,
        }
    }
}

/// A cookie that `endpoint` grants to `path`.
fn fetch_cookie(endpoint: &mut Endpoint, now: Instant, path: PathAddr) -> Cookie {
    let request = bytes(&packet(Flags::SYN, Flow::OPT | Flow::CKI, 77, 0));
    endpoint.handle(now, path, Ecn::NotEct, &request);
    let answer = answers(endpoint, now).pop().expect("a cookie");
    Wire::decode(&answer, None).unwrap().packet.cookie.expect("a cookie")
}

fn established() -> (Pair, ConnId, ConnId) {
    let mut pair = Pair::new(4, &Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake succeeds");
    (pair, conn, accepted)
}

// R-SEC-5, D6
#[test]
fn a_flood_of_syns_leaves_no_state_and_is_not_amplified() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::file_arq());
    let mut answered = 0;
    for client in 0..20_000 {
        let syn = bytes(&packet(Flags::SYN, Flow::CON, client, 0));
        endpoint.handle(Instant::ZERO, from_client(client), Ecn::NotEct, &syn);
        for answer in answers(&mut endpoint, Instant::ZERO) {
            assert!(answer.len() <= syn.len(), "{} for {}", answer.len(), syn.len());
            answered += 1;
        }
    }
    assert_eq!((endpoint.connections(), endpoint.poll_timeout()), (0, None));
    assert_eq!(answered, EndpointConfig::default().max_syn_acks_per_s / 10, "what may be answered at once");
}

// R-SEC-5
#[test]
fn strays_do_not_keep_handshakes_from_being_answered() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::file_arq());
    for client in 0..20_000 {
        // Half of them belong to nothing; they come first.
        let stray = bytes(&packet(Flags::ACK, Flow::CON, client, 1));
        endpoint.handle(Instant::ZERO, from_client(client), Ecn::NotEct, &stray);
    }
    for client in 0..500 {
        let syn = bytes(&packet(Flags::SYN, Flow::CON, client, 0));
        endpoint.handle(Instant::ZERO, from_client(client), Ecn::NotEct, &syn);
    }
    let flags = |answer: &Vec<u8>| Wire::decode(answer, None).unwrap().packet.header.flags;
    let answers: Vec<Flags> = answers(&mut endpoint, Instant::ZERO).iter().map(flags).collect();
    let resets = answers.iter().filter(|flags| flags.contains(Flags::RST)).count();
    assert_eq!((answers.len() - resets, resets), (500, 100));
    assert!(answers[..500].iter().all(|flags| flags.contains(Flags::SYN)), "peers to be come first");
}

// R-CM-4
#[test]
fn clients_that_fail_together_come_back_apart() {
    let mut endpoint = Endpoint::new(EndpointConfig::default(), [9; 32]);
    let composition = Profile::file_arq().validate().unwrap();
    for port in 0..200 {
        endpoint.connect(Instant::ZERO, client_path(0), 1000 + port, SERVER_PORT, &composition).unwrap();
    }
    assert_eq!(answers(&mut endpoint, Instant::ZERO).len(), 200);
    let mut repeated = Vec::new();
    while repeated.len() < 200 {
        let now = endpoint.poll_timeout().unwrap();
        endpoint.handle_timeout(now);
        repeated.extend(answers(&mut endpoint, now).iter().map(|_| now.as_nanos() as f64 / 1e9));
    }
    let (first, last) = (repeated[0], repeated[199]);
    assert!((0.875..0.9).contains(&first) && (1.1..1.126).contains(&last), "{first} to {last}");
    // No tenth of the interval holds more than its share and half as much again.
    for start in 0..10 {
        let from = 0.875 + 0.025 * f64::from(start);
        let count = repeated.iter().filter(|at| (from..from + 0.025).contains(*at)).count();
        assert!(count < 40, "{count} from {from} s");
    }
}

// R-CM-4
#[test]
fn what_the_network_reports_shortens_the_wait_and_nothing_else() {
    let composition = Profile::file_arq().validate().unwrap();
    let path = client_path(0);
    for (remote, right) in [(path.remote, true), ("203.0.113.9:1".parse().unwrap(), false)] {
        let mut endpoint = Endpoint::new(EndpointConfig::default(), [9; 32]);
        let conn = endpoint.connect(Instant::ZERO, path, 40_000, SERVER_PORT, &composition).unwrap();
        let syn = answers(&mut endpoint, Instant::ZERO).pop().unwrap();
        endpoint.unreachable(Instant::ZERO, remote, &syn);
        endpoint.unreachable(Instant::ZERO, remote, &syn[..9]);
        assert_eq!(endpoint.poll_event(), None, "anybody can send a report: it ends nothing at once");
        let soon = Instant::ZERO + Duration::from_secs(2);
        endpoint.handle_timeout(soon);
        let ended = endpoint.poll_event().map(|event| (event.conn, event.kind));
        assert_eq!(ended, right.then_some((conn, EventKind::Closed(CloseReason::Unreachable))));
    }
    // Who has answered once is believed more than a report that anybody can send.
    let (mut pair, conn, _) = established();
    let ack = bytes(&packet(Flags::ACK, Flow::CON, 1, 1));
    pair.net.with(pair.client, |host, now| host.endpoint.unreachable(now, client_path(0).remote, &ack));
    pair.net.run_for(Duration::from_secs(3));
    assert!(pair.net.host(pair.client).endpoint.is_established(conn));
}

// D10, R-SEC-1, R-OPT-9
#[test]
fn d10_an_unproven_opening_gets_at_most_three_times_its_bytes() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::web_opt());
    let mut now = Instant::ZERO;
    let path = from_client(1);
    let cookie = fetch_cookie(&mut endpoint, now, path);
    // Old enough that the address may have gone to somebody else.
    now += Duration::from_secs(600);
    let syn =
        Wire { cookie: Some(cookie), payload: b"GET everything", ..packet(Flags::SYN, Flow::OPT, 1001, 0) };
    let syn = bytes(&syn);
    endpoint.handle(now, path, Ecn::NotEct, &syn);
    let accepted = loop {
        let event = endpoint.poll_event().expect("the opening is accepted");
        if matches!(event.kind, EventKind::Accepted { .. }) {
            break event.conn;
        }
    };
    assert!(endpoint.recv(now, accepted).expect("early data").early);
    endpoint.send(now, accepted, vec![1; 100_000].into(), Default::default()).unwrap();
    let mut received = 0;
    for _ in 0..100 {
        received += answers(&mut endpoint, now).iter().map(Vec::len).sum::<usize>();
        let Some(at) = endpoint.poll_timeout() else { break };
        now = at;
        endpoint.handle_timeout(now);
    }
    assert!(received > 0 && received <= syn.len() * 3, "{received} for {}", syn.len());
    assert_eq!(endpoint.connections(), 1, "it waits to be read");
    while endpoint.poll_event().is_some() {}
    assert_eq!(endpoint.connections(), 0, "and is forgotten after its tries");
}

// D9, R-OPT-7
#[test]
fn d9_a_copied_first_flight_is_executed_once() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::web_opt());
    let path = from_client(1);
    let cookie = fetch_cookie(&mut endpoint, Instant::ZERO, path);
    let flight =
        bytes(&Wire { cookie: Some(cookie), payload: b"pay", ..packet(Flags::SYN, Flow::OPT, 1001, 0) });
    endpoint.handle(Instant::ZERO, path, Ecn::NotEct, &flight);
    let first = endpoint.poll_event().expect("accepted").conn;
    assert_eq!(endpoint.recv(Instant::ZERO, first).map(|message| message.payload), Some("pay".into()));
    endpoint.forget(Instant::ZERO, first);
    while endpoint.poll_event().is_some() {}
    answers(&mut endpoint, Instant::ZERO);
    while endpoint.poll_event().is_some() {}
    let hour = Instant::ZERO + Duration::from_secs(3600);
    endpoint.handle(hour, path, Ecn::NotEct, &flight);
    assert_eq!(endpoint.poll_event(), None, "no connection, no data");
    assert_eq!(endpoint.stats().replays_refused, 1);
    // It still gets the three-way treatment: an honest client goes on, a replayer cannot.
    assert_eq!(answers(&mut endpoint, hour).len(), 1);
}

// R-SEC-2
#[test]
fn openings_beyond_the_limits_fall_back_to_the_stateless_handshake() {
    let limits = [
        EndpointConfig { max_half_open: 3, ..EndpointConfig::default() },
        EndpointConfig { max_replay_entries: 3, ..EndpointConfig::default() },
        EndpointConfig { max_connections: 3, ..EndpointConfig::default() },
    ];
    for config in limits {
        let mut endpoint = server(config, &Profile::web_opt());
        for client in 0..10 {
            let path = from_client(client);
            let cookie = fetch_cookie(&mut endpoint, Instant::ZERO, path);
            let syn = Wire { cookie: Some(cookie), ..packet(Flags::SYN, Flow::OPT, 1000, 0) };
            endpoint.handle(Instant::ZERO, path, Ecn::NotEct, &bytes(&syn));
            assert_eq!(answers(&mut endpoint, Instant::ZERO).len(), 1, "client {client} is answered");
        }
        assert_eq!(endpoint.connections(), 3);
    }
}

// R-OPT-6
#[test]
fn a_cookie_of_another_address_opens_nothing() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::web_opt());
    let cookie = fetch_cookie(&mut endpoint, Instant::ZERO, from_client(1));
    let syn = Wire { cookie: Some(cookie), payload: b"x", ..packet(Flags::SYN, Flow::OPT, 1001, 0) };
    endpoint.handle(Instant::ZERO, from_client(2), Ecn::NotEct, &bytes(&syn));
    assert_eq!(endpoint.connections(), 0);
    let answer = answers(&mut endpoint, Instant::ZERO).pop().expect("a fresh cookie");
    assert!(Wire::decode(&answer, None).unwrap().packet.header.flow.contains(Flow::CKI));
}

// D12, R-SEC-3
#[test]
fn d12_blind_resets_and_syns_do_not_end_a_connection() {
    let (mut pair, conn, accepted) = established();
    let (source, destination) = ((client_ip(0), UDP_PORT).into(), (server_ip(0), UDP_PORT).into());
    for guess in 0..2000u32 {
        for flags in [Flags::RST, Flags::RST | Flags::ACK, Flags::SYN, Flags::FIN | Flags::ACK] {
            let forged = packet(
                flags,
                Flow::CON,
                guess.wrapping_mul(2_147_001),
                if flags.contains(Flags::ACK) { guess } else { 0 },
            );
            pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data: bytes(&forged) });
        }
    }
    pair.net.run_for(Duration::from_secs(1));
    assert!(pair.net.host(pair.server).endpoint.is_established(accepted));
    pair.send(pair.client, conn, vec![5; 1000]).unwrap();
    pair.net.run_for(Duration::from_secs(1));
    let bytes: usize = pair.receive(pair.server, accepted).iter().map(|message| message.payload.len()).sum();
    assert_eq!(bytes, 1000);
    // Challenges are rationed: thousands of forged packets in one second cause at most a handful.
    assert!(pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().packets_sent < 40);
}

// R-SEC-3
#[test]
fn a_genuine_reset_is_obeyed() {
    let (mut pair, conn, accepted) = established();
    pair.net.with(pair.client, |host, now| host.endpoint.abort(now, conn));
    pair.net.run_for(Duration::from_secs(1));
    let events = pair.net.with(pair.server, |host, _| host.take_events());
    let reset = EventKind::Closed(CloseReason::Reset);
    assert!(events.iter().any(|event| event.conn == accepted && event.kind == reset), "{events:?}");
}

// A15, R-HDR-8
#[test]
fn a15_packets_with_other_services_are_dropped() {
    let (mut pair, _, accepted) = established();
    let (source, destination) = ((client_ip(0), UDP_PORT).into(), (server_ip(0), UDP_PORT).into());
    let mut forged = packet(Flags::ACK, Flow::CON, 1, 1);
    forged.header.order = Order::Partial;
    pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data: bytes(&forged) });
    let stats = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().clone();
    assert_eq!(stats.frozen_mismatch, 1);
}

// H3, R-MP-3, R-MP-4
#[test]
fn joins_without_the_keys_are_refused_and_pending_ones_are_limited() {
    let link = LinkConfig::ideal(MS * 10);
    let mut pair = Pair::new(6, &Profile::multipath(), &link);
    let conn = pair.connect();
    pair.net.run_for(MS * 300);
    let accepted = pair.accepted().expect("the handshake succeeds");
    // The token is a secret of the two ends; here the forger is assumed to have learnt it from the wire.
    let token = observed_token(&mut pair, conn);
    let forger: std::net::IpAddr = [203, 0, 113, 5].into();
    for attempt in 0..50u16 {
        let source = (forger, 1000 + attempt).into();
        let destination = (server_ip(0), UDP_PORT).into();
        pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data: join_syn(token, 9) });
        let mut proof = packet(Flags::ACK, Flow::CON, 6, 1);
        proof.header.path_mode = PathMode::Spreading;
        proof.multipath = Some(Multipath::Join(MpJoin {
            backup: false,
            address_id: 9,
            step: JoinStep::Ack { mac: [0; 20] },
        }));
        pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data: bytes(&proof) });
    }
    let server = &pair.net.host(pair.server).endpoint;
    let usable = server.path_stats(accepted).iter().filter(|(_, path)| path.usable).count();
    assert_eq!(usable, 1, "only the first path carries data");
    assert!(server.path_stats(accepted).len() <= 5, "at most four joins wait");
    pair.net.run_for(Duration::from_secs(120));
    assert_eq!(pair.net.host(pair.server).endpoint.path_stats(accepted).len(), 1, "and they are forgotten");
}

// R-MP-4
#[test]
fn a_join_with_the_name_of_another_path_is_refused() {
    for address_id in [0, 1] {
        let mut pair = Pair::new(6, &Profile::multipath(), &LinkConfig::ideal(MS * 10));
        let conn = pair.connect();
        pair.net.run_for(MS * 300);
        let accepted = pair.accepted().expect("the handshake succeeds");
        let token = observed_token(&mut pair, conn);
        for port in [1000, 1001] {
            let (source, destination) = (([203, 0, 113, 5], port).into(), (server_ip(0), UDP_PORT).into());
            let data = join_syn(token, address_id);
            pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data });
        }
        let paths = pair.net.host(pair.server).endpoint.path_stats(accepted);
        let names: Vec<u8> = paths.iter().map(|(id, _)| id.0).collect();
        let wanted: &[u8] = if address_id == 0 { &[0] } else { &[0, 1] };
        assert_eq!(names, wanted, "each name once, and 0 is the first path's");
    }
}

// R-SEC-1, R-MP-3
#[test]
fn a_join_that_proves_nothing_gets_at_most_three_times_its_bytes() {
    let mut pair = Pair::new(6, &Profile::multipath(), &LinkConfig::ideal(MS * 10));
    let conn = pair.connect();
    pair.net.run_for(MS * 300);
    let join = join_syn(observed_token(&mut pair, conn), 9);
    let source: std::net::SocketAddr = ([203, 0, 113, 5], 1000).into();
    let sent_bytes = count_bytes_to(&mut pair, source.ip());
    let destination = (server_ip(0), UDP_PORT).into();
    pair.net.inject(Packet { source, destination, ecn: Ecn::NotEct, data: join.clone() });
    // Long enough for all repetitions of an answer.
    pair.net.run_for(Duration::from_secs(120));
    let got = sent_bytes.load(Ordering::Relaxed);
    assert!(got > 0 && got <= join.len() * 3, "{got} bytes for {}", join.len());
}

/// The SYN of a join under the name `address_id`.
fn join_syn(token: u32, address_id: u8) -> Vec<u8> {
    let mut join = packet(Flags::SYN, Flow::CON, 5, 0);
    join.header.path_mode = PathMode::Spreading;
    let step = JoinStep::Syn { token, nonce: 1 };
    join.multipath = Some(Multipath::Join(MpJoin { backup: false, address_id, step }));
    bytes(&join)
}

/// The token that a join of the real client shows.
pub fn observed_token(pair: &mut Pair, conn: ConnId) -> u32 {
    let client = pair.client;
    let addr = client_path(9);
    let mut out = Vec::new();
    pair.net.with(client, |host, now| {
        host.endpoint.open_path(now, conn, addr, false).unwrap();
        host.endpoint.poll_transmit(now, 1, &mut out).expect("the join leaves");
    });
    match Wire::decode(&out, None).unwrap().packet.multipath {
        Some(Multipath::Join(MpJoin { step: JoinStep::Syn { token, .. }, .. })) => token,
        other => panic!("{other:?}"),
    }
}

// R-CM-9
#[test]
fn a_reset_is_never_answered() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::file_arq());
    for (flags, destination_port) in
        [(Flags::RST, SERVER_PORT), (Flags::RST, 1), (Flags::RST | Flags::ACK, 1)]
    {
        let mut reset = packet(flags, Flow::CON, 5, u32::from(flags.contains(Flags::ACK)));
        reset.header.destination_port = destination_port;
        endpoint.handle(Instant::ZERO, from_client(1), Ecn::NotEct, &bytes(&reset));
        assert!(answers(&mut endpoint, Instant::ZERO).is_empty(), "{flags:?} for port {destination_port}");
    }
    assert_eq!(endpoint.stats().stray, 3);
}

// A12, R-HDR-2, R-ERR-1
#[test]
fn noise_is_counted_and_never_answered() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::file_arq());
    let mut noise = restp_sim::SimRng::new(8);
    for _ in 0..20_000 {
        let length = noise.below(80) as usize;
        let mut data: Vec<u8> = (0..length).map(|_| noise.bits() as u8).collect();
        if let Some(first) = data.first_mut() {
            // Every version but ours.
            *first |= 0x20;
        }
        endpoint.handle(Instant::ZERO, from_client(1), Ecn::NotEct, &data);
    }
    assert_eq!(endpoint.stats().undecodable, 20_000);
    assert!(answers(&mut endpoint, Instant::ZERO).is_empty());
}

// R-SEC-2, K3
#[test]
fn numbers_far_ahead_take_no_memory() {
    let mut endpoint = server(EndpointConfig::default(), &Profile::file_arq());
    let path = from_client(1);
    endpoint.handle(Instant::ZERO, path, Ecn::NotEct, &bytes(&packet(Flags::SYN, Flow::CON, 1000, 0)));
    let answer = answers(&mut endpoint, Instant::ZERO).pop().expect("a SYN-ACK");
    let isn = Wire::decode(&answer, None).unwrap().packet.sequence.number().unwrap();
    endpoint.handle(
        Instant::ZERO,
        path,
        Ecn::NotEct,
        &bytes(&packet(Flags::ACK, Flow::CON, 1001, isn.wrapping_add(1))),
    );
    let accepted = endpoint.poll_event().expect("accepted").conn;
    // A sender that ignores the window: only what the window allows is held, however far the numbers reach.
    let window = Profile::file_arq().tuning.receive_window_packets;
    for ahead in (1..60_000u32).step_by(7) {
        let data =
            Wire { payload: &[1; 1000], ..packet(Flags::ACK, Flow::CON, 1001 + ahead, isn.wrapping_add(1)) };
        endpoint.handle(Instant::ZERO, path, Ecn::NotEct, &bytes(&data));
    }
    let stats = endpoint.conn_stats(accepted).unwrap();
    let held = stats.packets_received - 1 - stats.no_room - stats.out_of_window;
    assert!(held <= u64::from(window / 7 + 1), "{held} held, {stats:?}");
}
