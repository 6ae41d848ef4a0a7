//! `safety`: over whatever carries messages or a stream each message is accepted, and judged as it was sent.

use serde_json::{Value, json};
use transports::Context;
use workload::FlowSpec;

use crate::common::{context, flow, ok, reason, run, run_alone};

fn authorities(count: u32) -> Value {
    let duration_s = 0.01 * f64::from(count);
    json!({"kind": "movement-authority", "interval_s": 0.01, "duration_s": duration_s, "bound_s": 5.0})
}

#[test]
fn every_message_is_accepted_once_and_is_what_was_sent() {
    let stacks = [
        ("udp", json!({})),
        ("tcp", json!({"congestion_control": "cubic"})),
        ("tls", json!({"congestion_control": "cubic", "client_auth": true})),
        ("quic-quinn", json!({"client_auth": true})),
        ("quic-quinn", json!({"datagrams": true})),
        ("quic-s2n", json!({})),
        ("restp", json!({"profile": "file_arq"})),
        ("restp", json!({"profile": "file_arq", "protection": "protected"})),
    ];
    for (stack, params) in stacks {
        let report = run(&flow(stack, params.clone(), "safety", authorities(8)), context());
        ok(&report);
        let told: Vec<_> =
            report.judged.iter().map(|row| (row.number, row.verdict.as_str(), row.genuine)).collect();
        let right: Vec<_> = (0..8).map(|number| (Some(number), "accepted", Some(true))).collect();
        assert_eq!(told, right, "{stack} {params}");
        let sent: Vec<_> = report.messages().map(|message| Some(message.sent_ns)).collect();
        let stamps: Vec<_> = report.judged.iter().map(|row| row.stamp_ns).collect();
        assert_eq!(sent, stamps, "{stack} {params}");
    }
}

/// What was told of eight messages over TLS with a threat of an attacker with keys: event, number, verdict, genuine.
fn attacked(threat: Value) -> Vec<(String, Option<u32>, String, Option<bool>)> {
    let mut params = authorities(8);
    params["bound_s"] = json!(0.5);
    params["threat"] = threat;
    let report = run(&flow("tls", json!({"congestion_control": "cubic"}), "safety", params), context());
    let mut judged = report.judged;
    judged.sort_by_key(|row| row.t_ns);
    judged.into_iter().map(|row| (row.event, row.number, row.verdict, row.genuine)).collect()
}

fn row(
    event: &str,
    number: Option<u32>,
    verdict: &str,
    genuine: Option<bool>,
) -> (String, Option<u32>, String, Option<bool>) {
    (event.to_owned(), number, verdict.to_owned(), genuine)
}

#[test]
fn silence_tells_of_a_last_message_that_an_attacker_with_keys_took_away() {
    let told = attacked(json!({"kind": "deletion", "message": 8}));
    let accepted = (0..7).map(|number| row("message", Some(number), "accepted", Some(true)));
    let silence = row("timeout", None, "timeout", None);
    // The attacker sits at the sender: what he does may come before what was sent earlier has arrived.
    let (acts, received): (Vec<_>, Vec<_>) = told.into_iter().partition(|(event, ..)| event == "threat");
    assert_eq!(acts, [row("threat", Some(7), "deletion", None)]);
    assert_eq!(received, accepted.chain([silence]).collect::<Vec<_>>());
}

/// What an attacker holds when the last message was sent is still to go.
#[test]
fn what_an_attacker_with_keys_held_back_of_the_last_message_comes_after_all() {
    let late = attacked(json!({"kind": "delay", "message": 8, "by_s": 0.2}));
    let acts = late.iter().filter(|(event, ..)| event == "threat").count();
    assert_eq!((acts, late.last()), (2, Some(&row("message", Some(7), "accepted", Some(true)))));
    let again = attacked(json!({"kind": "repetition", "message": 8, "by_s": 0.2}));
    assert_eq!(again.last(), Some(&row("message", Some(7), "repeated", Some(true))));
}

