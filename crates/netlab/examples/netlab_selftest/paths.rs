//! Where packets go: routes, tunnels, switches, MTUs, offloads, IPv6, settings.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;

use netlab::{
    AddressSpec, BuildOptions, Capture, CaptureOptions, LinkChange, LinkSpec, Network, NetworkSpec, NodeSpec,
    RouteChange, RouteSpec, Timeline, sysctl,
};

use crate::check::{Check, Finding, ensure};
use crate::traffic::{Lab, Outcome, arrivals};

pub const CHECKS: &[Check] = &[
    ("rail-d34 packets take the computed paths", packets_take_the_computed_paths),
    ("rail-d34 no packet exceeds its link's MTU", no_packet_exceeds_the_mtu),
    ("rail-d34 1448-byte datagrams fit exactly", datagrams_fit_exactly),
    ("wire carries IPv6", wire_carries_ipv6),
    ("switch-to-switch Ethernet", two_switches),
    ("settings reach every node", settings_reach_every_node),
    ("routes change at their instants", routes_change_at_their_instants),
];

/// Moves `bytes` over TCP from one node to another.
pub fn transfer(network: &Network, from: &str, to: &str, bytes: usize) -> Outcome<()> {
    let receiver = network.node(to)?;
    let address = SocketAddr::new(receiver.address().ok_or("no address")?, 5000);
    let listener = receiver.enter(|| TcpListener::bind(address))?;
    let receiving = receiver.spawn("receiver", move || -> std::io::Result<usize> {
        let (mut stream, _) = listener.accept()?;
        let mut data = Vec::new();
        stream.read_to_end(&mut data)
    })?;
    let mut stream = network.node(from)?.enter(|| TcpStream::connect(address))?;
    stream.write_all(&vec![7; bytes])?;
    drop(stream);
    let received = receiving.join().map_err(|_| "the receiver panicked")??;
    ensure!(received == bytes, "{received} of {bytes} bytes arrived");
    Ok(())
}

/// A rail network on which a TCP transfer ran, with all packets of all link directions.
fn rail_transfer(from: &str, to: &str) -> Outcome<(Lab, Vec<String>, netlab::Captured)> {
    let spec = netlab::presets::get("rail-d34")?;
    let lab = Lab::new(&spec, 3)?;
    lab.change("rasa>ra", LinkChange { rate_bps: Some(Some(20e6)), ..Default::default() })?;
    lab.change("ra>rabc", LinkChange { delay_s: Some(0.01), ..Default::default() })?;
    let directions = spec.links.iter().flat_map(|l| [format!("{}>{}", l.a, l.b), format!("{}>{}", l.b, l.a)]);
    let taps: Vec<String> = directions.collect();
    let options = CaptureOptions { taps: taps.clone(), keep: taps.clone(), ..Default::default() };
    let capture = Capture::start(&lab.network, lab.clock, &options)?;
    transfer(&lab.network, from, to, 2_000_000)?;
    lab.settle(1.0)?;
    let captured = capture.stop()?;
    Ok((lab, taps, captured))
}

fn packets_take_the_computed_paths() -> Finding {
    let mut hops = Vec::new();
    for (from, to) in [("tc1", "tsb1"), ("tc2", "tsc1"), ("tc1", "tc2")] {
        let (lab, taps, captured) = rail_transfer(from, to)?;
        let computed = [lab.network.path(from, to)?, lab.network.path(to, from)?].concat();
        for tap in taps {
            let count = captured.records(&tap).ok_or("not kept")?.len();
            let on_path = computed.contains(&tap);
            ensure!(
                on_path == (count > 0),
                "{from} to {to}: {count} packets on {tap}, computed path {computed:?}"
            );
        }
        hops.push(computed.len().to_string());
    }
    Ok(format!("{} link directions, and nothing anywhere else", hops.join(", ")))
}

fn no_packet_exceeds_the_mtu() -> Finding {
    let (_lab, taps, captured) = rail_transfer("tc1", "tsb1")?;
    let longest = |tap: &str| {
        captured.records(tap).and_then(|records| records.iter().map(|p| p.length_bytes).max()).unwrap_or(0)
    };
    for tap in &taps {
        ensure!(longest(tap) <= 1500, "a packet of {} bytes on {tap}", longest(tap));
    }
    for (tap, expected) in
        [("tc1>sa", 1476), ("sa>rasa", 1476), ("rasa>ra", 1500), ("rb>rbsb", 1500), ("sb>tsb1", 1476)]
    {
        ensure!(
            longest(tap) == expected,
            "the longest packet on {tap} has {} bytes, not {expected}",
            longest(tap)
        );
    }
    Ok("1476 bytes on the LANs, 1500 between the tunnels' ends".into())
}

