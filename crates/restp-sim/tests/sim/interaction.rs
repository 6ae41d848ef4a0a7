//! Random interaction of client, server and up to three paths under every fault, and the invariants that must hold.

use std::time::Duration;

use proptest::prelude::*;
use restp_proto::profile::{FecKind, Framing, LossCause, Ordering, Paths, Reliability, Scheduler, Tuning};
use restp_proto::{ConnId, EventKind, Instant, PathId, Profile};
use restp_sim::pair::{Pair, client_path};
use restp_sim::{HostId, LinkConfig, Loss, Outage};

const MS: Duration = Duration::from_millis(1);
/// Packets that the endpoints may buffer in these tests.
const WINDOW: u32 = 32;

/// One step of the interaction.
#[derive(Clone, Debug)]
enum Step {
    Send { by_client: bool, count: u8, bytes: u16 },
    Receive { by_client: bool },
    Pass { ms: u16 },
    Fault { path: u8, back: bool, fault: Fault },
    OpenPath { path: u8 },
    ClosePath { path: u8 },
    Close { by_client: bool },
}

#[derive(Clone, Debug)]
enum Fault {
    Loss(u8),
    Corruption(u8),
    Duplication(u8),
    Reordering(u8),
    Outage { ms: u16 },
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..30u8).prop_map(Fault::Loss),
        (0..20u8).prop_map(Fault::Corruption),
        (0..30u8).prop_map(Fault::Duplication),
        (0..50u8).prop_map(Fault::Reordering),
        (1..3000u16).prop_map(|ms| Fault::Outage { ms }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<bool>(), 1..20u8, 4..1000u16)
            .prop_map(|(by_client, count, bytes)| Step::Send { by_client, count, bytes }),
        6 => any::<bool>().prop_map(|by_client| Step::Receive { by_client }),
        6 => (1..800u16).prop_map(|ms| Step::Pass { ms }),
        4 => (0..3u8, any::<bool>(), fault()).prop_map(|(path, back, fault)| Step::Fault { path, back, fault }),
        2 => (1..3u8).prop_map(|path| Step::OpenPath { path }),
        1 => (1..3u8).prop_map(|path| Step::ClosePath { path }),
        1 => any::<bool>().prop_map(|by_client| Step::Close { by_client }),
    ]
}

fn profile() -> impl Strategy<Value = Profile> {
    let presets = prop::sample::select(vec![
        "file_arq",
        "file_harq",
        "web_opt",
        "voice",
        "satellite_outage",
        "multipath",
    ]);
    let paths = prop::sample::select(vec![
        Paths::HotStandby,
        Paths::Overflow,
        Paths::Spreading(Scheduler::RoundRobin),
        Paths::Spreading(Scheduler::FastestRtt),
        Paths::Copies,
    ]);
    (presets, paths, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(preset, paths, unordered, dynamic, fec)| {
            let mut profile = Profile::preset(preset).unwrap();
            if preset == "multipath" {
                profile.paths = paths;
            }
            if unordered && profile.ordering == Ordering::Full {
                profile.ordering = Ordering::Unordered;
            }
            if dynamic {
                profile.loss_cause = LossCause::Dynamic;
            }
            if fec && preset == "file_harq" {
                profile.reliability = Reliability::Harq(FecKind::Interleaved);
            }
            profile.framing = Framing::Fixed;
            profile.tuning = Tuning {
                receive_window_packets: WINDOW,
                send_buffer_packets: WINDOW,
                // Nothing may give up while a test lets links fail for long.
                max_retries: 1000,
                max_handshake_tries: 1000,
                max_rto: Duration::from_secs(5),
                hold: profile.tuning.hold,
                ..Tuning::default()
            };
            profile
        },
    )
}

/// One direction: what was sent and what came out.
#[derive(Default)]
struct Direction {
    sent: u32,
    got: Vec<u32>,
    closed: bool,
}

struct Run {
    pair: Pair,
    profile: Profile,
    client_conn: ConnId,
    /// Client to server, server to client.
    directions: [Direction; 2],
}

impl Run {
    fn new(profile: Profile, seed: u64) -> Self {
        let link = LinkConfig::new(4_000_000, MS * 15);
        let mut pair = Pair::with_paths(seed, &profile, &vec![(link.clone(), link); 3]);
        let client_conn = pair.connect();
        Self { pair, profile, client_conn, directions: Default::default() }
    }

