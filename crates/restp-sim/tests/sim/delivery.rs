//! What arrives: order, completeness, repair, framing, flow control, corruption.

use std::time::Duration;

use restp_proto::profile::{FecKind, Ordering, Reliability, Tuning};
use restp_proto::wire::Flags;
use restp_proto::{Dial, EventKind, Profile, SendError};
use restp_sim::pair::{Pair, has_flags, has_payload};
use restp_sim::{DropRule, LinkConfig, Loss};

const MS: Duration = Duration::from_millis(1);

fn lossy(loss: f64) -> LinkConfig {
    LinkConfig { loss: Loss::Bernoulli(loss), ..LinkConfig::new(10_000_000, MS * 20) }
}

/// A connection whose handshake is over.
fn connected(profile: &Profile, link: &LinkConfig) -> (Pair, restp_proto::ConnId, restp_proto::ConnId) {
    let mut pair = Pair::new(11, profile, link);
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let accepted = pair.accepted().expect("the handshake succeeds");
    pair.net.with(pair.client, |host, _| assert!(host.endpoint.is_established(conn)));
    (pair, conn, accepted)
}

#[test]
fn a_stream_arrives_whole_through_every_fault_at_once() {
    for profile in
        [Profile::file_arq(), Profile::file_harq(), Profile::web_opt(), Profile::satellite_outage()]
    {
        let link = LinkConfig {
            loss: Loss::GilbertElliott { to_bad: 0.01, to_good: 0.3, loss_good: 0.005, loss_bad: 0.5 },
            bit_error_ratio: 1e-6,
            duplication: 0.01,
            reordering: 0.02,
            jitter: MS * 3,
            ..LinkConfig::new(10_000_000, MS * 15)
        };
        let mut pair = Pair::new(5, &profile, &link);
        let transferred = pair.transfer(400_000, Duration::from_secs(300));
        transferred.unwrap_or_else(|error| panic!("{profile}: {error}"));
    }
}

// C3, R-CRC-6
#[test]
fn nothing_corrupt_is_delivered_while_the_crc_is_on() {
    let link = LinkConfig { bit_error_ratio: 2e-5, ..LinkConfig::new(10_000_000, MS * 5) };
    let mut pair = Pair::new(9, &Profile::file_arq(), &link);
    pair.transfer(300_000, Duration::from_secs(300)).unwrap();
    assert!(pair.net.link_stats(pair.links[0].0).damaged > 20);
}

// G1, R-FEC-7
#[test]
fn quasi_reliable_delivers_more_than_unreliable_without_repeating() {
    let mut delivered = Vec::new();
    for reliability in
        [Reliability::None, Reliability::Quasi(FecKind::Xor), Reliability::Quasi(FecKind::Interleaved)]
    {
        let profile = Profile {
            management: restp_proto::profile::Management::ThreeWay,
            reliability,
            ordering: Ordering::Full,
            tuning: Tuning { fec_group: 4, ..Tuning::default() },
            ..Profile::datagram()
        };
        let (mut pair, conn, accepted) = connected(&profile, &LinkConfig::ideal(MS * 20));
        pair.net.link_mut(pair.links[0].0).loss = Loss::Bernoulli(0.05);
        let mut got = 0;
        for number in 0..2000u32 {
            pair.send(pair.client, conn, number.to_be_bytes().to_vec()).unwrap();
            pair.net.run_for(MS);
            got += pair.receive(pair.server, accepted).len();
        }
        pair.net.run_for(MS * 500);
        got += pair.receive(pair.server, accepted).len();
        let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
        assert_eq!(stats.retransmitted, 0);
        delivered.push(got);
    }
    assert!((1860..1940).contains(&delivered[0]), "{delivered:?}");
    assert!(delivered[1] > 1960 && delivered[2] > 1960, "{delivered:?}");
}

