//! `safety` with `reopen_after_s`: a session that broke is followed by another one, which begins with the next message.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use serde_json::{Value, json};
use transports::Context;
use workload::{FlowReport, join, join_alone, prepare_apart};

use crate::common::{context, flow, ok, reason, run};
use crate::places::free_place;

const MESSAGE_BYTES: usize = 160;

fn authorities(changes: Value) -> Value {
    let mut params = json!({
        "kind": "movement-authority", "interval_s": 0.05, "duration_s": 0.4, "bound_s": 5.0, "reopen_after_s": 0.1
    });
    params.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    params
}

/// What happened, but for messages: event, verdict and instant.
fn events<'a>(report: &'a FlowReport, event: &str) -> Vec<(&'a str, i64)> {
    let mine = report.judged.iter().filter(|row| row.event == event);
    mine.map(|row| (row.verdict.as_str(), row.t_ns)).collect()
}

/// Stands between sender and receiver: passes so many octets of the first connection on and breaks it off, and then all of
/// the second one. From which ports the two came.
fn pass_on(between: TcpListener, to: SocketAddr, first_octets: usize) -> Vec<u16> {
    let mut ports = Vec::new();
    for most in [first_octets, usize::MAX] {
        let (mut sender, from) = between.accept().expect("the sender connects");
        ports.push(from.port());
        let mut receiver = TcpStream::connect(to).expect("the receiver listens");
        let (mut passed, mut buffer) = (0, [0; 4096]);
        while passed < most {
            let count = sender.read(&mut buffer).expect("the sender's octets can be read");
            if count == 0 {
                receiver.shutdown(Shutdown::Write).expect("the receiver is there");
                while receiver.read(&mut buffer).expect("the receiver ends in order") > 0 {}
                break;
            }
            let taken = count.min(most - passed);
            receiver.write_all(&buffer[..taken]).expect("the receiver is there");
            passed += taken;
        }
    }
    ports
}

#[test]
fn a_session_that_was_broken_off_is_followed_by_one_that_begins_with_the_next_message() {
    let spec = flow("tcp", json!({"congestion_control": "cubic"}), "safety", authorities(json!({})));
    let near = context();
    let between = TcpListener::bind(free_place()).expect("a place is free");
    // Whoever stands between connects from a place of its own.
    let far = Context { source: (Ipv4Addr::UNSPECIFIED, 0).into(), ..near.clone() };
    let further_ports = vec![free_place().port()];
    let ports = [near.source.port(), further_ports[0]];
    let near = Context { destination: between.local_addr().expect("it is bound"), further_ports, ..near };
    let check = || spec.check().expect("a flow of the tests makes sense");
    let (server, _) = prepare_apart(check(), far.clone()).expect("descriptors are left");
    let (_, client) = prepare_apart(check(), near).expect("descriptors are left");
    let report = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| server.run());
        server.session().wait_until_listening().expect("it listens");
        let passing = scope.spawn(|| pass_on(between, far.destination, 3 * MESSAGE_BYTES + 50));
        let sent = client.run_alone();
        let received = receiving.join().expect("the receiver does not panic");
        assert_eq!(passing.join().expect("nobody else connects"), ports);
        join((server.clone(), received), (client.clone(), sent))
    });
    ok(&report);
    let (ended, reopened) = (events(&report, "ended"), events(&report, "reopened"));
    assert_eq!((ended[0].0, reopened[0].0, ended.len(), reopened.len()), ("session 1", "session 2", 1, 1));
    assert!(reopened[0].1 - ended[0].1 >= 100_000_000, "{ended:?} {reopened:?}");
    // Each end was told by its own transport.
    let told: Vec<_> = events(&report, "session").into_iter().map(|(what, _)| what).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.contains(&"the sender ended the session after 50 of the 160 bytes of a message"),
        "{told:?}"
    );
    let messages: Vec<_> = report.judged.iter().filter(|row| row.event == "message").collect();
    let (before, after) = messages.split_at(messages.partition_point(|row| row.t_ns < ended[0].1));
    assert_eq!(before.iter().map(|row| row.number).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert_eq!((after[0].verdict.as_str(), after[0].genuine), ("gap", Some(true)));
    assert!(after[1..].iter().all(|row| row.verdict == "accepted"), "{after:?}");
    assert_eq!(after[after.len() - 1].number, Some(7));
    // It goes on at the interval, which the first message may have missed by a little, and sends nothing in a hurry.
    let sent: Vec<_> = after.iter().map(|row| row.stamp_ns.expect("it bears one")).collect();
    assert!(sent[0] >= reopened[0].1 && sent[1] - sent[0] >= 40_000_000, "{sent:?}");
    assert_eq!(report.result.sent_messages, 8);
}

