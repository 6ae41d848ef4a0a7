//! An in-path node between real sockets: what they get, and when.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use netlab::in_path::{Event, InPathLog};
use netlab::{InPathContext, InPathNode, InPathSpec, NetworkSpec};
use serde_json::{Value, json};

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Lab, Outcome};

pub const CHECKS: &[Check] = &[
    ("in-path without rules everything passes", everything_passes),
    ("in-path drops and duplicates", drops_and_duplicates),
    ("in-path altered packets reach the socket only when repaired", altered_packets),
    ("in-path delays are exact", delays_are_exact),
    ("in-path reflected packets come back", reflected_packets),
    ("in-path made and captured packets reach the socket", inserted_packets),
    ("in-path held packets change their order", held_packets),
    ("in-path packets in a tunnel", packets_in_a_tunnel),
    ("in-path a stream survives what is dropped and altered", a_stream),
    ("in-path longer than the link allows is refused", too_long),
    ("in-path bursts are not missed", bursts),
];

/// Between the router beside the server and the server.
struct Site {
    lab: Lab,
    node: InPathNode,
    client: UdpSocket,
    server: UdpSocket,
}

const PORT: u16 = 6000;

fn spec(between: [&str; 2], rules: Value) -> Outcome<InPathSpec> {
    Ok(serde_json::from_value(json!({"node": "mallory", "between": between, "rules": rules}))?)
}

fn start(lab: &Lab, spec: &InPathSpec) -> Outcome<InPathNode> {
    let openings = |_: &str, _: &str| Err("no flow is known".into());
    let retry_tag = |_: &[u8], _: &[u8]| [0; 16];
    let context = InPathContext { seed: 1, flows: Vec::new(), openings: &openings, retry_tag };
    Ok(InPathNode::start(&lab.network, lab.clock, spec, context)?)
}

impl Site {
    fn new(rules: Value) -> Outcome<Site> {
        Site::of("wire", ["east", "server"], ("client", "server"), rules)
    }

    fn of(preset: &str, between: [&str; 2], ends: (&str, &str), rules: Value) -> Outcome<Site> {
        let spec = spec(between, rules)?;
        let lab = Lab::new(&NetworkSpec::preset(preset).with_in_path(std::slice::from_ref(&spec))?, 1)?;
        let node = start(&lab, &spec)?;
        let bind = |name: &str| -> Outcome<UdpSocket> {
            let node = lab.network.node(name)?;
            let address = node.address().ok_or("it has no address")?;
            let socket = node.enter(|| UdpSocket::bind((address, PORT)))?;
            socket.set_read_timeout(Some(Duration::from_secs(10)))?;
            Ok(socket)
        };
        let (client, server) = (bind(ends.0)?, bind(ends.1)?);
        client.connect(server.local_addr()?)?;
        server.connect(client.local_addr()?)?;
        Ok(Site { lab, node, client, server })
    }

    /// What the server's socket gets, until nothing more comes for ten seconds.
    fn received(&self) -> Outcome<Vec<Vec<u8>>> {
        all_from(&self.server)
    }
}

fn all_from(socket: &UdpSocket) -> Outcome<Vec<Vec<u8>>> {
    let (mut all, mut buffer) = (Vec::new(), [0; 2000]);
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) => all.push(buffer[..bytes].to_vec()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(all),
            Err(e) => return Err(e.into()),
        }
    }
}

fn rule(conditions: Value, deed: Value) -> Value {
    json!([{"id": "r", "match": conditions, "do": deed}])
}

fn emitted(log: &InPathLog) -> usize {
    log.rows.iter().filter(|row| matches!(row.event, Event::Emitted(_))).count()
}

fn everything_passes() -> Finding {
    let site = Site::new(json!([]))?;
    for n in 0..50_u8 {
        site.client.send(&[n; 40])?;
        site.server.send(&[n; 30])?;
    }
    let there = site.received()?;
    let back = all_from(&site.client)?;
    ensure!(
        there == (0..50).map(|n| vec![n; 40]).collect::<Vec<_>>(),
        "the server got {} datagrams",
        there.len()
    );
    ensure!(
        back == (0..50).map(|n| vec![n; 30]).collect::<Vec<_>>(),
        "the client got {} datagrams",
        back.len()
    );
    let log = site.node.stop()?;
    ensure!(log.counters.seen_packets == 100 && log.counters.passed_packets == 100, "{:?}", log.counters);
    ensure!(
        log.rows.iter().filter_map(|row| row.fingerprint).all(|print| print.checksum_valid == Some(true)),
        "a packet came without its checksums"
    );
    // IPv6 passes too.
    let site = Site::new(json!([]))?;
    let at = |name: &str, address: &str| -> Outcome<UdpSocket> {
        let address: IpAddr = address.parse()?;
        let socket = site.lab.network.node(name)?.enter(|| UdpSocket::bind((address, PORT)))?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        Ok(socket)
    };
    let (client, server) = (at("client", "fd00:1::1")?, at("server", "fd00:2::1")?);
    client.send_to(b"six", server.local_addr()?)?;
    let there = all_from(&server)?;
    ensure!(there == [b"six"], "over IPv6 the server got {there:?}");
    Ok("100 datagrams over IPv4, one over IPv6".into())
}

