//! SYN segments from forged addresses, in a network namespace of the test's own; each test here is a process inside one.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use attackers::guard::{NOBODY, NOBODYS};
use nix::libc;
use socket2::{Domain, Protocol, Socket, Type};

use crate::attack;
use crate::peers::ANY;

/// Says to a test that it is inside, so that none of them touches the machine's own network.
const INSIDE: &str = "GAUNTLET_TEST_INSIDE";

/// Runs a test of this file as root of a user and network namespace of its own. Where the machine lets nobody have one,
/// nothing is tested, and that is said even where the output of tests that pass is not shown.
fn in_a_namespace(test: &str) {
    let own = ["--user", "--map-root-user", "--net"];
    let may = Command::new("unshare").args(own).arg("true").output().expect("unshare (util-linux)");
    if !may.status.success() {
        let why = String::from_utf8_lossy(&may.stderr);
        writeln!(std::io::stderr(), "SKIPPED syn_flood::{test}: no namespace here: {}", why.trim_end())
            .expect("standard error is open");
        return;
    }
    let run = Command::new("unshare")
        .args(own)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("syn_flood::{test}"), "--ignored"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    let why = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && said.contains("1 passed"), "{said}{why}");
}

fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split_whitespace()).output().expect("ip (iproute2)").status.success()
}

/// The loopback interface up, and a way for answers to forged addresses.
fn set_up() {
    assert!(std::env::var_os(INSIDE).is_some(), "this test runs inside a namespace of its own only");
    assert!(ip("link set lo up") && ip("route add 198.18.0.0/15 dev lo"));
}

fn cookies(value: &str) {
    std::fs::write("/proc/sys/net/ipv4/tcp_syncookies", value).unwrap();
}

/// One that takes nobody by itself, with room for so many that are half open.
fn listener(backlog: i32) -> TcpListener {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&ANY.into()).unwrap();
    socket.listen(backlog).unwrap();
    socket.into()
}

fn is_forged(address: Ipv4Addr) -> bool {
    (NOBODY.to_bits()..NOBODY.to_bits() + NOBODYS).contains(&address.to_bits())
}

/// A segment as it came by.
struct Seen {
    at: Instant,
    from: (Ipv4Addr, u16),
    to: (Ipv4Addr, u16),
    flags: u8,
}

impl Seen {
    fn of(packet: &[u8]) -> Option<Self> {
        let (ip, tcp) = packet.split_at_checked(usize::from(packet.first()? & 0xf) * 4)?;
        let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
        let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
        (ip[9] == 6 && tcp.len() >= 20).then(|| Self {
            at: Instant::now(),
            from: (address(12), port(0)),
            to: (address(16), port(2)),
            flags: tcp[13],
        })
    }
}

/// Sees every segment of TCP that arrives in this namespace, until it is asked.
struct Tap {
    over: Arc<AtomicBool>,
    sees: JoinHandle<Vec<Seen>>,
}

impl Tap {
    fn new() -> Self {
        let of_ip = Protocol::from(i32::from((libc::ETH_P_IP as u16).to_be()));
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, Some(of_ip)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&over);
        let sees = thread::spawn(move || {
            let mut seen = Vec::new();
            let mut packet = [0; 2048];
            loop {
                match (&socket).read(&mut packet) {
                    Ok(octets) => seen.extend(Seen::of(&packet[..octets])),
                    // Nothing more is under way.
                    Err(_) if until.load(Ordering::Relaxed) => return seen,
                    Err(_) => {}
                }
            }
        });
        Self { over, sees }
    }

    fn seen(self) -> Vec<Seen> {
        self.over.store(true, Ordering::Relaxed);
        self.sees.join().unwrap()
    }
}

#[test]
fn forged_segments_are_on_the_wire_and_none_answers() {
    in_a_namespace("wire");
}

#[tokio::test]
#[ignore = "inside a namespace of its own, by the test above"]
async fn wire() {
    const SYN: u8 = 2;
    const SYN_ACK: u8 = 0x12;
    set_up();
    // Each SYN whose checksum is right is answered, and nothing of it is kept.
    cookies("2");
    let server = listener(16);
    let SocketAddr::V4(address) = server.local_addr().unwrap() else { unreachable!() };
    let tap = Tap::new();
    let began = Instant::now();
    let log = attack("syn-flood", address.into(), "--protocol h2 --rate 500 --seconds 1").await;
    let seen = tap.seen();
    assert_eq!(
        (log.count("offered"), log.count("sent"), log.ended("ok"), log.count("bytes_out")),
        (500, 500, 500, 500 * 60),
        "{}",
        log.done
    );
    let (forged, answers): (Vec<&Seen>, Vec<&Seen>) = seen.iter().partition(|it| is_forged(it.from.0));
    let sources: BTreeSet<Ipv4Addr> = forged.iter().map(|it| it.from.0).collect();
    // As many as were sent, of as many addresses: so nothing else came from them, neither an answer nor a reset.
    assert_eq!((forged.len(), sources.len()), (500, 500));
    let server_is = (*address.ip(), address.port());
    assert!(forged.iter().all(|it| it.flags == SYN && it.to == server_is && it.from.1 >= 1024));
    assert!(answers.iter().all(|it| it.flags == SYN_ACK && it.from == server_is));
    assert_eq!(answers.iter().map(|it| it.to.0).collect::<BTreeSet<_>>(), sources);
    // The last is due 998 ms after the first, and none is early.
    assert!(forged.iter().map(|it| it.at).max().unwrap() - began >= Duration::from_millis(998));
    server.set_nonblocking(true).unwrap();
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn cookies_help() {
    in_a_namespace("shut_out_without_cookies");
}

/// What is half open stays so for seconds: whoever comes then finds the queue full, and is served by a cookie or not.
#[tokio::test]
#[ignore = "inside a namespace of its own, by the test above"]
async fn shut_out_without_cookies() {
    set_up();
    for (value, served) in [("0", false), ("1", true)] {
        cookies(value);
        let server = listener(16);
        let address = server.local_addr().unwrap();
        let log = attack("syn-flood", address, "--protocol h2 --rate 500 --seconds 0.2").await;
        assert_eq!(log.ended("ok"), 100, "{}", log.done);
        let honest = TcpStream::connect_timeout(&address, Duration::from_millis(700));
        assert_eq!(honest.is_ok(), served, "tcp_syncookies = {value}: {honest:?}");
        match honest {
            Ok(mut client) => {
                client.write_all(b"!").unwrap();
                let mut octet = [0];
                server.accept().unwrap().0.read_exact(&mut octet).unwrap();
                assert_eq!(&octet, b"!");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::TimedOut),
        }
    }
}

#[test]
fn nothing_is_forged_where_something_leads_out() {
    in_a_namespace("refused");
}

#[test]
#[ignore = "inside a namespace of its own, by the test above"]
fn refused() {
    let because = |why: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_gauntlet-attacker"))
            .args(["syn-flood", "--target", "127.0.0.1:9", "--protocol", "h2", "--seconds", "0.1"])
            .output()
            .unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.code() == Some(2) && said.contains(why) && run.stdout.is_empty(), "{said}");
    };
    because("no route leads to the forged addresses");
    set_up();
    assert!(["dummy", "veth", "bridge"].iter().any(|kind| ip(&format!("link add other type {kind}"))));
    assert!(ip("link set other up"));
    because("no interface but loopback is up, and here other is");
}
