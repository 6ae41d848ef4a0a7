//! Rules about single packets, checked on everything that crosses the wire.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use restp_proto::profile::{
    AckReport, AckTiming, Congestion, FecKind, Framing, LossCause, Management, Ordering, Paths, Protection,
    Reliability, Scheduler, Tuning,
};
use restp_proto::wire::{Decoded, ErrorBits, Flags, Packet as Wire, Report};
use restp_proto::{
    CloseReason, Dial, Ecn, Encapsulation, Endpoint, EndpointConfig, EventKind, Instant, Knob, PathAddr,
    Profile, SendOptions,
};
use restp_sim::pair::{Pair, client_path, has_payload};
use restp_sim::{DropRule, LinkConfig, LinkId, Loss, Packet};

const MS: Duration = Duration::from_millis(1);

/// Notes every packet that enters a link.
type Tap = Arc<Mutex<Vec<Packet>>>;

fn tap(pair: &mut Pair, link: LinkId) -> Tap {
    let seen: Tap = Arc::default();
    let copy = Arc::clone(&seen);
    let note = move |packet: &Packet| {
        copy.lock().unwrap().push(packet.clone());
        false
    };
    pair.net.add_rule(link, DropRule::first(u64::MAX, note));
    seen
}

fn each(tap: &Tap, mut check: impl FnMut(&Decoded<'_>, &Packet)) {
    for packet in tap.lock().unwrap().iter() {
        check(&Wire::decode(&packet.data, None).expect("our own packets are legal"), packet);
    }
}

fn lossy() -> LinkConfig {
    LinkConfig { loss: Loss::Bernoulli(0.05), ..LinkConfig::new(10_000_000, MS * 15) }
}

fn is_data(decoded: &Decoded<'_>) -> bool {
    !decoded.packet.payload.is_empty() && !decoded.packet.header.error.contains(ErrorBits::ENC)
}

// R-NUM-2, R-NUM-4, R-FEC-5, R-CM-6
#[test]
fn numbers_count_data_and_the_end_and_never_change_their_meaning() {
    for profile in
        [Profile::file_arq(), Profile::file_harq(), Profile::web_opt(), Profile::satellite_outage()]
    {
        let mut pair = Pair::new(12, &profile, &lossy());
        let link = pair.links[0].0;
        let seen = tap(&mut pair, link);
        pair.transfer(100_000, Duration::from_secs(100)).unwrap();
        let mut payloads: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let (mut fins, mut encoded) = (BTreeSet::new(), BTreeSet::new());
        each(&seen, |decoded, _| {
            let Some(number) = decoded.packet.sequence.number() else { return };
            if is_data(decoded) {
                let old = payloads.entry(number).or_insert_with(|| decoded.packet.payload.to_vec());
                assert!(old == decoded.packet.payload, "{profile}: {number} means two things");
            } else if decoded.packet.header.error.contains(ErrorBits::ENC) {
                encoded.insert(number);
            } else if decoded.packet.header.flags.contains(Flags::FIN) {
                fins.insert(number);
            }
        });
        let (first, last) = (*payloads.keys().next().unwrap(), *payloads.keys().last().unwrap());
        assert_eq!(payloads.len() as u32, last - first + 1, "{profile}: encoded packets take no number");
        assert_eq!(fins.into_iter().collect::<Vec<_>>(), [last + 1], "{profile}");
        assert!(encoded.iter().all(|number| payloads.contains_key(number)), "{profile}");
    }
}

// R-FEC-5, R-CC-1
#[test]
fn encoded_packets_pass_the_window_and_take_their_turn_in_the_pacing() {
    let connected = |initial_window_packets| {
        let tuning =
            Tuning { initial_window_packets, fec_group: 4, tail_fec: false, ..Tuning::dissertation() };
        let profile = Profile {
            framing: Framing::Fixed,
            congestion: Congestion::NewReno,
            tuning,
            ..Profile::file_harq()
        };
        let mut pair = Pair::new(5, &profile, &LinkConfig::ideal(MS * 50));
        let conn = pair.connect();
        pair.net.run_for(MS * 300);
        (pair, conn)
    };
    let send = |pair: &mut Pair, conn| {
        for number in 0..40u8 {
            pair.send(pair.client, conn, vec![number; 100]).unwrap();
        }
    };
    let (mut pair, conn) = connected(4);
    send(&mut pair, conn);
    let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
    assert_eq!((stats.data_sent, stats.encoded_sent), (4, 1), "the window is full");
    // After a burst of ten, 30 packets of data and ten encoded ones leave every 10 ms.
    let (mut pair, conn) = connected(64);
    pair.net.with(pair.client, |host, now| {
        host.endpoint.dial(now, conn, Dial::LinkRate { packets_per_s: Some(100.0) });
    });
    send(&mut pair, conn);
    let accepted = pair.accepted().unwrap();
    pair.net.run_for(MS * (50 + 350));
    let early = pair.receive(pair.server, accepted).len();
    pair.net.run_for(MS * 100);
    let late = pair.receive(pair.server, accepted).len();
    assert!((32..40).contains(&early) && early + late == 40, "{early}, then {late}");
}

// R-DSS-2, R-DSS-3, R-MP-9
#[test]
fn every_packet_of_several_paths_says_where_its_data_belong() {
    let profile = Profile { paths: Paths::Spreading(Scheduler::RoundRobin), ..Profile::multipath() };
    let mut pair = Pair::with_paths(3, &profile, &[(lossy(), lossy()), (lossy(), lossy())]);
    let taps: Vec<[Tap; 2]> = pair
        .links
        .clone()
        .into_iter()
        .map(|(there, back)| [tap(&mut pair, there), tap(&mut pair, back)])
        .collect();
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(8));
    pair.net
        .with(pair.client, |host, now| host.endpoint.open_path(now, conn, client_path(1), false))
        .unwrap();
    pair.net.run_for(Duration::from_secs(8));
    pair.send(pair.client, conn, vec![1; 300_000]).unwrap();
    pair.net.run_for(Duration::from_secs(20));
    for [there, back] in &taps {
        let mut numbers = BTreeSet::new();
        each(there, |decoded, _| {
            let packet = &decoded.packet;
            if is_data(decoded) {
                let mapping = packet.dss.and_then(|dss| dss.mapping).expect("data carry a mapping");
                assert_eq!((Some(mapping.subflow_sequence), mapping.length), (packet.sequence.number(), 1));
                numbers.insert(packet.sequence.number().unwrap());
            } else if packet.header.flags.contains(Flags::ACK) && packet.multipath.is_none() {
                assert!(packet.dss.is_some_and(|dss| dss.data_ack.is_some()));
            }
        });
        assert!(numbers.len() > 50, "both paths are in use");
        let mut acknowledged = 0;
        each(back, |decoded, _| {
            if let restp_proto::wire::Sequence::Arq(arq) = decoded.packet.sequence
                && numbers.contains(&arq.acknowledgement.wrapping_sub(1))
            {
                acknowledged += 1;
            }
        });
        assert!(acknowledged > 20, "acknowledgements return on the path of the data");
    }
}

