//! Sequences with a known answer: set-up, checks, ends. The peer is written by hand.

mod common;

use common::{OWN_SN, OWN_TS, PEER_SN, PEER_TS, Script, data, parameters};
use rasta::{
    Body, CodeLength, DisconnectReason, Disconnection, Ending, Event, Frame, Message, SafetyCode, SendError,
    State,
};

fn reason(reason: DisconnectReason) -> Option<Disconnection> {
    Some(Disconnection { detail: 0, reason })
}

#[test]
fn a_client_asks_and_confirms_with_a_heartbeat() {
    let mut script = Script::new(true, |_| {});
    let request = script.sent().pop().expect("the connection request");
    assert_eq!(request.body, Body::ConnectionRequest(parameters("0303")));
    let header = request.header;
    assert_eq!((header.sender_id, header.receiver_id), (96, 97));
    assert_eq!((header.sequence_number, header.confirmed_sequence_number), (OWN_SN, 0));
    assert_eq!((header.time_stamp_ms, header.confirmed_time_stamp_ms), (OWN_TS, 0));

    script.pass_ms(40);
    script.give(PEER_SN, OWN_SN, Body::ConnectionResponse(parameters("0303")));
    let heartbeat = script.sent().pop().expect("a heartbeat");
    assert_eq!(heartbeat.body, Body::Heartbeat);
    let header = heartbeat.header;
    assert_eq!((header.sequence_number, header.confirmed_sequence_number), (OWN_SN + 1, PEER_SN));
    assert_eq!((header.time_stamp_ms, header.confirmed_time_stamp_ms), (OWN_TS + 40, PEER_TS + 40));
    assert_eq!(script.events(), [Event::State(State::Start), Event::State(State::Up)]);
}

#[test]
fn a_server_waits_answers_and_is_up_after_the_heartbeat() {
    let mut script = Script::new(false, |_| {});
    assert_eq!((script.end.state(), script.sent().len()), (State::Down, 0));
    script.pass_ms(60_000);
    script.give(PEER_SN, 0, Body::ConnectionRequest(parameters("0303")));
    let response = script.sent().pop().expect("the connection response");
    assert_eq!(response.body, Body::ConnectionResponse(parameters("0303")));
    let header = response.header;
    assert_eq!((header.sequence_number, header.confirmed_sequence_number), (OWN_SN, PEER_SN));
    assert_eq!(header.confirmed_time_stamp_ms, PEER_TS + 60_000);
    assert_eq!(script.end.state(), State::Start);
    script.give(PEER_SN + 1, OWN_SN, Body::Heartbeat);
    assert_eq!(script.end.state(), State::Up);
}

#[test]
fn a_newer_version_is_accepted_and_an_older_one_refused_on_both_sides() {
    let mut server = Script::new(false, |_| {});
    server.give(PEER_SN, 0, Body::ConnectionRequest(parameters("0400")));
    assert_eq!(server.end.state(), State::Start);

    let mut server = Script::new(false, |_| {});
    server.give(PEER_SN, 0, Body::ConnectionRequest(parameters("0302")));
    let refusal = server.sent().pop().expect("a disconnection request");
    let version_error = Disconnection { detail: 0, reason: DisconnectReason::ProtocolVersionError };
    assert_eq!(refusal.body, Body::DisconnectionRequest(version_error));
    assert_eq!(refusal.header.confirmed_sequence_number, PEER_SN);
    assert_eq!(server.ended_here(), Some(version_error));

    let mut client = Script::new(true, |_| {});
    client.give(PEER_SN, OWN_SN, Body::ConnectionResponse(parameters("0299")));
    assert_eq!(client.ended_here(), Some(version_error));

    // The client that is refused knows none of the server's numbers yet; the confirmed one vouches for the message.
    let mut client = Script::new(true, |_| {});
    client.give(0x8000_0000, OWN_SN + 1, Body::DisconnectionRequest(version_error));
    assert_eq!(client.end.state(), State::Start, "this one confirms what was never sent");
    client.give(0x8000_0000, OWN_SN, Body::DisconnectionRequest(version_error));
    assert_eq!(client.ending(), Some(Ending::There(version_error)));
}

