//! The ground benchmark against the node, without sockets, over a link that delays, loses and doubles.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use flight::dictionary::{benchmark, ingest};
use flight::ground::{Bench, BenchError, Plan, Report, Step, Work};
use flight::message::Message;
use flight::node::{Node, NodeConfig, Series};
use flight::time::Subseconds;

const MS: Duration = Duration::from_millis(1);

fn plan(work: Work, messages: u32, steps: &[(usize, u32)]) -> Plan {
    Plan {
        work,
        steps: steps.iter().map(|(octets, ms)| Step { payload_octets: *octets, gap: *ms * MS }).collect(),
        messages,
        here: Ipv4Addr::new(10, 0, 0, 1),
        subseconds: Subseconds::Bits16,
        wait: Duration::from_secs(5),
        mark: 99,
    }
}

const ECHO: Work = Work::Echo { id: benchmark::DATA };

/// What the link does with the n-th datagram of a direction: how often it arrives.
type Fate = fn(usize) -> usize;

const GOOD: Fate = |_| 1;

/// Plays a benchmark in virtual time; `delay` is one way.
fn play(
    plan: Plan,
    config: &NodeConfig,
    delay: Duration,
    up: Fate,
    down: Fate,
) -> Result<Report, BenchError> {
    let mut node = Node::new(config).unwrap();
    let mut now = Duration::from_secs(3);
    let mut bench = Bench::new(plan, now)?;
    // Datagrams under way, by when they arrive; up or down.
    let mut air: BTreeMap<(Duration, usize), (bool, Vec<u8>)> = BTreeMap::new();
    let (mut sent, mut ups, mut downs) = (0, 0, 0);
    loop {
        while let Some((&(due, _), _)) = air.first_key_value().filter(|((due, _), _)| *due <= now) {
            let (_, (is_up, octets)) = air.pop_first().unwrap();
            assert!(due <= now);
            if is_up {
                node.datagram_in(&octets, now);
            } else {
                bench.message_in(&octets, now);
            }
            while let Some((_, octets)) = node.poll_out(now) {
                for _ in 0..down(downs) {
                    air.insert((now + delay, sent), (false, octets.clone()));
                    sent += 1;
                }
                downs += 1;
            }
        }
        while let Some((_, octets)) = node.poll_out(now) {
            for _ in 0..down(downs) {
                air.insert((now + delay, sent), (false, octets.clone()));
                sent += 1;
            }
            downs += 1;
        }
        while let Some(octets) = bench.poll(now) {
            for _ in 0..up(ups) {
                air.insert((now + delay, sent), (true, octets.clone()));
                sent += 1;
            }
            ups += 1;
        }
        if let Some(outcome) = bench.outcome() {
            return outcome;
        }
        let arrival = air.first_key_value().map(|((due, _), _)| *due);
        now = [bench.next_wake(), node.next_wake(), arrival].into_iter().flatten().min().unwrap().max(now);
    }
}

fn node() -> NodeConfig {
    NodeConfig::default()
}

#[test]
fn echoes_take_twice_the_delay_of_the_link() {
    let report = play(plan(ECHO, 10, &[(64, 10), (752, 500)]), &node(), 20 * MS, GOOD, GOOD).unwrap();
    assert_eq!(report.rows.len(), 2);
    for (row, (octets, gap)) in report.rows.iter().zip([(64, 10), (752, 500)]) {
        assert_eq!((row.step.payload_octets, row.step.gap), (octets, gap * MS));
        assert_eq!((row.sent, row.received, row.lost(), row.duplicates), (10, 10, 0, 0));
        assert_eq!(row.times, [Some(40 * MS); 10]);
        let spread = row.spread().unwrap();
        assert_eq!((spread.median, spread.p99), (40 * MS, 40 * MS));
    }
}

#[test]
fn lost_and_doubled_echoes_are_counted_by_message() {
    // Four messages open the link; then the third echo is lost upwards and the fifth doubled.
    let up: Fate = |place| match place {
        6 => 0,
        8 => 2,
        _ => 1,
    };
    // The first telemetry is housekeeping; then the first echo is lost downwards.
    let down: Fate = |place| usize::from(place != 1);
    let report = play(plan(ECHO, 6, &[(20, 100)]), &node(), MS, up, down).unwrap();
    let row = &report.rows[0];
    assert_eq!((row.sent, row.received, row.lost(), row.duplicates), (6, 4, 2, 1));
    let came: Vec<_> = row.times.iter().map(Option::is_some).collect();
    assert_eq!(came, [false, true, false, true, true, true]);
}

#[test]
fn echoes_beyond_command_ingest_s_buffer_do_not_come_back() {
    let report = play(plan(ECHO, 3, &[(752, 1), (753, 1)]), &node(), MS, GOOD, GOOD).unwrap();
    assert_eq!(report.rows.iter().map(|row| row.received).collect::<Vec<_>>(), [3, 0]);
}

#[test]
fn a_burst_of_echoes_comes_back_whole_where_each_is_answered_before_the_next() {
    let report = play(plan(ECHO, 300, &[(20, 0)]), &node(), MS, GOOD, GOOD).unwrap();
    assert_eq!(report.rows[0].received, 300);
}

