//! Soak: millions of packets through changing faults, nothing lost, duplicated or reordered beyond the contract.
//!
//! Also the body of `examples/soak.rs`, which runs it for as long as one wants.

use std::time::Duration;

use restp_proto::profile::{
    Congestion, FecKind, Framing, LossCause, Ordering, Paths, Reliability, Scheduler, Tuning,
};
use restp_proto::{ConnId, EventKind, Profile, SendError};
use restp_sim::pair::{Pair, client_path};
use restp_sim::{HostId, LinkConfig, Loss, Outage};

const MS: Duration = Duration::from_millis(1);
/// Faults change after this time.
const WEATHER: Duration = Duration::from_millis(700);
/// Length of a message in bytes.
const MESSAGE_BYTES: usize = 600;

/// What one scenario did.
#[derive(Debug)]
pub struct Outcome {
    /// Name of the scenario.
    pub name: &'static str,
    /// Packets that arrived at hosts.
    pub packets: u64,
    /// Messages delivered.
    pub messages: u64,
    /// Messages given up, as partial order allows.
    pub passed_over: u64,
}

fn scenarios() -> Vec<(&'static str, Profile)> {
    let fixed = |profile: Profile| Profile {
        framing: Framing::Fixed,
        tuning: Tuning { max_retries: 10_000, max_rto: Duration::from_secs(4), ..profile.tuning.clone() },
        ..profile
    };
    let harq = |kind| Profile { reliability: Reliability::Harq(kind), ..Profile::file_harq() };
    let several = |paths, congestion| Profile { paths, congestion, ..Profile::multipath() };
    vec![
        ("cubic and SACK", fixed(Profile::file_arq())),
        (
            "BBR, cause found out",
            fixed(Profile {
                congestion: Congestion::Bbr,
                loss_cause: LossCause::Dynamic,
                ..Profile::file_arq()
            }),
        ),
        ("HARQ", fixed(harq(FecKind::Xor))),
        (
            "HARQ interleaved, unordered",
            fixed(Profile { ordering: Ordering::Unordered, ..harq(FecKind::Interleaved) }),
        ),
        ("opportunistic", fixed(Profile::web_opt())),
        ("outage", fixed(Profile::satellite_outage())),
        ("voice", fixed(Profile::voice())),
        ("spreading", fixed(several(Paths::Spreading(Scheduler::FastestRtt), Congestion::Lia))),
        ("copies", fixed(several(Paths::Copies, Congestion::NewReno))),
        ("hot standby", fixed(several(Paths::HotStandby, Congestion::NewReno))),
        ("dissertation", fixed(Profile::file_arq().dissertation())),
    ]
}

struct Flow {
    host: HostId,
    sent: u32,
    got: u64,
    next: u32,
    seen: std::collections::HashSet<u32>,
}

/// Runs every scenario until `packets` packets have arrived in all.
///
/// # Panics
/// If anything breaks the contract; the message names the scenario and the seed.
pub fn soak(packets: u64, seed: u64) -> Vec<Outcome> {
    let scenarios = scenarios();
    let share = packets.div_ceil(scenarios.len() as u64);
    scenarios
        .into_iter()
        .enumerate()
        .map(|(number, (name, profile))| run(name, &profile, share, seed.wrapping_add(number as u64)))
        .collect()
}

fn run(name: &'static str, profile: &Profile, packets: u64, seed: u64) -> Outcome {
    let several = profile.paths != Paths::Single;
    let link = LinkConfig::new(20_000_000, MS * 10);
    let count = if several { 3 } else { 1 };
    let mut pair = Pair::with_paths(seed, profile, &vec![(link.clone(), link.clone()); count]);
    let conn = pair.connect();
    pair.net.run_for(MS * 500);
    for index in 1..count as u8 {
        let opened = pair
            .net
            .with(pair.client, |host, now| host.endpoint.open_path(now, conn, client_path(index), false));
        assert!(opened.is_ok(), "{name}: {opened:?}");
    }
    pair.net.run_for(MS * 500);
    let accepted = pair.accepted().expect("the links are clean so far");
    let ids = [conn, accepted];
    let flow = |host| Flow { host, sent: 0, got: 0, next: 0, seen: Default::default() };
    let mut flows = [flow(pair.client), flow(pair.server)];
    while pair.net.arrived() < packets {
        change_weather(&mut pair);
        let end = pair.net.now() + WEATHER;
        while pair.net.now() < end {
            exchange(&mut pair, &mut flows, ids, profile, name, seed, true);
            pair.net.run_for(MS * 5);
        }
    }
    for (there, back) in pair.links.clone() {
        *pair.net.link_mut(there) = link.clone();
        *pair.net.link_mut(back) = link.clone();
    }
    for _ in 0..20_000 {
        exchange(&mut pair, &mut flows, ids, profile, name, seed, false);
        if complete(&flows) {
            break;
        }
        pair.net.run_for(MS * 5);
    }
    let passed_over = check_end(&pair, &flows, ids, profile, name, seed);
    Outcome { name, packets: pair.net.arrived(), messages: flows[0].got + flows[1].got, passed_over }
}

