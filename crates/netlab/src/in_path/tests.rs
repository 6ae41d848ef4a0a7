//! Every condition and every action on packets, with known answers; without sockets and without a clock.

use std::cell::Cell;

use serde_json::{Value, json};

use super::actions;
use super::engine::{AT_S, Engine};
use super::fields::{swap_addresses, swap_ports};
use super::frame::Frame;
use super::log::{Emitted, Event, InPathLog};
use super::matcher::Names;
use super::matchers;
use super::messages::Carriage;
use super::messages::tests::flow;
use super::packet::tests::{in_gre, ipv4, ipv6, tcp, udp};
use super::packet::{SCTP, TCP, UDP};
use super::quic::VERSION_1;
use super::quic::tests::long;
use super::spec::InPathSpec;
use super::tracker::Tracker;
use super::{ByteMatch, PacketPattern, checksums};

const TO_A: usize = 0;
const TO_B: usize = 1;
const MS: i64 = 1_000_000;

fn opening(_: &str, packet: &str) -> Result<PacketPattern, String> {
    match packet {
        "syn" => Ok(PacketPattern {
            protocol: TCP,
            bytes: vec![ByteMatch { offset: 13, value: 0x02, mask: 0x12 }],
            alternatives: Vec::new(),
        }),
        _ => Err("has a `packet` that is not known".into()),
    }
}

/// A tag that tells what it was made of.
pub(super) fn retry_tag(original: &[u8], packet: &[u8]) -> [u8; 16] {
    let sum = |bytes: &[u8]| checksums::crc32(bytes).to_be_bytes();
    let mut tag = [0; 16];
    tag[..4].copy_from_slice(&sum(original));
    tag[4..8].copy_from_slice(&sum(packet));
    tag
}

/// An engine in virtual hands.
struct Bench {
    engine: Engine,
    now_ns: Cell<i64>,
}

fn build(rules: Value, carriage: Carriage, seed: u64) -> Result<Engine, String> {
    let spec = json!({"node": "mallory", "between": ["a", "b"], "rules": rules});
    let spec: InPathSpec = serde_json::from_value(spec).map_err(|error| error.to_string())?;
    let flows = ["f0".into()];
    let between = &spec.between;
    let names = Names { between, flows: &flows, openings: &opening, retry_tag, in_message: false };
    Engine::new(&spec, &names, vec![Tracker::new(flow(carriage))], seed, [[1; 14], [2; 14]])
}

/// A rule with these conditions and this action.
fn rule(conditions: Value, deed: Value) -> Value {
    json!([{"id": "r", "match": conditions, "do": deed}])
}

impl Bench {
    fn new(rules: Value) -> Bench {
        Bench::with(rules, Carriage::Datagrams, 1)
    }

    fn with(rules: Value, carriage: Carriage, seed: u64) -> Bench {
        let engine = build(rules, carriage, seed).unwrap_or_else(|wrong| panic!("{wrong}"));
        Bench { engine, now_ns: Cell::new(0) }
    }

    fn packet_to(&mut self, towards: usize, packet: &[u8]) -> Vec<(usize, Vec<u8>)> {
        let ethernet = [0xa, 0xa, 0xa, 0xa, 0xa, 0xa, 0xb, 0xb, 0xb, 0xb, 0xb, 0xb, 8, 0];
        let frame = Frame { ethernet, towards, bytes: packet.to_vec() };
        let left = self.engine.packet(self.now_ns.get(), frame);
        left.into_iter().map(|departure| (departure.frame.towards, departure.frame.bytes)).collect()
    }

    /// What leaves when `packet` comes from a.
    fn packet(&mut self, packet: &[u8]) -> Vec<Vec<u8>> {
        self.packet_to(TO_B, packet).into_iter().map(|(_, bytes)| bytes).collect()
    }

    /// What leaves until then, each with its instant in milliseconds.
    fn until(&mut self, at_ns: i64) -> Vec<(i64, usize, Vec<u8>)> {
        let mut left = Vec::new();
        while let Some(next_ns) = self.engine.next_ns().filter(|next_ns| *next_ns <= at_ns) {
            for departure in self.engine.due(next_ns) {
                left.push((next_ns / MS, departure.frame.towards, departure.frame.bytes));
            }
        }
        self.now_ns.set(at_ns);
        left
    }

    fn log(self) -> InPathLog {
        let now_ns = self.now_ns.get();
        self.engine.finish(now_ns, 0)
    }
}

/// What leaves when a packet comes from a and this is done with it: for tests that actions have themselves.
pub(super) fn left_by(deed: Value, packet: &[u8]) -> Vec<Vec<u8>> {
    Bench::new(rule(json!({}), deed)).packet(packet)
}

pub(super) fn datagram(payload: &[u8]) -> Vec<u8> {
    ipv4(UDP, &udp(40_000, 5000, payload))
}

fn segment(sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    ipv4(TCP, &tcp((40_000, 5000), sequence, flags, payload))
}

/// Which of these packets a rule with these conditions drops.
fn dropped(conditions: Value, packets: &[Vec<u8>]) -> Vec<usize> {
    let mut bench = Bench::new(rule(conditions, json!({"action": "drop"})));
    let left: Vec<_> = packets.iter().map(|packet| bench.packet(packet)).collect();
    for (packet, left) in packets.iter().zip(&left).filter(|(_, left)| !left.is_empty()) {
        assert_eq!(left, std::slice::from_ref(packet), "a packet that no rule takes passes as it is");
    }
    (0..packets.len()).filter(|index| left[*index].is_empty()).collect()
}

