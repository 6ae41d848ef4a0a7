//! `rail-d34`: the emulator of AB4Rail D3.4 section 3.1, Figure 2.
//!
//! ```text
//!  tc1 ─┐                                      ┌─ rb ─ rbsb ─ sb ─ tsb1
//!       sa ─ rasa ─ ra ─ rabc (the internet) ──┤
//!  tc2 ─┘     ╞══ GRE tun-b ═══════════════════╪══════╡
//!             ╘══ GRE tun-c ═══════════╕       └─ rc ─ rcsc ─ sc ─ tsc1
//!                                      └───────────────┘
//! ```
//!
//! What belongs where, as in D3.4: the rate forward on `rasa>ra`, and back on `rbsb>rb` and `rcsc>rc`; delay
//! and loss of the radio path that both tunnels share on `ra>rabc` and `rabc>ra`; those of each destination
//! on `rabc>rb`, `rabc>rc`, `rb>rabc` and `rc>rabc`; reordering on `rb>rbsb` and `rc>rcsc`.
//!
//! Every link has an MTU of 1500 bytes except those of the hosts and their switches, which have that of the
//! tunnels, 1476: a host then sends UDP payloads of exactly 1448 bytes, and nothing on the way is too big.
//! D3.4's own addresses are lost with its figure; these are ours.

use super::parts::{address, lan_link, link, node, route, switch, tunnel_route};
use crate::{DEFAULT_TUNNEL_MTU_BYTES, NetworkSpec, RouteSpec, TunnelSpec};

pub(super) fn network() -> NetworkSpec {
    NetworkSpec {
        preset: None,
        nodes: vec![
            node("tc1"),
            node("tc2"),
            switch("sa"),
            node("rasa"),
            node("ra"),
            node("rabc"),
            node("rb"),
            node("rbsb"),
            switch("sb"),
            node("tsb1"),
            node("rc"),
            node("rcsc"),
            switch("sc"),
            node("tsc1"),
        ],
        links: vec![
            lan_link("tc1", "sa"),
            lan_link("tc2", "sa"),
            lan_link("sa", "rasa"),
            link("rasa", "ra"),
            link("ra", "rabc"),
            link("rabc", "rb"),
            link("rb", "rbsb"),
            lan_link("rbsb", "sb"),
            lan_link("sb", "tsb1"),
            link("rabc", "rc"),
            link("rc", "rcsc"),
            lan_link("rcsc", "sc"),
            lan_link("sc", "tsc1"),
        ],
        addresses: vec![
            address("tc1", "sa", "10.0.1.1/24"),
            address("tc2", "sa", "10.0.1.2/24"),
            address("rasa", "sa", "10.0.1.254/24"),
            address("tsb1", "sb", "10.0.2.1/24"),
            address("rbsb", "sb", "10.0.2.254/24"),
            address("tsc1", "sc", "10.0.3.1/24"),
            address("rcsc", "sc", "10.0.3.254/24"),
            address("rasa", "ra", "10.1.0.1/30"),
            address("ra", "rasa", "10.1.0.2/30"),
            address("ra", "rabc", "10.1.0.5/30"),
            address("rabc", "ra", "10.1.0.6/30"),
            address("rabc", "rb", "10.1.1.1/30"),
            address("rb", "rabc", "10.1.1.2/30"),
            address("rb", "rbsb", "10.1.1.5/30"),
            address("rbsb", "rb", "10.1.1.6/30"),
            address("rabc", "rc", "10.1.2.1/30"),
            address("rc", "rabc", "10.1.2.2/30"),
            address("rc", "rcsc", "10.1.2.5/30"),
            address("rcsc", "rc", "10.1.2.6/30"),
        ],
        routes: routes(),
        tunnels: vec![
            tunnel("tun-b", "rbsb", "10.1.1.6", "10.2.0.1/30", "10.2.0.2/30"),
            tunnel("tun-c", "rcsc", "10.1.2.6", "10.2.0.5/30", "10.2.0.6/30"),
        ],
    }
}

fn routes() -> Vec<RouteSpec> {
    vec![
        route("tc1", "default", "10.0.1.254"),
        route("tc2", "default", "10.0.1.254"),
        route("tsb1", "default", "10.0.2.254"),
        route("tsc1", "default", "10.0.3.254"),
        // Between the LANs: through the tunnels.
        tunnel_route("rasa", "10.0.2.0/24", "tun-b"),
        tunnel_route("rasa", "10.0.3.0/24", "tun-c"),
        tunnel_route("rbsb", "10.0.1.0/24", "tun-b"),
        tunnel_route("rcsc", "10.0.1.0/24", "tun-c"),
        // Between the tunnels' ends: through the routers in the middle, which know nothing of the LANs.
        route("rasa", "10.1.0.0/16", "10.1.0.2"),
        route("ra", "10.1.0.0/16", "10.1.0.6"),
        route("rabc", "10.1.0.0/30", "10.1.0.5"),
        route("rabc", "10.1.1.4/30", "10.1.1.2"),
        route("rabc", "10.1.2.4/30", "10.1.2.2"),
        route("rb", "10.1.0.0/16", "10.1.1.1"),
        route("rc", "10.1.0.0/16", "10.1.2.1"),
        route("rbsb", "10.1.0.0/16", "10.1.1.5"),
        route("rcsc", "10.1.0.0/16", "10.1.2.5"),
    ]
}

fn tunnel(name: &str, far: &str, far_outer: &str, near_inner: &str, far_inner: &str) -> TunnelSpec {
    TunnelSpec {
        name: name.into(),
        a: "rasa".into(),
        b: far.into(),
        a_outer: "10.1.0.1".into(),
        b_outer: far_outer.into(),
        a_inner: near_inner.into(),
        b_inner: far_inner.into(),
        mtu_bytes: DEFAULT_TUNNEL_MTU_BYTES,
    }
}
