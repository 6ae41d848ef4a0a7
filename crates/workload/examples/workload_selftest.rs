//! Checks every transport in a guest kernel: run it as the first process. One line a check, then the totals. With the
//! word `conformance` it makes the checks that all transports share, else those of single transports.

mod conformance;
mod harness;

use std::io::Read;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use conformance::{all_arrived, ensure};
use harness::{
    CLOCK_READINGS_NS, Line, Options, Outcome, check_same_instants, context, flow, in_virtual_time,
    run_as_first_process,
};
use serde_json::{Value, json};
use transports::Clock;
use workload::{FlowReport, FlowSpec, join, join_alone, prepare};

/// A line without loss, and one that loses.
const CLEAN: Line = Line { rate_bps: 5_200_000.0, delay_s: 0.025, loss: 0.0, corrupt: 0.0 };
const LOSSY: Line = Line { loss: 0.01, ..CLEAN };
/// A line that damages packets.
const DAMAGING: Line = Line { corrupt: 0.05, ..CLEAN };

/// How far two runs may drift apart by readings of the clock when their receivers wake more or less often.
const DRIFT_NS: i64 = 100_000;

type Check = fn() -> Outcome<()>;

const CHECKS: &[(&str, Check)] = &[
    ("tcp: the receiver dies half-way", peer_dies),
    ("tcp: the receiver vanishes without a word", || vanishes(tcp())),
    ("sctp: the receiver vanishes without a word", || vanishes(sctp())),
    ("tcp: instants from the wire are those of a receiver that wakes, at 1 % loss", || {
        wire_equals_application(tcp(), LOSSY, 5_000_000)
    }),
    ("tls: instants from the wire are those of a receiver that wakes, at 1 % loss", || {
        wire_equals_application(tls(), LOSSY, 5_000_000)
    }),
    ("tcp: instants from the wire are those of a receiver that wakes, where 5 % arrive damaged", || {
        wire_equals_application(tcp(), DAMAGING, 1_000_000)
    }),
    ("tls: instants from the wire are those of a receiver that wakes, where 5 % arrive damaged", || {
        wire_equals_application(tls(), DAMAGING, 1_000_000)
    }),
    ("sctp: stamps of the kernel are the instants of a receiver that wakes, at 1 % loss", sctp_stamps),
    ("sctp: so are those of periodic messages, of which a later one waits for an earlier one", || {
        sctp_periodic_stamps(json!({}))
    }),
    ("sctp: so are those of periodic messages on two streams", || {
        sctp_periodic_stamps(json!({"streams": 2}))
    }),
    ("sctp: messages on eight streams, each in order", sctp_streams),
    ("sctp: messages in fragments", sctp_fragments),
    ("sctp: totals end when the line does, not when the receiver gives up", sctp_totals_end_with_the_line),
    ("udp: release times give the same instants as a sender that sleeps", releases_equal_sleeps),
    ("udp: each datagram leaves on its instant and takes the line's delay", udp_instants),
    ("udp: a queue that is too short loses datagrams, and they are counted", udp_loses),
    ("tcp: a greedy sender's messages enter the socket in time to keep the line full", greedy_fills_the_line),
    ("tcp: an unknown congestion control names the known ones", unknown_congestion_control),
    ("tcp, mptcp, sctp: the socket is sampled at the asked interval", sampled),
    ("periodic messages take the round trips that their sessions need", periodic_round_trips),
    ("periodic messages with a ticket go with the first flight of TLS", periodic_early_data),
    ("periodic messages to nobody: each has its outcome, and the flow says why", periodic_refused),
    ("periodic datagrams: those that are lost are said to be", periodic_datagrams),
    ("the same run gives the same instants, but for readings of the clock", same_again),
];

fn tcp() -> (&'static str, Value) {
    ("tcp", json!({"congestion_control": "cubic"}))
}

fn mptcp() -> (&'static str, Value) {
    ("mptcp", json!({"congestion_control": "cubic"}))
}