#[test]
fn conditions_tell_packets_by_their_headers_in_the_open_and_in_a_tunnel() {
    let packets = [
        datagram(b"abcd"),
        segment(1, 0x10, b"ab"),
        ipv6(UDP, &udp(7, 5000, b"x")),
        in_gre(&ipv4(UDP, &udp(5000, 9, b"yz"))),
        ipv4(SCTP, &[0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0]),
        ipv4(200, b"unknown"),
    ];
    for (conditions, expected) in [
        (json!({}), vec![0, 1, 2, 3, 4, 5]),
        (json!({"protocol": "udp"}), vec![0, 2, 3]),
        (json!({"protocol": "tcp"}), vec![1]),
        (json!({"protocol": 200}), vec![5]),
        (json!({"source": "10.0.1.1"}), vec![0, 1, 3, 4, 5]),
        (json!({"source": "10.0.1.2"}), vec![]),
        (json!({"destination": "fefe::/16"}), vec![2]),
        (json!({"destination": "10.0.0.0/8", "protocol": "udp"}), vec![0, 3]),
        (json!({"source_port": 40_000}), vec![0, 1, 4]),
        (json!({"destination_port": [5000, 5001]}), vec![0, 1, 2, 4]),
        (json!({"port": 5000}), vec![0, 1, 2, 3]),
        (json!({"length_bytes": 32}), vec![0, 4]),
        (json!({"length_bytes": [33, 100]}), vec![1, 2, 3]),
        (json!({"opening": {"flow": "f0", "packet": "syn"}}), vec![]),
        (json!({"towards": "a"}), vec![]),
        (json!({"towards": "b", "protocol": "sctp"}), vec![4]),
    ] {
        assert_eq!(dropped(conditions.clone(), &packets), expected, "{conditions}");
    }
}

#[test]
fn bytes_are_told_by_place_and_mask_and_never_beyond_the_part() {
    let packets = [
        datagram(&[4, 0x81, 7, 7]),
        datagram(&[4, 0x01, 7, 7]),
        segment(1, 0x02, b""),
        segment(2, 0x12, b""),
    ];
    let at = |within: &str, offset: i64, hex: &str, mask: Option<&str>| {
        let mut place = json!({"within": within, "offset": offset, "hex": hex});
        if let Some(mask) = mask {
            place["mask"] = json!(mask);
        }
        json!({"bytes": [place]})
    };
    assert_eq!(dropped(at("payload", 1, "81", None), &packets), [0]);
    assert_eq!(dropped(at("payload", 1, "0107", Some("7fff")), &packets), [0, 1]);
    assert_eq!(dropped(at("transport", 13, "02", Some("12")), &packets), [2]);
    assert_eq!(dropped(at("packet", 9, "06", None), &packets), [2, 3]);
    assert_eq!(dropped(at("payload", 3, "0700", None), &packets), [0_usize; 0]);
    assert_eq!(dropped(json!({"opening": {"flow": "f0", "packet": "syn"}}), &packets), [2]);
    // A message of the flow, by what stands in it.
    let message =
        json!({"message": {"flow": "f0"}, "bytes": [{"within": "message", "offset": 1, "hex": "81"}]});
    assert_eq!(dropped(message, &packets), [0]);
}

#[test]
fn counts_are_of_those_for_which_all_else_holds() {
    let packets: Vec<_> =
        (0..12).map(|n| if n % 2 == 0 { datagram(&[1]) } else { segment(n, 0x10, b"a") }).collect();
    assert_eq!(dropped(json!({"nth": 3}), &packets), [2]);
    assert_eq!(dropped(json!({"nth": 3, "protocol": "udp"}), &packets), [4]);
    assert_eq!(dropped(json!({"nth": [2, 4], "protocol": "tcp"}), &packets), [3, 5, 7]);
    assert_eq!(dropped(json!({"every": 3, "protocol": "udp"}), &packets), [4, 10]);
    assert_eq!(dropped(json!({"probability": 0.0}), &packets), [0_usize; 0]);
    assert_eq!(dropped(json!({"probability": 1}), &packets).len(), 12);
}

#[test]
fn a_window_begins_with_its_first_instant_and_ends_before_its_last() {
    let mut bench = Bench::new(rule(json!({"from_s": 1.0, "until_s": 2.0}), json!({"action": "drop"})));
    let passes = [0, 999, 1000, 1999, 2000].map(|at_ms| {
        bench.now_ns.set(at_ms * MS);
        !bench.packet(&datagram(&[1])).is_empty()
    });
    assert_eq!(passes, [true, true, false, false, true]);
}

#[test]
fn chance_follows_the_seed_and_is_as_likely_as_asked() {
    let fates = |seed: u64| {
        let rules = rule(json!({"probability": 0.3}), json!({"action": "drop"}));
        let mut bench = Bench::with(rules, Carriage::Datagrams, seed);
        (0..2000).map(|_| bench.packet(&datagram(&[1])).is_empty()).collect::<Vec<_>>()
    };
    assert_eq!(fates(7), fates(7));
    assert_ne!(fates(7), fates(8));
    // Five standard deviations of a binomial distribution around 600.
    let gone = fates(7).into_iter().filter(|gone| *gone).count();
    assert!((498..=702).contains(&gone), "{gone}");
}