#[test]
fn a_session_that_breaks_when_nothing_is_left_to_be_sent_is_no_end() {
    let params = authorities(json!({"duration_s": 0.05}));
    let spec = flow("tcp", json!({"congestion_control": "cubic"}), "safety", params);
    let near = context();
    let between = TcpListener::bind(free_place()).expect("a place is free");
    let near = Context { destination: between.local_addr().expect("it is bound"), ..near };
    let check = spec.check().expect("a flow of the tests makes sense");
    let (_, client) = prepare_apart(check, near).expect("descriptors are left");
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut sender, _) = between.accept().expect("the sender connects");
            // Closed with an octet that nobody has read, a connection is reset.
            sender.read_exact(&mut [0; MESSAGE_BYTES - 1]).expect("its one message comes");
        });
        let sent = client.run_alone();
        join_alone((client.clone(), sent))
    });
    let told: Vec<_> = report.judged.iter().map(|row| row.event.as_str()).collect();
    assert_eq!(told, ["session"], "{:?}", report.judged);
}

#[test]
fn sessions_that_do_not_come_about_are_counted() {
    let params = json!({"congestion_control": "cubic", "fault": "wrong_ca"});
    let report = run(&flow("tls", params, "safety", authorities(json!({"reopen_most": 2}))), context());
    let why = reason(&report);
    assert!(why.contains("certificate"), "{why}");
    let ended = events(&report, "ended");
    assert_eq!(ended.iter().map(|row| row.0).collect::<Vec<_>>(), ["session 1", "session 2", "session 3"]);
    assert!(ended.windows(2).all(|pair| pair[1].1 - pair[0].1 >= 100_000_000), "{ended:?}");
    assert_eq!(events(&report, "reopened"), []);
}

#[test]
fn where_no_session_breaks_nothing_is_opened_again() {
    let stacks = [
        ("tcp", json!({"congestion_control": "cubic"})),
        ("tls", json!({"congestion_control": "cubic", "client_auth": true})),
        ("quic-quinn", json!({})),
        ("restp", json!({"profile": "file_arq"})),
        ("rasta", json!({})),
        ("rasta-tls", json!({"congestion_control": "cubic"})),
    ];
    for (stack, params) in stacks {
        let report = run(&flow(stack, params, "safety", authorities(json!({}))), context());
        ok(&report);
        let told: Vec<_> = report.judged.iter().map(|row| (row.number, row.verdict.as_str())).collect();
        assert_eq!(told, (0..8).map(|number| (Some(number), "accepted")).collect::<Vec<_>>(), "{stack}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let with = |stack: &str, changes: Value| {
        let spec = flow(stack, json!({}), "safety", authorities(changes));
        spec.check().err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(with("udp", json!({})).contains("it needs a session whose end the sender is told"));
    assert!(with("quic-quinn", json!({"reopen_most": 0})).contains("`reopen_most` is 0"));
    assert!(with("quic-quinn", json!({"reopen_after_s": null, "reopen_most": 1})).contains("means nothing"));
    assert!(with("quic-quinn", json!({"reopen_after_s": 0})).contains("reopen_after_s"));
    assert_eq!(with("quic-quinn", json!({"reopen_most": 1})), "");
}
