//! The node without sockets: what CI_LAB, TO_LAB, the bus and the Benchmark module do.

use std::net::Ipv4Addr;
use std::time::Duration;

use flight::dictionary::{
    BenchmarkHousekeeping, BusHousekeeping, IngestHousekeeping, OutputHousekeeping, add_packet, bare,
    benchmark, bus, enable_output, ingest, output, remove_packet,
};
use flight::message::{Message, MessageId, command, telemetry};
use flight::node::{ConfigError, Node, NodeConfig, Series};
use flight::time::{FlightTime, Subseconds};
use proptest::collection::vec;
use proptest::prelude::*;

const GROUND: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const NOW: Duration = Duration::from_millis(1500);

fn node() -> Node {
    Node::new(&NodeConfig::default()).unwrap()
}

/// A node that sends telemetry to ground.
fn talking() -> Node {
    let mut node = node();
    node.datagram_in(&enable_output(GROUND), Duration::ZERO);
    node
}

/// Everything that the node sends now.
fn sent(node: &mut Node, now: Duration) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| node.poll_out(now))
        .map(|(to, octets)| {
            assert_eq!(to, GROUND);
            octets
        })
        .collect()
}

/// The payload of the one telemetry message with which the node answers.
fn answer(node: &mut Node, ask: MessageId, id: MessageId) -> Vec<u8> {
    node.datagram_in(&bare(ask, 0).unwrap(), NOW);
    let sent = sent(node, NOW);
    assert_eq!(sent.len(), 1, "{sent:?}");
    let read = Message::parse(&sent[0]).unwrap().telemetry(Subseconds::Bits16).unwrap();
    assert_eq!(read.id, id);
    assert_eq!(read.time, FlightTime { seconds: 1_001_001, subseconds: 1 << 31 });
    read.payload.to_vec()
}

fn ingest_counters(node: &mut Node) -> IngestHousekeeping {
    IngestHousekeeping::decode(&answer(node, ingest::SEND_HOUSEKEEPING, ingest::HOUSEKEEPING)).unwrap()
}

fn output_counters(node: &mut Node) -> OutputHousekeeping {
    OutputHousekeeping::decode(&answer(node, output::SEND_HOUSEKEEPING, output::HOUSEKEEPING)).unwrap()
}

fn bus_counters(node: &mut Node) -> BusHousekeeping {
    BusHousekeeping::decode(&answer(node, bus::SEND_HOUSEKEEPING, bus::HOUSEKEEPING)).unwrap()
}

#[test]
fn nothing_is_sent_before_a_command_says_where_to() {
    let mut node = node();
    node.datagram_in(&bare(ingest::SEND_HOUSEKEEPING, 0).unwrap(), NOW);
    assert_eq!(node.poll_out(NOW), None);
    node.datagram_in(&enable_output(GROUND), NOW);
    assert_eq!(node.poll_out(NOW), None, "what came before is gone, as with TO_LAB");
    assert_eq!(ingest_counters(&mut node).ingest_packets, 3);
}

#[test]
fn housekeeping_has_a_layout_to_the_octet_and_counts() {
    let mut node = talking();
    for code in [ingest::NOOP, ingest::NOOP, 77] {
        node.datagram_in(&bare(ingest::COMMAND, code).unwrap(), NOW);
    }
    node.datagram_in(&command(ingest::COMMAND, 0, ingest::NOOP, b"long").unwrap(), NOW);
    let payload = answer(&mut node, ingest::SEND_HOUSEKEEPING, ingest::HOUSEKEEPING);
    // Errors, commands, checksums, socket; 8 spare; packets, errors, spare. Code 77 is not counted by CI_LAB.
    assert_eq!(payload, [&[1, 2, 0, 1][..], &[0; 8], &[6, 0, 0, 0], &[0; 8]].concat());
    node.datagram_in(&bare(ingest::COMMAND, ingest::RESET_COUNTERS).unwrap(), NOW);
    let counters = ingest_counters(&mut node);
    assert_eq!((counters.commands, counters.command_errors, counters.ingest_packets), (0, 0, 1));
}

#[test]
fn what_is_no_message_is_counted_and_what_follows_one_is_left_out() {
    let mut node = talking();
    let noop = bare(output::COMMAND, output::NOOP).unwrap();
    node.datagram_in(&[&noop[..], b"more"].concat(), NOW);
    node.datagram_in(&noop[..7], NOW);
    node.datagram_in(b"", NOW);
    // Longer than CI_LAB's buffer: cut off, so that it is not whole.
    node.datagram_in(&command(output::COMMAND, 0, output::NOOP, &[0; 761]).unwrap(), NOW);
    node.datagram_in(&command(output::COMMAND, 0, output::NOOP, &[0; 760]).unwrap(), NOW);
    let counters = ingest_counters(&mut node);
    assert_eq!((counters.ingest_packets, counters.ingest_errors), (4, 3));
    assert_eq!(output_counters(&mut node).commands, 3, "the enabling command and two without effect");
}

