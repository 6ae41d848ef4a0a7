//! Order, deferral and diagnosis with known answers.

use std::time::Duration;

use super::*;
use crate::check_code::CheckCode;

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Two channels, T_seq 100 ms, four places, and a window of diagnosis of three frames.
fn layer() -> Redundancy {
    let mut config = Config::new(96, 97);
    (config.channels, config.n_diagnosis) = (2, 3);
    config.check_code = CheckCode::C;
    let mut layer = Redundancy::new(config);
    layer.open();
    layer
}

fn frame(number: u32) -> Vec<u8> {
    Frame { sequence_number: number, payload: &number.to_le_bytes() }.encode(CheckCode::C)
}

fn give(layer: &mut Redundancy, now: u64, channel: usize, number: u32) {
    layer.receive(at(now), channel, &frame(number));
}

fn ready(layer: &mut Redundancy) -> Vec<u32> {
    std::iter::from_fn(|| layer.poll_ready())
        .map(|payload| u32::from_le_bytes(payload.try_into().expect("the test's frames carry their number")))
        .collect()
}

#[test]
fn the_first_of_each_number_counts_whatever_the_channel() {
    let mut layer = layer();
    for (channel, number) in [(0, 0), (1, 0), (1, 1), (0, 1), (0, 1)] {
        give(&mut layer, 0, channel, number);
    }
    assert_eq!(ready(&mut layer), [0, 1]);
    assert_eq!(layer.counters().repeated, 3);
}

#[test]
fn what_comes_too_early_waits_and_the_other_channel_fills_the_gap() {
    let mut layer = layer();
    for number in [0, 2, 3] {
        give(&mut layer, 0, 0, number);
    }
    assert_eq!(ready(&mut layer), [0]);
    assert_eq!(layer.poll_timeout(), Some(at(100)));
    give(&mut layer, 60, 1, 1);
    assert_eq!(ready(&mut layer), [1, 2, 3]);
    assert_eq!((layer.counters().deferred, layer.poll_timeout()), (2, None));
}

#[test]
fn a_gap_is_given_up_after_t_seq() {
    let mut layer = layer();
    give(&mut layer, 0, 0, 0);
    give(&mut layer, 10, 0, 4);
    give(&mut layer, 20, 0, 2);
    assert_eq!(ready(&mut layer), [0]);
    layer.handle_timeout(at(109));
    assert_eq!(ready(&mut layer), [], "T_seq has not passed");
    // 4 has waited long enough: 1 is given up, 2 goes on; 3 too, since 4 cannot wait longer.
    layer.handle_timeout(at(110));
    assert_eq!(ready(&mut layer), [2, 4]);
    assert_eq!(layer.counters().given_up, 2);
    give(&mut layer, 111, 1, 1);
    assert_eq!(ready(&mut layer), [], "what comes after that is too late");
}

#[test]
fn places_and_range_are_bounded() {
    let mut layer = layer();
    give(&mut layer, 0, 0, 0);
    for number in [2, 3, 4, 5, 6] {
        give(&mut layer, 0, 0, number);
    }
    assert_eq!((layer.counters().deferred, layer.counters().no_place), (4, 1));
    give(&mut layer, 0, 0, 41);
    assert_eq!(layer.counters().no_place, 2, "ten times the places ahead is in range");
    give(&mut layer, 0, 0, 42);
    assert_eq!(layer.counters().out_of_range, 1);
}

#[test]
fn frames_of_a_connection_that_was_do_not_begin_a_new_one() {
    let mut layer = layer();
    give(&mut layer, 0, 0, 3);
    assert_eq!((ready(&mut layer), layer.counters().out_of_range), (vec![], 1));
    layer.send(b"something");
    give(&mut layer, 0, 0, 3);
    assert_eq!(layer.counters().deferred, 1, "once something was sent, a gap is a gap");
}

#[test]
fn numbers_wrap_around() {
    let mut layer = layer();
    (layer.next_to_receive, layer.next_to_send) = (u32::MAX, u32::MAX);
    for number in [1, u32::MAX, 0] {
        give(&mut layer, 0, 0, number);
    }
    assert_eq!(ready(&mut layer), [u32::MAX, 0, 1]);
    give(&mut layer, 0, 1, u32::MAX);
    assert_eq!(layer.counters().repeated, 1);
    // A gap that is given up lies across the wrap too.
    (layer.next_to_receive, layer.deferred) = (u32::MAX - 1, Vec::new());
    give(&mut layer, 0, 0, 0);
    layer.handle_timeout(at(100));
    assert_eq!((ready(&mut layer), layer.counters().given_up), (vec![0], 2));
    assert_eq!(
        Frame::decode(&layer.send(b""), CheckCode::C).map(|frame| frame.sequence_number),
        Ok(u32::MAX)
    );
    assert_eq!(Frame::decode(&layer.send(b""), CheckCode::C).map(|frame| frame.sequence_number), Ok(0));
}

#[test]
fn damage_and_frames_of_a_closed_channel_are_counted() {
    let mut layer = layer();
    let mut damaged = frame(0);
    damaged[9] ^= 4;
    layer.receive(at(0), 0, &damaged);
    layer.receive(at(0), 0, &frame(0)[..7]);
    layer.close();
    give(&mut layer, 0, 0, 0);
    let counters = layer.counters();
    assert_eq!((counters.check_code, counters.malformed, counters.closed), (1, 1, 1));
    assert_eq!(ready(&mut layer), []);
}

#[test]
fn channels_are_compared_with_the_fastest() {
    let mut layer = layer();
    // Channel 1 is 20 ms behind, then ahead, then loses one; 100 ms behind is still in time, 101 is not.
    for (now, channel, number) in [(0, 0, 0), (20, 1, 0), (50, 1, 1), (150, 0, 1), (200, 0, 2), (301, 1, 2)] {
        give(&mut layer, now, channel, number);
    }
    let expected = [
        ChannelReport { frames: 3, missed: 0, drift_ms: 100, drift2_ms2: 10_000 },
        ChannelReport { frames: 3, missed: 1, drift_ms: 20, drift2_ms2: 400 },
    ];
    assert_eq!([0, 1].map(|channel| layer.report(channel)), expected.map(Some));
    assert_eq!(layer.poll_full(), None);
    give(&mut layer, 400, 0, 3);
    assert_eq!([layer.poll_full(), layer.poll_full()], [Some((0, expected[0])), Some((1, expected[1]))]);
    assert_eq!(layer.report(1), Some(ChannelReport { frames: 1, missed: 1, ..ChannelReport::default() }));
    assert_eq!(layer.report(2), None);
    assert_eq!(Duration::from_millis(100), layer.config.t_seq);
}