#[test]
fn the_third_message_is_four_seconds_late_wherever_its_packets_are_cut() {
    let rules =
        || rule(json!({"message": {"flow": "f0", "number": 3}}), json!({"action": "delay", "delay_s": 4.0}));
    let mut bench = Bench::new(rules());
    let left: Vec<_> = (1..=4).map(|n| bench.packet(&datagram(&[n])).len()).collect();
    assert_eq!(left, [1, 1, 0, 1]);
    assert_eq!(bench.until(5000 * MS), [(4000, TO_B, datagram(&[3]))]);

    // In a stream of messages of four bytes: the third is in the second and third segment, and both are late, as is
    // what repeats them.
    let mut bench = Bench::with(rules(), Carriage::Stream, 1);
    let (first, second, third) = (
        segment(1, 0x10, &[4, 0, 0, 0, 4, 0]),
        segment(7, 0x10, &[0, 0, 4, 0]),
        segment(11, 0x10, &[0, 0, 4, 0, 0, 0]),
    );
    let packets = [segment(0, 0x02, b""), first, second.clone(), third.clone(), second.clone()];
    let left: Vec<_> = packets.iter().map(|packet| bench.packet(packet).len()).collect();
    assert_eq!(left, [1, 1, 0, 0, 0]);
    let late: Vec<_> = bench.until(5000 * MS).into_iter().map(|(_, _, bytes)| bytes).collect();
    assert_eq!(late, [second.clone(), third, second]);
}

#[test]
fn repetitions_of_a_message_can_be_left_alone() {
    let rules = rule(
        json!({"message": {"flow": "f0", "number": 1, "repetitions": false}}),
        json!({"action": "drop"}),
    );
    let mut bench = Bench::with(rules, Carriage::Stream, 1);
    let packets = [segment(0, 0x02, b""), segment(1, 0x10, &[3, 1, 2]), segment(1, 0x10, &[3, 1, 2])];
    assert_eq!(packets.map(|packet| bench.packet(&packet).len()), [1, 0, 1]);
}

#[test]
fn delays_let_others_pass_and_keep_within_their_jitter() {
    let rules = rule(json!({"every": 2}), json!({"action": "delay", "delay_s": 0.1, "jitter_s": 0.05}));
    let mut bench = Bench::new(rules);
    let left: Vec<_> = (0..200).map(|_| bench.packet(&datagram(&[1])).len()).collect();
    assert!(left.iter().enumerate().all(|(n, left)| *left == usize::from(n % 2 == 0)));
    let late = bench.until(1000 * MS);
    assert_eq!(late.len(), 100);
    assert!(late.iter().all(|(at_ms, _, _)| (50..150).contains(at_ms)));
    let early = late.iter().filter(|(at_ms, _, _)| *at_ms < 100).count();
    assert!((25..=75).contains(&early), "{early} of 100 are early");
    assert_eq!(bench.log().counters.late_packets, 100);
}

#[test]
fn copies_follow_at_their_intervals() {
    let deed = json!({"action": "duplicate", "copies": 2, "after_s": 0.5, "interval_s": 0.25});
    let mut bench = Bench::new(rule(json!({}), deed));
    let packet = datagram(b"twice");
    assert_eq!(bench.packet(&packet), std::slice::from_ref(&packet));
    assert_eq!(bench.until(1000 * MS), [(500, TO_B, packet.clone()), (750, TO_B, packet.clone())]);
    assert_eq!(left_by(json!({"action": "duplicate"}), &packet), [packet.clone(), packet]);
}

#[test]
fn altered_bits_are_those_asked_for_and_checksums_are_repaired_only_on_request() {
    let packet = datagram(&[0; 40]);
    let alter = |more: Value| {
        let mut deed = json!({"action": "alter", "within": "payload"});
        deed.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        let mut left = Bench::new(rule(json!({}), deed)).packet(&packet);
        (left.len() == 1).then(|| left.remove(0)).expect("it passes")
    };
    let turned = |bytes: &[u8]| bytes[28..].iter().map(|byte| byte.count_ones()).sum::<u32>();
    let left = alter(json!({"bits": 3}));
    assert_eq!((turned(&left), &left[..28], checksums::are_right(&left)), (3, &packet[..28], Some(false)));
    let left = alter(json!({"bits": 3, "checksums": "repair"}));
    assert_eq!((turned(&left), checksums::are_right(&left)), (3, Some(true)));
    let left = alter(json!({"at_bit": 9, "bits": 2}));
    assert_eq!((left[28], left[29], turned(&left)), (0, 0b0110_0000, 2));
    assert_eq!(turned(&alter(json!({"bits": 4, "burst_bits": 8}))), 4);
    // What does not fit leaves the packet alone, and is counted.
    let deed = json!({"action": "alter", "within": "payload", "at_bit": 320});
    let mut bench = Bench::new(rule(json!({}), deed));
    assert_eq!(bench.packet(&packet), [packet]);
    assert_eq!(bench.log().counters.rules[0].unfit_packets, 1);
}

#[test]
fn a_message_that_comes_again_is_altered_alike_and_another_one_otherwise() {
    let deed = json!({"action": "alter", "within": "message", "bits": 5, "checksums": "repair"});
    let mut bench = Bench::with(rule(json!({"message": {"flow": "f0"}}), deed), Carriage::Stream, 3);
    bench.packet(&segment(0, 0x02, b""));
    let payload = [vec![60], vec![0; 59]].concat();
    let mut at = |sequence| bench.packet(&segment(sequence, 0x10, &payload)).remove(0)[40..].to_vec();
    let (first, second, again) = (at(1), at(61), at(1));
    assert_eq!(first, again);
    assert_ne!(first, second);
    assert_ne!(first, payload);
}

