//! What a loss means: congestion, corruption, outage, and finding out which.

use std::time::Duration;

use restp_proto::profile::{AckReport, Congestion, LossCause, OutageProbe, Tuning};
use restp_proto::{Dial, EventKind, Instant, Profile};
use restp_sim::pair::Pair;
use restp_sim::{LinkConfig, Loss, Outage};

const MS: Duration = Duration::from_millis(1);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

/// Bytes that arrive within `time` when the sender always has more.
fn bulk(profile: &Profile, there: &LinkConfig, back: &LinkConfig, time: Duration) -> (Pair, usize) {
    let mut pair = Pair::with_paths(2, profile, &[(there.clone(), back.clone())]);
    let conn = pair.connect();
    let (client, server) = (pair.client, pair.server);
    let piece = bytes::Bytes::from(vec![3; 100_000]);
    let mut received = 0;
    let end = pair.net.now() + time;
    while pair.net.now() < end {
        while pair.send(client, conn, piece.clone()).is_ok() {}
        if let Some(accepted) = pair.accepted() {
            received +=
                pair.receive(server, accepted).iter().map(|message| message.payload.len()).sum::<usize>();
        }
        pair.net.run_for(MS * 5);
    }
    (pair, received)
}

// I2, R-LOSS-2
#[test]
fn on_an_owned_path_corruption_mode_keeps_its_rate_where_congestion_mode_collapses() {
    let link = LinkConfig { loss: Loss::Bernoulli(0.05), ..LinkConfig::new(10_000_000, MS * 50) };
    let back = LinkConfig::new(10_000_000, MS * 50);
    let time = Duration::from_secs(20);
    let (_, congestion) = bulk(&Profile::file_arq(), &link, &back, time);
    let corruption = Profile {
        loss_cause: LossCause::Corruption,
        congestion: Congestion::None,
        i_own_the_path: true,
        tuning: Tuning { open_window_packets: 100, ..Profile::file_arq().tuning },
        ..Profile::file_arq()
    };
    let (_, corruption) = bulk(&corruption, &link, &back, time);
    assert!(corruption > congestion * 3, "{corruption} against {congestion}");
}

// I3, I4, I5, R-LOSS-3, R-LOSS-4, R-LOSS-5
#[test]
fn an_outage_freezes_the_sender_and_it_resumes_where_it_was() {
    for probe in [OutageProbe::LastSent, OutageProbe::FirstUnacked] {
        let outage = Outage { from: at(10), until: at(100) };
        let link = LinkConfig { outages: vec![outage], ..LinkConfig::new(10_000_000, MS * 50) };
        let profile = Profile {
            tuning: Tuning { outage_probe: probe, ..Profile::satellite_outage().tuning },
            ..Profile::satellite_outage()
        };
        let (mut pair, frozen) = bulk(&profile, &link, &link, Duration::from_secs(105));
        let (_, plain) = bulk(&Profile::file_arq(), &link, &link, Duration::from_secs(105));
        assert!(frozen > plain, "{frozen} against {plain}");
        // Ten seconds before and nearly five after at almost full rate.
        assert!(frozen as f64 > 0.7 * 15.0 * 10e6 / 8.0, "{frozen}");
        let client = pair.client;
        let events = pair.net.with(client, |host, _| host.take_events());
        let conn = events[0].conn;
        let stats = pair.net.host(client).endpoint.conn_stats(conn).unwrap();
        assert_eq!(stats.outages, 1);
        // One probe per timeout without back-off, not more often than 200 ms (answer I4).
        assert!((200..=450).contains(&stats.outage_probes), "{}", stats.outage_probes);
    }
}