fn tls() -> (&'static str, Value) {
    ("tls", json!({"congestion_control": "cubic"}))
}

fn sctp() -> (&'static str, Value) {
    ("sctp", json!({}))
}

fn bulk((stack, params): (&str, Value), size_bytes: u64) -> FlowSpec {
    flow(stack, params, "bulk", json!({"size_bytes": size_bytes}))
}

fn cbr((stack, params): (&str, Value), rate_bps: Option<f64>, message_size_bytes: u32) -> FlowSpec {
    let app = json!({"rate_bps": rate_bps, "message_size_bytes": message_size_bytes, "duration_s": 10.0});
    flow(stack, params, "cbr", app)
}

fn main() {
    let wanted = std::env::args().nth(1);
    run_as_first_process(|| {
        let conformance = wanted.as_deref() == Some("conformance");
        let all = if conformance { conformance_checks() } else { own_checks(wanted.as_deref()) };
        let (mut passed, mut failed) = (0, 0);
        for (name, check) in all {
            match check() {
                Ok(()) => {
                    passed += 1;
                    println!("ok      {name}");
                }
                Err(error) => {
                    failed += 1;
                    println!("FAILED  {name}: {error}");
                }
            }
        }
        println!("selftest: {passed} passed, {failed} failed");
        Ok(())
    });
}

type Named = (String, Box<dyn Fn() -> Outcome<()>>);

/// The checks of this file, or those whose name has this part.
fn own_checks(part: Option<&str>) -> Vec<Named> {
    let wanted = CHECKS.iter().filter(|(name, _)| part.is_none_or(|part| name.contains(part)));
    wanted
        .map(|(name, check)| ((*name).to_owned(), Box::new(check) as Box<dyn Fn() -> Outcome<()>>))
        .collect()
}

/// The shared checks, each for every transport.
fn conformance_checks() -> Vec<Named> {
    let candidates = conformance::candidates().into_iter().map(Rc::new);
    let each = |candidate: Rc<conformance::Candidate>| {
        conformance::CHECKS.iter().map(move |(name, check)| {
            let subject = Rc::clone(&candidate);
            let run: Box<dyn Fn() -> Outcome<()>> = Box::new(move || check(&subject));
            (format!("{}: {name}", candidate.name), run)
        })
    };
    candidates.flat_map(each).collect()
}

fn run_one(line: Line, spec: &FlowSpec, options: &Options) -> Outcome<FlowReport> {
    Ok(line.run(std::slice::from_ref(spec), options)?.remove(0))
}

fn run_ok(line: Line, spec: &FlowSpec, options: &Options) -> Outcome<FlowReport> {
    let report = run_one(line, spec, options)?;
    ensure(report.result.outcome == "ok", || format!("{:?}", report.result))?;
    Ok(report)
}

/// Runs only the sender of a flow; `server` happens in the receiving node meanwhile.
fn run_alone(spec: &FlowSpec, limit_s: i64, server: impl FnOnce() + Send + 'static) -> Outcome<FlowReport> {
    let network = CLEAN.build()?;
    let options = Options { limit_s, ..Options::default() };
    let (_, client) = prepare(spec.check()?, context(0, Clock::starting_now(in_virtual_time()), &options))?;
    let serving = network.node("server")?.spawn("server", server)?;
    let sending = network.node("client")?.spawn("client", move || (client.run_alone(), client))?;
    serving.join().map_err(|_| "the receiver panicked")?;
    let (sent, client) = sending.join().map_err(|_| "the sender panicked")?;
    Ok(join_alone((client, sent)))
}

fn fails_with(report: &FlowReport, beginning: &str) -> Outcome<()> {
    let said = report.result.reason.as_deref().is_some_and(|reason| reason.starts_with(beginning));
    ensure(report.result.outcome == "failed" && said, || format!("{:?}", report.result))
}