#[test]
fn rewritten_fields_stand_where_they_belong() {
    let rewrite = |packet: Vec<u8>, set: Value, checksums: &str| {
        let deed = json!({"action": "rewrite", "set": set, "checksums": checksums});
        let mut bench = Bench::new(rule(json!({}), deed));
        let left = bench.packet(&packet).remove(0);
        (left, bench.log().counters.rules[0].unfit_packets)
    };
    let set = json!({"source": "10.9.9.9", "ttl": 3, "traffic_class": 0xb8, "destination_port": 80,
                     "tcp_sequence_plus": -2, "tcp_acknowledgment": 77, "tcp_flags": 4, "tcp_window": 9});
    let (left, unfit) = rewrite(segment(1, 0x10, b"data"), set.clone(), "repair");
    let mut expected = ipv4(TCP, &tcp((40_000, 80), u32::MAX, 4, b"data"));
    expected[12..16].copy_from_slice(&[10, 9, 9, 9]);
    (expected[8], expected[1]) = (3, 0xb8);
    expected[28..32].copy_from_slice(&77_u32.to_be_bytes());
    expected[34..36].copy_from_slice(&[0, 9]);
    checksums::repair(&mut expected);
    assert_eq!((left, unfit), (expected, 0));
    let (left, _) = rewrite(segment(1, 0x10, b"data"), set.clone(), "leave");
    assert_eq!(checksums::are_right(&left), Some(false));
    // UDP has no flags; what it has is written all the same.
    let (left, unfit) = rewrite(datagram(b"x"), set, "repair");
    assert_eq!((left[8], left[22..24].to_vec(), unfit), (3, vec![0, 80], 1));
    let (left, unfit) = rewrite(datagram(b"longer"), json!({"payload": "6869"}), "repair");
    assert_eq!((left, unfit), (datagram(b"hi"), 0));
    let (left, unfit) = rewrite(in_gre(&datagram(b"longer")), json!({"payload": ""}), "repair");
    assert_eq!((left, unfit), (in_gre(&datagram(b"")), 0));
    let set = json!({"bytes": [{"within": "payload", "offset": 1, "hex": "5859"}]});
    let (left, unfit) = rewrite(datagram(b"abcd"), set.clone(), "repair");
    assert_eq!((left, unfit), (datagram(b"aXYd"), 0));
    assert_eq!(rewrite(datagram(b"ab"), set, "repair").1, 1);
    let set = json!({"source": "fd00::9", "ttl": 2, "traffic_class": 3});
    let (left, unfit) = rewrite(ipv6(UDP, &udp(1, 2, b"six")), set, "repair");
    assert_eq!((left[0], left[1], left[7], left[23], unfit), (0x60, 0x30, 2, 9, 0));
    assert_eq!(checksums::are_right(&left), Some(true));
}

#[test]
fn a_message_over_two_packets_is_rewritten_in_both() {
    let set = json!({"bytes": [{"within": "message", "offset": 2, "hex": "aabbcc"}]});
    let rules =
        rule(json!({"message": {"flow": "f0", "number": 2}}), json!({"action": "rewrite", "set": set}));
    let mut bench = Bench::with(rules, Carriage::Stream, 1);
    bench.packet(&segment(0, 0x02, b""));
    let first = bench.packet(&segment(1, 0x10, &[2, 0, 5, 0, 0])).remove(0);
    let second = bench.packet(&segment(6, 0x10, &[0, 0, 2, 0])).remove(0);
    assert_eq!(first, segment(1, 0x10, &[2, 0, 5, 0, 0xaa]));
    assert_eq!(second, segment(6, 0x10, &[0xbb, 0xcc, 2, 0]));
    assert_eq!(bench.log().counters.rules[0].unfit_packets, 0);
}

#[test]
fn captured_packets_are_inserted_again() {
    let rules = json!([
        {"id": "remember", "match": {"protocol": "udp"}, "do": {"action": "capture", "as": "old", "most": 2}},
        {"id": "replay", "match": {"protocol": "tcp"},
         "do": {"action": "insert", "packet": {"captured": "old", "pick": "first"}, "times": 2, "interval_s": 1.0}},
    ]);
    let mut bench = Bench::new(rules);
    let ack = segment(1, 0x10, b"");
    assert_eq!(bench.packet(&ack), std::slice::from_ref(&ack), "nothing is remembered yet");
    for n in 1..=3 {
        assert_eq!(bench.packet(&datagram(&[n])), [datagram(&[n])]);
    }
    assert_eq!(bench.packet(&ack), [ack, datagram(&[1])]);
    assert_eq!(bench.until(2000 * MS), [(1000, TO_B, datagram(&[1]))]);
    let log = bench.log();
    assert_eq!((log.counters.inserted_packets, log.counters.rules[1].unfit_packets), (2, 1));
}

#[test]
fn what_is_inserted_leaves_where_when_and_with_the_checksums_that_the_rule_says() {
    let insert = |checksums: &str| {
        let rules = json!([
            {"id": "remember", "match": {"protocol": "udp"}, "do": {"action": "capture", "as": "old", "most": 2}},
            {"id": "back", "match": {"protocol": "tcp"},
             "do": {"action": "insert", "packet": {"captured": "old"}, "towards": "a", "after_s": 0.5,
                    "set": {"ttl": 9}, "checksums": checksums}},
        ]);
        let mut bench = Bench::new(rules);
        (1..=3).for_each(|n| drop(bench.packet(&datagram(&[n]))));
        let ack = segment(1, 0x10, b"");
        assert_eq!(bench.packet(&ack), [ack]);
        bench.until(1000 * MS)
    };
    // The third one found no room: two are the most.
    let mut expected = datagram(&[2]);
    expected[8] = 9;
    assert_eq!(insert("leave"), [(500, TO_A, expected.clone())]);
    checksums::repair(&mut expected);
    assert_eq!(insert("repair"), [(500, TO_A, expected)]);
}

