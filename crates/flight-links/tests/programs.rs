//! The programs that measure: certificates go from one process to another, and a row comes of each that was asked for.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BENCH: &str = env!("CARGO_BIN_EXE_flight-bench");
const MEMORY: &str = env!("CARGO_BIN_EXE_flight-memory");

fn run(program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).output().expect("it can be started")
}

/// What a program printed, by the heading's names: one row.
fn row(program: &str, words: &[&str]) -> Vec<(String, String)> {
    let output = run(program, words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let [heading, row] = &lines[..] else { panic!("{text}") };
    assert_eq!(heading.len(), row.len(), "{text}");
    heading.iter().cloned().zip(row.iter().cloned()).collect()
}

fn value<'a>(row: &'a [(String, String)], name: &str) -> &'a str {
    &row.iter().find(|(column, _)| column == name).unwrap_or_else(|| panic!("{name}")).1
}

/// A test's own file with certificates of this signature.
fn credentials(of: &str, signature: &str) -> PathBuf {
    let made = run(BENCH, &["credentials", "--signature", signature]);
    assert!(made.status.success());
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{of}-{signature}-{}.txt", std::process::id()));
    std::fs::write(&path, made.stdout).expect("it can be written");
    path
}

#[test]
fn a_first_handshake_is_that_of_the_kind_that_was_asked_for() {
    for (signature, group, more) in [("ed25519", "p-384", None), ("rsa-2048", "x25519", Some("--mutual"))] {
        let path = credentials("first", signature);
        let asked =
            ["--signature", signature, "--group", group, "--credentials", path.to_str().expect("text")];
        let mut words = vec!["first-handshake"];
        words.extend(asked);
        words.extend(more);
        let row = row(BENCH, &words);
        let kind = ["security", "provider", "cipher", "group", "signature", "mutual", "resumption"]
            .map(|name| value(&row, name));
        let mutual = if more.is_some() { "true" } else { "false" };
        assert_eq!(kind, ["quic-stream", "aws-lc", "aes-256-gcm", group, signature, mutual, "none"]);
        for end in [
            "ground_randomness_cpu_ns",
            "space_randomness_cpu_ns",
            "ground_cpu_ns",
            "space_cpu_ns",
            "space_as_client_cpu_ns",
            "ground_octets",
            "space_octets",
        ] {
            assert!(value(&row, end).parse::<u64>().expect("a number") > 0, "{end}");
        }
        assert_eq!(value(&row, "round_trips"), "1");
        std::fs::remove_file(path).expect("it is there");
    }
}

