//! Network descriptions: what is taken, what is refused and in which words, and the JSON of a plan.

use netlab::{LinkChange, NetworkSpec, Topology, presets};
use serde_json::{Value, json};

/// Two hosts and a router between them; `change` is made to its JSON first.
fn resolve_with(change: impl FnOnce(&mut Value)) -> Result<Topology, String> {
    let mut network = json!({
        "nodes": [{"name": "a"}, {"name": "r"}, {"name": "b"}],
        "links": [{"a": "a", "b": "r"}, {"a": "r", "b": "b", "mtu_bytes": 1400}],
        "addresses": [
            {"node": "a", "link": "r", "address": "10.0.0.1/24"},
            {"node": "r", "link": "a", "address": "10.0.0.2/24"},
            {"node": "r", "link": "b", "address": "10.0.1.2/24"},
            {"node": "b", "link": "r", "address": "10.0.1.1/24"}
        ],
        "routes": [
            {"node": "a", "to": "default", "via": "10.0.0.2"},
            {"node": "b", "to": "10.0.0.0/24", "via": "10.0.1.2"}
        ],
        "tunnels": [{"name": "gre1", "a": "a", "b": "b", "a_outer": "10.0.0.1", "b_outer": "10.0.1.1",
                     "a_inner": "10.9.0.1/30", "b_inner": "10.9.0.2/30"}]
    });
    change(&mut network);
    let spec: NetworkSpec = serde_json::from_value(network).map_err(|e| e.to_string())?;
    spec.resolve().map_err(|e| e.to_string())
}

fn push(list: &'static str, entry: Value) -> impl FnOnce(&mut Value) {
    move |network| network[list].as_array_mut().expect("a list").push(entry)
}

#[test]
fn the_example_is_sound() {
    assert!(resolve_with(|_| ()).is_ok());
}

#[test]
fn every_mistake_has_its_own_sentence() {
    type Change = Box<dyn FnOnce(&mut Value)>;
    let mistakes: Vec<(&str, Change)> = vec![
        ("the node \"a\" is there twice", Box::new(push("nodes", json!({"name": "a"})))),
        ("\"a>b\" cannot be a node's name", Box::new(push("nodes", json!({"name": "a>b"})))),
        ("there are no nodes", Box::new(|n| n["nodes"] = json!([]))),
        ("no node \"x\"; the nodes are a, r, b", Box::new(push("links", json!({"a": "a", "b": "x"})))),
        ("it is there twice; at most one link", Box::new(push("links", json!({"a": "r", "b": "a"})))),
        ("both ends are the same node", Box::new(push("links", json!({"a": "r", "b": "r"})))),
        ("mtu_bytes is 20", Box::new(|n| n["links"][0]["mtu_bytes"] = json!(20))),
        ("unknown field `mtu`", Box::new(push("links", json!({"a": "a", "b": "b", "mtu": 1500})))),
        (
            "not an address with a prefix length",
            Box::new(|n| n["addresses"][0]["address"] = json!("10.0.0.1")),
        ),
        ("no link joins \"a\" to \"b\"", Box::new(|n| n["addresses"][0]["link"] = json!("b"))),
        ("the address is there twice", Box::new(|n| n["addresses"][0]["address"] = json!("10.0.0.2/24"))),
        ("the node is a switch, which has no IP", Box::new(|n| n["nodes"][1]["switch"] = json!(true))),
        ("exactly one of \"via\" and \"tunnel\"", Box::new(|n| n["routes"][0]["tunnel"] = json!("gre1"))),
        (
            "exactly one of \"via\" and \"tunnel\"",
            Box::new(push("routes", json!({"node": "a", "to": "1.0.0.0/8"}))),
        ),
        ("lies in none of the node's own prefixes", Box::new(|n| n["routes"][0]["via"] = json!("10.0.1.2"))),
        ("no node has the next hop's address", Box::new(|n| n["routes"][0]["via"] = json!("10.0.0.77"))),
        ("of the other IP version", Box::new(|n| n["routes"][0]["to"] = json!("fd00::/64"))),
        (
            "the route is there twice",
            Box::new(push("routes", json!({"node": "a", "to": "0.0.0.0/0", "via": "10.0.0.2"}))),
        ),
        (
            "there is no tunnel \"gre2\"",
            Box::new(push("routes", json!({"node": "a", "to": "10.7.0.0/16", "tunnel": "gre2"}))),
        ),
        (
            "does not end at this node",
            Box::new(push("routes", json!({"node": "r", "to": "10.7.0.0/16", "tunnel": "gre1"}))),
        ),
        ("\"a\" has no address 10.0.1.1", Box::new(|n| n["tunnels"][0]["a_outer"] = json!("10.0.1.1"))),
        ("must have 1 to 15 letters", Box::new(|n| n["tunnels"][0]["name"] = json!("a-name-of-16-chr"))),
        ("stands beside nodes", Box::new(|n| n["preset"] = json!("wire"))),
    ];
    for (part, change) in mistakes {
        let message = resolve_with(change).err().unwrap_or_else(|| panic!("taken: {part}"));
        assert!(message.contains(part), "expected \"{part}\" in: {message}");
        assert!(!message.contains('\n'), "one sentence: {message}");
    }
}

