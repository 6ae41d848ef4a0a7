//! Every combination of services: validated, and each valid one carries data over a lossy link.

use std::time::Duration;

use restp_proto::profile::{
    AckReport, AckTiming, Congestion, Dispensable, FecKind, FlowControl, Framing, LossCause, Management,
    Ordering, Paths, Reliability, Scheduler, Tuning,
};
use restp_proto::{Profile, SendError};
use restp_sim::{LinkConfig, Loss, pair::Pair};

const MESSAGES: u32 = 24;

/// All combinations of the services that shape a connection.
fn all() -> Vec<Profile> {
    use Congestion::{Bbr, Bic, Cubic, Lia, NewReno};
    let mut profiles = Vec::new();
    let several = [
        Paths::Single,
        Paths::HotStandby,
        Paths::Overflow,
        Paths::Spreading(Scheduler::RoundRobin),
        Paths::Spreading(Scheduler::FastestRtt),
        Paths::Copies,
    ];
    let reliabilities = [
        Reliability::None,
        Reliability::Quasi(FecKind::Xor),
        Reliability::Quasi(FecKind::Interleaved),
        Reliability::Arq,
        Reliability::Harq(FecKind::Xor),
        Reliability::Harq(FecKind::Interleaved),
    ];
    let acks = [
        (AckTiming::None, AckReport::Cumulative),
        (AckTiming::Positive, AckReport::Cumulative),
        (AckTiming::Positive, AckReport::Nack),
        (AckTiming::Positive, AckReport::Sack),
        (AckTiming::Positive, AckReport::Snack),
        (AckTiming::Delayed, AckReport::Cumulative),
        (AckTiming::Delayed, AckReport::Nack),
        (AckTiming::Delayed, AckReport::Sack),
        (AckTiming::Delayed, AckReport::Snack),
    ];
    for management in [Management::Connectionless, Management::ThreeWay, Management::Opportunistic] {
        for flow_control in [FlowControl::None, FlowControl::Window] {
            for congestion in [Congestion::None, NewReno, Bic, Cubic, Bbr, Lia] {
                for ordering in [Ordering::Unordered, Ordering::Partial, Ordering::Full] {
                    for reliability in reliabilities {
                        for (ack_timing, ack_report) in acks {
                            for paths in several {
                                profiles.push(Profile {
                                    management,
                                    flow_control,
                                    congestion,
                                    ordering,
                                    reliability,
                                    ack_timing,
                                    ack_report,
                                    paths,
                                    i_own_the_path: true,
                                    ..Profile::datagram()
                                });
                            }
                        }
                    }
                }
            }
        }
    }
    profiles
}

/// Short name for messages of failed assertions.
fn name(p: &Profile) -> String {
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} crc={}",
        p.management,
        p.flow_control,
        p.congestion,
        p.ordering,
        p.reliability,
        p.ack_timing,
        p.ack_report,
        p.paths,
        p.crc
    )
}