// R-FEC-6
#[test]
fn without_its_timer_an_encoded_packet_leaves_when_its_group_is_full_and_not_before() {
    for (fec_timer, messages, encoded) in [(true, 6, 2), (false, 6, 1), (false, 3, 0), (false, 8, 2)] {
        let profile = Profile {
            management: restp_proto::profile::Management::ThreeWay,
            reliability: Reliability::Quasi(FecKind::Xor),
            ordering: Ordering::Full,
            tuning: Tuning { fec_group: 4, fec_timer, ..Tuning::default() },
            ..Profile::datagram()
        };
        let (mut pair, conn, _) = connected(&profile, &LinkConfig::ideal(MS * 20));
        for number in 0..messages as u32 {
            pair.send(pair.client, conn, number.to_be_bytes().to_vec()).unwrap();
        }
        pair.net.run_for(MS * 500);
        let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
        assert_eq!(stats.encoded_sent, encoded, "timer {fec_timer}, {messages} messages");
    }
}

// J1, J2, R-ORD-3, R-ORD-4
#[test]
// R-FC-4
fn partial_order_passes_over_what_is_too_late() {
    let profile = Profile { tuning: Tuning { hold: MS * 60, ..Profile::voice().tuning }, ..Profile::voice() };
    let (mut pair, conn, accepted) = connected(&profile, &LinkConfig::ideal(MS * 50));
    // The third message is lost three times, so it cannot arrive within the hold.
    pair.net.add_rule(pair.links[0].0, DropRule::first(3, |packet| packet.data.ends_with(b"message 2")));
    let mut times = Vec::new();
    for step in 0..100 {
        if step < 10 {
            pair.send(pair.client, conn, format!("message {step}")).unwrap();
        }
        pair.net.run_for(MS * 20);
        for message in pair.receive(pair.server, accepted) {
            times.push((message.index, pair.net.now()));
        }
    }
    let indices: Vec<u64> = times.iter().map(|(index, _)| *index).collect();
    assert_eq!(indices, [0, 1, 3, 4, 5, 6, 7, 8, 9]);
    let stats = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap();
    assert_eq!((stats.passed_over, stats.delivered), (1, 9));
}

// J4, R-ORD-1
#[test]
fn unordered_arq_delivers_each_message_once_and_without_waiting() {
    let profile = Profile {
        ordering: Ordering::Unordered,
        framing: restp_proto::profile::Framing::Fixed,
        ..Profile::file_arq()
    };
    let (mut pair, conn, accepted) = connected(&profile, &LinkConfig::ideal(MS * 50));
    pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload));
    for number in 0..5 {
        pair.send(pair.client, conn, vec![number; 10]).unwrap();
    }
    pair.net.run_for(MS * 60);
    let first: Vec<u64> = pair.receive(pair.server, accepted).iter().map(|message| message.index).collect();
    assert_eq!(first, [1, 2, 3, 4]);
    pair.net.run_for(Duration::from_secs(2));
    let rest: Vec<u64> = pair.receive(pair.server, accepted).iter().map(|message| message.index).collect();
    assert_eq!(rest, [0]);
}

// J6, J7, R-FC-2, R-FC-3
#[test]
// R-FC-1
fn a_reader_that_sleeps_stops_the_sender_and_wakes_it_again() {
    let tuning = Tuning { receive_window_packets: 16, ..Profile::file_arq().tuning };
    let profile = Profile { tuning, ..Profile::file_arq() };
    let (mut pair, conn, accepted) = connected(&profile, &LinkConfig::new(10_000_000, MS * 10));
    let total = 200_000;
    let data: Vec<u8> = (0..total).map(restp_sim::pair::pattern).collect();
    pair.send(pair.client, conn, data.clone()).unwrap();
    pair.net.run_for(Duration::from_secs(20));
    let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
    assert!(stats.data_sent <= 20, "16 granted and a window probe: {}", stats.data_sent);
    let mut received = Vec::new();
    for _ in 0..4000 {
        for message in pair.receive(pair.server, accepted) {
            received.extend_from_slice(&message.payload);
        }
        pair.net.run_for(MS * 20);
    }
    assert!(received == data, "{} of {total}", received.len());
}

