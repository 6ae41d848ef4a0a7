//! The tool over loopback: every measurement of `restp perf`, `restp choose`, key pairs, and what is said when nobody is there.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use serde_json::Value;

fn tool(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_restp"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Within this time a command ends whose peer failed, however busy the machine is; that nobody is heard from shows after
/// 240 s.
const SOON: Duration = Duration::from_secs(120);

/// Waits until something is so.
fn until(what: &str, so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(begin.elapsed() < SOON, "{what}: not within {SOON:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a command said that ended soon.
fn soon(command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the tool starts");
    ended(child)
}

fn ended(mut child: Child) -> Output {
    let begin = Instant::now();
    while child.try_wait().expect("it was started").is_none() {
        if begin.elapsed() > SOON {
            let _ = child.kill();
            panic!("it hangs: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("it has ended")
}

/// What is said by a command that fails.
fn complaint(words: &[&str]) -> String {
    let output = soon(&mut tool(words));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{words:?}: {text}");
    text
}

/// A client that stays until its input is closed.
struct Client {
    child: Child,
    input: ChildStdin,
    said: BufReader<ChildStderr>,
}

impl Client {
    /// Connects to the server, and waits until the connection stands.
    fn of(server: &Server) -> Self {
        let mut command = tool(&["connect", &server.address, "--explain"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the tool starts");
        let input = child.stdin.take().expect("it is piped");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let stands = said.by_ref().lines().map_while(Result::ok).any(|line| line.starts_with("Profile"));
        assert!(stands, "the connection does not stand");
        Self { child, input, said }
    }

    /// What it says when it is told that the connection has failed.
    fn complaint(mut self) -> String {
        let output = ended(self.child);
        assert!(!output.status.success(), "the connection has not failed");
        let mut text = String::new();
        self.said.read_to_string(&mut text).expect("it has ended");
        text
    }
}

/// A server, its address, and what it says.
struct Server {
    child: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl Server {
    fn start() -> Self {
        Self::of(&["perf", "server", "--once"])
    }

    fn of(words: &[&str]) -> Self {
        Self::spawn(tool(words).stdout(Stdio::null()))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child =
            command.args(["--bind", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let listening = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line.starts_with("listening on "))
            .expect("the server says where it listens");
        let address = listening.split(' ').nth(2).expect("it is named").to_owned();
        // Whatever it says later must not block it.
        let said = Arc::new(Mutex::new(listening + "\n"));
        let sink = Arc::clone(&said);
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                *sink.lock().expect("nobody panics") += &(line + "\n");
            }
        });
        Self { child, address, said }
    }

    /// Waits until it has said `words`.
    fn wait_for(&self, words: &str) {
        until(&format!("'{words}' is said"), || self.has_said(words));
    }

    fn has_said(&self, words: &str) -> bool {
        self.said.lock().expect("nobody panics").contains(words)
    }

    /// Asks it to end.
    fn signal(&self, signal: Signal) {
        nix::sys::signal::kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
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
    assert!(
        !output.status.success() && text.contains("--message-bytes") && text.contains("16 or more"),
        "{text}"
    );
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
    let text = complaint(&["choose", "--secret", "--quick-start"]);
    assert!(text.contains("give up the quick start or the secrecy"), "{text}");
    let text = complaint(&["choose", "--losses", "if-late"]);
    assert!(text.contains("set --useful-for-ms."), "{text}");
}

#[test]
fn needs_become_options_and_numbers() {
    for (needs, says) in [
        (
            vec!["--losses", "if-late", "--useful-for-ms", "600", "--rtt-ms", "600", "--in-order"],
            vec!["Options of this tool: --profile voice --congestion cubic ", "--hold-ms 300 (there 160)"],
        ),
        (vec!["--in-order"], vec!["Options of this tool: --profile file_arq\n"]),
        (vec!["--losses", "tolerated"], vec!["Endpoint::datagrams(port, Profile { crc: true, "]),
    ] {
        let output = soon(&mut tool(&[&["choose"], &needs[..]].concat()));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success());
        for words in says {
            assert!(text.contains(words), "{needs:?}: {text}");
        }
    }
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
    let again = soon(&mut tool(&["keygen", &own]));
    let text = String::from_utf8_lossy(&again.stderr);
    assert!(!again.status.success() && again.stdout.is_empty());
    assert!(text.contains(&own) && text.contains("no key is written over it: choose another name"), "{text}");
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
    // By its name it could be a private key.
    let copy = folder.file("copy");
    std::fs::write(&copy, &line).expect("there is room");
    let both = format!("{copy} and {list} hold the same key");
    let (zeros, binary) = (folder.file("zeros"), folder.file("binary"));
    std::fs::write(&zeros, "0".repeat(64)).expect("there is room");
    std::fs::write(&binary, [0xFF; 64]).expect("there is room");
    for (keys, says) in [
        (vec!["--own-key", &copy, "--peer-keys", &list], &both[..]),
        (vec!["--key-file", &zeros], "all octets of the key are the same"),
        (vec!["--key-file", &binary], "64 hexadecimal digits"),
        (vec!["--own-key", &own], "--peer-keys"),
        (vec!["--handshake", "xx"], "--own-key"),
        (vec!["--key-file", &own, "--own-key", &own, "--peer-keys", &list], "cannot be used with"),
        (vec!["--own-key", &own, "--peer-keys", &two], "a client names the key of its server alone"),
        (vec!["--own-key", &own, "--peer-keys", "/dev/null"], "it names no public key"),
    ] {
        let text = complaint(&[&["connect", "127.0.0.1:9"], &keys[..]].concat());
        assert!(text.contains(says), "{keys:?}: {text}");
    }
}

#[test]
fn a_file_that_cannot_be_written_or_read_is_told_before_anybody_connects() {
    let folder = Folder::new("files");
    let place = folder.0.to_str().expect("it is text");
    let missing = folder.file("nope.bin");
    let within = folder.file("no-folder/came");
    for (words, says) in [
        (vec!["serve", "--bind", "127.0.0.1:0", "--file", place], place),
        (vec!["serve", "--bind", "127.0.0.1:0", "--file", &within], &within),
        (vec!["connect", "127.0.0.1:9", "--file", &missing], &missing),
        (vec!["connect", "127.0.0.1:9", "--file", place], place),
        (vec!["connect", "127.0.0.1:9", "--key-file", &missing], &missing),
    ] {
        let text = complaint(&words);
        assert!(text.contains(&format!(" {says}: ")) && !text.contains("listening"), "{words:?}: {text}");
    }
}

#[test]
fn an_end_that_fails_tells_its_peer_at_once_and_a_server_goes_on() {
    let folder = Folder::new("fails");
    // The server's disk is full: its client hears of it, and has more to send until it does.
    let server = Server::of(&["serve", "--keep", "--file", "/dev/full"]);
    for _ in 0..2 {
        let text = complaint(&["connect", &server.address, "--file", "/dev/zero"]);
        assert!(text.contains("reset by the peer"), "{text}");
    }
    server.wait_for("cannot write /dev/full: No space left on device");
    // A client whose input fails after it has connected: a file of /proc that cannot be read.
    let (sent, came) = (folder.file("sent"), folder.file("came"));
    std::fs::write(&sent, vec![0x5A; 3_000_000]).expect("there is room");
    std::fs::write(&came, "as it was").expect("there is room");
    let server = Server::of(&["serve", "--keep", "--file", &came]);
    // Who fails before the server has accepted it is nobody that the server would name: the next one tries.
    until("the server says that a client failed", || {
        let text = complaint(&["connect", &server.address, "--file", "/proc/self/mem"]);
        assert!(text.contains("cannot read /proc/self/mem: "), "{text}");
        server.has_said("reset by the peer")
    });
    assert_eq!(std::fs::read(&came).expect("it is there"), b"as it was", "nothing came");
    let output = soon(&mut tool(&["connect", &server.address, "--file", &sent]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        std::fs::read(&came).expect("it came") == vec![0x5A; 3_000_000],
        "the client knows that all is written"
    );
}

#[test]
fn a_client_that_was_done_long_before_hears_that_nothing_could_be_written() {
    let folder = Folder::new("done");
    let hello = folder.file("hello");
    std::fs::write(&hello, "hello").expect("there is room");
    let mut server = Server::of(&["serve", "--file", "/dev/full"]);
    let text = complaint(&["connect", &server.address, "--file", &hello]);
    assert!(text.contains("reset by the peer"), "{text}");
    assert!(!server.child.wait().expect("it was started").success());
    server.wait_for("cannot write /dev/full");
}

#[test]
fn either_end_may_close_first() {
    for server_first in [false, true] {
        let mut server = Server::spawn(tool(&["serve"]).stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut client = Client::of(&server);
        let mut input = server.child.stdin.take().expect("it is piped");
        let mut at_server = server.child.stdout.take().expect("it is piped");
        let mut at_client = client.child.stdout.take().expect("it is piped");
        // One says something and closes; the other hears it, answers and closes.
        let mut heard = [0; 3];
        if server_first {
            input.write_all(b"one").expect("it reads");
            drop(input);
            at_client.read_exact(&mut heard).expect("it came");
            client.input.write_all(b"two").expect("it reads");
            drop(client.input);
        } else {
            client.input.write_all(b"one").expect("it reads");
            drop(client.input);
            at_server.read_exact(&mut heard).expect("it came");
            input.write_all(b"two").expect("it reads");
            drop(input);
        }
        assert_eq!(&heard, b"one");
        let answered: &mut dyn Read = if server_first { &mut at_server } else { &mut at_client };
        answered.read_exact(&mut heard).expect("it came");
        assert_eq!(&heard, b"two");
        assert!(
            ended(client.child).status.success() && server.child.wait().expect("it was started").success()
        );
    }
}

#[test]
fn who_waits_for_a_server_that_ends_is_told() {
    let mut server = Server::of(&["serve"]);
    let served = Client::of(&server);
    let waits = Client::of(&server);
    (&waits.input).write_all(b"hello").expect("it reads");
    drop(served.input);
    assert!(ended(served.child).status.success() && server.child.wait().expect("it was started").success());
    let text = waits.complaint();
    assert!(text.contains("reset by the peer"), "{text}");
}

#[test]
fn a_perf_server_that_is_ended_tells_its_clients() {
    let folder = Folder::new("perf-signal");
    let secret = folder.file("secret");
    std::fs::write(&secret, "5a".repeat(31) + "01\n").expect("there is room");
    let (endless, keys) = (["--bytes", "1000000000000"], ["--key-file", secret.as_str()]);
    for (kind, options, keys) in [
        ("throughput", vec![], &[][..]),
        ("throughput", vec!["--reverse"], &[]),
        ("throughput", vec![], &keys),
        ("requests", vec!["--seconds", "1000"], &[]),
    ] {
        let log = folder.file("log.jsonl");
        let mut server = Server::of(&[&["perf", "server", "--log", &log], keys].concat());
        let endless = if kind == "throughput" { &endless[..] } else { &[] };
        // A small window, so that the log stays small.
        let words =
            [&["perf", kind, &server.address, "--window-packets", "2"], endless, &options, keys].concat();
        let client = tool(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        until("data flow", || std::fs::read_to_string(&log).is_ok_and(|text| under_way(&text)));
        server.signal(Signal::SIGINT);
        let output = ended(client);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains("reset by the peer"), "{words:?}: {text}");
        assert!(!server.child.wait().expect("it was started").success());
        server.wait_for("ended by SIGINT");
    }
}

/// A log tells of two connections at least that carry data.
fn under_way(log: &str) -> bool {
    // The last line may be cut.
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let carry = lines.filter(|line| line["payload_bytes"].as_u64() > Some(0));
    carry.map(|line| line["conn"].to_string()).collect::<std::collections::HashSet<_>>().len() >= 2
}

#[test]
fn a_client_that_does_not_speak_perf_is_told_so() {
    let server = Server::start();
    assert!(server.has_said("port 5100"), "{:?}", server.said);
    let folder = Folder::new("no-perf");
    let hello = folder.file("hello");
    std::fs::write(&hello, "hello\n").expect("there is room");
    let text = complaint(&["connect", &server.address, "--port", "5100", "--file", &hello]);
    assert!(text.contains("reset by the peer"), "{text}");
    server.wait_for("does not speak perf; on inner port 5100 use `restp perf`");
}

#[test]
fn a_log_that_cannot_be_written_is_told_at_the_end() {
    let folder = Folder::new("full-log");
    let came = folder.file("came");
    let mut server = Server::of(&["serve", "--file", &came, "--log", "/dev/full"]);
    let text = complaint(&["connect", &server.address, "--log", "/dev/full"]);
    assert!(text.contains("the log /dev/full is not whole: No space left on device"), "{text}");
    assert!(!server.child.wait().expect("it was started").success());
    server.wait_for("the log /dev/full is not whole: No space left on device");
    assert!(Path::new(&came).exists(), "the transfer itself went well");
}

#[test]
fn a_log_grows_while_the_server_runs() {
    let folder = Folder::new("growing-log");
    let log = folder.file("log.jsonl");
    let mut server = Server::of(&["serve", "--keep", "--log", &log]);
    assert!(soon(&mut tool(&["connect", &server.address])).status.success());
    until("the log has lines", || std::fs::metadata(&log).is_ok_and(|found| found.len() > 0));
    assert!(server.child.try_wait().expect("it was started").is_none(), "the server goes on");
}

#[test]
fn a_killed_client_holds_others_up_no_longer_than_told() {
    let folder = Folder::new("killed");
    let came = folder.file("came");
    let server = Server::of(&["serve", "--keep", "--file", &came, "--idle-s", "2"]);
    let mut client = Client::of(&server);
    // On a machine that is very slow the server may have given it up before.
    let _ = client.input.write_all(b"hello");
    until("it is served", || Path::new(&came).exists() || server.has_said("the connection ended: "));
    client.child.kill().expect("it was started");
    client.child.wait().expect("it was started");
    server.wait_for("the connection ended: ");
    let help = soon(&mut tool(&["serve", "--help"]));
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(help.contains("behind one that was killed") && help.contains("--idle-s <SECONDS>"), "{help}");
}

#[test]
fn a_wrong_number_or_address_is_told_what_would_be_right() {
    for (words, says) in [
        (
            vec!["serve", "--bind", "127.0.0.1"],
            "'--bind <ADDRESS:PORT>': write ADDRESS:PORT, for instance 127.0.0.1:0",
        ),
        (vec!["perf", "server", "--bind", "127.0.0.1"], "write ADDRESS:PORT, for instance 127.0.0.1:0"),
        (vec!["probe", "127.0.0.1:9", "--count", "0"], "write a whole number from 1 to"),
        (vec!["probe", "127.0.0.1:9", "--interval-s", "nan"], "write a number of seconds, 0 or more"),
        (vec!["probe", "127.0.0.1:9", "--interval-s", "-1"], "write a number of seconds, 0 or more"),
        (vec!["perf", "requests", "127.0.0.1:9", "--seconds", "nan"], "write a number of seconds, 0 or more"),
        (vec!["connect", "127.0.0.1:9", "--hold-ms", "-1"], "write a whole number from 0 to"),
        (vec!["connect", "127.0.0.1:9", "--congestion", "none"], "set --i-own-the-path if nobody else"),
    ] {
        let text = complaint(&words);
        assert!(text.contains(says) && !text.contains("tip:"), "{words:?}: {text}");
    }
}

#[test]
fn help_promises_what_the_tool_does() {
    let help = soon(&mut tool(&["connect", "--help"]));
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(help.contains("which services are in force") && !help.contains("in force and why"), "{help}");
    assert!(help.contains("Exit code 0: both ends have closed"), "{help}");
}

#[test]
fn a_signal_leaves_a_whole_log_and_no_waiting_peer() {
    let folder = Folder::new("signal");
    for (signal, name) in [(Signal::SIGINT, "SIGINT"), (Signal::SIGTERM, "SIGTERM")] {
        let log = folder.file(&format!("{name}.jsonl"));
        let came = folder.file(name);
        let mut server = Server::of(&["serve", "--log", &log, "--file", &came]);
        let mut client = Client::of(&server);
        client.input.write_all(b"hello").expect("it reads");
        until("the server has it", || Path::new(&came).exists());
        server.signal(signal);
        let text = client.complaint();
        assert!(text.contains("reset by the peer"), "{text}");
        assert!(!server.child.wait().expect("it was started").success());
        server.wait_for(&format!("ended by {name}"));
        let text = std::fs::read_to_string(&log).expect("it was made");
        assert!(text.contains("packet_received") && text.ends_with("}\n"), "{text}");
        for line in text.lines() {
            serde_json::from_str::<Value>(line).expect("an object a line");
        }
    }
}

#[test]
fn a_server_says_that_somebody_with_wrong_keys_has_tried() {
    let folder = Folder::new("strangers");
    let (server_key, server_list) = folder.pair("server");
    let (_, client_list) = folder.pair("client");
    let (stranger, _) = folder.pair("stranger");
    let log = folder.file("log.jsonl");
    let mut server =
        Server::of(&["serve", "--own-key", &server_key, "--peer-keys", &client_list, "--log", &log]);
    let keys = ["--own-key", &stranger, "--peer-keys", &server_list];
    for _ in 0..3 {
        complaint(&[&["connect", &server.address], &keys[..]].concat());
    }
    server.wait_for("refused for their keys");
    server.signal(Signal::SIGTERM);
    assert!(!server.child.wait().expect("it was started").success());
    let said = server.said.lock().expect("nobody panics").clone();
    assert_eq!(said.matches("refused for their keys").count(), 1, "{said}");
    let text = std::fs::read_to_string(&log).expect("it was made");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let told: Vec<_> = lines.iter().filter(|line| line["event"] == "keys_refused").collect();
    assert_eq!(told.len(), 1, "{text}");
    assert!(told[0]["handshakes"].as_u64() >= Some(1), "{text}");
}

#[test]
fn one_end_with_keys_and_one_without_are_told_which_is_which() {
    let folder = Folder::new("half");
    let secret = folder.file("secret");
    std::fs::write(&secret, "5a".repeat(31) + "01\n").expect("there is room");
    let clear = Server::of(&["serve"]);
    let text = complaint(&["connect", &clear.address, "--key-file", &secret]);
    assert!(text.contains("this end has keys: has the other one?"), "{text}");
    let protected = Server::of(&["serve", "--key-file", &secret]);
    for command in [vec!["connect"], vec!["perf", "throughput", "--bytes", "1"]] {
        let port = if command[0] == "perf" { vec![] } else { vec!["--port", "7"] };
        let text = complaint(&[&command[..], &[protected.address.as_str()], &port[..]].concat());
        let says =
            if command[0] == "perf" { "nobody listens" } else { "this end has no keys: has the other one?" };
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_complaint_names_the_file_the_address_or_the_option() {
    let folder = Folder::new("names");
    let (own, list) = folder.pair("own");
    let (_, hers) = folder.pair("hers");
    let short = folder.file("short");
    std::fs::write(&short, "abc").expect("there is room");
    let nobody = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let nobody = nobody.to_string();
    for (options, says) in [
        (vec!["--key-file", &short], vec![&short[..], "64 hexadecimal digits"]),
        (vec!["--own-key", &list, "--peer-keys", &hers], vec![&list, "public key", "--own-key"]),
        (vec!["--own-key", &own, "--peer-keys", &own], vec![&own, "private key", "--peer-keys"]),
        (vec!["--packet-bytes", "10"], vec!["--packet-bytes", "256", "65507"]),
        (vec!["--window-packets", "1"], vec!["--window-packets", "2", "65535"]),
        (vec!["--profile", "datagram"], vec!["needs a connection", "--profile"]),
        (vec!["--management", "connectionless"], vec!["needs a connection", "--management"]),
        (vec!["--port", "9"], vec![&nobody, "inner port 9", "nothing receives packets"]),
    ] {
        let text = complaint(&[&["connect", &nobody], &options[..]].concat());
        for words in says {
            assert!(text.contains(words), "{options:?}: {text}");
        }
    }
    let text = complaint(&["serve", "--bind", "127.0.0.1:0", "--profile", "datagram"]);
    assert!(text.contains("needs a connection"), "{text}");
    let help = soon(&mut tool(&["serve", "--help"]));
    let help = String::from_utf8_lossy(&help.stdout);
    assert!(!help.contains("datagram") && help.contains("one client is served after the other"), "{help}");
    // The private key of another pair, whose public one lies beside it.
    let text = complaint(&["connect", &nobody, "--own-key", &own, "--peer-keys", &folder.file("hers")]);
    assert!(text.contains("this is a private key"), "{text}");
}