// R-ACK-5, R-ACK-6
#[test]
fn reports_have_the_agreed_form() {
    for report in [AckReport::Cumulative, AckReport::Nack, AckReport::Sack, AckReport::Snack] {
        let profile = Profile { ack_report: report, ..Profile::file_arq() };
        let mut pair = Pair::new(12, &profile, &lossy());
        let link = pair.links[0].1;
        let seen = tap(&mut pair, link);
        pair.transfer(300_000, Duration::from_secs(200)).unwrap();
        let (mut reports, mut vectors) = (0, 0);
        each(&seen, |decoded, _| match decoded.packet.report {
            Report::None => {}
            Report::Sack(blocks) => {
                assert!(report == AckReport::Sack && blocks.len() <= 4);
                reports += 1;
            }
            Report::Snack(snack) => {
                assert!(matches!(report, AckReport::Nack | AckReport::Snack));
                reports += 1;
                vectors += usize::from(!snack.vector.is_empty());
            }
        });
        assert_eq!(reports > 5, report != AckReport::Cumulative, "{report:?}: {reports}");
        assert_eq!(vectors > 0, report == AckReport::Snack, "{report:?}");
    }
}

// E3, E4, R-ACK-2, R-ACK-3
#[test]
fn positive_acknowledgements_answer_every_other_packet_and_delayed_ones_every_period() {
    let count = |timing| {
        let profile = Profile {
            ack_timing: timing,
            congestion: Congestion::Cubic,
            tuning: Tuning { initial_window_packets: 500, pacing: false, ..Profile::file_arq().tuning },
            ..Profile::file_arq()
        };
        let mut pair = Pair::new(1, &profile, &LinkConfig::new(10_000_000, MS * 200));
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(2));
        let link = pair.links[0].1;
        let seen = tap(&mut pair, link);
        pair.send(pair.client, conn, vec![1; 400 * 1000]).unwrap();
        pair.net.run_for(Duration::from_secs(3));
        let accepted = pair.accepted().unwrap();
        let packets = pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().packets_received;
        (packets, seen.lock().unwrap().len() as u64)
    };
    let (packets, positive) = count(AckTiming::Positive);
    assert!((packets / 2 - 4..=packets / 2 + 8).contains(&positive), "{positive} for {packets}");
    let (_, delayed) = count(AckTiming::Delayed);
    // 340 packets take a third of a second at 10 Mbit/s: four periods of 100 ms.
    assert!((3..=8).contains(&delayed), "{delayed}");
}

