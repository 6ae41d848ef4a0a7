//! The tool over loopback: every measurement of `restp perf`, `restp choose`, key pairs, and what is said when nobody is there.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
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

/// Within this time a command ends whose peer failed; that nobody is heard from shows after 240 s.
const SOON: Duration = Duration::from_secs(20);

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

/// A server that ends after one client, its address, and what it says later.
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
        let said = Arc::new(Mutex::new(String::new()));
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
        let begin = Instant::now();
        while !self.has_said(words) {
            assert!(begin.elapsed() < SOON, "'{words}' is not in: {:?}", self.said);
            std::thread::sleep(Duration::from_millis(20));
        }
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
    let begin = Instant::now();
    while !server.has_said("reset by the peer") {
        assert!(begin.elapsed() < SOON, "the server says nothing of it");
        let text = complaint(&["connect", &server.address, "--file", "/proc/self/mem"]);
        assert!(text.contains("cannot read /proc/self/mem: "), "{text}");
    }
    assert_eq!(std::fs::read(&came).expect("it is there"), b"as it was", "nothing came");
    let output = soon(&mut tool(&["connect", &server.address, "--file", &sent]));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // The client knows that the server has all, which may still be on its way to the disk.
    let begin = Instant::now();
    while std::fs::read(&came).expect("it came") != vec![0x5A; 3_000_000] {
        assert!(begin.elapsed() < SOON, "it is not the file");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_signal_leaves_a_whole_log_and_no_waiting_peer() {
    let folder = Folder::new("signal");
    for (signal, name) in [(Signal::SIGINT, "SIGINT"), (Signal::SIGTERM, "SIGTERM")] {
        let log = folder.file(&format!("{name}.jsonl"));
        let mut server = Server::of(&["serve", "--log", &log]);
        let mut client = tool(&["connect", &server.address]);
        // Its input stays open, so that it waits for its peer.
        let mut client = client
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let input = client.stdin.take();
        let mut output = client.stdout.take().expect("it is piped");
        std::thread::sleep(Duration::from_millis(500));
        server.signal(signal);
        let output_of_client = ended(client);
        let text = String::from_utf8_lossy(&output_of_client.stderr);
        assert!(!output_of_client.status.success() && text.contains("reset by the peer"), "{text}");
        assert!(!server.child.wait().expect("it was started").success());
        server.wait_for(&format!("ended by {name}"));
        let text = std::fs::read_to_string(&log).expect("it was made");
        assert!(text.contains("packet_received") && text.ends_with("}\n"), "{text}");
        for line in text.lines() {
            serde_json::from_str::<Value>(line).expect("an object a line");
        }
        drop(input);
        std::io::Read::read_to_end(&mut output, &mut Vec::new()).expect("it has ended");
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
