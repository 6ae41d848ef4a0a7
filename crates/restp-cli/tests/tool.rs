//! The tool over loopback: every measurement of `restp perf`, `restp choose`, and what is said when nobody is there.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn tool(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restp"));
    command.args(words).stdin(Stdio::null());
    command
}

/// A server that ends after one client, and its address.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut command = tool(&["perf", "server", "--once", "--bind", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("listening on ").map(str::to_owned))
            .expect("the server says where it listens");
        // Whatever it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Runs `restp perf KIND` against this server and returns its JSON object.
    fn measure(mut self, kind: &str, options: &[&str]) -> Value {
        let words = [&["perf", kind, &self.address, "--json"], options].concat();
        let report = json(&tool(&words).output().expect("the tool starts"));
        assert!(self.child.wait().expect("it was started").success());
        report
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn json(output: &Output) -> Value {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    serde_json::from_slice(&output.stdout).expect("one object")
}

fn number(report: &Value, key: &str) -> f64 {
    report.pointer(key).and_then(Value::as_f64).unwrap_or_else(|| panic!("{key} in {report}"))
}

#[test]
fn throughput_is_intact_in_both_directions_and_counts_what_was_asked_for() {
    for options in [vec![], vec!["--reverse"], vec!["--profile", "voice"]] {
        let words = [&["--bytes", "3000000"], &options[..]].concat();
        let report = Server::start().measure("throughput", &words);
        assert_eq!(report["intact"], true, "{report}");
        assert_eq!(number(&report, "/size_bytes"), 3e6, "{report}");
        let computed_bps = number(&report, "/size_bytes") * 8.0 / number(&report, "/duration_s");
        assert!((number(&report, "/throughput_bps") / computed_bps - 1.0).abs() < 1e-6, "{report}");
        assert!(
            number(&report, "/receiver_cpu_s") > 0.0 && number(&report, "/client_cpu_s") > 0.0,
            "{report}"
        );
    }
}

#[test]
fn requests_are_answered_one_by_one() {
    for profile in ["file_arq", "voice"] {
        let report = Server::start().measure("requests", &["--seconds", "0.3", "--profile", profile]);
        let requests = number(&report, "/requests");
        assert!(requests >= 1.0, "{report}");
        assert_eq!(number(&report, "/response_time/received"), requests, "{report}");
        let rate = requests / number(&report, "/duration_s");
        assert!((number(&report, "/requests_per_s") / rate - 1.0).abs() < 1e-6, "{report}");
    }
}

#[test]
fn one_way_delays_of_a_steady_flow_are_ordered_and_none_is_missing() {
    let options = ["--profile", "voice", "--count", "40", "--interval-ms", "2"];
    let report = Server::start().measure("delay", &options);
    assert_eq!((number(&report, "/sent"), number(&report, "/lost")), (40.0, 0.0), "{report}");
    let delays: Vec<f64> = ["least_s", "median_s", "p99_s", "most_s"]
        .iter()
        .map(|key| number(&report, &format!("/one_way_delay/{key}")))
        .collect();
    assert!(delays.is_sorted() && delays[0] >= 0.0, "{report}");
}

#[test]
fn a_measurement_that_cannot_be_is_refused_in_a_sentence() {
    let server = Server::start();
    let words = ["perf", "delay", &server.address, "--message-bytes", "3"];
    let output = tool(&words).output().expect("the tool starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("--message-bytes must be at least 16"), "{text}");
    let words = ["connect", &server.address, "--port", "9"];
    let output = tool(&words).output().expect("the tool starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("nobody listens on its inner port 9"), "{text}");
}

#[test]
fn needs_become_services_with_reasons() {
    let needs = ["choose", "--losses", "if-late", "--useful-for-ms", "150", "--messages", "--rtt-ms", "600"];
    let output = tool(&needs).output().expect("the tool starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("a repetition would be late"), "{text}");
    let output = tool(&["choose", "--secret", "--quick-start"]).output().expect("the tool starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("give up the quick start or the secrecy"), "{text}");
}