fn peer_dies() -> Outcome<()> {
    let report = run_alone(&bulk(tcp(), 50_000_000), 100, || {
        let listener = TcpListener::bind("10.0.2.1:5000").expect("the address is the node's");
        let (mut connection, _) = listener.accept().expect("the sender connects");
        connection.read_exact(&mut [0; 10_000]).expect("the sender sends");
    })?;
    fails_with(&report, "reset")
}

/// When the line of [`vanishing`] goes down.
const DOWN_AFTER_S: f64 = 10.0;

fn vanishes(stack: (&str, Value)) -> Outcome<()> {
    let options = Options { limit_s: 3000, ..Options::default() };
    let report = vanishing(bulk(stack, 50_000_000), &options)?;
    fails_with(&report, "timed out")?;
    ensure(report.result.received_messages > 0, || format!("{:?}", report.result))
}

/// The line goes down for good in the middle of a transfer.
fn vanishing(spec: FlowSpec, options: &Options) -> Outcome<FlowReport> {
    let network = CLEAN.build()?;
    let clock = Clock::starting_now(in_virtual_time());
    let (server, client) = prepare(spec.check()?, context(0, clock, options))?;
    let serving = network.node("server")?.spawn("server", move || (server.run(), server))?;
    let sending = network.node("client")?.spawn("client", move || (client.run(), client))?;
    std::thread::sleep(Duration::from_secs_f64(DOWN_AFTER_S));
    for link in ["mid>east", "mid>west"] {
        network.apply(&netlab::LinkChange { link: link.into(), up: Some(false), ..Default::default() })?;
    }
    let (received, server) = serving.join().map_err(|_| "the receiver panicked")?;
    let (sent, client) = sending.join().map_err(|_| "the sender panicked")?;
    Ok(join((server, received), (client, sent)))
}

fn wire_equals_application(stack: (&str, Value), line: Line, size_bytes: u64) -> Outcome<()> {
    // With both, the line compares the instants itself.
    let both = Options { wire: true, wake: true, ..Options::default() };
    let report = run_ok(line, &bulk(stack, size_bytes), &both)?;
    all_arrived(&report)?;
    ensure(report.result.delivery_instants == "wire", || format!("{:?}", report.result))
}

fn sctp_stamps() -> Outcome<()> {
    stamps_equal_wakes(&bulk(sctp(), 5_000_000)).map(drop)
}

/// Messages come every 5 ms, so that several arrive while one that was lost is sent again.
fn sctp_periodic_stamps(params: Value) -> Outcome<()> {
    let app = json!({"message_size_bytes": 500, "interval_s": 0.005, "duration_s": 3.0});
    let report = stamps_equal_wakes(&flow("sctp", params, "periodic", app))?;
    let messages: Vec<_> = report.messages().collect();
    let late = |report: &workload::Message| report.received_ns > Some(report.sent_ns + 50_000_000);
    ensure(messages.iter().filter(|message| late(message)).count() > 5, || "nothing had to wait".into())
}

fn stamps_equal_wakes(spec: &FlowSpec) -> Outcome<FlowReport> {
    let stamped = run_ok(LOSSY, spec, &Options::default())?;
    let woken = run_ok(LOSSY, spec, &Options { wake: true, ..Options::default() })?;
    ensure(stamped.result.delivery_instants == "kernel", || format!("{:?}", stamped.result))?;
    ensure(woken.result.delivery_instants == "application", || format!("{:?}", woken.result))?;
    check_same_instants(
        &stamped.messages().collect::<Vec<_>>(),
        &woken.messages().collect::<Vec<_>>(),
        DRIFT_NS,
    )?;
    Ok(stamped)
}

fn sctp_streams() -> Outcome<()> {
    let report = run_ok(LOSSY, &bulk(("sctp", json!({"streams": 8})), 3_000_000), &Options::default())?;
    all_arrived(&report)?;
    let messages: Vec<_> = report.messages().collect();
    for pair in messages.iter().zip(&messages[8..]) {
        ensure(pair.0.received_ns <= pair.1.received_ns, || format!("{pair:?} out of order in one stream"))?;
    }
    // One stream's loss must not hold the others back: that is what streams are for.
    ensure(!messages.is_sorted_by_key(|message| message.received_ns), || "no stream overtook another".into())
}

