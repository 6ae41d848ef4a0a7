//! Sequences with a known answer: retransmission, flow control, wrap-around. The peer is written by hand.

mod common;

use common::{OWN_SN, PEER_SN, Script, again, data, parameters};
use rasta::{Body, DisconnectReason, Disconnection, SendError, State};

fn reason(reason: DisconnectReason) -> Option<Disconnection> {
    Some(Disconnection { detail: 0, reason })
}

#[test]
fn numbers_wrap_around() {
    let own_sn = u32::MAX - 1;
    let mut script = Script::up_with_numbers(own_sn, u32::MAX - 1, |_| {});
    for text in ["a", "b", "c"] {
        script.send(text);
    }
    let numbers: Vec<u32> = script.sent().iter().map(|message| message.header.sequence_number).collect();
    assert_eq!(numbers, [u32::MAX, 0, 1]);
    assert_eq!(script.end.unconfirmed(), 3);
    // The peer's numbers: MAX - 1 asked, MAX was the heartbeat, 0 and 1 follow. It confirms across the wrap.
    script.give(0, 0, data("x"));
    assert_eq!(script.end.unconfirmed(), 1, "a and b are confirmed");
    script.give(1, 1, data("y"));
    assert_eq!(script.end.unconfirmed(), 0);
    assert_eq!(script.messages(), ["x", "y"]);

    // Retransmission across the wrap: 3 comes before 2, and everything after 1 is asked for.
    script.give(3, 1, data("late"));
    let request = script.sent().pop().expect("a retransmission request");
    assert_eq!((request.body, request.header.confirmed_sequence_number), (Body::RetransmissionRequest, 1));
}

/// The receiver's side of a lost message (the public documents number such sequences 5.7.3.x).
#[test]
fn a_gap_is_asked_for_and_filled() {
    let mut script = Script::up(|_| {});
    script.give(PEER_SN + 2, OWN_SN, data("1"));
    script.give(PEER_SN + 4, OWN_SN, data("3"));
    let request = script.sent().pop().expect("a retransmission request");
    assert_eq!(request.body, Body::RetransmissionRequest);
    assert_eq!(request.header.confirmed_sequence_number, PEER_SN + 2);
    assert_eq!(script.end.state(), State::RetransmissionRequested);
    script.give(PEER_SN + 5, OWN_SN, data("4"));
    assert_eq!(script.messages(), ["1"], "what comes before the response is not taken");

    let confirmed = OWN_SN + 1;
    script.give(PEER_SN + 6, confirmed, Body::RetransmissionResponse);
    assert_eq!(script.end.state(), State::RetransmissionRunning);
    for (number, text) in [(7, "2"), (8, "3"), (9, "4")] {
        script.give(PEER_SN + number, confirmed, again(text));
    }
    assert_eq!(script.end.state(), State::RetransmissionRunning);
    script.give(PEER_SN + 10, confirmed, Body::Heartbeat);
    assert_eq!(script.end.state(), State::Up);
    assert_eq!(script.messages(), ["2", "3", "4"]);
}

#[test]
fn a_gap_within_a_retransmission_is_asked_for_again() {
    let mut script = Script::up(|_| {});
    script.give(PEER_SN + 3, OWN_SN, data("2"));
    script.sent();
    script.give(PEER_SN + 4, OWN_SN + 1, Body::RetransmissionResponse);
    script.give(PEER_SN + 6, OWN_SN + 1, again("2"));
    let request = script.sent().pop().expect("a second request");
    assert_eq!(
        (request.body, request.header.confirmed_sequence_number),
        (Body::RetransmissionRequest, PEER_SN + 4)
    );
    assert_eq!(script.end.state(), State::RetransmissionRequested);
}

/// The sender's side.
#[test]
fn what_is_asked_for_goes_out_again_with_new_numbers_and_without_heartbeats() {
    let mut script = Script::up(|_| {});
    script.send("1");
    script.pass_ms(300);
    script.send("2");
    script.send("3");
    let kinds: Vec<_> = script.sent_bodies();
    assert_eq!(
        kinds,
        [
            (OWN_SN + 1, data("1")),
            (OWN_SN + 2, Body::Heartbeat),
            (OWN_SN + 3, data("2")),
            (OWN_SN + 4, data("3")),
        ]
    );
    // The peer has 1 only.
    script.give(PEER_SN + 2, OWN_SN + 1, Body::RetransmissionRequest);
    assert_eq!(
        script.sent_bodies(),
        [
            (OWN_SN + 5, Body::RetransmissionResponse),
            (OWN_SN + 6, again("2")),
            (OWN_SN + 7, again("3")),
            (OWN_SN + 8, Body::Heartbeat),
        ]
    );
    assert_eq!((script.end.state(), script.end.unconfirmed()), (State::Up, 2));
    // What was retransmitted can be asked for once more.
    script.give(PEER_SN + 3, OWN_SN + 6, Body::RetransmissionRequest);
    assert_eq!(script.sent_bodies()[1], (OWN_SN + 10, again("3")));
}