fn drops_and_duplicates() -> Finding {
    let rules = json!([
        {"id": "gone", "match": {"destination_port": PORT, "towards": "server", "nth": 2}, "do": {"action": "drop"}},
        {"id": "twice", "match": {"towards": "server", "bytes": [{"within": "payload", "offset": 0, "hex": "04"}]},
         "do": {"action": "duplicate"}},
    ]);
    let site = Site::new(rules)?;
    for n in 1..=5_u8 {
        site.client.send(&[n])?;
        site.server.send(&[n])?;
    }
    let there: Vec<u8> = site.received()?.concat();
    let back: Vec<u8> = all_from(&site.client)?.concat();
    ensure!(there == [1, 3, 4, 4, 5], "the server got {there:?}");
    ensure!(back == [1, 2, 3, 4, 5], "the client got {back:?}");
    Ok("the second is gone, the fourth came twice".into())
}

fn altered_packets() -> Finding {
    let mut got = Vec::new();
    for checksums in ["leave", "repair"] {
        let deed = json!({"action": "alter", "within": "payload", "at_bit": 7, "checksums": checksums});
        let site = Site::new(rule(json!({"towards": "server", "nth": 2}), deed))?;
        for _ in 0..3 {
            site.client.send(&[0, 0])?;
        }
        got.push(site.received()?);
        let log = site.node.stop()?;
        let right = checksums == "repair";
        let said =
            log.rows.iter().find(|row| row.event.how() == Some("altered")).and_then(|row| row.fingerprint);
        ensure!(said.and_then(|print| print.checksum_valid) == Some(right), "the log says {said:?}");
    }
    ensure!(got[0] == [[0, 0], [0, 0]], "without repair the socket got {:?}", got[0]);
    ensure!(got[1] == [[0, 0], [1, 0], [0, 0]], "with repair the socket got {:?}", got[1]);
    Ok("one bit: thrown away by the kernel, or received".into())
}

fn delays_are_exact() -> Finding {
    let site = Site::new(rule(json!({"nth": 2}), json!({"action": "delay", "delay_s": 4.0})))?;
    let mut buffer = [0; 10];
    for n in 1..=3_u8 {
        site.client.send(&[n])?;
    }
    let sent_ns = site.lab.clock.now_ns()?;
    let mut order = Vec::new();
    let mut last_ns = sent_ns;
    for _ in 0..3 {
        site.server.recv(&mut buffer)?;
        order.push(buffer[0]);
        last_ns = site.lab.clock.now_ns()?;
    }
    ensure!(order == [1, 3, 2], "they came as {order:?}");
    let late_s = (last_ns - sent_ns) as f64 / 1e9;
    ensure!((late_s - 4.0).abs() < 1e-4, "it came {late_s} s late");
    Ok(format!("4 s asked, {late_s:.6} s measured"))
}

fn reflected_packets() -> Finding {
    let site = Site::new(rule(json!({"towards": "server"}), json!({"action": "reflect"})))?;
    site.client.send(b"echo")?;
    let (there, back) = (site.received()?, all_from(&site.client)?);
    ensure!(there.is_empty() && back == [b"echo"], "the server got {there:?}, the client {back:?}");
    Ok("the client took it for an answer".into())
}

fn inserted_packets() -> Finding {
    let at_s = 2.0;
    let rules = json!([
        {"id": "remember", "match": {"nth": 1}, "do": {"action": "capture", "as": "first"}},
        {"id": "again", "match": {"nth": 3}, "do": {"action": "insert", "packet": {"captured": "first"}, "after_s": 0.5}},
        {"id": "forged", "match": {"at_s": at_s}, "do": {"action": "insert", "packet": {"made": "udp"}, "towards": "server",
         "set": {"source": "10.0.1.1", "destination": "10.0.2.1", "source_port": PORT, "destination_port": PORT,
                 "payload": "666f72676564"}}},
    ]);
    let site = Site::new(rules)?;
    for n in 1..=3_u8 {
        site.client.send(&[n])?;
    }
    let got = site.received()?;
    let expected: Vec<Vec<u8>> = vec![vec![1], vec![2], vec![3], vec![1], b"forged".to_vec()];
    ensure!(got == expected, "the server got {got:?}");
    Ok("a captured one half a second later, and one that nobody sent".into())
}