// R-ACK-1
#[test]
fn without_retransmission_the_acknowledgement_number_passes_over_losses() {
    let profile = Profile {
        management: Management::ThreeWay,
        congestion: Congestion::NewReno,
        ack_timing: AckTiming::Positive,
        ..Profile::datagram()
    };
    let mut pair = Pair::new(5, &profile, &LinkConfig::ideal(MS * 20));
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    pair.net.add_rule(pair.links[0].0, DropRule::first(3, has_payload).after(4));
    for number in 0..60u8 {
        pair.send(pair.client, conn, vec![number; 100]).unwrap();
        pair.net.run_for(MS * 4);
    }
    pair.net.run_for(Duration::from_secs(2));
    let client = &pair.net.host(pair.client).endpoint;
    let stats = client.conn_stats(conn).unwrap();
    assert_eq!((stats.retransmitted, client.path_stats(conn)[0].1.in_flight_packets), (0, 0));
    assert!(stats.congestion_events >= 1, "the loss was noticed all the same");
}

// G6, G7, R-HARQ-1, R-HARQ-2, R-HARQ-3
#[test]
fn harq_repairs_one_loss_and_asks_for_the_range_of_two() {
    for (losses, repaired) in [(1, 1), (2, 0)] {
        let profile = Profile { framing: Framing::Fixed, ..Profile::file_harq() };
        let mut pair = Pair::new(5, &profile, &LinkConfig::ideal(MS * 50));
        let conn = pair.connect();
        pair.net.run_for(MS * 300);
        let link = pair.links[0].1;
        let seen = tap(&mut pair, link);
        pair.net.add_rule(pair.links[0].0, DropRule::first(losses, has_payload).after(2));
        for number in 0..8u8 {
            pair.send(pair.client, conn, vec![number; 100]).unwrap();
        }
        pair.net.run_for(Duration::from_secs(2));
        let accepted = pair.accepted().unwrap();
        assert_eq!(pair.receive(pair.server, accepted).len(), 8);
        assert_eq!(pair.net.host(pair.server).endpoint.conn_stats(accepted).unwrap().repaired, repaired);
        let (mut marked, mut ranges) = (0, BTreeSet::new());
        each(&seen, |decoded, _| {
            marked += u64::from(decoded.packet.header.flags.contains(Flags::ECE));
            ranges.extend(decoded.packet.fec.map(|fec| fec.range).filter(|range| *range > 0));
        });
        let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
        if losses == 1 {
            assert!(marked == 1 && ranges.is_empty(), "{marked} {ranges:?}");
            assert_eq!(stats.ecn_echoes, 1);
        } else {
            // Packets 3 and 4 are missing while 3 is the next expected: a range of two.
            assert!(ranges.contains(&2), "{ranges:?}");
            assert!(stats.retransmitted >= 2 && stats.timeouts == 0, "{stats:?}");
        }
    }
}