fn sctp_fragments() -> Outcome<()> {
    let app = json!({"size_bytes": 1_000_000, "message_size_bytes": 20_000});
    let report = run_ok(LOSSY, &flow("sctp", json!({}), "bulk", app), &Options::default())?;
    all_arrived(&report)?;
    ensure(report.result.delivery_instants == "application", || format!("{:?}", report.result))
}

/// The receiver then waits for more messages than will ever come.
fn sctp_totals_end_with_the_line() -> Outcome<()> {
    let app = json!({"size_bytes": 50_000_000, "message_size_bytes": 20_000});
    let options = Options { messages: false, limit_s: 3000, ..Options::default() };
    let report = vanishing(flow("sctp", json!({}), "bulk", app), &options)?;
    let last_s = report.result.last_received_s.unwrap_or(0.0);
    ensure((DOWN_AFTER_S - 1.0..DOWN_AFTER_S + 1.0).contains(&last_s), || format!("{:?}", report.result))
}

fn releases_equal_sleeps() -> Outcome<()> {
    let spec = cbr(("udp", json!({})), Some(3_000_000.0), 1000);
    let released = run_ok(LOSSY, &spec, &Options::default())?;
    let slept = run_ok(LOSSY, &spec, &Options { fq: false, ..Options::default() })?;
    let (a, b): (Vec<_>, Vec<_>) = (released.messages().collect(), slept.messages().collect());
    for (a, b) in a.iter().zip(&b) {
        ensure((a.sent_ns - b.sent_ns).abs() <= CLOCK_READINGS_NS, || format!("{a:?} and {b:?} left apart"))?;
    }
    check_same_instants(&a, &b, DRIFT_NS)
}

fn udp_instants() -> Outcome<()> {
    let report = run_ok(CLEAN, &cbr(("udp", json!({})), Some(800_000.0), 1000), &Options::default())?;
    all_arrived(&report)?;
    ensure(report.result.sent_messages == 1000, || format!("{:?}", report.result))?;
    for message in report.messages() {
        let due_ns = 1_000_000_000 + i64::from(message.seq) * 10_000_000;
        ensure((0..=CLOCK_READINGS_NS).contains(&(message.sent_ns - due_ns)), || {
            format!("{message:?} was due at {due_ns}")
        })?;
        let delay_ns = message.received_ns.unwrap_or(0) - message.sent_ns;
        // The token bucket holds one packet, so a packet on its own passes at once.
        ensure((25_000_000..25_100_000).contains(&delay_ns), || format!("{message:?} took {delay_ns} ns"))?;
    }
    Ok(())
}

fn udp_loses() -> Outcome<()> {
    let report = run_ok(CLEAN, &cbr(("udp", json!({})), Some(8_000_000.0), 1000), &Options::default())?;
    let result = &report.result;
    ensure(result.sent_messages == 10_000, || format!("{result:?}"))?;
    // What the line carries in 10 s, and what its queue of 512 kB holds at the end; 28 bytes of headers each.
    let passed = (5_200_000.0 * 10.0 / 8.0 + 512_000.0) / 1028.0;
    let ratio = result.received_messages as f64 / passed;
    ensure((0.99..1.01).contains(&ratio), || {
        format!("{} of about {passed} arrived", result.received_messages)
    })?;
    let missing = report.messages().filter(|message| message.received_ns.is_none()).count() as u64;
    ensure(missing == result.sent_messages - result.received_messages, || {
        format!("{missing} have no instant")
    })
}