#[test]
fn memory_is_measured_with_certificates_of_another_process_and_not_without() {
    let refused = run(MEMORY, &["--security", "dtls"]);
    assert_eq!(
        String::from_utf8_lossy(&refused.stderr),
        "flight-memory: dtls has certificates, which another process makes: flight-bench credentials --signature \
         ecdsa-p256 > FILE, then --credentials FILE\n"
    );
    assert!(!refused.status.success());
    let path = credentials("memory", "ed25519");
    let row = row(
        MEMORY,
        &["--security", "tls", "--provider", "ring", "--credentials", path.to_str().expect("text")],
    );
    assert_eq!((value(&row, "security"), value(&row, "provider")), ("tls", "ring"));
    assert!(value(&row, "heap_peak").parse::<u64>().expect("a number") > 10_000);
    std::fs::write(&path, "authority 30\n").expect("it can be written");
    let refused = run(MEMORY, &["--security", "tls", "--credentials", path.to_str().expect("text")]);
    assert!(String::from_utf8_lossy(&refused.stderr).ends_with("there is no line «space-certificate»\n"));
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn what_comes_before_the_work_is_in_no_number_of_it() {
    let path = credentials("before", "ed25519");
    // A mark, and a file of certificates with a hundred kilobytes of blank lines: both lie before the work.
    let text = std::fs::read_to_string(&path).expect("it is there");
    std::fs::write(&path, format!("{text}{}", "\n".repeat(100_000))).expect("it can be written");
    let numbers = |mark: &str| {
        let words = ["--security", "none", "--messages", "1", "--mark", mark];
        let row = row(MEMORY, &words);
        ["heap_before", "heap_shared", "heap_a_link", "heap_peak"]
            .map(|name| value(&row, name).parse::<u64>().expect("a number"))
    };
    let [(before, plain), (before_marked, marked)] =
        ["0", "16777216"].map(numbers).map(|[before, work @ ..]| (before, work));
    assert_eq!((before_marked - before, marked), (16_777_216, plain));

    let words = ["--security", "tls", "--provider", "ring", "--credentials", path.to_str().expect("text")];
    let peak = value(&row(MEMORY, &words), "heap_peak").parse::<u64>().expect("a number");
    assert!((10_000..100_000).contains(&peak), "{peak}: the file is in it");
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn what_has_no_certificates_needs_none() {
    let row = row(MEMORY, &["--security", "sdls-gcm-aws-lc", "--messages", "1"]);
    assert_eq!(value(&row, "provider"), "aws-lc");
    let refused = run(BENCH, &["first-handshake", "--credentials", "none.txt", "--security", "restp"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    let (before, named) = said.trim().split_once(": quic-stream, ").expect("what has them is named");
    assert_eq!(before, "flight-bench: «restp» has no certificates; these have");
    assert!(named.split(", ").any(|it| it == "dtls") && !named.contains("sdls"), "{named}");
}

#[cfg(not(feature = "openssl"))]
#[test]
fn a_library_that_is_not_compiled_in_is_refused_by_a_sentence() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/secure-my-command-link.md");
    let guide = std::fs::read_to_string(guide).expect("the guide");
    let command = guide.lines().find(|line| line.contains("--features openssl")).expect("its command");
    let path = credentials("absent", "ed25519");
    let path_text = path.to_str().expect("text");
    for (program, words) in [
        (MEMORY, &["--security", "quic-stream", "--credentials", path_text][..]),
        (BENCH, &["handshakes"][..]),
        (BENCH, &["messages", "--security", "tls"][..]),
        (BENCH, &["first-handshake", "--credentials", path_text][..]),
    ] {
        let refused = run(program, &[words, &["--provider", "openssl"][..]].concat());
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains(&format!("openssl is not compiled in: {}, with", command.trim())), "{said}");
        assert!(!refused.status.success() && refused.stdout.is_empty());
    }
    std::fs::remove_file(path).expect("it is there");
}

#[test]
fn a_length_is_refused_once_and_is_a_mistake_if_no_security_takes_it() {
    let words = [
        "messages",
        "--quick",
        "--payload",
        "1786",
        "--gap",
        "0",
        "--samples",
        "1",
        "--security",
        "quic-datagram",
    ];
    let refused = run(BENCH, &words);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success());
    assert!(
        said.ends_with(
            "flight-bench: nothing was measured: the messages fit no security that was to be measured\n"
        ),
        "{said}"
    );
    let about = "flight-bench: quic-datagram: 1786 octets are refused: they do not fit\n";
    assert_eq!(said.matches(about).count(), 1, "{said}");
    // Where another takes it, that is measured.
    let both = run(BENCH, &[&words[..], &["--security", "sdls-gcm"]].concat());
    assert!(both.status.success() && String::from_utf8_lossy(&both.stdout).lines().count() == 11);
}

#[test]
fn a_name_that_only_begins_is_refused_with_those_that_begin_so() {
    let of = |security| {
        let refused = run(BENCH, &["attacks", "--security", security]);
        assert!(!refused.status.success());
        String::from_utf8(refused.stderr).expect("text")
    };
    let said = of("quic");
    assert!(
        said.contains("«quic» is no security (did you mean quic-stream or quic-datagram?): none, "),
        "{said}"
    );
    let said = of("ipsec");
    assert!(said.contains("«ipsec» is no security: none, "), "{said}");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_without_a_word() {
    for words in ["about", "refusals", "credentials"] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = Command::new(BENCH).arg(words).stdout(writer).output().expect("it can be started");
        assert_eq!((String::from_utf8_lossy(&ended.stderr).as_ref(), ended.status.code()), ("", Some(141)));
    }
}

#[test]
fn a_summary_has_the_median_of_what_messages_printed_and_leaves_that_as_it_is() {
    let words =
        ["messages", "--quick", "--payload", "64", "--gap", "0", "--samples", "3", "--security", "none"];
    let measured = run(BENCH, &words);
    assert!(measured.status.success());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("messages-{}.csv", std::process::id()));
    std::fs::write(&path, &measured.stdout).expect("it can be written");
    let told = run(BENCH, &["summary", path.to_str().expect("text")]);
    std::fs::remove_file(&path).expect("it is there");
    let text = String::from_utf8(measured.stdout).expect("text");
    assert!(
        text.starts_with("security,provider,cipher,payload_octets,gap_ms,block,order,operation,total_ns,")
    );
    let mut total: Vec<f64> = text
        .lines()
        .filter(|line| line.contains(",apply,"))
        .map(|line| line.split(',').nth(8).expect("its time").parse().expect("a number"))
        .collect();
    total.sort_unstable_by(f64::total_cmp);
    assert_eq!(total.len(), 15, "three in each of five blocks");
    let told = String::from_utf8(told.stdout).expect("text");
    let (_, apply) = told.split_once(", payload_octets 64, gap_ms 0, apply: 15 samples\n").expect(&told);
    let line = apply.lines().find(|line| line.trim_start().starts_with("total_ns ")).expect(&told);
    assert_eq!(line.split_whitespace().nth(1), Some(total[7].to_string().as_str()), "{told}");

    let refused = run(BENCH, &["summary", "no-such-file.csv"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("no-such-file.csv cannot be read"), "{said}");
}