fn held_packets() -> Finding {
    let rules = json!([
        {"id": "keep", "match": {"nth": [1, 2]}, "do": {"action": "hold", "as": "q"}},
        {"id": "go", "match": {"nth": 2}, "do": {"action": "release", "from": "q", "order": "reversed"}},
    ]);
    let site = Site::new(rules)?;
    for n in 1..=5_u8 {
        site.client.send(&[n])?;
    }
    let got: Vec<u8> = site.received()?.concat();
    ensure!(got == [3, 4, 2, 1, 5], "they came as {got:?}");
    Ok("1 2 3 4 5 became 3 4 2 1 5".into())
}

fn packets_in_a_tunnel() -> Finding {
    let deed = json!({"action": "rewrite", "set": {"payload": "7365656e"}});
    let rules = rule(json!({"source": "10.0.1.0/24", "destination_port": PORT}), deed);
    let site = Site::of("rail-d34", ["rb", "rbsb"], ("tc1", "tsb1"), rules)?;
    site.client.send(b"inside GRE")?;
    let got = site.received()?;
    ensure!(got == [b"seen"], "the server got {got:?}");
    Ok("a payload was replaced inside GRE, lengths and checksums with it".into())
}

/// Less than the stream lasts on lines without a rate and a delay: its copies come while it is under way.
const COPIED_AFTER: Duration = Duration::from_micros(5);

fn a_stream() -> Finding {
    let rules = json!([
        {"id": "gone", "match": {"probability": 0.05}, "do": {"action": "drop"}},
        {"id": "bits", "match": {"probability": 0.05}, "do": {"action": "alter", "within": "transport", "bits": 3}},
        {"id": "twice", "match": {"probability": 0.05}, "do": {"action": "duplicate", "after_s": COPIED_AFTER.as_secs_f64()}},
    ]);
    let spec = spec(["east", "server"], rules)?;
    let lab = Lab::new(&NetworkSpec::preset("wire").with_in_path(std::slice::from_ref(&spec))?, 1)?;
    let node = start(&lab, &spec)?;
    let address = lab.network.node("server")?.address().ok_or("no address")?;
    let at = SocketAddr::new(address, PORT);
    let listener = lab.network.node("server")?.enter(|| TcpListener::bind(at))?;
    let sent: Vec<u8> = (0..200_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let data = sent.clone();
    let sender = lab
        .network
        .node("client")?
        .spawn("sender", move || -> std::io::Result<()> { TcpStream::connect(at)?.write_all(&data) })?;
    let mut received = Vec::new();
    listener.accept()?.0.read_to_end(&mut received)?;
    sender.join().map_err(|_| "the sender panicked")??;
    ensure!(received == sent, "the stream arrived with {} bytes, or others", received.len());
    // Of the last packets too.
    lab.settle(2.0 * COPIED_AFTER.as_secs_f64())?;
    let log = node.stop()?;
    let counters = &log.counters;
    ensure!(
        counters.dropped_packets > 0 && counters.altered_packets > 0 && counters.copied_packets > 0,
        "{counters:?}"
    );
    ensure!(
        emitted(&log) as u64 == counters.passed_packets + counters.altered_packets + counters.copied_packets,
        "the log and its counters differ"
    );
    Ok(format!(
        "{} of {} packets dropped or altered",
        counters.dropped_packets + counters.altered_packets,
        counters.seen_packets
    ))
}

fn too_long() -> Finding {
    let payload = "00".repeat(2000);
    let site = Site::new(rule(json!({"nth": 1}), json!({"action": "rewrite", "set": {"payload": payload}})))?;
    site.client.send(b"grows")?;
    let got = site.received()?;
    let log = site.node.stop()?;
    ensure!(got.is_empty() && log.counters.refused_packets == 1, "{got:?}, {:?}", log.counters);
    Ok("2,028 bytes on a link of 1,500 are refused and counted".into())
}

fn bursts() -> Finding {
    let site = Site::new(json!([]))?;
    for n in 0..5000_u32 {
        site.client.send(&[n.to_le_bytes().to_vec(), vec![0; 1200]].concat())?;
    }
    let log = site.node.stop()?;
    ensure!(log.counters.seen_packets == 5000 && log.counters.missed_packets == 0, "{:?}", log.counters);
    Ok("5,000 packets at one instant, none missed".into())
}