    fn end(&mut self, by_client: bool) -> Option<(HostId, ConnId)> {
        if by_client {
            Some((self.pair.client, self.client_conn))
        } else {
            self.pair.accepted().map(|conn| (self.pair.server, conn))
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Send { by_client, count, bytes } => {
                let Some((host, conn)) = self.end(by_client) else { return };
                let direction = usize::from(!by_client);
                for _ in 0..count {
                    let mut payload = self.directions[direction].sent.to_be_bytes().to_vec();
                    payload.resize(bytes.into(), payload[3]);
                    if self.pair.send(host, conn, payload).is_err() {
                        break;
                    }
                    self.directions[direction].sent += 1;
                }
            }
            Step::Receive { by_client } => self.receive(by_client),
            Step::Pass { ms } => self.pass(MS * u32::from(ms)),
            Step::Fault { path, back, ref fault } => self.fault(path, back, fault),
            Step::OpenPath { path } => {
                let conn = self.client_conn;
                let _ = self.pair.net.with(self.pair.client, |host, now| {
                    host.endpoint.open_path(now, conn, client_path(path), path == 2)
                });
            }
            Step::ClosePath { path } => {
                let conn = self.client_conn;
                let _ = self
                    .pair
                    .net
                    .with(self.pair.client, |host, now| host.endpoint.close_path(now, conn, PathId(path)));
            }
            Step::Close { by_client } => {
                if let Some((host, conn)) = self.end(by_client) {
                    self.pair.net.with(host, |host, now| host.endpoint.close(now, conn));
                    self.directions[usize::from(!by_client)].closed = true;
                }
            }
        }
        self.check_timers();
    }

    fn fault(&mut self, path: u8, back: bool, fault: &Fault) {
        let (there, reverse) = self.pair.links[usize::from(path)];
        let now = self.pair.net.now();
        let link = self.pair.net.link_mut(if back { reverse } else { there });
        match *fault {
            Fault::Loss(percent) => link.loss = Loss::Bernoulli(f64::from(percent) / 100.0),
            Fault::Corruption(level) => link.bit_error_ratio = f64::from(level) * 2e-6,
            Fault::Duplication(percent) => link.duplication = f64::from(percent) / 100.0,
            Fault::Reordering(percent) => link.reordering = f64::from(percent) / 100.0,
            Fault::Outage { ms } => {
                link.outages = vec![Outage { from: now, until: now + MS * u32::from(ms) }]
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        let end = self.pair.net.now() + time;
        while self.pair.net.next_event().is_some_and(|at| at <= end) {
            self.pair.net.step();
            self.check_timers();
        }
        self.pair.net.run_until(end);
    }

    /// After time was handled, the next deadline lies in the future.
    fn check_timers(&mut self) {
        for host in [self.pair.client, self.pair.server] {
            let now: Instant = self.pair.net.now();
            let next = self.pair.net.with(host, |host, now| {
                host.endpoint.handle_timeout(now);
                host.endpoint.poll_timeout()
            });
            assert!(next.is_none_or(|next| next > now), "deadline {next:?} at {now:?}");
        }
    }

    fn receive(&mut self, by_client: bool) {
        let Some((host, conn)) = self.end(by_client) else { return };
        let direction = usize::from(by_client);
        for message in self.pair.receive(host, conn) {
            let number = u32::from_be_bytes(message.payload[..4].try_into().unwrap());
            assert!(
                message.payload[4..].iter().all(|byte| *byte == number as u8),
                "damaged payload delivered"
            );
            self.directions[direction].got.push(number);
        }
        self.check_order(direction);
    }

    fn check_order(&self, direction: usize) {
        let got = &self.directions[direction].got;
        match self.profile.ordering {
            Ordering::Full => {
                assert!(got.iter().enumerate().all(|(place, number)| place as u32 == *number), "{got:?}");
            }
            Ordering::Partial => assert!(got.windows(2).all(|pair| pair[0] < pair[1]), "{got:?}"),
            Ordering::Unordered | Ordering::Streams => {
                let mut sorted = got.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), got.len(), "a message came twice: {got:?}");
            }
            other => panic!("{other:?} has no rule here"),
        }
    }

    /// All faults end; everything that was promised must arrive.
    fn heal(&mut self) {
        for (there, back) in self.pair.links.clone() {
            for link in [there, back] {
                *self.pair.net.link_mut(link) = LinkConfig::new(4_000_000, MS * 15);
            }
        }
        for _ in 0..600 {
            self.pass(MS * 200);
            self.receive(true);
            self.receive(false);
            if self.is_complete() {
                break;
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.directions.iter().all(|direction| direction.got.len() == direction.sent as usize)
    }

    fn check_end(&mut self) {
        let broken: Vec<_> = [self.pair.client, self.pair.server]
            .iter()
            .flat_map(|host| self.pair.net.host(*host).events.clone())
            .filter(|event| matches!(event.kind, EventKind::Closed(reason) if reason != restp_proto::CloseReason::Graceful))
            .collect();
        assert!(broken.is_empty(), "{broken:?}");
        if self.profile.ordering != Ordering::Partial {
            for (direction, name) in self.directions.iter().zip(["client to server", "server to client"]) {
                assert_eq!(direction.got.len(), direction.sent as usize, "{name} stalled");
            }
        }
        if self.directions.iter().all(|direction| direction.closed) {
            self.pass(Duration::from_secs(60));
            for host in [self.pair.client, self.pair.server] {
                assert_eq!(
                    self.pair.net.host(host).endpoint.connections(),
                    0,
                    "both closed, nothing may remain"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 400, ..ProptestConfig::default() })]

    // R-ERR-1, R-ERR-3, R-ORD-1, R-ORD-2, R-ARQ-3
    #[test]
    fn whatever_happens_what_was_promised_is_kept(
        profile in profile(),
        seed: u64,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut run = Run::new(profile, seed);
        for step in &steps {
            run.apply(step);
        }
        run.heal();
        run.check_end();
    }
}
