//! Paths, taps and addresses, computed from the description alone.

use netlab::{LinkChange, LinkSpec, NetworkSpec, presets};

fn rail() -> netlab::Topology {
    NetworkSpec::preset("rail-d34").resolve().unwrap()
}

#[test]
fn a_path_follows_tunnels_and_switches() {
    let rail = rail();
    assert_eq!(
        rail.path("tc1", "tsb1").unwrap(),
        ["tc1>sa", "sa>rasa", "rasa>ra", "ra>rabc", "rabc>rb", "rb>rbsb", "rbsb>sb", "sb>tsb1"]
    );
    assert_eq!(
        rail.path("tsc1", "tc2").unwrap(),
        ["tsc1>sc", "sc>rcsc", "rcsc>rc", "rc>rabc", "rabc>ra", "ra>rasa", "rasa>sa", "sa>tc2"]
    );
    assert_eq!(rail.path("tc1", "tc2").unwrap(), ["tc1>sa", "sa>tc2"]);
    assert!(rail.path("tc1", "tc1").unwrap().is_empty());
}

#[test]
fn a_node_is_reached_by_its_first_address() {
    let rail = rail();
    assert_eq!(rail.address_of("tsb1").unwrap().to_string(), "10.0.2.1");
    let message = rail.address_of("sa").unwrap_err().to_string();
    assert!(message.contains("\"sa\" has no IP address"), "{message}");
}

#[test]
fn the_certificate_taps_what_enters_and_leaves_each_impairment() {
    let on = |link: &str| LinkChange { link: link.into(), ..Default::default() };
    let timeline = ["rasa>ra", "ra>rabc", "rabc>rb", "rabc>rc", "rbsb>rb", "rb>rabc", "rabc>ra"].map(on);
    let rail = rail();
    let taps = rail.default_taps(&[("tc1", "tsb1")], &timeline).unwrap();
    // The example of docs/formats/record.md.
    let forward = ["sa>rasa", "rasa>ra", "ra>rabc", "rabc>rb", "sb>tsb1"];
    let back = ["sb>rbsb", "rbsb>rb", "rb>rabc", "rabc>ra", "sa>tc1"];
    assert_eq!(taps, [forward, back].concat());
    assert_eq!(rail.tapped_path("tc1", "tsb1", &taps).unwrap(), forward);
    assert_eq!(rail.tapped_path("tsb1", "tc1", &taps).unwrap(), back);
    // A second flow adds what only it passes.
    let both = rail.default_taps(&[("tc1", "tsb1"), ("tc1", "tsc1")], &timeline).unwrap();
    assert_eq!(both[..10], taps);
    assert_eq!(both[10..], ["rabc>rc", "sc>tsc1", "rc>rabc"]);
}

#[test]
fn hosts_with_two_addresses_have_a_way_through_either_tunnel() {
    let dual = NetworkSpec::preset("rail-d34-dual").resolve().unwrap();
    let text = |ip: std::net::IpAddr| ip.to_string();
    assert_eq!(text(dual.address_of("ts").unwrap()), "10.0.2.2");
    for (host, first, second) in [("tc1", "10.0.1.1", "10.0.4.1"), ("tc2", "10.0.1.2", "10.0.4.2")] {
        assert_eq!(text(dual.address_of(host).unwrap()), first);
        let up = dual.further_ways(host, "ts").unwrap();
        let down = dual.further_ways("ts", host).unwrap();
        assert_eq!(up.len(), 1);
        assert_eq!((text(up[0].source), text(up[0].destination)), (second.into(), "10.0.3.2".into()));
        assert!(up[0].forward.contains(&"rabc>rc".into()) && up[0].back.contains(&"rc>rabc".into()));
        assert!(dual.path(host, "ts").unwrap().contains(&"rabc>rb".into()));
        // The same pair of addresses and the same links the other way round.
        assert_eq!((down[0].source, down[0].destination), (up[0].destination, up[0].source));
        assert_eq!((&down[0].forward, &down[0].back), (&up[0].back, &up[0].forward));
    }
    assert!(rail().further_ways("tc1", "tsb1").unwrap().is_empty());
    // What the two networks share is the same.
    for (from, to) in [("tc1", "tsb1"), ("tsc1", "tc2")] {
        assert_eq!(dual.path(from, to).unwrap(), rail().path(from, to).unwrap());
    }
}

#[test]
fn two_lines_share_no_link() {
    let dual = NetworkSpec::preset("wire-dual").resolve().unwrap();
    let [way] = &dual.further_ways("client", "server").unwrap()[..] else { panic!("one further way") };
    let text = |ip: std::net::IpAddr| ip.to_string();
    assert_eq!((text(way.source), text(way.destination)), ("10.0.3.1".into(), "10.0.4.1".into()));
    let wire = NetworkSpec::preset("wire").resolve().unwrap();
    for (from, to, second) in [("client", "server", &way.forward), ("server", "client", &way.back)] {
        let first = dual.path(from, to).unwrap();
        assert_eq!(first, wire.path(from, to).unwrap());
        assert_eq!(second.len(), first.len());
        assert!(second.iter().all(|link| !first.contains(link) && link.contains('2')), "{second:?}");
    }
}

#[test]
fn taps_of_the_second_way_come_after_those_of_the_first() {
    let on = |link: &str| LinkChange { link: link.into(), ..Default::default() };
    let timeline = ["rasa>ra", "ra>rabc", "rabc>rb", "rabc>rc", "rabc>ra"].map(on);
    let dual = NetworkSpec::preset("rail-d34-dual").resolve().unwrap();
    let mut taps = dual.default_taps(&[("tc1", "ts")], &timeline).unwrap();
    let first = taps.clone();
    dual.add_taps_of(&dual.further_ways("tc1", "ts").unwrap(), &timeline, &mut taps).unwrap();
    assert_eq!(taps[..first.len()], first);
    assert_eq!(taps[first.len()..], ["rabc>rc", "sc>ts", "rc>rabc"]);
}

#[test]
fn a_missing_route_a_circle_and_a_missing_neighbour_are_named() {
    let without = |node: &str, to: &str| {
        let mut spec = presets::get("wire").unwrap();
        let before = spec.routes.len();
        spec.routes.retain(|route| !(route.node == node && route.to == to));
        assert_eq!(spec.routes.len(), before - 1);
        spec
    };
    let fails =
        |spec: &NetworkSpec| spec.resolve().unwrap().path("client", "server").unwrap_err().to_string();
    assert_eq!(fails(&without("mid", "10.0.2.0/24")), "node \"mid\" has no route to 10.0.2.1");

    let mut circle = without("mid", "10.0.2.0/24");
    let back = circle.routes.iter_mut().find(|r| r.node == "mid" && r.to == "10.0.1.0/24").unwrap();
    back.to = "default".into();
    assert!(fails(&circle).contains("lead in a circle"), "{}", fails(&circle));

    let mut gone = presets::get("wire").unwrap();
    gone.nodes.push(netlab::NodeSpec { name: "x".into(), switch: false, in_path: false });
    gone.links.push(LinkSpec { a: "x".into(), b: "client".into(), mtu_bytes: 1500 });
    gone.addresses.push(netlab::AddressSpec {
        node: "x".into(),
        link: "client".into(),
        address: "10.0.2.9/24".into(),
    });
    let message = gone.resolve().unwrap().path("client", "x").unwrap_err().to_string();
    assert!(message.contains("expects 10.0.2.9 behind its interface to-server"), "{message}");
}