fn greedy_fills_the_line() -> Outcome<()> {
    let report = run_ok(CLEAN, &cbr(tcp(), None, 1448), &Options { wire: true, ..Options::default() })?;
    all_arrived(&report)?;
    let result = &report.result;
    let seconds = result.last_received_s.unwrap_or(0.0) - result.first_received_s.unwrap_or(0.0);
    // 1448 of the 1500 bytes of a packet are payload.
    let share = result.received_bytes as f64 * 8.0 / seconds / (CLEAN.rate_bps * 1448.0 / 1500.0);
    ensure((0.97..1.005).contains(&share), || format!("{share} of what the line carries"))
}

fn unknown_congestion_control() -> Outcome<()> {
    let spec = bulk(("tcp", json!({"congestion_control": "cubik"})), 1000);
    let report = run_one(CLEAN, &spec, &Options::default())?;
    let reason = report.result.reason.unwrap_or_default();
    ensure(reason.contains("`cubik`") && reason.contains("cubic") && reason.contains("bbr"), || {
        reason.clone()
    })
}

fn sampled() -> Outcome<()> {
    for stack in [tcp(), mptcp(), sctp()] {
        let name = stack.0;
        let options = Options { socket_interval_ns: Some(100_000_000), ..Options::default() };
        let report = run_ok(LOSSY, &bulk(stack, 3_000_000), &options)?;
        let samples = &report.samples;
        let result = &report.result;
        let open_s = result.finished_s.unwrap_or(0.0) - result.established_s.unwrap_or(0.0);
        ensure((samples.len() as f64 - open_s / 0.1).abs() <= 2.0, || {
            format!("{name}: {} samples in {open_s} s", samples.len())
        })?;
        for pair in samples.windows(2) {
            let step_ns = pair[1].t_ns - pair[0].t_ns;
            ensure((step_ns - 100_000_000).abs() <= CLOCK_READINGS_NS, || {
                format!("{name}: a step of {step_ns} ns")
            })?;
        }
        let last = samples.last().ok_or("no samples")?;
        ensure(last.retransmitted_packets > 0, || {
            format!("{name}: no retransmission at 1 % loss: {last:?}")
        })?;
        ensure(samples.iter().all(|sample| sample.cwnd_bytes >= 1000), || format!("{name}: {last:?}"))?;
        let rtt_ns = samples.iter().rev().find_map(|sample| sample.srtt_ns).unwrap_or(0);
        ensure((50_000_000..2_000_000_000).contains(&rtt_ns), || format!("{name}: an RTT of {rtt_ns} ns"))?;
    }
    Ok(())
}

fn periodic((stack, params): (&str, Value), connection: &str) -> FlowSpec {
    let app =
        json!({"message_size_bytes": 1000, "interval_s": 3.0, "duration_s": 12.0, "connection": connection});
    flow(stack, params, "periodic", app)
}

