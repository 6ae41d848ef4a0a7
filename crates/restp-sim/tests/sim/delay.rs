//! Golden table: one-way delay of a steady flow against loss, round-trip time and profile.

use std::fmt::Write;
use std::time::Duration;

use restp_proto::Profile;
use restp_proto::profile::{AckTiming, Congestion, FecKind, FlowControl, Framing, Ordering, Reliability};
use restp_sim::pair::Pair;
use restp_sim::{LinkConfig, Loss};

use crate::snapshot::compare;

const RATE_BPS: u64 = 10_000_000;
const MESSAGE_BYTES: usize = 160;
const MESSAGES: usize = 250;
const INTERVAL: Duration = Duration::from_millis(20);
/// How often the receiving application looks.
const LOOK: Duration = Duration::from_millis(1);
/// After the last message everything that will arrive has arrived.
const TAIL: Duration = Duration::from_secs(20);

fn rows() -> Vec<(&'static str, Profile)> {
    let quasi = Profile {
        flow_control: FlowControl::None,
        congestion: Congestion::None,
        ordering: Ordering::Unordered,
        reliability: Reliability::Quasi(FecKind::Xor),
        ack_timing: AckTiming::None,
        ack_report: restp_proto::profile::AckReport::Cumulative,
        ..Profile::voice()
    };
    vec![
        ("voice", Profile::voice()),
        ("voice_dissertation", Profile::voice().dissertation()),
        ("quasi", quasi),
        ("arq", Profile { framing: Framing::Fixed, ..Profile::file_arq() }),
        ("harq", Profile { framing: Framing::Fixed, ..Profile::file_harq() }),
    ]
}

/// Half and 99 % of the messages that arrived took at most so long, in milliseconds; and how many arrived.
fn measure(profile: &Profile, loss: f64, rtt_ms: u64) -> (f64, f64, usize) {
    let way = Duration::from_millis(rtt_ms) / 2;
    let there = LinkConfig { loss: Loss::Bernoulli(loss), ..LinkConfig::new(RATE_BPS, way) };
    let mut pair = Pair::with_paths(1, profile, &[(there, LinkConfig::new(RATE_BPS, way))]);
    let conn = pair.connect();
    pair.net.run_for(Duration::from_secs(10));
    let accepted = pair.accepted().expect("the handshake succeeds");
    let start = pair.net.now();
    let (mut sent, mut delays_ms) = (0, Vec::new());
    let end = start + INTERVAL * MESSAGES as u32 + TAIL;
    while pair.net.now() < end && delays_ms.len() < MESSAGES {
        if sent < MESSAGES && pair.net.now() >= start + INTERVAL * sent as u32 {
            let mut message = vec![0; MESSAGE_BYTES];
            message[..8].copy_from_slice(&(sent as u64).to_be_bytes());
            pair.send(pair.client, conn, message).unwrap();
            sent += 1;
        }
        for message in pair.receive(pair.server, accepted) {
            let number = u64::from_be_bytes(message.payload[..8].try_into().unwrap());
            let left = start + INTERVAL * number as u32;
            delays_ms.push(pair.net.now().saturating_since(left).as_secs_f64() * 1e3);
        }
        pair.net.run_for(LOOK);
    }
    delays_ms.sort_by(f64::total_cmp);
    let at = |share: f64| delays_ms[((share * delays_ms.len() as f64).ceil() as usize).max(1) - 1];
    (at(0.5), at(0.99), delays_ms.len())
}

#[test]
fn one_way_delay_is_what_it_was() {
    let mut table = String::from("profile loss rtt_ms p50_ms p99_ms arrived\n");
    for (name, profile) in rows() {
        for loss in [0.0, 0.01, 0.05] {
            for rtt_ms in [10, 100, 600] {
                let (median, p99, arrived) = measure(&profile, loss, rtt_ms);
                writeln!(table, "{name} {loss} {rtt_ms} {median:.1} {p99:.1} {arrived}").unwrap();
            }
        }
    }
    compare(&table, include_str!("delay.txt"), "delay.txt");
}
