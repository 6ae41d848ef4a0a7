//! The tool over loopback: every measurement of `restp perf`, `restp choose`, key pairs, and what is said when nobody is there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
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
        Self::of(&["perf", "server", "--once"])
    }

    fn of(words: &[&str]) -> Self {
        let mut command = tool(&[words, &["--bind", "127.0.0.1:0"]].concat());
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on ")?.split(' ').next()?.to_owned()))
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

/// A folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("restp-tool-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("there is room");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("it is text").to_owned()
    }

    /// Makes the key pair `name`, and a list with its public key beside it.
    fn pair(&self, name: &str) -> (String, String) {
        let (own, list) = (self.file(name), self.file(&format!("{name}.pub")));
        let output = tool(&["keygen", &own]).output().expect("the tool starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(&list, output.stdout).expect("there is room");
        (own, list)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_private_key_is_read_by_nobody_else_and_never_written_over() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("keygen");
    let (own, list) = folder.pair("own");
    let mode = std::fs::metadata(&own).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let [private, public] = [&own, &list].map(|path| std::fs::read_to_string(path).expect("it was made"));
    let computed = private.parse::<restp::protected::PrivateKey>().expect("it is a key").public();
    assert_eq!(public.trim(), computed.to_string());
    let again = tool(&["keygen", &own]).output().expect("the tool starts");
    assert!(!again.status.success() && again.stdout.is_empty());
    assert_eq!(std::fs::read_to_string(&own).expect("it was made"), private);
}

#[test]
fn ends_with_key_pairs_talk_to_whom_they_name_and_to_nobody_else() {
    let folder = Folder::new("pairs");
    let (server, server_list) = folder.pair("server");
    let (client, client_list) = folder.pair("client");
    let (stranger, stranger_list) = folder.pair("stranger");
    let sent = folder.file("sent");
    std::fs::write(&sent, vec![0x5A; 100_000]).expect("there is room");
    for handshake in ["ik", "xx"] {
        let came = folder.file(&format!("came-{handshake}"));
        let keys = ["--handshake", handshake, "--own-key", &server, "--peer-keys", &client_list];
        let mut serving = Server::of(&[&["serve", "--file", &came], &keys[..]].concat());
        let connect = |own: &str, list: &str| {
            let keys = ["--handshake", handshake, "--own-key", own, "--peer-keys", list];
            let words = [&["connect", &serving.address, "--explain", "--file", &sent], &keys[..]].concat();
            tool(&words).output().expect("the tool starts")
        };
        for (own, list) in [(&stranger, &server_list), (&client, &stranger_list)] {
            let output = connect(own, list);
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && text.contains("keys"), "{handshake}: {text}");
            assert!(!Path::new(&came).exists(), "{handshake}: nothing has come");
        }
        let output = connect(&client, &server_list);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !text.contains("CLEAR TEXT"), "{handshake}: {text}");
        assert!(serving.child.wait().expect("it was started").success());
        assert_eq!(std::fs::read(&came).expect("it came"), vec![0x5A; 100_000], "{handshake}");
    }
}

#[test]
fn keys_that_do_not_go_together_are_refused_in_a_sentence() {
    let folder = Folder::new("refused");
    let (own, list) = folder.pair("own");
    let two = folder.file("two");
    let line = std::fs::read_to_string(&list).expect("it was made");
    std::fs::write(&two, line.repeat(2)).expect("there is room");
    for (keys, says) in [
        (vec!["--own-key", &own], "--peer-keys"),
        (vec!["--handshake", "xx"], "--own-key"),
        (vec!["--key-file", &own, "--own-key", &own, "--peer-keys", &list], "cannot be used with"),
        (vec!["--own-key", &own, "--peer-keys", &two], "a client names the key of its server alone"),
        (vec!["--own-key", &own, "--peer-keys", "/dev/null"], "it names no public key"),
    ] {
        let output =
            tool(&[&["connect", "127.0.0.1:9"], &keys[..]].concat()).output().expect("the tool starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(says), "{keys:?}: {text}");
    }
}