fn periodic_round_trips() -> Outcome<()> {
    const TRIP_NS: i64 = 25_000_000;
    // Trips until the transport is there and then until TLS is, for a message with a session of its own.
    let cases = [
        (tcp(), "kept", None, None),
        (tcp(), "fresh", Some(2), None),
        (sctp(), "kept", None, None),
        // The association is there for its sender after four messages (RFC 9260, section 5.1).
        (sctp(), "fresh", Some(4), None),
        (mptcp(), "fresh", Some(2), None),
        (tls(), "kept", None, None),
        (tls(), "fresh", Some(2), Some(2)),
        (("tls", json!({"transport": "sctp"})), "fresh", Some(4), Some(2)),
    ];
    for (stack, connection, until_connected, until_secured) in cases {
        let name = format!("{} {connection}", stack.0);
        let report =
            run_ok(CLEAN, &periodic(stack, connection), &Options { wire: true, ..Options::default() })?;
        ensure(report.exchanges.len() == 4, || format!("{name}: {:?}", report.exchanges))?;
        all_arrived(&report)?;
        for (index, exchange) in (0..).zip(&report.exchanges) {
            let steps = [exchange.connected_ns, exchange.secured_ns];
            let said = || format!("{name}: {exchange:?}");
            ensure(exchange.outcome == "ok", said)?;
            // A session that is kept is not there yet when the first message is due.
            let open_ns = (report.result.established_s.unwrap_or(0.0) * 1e9) as i64;
            let due_ns =
                ((1 + 3 * index) * 1_000_000_000).max(if connection == "kept" { open_ns } else { 0 });
            ensure((0..CLOCK_READINGS_NS).contains(&(exchange.requested_ns - due_ns)), said)?;
            let mut before_ns = exchange.requested_ns;
            for (step, trips) in steps.into_iter().zip([until_connected, until_secured]) {
                ensure(step.is_some() == trips.is_some(), said)?;
                if let Some((at_ns, trips)) = step.zip(trips) {
                    // A handshake's packets take up to 3 ms on a line of this rate.
                    ensure((0..3_000_000).contains(&(at_ns - before_ns - trips * TRIP_NS)), said)?;
                    before_ns = at_ns;
                }
            }
            let (first_ns, whole_ns) = exchange.first_byte_ns.zip(exchange.completed_ns).ok_or_else(said)?;
            ensure(first_ns <= whole_ns, said)?;
            ensure((0..3_000_000).contains(&(whole_ns - before_ns - TRIP_NS)), said)?;
        }
    }
    Ok(())
}

fn periodic_early_data() -> Outcome<()> {
    let trips = |report: &FlowReport| -> Vec<[Option<i64>; 3]> {
        let since = |at_ns: Option<i64>, from_ns| at_ns.map(|at_ns| (at_ns - from_ns) / 25_000_000);
        let steps = |e: &workload::Exchange| {
            [e.connected_ns, e.secured_ns, e.completed_ns].map(|at_ns| since(at_ns, e.requested_ns))
        };
        report.exchanges.iter().map(steps).collect()
    };
    for (early, later) in [(false, [Some(2), Some(4), Some(5)]), (true, [Some(2), None, Some(3)])] {
        let params = json!({"congestion_control": "cubic", "resumption": true, "early_data": early});
        let report = run_ok(CLEAN, &periodic(("tls", params), "fresh"), &Options::default())?;
        all_arrived(&report)?;
        let expected = [vec![[Some(2), Some(4), Some(5)]], vec![later; 3]].concat();
        ensure(trips(&report) == expected, || format!("early data {early}: {:?}", report.exchanges))?;
    }
    Ok(())
}

fn periodic_refused() -> Outcome<()> {
    let report = run_alone(&periodic(tls(), "fresh"), 100, || ())?;
    fails_with(&report, "refused")?;
    ensure(report.exchanges.len() == 4, || format!("{:?}", report.exchanges))?;
    ensure(report.exchanges.iter().all(|exchange| exchange.outcome.starts_with("refused")), || {
        format!("{:?}", report.exchanges)
    })
}

fn periodic_datagrams() -> Outcome<()> {
    let app = json!({"message_size_bytes": 1000, "interval_s": 0.1, "duration_s": 100.0});
    let report = run_ok(LOSSY, &flow("udp", json!({}), "periodic", app), &Options::default())?;
    let lost = report.exchanges.iter().filter(|exchange| exchange.outcome != "ok").count() as u64;
    let result = &report.result;
    ensure(result.sent_messages == 1000 && lost > 0, || format!("{lost} lost: {result:?}"))?;
    ensure(result.received_messages + lost == 1000, || format!("{lost} lost: {result:?}"))
}

fn same_again() -> Outcome<()> {
    let specs = [bulk(tcp(), 1_000_000), bulk(sctp(), 1_000_000)];
    let both = [LOSSY.run(&specs, &Options::default())?, LOSSY.run(&specs, &Options::default())?];
    for (a, b) in both[0].iter().zip(&both[1]) {
        check_same_instants(&a.messages().collect::<Vec<_>>(), &b.messages().collect::<Vec<_>>(), DRIFT_NS)?;
    }
    Ok(())
}