#[test]
fn picks_are_the_first_the_last_or_any() {
    let picks = |pick: &str| {
        let rules = json!([
            {"id": "replay", "match": {"protocol": "tcp"},
             "do": {"action": "insert", "packet": {"captured": "old", "pick": pick}, "before": true}},
            {"id": "remember", "match": {"protocol": "udp"}, "do": {"action": "capture", "as": "old"}},
        ]);
        let mut bench = Bench::new(rules);
        for n in 0..5 {
            bench.packet(&datagram(&[n]));
        }
        let mut next = || bench.packet(&segment(1, 0x10, b""))[0][28];
        (0..60).map(|_| next()).collect::<Vec<_>>()
    };
    assert_eq!(picks("first"), [0; 60]);
    assert_eq!(picks("last"), [4; 60]);
    let mut any = picks("random");
    assert_eq!(any, picks("random"));
    any.sort_unstable();
    any.dedup();
    assert_eq!(any, [0, 1, 2, 3, 4]);
}

#[test]
fn replays_of_a_connection_are_of_that_one_alone() {
    let from = |port: u16, n: u8| ipv4(UDP, &udp(port, 5000, &[n]));
    let replayed = |pick: &str| {
        let rules = json!([
            {"id": "remember", "match": {"towards": "a"}, "do": {"action": "capture", "as": "old"}},
            {"id": "replay", "match": {"towards": "b"},
             "do": {"action": "insert", "packet": {"captured": "old", "pick": pick, "same_connection": true},
                    "before": true}},
        ]);
        let mut bench = Bench::new(rules);
        // The answers of three connections; a packet of TCP between the same ports is of none of them.
        for n in 0..6 {
            let mut answer = from(40_000 + u16::from(n % 3), n);
            assert!(swap_addresses(&mut answer) && swap_ports(&mut answer));
            bench.packet_to(TO_A, &answer);
        }
        let mut answer = segment(9, 0x10, b"");
        assert!(swap_addresses(&mut answer) && swap_ports(&mut answer));
        bench.packet_to(TO_A, &answer);
        let found: Vec<_> = (0..40).map(|_| bench.packet(&from(40_001, 99))[0][28]).collect();
        let none = [bench.packet(&from(40_003, 99)), bench.packet(&ipv4(1, &[0; 8]))];
        assert_eq!(none.map(|left| left.len()), [1, 1], "nothing is known of these");
        (found, bench.log().counters.rules[1].unfit_packets)
    };
    assert_eq!(replayed("first"), (vec![1; 40], 2));
    assert_eq!(replayed("last"), (vec![4; 40], 2));
    let (mut any, _) = replayed("random");
    any.sort_unstable();
    any.dedup();
    assert_eq!(any, [1, 4]);
}

#[test]
fn a_reset_is_made_of_the_packet_that_it_races() {
    let deed = json!({"action": "insert", "packet": "matched", "before": true, "set": {"tcp_flags": 4, "payload": ""}});
    let mut bench = Bench::new(rule(json!({"protocol": "tcp"}), deed));
    let packet = segment(9, 0x18, b"data");
    assert_eq!(bench.packet(&packet), [segment(9, 4, b""), packet]);
}

#[test]
fn packets_are_made_of_nothing_and_the_clock_sends_them() {
    let set = json!({"source": "10.0.1.1", "destination": "10.0.2.1", "source_port": 40_000,
                     "destination_port": 5000, "payload": "616263"});
    let rules = json!([
        {"id": "forged", "match": {"at_s": 3.0},
         "do": {"action": "insert", "packet": {"made": "udp"}, "set": set, "towards": "b", "times": 2}},
        {"id": "given", "match": {"at_s": 4.0},
         "do": {"action": "insert", "packet": {"hex": "450000150000000040010000 0a000101 0a000201 00"}, "towards": "a"}},
    ]);
    let mut bench = Bench::new(rules);
    let left = bench.until(5000 * MS);
    let mut expected = datagram(b"abc");
    expected[4..8].fill(0);
    checksums::repair(&mut expected);
    assert_eq!(left[..2], [(3000, TO_B, expected.clone()), (3000, TO_B, expected)]);
    assert_eq!((left[2].0, left[2].1, left[2].2.len()), (4000, TO_A, 21));
    let log = bench.log();
    assert_eq!(log.counters.inserted_packets, 3);
    let valid: Vec<_> = log.rows.iter().filter_map(|row| row.fingerprint?.checksum_valid).collect();
    assert_eq!(valid, [true, true, false]);
}

#[test]
fn reflected_packets_go_back_as_answers() {
    let reflect = |more: Value| {
        let mut deed = json!({"action": "reflect"});
        deed.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        Bench::new(rule(json!({}), deed)).packet_to(TO_B, &datagram(b"echo"))
    };
    let mut answer = ipv4(UDP, &udp(5000, 40_000, b"echo"));
    answer[12..20].copy_from_slice(&[10, 0, 2, 1, 10, 0, 1, 1]);
    checksums::repair(&mut answer);
    assert_eq!(reflect(json!({})), [(TO_A, answer.clone())]);
    assert_eq!(reflect(json!({"keep": true})), [(TO_B, datagram(b"echo")), (TO_A, answer)]);
    assert_eq!(reflect(json!({"swap": "nothing"})), [(TO_A, datagram(b"echo"))]);
    // Exchanged addresses change no sum, exchanged ports neither.
    for swap in ["addresses", "addresses_and_ports"] {
        let left = reflect(json!({"swap": swap, "checksums": "leave"}));
        assert_eq!(checksums::are_right(&left[0].1), Some(true));
    }
}

