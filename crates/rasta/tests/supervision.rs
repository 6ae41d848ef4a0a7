//! Sequences with a known answer: supervision in time. The peer is written by hand.

mod common;

use std::time::Duration;

use common::{OWN_SN, OWN_TS, PEER_SN, PEER_TS, Script, data};
use rasta::{Body, DisconnectReason, Disconnection, Message, State, Supervision};

fn reason(reason: DisconnectReason) -> Option<Disconnection> {
    Some(Disconnection { detail: 0, reason })
}

#[test]
fn a_time_stamp_lies_less_than_t_max_after_the_last_one() {
    let mut script = Script::up(|_| {});
    let mut header = script.header(PEER_SN + 2, OWN_SN);
    // The peer's clock is about to wrap; a stamp that lies T_max or more after the last one is not taken.
    header.time_stamp_ms = PEER_TS.wrapping_add(1800);
    script.give_whole(Message { header, body: Body::Heartbeat });
    assert_eq!(script.end.connection_report().errors.time_stamp, 1);
    header.time_stamp_ms = PEER_TS.wrapping_add(1799);
    script.give_whole(Message { header, body: Body::Heartbeat });
    assert_eq!(script.end.connection_report().errors.time_stamp, 1);
    // And before it neither.
    let mut header = script.header(PEER_SN + 3, OWN_SN);
    header.time_stamp_ms = PEER_TS + 1798;
    script.give_whole(Message { header, body: Body::Heartbeat });
    assert_eq!(script.end.connection_report().errors.time_stamp, 2);
    assert_eq!(script.end.state(), State::Up, "such messages are dropped, nothing else");
}

#[test]
fn a_connection_that_hears_nothing_ends_after_t_max() {
    let mut script = Script::new(true, |_| {});
    script.pass_ms(1799);
    assert_eq!(script.end.state(), State::Start);
    script.pass_ms(1);
    assert_eq!(script.ended_here(), reason(DisconnectReason::Timeout));
    assert_eq!(script.sent().pop().expect("a disconnection request").body, {
        Body::DisconnectionRequest(Disconnection { detail: 0, reason: DisconnectReason::Timeout })
    });
    assert_eq!(script.end.poll_timeout(), None, "a closed end waits for nothing");
}

/// The round trip of 201 ms (200 and the granularity of 1) is taken off T_max; public stacks count from two moments.
#[test]
fn supervision_adapts_to_the_round_trip() {
    for (supervision, left_ms) in [(Supervision::FromReception, 1599), (Supervision::FromConfirmation, 1399)]
    {
        let mut script = Script::up(|config| config.supervision = supervision);
        script.pass_ms(250);
        let mut header = script.header(PEER_SN + 2, OWN_SN);
        header.confirmed_time_stamp_ms -= 200;
        script.give_whole(Message { header, body: Body::Heartbeat });
        script.pass_ms(left_ms - 1);
        assert_eq!(script.end.state(), State::Up, "{supervision:?}");
        script.pass_ms(1);
        assert_eq!(script.ended_here(), reason(DisconnectReason::Timeout), "{supervision:?}");
    }
}

#[test]
fn a_message_older_than_t_max_ends_the_connection() {
    let mut script = Script::up(|_| {});
    script.pass_ms(1000);
    script.give(PEER_SN + 2, OWN_SN, Body::Heartbeat);
    script.pass_ms(1000);
    let mut header = script.header(PEER_SN + 3, OWN_SN);
    header.confirmed_time_stamp_ms = OWN_TS + 1000;
    script.give_whole(Message { header, body: data("1 s old: taken") });
    script.pass_ms(790);
    // Confirms a stamp that is 1,790 ms old, in range of the last one; with granularity 1,791 ms: still taken.
    let mut header = script.header(PEER_SN + 4, OWN_SN);
    header.confirmed_time_stamp_ms = OWN_TS + 1000;
    script.give_whole(Message { header, body: data("still") });
    assert_eq!(script.messages(), ["1 s old: taken", "still"]);
    // 1,800 ms and the granularity are too much; the own time-out of 9 ms has not run out: same moment, another stamp.
    let mut header = script.header(PEER_SN + 5, OWN_SN);
    header.confirmed_time_stamp_ms = OWN_TS + 1000;
    script.now = script.now + Duration::from_millis(10);
    script.give_whole(Message { header, body: data("too old") });
    assert_eq!(script.end.connection_report().errors.late, 1);
    assert_eq!(script.messages(), [""; 0]);
    assert_eq!(script.end.state(), State::Closed);
}

#[test]
fn a_confirmed_stamp_out_of_range_ends_the_connection() {
    let mut script = Script::up(|_| {});
    script.pass_ms(100);
    script.give(PEER_SN + 2, OWN_SN, Body::Heartbeat);
    let mut header = script.header(PEER_SN + 3, OWN_SN);
    header.confirmed_time_stamp_ms -= 1;
    script.give_whole(Message { header, body: Body::Heartbeat });
    assert_eq!(script.ended_here(), reason(DisconnectReason::ProtocolSequenceError));
    assert_eq!(script.end.connection_report().errors.confirmed_time_stamp, 1);
}

#[test]
fn a_heartbeat_follows_t_h_after_the_last_message() {
    let mut script = Script::up(|_| {});
    script.sent();
    script.pass_ms(299);
    assert_eq!(script.sent_bodies(), []);
    script.send("1");
    script.pass_ms(299);
    assert_eq!(script.sent_bodies(), [(OWN_SN + 1, data("1"))]);
    script.pass_ms(1);
    assert_eq!(script.sent_bodies(), [(OWN_SN + 2, Body::Heartbeat)]);
}
