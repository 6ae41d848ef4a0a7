//! The programs as a user has them, over UDP on the loopback.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use flight::dictionary::{
    COMMAND_PORT, IngestHousekeeping, OutputHousekeeping, TELEMETRY_PORT, bare, enable_output, ingest,
    output as to_lab,
};
use flight::message::{Message, MessageId, command as telecommand};
use flight::time::Subseconds;
use serde_json::Value;

const GROUND: &str = env!("CARGO_BIN_EXE_flight-ground");
const NODE: &str = env!("CARGO_BIN_EXE_flight-node");
const GATEWAY: &str = env!("CARGO_BIN_EXE_flight-gateway");

fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(program: &str, arguments: &[&str]) -> Output {
    command(program, arguments).output().expect("the program runs")
}

fn refused(program: &str, arguments: &[&str]) -> String {
    let output = output(program, arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// A program that runs on; it is ended with the test.
struct Running {
    child: Child,
    bound: Value,
}

impl Running {
    /// Waits until its sockets are bound.
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut child =
            command(program, &[arguments, &["--json"]].concat()).spawn().expect("the program runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("text");
        let Ok(bound) = serde_json::from_str(&line) else {
            let mut errors = String::new();
            child.stderr.take().expect("piped").read_to_string(&mut errors).expect("text");
            panic!("{program} says {line:?} and {errors}");
        };
        Self { child, bound }
    }

    fn address(&self, name: &str) -> String {
        self.bound[name].as_str().expect("an address").to_owned()
    }

    /// Ends it; what it told on standard error.
    fn told(mut self) -> String {
        self.child.kill().expect("it runs");
        let mut told = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut told).expect("text");
        told
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended already if its words were asked for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free on the loopback. It is bound again by the program that gets it.
fn free_port() -> u16 {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port()
}

/// Key files in a folder of these tests: all crates share what is above it.
fn keys(name: &str, up: &str, down: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("flight");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, format!("up {}\ndown {}\n", up.repeat(32), down.repeat(32))).expect("a file");
    #[cfg(unix)]
    mode(&path, 0o600);
    path.display().to_string()
}

#[cfg(unix)]
fn mode(path: impl AsRef<std::path::Path>, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a file of our own");
}

/// A benchmark's JSON.
fn measured(arguments: &[&str]) -> Value {
    let output = output(GROUND, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// A node, and where the benchmark must listen for it.
fn node(more: &[&str]) -> (Running, String, String) {
    let port = free_port().to_string();
    let node =
        Running::start(NODE, &[&["--commands", "127.0.0.1:0", "--telemetry-port", &port], more].concat());
    let commands = node.address("commands");
    (node, commands, format!("127.0.0.1:{port}"))
}

#[test]
fn echoes_return_from_the_node_with_their_times() {
    let (_node, commands, telemetry) = node(&[]);
    let result = measured(&[
        "echo",
        "--commands",
        &commands,
        "--telemetry",
        &telemetry,
        "-n",
        "50",
        "--octets",
        "12,752",
        "--gap",
        "1ms",
    ]);
    assert_eq!(result["rows"].as_array().map(Vec::len), Some(2));
    for row in result["rows"].as_array().expect("rows") {
        assert_eq!((&row["sent"], &row["received"], &row["lost"]), (&50.into(), &50.into(), &0.into()));
        let times: Vec<f64> =
            row["times_us"].as_array().expect("times").iter().filter_map(Value::as_f64).collect();
        assert_eq!(times.len(), 50);
        assert!(times.iter().all(|time| *time > 0.0));
        let of = |name: &str| row[name].as_f64().expect("a number");
        assert!(of("least_us") <= of("median_us") && of("median_us") <= of("p99_us"));
        assert!(of("p99_us") <= of("greatest_us"));
    }
    assert_eq!(result["link"]["security"], "none");
}

#[test]
fn the_study_s_commands_and_packets_are_counted() {
    let (_node, commands, telemetry) = node(&["--packets", "8", "--gap", "2ms", "--payload", "256"]);
    let at = ["--commands", &commands, "--telemetry", &telemetry];
    let data = measured(&[&["data", "-n", "40", "--octets", "128", "--gap", "1ms"][..], &at].concat());
    assert_eq!((&data["rows"][0]["received"], &data["rows"][0]["lost"]), (&40.into(), &0.into()));
    let series = measured(&[&["series", "-n", "8", "--gap", "2ms"][..], &at].concat());
    let row = &series["rows"][0];
    assert_eq!((&row["received"], &row["lost"], &row["payload_octets"]), (&8.into(), &0.into(), &256.into()));
}

#[test]
fn sdls_protects_the_node_s_link_and_shuts_others_out() {
    let (right, wrong) = (keys("right", "0a", "0b"), keys("wrong", "0c", "0d"));
    for security in ["sdls-gcm", "sdls-cmac"] {
        let protection = ["--security", security, "--keys", &right];
        let (node, commands, telemetry) = node(&protection);
        let echo =
            ["echo", "--commands", &commands, "--telemetry", &telemetry, "-n", "10", "--octets", "128,700"];
        let result = measured(&[&echo[..], &protection].concat());
        assert_eq!(
            (&result["rows"][0]["received"], &result["rows"][1]["received"]),
            (&10.into(), &10.into())
        );
        assert_eq!(result["link"]["refused"], serde_json::json!({}));
        // A ground system that begins again is still understood; one with other keys, or none, is not.
        assert_eq!(measured(&[&echo[..], &protection].concat())["rows"][0]["lost"], 0);
        let quick = ["--wait", "300ms"];
        for other in [&["--security", security, "--keys", &wrong][..], &[]] {
            let said = refused(GROUND, &[&echo[..], &quick, other].concat());
            assert!(said.contains("no housekeeping of CI_LAB came within 300 ms"), "{said}");
        }
        assert_eq!(node.bound["security"], security);
        let told = node.told();
        assert!(told.contains("is it sent without --security? (frame-length-field: 1 so far)"), "{told}");
        assert!(told.contains("does not hold (mac: 1 so far)"), "{told}");
    }
}

#[test]
fn a_gateway_secures_a_node_that_knows_nothing_of_it() {
    let file = keys("gateway", "01", "02");
    let protection = ["--security", "sdls-gcm", "--keys", &file];
    let (_node, commands, plain) = node(&[]);
    let port = free_port().to_string();
    let gateway = Running::start(
        GATEWAY,
        &[
            &[
                "--ground",
                "127.0.0.1:0",
                "--telemetry-port",
                &port,
                "--commands",
                &commands,
                "--telemetry",
                &plain,
            ],
            &protection[..],
        ]
        .concat(),
    );
    let (ground, telemetry) = (gateway.address("ground"), format!("127.0.0.1:{port}"));
    let echo = ["echo", "--commands", &ground, "--telemetry", &telemetry, "-n", "20", "--octets", "64,752"];
    let result = measured(&[&echo[..], &protection].concat());
    for row in result["rows"].as_array().expect("rows") {
        assert_eq!(row["received"], 20, "{row}");
    }
    assert_eq!(result["link"]["security"], "sdls-gcm");
    // A plain command does not get through.
    let said = refused(GROUND, &[&echo[..], &["--wait", "300ms"]].concat());
    assert!(said.contains("no housekeeping"), "{said}");
    let told = gateway.told();
    assert!(told.contains("is it sent without --security? (frame-length-field: 1 so far)"), "{told}");
    assert!(!told.contains("warning"), "{told}");
}

#[test]
fn a_gateway_without_security_is_one_that_was_asked_for_by_name_and_says_so() {
    let arguments = ["--ground=127.0.0.1:0", "--telemetry=127.0.0.1:0", "--security", "none"];
    let gateway = Running::start(GATEWAY, &arguments);
    assert_eq!(gateway.bound["security"], "none");
    let told = gateway.told();
    assert!(told.starts_with("flight-gateway: warning: --security none protects nothing"), "{told}");
}

#[test]
fn the_first_line_names_the_security() {
    let file = keys("first-line", "01", "02");
    let protection = ["--security", "sdls-cmac", "--keys", &file];
    for (program, arguments, security) in [
        (NODE, &["--commands=127.0.0.1:0"][..], &[][..]),
        (NODE, &["--commands=127.0.0.1:0"], &protection),
        (GATEWAY, &["--ground=127.0.0.1:0", "--telemetry=127.0.0.1:0"], &protection),
    ] {
        let mut child = command(program, &[arguments, security].concat()).spawn().expect("the program runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("text");
        child.kill().and_then(|()| child.wait()).expect("it runs");
        let name = security.get(1).unwrap_or(&"none");
        assert!(line.ends_with(&format!("; security: {name}\n")), "{line}");
    }
}

#[cfg(unix)]
#[test]
fn keys_that_every_user_can_read_are_told() {
    let file = keys("open", "01", "02");
    for (open, told) in [(0o644, true), (0o640, false)] {
        mode(&file, open);
        let node = Running::start(NODE, &["--commands=127.0.0.1:0", "--security=sdls-gcm", "--keys", &file]);
        let warning = format!(
            "flight-node: warning: every user of this machine can read the keys in {file}: chmod 600 {file}\n"
        );
        assert_eq!(node.told(), if told { warning } else { String::new() });
    }
}

#[test]
fn the_node_answers_any_ground_system_octet_by_octet() {
    let telemetry = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    telemetry.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let port = telemetry.local_addr().expect("an address").port().to_string();
    let node = Running::start(NODE, &["--commands", "127.0.0.1:0", "--telemetry-port", &port]);
    let commands: SocketAddr = node.address("commands").parse().expect("an address");
    for message in [
        enable_output("127.0.0.1".parse().expect("it is one")),
        bare(ingest::SEND_HOUSEKEEPING, 0).expect("it fits"),
    ] {
        telemetry.send_to(&message, commands).expect("it leaves");
    }
    let mut buffer = [0; 2000];
    let octets = telemetry.recv(&mut buffer).expect("housekeeping");
    // Id, whole and first, 40 octets; the clock of a cFS that was just started; then CI_LAB's counters.
    assert_eq!(buffer[..6], [0x08, 0x84, 0xC0, 0x01, 0x00, 0x21]);
    assert_eq!(buffer[6..8], [0x00, 0x0F]);
    assert_eq!(octets, 40);
    assert_eq!(buffer[16..40], [&[0, 0, 0, 1][..], &[0; 8], &[2, 0, 0, 0], &[0; 8]].concat());
    assert_eq!(Message::parse(&buffer[..octets]).map(|message| message.id()), Ok(ingest::HOUSEKEEPING));
}

#[test]
fn mistakes_get_one_sentence() {
    let file = keys("mistakes", "01", "01");
    let cases: [(&str, &[&str], &str); 11] = [
        (GROUND, &["echo", "--octets", "11"], "the payload of an echo has 12 octets or more, not 11"),
        (GROUND, &["echo", "-n", "0"], "a benchmark has one message and one payload size or more"),
        (GROUND, &["echo", "--gap", "5"], "«5» is no time: a number with us, ms or s behind it"),
        (GROUND, &["echo", "--id", "0x1888"], "«0x1888» is no message id of telemetry: 0x0800 to 0x0FFF"),
        (GROUND, &["echo", "--security", "sdls-gcm"], "this --security needs --keys FILE"),
        (NODE, &["--keys", &file], "--keys is of no use without --security"),
        (NODE, &["--security", "sdls-cmac", "--keys", &file], "both directions have the same key"),
        (NODE, &["--payload", "2"], "a payload of the Benchmark module has 4 to 65526 octets, not 2"),
        (GATEWAY, &[], "name what protects the link: --security sdls-gcm or sdls-cmac, with --keys FILE"),
        (GATEWAY, &["--keys", &file], "name what protects the link"),
        (GATEWAY, &["--telemetry", "0.0.0.0:0"], "TO_LAB needs an IPv4 address to send to"),
    ];
    for (program, arguments, says) in cases {
        // None of them gets as far as a port that another test may have.
        let said = refused(
            program,
            &[
                arguments,
                &[if program == GROUND { "--telemetry=127.0.0.1:0" } else { "--commands=127.0.0.1:0" }][..],
            ]
            .concat(),
        );
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn help_shows_how() {
    for (program, parts) in [
        (NODE, ["Examples:", "flight-ground echo", "--security sdls-gcm --keys keys"]),
        (GROUND, ["[default: 128,256,512]", "--octets 64,512 --gap 1ms,500ms", "flight-ground series"]),
        (GATEWAY, ["Examples:", "flight-gateway --security sdls-gcm", "--commands 10.0.0.2:1234"]),
    ] {
        let help = String::from_utf8(output(program, &["--help"]).stdout).expect("text");
        for part in parts {
            assert!(help.contains(part), "{part}");
        }
    }
}

/// What a flight software's counters of CI_LAB and TO_LAB grew by over datagrams that are right and wrong in all ways.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    commands: u8,
    command_errors: u8,
    ingest_packets: u32,
    ingest_errors: u32,
    output_commands: u8,
    output_errors: u8,
}

/// As a running cFS v7.0.0 counts them: a wrong checksum is nothing to it, CI_LAB counts no code that it does not know but
/// counts a length that is not the command's, what follows a message is left out, and what is not whole is no message.
const COUNTED_BY_CFS: Counted = Counted {
    commands: 2,
    command_errors: 1,
    // Six of the seven below, and two that ask for housekeeping.
    ingest_packets: 8,
    ingest_errors: 1,
    output_commands: 1,
    output_errors: 1,
};

fn conversation() -> Vec<Vec<u8>> {
    let ours = |id, code| bare(id, code).expect("it fits");
    let mut wrong_checksum = ours(ingest::COMMAND, ingest::NOOP);
    wrong_checksum[7] ^= 0xFF;
    let noop = ours(to_lab::COMMAND, to_lab::NOOP);
    vec![
        ours(ingest::COMMAND, ingest::NOOP),
        wrong_checksum,
        ours(ingest::COMMAND, 77),
        telecommand(ingest::COMMAND, 0, ingest::NOOP, b"long").expect("it fits"),
        [&noop[..], b"more"].concat(),
        ours(to_lab::COMMAND, 99),
        noop[..7].to_vec(),
    ]
}

/// How a flight software is spoken with.
struct Pace {
    /// How often it is asked for its first telemetry, and how long each answer is waited for.
    attempts: u32,
    wait: Duration,
    /// For how long telemetry of its own accord may come after an answer; the last is the one that counts.
    more: Duration,
    /// Between two datagrams.
    pause: Duration,
}

/// The node answers at once, and only when it is asked.
const AT_ONCE: Pace =
    Pace { attempts: 1, wait: Duration::from_secs(20), more: Duration::ZERO, pause: Duration::ZERO };

/// cFS starts for some seconds, is woken now and then, keeps four messages of an id, and tells its state unasked.
const NOW_AND_THEN: Pace = Pace {
    attempts: 30,
    wait: Duration::from_secs(2),
    more: Duration::from_secs(3),
    pause: Duration::from_millis(600),
};

/// Asks for housekeeping and returns its payload, whatever other telemetry comes beside it.
fn asked(
    socket: &UdpSocket,
    commands: SocketAddr,
    pace: &Pace,
    (ask, id): (MessageId, MessageId),
) -> Option<Vec<u8>> {
    socket.send_to(&bare(ask, 0).expect("it fits"), commands).expect("it leaves");
    let (mut last, mut until, mut buffer) = (None, Instant::now() + pace.wait, [0; 2000]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return last;
        }
        socket.set_read_timeout(Some(left)).expect("above zero");
        let Ok(octets) = socket.recv(&mut buffer) else { continue };
        let message = Message::parse(&buffer[..octets]).expect("telemetry is whole");
        if message.id() == id {
            let read = message.telemetry(Subseconds::Bits16).expect("it is telemetry");
            assert!(
                read.time.seconds >= 1_001_000,
                "the clock begins there, and shows {}",
                read.time.seconds
            );
            if last.is_none() {
                until = Instant::now() + pace.more;
            }
            last = Some(read.payload.to_vec());
        }
    }
}

/// Has the conversation with a flight software that sends telemetry to the socket.
fn counted(socket: &UdpSocket, commands: SocketAddr, pace: &Pace) -> Counted {
    let here = "127.0.0.1".parse().expect("it is one");
    let of_ingest = (ingest::SEND_HOUSEKEEPING, ingest::HOUSEKEEPING);
    let begun = (0..pace.attempts).any(|_| {
        socket.send_to(&enable_output(here), commands).expect("it leaves");
        asked(socket, commands, pace, of_ingest).is_some()
    });
    assert!(begun, "no housekeeping of CI_LAB came");
    let counters = || {
        let payload = asked(socket, commands, pace, of_ingest).expect("housekeeping of CI_LAB");
        let of_ingest = IngestHousekeeping::decode(&payload).expect("its counters");
        let of_output = (to_lab::SEND_HOUSEKEEPING, to_lab::HOUSEKEEPING);
        let payload = asked(socket, commands, pace, of_output).expect("housekeeping of TO_LAB");
        (of_ingest, OutputHousekeeping::decode(&payload).expect("its counters"))
    };
    let before = counters();
    for datagram in conversation() {
        socket.send_to(&datagram, commands).expect("it leaves");
        std::thread::sleep(pace.pause);
    }
    let after = counters();
    Counted {
        commands: after.0.commands.wrapping_sub(before.0.commands),
        command_errors: after.0.command_errors.wrapping_sub(before.0.command_errors),
        ingest_packets: after.0.ingest_packets.wrapping_sub(before.0.ingest_packets),
        ingest_errors: after.0.ingest_errors.wrapping_sub(before.0.ingest_errors),
        output_commands: after.1.commands.wrapping_sub(before.1.commands),
        output_errors: after.1.command_errors.wrapping_sub(before.1.command_errors),
    }
}

#[test]
fn the_node_counts_right_and_wrong_datagrams_as_cfs_does() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = socket.local_addr().expect("an address").port().to_string();
    let node = Running::start(NODE, &["--commands", "127.0.0.1:0", "--telemetry-port", &port]);
    let commands = node.address("commands").parse().expect("an address");
    assert_eq!(counted(&socket, commands, &AT_ONCE), COUNTED_BY_CFS);
}

/// cFS's program `core-cpu1`, ended with the test.
struct Cfs(Child);

impl Cfs {
    fn start(program: &str) -> Self {
        let program = PathBuf::from(program).canonicalize().expect("GAUNTLET_CFS names a program");
        // It reads its tables from the folder it stands in.
        let folder = program.parent().expect("a folder").to_owned();
        let mut command = Command::new(&program);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("cFS runs"))
    }
}

impl Drop for Cfs {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_real_cfs_answers_as_the_node_does_plain_and_behind_a_gateway() {
    let Ok(program) = std::env::var("GAUNTLET_CFS") else {
        let why =
            "GAUNTLET_CFS does not name a cFS program (core-cpu1); tests/messages.rs has golden datagrams";
        // Not through `eprintln`, which test programs hold back when a test passes.
        writeln!(std::io::stderr(), "SKIPPED a_real_cfs_answers_as_the_node_does: {why}")
            .expect("it is open");
        return;
    };
    let _cfs = Cfs::start(&program);
    {
        let telemetry = UdpSocket::bind(("127.0.0.1", TELEMETRY_PORT)).expect("nobody else listens for it");
        let commands = SocketAddr::from(([127, 0, 0, 1], COMMAND_PORT));
        assert_eq!(counted(&telemetry, commands, &NOW_AND_THEN), COUNTED_BY_CFS);
    }
    let patient = ["-n", "10", "--octets", "64,752", "--gap", "100ms", "--wait", "30s"];
    let plain = measured(&[&["echo"][..], &patient].concat());
    for row in plain["rows"].as_array().expect("rows") {
        assert_eq!(row["received"], 10, "{row}");
    }
    let data = measured(&[&["data"][..], &patient].concat());
    assert_eq!(data["rows"][0]["received"], 10);
    let (file, port) = (keys("cfs", "01", "02"), free_port().to_string());
    let protection = ["--security", "sdls-gcm", "--keys", &file];
    let from = format!("127.0.0.1:{TELEMETRY_PORT}");
    let arguments = ["--ground", "127.0.0.1:0", "--telemetry-port", &port, "--telemetry", &from];
    let gateway = Running::start(GATEWAY, &[&arguments[..], &protection].concat());
    let (ground, telemetry) = (gateway.address("ground"), format!("127.0.0.1:{port}"));
    let there = ["--commands", &ground, "--telemetry", &telemetry];
    let protected = measured(&[&["echo"][..], &patient, &there, &protection].concat());
    assert_eq!(protected["rows"][0]["received"], 10);
}