#[test]
fn an_unknown_preset_is_answered_with_the_known_ones() {
    let message = NetworkSpec::preset("rail").validate().unwrap_err().to_string();
    assert_eq!(
        message,
        "network: there is no preset \"rail\"; the presets are rail-d34, rail-d34-dual, wire, wire-dual"
    );
}

#[test]
fn all_presets_are_sound_and_come_back_from_json() {
    for name in presets::names() {
        NetworkSpec::preset(name).validate().unwrap();
        let written_out = presets::get(name).unwrap();
        let text = serde_json::to_string(&written_out).unwrap();
        assert_eq!(serde_json::from_str::<NetworkSpec>(&text).unwrap(), written_out);
    }
}

fn check(entries: Value) -> Result<(), String> {
    let timeline: Vec<LinkChange> = serde_json::from_value(entries).map_err(|e| e.to_string())?;
    let topology = NetworkSpec::preset("wire").resolve().expect("a sound preset");
    topology.check_timeline(&timeline).map_err(|e| e.to_string())
}

#[test]
fn a_sound_timeline_is_taken() {
    check(json!([
        {"at_s": 0.0, "link": "west>mid", "rate_bps": 1730000, "burst_bytes": 1580, "queue_limit_bytes": 512000},
        {"at_s": 0.0, "link": "mid>east", "delay_s": 0.0144, "loss": 0.01},
        {"at_s": 1.0, "link": "mid>east", "loss": 0, "gilbert_elliott":
            {"p": 0.1, "r": 0.2, "loss_bad": 1.0, "loss_good": 0.0}},
        {"at_s": 2.5, "link": "mid>east", "gilbert_elliott": null, "up": false},
        {"at_s": 2.5, "link": "west>mid", "rate_bps": null}
    ]))
    .unwrap();
}

#[test]
fn a_timeline_that_makes_no_sense_is_refused() {
    let rate = json!({"at_s": 0, "link": "west>mid", "rate_bps": 1e6});
    for (part, entries) in [
        (
            "no link joins these nodes; \"west\" is joined to client, mid",
            json!([
            {"at_s": 0, "link": "west>east", "loss": 0}]),
        ),
        ("write it as \"a>b\"", json!([{"at_s": 0, "link": "west", "loss": 0}])),
        (
            "sort the timeline by at_s",
            json!([
            {"at_s": 2, "link": "mid>east", "loss": 0}, {"at_s": 1, "link": "mid>east", "loss": 0}]),
        ),
        ("at_s must be a number of seconds from 0 on", json!([{"at_s": -1, "link": "mid>east", "loss": 0}])),
        ("nothing is changed", json!([{"at_s": 0, "link": "mid>east"}])),
        (
            "cannot stand on the same link direction",
            json!([
            {"at_s": 0, "link": "west>mid", "rate_bps": 1e6, "delay_s": 0.1}]),
        ),
        (
            "cannot stand on the same link direction",
            json!([
            rate, {"at_s": 1, "link": "west>mid", "delay_s": 0.1}]),
        ),
        ("rate_bps is -5", json!([{"at_s": 0, "link": "west>mid", "rate_bps": -5}])),
        ("rate_bps is 0;", json!([{"at_s": 0, "link": "west>mid", "rate_bps": 0}])),
        (
            "burst_bytes is 1000; with less than the link's MTU (1500 bytes)",
            json!([
            {"at_s": 0, "link": "west>mid", "burst_bytes": 1000}]),
        ),
        (
            "loss is 1.5; a probability lies between 0 and 1",
            json!([
            {"at_s": 0, "link": "mid>east", "loss": 1.5}]),
        ),
        ("corrupt is -0.1", json!([{"at_s": 0, "link": "mid>east", "corrupt": -0.1}])),
        (
            "gilbert_elliott.r is 2",
            json!([{"at_s": 0, "link": "mid>east", "gilbert_elliott":
            {"p": 0.1, "r": 2, "loss_bad": 1.0, "loss_good": 0.0}}]),
        ),
        (
            "loss and gilbert_elliott are both set",
            json!([
            {"at_s": 0, "link": "mid>east", "loss": 0.1},
            {"at_s": 1, "link": "mid>east", "gilbert_elliott":
                {"p": 0.1, "r": 0.2, "loss_bad": 1.0, "loss_good": 0.0}}]),
        ),
        ("delay_s is -0.001", json!([{"at_s": 0, "link": "mid>east", "delay_s": -0.001}])),
        ("jitter_s is 3", json!([{"at_s": 0, "link": "mid>east", "jitter_s": 3}])),
        ("limit_packets is 0", json!([{"at_s": 0, "link": "mid>east", "limit_packets": 0}])),
        ("unknown field `delay`", json!([{"at_s": 0, "link": "mid>east", "delay": 0.1}])),
    ] {
        let message = check(entries).err().unwrap_or_else(|| panic!("taken: {part}"));
        assert!(message.contains(part), "expected \"{part}\" in: {message}");
    }
}

#[test]
fn null_and_absent_are_different_in_a_change_and_survive_json() {
    for text in [
        r#"{"at_s":0.5,"link":"a>b","rate_bps":null}"#,
        r#"{"at_s":0.5,"link":"a>b","rate_bps":1000.0}"#,
        r#"{"at_s":0.5,"link":"a>b","delay_s":0.25,"up":false}"#,
    ] {
        let change: LinkChange = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&change).unwrap(), text);
    }
}