#[test]
fn a_full_send_buffer_refuses_and_tells_when_there_is_room() {
    let tuning = Tuning { send_buffer_packets: 4, ..Profile::voice().tuning };
    let (mut pair, conn, _) =
        connected(&Profile { tuning, ..Profile::voice() }, &LinkConfig::new(100_000, MS * 10));
    let mut refused = 0;
    for number in 0..40u8 {
        if let Err(SendError::Full(back)) = pair.send(pair.client, conn, vec![number; 100]) {
            assert_eq!(back, vec![number; 100]);
            refused += 1;
        }
    }
    assert!(refused > 0);
    pair.net.run_for(Duration::from_secs(5));
    let events = &pair.net.host(pair.client).events;
    assert!(events.iter().any(|event| event.kind == EventKind::Writable));
}

// J5, R-FRM-1, R-FRM-2
#[test]
fn fixed_framing_keeps_messages_and_coalescing_joins_them() {
    for (profile, expected) in [(Profile::voice(), 50), (Profile::file_arq(), 1)] {
        let (mut pair, conn, accepted) = connected(&profile, &LinkConfig::ideal(MS * 10));
        let client = pair.client;
        pair.net.with(client, |host, now| {
            for _ in 0..50 {
                let payload = bytes::Bytes::from_static(b"ten bytes.");
                host.endpoint.send(now, conn, payload, Default::default()).unwrap();
            }
        });
        pair.net.run_for(Duration::from_secs(2));
        assert_eq!(pair.receive(pair.server, accepted).len(), expected, "{profile}");
    }
    let (mut pair, conn, _) = connected(&Profile::voice(), &LinkConfig::ideal(MS * 10));
    let refused = pair.send(pair.client, conn, vec![0; 1200]);
    assert!(matches!(refused, Err(SendError::TooLong { size_bytes: 1200, .. })), "{refused:?}");
    assert_eq!(pair.send(pair.client, conn, Vec::new()), Err(SendError::Empty));
}

// E5, R-ACK-4
#[test]
fn a_repeated_acknowledgement_wakes_the_sender_after_its_loss() {
    let profile = Profile {
        duplicate_acks: true,
        tuning: Tuning {
            tail_probe: false,
            min_rto: Duration::from_secs(10),
            initial_rto: Duration::from_secs(10),
            ..Tuning::default()
        },
        ..Profile::file_arq()
    };
    let receiver = Profile { duplicate_acks: true, ..Profile::file_arq() };
    let link = (LinkConfig::ideal(MS * 10), LinkConfig::ideal(MS * 10));
    let mut pair = Pair::with_config(3, &profile, &receiver, &[link], &Default::default());
    let conn = pair.connect();
    pair.net.run_for(MS * 100);
    // Every acknowledgement of the data is lost once; the receiver's timer repeats it although nothing new arrives.
    pair.net.add_rule(pair.links[0].1, DropRule::first(1, |packet| has_flags(packet, Flags::ACK)));
    pair.send(pair.client, conn, vec![1; 100]).unwrap();
    pair.net.run_for(Duration::from_secs(40));
    let client = &pair.net.host(pair.client).endpoint;
    let in_flight = client.path_stats(conn)[0].1.in_flight_packets;
    assert_eq!((in_flight, client.conn_stats(conn).unwrap().retransmitted), (0, 0));
}