#[test]
fn ethernet_addresses_turn_with_the_packet() {
    let rules = rule(json!({}), json!({"action": "reflect", "keep": true}));
    let mut engine = build(rules, Carriage::Datagrams, 1).expect("the rule is right");
    let ethernet = [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0];
    let left = engine.packet(0, Frame { ethernet, towards: TO_B, bytes: datagram(b"x") });
    assert_eq!(left[0].frame.ethernet, ethernet);
    assert_eq!(left[1].frame.ethernet, [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 8, 0]);
}

#[test]
fn held_packets_wait_for_their_release_or_for_their_time() {
    let rules = |order: &str| {
        json!([
            {"id": "keep", "match": {"nth": [2, 3]}, "do": {"action": "hold", "as": "q"}},
            {"id": "let go", "match": {"length_bytes": 30}, "do": {"action": "release", "from": "q", "order": order}},
        ])
    };
    for (order, second, third) in [("as_held", 2, 3), ("reversed", 3, 2)] {
        let mut bench = Bench::new(rules(order));
        assert_eq!(bench.packet(&datagram(&[1])).len(), 1);
        assert!(bench.packet(&datagram(&[2])).is_empty());
        assert!(bench.packet(&datagram(&[3])).is_empty());
        assert_eq!(
            bench.packet(&datagram(&[9, 9])),
            [datagram(&[9, 9]), datagram(&[second]), datagram(&[third])]
        );
    }
    let deed = json!({"action": "hold", "as": "q", "most_s": 2.0});
    let mut bench = Bench::new(rule(json!({"nth": 1}), deed));
    assert!(bench.packet(&datagram(&[1])).is_empty());
    assert_eq!(bench.until(3000 * MS), [(2000, TO_B, datagram(&[1]))]);
    let mut bench = Bench::new(rules("as_held"));
    (1..=3).for_each(|n| drop(bench.packet(&datagram(&[n]))));
    assert_eq!(bench.log().counters.waiting_packets, 2);
    // Where nothing waits, the release has nothing to do, and that is counted.
    let mut bench = Bench::new(rules("as_held"));
    assert_eq!(bench.packet(&datagram(&[9, 9])).len(), 1);
    assert_eq!(bench.log().counters.rules[1].unfit_packets, 1);
}

#[test]
fn what_one_rule_alters_the_next_one_sees_and_what_it_takes_away_none() {
    let rules = json!([
        {"id": "mark", "match": {"nth": 1}, "do": {"action": "rewrite", "set": {"ttl": 9}}},
        {"id": "gone", "match": {"bytes": [{"within": "packet", "offset": 8, "hex": "09"}]}, "do": {"action": "drop"}},
        {"id": "rest", "match": {}, "do": {"action": "duplicate"}},
    ]);
    let mut bench = Bench::new(rules);
    assert!(bench.packet(&datagram(&[1])).is_empty());
    assert_eq!(bench.packet(&datagram(&[2])).len(), 2);
    let matched: Vec<_> = bench.log().counters.rules.iter().map(|rule| rule.matched_packets).collect();
    assert_eq!(matched, [1, 1, 1]);
}

/// Rules of every kind over a stream of packets: the same seed does the same, and the log tells all of it.
fn everything(seed: u64) -> (Vec<Vec<u8>>, InPathLog) {
    let rules = json!([
        {"id": "1", "match": {"probability": 0.1}, "do": {"action": "drop"}},
        {"id": "2", "match": {"probability": 0.2}, "do": {"action": "delay", "delay_s": 0.02, "jitter_s": 0.01}},
        {"id": "3", "match": {"probability": 0.2}, "do": {"action": "alter", "within": "payload", "bits": 2}},
        {"id": "4", "match": {"every": 7}, "do": {"action": "capture", "as": "c"}},
        {"id": "5", "match": {"every": 5},
         "do": {"action": "insert", "packet": {"captured": "c", "pick": "random"}, "set": {"ttl": 7}}},
        {"id": "6", "match": {"probability": 0.1}, "do": {"action": "duplicate", "after_s": 0.005}},
        {"id": "7", "match": {"probability": 0.05}, "do": {"action": "hold", "as": "h"}},
        {"id": "8", "match": {"every": 50}, "do": {"action": "release", "from": "h", "order": "reversed"}},
        {"id": "9", "match": {"probability": 0.05, "towards": "b"}, "do": {"action": "reflect"}},
    ]);
    let mut bench = Bench::with(rules, Carriage::Datagrams, seed);
    let mut left = Vec::new();
    for n in 0..400_u16 {
        left.extend(bench.until(i64::from(n) * MS).into_iter().map(|(_, _, bytes)| bytes));
        let towards = usize::from(n % 3 > 0);
        let packet = datagram(&[n.to_be_bytes(), [0, 0]].concat());
        left.extend(bench.packet_to(towards, &packet).into_iter().map(|(_, bytes)| bytes));
    }
    left.extend(bench.until(410 * MS).into_iter().map(|(_, _, bytes)| bytes));
    (left, bench.log())
}