fn datagrams_fit_exactly() -> Finding {
    let lab = Lab::new(&NetworkSpec::preset("rail-d34"), 3)?;
    let capture = lab.capture(&["tc1>sa", "sb>tsb1"])?;
    lab.send("tc1", "tsb1", 1476, 1, 0)?;
    lab.send("tc1", "tsb1", 1477, 1, 0)?;
    lab.settle(0.1)?;
    let captured = capture.stop()?;
    for tap in ["tc1>sa", "sb>tsb1"] {
        let lengths: Vec<u32> =
            captured.records(tap).ok_or("not kept")?.iter().map(|p| p.length_bytes).collect();
        ensure!(lengths == [1476, 1476, 21], "{tap} saw packets of {lengths:?} bytes");
    }
    Ok("1448 bytes pass whole, 1449 are cut by the host".into())
}

fn wire_carries_ipv6() -> Finding {
    let lab = Lab::wire(1)?;
    lab.change("west>mid", LinkChange { rate_bps: Some(Some(1e6)), ..Default::default() })?;
    lab.change("mid>east", LinkChange { delay_s: Some(0.02), ..Default::default() })?;
    let taps = ["client>west", "west>mid", "mid>east", "east>server"];
    let capture = lab.capture(&taps)?;
    let receiver = lab.network.node("server")?.enter(|| UdpSocket::bind("[fd00:2::1]:6000"))?;
    let sender = lab.network.node("client")?.enter(|| {
        let socket = UdpSocket::bind("[fd00:1::1]:0")?;
        socket.connect("[fd00:2::1]:6000")?;
        Ok::<_, std::io::Error>(socket)
    })?;
    for _ in 0..10 {
        sender.send(&[1; 1452])?;
    }
    receiver.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    for _ in 0..10 {
        let length = receiver.recv(&mut [0; 2000])?;
        ensure!(length == 1452, "{length} bytes arrived");
    }
    let captured = capture.stop()?;
    for tap in taps {
        let lengths: Vec<u32> =
            captured.records(tap).ok_or("not kept")?.iter().map(|p| p.length_bytes).collect();
        ensure!(lengths == [1500; 10], "{tap} saw packets of {lengths:?} bytes");
    }
    Ok("10 packets of 1500 bytes, and no other packet at any tap".into())
}

fn two_switches() -> Finding {
    let node = |name: &str, switch| NodeSpec { name: name.into(), switch, in_path: false };
    let link = |a: &str, b: &str| LinkSpec { a: a.into(), b: b.into(), mtu_bytes: 1500 };
    let address = |node: &str, link: &str, address: &str| AddressSpec {
        node: node.into(),
        link: link.into(),
        address: address.into(),
    };
    let spec = NetworkSpec {
        nodes: vec![
            node("a", false),
            node("bystander", false),
            node("a-switch-with-a-long-name", true),
            node("s2", true),
            node("b", false),
        ],
        links: vec![
            link("a", "a-switch-with-a-long-name"),
            link("bystander", "a-switch-with-a-long-name"),
            link("s2", "a-switch-with-a-long-name"),
            link("s2", "b"),
        ],
        addresses: vec![
            address("a", "a-switch-with-a-long-name", "192.168.0.1/24"),
            address("bystander", "a-switch-with-a-long-name", "192.168.0.3/24"),
            address("b", "s2", "192.168.0.2/24"),
        ],
        ..NetworkSpec::default()
    };
    let lab = Lab::new(&spec, 1)?;
    let aside = "a-switch-with-a-long-name>bystander";
    let capture = lab.capture(&["s2>b", aside])?;
    transfer(&lab.network, "a", "b", 100_000)?;
    let captured = capture.stop()?;
    ensure!(captured.records("s2>b").is_some_and(|r| r.len() > 60), "too few packets at the receiver");
    ensure!(captured.records(aside).is_some_and(|r| r.is_empty()), "the switch flooded packets");
    Ok("packets reach their receiver and nobody else".into())
}

fn settings_reach_every_node() -> Finding {
    let sysctls = [("net.ipv4.tcp_rmem", "4096\t131072\t6291456"), ("net.core.rmem_max", "7000000")];
    let asked = sysctls.map(|(n, v)| (n.into(), v.into())).into();
    let options = BuildOptions { seed: 1, sysctls: asked, ..Default::default() };
    let network = Network::build(&NetworkSpec::preset("wire"), &options)?;
    for name in ["client", "mid", "server"] {
        let value =
            network.node(name)?.enter(|| sysctl::read("net.ipv4.tcp_rmem").map_err(std::io::Error::other))?;
        ensure!(value == sysctls[0].1, "{name} has {value:?}");
    }
    let global = sysctl::read("net.core.rmem_max")?;
    ensure!(global == "7000000", "net.core.rmem_max is {global}");
    drop(network);
    for (name, value) in
        [("net.ipv4.no_such_thing", "1"), ("net.ipv4.tcp_sack", "perhaps"), ("kernel/../x", "1")]
    {
        let sysctls = [(name.into(), value.into())].into();
        let options = BuildOptions { seed: 1, sysctls, ..Default::default() };
        let Err(refusal) = Network::build(&NetworkSpec::preset("wire"), &options) else {
            return Err(format!("{name} = {value} was taken").into());
        };
        ensure!(refusal.is_users_mistake() && refusal.to_string().contains(name), "{name}: {refusal}");
    }
    Ok("in every node, once for the kernel, and refused when unknown".into())
}

