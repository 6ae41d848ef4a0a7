//! The tool between two network namespaces: files over a lossy queue, over UDP, raw IPv4 and raw IPv6.
//!
//! Needs root and the programs `ip` and `tc`; says so and skips otherwise. Each test makes its own pair of namespaces and
//! removes it.

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{content, skipped};
use sha2::{Digest, Sha256};

/// Address plan, the same in each pair.
const SERVER_V4: &str = "10.77.0.2";
const SERVER_V6: &str = "fd77::2";
/// A slow link whose queue holds some fifteen packets: every window that grows loses packets.
const SHORT_QUEUE: [&str; 7] = ["tbf", "rate", "40mbit", "burst", "10kb", "limit", "20kb"];
/// Presets that lose nothing.
const RELIABLE_PRESETS: [&str; 5] = ["file_arq", "file_harq", "web_opt", "satellite_outage", "multipath"];
/// The ends of the cable.
const DEVICES: [&str; 2] = ["left0", "right0"];

/// Two namespaces joined by a virtual cable.
struct Pair {
    names: [String; 2],
    folder: PathBuf,
}

impl Pair {
    /// `None`, with a reason, where namespaces cannot be made.
    fn new(test: &str) -> Option<Self> {
        let id = std::process::id();
        let names = [format!("restp-{test}-{id}-a"), format!("restp-{test}-{id}-b")];
        let folder = std::env::temp_dir().join(&names[0]);
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let made = Command::new("ip").args(["netns", "add", &names[0]]).output();
        if !made.is_ok_and(|output| output.status.success()) {
            skipped(test, "network namespaces need root and the program 'ip'");
            std::fs::remove_dir_all(&folder).expect("the folder is ours");
            return None;
        }
        let pair = Self { names, folder };
        run("ip", &["netns", "add", &pair.names[1]]);
        let [left, right] = DEVICES;
        let cable =
            ["link", "add", "name", left, "type", "veth", "peer", "name", right, "netns", &pair.names[1]];
        run("ip", &[&["-n", pair.names[0].as_str()], &cable[..]].concat());
        for (index, (v4, v6)) in
            [("10.77.0.1/24", "fd77::1/64"), ("10.77.0.2/24", "fd77::2/64")].iter().enumerate()
        {
            let (name, device) = (&pair.names[index], DEVICES[index]);
            run("ip", &["-n", name, "addr", "add", v4, "dev", device]);
            run("ip", &["-n", name, "addr", "add", v6, "dev", device, "nodad"]);
            run("ip", &["-n", name, "link", "set", device, "up"]);
            run("ip", &["-n", name, "link", "set", "lo", "up"]);
        }
        Some(pair)
    }

    /// Puts a queueing discipline on both ends of the cable.
    fn shape(&self, discipline: &[&str]) {
        for (name, device) in self.names.iter().zip(DEVICES) {
            let mut words = vec!["-n", name.as_str(), "qdisc", "add", "dev", device, "root"];
            words.extend(discipline);
            run("tc", &words);
        }
    }

    fn tool(&self, end: usize, words: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end], env!("CARGO_BIN_EXE_restp")]).args(words);
        command.stdin(Stdio::null());
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts a server and waits until it listens.
    fn serve(&self, words: &[&str]) -> Child {
        let mut child = self.tool(1, words).stderr(Stdio::piped()).spawn().expect("the tool starts");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let listening = lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("listening on"));
        assert!(listening, "the server does not listen");
        // Whatever it says later must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        child
    }

    /// Sends a file with `restp connect` to `restp serve` and compares the hashes.
    fn send_file(&self, size_bytes: usize, host: &str, server: &[&str], both: &[&str]) {
        let (source, target) = (self.path("sent"), self.path("received"));
        let sent = content(size_bytes);
        std::fs::write(&source, &sent).expect("room on the disk");
        let mut words = vec!["serve", "--file", text(&target)];
        words.extend(server.iter().chain(both));
        let mut serving = self.serve(&words);
        let mut words = vec!["connect", host, "--file", text(&source)];
        words.extend(both);
        let connected = self.tool(0, &words).output().expect("the tool starts");
        let served = serving.wait().expect("it was started");
        let complaint = String::from_utf8_lossy(&connected.stderr);
        assert!(connected.status.success() && served.success(), "{complaint}");
        let received = std::fs::read(&target).expect("the server wrote it");
        assert_eq!(received.len(), size_bytes);
        assert_eq!(Sha256::digest(received), Sha256::digest(sent));
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn run(program: &str, words: &[&str]) {
    let output = Command::new(program).args(words).output().expect("the program exists");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {complaint}", words.join(" "));
}

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary folders have plain names")
}

#[test]
fn reliable_presets_bring_files_through_a_queue_that_overflows() {
    let Some(pair) = Pair::new("loss") else { return };
    pair.shape(&SHORT_QUEUE);
    for preset in RELIABLE_PRESETS {
        pair.send_file(2 << 20, SERVER_V4, &[], &["--profile", preset]);
    }
}

/// Bytes that each preset moves: `make perf-namespaces` asks for a gigabyte.
fn perf_bytes() -> u64 {
    let asked = std::env::var("RESTP_PERF_BYTES");
    asked.map_or(10_000_000, |bytes| bytes.parse().expect("RESTP_PERF_BYTES is a number of bytes"))
}

#[test]
fn perf_moves_bytes_intact_with_every_reliable_preset() {
    let Some(pair) = Pair::new("perf") else { return };
    let size_bytes = perf_bytes();
    for preset in RELIABLE_PRESETS {
        let mut server = pair.serve(&["perf", "server", "--once"]);
        let bytes = size_bytes.to_string();
        let words = ["perf", "throughput", SERVER_V4, "--json", "--bytes", &bytes, "--profile", preset];
        let output = pair.tool(0, &words).output().expect("the tool starts");
        assert!(output.status.success(), "{preset}: {}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!((&report["intact"], report["size_bytes"].as_u64()), (&true.into(), Some(size_bytes)));
        println!("{preset}: {report}");
        assert!(server.wait().expect("it was started").success(), "{preset}");
    }
}

#[test]
fn a_shared_key_protects_a_file_and_a_wrong_one_opens_nothing() {
    let Some(pair) = Pair::new("key") else { return };
    let (key, wrong) = (pair.path("key"), pair.path("wrong"));
    std::fs::write(&key, "ab01".repeat(16)).unwrap();
    std::fs::write(&wrong, "cd01".repeat(16)).unwrap();
    pair.send_file(1 << 20, SERVER_V4, &[], &["--key-file", text(&key)]);
    let mut serving = pair.serve(&["serve", "--key-file", text(&key)]);
    let mut probing = pair
        .tool(0, &["probe", SERVER_V4, "--count", "1", "--key-file", text(&wrong)])
        .spawn()
        .expect("the tool starts");
    // Unanswered openings are repeated for a minute; two seconds are enough to see that none stands.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let status = probing.try_wait().expect("it was started");
    assert!(!status.is_some_and(|status| status.success()), "a wrong key must open no connection");
    for child in [&mut probing, &mut serving] {
        child.kill().expect("it was started");
        child.wait().expect("it was started");
    }
}

#[test]
fn raw_ip_brings_files_over_both_families() {
    let Some(pair) = Pair::new("raw") else { return };
    pair.shape(&SHORT_QUEUE);
    pair.send_file(1 << 20, SERVER_V4, &["--bind", "10.77.0.2:0"], &["--raw-ip"]);
    pair.send_file(1 << 20, SERVER_V6, &["--bind", "[fd77::2]:0"], &["--raw-ip"]);
}