// F6, R-ARQ-7
#[test]
fn what_is_too_late_is_not_repeated() {
    for (lifetime, repeated) in [(MS * 20, false), (MS * 2000, true)] {
        let profile =
            Profile { tuning: Tuning { tail_probe: false, ..Profile::voice().tuning }, ..Profile::voice() };
        let mut pair = Pair::new(5, &profile, &LinkConfig::ideal(MS * 50));
        let conn = pair.connect();
        pair.net.run_for(MS * 300);
        pair.net.add_rule(pair.links[0].0, DropRule::first(1, has_payload).after(1));
        let options = SendOptions { lifetime: Some(lifetime), push: false };
        for number in 0..8u8 {
            let payload = vec![number; 100].into();
            pair.net.with(pair.client, |host, now| host.endpoint.send(now, conn, payload, options)).unwrap();
        }
        pair.net.run_for(MS * 400);
        let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
        assert_eq!((stats.retransmitted > 0, stats.abandoned > 0), (repeated, !repeated), "{stats:?}");
    }
}

// D13, R-CM-7
#[test]
fn an_unreliable_connection_says_goodbye_three_times_and_goes() {
    let profile = Profile { management: Management::ThreeWay, ..Profile::datagram() };
    let mut pair = Pair::new(5, &profile, &LinkConfig::ideal(MS * 20));
    let conn = pair.connect();
    pair.net.run_for(MS * 300);
    let is_fin = |packet: &Packet| {
        Wire::decode(&packet.data, None).is_ok_and(|decoded| decoded.packet.header.flags.contains(Flags::FIN))
    };
    pair.net.add_rule(pair.links[0].0, DropRule::first(u64::MAX, is_fin));
    pair.net.with(pair.client, |host, now| host.endpoint.close(now, conn));
    pair.net.run_for(Duration::from_secs(60));
    assert_eq!(pair.net.link_stats(pair.links[0].0).scripted, 3);
    let events = &pair.net.host(pair.client).events;
    assert!(events.iter().any(|event| event.kind == EventKind::Closed(CloseReason::Graceful)), "{events:?}");
}

// C2, K1, R-ENCAP-1, R-ENCAP-2
#[test]
fn raw_ip_packets_are_bound_to_their_addresses_and_udp_ones_are_not() {
    for (encapsulation, taken) in [(Encapsulation::Udp, true), (Encapsulation::RawIp, false)] {
        let config = EndpointConfig { encapsulation, ..EndpointConfig::default() };
        let composition = Profile::file_arq().validate().unwrap();
        let mut client = Endpoint::new(config.clone(), [1; 32]);
        let mut server = Endpoint::new(config, [2; 32]);
        server.listen(7, composition.clone(), false).unwrap();
        let path = client_path(0);
        client.connect(Instant::ZERO, path, 9, 7, &composition).unwrap();
        let mut syn = Vec::new();
        client.poll_transmit(Instant::ZERO, 1, &mut syn).unwrap();
        let there = PathAddr { local: path.remote, remote: path.local };
        server.handle(Instant::ZERO, there, Ecn::NotEct, &syn);
        assert_eq!(server.stats().stateless_answers, 1, "{encapsulation:?}");
        // A translator on the way has put another source address.
        let moved = PathAddr { remote: client_path(5).local, ..there };
        server.handle(Instant::ZERO, moved, Ecn::NotEct, &syn);
        assert_eq!(server.stats().stateless_answers == 2, taken, "{encapsulation:?}");
    }
}