// D12, D13, R-CM-5, R-CM-6
#[test]
fn both_ends_close_gracefully_and_a_lost_last_acknowledgement_is_repeated() {
    let (mut pair, conn, accepted) = connected(&Profile::file_arq(), &LinkConfig::ideal(MS * 10));
    let (client, server) = (pair.client, pair.server);
    pair.net.with(client, |host, now| host.endpoint.close(now, conn));
    pair.net.run_for(MS * 100);
    // The acknowledgement of the server's FIN is lost; the client's memory of the connection answers the repetition.
    pair.net.add_rule(pair.links[0].0, DropRule::first(1, |packet| has_flags(packet, Flags::ACK)));
    pair.net.with(server, |host, now| host.endpoint.close(now, accepted));
    pair.net.run_for(Duration::from_secs(5));
    for host in [client, server] {
        let events = &pair.net.host(host).events;
        let closed = EventKind::Closed(restp_proto::CloseReason::Graceful);
        assert!(events.iter().any(|event| event.kind == closed), "{events:?}");
        assert_eq!(pair.net.host(host).endpoint.connections(), 0);
    }
}

#[test]
fn half_close_lets_the_other_direction_go_on() {
    let (mut pair, conn, accepted) = connected(&Profile::file_arq(), &lossy(0.02));
    let (client, server) = (pair.client, pair.server);
    pair.net.with(client, |host, now| host.endpoint.close(now, conn));
    pair.net.run_for(Duration::from_secs(2));
    pair.send(server, accepted, vec![7; 5000]).unwrap();
    pair.net.run_for(Duration::from_secs(5));
    let bytes: usize = pair.receive(client, conn).iter().map(|message| message.payload.len()).sum();
    assert_eq!(bytes, 5000);
}

#[test]
// R-CM-8, R-ERR-2
fn an_idle_timeout_and_keepalives_work_against_each_other() {
    let tuning = Tuning { idle_timeout: Some(Duration::from_secs(10)), ..Profile::file_arq().tuning };
    for (keepalive, alive) in [(None, false), (Some(Duration::from_secs(3)), true)] {
        let tuning = Tuning { keepalive, ..tuning.clone() };
        let (mut pair, conn, _) =
            connected(&Profile { tuning, ..Profile::file_arq() }, &LinkConfig::ideal(MS * 10));
        pair.net.run_for(Duration::from_secs(60));
        assert_eq!(pair.net.host(pair.client).endpoint.is_established(conn), alive);
    }
}

#[test]
fn a_link_rate_dial_spaces_packets() {
    let (mut pair, conn, _) = connected(&Profile::file_arq(), &LinkConfig::ideal(MS * 5));
    let client = pair.client;
    pair.net.with(client, |host, now| {
        host.endpoint.dial(now, conn, Dial::LinkRate { packets_per_s: Some(100.0) });
    });
    pair.send(client, conn, vec![1; 500_000]).unwrap();
    pair.net.run_for(Duration::from_secs(1));
    let sent = pair.net.host(client).endpoint.conn_stats(conn).unwrap().data_sent;
    assert!((90..=125).contains(&sent), "{sent}");
}

// D14, R-CM-8
#[test]
fn by_default_the_dead_are_forgotten_and_the_silent_are_kept() {
    for protocol in [Profile::file_arq(), Profile::voice(), Profile::multipath()] {
        let mut pair = Pair::new(5, &protocol, &LinkConfig::ideal(MS * 10));
        let conn = pair.connect();
        pair.net.run_for(MS * 300);
        let accepted = pair.accepted().expect("the handshake succeeds");
        pair.net.run_for(Duration::from_secs(3600));
        for (host, conn) in [(pair.client, conn), (pair.server, accepted)] {
            assert!(pair.net.host(host).endpoint.is_established(conn), "{protocol}: silent for an hour");
        }
        // The client's host is gone, without a word.
        let config = restp_proto::EndpointConfig::default();
        pair.net.with(pair.client, |host, _| host.endpoint = restp_proto::Endpoint::new(config, [8; 32]));
        pair.net.add_rule(pair.links[0].1, restp_sim::DropRule::first(u64::MAX, |_| true));
        pair.net.run_for(Duration::from_secs(301));
        pair.net.with(pair.server, |host, _| host.take_events());
        assert_eq!(pair.net.host(pair.server).endpoint.connections(), 0, "{protocol}");
    }
}