#[test]
fn the_same_seed_does_the_same_and_another_one_does_not() {
    assert_eq!(everything(5), everything(5));
    assert_ne!(everything(5).0, everything(6).0);
}

#[test]
fn the_log_tells_of_every_packet_that_came_and_of_every_one_that_left() {
    let (left, log) = everything(5);
    let counters = &log.counters;
    assert_eq!(counters.seen_packets, 400);
    let own = counters.passed_packets
        + counters.altered_packets
        + counters.dropped_packets
        + counters.waiting_packets;
    assert_eq!(own, 400, "{counters:?}");
    let emitted: Vec<_> = log.rows.iter().filter(|row| matches!(row.event, Event::Emitted(_))).collect();
    assert_eq!(emitted.len(), left.len());
    for (row, packet) in emitted.iter().zip(&left) {
        let print = row.fingerprint.expect("it tells the packet");
        assert_eq!(
            (print.length_bytes as usize, print.packet_crc32),
            (packet.len(), checksums::crc32(packet))
        );
        assert_eq!(print.checksum_valid, checksums::are_right(packet));
    }
    for count in [
        counters.altered_packets,
        counters.dropped_packets,
        counters.waiting_packets,
        counters.late_packets,
        counters.copied_packets,
        counters.inserted_packets,
    ] {
        assert!(count > 0, "{counters:?}");
    }
    let instants: Vec<_> = log.rows.iter().map(|row| row.t_ns).collect();
    assert!(instants.is_sorted());
}

#[test]
fn what_the_kernel_refuses_is_told_apart() {
    let mut engine = build(json!([]), Carriage::Datagrams, 1).expect("no rule is wrong");
    let left = engine.packet(5, Frame { ethernet: [0; 14], towards: TO_B, bytes: datagram(b"x") });
    engine.refused(left[0].row);
    let log = engine.finish(9, 3);
    assert_eq!((log.counters.refused_packets, log.counters.passed_packets), (1, 0));
    assert_eq!((log.counters.missed_packets, log.counters.stopped_ns), (3, 9));
    assert_eq!(log.rows[1].event, Event::Refused(Emitted::Passed));
}

#[test]
fn wrong_rules_get_a_sentence_that_says_where_and_what_would_be_right() {
    let drop = json!({"action": "drop"});
    let in_message = json!({"within": "message", "offset": 0, "hex": "00"});
    for (rules, expected) in [
        (
            rule(json!({"sourceport": 1}), drop.clone()),
            "`match` has no key `sourceport`; its keys are towards,",
        ),
        (rule(json!({"towards": "c"}), drop.clone()), "`towards` is \"c\"; it must be \"a\" or \"b\""),
        (rule(json!({"source": "10.0.1"}), drop.clone()), "`source` is \"10.0.1\"; it must be an address"),
        (rule(json!({"port": 70_000}), drop.clone()), "`port` is 70000; it must be a number from 0 to 65535"),
        (rule(json!({"nth": [4, 2]}), drop.clone()), "`nth` is [4,2]; it must be a number from 1"),
        (rule(json!({"every": 0}), drop.clone()), "`every` is 0; it must be a whole number"),
        (rule(json!({"probability": 2}), drop.clone()), "`probability` is 2; it must be a fraction"),
        (rule(json!({"protocol": "quic"}), drop.clone()), "`protocol` is \"quic\"; it must be one of icmp"),
        (rule(json!({"from_s": -1}), drop.clone()), "`from_s` is -1; it must be an instant"),
        (rule(json!({"message": {"flow": "f9"}}), drop.clone()), "`message` speaks of flow \"f9\""),
        (rule(json!({"opening": {"flow": "f0", "packet": "fin"}}), drop.clone()), "`opening` has a `packet`"),
        (
            rule(json!({"bytes": [{"within": "payload", "offset": 0, "hex": "0"}]}), drop.clone()),
            "`bytes` has \"0\"",
        ),
        (rule(json!({"at_s": 1.0}), drop.clone()), "`at_s` calls the action \"drop\", which needs a packet"),
        (rule(json!({"at_s": 1.0, "nth": 1}), drop.clone()), "`match` has `at_s` beside other keys"),
        (rule(json!({}), json!({})), "`do` names no `action`; the actions are drop, delay"),
        (rule(json!({}), json!({"action": "lose"})), "there is no action \"lose\"; the actions are"),
        (
            rule(json!({}), json!({"action": "drop", "p": 1})),
            "the action \"drop\" has no parameter `p`; it has none",
        ),
        (
            rule(json!({}), json!({"action": "delay"})),
            "the action \"delay\" is not right: missing field `delay_s`",
        ),
        (rule(json!({}), json!({"action": "delay", "delay_s": -1.0})), "has -1 for `delay_s`; it must be"),
        (rule(json!({}), json!({"action": "insert", "packet": {"hex": "45"}})), "needs `towards`"),
        (
            rule(
                json!({}),
                json!({"action": "insert", "packet": {"made": "quic"}, "towards": "b",
            "set": {"source": "10.0.0.1", "destination": "10.0.0.2"}}),
            ),
            "it must be \"matched\", {\"captured\"",
        ),
        (rule(json!({}), json!({"action": "rewrite", "set": {"color": 1}})), "unknown field `color`"),
        (
            rule(json!({}), json!({"action": "rewrite", "set": {"ttl": 300}})),
            "the action \"rewrite\" is not right in `set.ttl`: invalid value: integer `300`, expected u8",
        ),
        (
            rule(json!({}), json!({"action": "alter", "within": "message"})),
            "the action \"alter\" has `within` \"message\", but the rule's `match` has no `message`",
        ),
        (
            rule(
                json!({"bytes": [{"within": "message", "offset": 0, "hex": "00"}]}),
                json!({"action": "drop"}),
            ),
            "`bytes` has `within` \"message\", but",
        ),
        (
            rule(json!({}), json!({"action": "rewrite", "set": {"bytes": [in_message]}})),
            "the action \"rewrite\" has `within` \"message\", but",
        ),
        (
            json!([
                {"id": "keep", "do": {"action": "capture", "as": "c"}},
                {"id": "r", "match": {"message": {"flow": "f0"}},
                 "do": {"action": "insert", "packet": {"captured": "c"}, "set": {"bytes": [in_message]}}},
            ]),
            "in `set`; that is for the packet \"matched\"",
        ),
        (
            rule(json!({}), json!({"action": "insert", "packet": {"captured": "c"}})),
            "rule \"r\": no rule of the node captures packets as \"c\"; the names are: none",
        ),
        (
            json!([
                {"id": "keep", "do": {"action": "hold", "as": "q"}},
                {"id": "go", "do": {"action": "release", "from": "p"}},
            ]),
            "rule \"go\": no rule of the node holds packets as \"p\"; the names are: q",
        ),
        (json!([{"id": "x", "do": drop}, {"id": "x", "do": drop}]), "another rule of the node has this id"),
    ] {
        let wrong = build(rules, Carriage::Datagrams, 1).err().unwrap_or_default();
        assert!(wrong.starts_with("in-path node \"mallory\", rule \""), "{wrong}");
        assert!(wrong.contains(expected), "{wrong}\nexpected: {expected}");
    }
}

