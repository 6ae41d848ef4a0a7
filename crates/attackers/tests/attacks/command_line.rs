//! The program: what it refuses, and what it says.

use std::process::{Command, Output};

const KINDS: [&str; 13] = [
    "flood",
    "slow",
    "rapid-reset",
    "optimistic-ack",
    "cid-exhaustion",
    "path-challenge",
    "crypto-after-handshake",
    "header-expansion",
    "long-settings",
    "amplification",
    "coalesced-initials",
    "zero-length",
    "syn-flood",
];

fn run(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_gauntlet-attacker")).args(words).output().unwrap()
}

fn refused(words: &[&str], because: &str) {
    let output = run(words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains(because), "{words:?}: {said}");
    assert!(output.stdout.is_empty(), "{words:?}");
}

#[test]
fn every_kind_refuses_every_other_address() {
    for kind in KINDS {
        for target in ["192.0.2.1:443", "0.0.0.0:443", "[2001:db8::1]:443", "[::ffff:127.0.0.1]:443"] {
            refused(&[kind, "--target", target], "loads servers on its own machine, and nothing else");
        }
        refused(&[kind, "--target", "localhost:443"], "names are not looked up");
    }
}

#[test]
fn more_than_the_caps_is_refused() {
    let flood = ["flood", "--target", "127.0.0.1:9", "--protocol", "h1"];
    let with = |more: &[&'static str]| [&flood[..], more].concat();
    refused(&with(&["--rate", "20001"]), "at most 20000 starts a second");
    refused(&with(&["--seconds", "601"]), "at most 600 seconds");
    refused(&with(&["--sources", "65537"]), "out of range");
    let held = ["--variant", "initial-only", "--rate", "20000", "--hold-ms", "1001"];
    refused(&with(&held), "more than 20000 at once");
    let slow =
        ["slow", "--target", "127.0.0.1:9", "--protocol", "h1", "--variant", "body-drip", "--held", "20001"];
    refused(&slow, "at most 20000 connections");
    refused(&["zero-length", "--target", "127.0.0.1:9", "--protocol", "h2"], "--protocol takes h3");
    refused(
        &["rapid-reset", "--target", "127.0.0.1:9", "--protocol", "h1"],
        "no such attack over h1: --protocol takes h2 or h3",
    );
}

/// Before anything else is asked: no option makes up for where it is.
#[test]
fn forged_addresses_have_no_option() {
    let flood = ["syn-flood", "--target", "127.0.0.1:9"];
    let with = |more: &[&'static str]| [&flood[..], more].concat();
    refused(&with(&["--protocol", "h3"]), "no such attack over h3: --protocol takes h1 or h2");
    refused(&with(&["--protocol", "h2", "--sources", "2"]), "leave --sources out");
    refused(&["syn-flood", "--target", "[::1]:9", "--protocol", "h2"], "addresses of IPv4 are forged");
}

#[test]
fn each_kind_explains_itself_with_an_example() {
    for kind in KINDS {
        let help = String::from_utf8(run(&[kind, "--help"]).stdout).unwrap();
        assert!(help.contains(&format!("gauntlet-attacker {kind} --target 127.0.0.1:4433")), "{help}");
        assert!(
            ["start is", "Connections are opened", "handshake is made"]
                .iter()
                .any(|words| help.contains(words)),
            "{help}"
        );
    }
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(KINDS.iter().all(|kind| help.contains(kind)), "{help}");
}

#[test]
fn lines_of_json_come_by_the_second_and_the_last_has_the_verdict() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    drop(listener);
    let words =
        ["flood", "--target", target.as_str(), "--protocol", "h1", "--rate", "20", "--seconds", "1.5"];
    let output = run(&words);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (done, seconds) = lines.split_last().unwrap();
    assert!(seconds.len() >= 2);
    for (index, second) in seconds.iter().enumerate() {
        assert_eq!(second["second"]["t"], index + 1);
        for name in [
            "offered",
            "sent",
            "completed",
            "failed",
            "held",
            "late_max_ns",
            "cpu_ns",
            "bytes_out",
            "bytes_in",
        ] {
            assert!(second["second"][name].is_u64(), "{name}: {second}");
        }
        assert!(second["second"]["by_outcome"].is_object());
    }
    assert_eq!((&done["done"]["offered"], &done["done"]["by_outcome"]["refused"]), (&30.into(), &30.into()));
    assert!(done["done"]["saturated"].is_boolean() && done["done"]["why"].is_string());
}