fn complete(flows: &[Flow; 2]) -> bool {
    flows[0].got == u64::from(flows[1].sent) && flows[1].got == u64::from(flows[0].sent)
}

/// New faults on every link.
fn change_weather(pair: &mut Pair) {
    let now = pair.net.now();
    for (there, back) in pair.links.clone() {
        for link in [there, back] {
            let (kind, amount) = (pair.net.rng().below(7), pair.net.rng().unit());
            let config = pair.net.link_mut(link);
            let clean = LinkConfig::new(20_000_000, config.delay);
            *config = match kind {
                0 => clean,
                1 => LinkConfig { loss: Loss::Bernoulli(amount * 0.1), ..clean },
                2 => LinkConfig {
                    loss: Loss::GilbertElliott {
                        to_bad: 0.02,
                        to_good: 0.2,
                        loss_good: 0.0,
                        loss_bad: amount,
                    },
                    ..clean
                },
                3 => LinkConfig { bit_error_ratio: amount * 1e-5, ..clean },
                4 => LinkConfig { duplication: amount * 0.2, reordering: amount * 0.2, ..clean },
                5 => LinkConfig { jitter: MS * 20, jitter_reorders: true, ..clean },
                _ => LinkConfig {
                    outages: vec![Outage { from: now, until: now + WEATHER.mul_f64(amount) }],
                    ..clean
                },
            };
        }
    }
}

fn exchange(
    pair: &mut Pair,
    flows: &mut [Flow; 2],
    ids: [ConnId; 2],
    profile: &Profile,
    name: &str,
    seed: u64,
    send: bool,
) {
    for side in 0..2 {
        let host = flows[side].host;
        loop {
            if !send {
                break;
            }
            let mut payload = flows[side].sent.to_be_bytes().to_vec();
            payload.resize(MESSAGE_BYTES, flows[side].sent as u8);
            match pair.send(host, ids[side], payload) {
                Ok(()) => flows[side].sent += 1,
                Err(SendError::Full(_)) => break,
                Err(error) => panic!("{name}, seed {seed}: {error}"),
            }
        }
        for message in pair.receive(host, ids[side]) {
            let number = u32::from_be_bytes(message.payload[..4].try_into().expect("four octets"));
            let whole = message.payload.len() == MESSAGE_BYTES
                && message.payload[4..].iter().all(|b| *b == number as u8);
            assert!(whole, "{name}, seed {seed}: message {number} was damaged");
            check_order(&mut flows[side], number, profile, name, seed);
        }
    }
}

fn check_order(flow: &mut Flow, number: u32, profile: &Profile, name: &str, seed: u64) {
    flow.got += 1;
    match profile.ordering {
        Ordering::Full => assert_eq!(number, flow.next, "{name}, seed {seed}: out of order"),
        Ordering::Partial => {
            assert!(number >= flow.next, "{name}, seed {seed}: {number} after {}", flow.next)
        }
        Ordering::Unordered | Ordering::Streams => {
            assert!(flow.seen.insert(number), "{name}, seed {seed}: {number} came twice");
        }
        other => panic!("{other:?} has no rule here"),
    }
    flow.next = number + 1;
}

fn check_end(
    pair: &Pair,
    flows: &[Flow; 2],
    ids: [ConnId; 2],
    profile: &Profile,
    name: &str,
    seed: u64,
) -> u64 {
    let mut passed_over = 0;
    for side in 0..2 {
        let host = pair.net.host(flows[side].host);
        let over = host.events.iter().find(|event| matches!(event.kind, EventKind::Closed(_)));
        assert!(over.is_none(), "{name}, seed {seed}: {over:?}");
        passed_over += host.endpoint.conn_stats(ids[side]).map_or(0, |stats| stats.passed_over);
    }
    let missing = u64::from(flows[0].sent) + u64::from(flows[1].sent) - flows[0].got - flows[1].got;
    if profile.ordering == Ordering::Partial {
        assert!(
            missing >= passed_over.saturating_sub(1),
            "{name}, seed {seed}: {missing} missing, {passed_over} given up"
        );
    } else {
        assert_eq!(missing, 0, "{name}, seed {seed}: messages are missing");
    }
    passed_over
}

// R-ARQ-3, R-ORD-2
#[test]
fn a_short_soak_keeps_the_contract() {
    let outcomes = soak(150_000, 77);
    for outcome in outcomes {
        assert!(outcome.packets >= 15_000 && outcome.messages > 1000, "{outcome:?}");
        assert!(outcome.passed_over == 0 || outcome.name == "voice", "{outcome:?}");
    }
}