/// `a` - `n`, then by `x` or by `y` to `b`.
fn two_ways() -> NetworkSpec {
    let links = [("a", "n"), ("n", "x"), ("n", "y"), ("x", "b"), ("y", "b")];
    let address = |number: usize, last: u8, node: &str, link: &str| AddressSpec {
        node: node.into(),
        link: link.into(),
        address: format!("10.{number}.0.{last}/24"),
    };
    let route = |node: &str, to: &str, via: &str| RouteSpec {
        node: node.into(),
        to: to.into(),
        via: Some(via.into()),
        tunnel: None,
    };
    NetworkSpec {
        nodes: ["a", "n", "x", "y", "b"]
            .map(|name| NodeSpec { name: name.into(), switch: false, in_path: false })
            .into(),
        links: links.map(|(a, b)| LinkSpec { a: a.into(), b: b.into(), mtu_bytes: 1500 }).into(),
        addresses: links
            .iter()
            .enumerate()
            .flat_map(|(number, (a, b))| [address(number, 1, a, b), address(number, 2, b, a)])
            .collect(),
        routes: vec![
            route("a", "default", "10.0.0.2"),
            route("n", "10.3.0.0/24", "10.1.0.2"),
            route("y", "10.3.0.0/24", "10.4.0.2"),
        ],
        ..NetworkSpec::default()
    }
}

fn routes_change_at_their_instants() -> Finding {
    let lab = Lab::new(&two_ways(), 1)?;
    let begin_s = (lab.clock.now_ns()? / 10_000_000 + 5) as f64 / 100.0;
    let change = |after_s: f64, via: Option<&str>| RouteChange {
        at_s: begin_s + after_s,
        node: "n".into(),
        to: "10.3.0.0/24".into(),
        via: via.map(Into::into),
    };
    let changes =
        vec![change(0.2505, Some("10.2.0.2")), change(0.4505, None), change(0.6505, Some("10.1.0.2"))];
    let player = Timeline::start(Arc::clone(&lab.network), lab.clock, Vec::new(), changes)?;
    let capture = lab.capture(&["a>n", "n>x", "n>y", "x>b", "y>b"])?;
    lab.send("a", "b", 200, 1000, 1_000_000)?;
    lab.settle(0.5)?;
    let made = player.stop()?.routes;
    let captured = capture.stop()?;
    ensure!(made.len() == 3, "{} of 3 changes were made", made.len());
    let mut worst_s: f64 = 0.0;
    for (made, after_s) in made.iter().zip([0.2505, 0.4505, 0.6505]) {
        worst_s = worst_s.max((made.at_s - begin_s - after_s).abs());
    }
    ensure!(worst_s < 2e-6, "a change came {worst_s} s off its time");
    let at_s = |tap: &str| -> Outcome<Vec<f64>> {
        Ok(arrivals(&captured, tap)?.iter().map(|it| it.t_ns as f64 / 1e9 - begin_s).collect())
    };
    let (sent, by_x, by_y) = (at_s("a>n")?, at_s("n>x")?, at_s("n>y")?);
    let within = |after_s: f64, from_s: f64, to_s: f64| after_s > from_s && after_s < to_s;
    let turned = |after_s: f64| within(after_s, 0.2505, 0.4505);
    let nowhere = |after_s: f64| within(after_s, 0.4505, 0.6505);
    ensure!(by_y.iter().all(|it| turned(*it)), "a packet took the new way too early or too late");
    ensure!(by_x.iter().all(|it| !turned(*it) && !nowhere(*it)), "a packet took the old way too late");
    let lost = sent.iter().filter(|it| nowhere(**it)).count();
    ensure!(by_x.len() + by_y.len() + lost == sent.len(), "packets are missing");
    ensure!(by_y.len() == 200 && lost == 200, "{} took the new way, {lost} found none", by_y.len());
    ensure!(at_s("y>b")?.len() == 200, "not all of the new way arrived");
    Ok(format!("200 packets went round, 200 nowhere, {} as before", by_x.len()))
}