#[test]
fn what_an_attacker_with_keys_forges_is_accepted_and_not_genuine() {
    let told = attacked(json!({"kind": "masquerade", "message": 3}));
    assert!(told.contains(&row("message", Some(3), "accepted", Some(false))), "{told:?}");
    assert!(told.contains(&row("message", Some(3), "repeated", Some(true))), "{told:?}");
    let told = attacked(json!({"kind": "insertion", "message": 3}));
    assert!(told.contains(&row("message", Some(3), "foreign", Some(false))), "{told:?}");
}

#[test]
fn without_notes_of_each_message_nobody_knows_what_is_genuine() {
    let spec = flow("udp", json!({}), "safety", authorities(3));
    let report = run(&spec, Context { messages: false, ..context() });
    ok(&report);
    assert!(report.judged.iter().all(|row| row.verdict == "accepted" && row.genuine.is_none()));
}

#[test]
fn an_end_that_is_told_notes_when_and_what() {
    let spec = flow("tcp", json!({"congestion_control": "cubic"}), "safety", authorities(3));
    let report = run_alone(&spec, context());
    let why = reason(&report);
    let told: Vec<_> = report.judged.iter().map(|row| (row.event.as_str(), row.verdict.as_str())).collect();
    assert_eq!(told, [("session", why)]);
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let with = |changes: &[(&str, Value)]| {
        let mut params = authorities(3);
        for (key, value) in changes {
            params[*key] = value.clone();
        }
        let spec = flow("udp", json!({}), "safety", params);
        spec.check().err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(with(&[("message_size_bytes", json!(31))]).contains("must be from 32 to 65507"));
    assert!(with(&[("train", json!(1))]).contains("which is the trackside"));
    assert!(with(&[("bound_s", json!(0))]).contains("bound_s"));
    assert!(with(&[("kind", json!("whistle"))]).contains("movement-authority"));
    assert_eq!(with(&[("freshness", json!(false))]), "");
}

/// A flow over a session that resumes another one, of which it has the ticket.
fn warmed(stack: &str, stack_params: Value) -> FlowSpec {
    let mut params = authorities(8);
    params["warm_up_s"] = json!(0.3);
    FlowSpec { start_s: 0.3, ..flow(stack, stack_params, "safety", params) }
}

#[test]
fn a_session_that_was_warmed_up_has_a_ticket_and_sends_early_if_it_is_to() {
    for early in [true, false] {
        let mut params = json!({"resumption": true, "client_auth": true});
        if early {
            params["early_data"] = json!(true);
        }
        let report = run(&warmed("quic-quinn", params), Context { keys: true, ..context() });
        ok(&report);
        let told: Vec<_> = report.judged.iter().map(|row| (row.number, row.verdict.as_str())).collect();
        assert_eq!(told, (0..8).map(|number| (Some(number), "accepted")).collect::<Vec<_>>());
        let before = report.result.warm_up.expect("there was a session before");
        assert!(before.started_s < 0.3 && before.established_s < before.finished_s, "{before:?}");
        assert!(before.finished_s < report.result.established_s, "{before:?}");
        let count = |label: &str| report.keys.lines().filter(|line| line.starts_with(label)).count();
        assert_eq!(count("CLIENT_HANDSHAKE_TRAFFIC_SECRET "), 2);
        assert_eq!(count("CLIENT_EARLY_TRAFFIC_SECRET "), usize::from(early));
    }
}

#[test]
fn only_what_resumes_from_the_same_port_can_be_warmed_up() {
    let cases = [
        ("tls", json!({"congestion_control": "cubic", "resumption": true})),
        ("quic-quinn", json!({})),
        ("quic-quinn", json!({"resumption": true, "datagrams": true})),
        ("quic-s2n", json!({})),
        ("udp", json!({})),
    ];
    for (stack, params) in cases {
        let found = warmed(stack, params.clone()).check().err().map(|error| error.to_string());
        let found = found.unwrap_or_default();
        assert!(found.contains("it needs a stream of QUIC with `resumption`"), "{stack} {params}: {found}");
    }
}
