//! `wire`: one line between two hosts, for constant links and for protocol tests.
//!
//! ```text
//!  client ── west ── mid ── east ── server
//! ```
//!
//! A link direction has either a rate or a delay, so the line takes two hops each way: forward the rate on
//! `west>mid` and delay and loss on `mid>east`; back the rate on `east>mid` and delay and loss on `mid>west`.
//! The hosts' own links carry neither, so that a host's TCP sees a plain network card. MTU 1500 bytes
//! throughout; IPv4 `10.0.1.1` (client) and `10.0.2.1` (server), IPv6 `fd00:1::1` and `fd00:2::1`.

use super::parts::{address, link, node, route};
use crate::NetworkSpec;

pub(super) fn network() -> NetworkSpec {
    NetworkSpec {
        preset: None,
        nodes: ["client", "west", "mid", "east", "server"].map(node).into(),
        links: vec![link("client", "west"), link("west", "mid"), link("mid", "east"), link("east", "server")],
        addresses: vec![
            address("client", "west", "10.0.1.1/24"),
            address("west", "client", "10.0.1.254/24"),
            address("west", "mid", "10.1.0.1/30"),
            address("mid", "west", "10.1.0.2/30"),
            address("mid", "east", "10.1.0.5/30"),
            address("east", "mid", "10.1.0.6/30"),
            address("east", "server", "10.0.2.254/24"),
            address("server", "east", "10.0.2.1/24"),
            address("client", "west", "fd00:1::1/64"),
            address("west", "client", "fd00:1::fe/64"),
            address("west", "mid", "fd00:a::1/64"),
            address("mid", "west", "fd00:a::2/64"),
            address("mid", "east", "fd00:b::1/64"),
            address("east", "mid", "fd00:b::2/64"),
            address("east", "server", "fd00:2::fe/64"),
            address("server", "east", "fd00:2::1/64"),
        ],
        routes: vec![
            route("client", "default", "10.0.1.254"),
            route("west", "default", "10.1.0.2"),
            route("mid", "10.0.1.0/24", "10.1.0.1"),
            route("mid", "10.0.2.0/24", "10.1.0.6"),
            route("east", "default", "10.1.0.5"),
            route("server", "default", "10.0.2.254"),
            route("client", "::/0", "fd00:1::fe"),
            route("west", "::/0", "fd00:a::2"),
            route("mid", "fd00:1::/64", "fd00:a::1"),
            route("mid", "fd00:2::/64", "fd00:b::2"),
            route("east", "::/0", "fd00:b::1"),
            route("server", "::/0", "fd00:2::fe"),
        ],
        tunnels: Vec::new(),
    }
}