#[test]
fn what_fails_a_check_is_counted_and_dropped() {
    let mut script = Script::up(|_| {});
    let good = Message { header: script.header(PEER_SN + 2, OWN_SN), body: data("good") };
    let code = SafetyCode::default();
    let spoilt = |change: &dyn Fn(&mut Message)| {
        let mut message = good.clone();
        change(&mut message);
        message.encode(&code)
    };
    let mut wrong_code = good.encode(&code);
    *wrong_code.last_mut().expect("a code") ^= 1;
    let mut unknown = good.encode(&SafetyCode::Unprotected);
    unknown[0] += 8;
    unknown[2] ^= 0xff;
    let unknown = [unknown.clone(), code.of(&unknown)].concat();
    for octets in [
        wrong_code,
        unknown,
        good.encode(&code)[..30].to_vec(),
        spoilt(&|message| message.header.receiver_id = 98),
        spoilt(&|message| message.header.sender_id = 98),
        spoilt(&|message| message.header.sequence_number = PEER_SN + 1),
        spoilt(&|message| message.header.sequence_number = PEER_SN + 2 + 201),
        spoilt(&|message| message.header.confirmed_sequence_number = OWN_SN + 1),
        spoilt(&|message| message.header.confirmed_sequence_number = OWN_SN - 1),
    ] {
        script.give_octets(&octets);
    }
    let errors = script.end.connection_report().errors;
    let counts = (errors.safety_code, errors.kind, errors.malformed, errors.address);
    assert_eq!(counts, (1, 1, 1, 2));
    assert_eq!((errors.sequence_number, errors.confirmed_sequence_number), (2, 2));
    assert_eq!((script.end.state(), script.messages().len()), (State::Up, 0));
    script.give_octets(&good.encode(&code));
    assert_eq!(script.messages(), ["good"], "none of it did harm");
}

#[test]
fn the_farthest_number_in_range_is_ten_windows_ahead() {
    let mut script = Script::up(|_| {});
    script.give(PEER_SN + 2 + 200, OWN_SN, data("far"));
    assert_eq!(script.end.state(), State::RetransmissionRequested);
}

#[test]
fn without_a_safety_code_damage_passes() {
    let mut script = Script::up(|config| config.safety_code = SafetyCode::Unprotected);
    let mut octets = Message { header: script.header(PEER_SN + 2, OWN_SN), body: data("stop") }
        .encode(&SafetyCode::Unprotected);
    *octets.last_mut().expect("text") ^= 1;
    script.give_octets(&octets);
    assert_eq!(script.messages(), ["stoq"]);
}

#[test]
fn both_ends_say_why() {
    let mut script = Script::up(|config| config.safety_code = SafetyCode::md4(CodeLength::Full));
    script.end.close(script.now, 42);
    let said = Disconnection { detail: 42, reason: DisconnectReason::UserRequest };
    assert_eq!(
        script.sent_bodies(),
        [(OWN_SN, Body::DisconnectionRequest(said))].map(|(sn, body)| (sn + 1, body))
    );
    assert_eq!(script.ended_here(), Some(said));

    let mut script = Script::up(|_| {});
    script.give(PEER_SN + 9, OWN_SN, Body::DisconnectionRequest(said));
    assert_eq!(script.ending(), Some(Ending::There(said)), "the number need not be the next one");
    assert_eq!(script.sent(), [], "the end is not answered");
}

#[test]
fn a_server_that_waits_hears_a_client_that_starts_anew_whatever_it_refused() {
    let request = || Body::ConnectionRequest(parameters("0303"));
    for counter in ["safety_code", "address", "confirmed_sequence_number", "ignored"] {
        let mut script = Script::new(false, |_| {});
        for times in 1..=2 {
            let mut message = Message { header: script.header(PEER_SN, 0), body: request() };
            let mut code = SafetyCode::default();
            match counter {
                "safety_code" => code = SafetyCode::md4(CodeLength::Full),
                "address" => message.header.sender_id = 98,
                "confirmed_sequence_number" => message.header.confirmed_sequence_number = 1,
                _ => message.body = Body::RetransmissionResponse,
            }
            script.give_octets(&message.encode(&code));
            script.restart_peer();
            let counts = script.end.connection_report().errors.named();
            assert!(counts.contains(&(counter, times)), "{counts:?}");
            assert_eq!(script.end.state(), State::Down);
        }
        script.give(PEER_SN, 0, request());
        assert_eq!(script.sent_bodies(), [(OWN_SN, Body::ConnectionResponse(parameters("0303")))]);
        script.give(PEER_SN + 1, OWN_SN, Body::Heartbeat);
        assert_eq!(script.end.state(), State::Up, "{counter}");
        assert_eq!(script.end.frame_counters().repeated, 0);
    }
}