#[test]
fn data_commands_are_counted_by_command_ingest() {
    let report = play(plan(Work::Data, 50, &[(128, 2), (512, 2)]), &node(), 30 * MS, GOOD, GOOD).unwrap();
    for row in &report.rows {
        assert_eq!((row.sent, row.received, row.lost(), row.times.len()), (50, 50, 0, 0));
    }
    // Three messages open the link: enabling, housekeeping, request. Ten of the first row are lost.
    let up: Fate = |place| usize::from(!(10..20).contains(&place));
    let report = play(plan(Work::Data, 50, &[(128, 2), (512, 2)]), &node(), 30 * MS, up, GOOD).unwrap();
    assert_eq!(report.rows[0].lost(), 10);
}

#[test]
fn each_row_has_a_count_of_its_own() {
    // Ten messages of the first row are lost, or ten of the second, or some of both.
    let fates: [(Fate, [u32; 2]); 3] = [
        (|place| usize::from(!(10..20).contains(&place)), [10, 0]),
        (|place| usize::from(!(60..70).contains(&place)), [0, 10]),
        (|place| usize::from(!(10..14).contains(&place) && !(80..87).contains(&place)), [4, 7]),
    ];
    for (up, lost) in fates {
        let report = play(plan(Work::Data, 50, &[(128, 2), (512, 2)]), &node(), 30 * MS, up, GOOD).unwrap();
        assert_eq!(report.rows.iter().map(|row| row.lost()).collect::<Vec<_>>(), lost);
    }
}

#[test]
fn a_series_is_counted_and_its_spacing_measured() {
    let series = Series { packets: 5, gap: 20 * MS, payload_octets: 333 };
    let config = NodeConfig { series, ..node() };
    let report = play(plan(Work::Series, 5, &[(128, 20)]), &config, 50 * MS, GOOD, GOOD).unwrap();
    let row = &report.rows[0];
    assert_eq!((row.step.payload_octets, row.sent, row.received), (333, 5, 5));
    assert_eq!(row.times[0], None);
    assert_eq!(row.times[1..], [Some(20 * MS); 4]);
    let words: Vec<_> =
        report.to_string().lines().nth(2).unwrap().split_whitespace().map(str::to_owned).collect();
    assert_eq!(words[..3], ["333", "-", "5"], "ground's own gap is not that of the packets");
    // One packet lost on its way down: a gap of two is none of one.
    let down: Fate = |place| usize::from(place != 3);
    let report = play(plan(Work::Series, 5, &[(128, 20)]), &config, 50 * MS, GOOD, down).unwrap();
    let row = &report.rows[0];
    assert_eq!((row.received, row.lost()), (4, 1));
    assert_eq!(row.times, [None, Some(20 * MS), None, Some(20 * MS)]);
}

#[test]
fn telemetry_that_does_not_come_is_an_error_that_says_so() {
    let error = play(plan(ECHO, 3, &[(20, 1)]), &node(), MS, GOOD, |_| 0).unwrap_err();
    assert_eq!(error, BenchError::NoTelemetry { here: Ipv4Addr::new(10, 0, 0, 1), wait: 5000 * MS });
    // A lost first try is not the end.
    assert!(play(plan(ECHO, 3, &[(20, 1)]), &node(), MS, |place| usize::from(place > 3), GOOD).is_ok());
}

#[test]
fn plans_without_sense_are_refused() {
    let refused = |plan| Bench::new(plan, Duration::ZERO).err().unwrap();
    assert_eq!(refused(plan(ECHO, 0, &[(20, 1)])), BenchError::Empty);
    assert_eq!(refused(plan(ECHO, 1, &[])), BenchError::Empty);
    assert_eq!(refused(plan(ECHO, 1, &[(20, 1), (11, 1)])), BenchError::Payload { octets: 11 });
    assert!(matches!(refused(plan(Work::Data, 1, &[(70_000, 1)])), BenchError::Message(_)));
    assert!(matches!(
        refused(plan(Work::Echo { id: ingest::COMMAND }, 1, &[(20, 1)])),
        BenchError::Message(_)
    ));
}

#[test]
fn echoes_of_a_former_run_are_not_counted() {
    let mut bench = Bench::new(plan(ECHO, 1, &[(20, 1)]), Duration::ZERO).unwrap();
    let mut former = Bench::new(Plan { mark: 98, ..plan(ECHO, 1, &[(20, 1)]) }, Duration::ZERO).unwrap();
    let housekeeping = flight::message::telemetry(
        ingest::HOUSEKEEPING,
        1,
        flight::time::FlightTime::default(),
        Subseconds::Bits16,
        &flight::dictionary::IngestHousekeeping::default().encode(),
    )
    .unwrap();
    let mut echoes = Vec::new();
    for bench in [&mut bench, &mut former] {
        while bench.poll(Duration::ZERO).is_some() {}
        bench.message_in(&housekeeping, MS);
        echoes.push(bench.poll(MS).unwrap());
    }
    assert_eq!(Message::parse(&echoes[1]).unwrap().id(), benchmark::DATA);
    bench.message_in(&echoes[1], 2 * MS);
    assert!(bench.outcome().is_none());
    bench.message_in(&echoes[0], 5 * MS);
    let report = bench.outcome().unwrap().unwrap();
    assert_eq!(report.rows[0].times, [Some(4 * MS)]);
    let table = report.to_string();
    assert!(table.contains("round trip") && table.contains("4000.0"), "{table}");
}
