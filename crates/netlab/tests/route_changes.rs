//! Changes of routes: what is refused, and which tap follows which while they are made.

use std::collections::BTreeSet;
use std::path::Path;

use netlab::{Hop, LinkChange, NetworkSpec, RouteChange, Topology};
use serde_json::{Value, json};

/// The plan of the contract: `a` - `n`, then by `x` or by `y` to `b`.
fn plan() -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/plans/route-changes.json");
    let text = std::fs::read_to_string(file).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["runs"][0].take()
}

fn network() -> Topology {
    let spec: NetworkSpec = serde_json::from_value(plan()["network"].clone()).unwrap();
    spec.resolve().unwrap()
}

fn changes(entries: Value) -> Result<Vec<RouteChange>, String> {
    serde_json::from_value(entries).map_err(|e| e.to_string())
}

fn check(entries: Value) -> Result<(), String> {
    network().check_route_changes(&changes(entries)?, &[("a", "b")]).map_err(|e| e.to_string())
}

#[test]
fn the_plan_of_the_contract_is_taken() {
    check(plan()["route_changes"].clone()).unwrap();
    check(json!([{"at_s": 1, "node": "a", "to": "default", "via": null}])).unwrap();
}

#[test]
fn a_change_that_makes_no_sense_is_refused() {
    let at = |at_s: f64, node: &str, to: &str, via: &str| json!({"at_s": at_s, "node": node, "to": to, "via": via});
    let turns = at(5.0, "n", "10.3.0.2", "10.2.0.2");
    for (part, entries) in [
        ("there is no node \"z\"", json!([at(5.0, "z", "10.3.0.2", "10.2.0.2")])),
        ("lies in none of the node's own prefixes", json!([at(5.0, "n", "10.3.0.2", "10.4.0.2")])),
        ("no node has the next hop's address", json!([at(5.0, "n", "10.3.0.2", "10.2.0.9")])),
        ("is not an IP address", json!([at(5.0, "n", "10.3.0.2", "y")])),
        ("neither a prefix", json!([at(5.0, "n", "everywhere", "10.2.0.2")])),
        ("the node is in this prefix itself", json!([at(5.0, "n", "10.1.0.0/24", "10.2.0.2")])),
        ("at_s must be a number of seconds from 0 on", json!([at(-1.0, "n", "10.3.0.2", "10.2.0.2")])),
        ("sort the route changes by at_s", json!([turns, at(4.0, "n", "10.3.0.2", "10.1.0.2")])),
        ("it is there twice", json!([turns, at(5.0, "n", "10.3.0.2/32", "10.1.0.2")])),
        ("missing field `via`", json!([{"at_s": 5.0, "node": "n", "to": "10.3.0.2"}])),
        (
            "unknown field `tunnel`",
            json!([{"at_s": 5.0, "node": "n", "to": "10.3.0.2", "via": null, "tunnel": "t"}]),
        ),
        ("in a circle", json!([turns, at(6.0, "y", "10.3.0.2", "10.2.0.1")])),
    ] {
        let refusal = check(entries).expect_err(part);
        assert!(refusal.contains(part), "{refusal:?} does not say {part:?}");
        assert!(!refusal.contains('\n'), "{refusal:?} is more than a sentence");
    }
}

fn hops(entries: Value, taps: &[&str]) -> Vec<Hop> {
    let network = network();
    let way = network.first_way("a", "b").unwrap();
    let taps: Vec<String> = taps.iter().map(|tap| (*tap).into()).collect();
    let all = network.hops([&way], &changes(entries).unwrap(), &taps).unwrap();
    all.into_iter().filter(|hop| hop.source == way.source).collect()
}

#[test]
fn a_tap_leads_to_the_next_hop_of_the_moment() {
    let found = hops(plan()["route_changes"].clone(), &["a>n", "n>x", "n>y", "x>b", "y>b"]);
    let during = |tap: &str, next: &str| {
        found
            .iter()
            .find(|hop| (hop.tap.as_str(), hop.next.as_str()) == (tap, next))
            .unwrap()
            .during_s
            .clone()
    };
    assert_eq!(during("a>n", "n>x"), [(0.0, Some(5.0)), (9.5, None)]);
    assert_eq!(during("a>n", "n>y"), [(5.0, Some(9.0))]);
    // What is under way when routes change goes on by what the router knows at which it then is.
    assert_eq!(during("n>x", "x>b"), [(0.0, None)]);
    assert_eq!(during("n>y", "y>b"), [(0.0, None)]);
    assert_eq!(found.len(), 4);
}

#[test]
fn every_link_is_tapped_that_packets_may_come_to() {
    let network = network();
    let timeline: Vec<LinkChange> = serde_json::from_value(plan()["timeline"].clone()).unwrap();
    let routes = changes(plan()["route_changes"].clone()).unwrap();
    let way = network.first_way("a", "b").unwrap();
    let mut taps = network.default_taps(&[("a", "b")], &timeline).unwrap();
    let pinned = taps.clone();
    assert!(!pinned.contains(&"n>y".into()));
    network.add_taps_of_changed([&way], (&timeline, &[]), &mut taps).unwrap();
    assert_eq!(taps, pinned, "nothing is added where no route changes");
    network.add_taps_of_changed([&way], (&timeline, &routes), &mut taps).unwrap();
    assert_eq!(taps[..pinned.len()], pinned);
    assert_eq!(BTreeSet::from_iter(&taps[pinned.len()..]), BTreeSet::from([&"n>y".into(), &"y>b".into()]));
    assert_eq!(network.last_links("a", "b", &routes).unwrap().len(), 2);
    assert_eq!(network.last_links("a", "b", &[]).unwrap().len(), 1);
}