#[test]
fn a_server_that_waits_takes_the_good_copy_of_another_channel() {
    let mut script = Script::new(false, |config| config.channels = 2);
    let body = Body::ConnectionRequest(parameters("0303"));
    let good = Message { header: script.header(PEER_SN, 0), body }.encode(&SafetyCode::default());
    let mut damaged = good.clone();
    *damaged.last_mut().expect("a code") ^= 1;
    // The last one is a copy as any other.
    for (channel, payload, state) in
        [(0, &damaged, State::Down), (1, &good, State::Start), (0, &good, State::Start)]
    {
        let frame = Frame { sequence_number: 0, payload }.encode(script.end.config().check_code);
        script.end.handle(script.now, channel, &frame);
        assert_eq!(script.end.state(), state);
    }
    assert_eq!(
        (script.sent().len(), script.end.frame_counters().repeated),
        (2, 1),
        "an answer on each channel"
    );
}

/// Of three messages the peer confirms two with its last word.
#[test]
fn a_disconnection_request_confirms_where_no_message_was_its_cause() {
    for (why, unconfirmed) in [
        (DisconnectReason::UserRequest, 1),
        (DisconnectReason::ServiceNotAllowed, 1),
        (DisconnectReason::UnexpectedMessage, 3),
        (DisconnectReason::Timeout, 3),
        (DisconnectReason::ProtocolSequenceError, 3),
        (DisconnectReason::RetransmissionFailed, 3),
        (DisconnectReason::Other(77), 3),
    ] {
        let mut script = Script::up(|_| {});
        for text in ["a", "b", "c"] {
            script.send(text);
        }
        script.give(
            PEER_SN + 2,
            OWN_SN + 2,
            Body::DisconnectionRequest(Disconnection { detail: 0, reason: why }),
        );
        assert_eq!(script.end.state(), State::Closed);
        assert_eq!(script.end.unconfirmed(), unconfirmed, "{why:?}");
    }
    // What was never sent is confirmed by nobody.
    let mut script = Script::up(|_| {});
    script.send("a");
    let user_request = reason(DisconnectReason::UserRequest).expect("a reason");
    script.give(PEER_SN + 2, OWN_SN + 2, Body::DisconnectionRequest(user_request));
    assert_eq!((script.end.state(), script.end.unconfirmed()), (State::Up, 1));
}

#[test]
fn a_closed_end_takes_nothing_and_can_open_again() {
    let mut script = Script::up(|_| {});
    script.end.close(script.now, 0);
    script.events();
    script.give(PEER_SN + 2, OWN_SN, data("late"));
    assert_eq!(script.events(), []);
    assert_eq!(script.end.frame_counters().closed, 1);
    assert_eq!(script.end.send(script.now, "x"), Err(SendError::State(State::Closed)));
    assert!(script.end.open(script.now).is_ok());
    assert!(script.end.open(script.now).is_err(), "it is down now");
    assert_eq!(script.end.state(), State::Down);
}

#[test]
fn sending_before_the_connection_is_up_ends_it_as_the_table_says() {
    let mut script = Script::new(true, |_| {});
    assert_eq!(script.end.send(script.now, "early"), Err(SendError::State(State::Start)));
    assert_eq!(script.ended_here(), reason(DisconnectReason::ServiceNotAllowed));
    let mut script = Script::new(false, |_| {});
    assert_eq!(script.end.send(script.now, "early"), Err(SendError::State(State::Down)));
    assert_eq!(script.ending(), Some(Ending::Unused));
}

#[test]
fn messages_of_no_length_or_too_much_are_refused_and_change_nothing() {
    let mut script = Script::up(|_| {});
    assert_eq!(script.end.send(script.now, ""), Err(SendError::Length { bytes: 0, most: 1055 }));
    assert_eq!(
        script.end.send(script.now, vec![0; 1056]),
        Err(SendError::Length { bytes: 1056, most: 1055 })
    );
    assert_eq!(script.end.send(script.now, vec![0; 1055]), Ok(()));
}