#[test]
fn actions_take_the_parameters_that_they_name_and_no_others() {
    for kind in actions::REGISTRY {
        for name in kind.parameters {
            let deed = json!({"action": kind.name, *name: [[]]});
            let wrong = build(rule(json!({}), deed), Carriage::Datagrams, 1).err().unwrap_or_default();
            assert!(!wrong.contains("has no parameter") && !wrong.contains("unknown field"), "{wrong}");
            assert!(!wrong.is_empty(), "{} takes nonsense for `{name}`", kind.name);
        }
    }
    assert!(matchers::REGISTRY.iter().all(|kind| kind.key != AT_S));
}

#[test]
fn whatever_comes_is_no_reason_to_fall_over() {
    let set = json!({"source": "10.9.9.9", "ttl": 3, "source_port": 1, "tcp_sequence_plus": 9, "tcp_window": 4, "payload": "00"});
    let placed = json!({"bytes": [{"within": "message", "offset": 3, "hex": "ff"}]});
    let rules = json!([
        {"id": "1", "match": {"probability": 0.5}, "do": {"action": "alter", "within": "transport", "bits": 9, "checksums": "repair"}},
        {"id": "2", "match": {"message": {"flow": "f0"}}, "do": {"action": "alter", "within": "message", "bits": 3}},
        {"id": "placed", "match": {"message": {"flow": "f0"}}, "do": {"action": "rewrite", "set": placed}},
        {"id": "3", "match": {"probability": 0.5}, "do": {"action": "rewrite", "set": set}},
        {"id": "4", "match": {"bytes": [{"within": "payload", "offset": -4, "hex": "00"}]}, "do": {"action": "duplicate"}},
        {"id": "5", "match": {"every": 3}, "do": {"action": "capture", "as": "c", "most": 50}},
        {"id": "6", "match": {"message": {"flow": "f0"}},
         "do": {"action": "insert", "packet": {"captured": "c", "pick": "random"}, "set": set}},
        {"id": "7", "match": {"probability": 0.3}, "do": {"action": "reflect", "keep": true}},
        {"id": "8", "match": {"probability": 0.5}, "do": {"action": "reset", "guess": "window", "times": 2}},
        {"id": "9", "match": {"probability": 0.5}, "do": {"action": "stateless_reset"}},
        {"id": "10", "match": {"probability": 0.5}, "do": {"action": "version_negotiation"}},
        {"id": "11", "match": {"probability": 0.5}, "do": {"action": "retry"}},
        {"id": "12", "match": {"probability": 0.5}, "do": {"action": "swap_connection_ids", "draw": true}},
    ]);
    let whole = [
        datagram(&[7; 60]),
        segment(0, 0x02, b""),
        segment(1, 0x10, &[9; 40]),
        ipv6(TCP, &tcp((40_000, 5000), 1, 0x10, &[9; 40])),
        in_gre(&segment(1, 0x10, &[9; 40])),
        ipv4(SCTP, &[0; 40]),
        long(0xc3, VERSION_1),
        in_gre(&long(0xf3, VERSION_1)),
    ];
    for carriage in [Carriage::Datagrams, Carriage::Stream] {
        let mut random = crate::random::Random::new(1, "damage");
        let mut bench = Bench::with(rules.clone(), carriage, 1);
        for number in 0..20_000 {
            let mut packet = whole[number % whole.len()].clone();
            for _ in 0..random.below(4) {
                let at = random.below(packet.len());
                packet[at] = random.below(256) as u8;
            }
            packet.truncate(packet.len() - random.below(packet.len()) * usize::from(number % 5 == 0));
            bench.packet_to(number % 2, &packet);
        }
        assert_eq!(bench.log().counters.seen_packets, 20_000);
    }
}