// I5, R-LOSS-5
#[test]
fn the_rate_of_before_an_outage_holds_for_the_repetitions_and_grows_again_afterwards() {
    for pacing in [true, false] {
        // The outage ends slow start long before the line is full.
        let outage = Outage { from: at(2), until: at(4) };
        let link = LinkConfig { outages: vec![outage], ..LinkConfig::new(10_000_000, MS * 300) };
        let profile = Profile {
            tuning: Tuning { pacing, ..Profile::satellite_outage().tuning },
            ..Profile::satellite_outage()
        };
        let (_, received) = bulk(&profile, &link, &link, Duration::from_secs(40));
        assert!(received as f64 > 0.5 * 30.0 * 10e6 / 8.0, "{received}, pacing {pacing}");
    }
}

// I4
#[test]
fn an_outage_beyond_the_limit_ends_the_connection() {
    let outage = Outage { from: at(2), until: at(1000) };
    let link = LinkConfig { outages: vec![outage], ..LinkConfig::new(1_000_000, MS * 20) };
    let tuning =
        Tuning { outage_give_up: Some(Duration::from_secs(30)), ..Profile::satellite_outage().tuning };
    let (mut pair, _) =
        bulk(&Profile { tuning, ..Profile::satellite_outage() }, &link, &link, Duration::from_secs(40));
    let events = pair.net.with(pair.client, |host, _| host.take_events());
    let reason = EventKind::Closed(restp_proto::CloseReason::Outage);
    assert!(events.iter().any(|event| event.kind == reason), "{events:?}");
}

#[test]
// R-COMP-3
fn dials_begin_and_end_an_outage_without_waiting_for_timers() {
    let link = LinkConfig::new(10_000_000, MS * 50);
    let mut pair = Pair::new(2, &Profile::satellite_outage(), &link);
    let conn = pair.connect();
    pair.net.run_for(MS * 500);
    let client = pair.client;
    let path = restp_sim::pair::client_path(0);
    pair.net.with(client, |host, now| host.endpoint.dial(now, conn, Dial::PathDown(path)));
    pair.send(client, conn, vec![1; 5000]).unwrap();
    pair.net.run_for(MS * 150);
    assert!(pair.net.host(client).endpoint.path_stats(conn)[0].1.outage);
    assert_eq!(pair.net.host(client).endpoint.conn_stats(conn).unwrap().data_sent, 0);
    pair.net.with(client, |host, now| host.endpoint.dial(now, conn, Dial::PathUp(path)));
    pair.net.run_for(MS * 150);
    let accepted = pair.accepted().unwrap();
    let got: usize = pair.receive(pair.server, accepted).iter().map(|message| message.payload.len()).sum();
    assert_eq!(got, 5000);
}

// R-LOSS-6, R-CRC-6
#[test]
fn dynamic_identification_finds_bit_errors_a_queue_and_an_outage() {
    let profile = Profile { loss_cause: LossCause::Dynamic, i_own_the_path: true, ..Profile::file_arq() };
    let causes = |link: &LinkConfig, time: u64| -> Vec<LossCause> {
        let back = LinkConfig::new(10_000_000, MS * 25);
        let (mut pair, _) = bulk(&profile, link, &back, Duration::from_secs(time));
        let events = pair.net.with(pair.client, |host, _| host.take_events());
        events
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::CauseChanged(cause) => Some(cause),
                _ => None,
            })
            .collect()
    };
    // A queue big enough that losses are bit errors only.
    let noisy =
        LinkConfig { bit_error_ratio: 3e-6, queue_packets: 10_000, ..LinkConfig::new(50_000_000, MS * 25) };
    assert!(causes(&noisy, 10).contains(&LossCause::Corruption));
    let full = LinkConfig { queue_packets: 60, ..LinkConfig::new(5_000_000, MS * 25) };
    assert_eq!(causes(&full, 10), [], "a full queue is congestion from the first to the last loss");
    let gone = LinkConfig {
        outages: vec![Outage { from: at(5), until: at(20) }],
        ..LinkConfig::new(50_000_000, MS * 25)
    };
    let gone = LinkConfig { queue_packets: 100, ..gone };
    assert!(causes(&gone, 25).contains(&LossCause::Outage));
}