/// Sends numbered messages over a lossy link and checks what the composition promises.
fn carries_data(profile: &Profile, seed: u64) {
    let what = name(profile);
    let loss = if profile.reliability == Reliability::None { 0.0 } else { 0.05 };
    // All messages at once find room: what has no congestion control would lose the rest.
    let link = LinkConfig {
        loss: Loss::Bernoulli(loss),
        queue_packets: 2 * MESSAGES as usize,
        ..LinkConfig::new(5_000_000, Duration::from_millis(10))
    };
    let paths = if profile.paths == Paths::Single { 1 } else { 2 };
    let mut pair = Pair::with_paths(seed, profile, &vec![(link.clone(), link); paths]);
    let conn = pair.connect();
    let (client, server) = (pair.client, pair.server);
    if paths == 2 {
        // Joins wait for the handshake, which losses may delay.
        let opened = (0..12).any(|_| {
            pair.net.run_for(Duration::from_secs(5));
            let path = restp_sim::pair::client_path(1);
            pair.net.with(client, |host, now| host.endpoint.open_path(now, conn, path, false)).is_ok()
        });
        assert!(opened, "{what}, seed {seed}: the second path was not opened");
    }
    let mut next = 0;
    let mut got = Vec::new();
    for _ in 0..20_000 {
        while next < MESSAGES {
            let mut payload = next.to_be_bytes().to_vec();
            payload.resize(40 + next as usize * 20, 9);
            match pair.send(client, conn, payload) {
                Ok(()) => next += 1,
                Err(SendError::Full(_)) => break,
                Err(error) => panic!("{what}, seed {seed}: {error}"),
            }
        }
        if let Some(accepted) = pair.accepted() {
            got.extend(pair.receive(server, accepted));
        }
        // Connectionless messages arrive without a connection.
        pair.net.with(server, |host, _| {
            while let Some(datagram) = host.endpoint.recv_datagram(restp_sim::pair::SERVER_PORT) {
                let index = u64::from(u32::from_be_bytes(datagram.payload[..4].try_into().unwrap()));
                got.push(restp_proto::Message { payload: datagram.payload, early: false, index });
            }
        });
        if got.len() == MESSAGES as usize || !pair.net.step() {
            break;
        }
    }
    let numbers: Vec<u32> =
        got.iter().map(|message| u32::from_be_bytes(message.payload[..4].try_into().unwrap())).collect();
    for message in &got {
        let number = u32::from_be_bytes(message.payload[..4].try_into().unwrap());
        assert_eq!(message.payload.len(), 40 + number as usize * 20, "{what}, seed {seed}");
    }
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), numbers.len(), "{what}, seed {seed}: a message came twice: {numbers:?}");
    if profile.ordering != Ordering::Unordered {
        assert!(numbers.is_sorted(), "{what}, seed {seed}: out of order: {numbers:?}");
    }
    let complete = numbers.len() == MESSAGES as usize;
    let lossless = profile.reliability == Reliability::None;
    let certain = (profile.reliability.retransmits() && profile.ordering != Ordering::Partial) || lossless;
    if certain {
        assert!(complete, "{what}, seed {seed}: {numbers:?}");
    } else {
        assert!(numbers.len() >= MESSAGES as usize * 2 / 3, "{what}, seed {seed}: {numbers:?}");
    }
}

// R-COMP-1
#[test]
fn every_valid_composition_carries_data_and_every_refusal_has_a_reason() {
    let mut valid = 0;
    let mut refused = 0;
    for (number, profile) in all().into_iter().enumerate() {
        match profile.clone().validate() {
            Ok(_) => {
                valid += 1;
                let crc = number % 2 == 0;
                // Long enough for a repetition, so that partial order gives up only what is really late.
                let tuning = Tuning { hold: Duration::from_millis(300), ..Tuning::default() };
                carries_data(&Profile { crc, tuning, ..profile }, number as u64);
            }
            Err(conflicts) => {
                refused += 1;
                assert!(
                    conflicts.iter().all(|conflict| conflict.to_string().ends_with('.')),
                    "{}",
                    name(&profile)
                );
            }
        }
    }
    // A rule that is dropped or added by mistake shows here.
    assert_eq!((valid, refused), (10_939, 24_053));
}

#[test]
// R-CM-1, R-HDR-11
fn every_preset_carries_data_in_both_variants() {
    for preset in Profile::PRESETS {
        for profile in [Profile::preset(preset).unwrap(), Profile::preset(preset).unwrap().dissertation()] {
            let fixed = Profile { framing: Framing::Fixed, ..profile };
            carries_data(&fixed, 3);
        }
    }
}

// R-CM-3
#[test]
fn d1_what_a_peer_lacks_is_left_out_or_the_connection_is_refused() {
    let link = LinkConfig::ideal(Duration::from_millis(10));
    let config = restp_proto::EndpointConfig::default();
    for (dispensable, connected) in [(true, true), (false, false)] {
        let wanted = Profile {
            dispensable: Dispensable { several_paths: dispensable, ack_report: true, fec: true },
            loss_cause: LossCause::Congestion,
            ..Profile::multipath()
        };
        let own = Profile::file_arq();
        let mut pair = Pair::with_config(1, &wanted, &own, &[(link.clone(), link.clone())], &config);
        pair.net.with(pair.server, |host, _| {
            host.endpoint.unlisten(restp_sim::pair::SERVER_PORT);
            host.endpoint
                .listen(restp_sim::pair::SERVER_PORT, own.clone().validate().unwrap(), true)
                .unwrap();
        });
        let conn = pair.connect();
        pair.net.run_for(Duration::from_secs(5));
        let established = pair.net.host(pair.client).endpoint.is_established(conn);
        assert_eq!(established, connected);
        if connected {
            let endpoint = &pair.net.host(pair.client).endpoint;
            assert_eq!(endpoint.composition(conn).unwrap().profile().paths, Paths::Single);
        }
    }
}