#[test]
fn a_request_out_of_sequence_is_answered_and_answered_by_a_request() {
    let mut script = Script::up(|_| {});
    script.send("1");
    script.sent();
    // The peer's message PEER_SN + 2 is lost, and ours too.
    script.give(PEER_SN + 3, OWN_SN, Body::RetransmissionRequest);
    let sent = script.sent();
    let bodies: Vec<_> = sent.iter().map(|message| message.body.clone()).collect();
    assert_eq!(
        bodies,
        [Body::RetransmissionResponse, again("1"), Body::Heartbeat, Body::RetransmissionRequest,]
    );
    assert_eq!(sent[3].header.confirmed_sequence_number, PEER_SN + 1);
    assert_eq!(script.end.state(), State::RetransmissionRequested);
}

#[test]
fn new_data_end_a_retransmission_where_some_wait() {
    let mut script = Script::up(|config| (config.n_send_max, config.mwa) = (3, 2));
    for text in ["1", "2", "3", "4"] {
        script.send(text);
    }
    assert_eq!(script.sent().len(), 3, "4 waits for the window");
    script.give(PEER_SN + 2, OWN_SN + 2, Body::RetransmissionRequest);
    let response = Body::RetransmissionResponse;
    assert_eq!(
        script.sent_bodies(),
        [(OWN_SN + 4, response), (OWN_SN + 5, again("3")), (OWN_SN + 6, data("4"))]
    );
}

#[test]
fn what_is_confirmed_cannot_be_asked_for() {
    let mut script = Script::up(|_| {});
    script.send("1");
    script.sent();
    script.give(PEER_SN + 2, OWN_SN + 1, Body::Heartbeat);
    script.give(PEER_SN + 3, OWN_SN + 1, Body::RetransmissionRequest);
    assert_eq!(script.ended_here(), reason(DisconnectReason::RetransmissionFailed));
}

#[test]
fn every_mwa_messages_are_confirmed_at_once() {
    let mut script = Script::up(|config| config.mwa = 3);
    script.send("confirms the set-up");
    script.sent();
    for number in 2..4 {
        script.give(PEER_SN + number, OWN_SN, data("x"));
    }
    assert_eq!(script.sent_bodies(), []);
    script.give(PEER_SN + 4, OWN_SN, data("x"));
    let confirmation = script.sent().pop().expect("a heartbeat");
    assert_eq!(
        (confirmation.body, confirmation.header.confirmed_sequence_number),
        (Body::Heartbeat, PEER_SN + 4)
    );
}

#[test]
fn data_wait_for_confirmations_and_heartbeats_do_not() {
    let mut script = Script::up(|config| (config.n_send_max, config.mwa) = (3, 2));
    for text in ["1", "2", "3", "4", "5", "6"] {
        script.send(text);
    }
    assert_eq!(script.end.send(script.now, "7"), Err(SendError::Full(3)));
    let bodies = script.sent_bodies();
    assert_eq!(bodies, [(OWN_SN + 1, data("1")), (OWN_SN + 2, data("2")), (OWN_SN + 3, data("3"))]);
    script.pass_ms(300);
    assert_eq!(script.sent_bodies(), [(OWN_SN + 4, Body::Heartbeat)]);
    script.give(PEER_SN + 2, OWN_SN + 2, Body::Heartbeat);
    assert_eq!(script.sent_bodies(), [(OWN_SN + 5, data("4"))], "3 and the heartbeat are still under way");
    assert_eq!(script.end.unconfirmed(), 4);
}

#[test]
fn the_peers_window_counts_where_it_is_smaller() {
    let mut script = Script::new(false, |_| {});
    let mut small = parameters("0303");
    small.n_send_max = 2;
    script.give(PEER_SN, 0, Body::ConnectionRequest(small));
    script.give(PEER_SN + 1, OWN_SN, Body::Heartbeat);
    script.sent();
    for text in ["1", "2", "3"] {
        script.send(text);
    }
    assert_eq!(script.sent().len(), 2);
}

#[test]
fn messages_that_wait_share_one_up_to_n_max_packet() {
    let mut script = Script::up(|config| (config.n_send_max, config.mwa, config.n_max_packet) = (4, 2, 3));
    for text in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        script.send(text);
    }
    assert_eq!(script.sent().len(), 4);
    script.give(PEER_SN + 2, OWN_SN + 4, Body::Heartbeat);
    let together = |texts: &[&str]| Body::Data(texts.iter().map(|text| text.as_bytes().to_vec()).collect());
    assert_eq!(
        script.sent_bodies(),
        [(OWN_SN + 5, together(&["5", "6", "7"])), (OWN_SN + 6, together(&["8"]))]
    );
    script.give(PEER_SN + 3, OWN_SN + 6, together(&["a", "b"]));
    assert_eq!(script.messages(), ["a", "b"]);
}