#[test]
fn a_wrong_checksum_is_taken_as_cfe_takes_it() {
    let mut node = talking();
    let mut noop = bare(output::COMMAND, output::NOOP).unwrap();
    noop[7] ^= 0xFF;
    node.datagram_in(&noop, NOW);
    assert_eq!(output_counters(&mut node), OutputHousekeeping { commands: 2, command_errors: 0 });
}

#[test]
fn telemetry_output_counts_what_it_did_and_what_it_could_not() {
    let mut node = talking();
    node.datagram_in(&bare(output::COMMAND, 99).unwrap(), NOW);
    node.datagram_in(
        &command(output::COMMAND, 0, output::ENABLE_OUTPUT, b"no address\0\0\0\0\0\0").unwrap(),
        NOW,
    );
    node.datagram_in(&command(output::COMMAND, 0, output::ADD_PACKET, &[1, 2]).unwrap(), NOW);
    assert_eq!(output_counters(&mut node), OutputHousekeeping { commands: 1, command_errors: 3 });
    node.datagram_in(&bare(output::COMMAND, output::RESET_COUNTERS).unwrap(), NOW);
    assert_eq!(output_counters(&mut node), OutputHousekeeping::default());
}

#[test]
fn a_telemetry_message_given_to_command_ingest_comes_back_unchanged_if_it_is_subscribed_to() {
    let mut node = talking();
    let id = benchmark::DATA;
    let time = FlightTime { seconds: 5, subseconds: 0 };
    let octets = telemetry(id, 77, time, Subseconds::Bits16, b"looped").unwrap();
    node.datagram_in(&octets, NOW);
    assert_eq!(sent(&mut node, NOW), [[0; 0]; 0]);
    node.datagram_in(&add_packet(id, 4), NOW);
    node.datagram_in(&octets, NOW);
    assert_eq!(sent(&mut node, NOW), std::slice::from_ref(&octets));
    node.datagram_in(&remove_packet(id), NOW);
    node.datagram_in(&octets, NOW);
    assert_eq!(sent(&mut node, NOW), [[0; 0]; 0]);
    assert_eq!(bus_counters(&mut node).no_subscribers, 2);
}

#[test]
fn a_pipe_that_nobody_empties_drops_and_the_bus_counts() {
    let mut node = talking();
    node.datagram_in(&add_packet(benchmark::DATA, 6), NOW);
    let octets = telemetry(benchmark::DATA, 0, FlightTime::default(), Subseconds::Bits16, b"x").unwrap();
    for _ in 0..10 {
        node.datagram_in(&octets, NOW);
    }
    assert_eq!(sent(&mut node, NOW).len(), 6, "the limit of the subscription");
    node.datagram_in(&add_packet(benchmark::DATA, 255), NOW);
    node.datagram_in(&remove_packet(benchmark::DATA), NOW);
    node.datagram_in(&add_packet(benchmark::DATA, 255), NOW);
    for _ in 0..60 {
        node.datagram_in(&octets, NOW);
    }
    assert_eq!(sent(&mut node, NOW).len(), 50, "the depth of the pipe");
    let counters = bus_counters(&mut node);
    assert_eq!(
        (counters.message_limits, counters.pipe_overflows, counters.duplicate_subscriptions),
        (4, 10, 1)
    );
    assert_eq!(node.bus_counters().pipe_overflows, 10);
}

#[test]
fn the_benchmark_module_publishes_its_series_on_time() {
    let series = Series { packets: 3, gap: Duration::from_secs(2), payload_octets: 8 };
    let mut node = Node::new(&NodeConfig { series, ..NodeConfig::default() }).unwrap();
    node.datagram_in(&enable_output(GROUND), Duration::ZERO);
    node.datagram_in(&add_packet(benchmark::DATA, 255), Duration::ZERO);
    assert_eq!(node.next_wake(), None);
    node.datagram_in(&bare(benchmark::COMMAND, benchmark::START).unwrap(), Duration::from_secs(1));
    let mut came = Vec::new();
    while let Some(wake) = node.next_wake() {
        assert_eq!(sent(&mut node, wake - Duration::from_nanos(1)), [[0; 0]; 0]);
        for octets in sent(&mut node, wake) {
            let read = Message::parse(&octets).unwrap().telemetry(Subseconds::Bits16).unwrap();
            came.push((wake.as_secs(), read.sequence, read.payload.to_vec(), read.time.seconds));
        }
    }
    let packet = |number: u8| vec![number, 0, 0, 0, 4, 5, 6, 7];
    assert_eq!(
        came,
        [(3, 1, packet(0), 1_001_003), (5, 2, packet(1), 1_001_005), (7, 3, packet(2), 1_001_007)]
    );
}