// H11, R-MP-12
#[test]
fn h11_early_data_and_several_paths_go_together() {
    let profile = Profile { management: Management::Opportunistic, ..Profile::multipath() };
    let link = LinkConfig::ideal(MS * 50);
    let mut pair = Pair::with_paths(5, &profile, &[(link.clone(), link.clone()), (link.clone(), link)]);
    let first = pair.connect();
    pair.net.run_for(Duration::from_secs(1));
    pair.net.with(pair.client, |host, now| host.endpoint.forget(now, first));
    pair.net.run_for(Duration::from_secs(1));
    pair.net.with(pair.server, |host, _| host.take_events());
    let conn = pair.connect();
    pair.send(pair.client, conn, vec![1; 5000]).unwrap();
    pair.net.run_for(MS * 60);
    let accepted = pair.accepted().expect("the cookie opens the connection");
    let early = pair.receive(pair.server, accepted);
    assert_eq!(early.iter().map(|message| message.payload.len()).sum::<usize>(), 5000);
    assert!(early.iter().all(|message| message.early));
    pair.net.run_for(MS * 300);
    pair.net
        .with(pair.client, |host, now| host.endpoint.open_path(now, conn, client_path(1), false))
        .unwrap();
    pair.net.run_for(MS * 300);
    assert_eq!(pair.net.host(pair.server).endpoint.path_stats(accepted).len(), 2);
}

// I1, R-LOSS-1
#[test]
fn the_meaning_of_a_loss_can_be_changed_while_the_connection_runs() {
    let mut pair = Pair::new(5, &Profile::file_arq(), &lossy());
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(5));
    pair.net.with(pair.client, |host, now| host.endpoint.turn(now, conn, Knob::LossCause(LossCause::Outage)));
    let events = pair.net.with(pair.client, |host, _| host.take_events());
    assert!(
        events.iter().any(|event| event.kind == EventKind::CauseChanged(LossCause::Outage)),
        "{events:?}"
    );
    for (there, back) in pair.links.clone() {
        let down =
            restp_sim::Outage { from: pair.net.now(), until: pair.net.now() + Duration::from_secs(30) };
        pair.net.link_mut(there).outages.push(down);
        pair.net.link_mut(back).outages.push(down);
    }
    pair.send(pair.client, conn, vec![1; 5000]).unwrap();
    pair.net.run_for(Duration::from_secs(10));
    assert!(pair.net.host(pair.client).endpoint.path_stats(conn)[0].1.outage);
}

// R-PROT-9
#[test]
fn early_data_are_never_protected() {
    let profile = Profile { protection: Protection::Protected, ..Profile::web_opt() };
    let reasons = profile.validate().unwrap_err();
    assert!(reasons.iter().any(|reason| reason.to_string().contains("before keys exist")), "{reasons:?}");
}

// G9, R-FEC-8
#[test]
fn g9_the_responder_chooses_the_kind_of_encoding() {
    let client = Profile { framing: Framing::Fixed, ..Profile::file_harq() };
    let own = Profile { reliability: Reliability::Harq(FecKind::Interleaved), ..client.clone() };
    let link = (LinkConfig::ideal(MS * 10), LinkConfig::ideal(MS * 10));
    let mut pair = Pair::with_config(5, &client, &own, &[link], &EndpointConfig::default());
    let conn = pair.connect();
    pair.net.run_for(MS * 200);
    let agreed = pair.net.host(pair.client).endpoint.composition(conn).unwrap().profile().clone();
    assert_eq!((agreed.reliability, agreed.ordering), (own.reliability, Ordering::Full));
}

// R-CM-6
#[test]
fn messages_without_a_connection_end_without_a_fin() {
    let mut pair = Pair::new(5, &Profile::datagram(), &LinkConfig::ideal(MS * 20));
    let link = pair.links[0].0;
    let seen = tap(&mut pair, link);
    let conn = pair.connect();
    for _ in 0..3 {
        pair.send(pair.client, conn, vec![1; 100]).unwrap();
    }
    // What was sent has not left yet.
    pair.net.with(pair.client, |host, now| host.endpoint.close(now, conn));
    pair.net.run_for(MS * 100);
    let kinds: Vec<_> = pair.net.host(pair.client).events.iter().map(|event| event.kind.clone()).collect();
    assert_eq!(kinds.last(), Some(&EventKind::Closed(CloseReason::Graceful)));
    let mut data = 0;
    each(&seen, |decoded, _| {
        assert!(!decoded.packet.header.flags.contains(Flags::FIN));
        data += u32::from(is_data(decoded));
    });
    assert_eq!(data, 3);
}
