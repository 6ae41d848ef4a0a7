//! The tool as a user has it: two processes on the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn rasta(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rasta"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(arguments: &[&str]) -> Output {
    rasta(arguments).output().expect("the tool runs")
}

fn refused(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A server process; it is ended with the test.
struct Server {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    addresses: Vec<String>,
}

impl Server {
    /// Waits until all channels are bound and says where.
    fn start(arguments: &[&str], channels: usize) -> Self {
        let mut child = rasta(&[&["serve", "--id", "97", "--peer", "96", "--json"], arguments].concat())
            .spawn()
            .expect("the tool runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let addresses = (0..channels)
            .map(|channel| {
                let mut line = String::new();
                lines.read_line(&mut line).expect("text");
                let Ok(event) = serde_json::from_str::<Value>(&line) else {
                    let mut errors = String::new();
                    child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
                    panic!("the server says {line:?} and {errors}");
                };
                assert_eq!((&event["event"], &event["channel"]), (&"bound".into(), &channel.into()));
                event["address"].as_str().expect("an address").to_owned()
            })
            .collect();
        Self { child, lines, addresses }
    }

    /// Its next event of this name.
    fn wait_for(&mut self, name: &str) -> Value {
        let events = (&mut self.lines).lines().map(|line| line.expect("text"));
        let mut events =
            events.map(|line| serde_json::from_str::<Value>(&line).expect("a JSON object a line"));
        events.find(|event| event["event"] == name).unwrap_or_else(|| panic!("it ended without {name}"))
    }

    /// Its events until it ends by itself.
    fn finish(mut self) -> Vec<Value> {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).expect("text");
        let status = self.child.wait().expect("it was started");
        assert!(status.success(), "{status}: {rest}");
        events(&rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn events(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

fn find<'a>(events: &'a [Value], name: &str) -> &'a Value {
    events.iter().find(|event| event["event"] == name).unwrap_or_else(|| panic!("no {name} in {events:?}"))
}

#[test]
fn two_udp_channels_carry_pings_and_both_sides_report() {
    let options = ["--safety-code", "md4-full", "--check-code", "b"];
    let channels = ["-c", "udp:127.0.0.1:0", "-c", "udp:127.0.0.1:0", "--echo"];
    let server = Server::start(&[&options[..], &channels].concat(), 2);
    let [first, second] = [0, 1].map(|channel| format!("udp:{}", server.addresses[channel]));
    let client = ["connect", "--id", "96", "--peer", "97", "-c", &first, "-c", &second];
    let ping = ["--ping", "20", "--interval", "1", "--json", "--seed", "7"];
    let output = output(&[&client[..], &options, &ping].concat());
    assert!(output.status.success(), "{output:?}");
    let told = events(&String::from_utf8(output.stdout).expect("text"));
    let pings = find(&told, "pings");
    assert_eq!((&pings["sent"], &pings["answered"]), (&20.into(), &20.into()));
    assert!(pings["round_trip_p50_ms"].as_f64().expect("a number") > 0.0);
    assert_eq!(find(&told, "ended")["reason"], "user-request");
    let report = find(&told, "report");
    assert_eq!((&report["unconfirmed"], report["channels"].as_array().map(Vec::len)), (&0.into(), Some(2)));
    assert_eq!(told.iter().filter(|event| event["event"] == "ended").count(), 1);

    let told = server.finish();
    let ended = find(&told, "ended");
    assert_eq!((&ended["by"], &ended["reason_number"]), (&"the peer".into(), &0.into()));
    let report = find(&told, "report");
    assert_eq!((&report["frames"]["check_code"], &report["refused"]["safety_code"]), (&0.into(), &0.into()));
    assert_eq!(report["unconfirmed"], 0, "the client lets a frame go that confirms the last answer");
    for channel in report["channels"].as_array().expect("a list") {
        let count = |what: &str| channel[what].as_u64().expect("a number");
        assert!(count("received") > 20 && count("sent") > 20 && count("not_sent") == 0, "{report}");
    }
}

#[test]
fn who_refuses_frames_by_their_code_says_how_many_and_who_hears_nothing_says_that() {
    for kind in ["udp", "tcp"] {
        let channel = format!("{kind}:127.0.0.1:0");
        let mut server = Server::start(&["-c", &channel, "--safety-code", "md4-full"], 1);
        let channel = format!("{kind}:{}", server.addresses[0]);
        let quick = ["--t-max", "200", "--t-h", "50", "--t-seq", "20"];
        let said =
            refused(&[&["connect", "--id", "96", "--peer", "97", "-c", &channel], &quick[..]].concat());
        assert!(said.contains("no message came in time; no frame came: "), "{said}");
        let refusal = server.wait_for("refused");
        assert_eq!((&refusal["frames"], &refusal["safety_code"]), (&1.into(), &1.into()), "{kind}");
    }
}

#[test]
fn a_server_of_another_identification_says_so_to_people() {
    let mut child = rasta(&["serve", "--id", "98", "--peer", "96", "-c", "udp:127.0.0.1:0"])
        .spawn()
        .expect("the tool runs");
    let mut lines =
        BufReader::new(child.stderr.take().expect("piped")).lines().map(|line| line.expect("text"));
    let bound = lines.find(|line| line.contains("udp 127.0.0.1:")).expect("where it waits");
    let channel = format!("udp:{}", bound.rsplit(' ').next().expect("an address"));
    let quick = ["--t-max", "200", "--t-h", "50", "--t-seq", "20"];
    refused(&[&["connect", "--id", "96", "--peer", "97", "-c", &channel], &quick[..]].concat());
    let said = lines.find(|line| line.contains("refused")).expect("it says so");
    assert!(
        said.starts_with("rasta: 1 frame was refused so far: 1 by identifications (--safety-code "),
        "{said}"
    );
    child.kill().and_then(|()| child.wait()).expect("it runs");
}

#[test]
fn lines_go_over_tcp_and_the_end_of_input_closes() {
    let server = Server::start(&["-c", "tcp:127.0.0.1:0"], 1);
    let channel = format!("tcp:{}", server.addresses[0]);
    let mut client = rasta(&["connect", "--id", "96", "--peer", "97", "-c", &channel])
        .stdin(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    client.stdin.take().expect("piped").write_all(b"set route 12\nlock point 3\n").expect("it reads");
    let output = client.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");
    let told = server.finish();
    let messages: Vec<_> =
        told.iter().filter(|event| event["event"] == "message").map(|event| &event["hex"]).collect();
    assert_eq!(messages, ["73657420726f757465203132", "6c6f636b20706f696e742033"]);
}

/// Certificates in a folder of the test's own; all crates share what is above `rasta-cli`.
fn certificates(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rasta-cli").join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let made = rcgen::generate_simple_self_signed(["rail.test".into()]).expect("a name");
    let write = |file: &str, tag: &str, octets: &[u8]| {
        std::fs::write(folder.join(file), pem::encode(&pem::Pem::new(tag, octets)))
            .expect("a file for the test");
    };
    write("cert.pem", "CERTIFICATE", made.cert.der());
    write("key.pem", "PRIVATE KEY", &made.signing_key.serialize_der());
    folder
}

#[test]
fn tls_with_certificates_on_both_sides_and_not_without() {
    let folder = certificates("tls");
    let [certificate, key] = ["cert.pem", "key.pem"].map(|file| folder.join(file).display().to_string());
    let identity = ["--tls-cert", &certificate, "--tls-key", &key, "--tls-ca", &certificate];
    let server = Server::start(&[&identity[..], &["-c", "tls:127.0.0.1:0", "--echo"]].concat(), 1);
    let channel = format!("tls:{}", server.addresses[0]);
    let client = ["connect", "--id", "96", "--peer", "97", "-c", &channel, "--tls-name", "rail.test"];
    let ping = ["--ping", "3", "--interval", "1", "--json"];
    let quick = ["--t-max", "400", "--t-h", "100"];
    let anonymous = output(&[&client[..], &ping, &quick, &["--tls-ca", &certificate]].concat());
    assert!(!anonymous.status.success(), "the server asks for a certificate");
    let output = output(&[&client[..], &ping, &identity].concat());
    assert!(output.status.success(), "{output:?}");
    assert_eq!(find(&events(&String::from_utf8(output.stdout).expect("text")), "pings")["answered"], 3);
    server.finish();
}

#[test]
fn mistakes_get_one_sentence() {
    let connect = ["connect", "--id", "96", "--peer", "97"];
    let with = |more: &[&str]| refused(&[&connect[..], more].concat());
    let cases: [(&[&str], &str); 8] = [
        (
            &["-c", "dccp:127.0.0.1:1"],
            "«dccp:127.0.0.1:1» is no channel: udp:HOST:PORT, tcp:HOST:PORT or tls:HOST:PORT",
        ),
        (&["-c", "udp:127.0.0.1:1", "--safety-code", "siphash-half"], "this safety code needs --safety-key"),
        (&["-c", "udp:127.0.0.1:1", "--safety-key", "00"], "MD4 has --md4-initial-value"),
        (
            &["-c", "udp:127.0.0.1:1", "--safety-code", "siphash-full", "--safety-key", "0011"],
            "--safety-key of SipHash has 16 octets, this one 2",
        ),
        (
            &["-c", "udp:127.0.0.1:1", "--mwa", "20"],
            "MWA is 20: it must be 1 or more and below N_sendMax (20)",
        ),
        (&["-c", "tls:127.0.0.1:1"], "a tls channel needs --tls-ca FILE"),
        (&["-c", "tls:127.0.0.1:1", "--tls-ca", "/nowhere.pem"], "/nowhere.pem: "),
        (&["-c", "udp:127.0.0.1:1", "--md4-initial-value", "1,2,3"], "four hexadecimal words"),
    ];
    for (more, says) in cases {
        let said = with(more);
        assert!(said.contains(says), "{more:?}: {said}");
    }
    assert!(
        refused(&["connect", "--id", "5", "--peer", "5", "-c", "udp:127.0.0.1:1"]).contains("must differ")
    );
}

#[test]
fn a_peer_that_is_not_there_is_a_failure_with_its_reason() {
    let said = refused(&[
        "connect",
        "--id",
        "96",
        "--peer",
        "97",
        "-c",
        "udp:127.0.0.1:9",
        "--t-max",
        "60",
        "--t-h",
        "20",
        "--t-seq",
        "10",
    ]);
    assert!(said.contains("closed by this end: no message came in time; no frame came: "), "{said}");
    assert_eq!(said.matches("no message came in time").count(), 1, "{said}");
}

#[test]
fn where_no_channel_comes_up_no_option_is_blamed() {
    let quick = ["--t-max", "60", "--t-h", "20", "--t-seq", "10"];
    let connect = ["connect", "--id", "96", "--peer", "97", "-c", "tcp:127.0.0.1:9", "--ping", "3"];
    let output = output(&[&connect[..], &quick].concat());
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("channel 0 down: "), "{said}");
    assert!(said.ends_with("no message came in time; no frame went out: no channel was up\n"), "{said}");
    assert_eq!(String::from_utf8(output.stdout).expect("text"), "no message was sent\n");
}

#[test]
fn without_a_safety_code_there_is_a_warning_for_machines_too() {
    let quick = ["--t-max", "60", "--t-h", "20", "--t-seq", "10"];
    let connect = ["connect", "--id", "96", "--peer", "97", "-c", "udp:127.0.0.1:9", "--json"];
    let said = refused(&[&connect[..], &quick, &["--safety-code", "none"]].concat());
    assert!(said.contains("without a safety code damaged messages are taken for good ones"), "{said}");
}

#[test]
fn help_shows_how() {
    let help = String::from_utf8(output(&["--help"]).stdout).expect("text");
    for part in
        ["Examples:", "rasta serve   --id 97 --peer 96", "--ping 50 --json", "No conformance is claimed"]
    {
        assert!(help.contains(part), "{part}");
    }
}