#[test]
fn the_benchmark_module_counts_payloads() {
    let mut node = talking();
    node.datagram_in(&add_packet(benchmark::HOUSEKEEPING, 4), NOW);
    node.datagram_in(&command(benchmark::COMMAND, 0, benchmark::TAKE_DATA, &[9; 512]).unwrap(), NOW);
    node.datagram_in(&command(benchmark::COMMAND, 0, benchmark::TAKE_DATA, &[9; 100]).unwrap(), NOW);
    node.datagram_in(&bare(benchmark::COMMAND, benchmark::NOOP).unwrap(), NOW);
    node.datagram_in(&bare(benchmark::COMMAND, 55).unwrap(), NOW);
    let payload = answer(&mut node, benchmark::SEND_HOUSEKEEPING, benchmark::HOUSEKEEPING);
    assert_eq!(
        BenchmarkHousekeeping::decode(&payload),
        Some(BenchmarkHousekeeping {
            command_errors: 1,
            commands: 3,
            payloads: 2,
            payload_octets: 612,
            packets: 0
        })
    );
}

#[test]
fn the_format_of_sub_seconds_is_the_mission_s_choice() {
    let config = NodeConfig { subseconds: Subseconds::Micros20, ..NodeConfig::default() };
    let mut node = Node::new(&config).unwrap();
    node.datagram_in(&enable_output(GROUND), Duration::ZERO);
    node.datagram_in(&bare(output::SEND_HOUSEKEEPING, 0).unwrap(), Duration::from_micros(2_000_777));
    let out = sent(&mut node, Duration::from_micros(2_000_777));
    let micros = u32::from_be_bytes(*out[0][10..].first_chunk().unwrap()) >> 12;
    assert!((776..=777).contains(&micros), "{micros}");
}

#[test]
fn payloads_that_fit_no_message_are_refused_at_once() {
    for octets in [3, 65_527] {
        let series = Series { payload_octets: octets, ..Series::default() };
        let refused = Node::new(&NodeConfig { series, ..NodeConfig::default() }).unwrap_err();
        assert_eq!(refused, ConfigError::Payload { octets, largest: 65_526 });
    }
}

/// Datagrams by chance, among them some that are messages of the applications.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let known = prop_oneof![
        Just(ingest::COMMAND),
        Just(output::COMMAND),
        Just(output::SEND_HOUSEKEEPING),
        Just(benchmark::COMMAND),
        Just(bus::SEND_HOUSEKEEPING),
    ];
    prop_oneof![
        vec(any::<u8>(), 0..40),
        (known, 0_u8..8, vec(any::<u8>(), 0..20))
            .prop_map(|(id, code, payload)| command(id, 0, code, &payload).unwrap()),
        Just(enable_output(GROUND)),
    ]
}

proptest! {
    #[test]
    fn any_datagrams_are_taken_and_every_one_is_counted(all in vec(datagrams(), 0..40)) {
        let series = Series { packets: 2, gap: Duration::from_millis(1), payload_octets: 16 };
        let mut node = Node::new(&NodeConfig { series, ..NodeConfig::default() }).unwrap();
        let reset = bare(ingest::COMMAND, ingest::RESET_COUNTERS).unwrap();
        let all: Vec<_> = all.into_iter().filter(|octets| octets.get(..7) != Some(&reset[..7])).collect();
        for (place, octets) in all.iter().enumerate() {
            let now = Duration::from_millis(place as u64);
            node.datagram_in(octets, now);
            while node.poll_out(now).is_some() {}
        }
        let late = NOW + Duration::from_secs(60);
        node.datagram_in(&enable_output(GROUND), late);
        while node.poll_out(late).is_some() {}
        node.datagram_in(&add_packet(ingest::HOUSEKEEPING, 4), late);
        node.datagram_in(&bare(ingest::SEND_HOUSEKEEPING, 0).unwrap(), late);
        let found = std::iter::from_fn(|| node.poll_out(late))
            .filter_map(|(_, octets)| {
                let read = Message::parse(&octets).ok()?.telemetry(Subseconds::Bits16).ok()?;
                (read.id == ingest::HOUSEKEEPING).then(|| IngestHousekeeping::decode(read.payload))?
            })
            .last();
        let counters = found.expect("housekeeping");
        prop_assert_eq!((counters.ingest_packets + counters.ingest_errors) as usize, all.len() + 3);
    }
}