// R-LOSS-6
#[test]
fn an_outage_that_is_found_out_costs_little_more_than_one_that_is_known() {
    let link = LinkConfig {
        queue_packets: 64,
        outages: vec![Outage { from: at(10), until: at(13) }, Outage { from: at(30), until: at(40) }],
        ..LinkConfig::new(2_000_000, MS * 25)
    };
    let back = LinkConfig { outages: link.outages.clone(), ..LinkConfig::new(2_000_000, MS * 25) };
    let arrived = |profile: Profile| bulk(&profile, &link, &back, Duration::from_secs(60)).1;
    let taken_for = |loss_cause| Profile { loss_cause, ..Profile::file_arq() };
    let (known, found_out) = (arrived(taken_for(LossCause::Outage)), arrived(taken_for(LossCause::Dynamic)));
    assert!(found_out * 20 > known * 19, "{found_out} against {known}");
    let mut backs_off = taken_for(LossCause::Congestion);
    backs_off.tuning.tail_probe = false;
    assert!(found_out > arrived(backs_off), "timers that back off come back later");
}

// C3, R-LOSS-6
#[test]
fn knowing_the_cause_pays_on_a_noisy_link() {
    let noisy =
        LinkConfig { bit_error_ratio: 3e-6, queue_packets: 10_000, ..LinkConfig::new(20_000_000, MS * 40) };
    let back = LinkConfig::new(20_000_000, MS * 40);
    let time = Duration::from_secs(20);
    let (_, blind) = bulk(&Profile::file_arq(), &noisy, &back, time);
    let dynamic = Profile { loss_cause: LossCause::Dynamic, ..Profile::file_arq() };
    let (_, careful) = bulk(&dynamic, &noisy, &back, time);
    let (_, owned) = bulk(&Profile { i_own_the_path: true, ..dynamic }, &noisy, &back, time);
    assert!(careful > blind * 11 / 10, "{careful} against {blind}");
    assert!(owned > blind * 2, "{owned} against {blind}");
}

// I9, R-CC-7
#[test]
// R-ENCAP-4
fn marks_slow_the_sender_down_without_loss() {
    let link = LinkConfig {
        mark_above_packets: Some(20),
        queue_packets: 500,
        ..LinkConfig::new(10_000_000, MS * 20)
    };
    let back = LinkConfig::new(10_000_000, MS * 20);
    let (mut pair, received) = bulk(&Profile::file_arq(), &link, &back, Duration::from_secs(10));
    let conn = pair.net.with(pair.client, |host, _| host.take_events())[0].conn;
    let stats = pair.net.host(pair.client).endpoint.conn_stats(conn).unwrap();
    assert!(stats.ecn_echoes > 0 && stats.congestion_events > 0, "{stats:?}");
    assert_eq!(pair.net.link_stats(pair.links[0].0).overflow, 0);
    assert!(received as f64 > 0.8 * 10e6 * 10.0 / 8.0, "{received}");
}

// R-ARQ-5
#[test]
fn a_loss_of_a_full_queue_is_repaired_without_a_timeout() {
    let profile = Profile { ack_report: AckReport::Cumulative, ..Profile::file_arq().dissertation() };
    let there = LinkConfig { queue_packets: 52, ..LinkConfig::new(1_000_000, MS * 300) };
    let back = LinkConfig::new(1_000_000, MS * 300);
    let timeouts = |seconds| {
        let (pair, _) = bulk(&profile, &there, &back, Duration::from_secs(seconds));
        let client = pair.net.host(pair.client);
        let stats = client.endpoint.conn_stats(client.events[0].conn).expect("it still sends");
        (stats.timeouts, stats.congestion_events)
    };
    // The first flight overruns the queue by far; from then on the window grows by a packet a round trip.
    let (early, late) = (timeouts(150), timeouts(450));
    assert!(late.1 > early.1 + 2, "the queue overflows: {early:?}, {late:?}");
    assert_eq!(early.0, late.0);
}
