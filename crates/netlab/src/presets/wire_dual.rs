//! `wire-dual`: two lines between two hosts that share nothing, for transports that use several paths.
//!
//! ```text
//!           ┌─ west ── mid ── east ──┐     10.0.1.1 to 10.0.2.1
//!  client ──┤                        ├── server
//!           └─ west2 ─ mid2 ─ east2 ─┘     10.0.3.1 to 10.0.4.1
//! ```
//!
//! The first line is that of [`super::wire`], with the same places for rates, delays and losses; those of the second have
//! the same names with a 2. Each host has an address on either line, and reaches the other's address on a line from its
//! own there. IPv4 only.

use super::parts::{address, link, node, route};
use crate::NetworkSpec;

/// A line: its routers from west to east, the networks of client and server on it, and that of its own links.
struct Line {
    routers: [&'static str; 3],
    client: &'static str,
    server: &'static str,
    own: &'static str,
}

const LINES: [Line; 2] = [
    Line { routers: ["west", "mid", "east"], client: "10.0.1", server: "10.0.2", own: "10.1.0" },
    Line { routers: ["west2", "mid2", "east2"], client: "10.0.3", server: "10.0.4", own: "10.2.0" },
];

pub(super) fn network() -> NetworkSpec {
    let mut network = NetworkSpec { nodes: ["client", "server"].map(node).into(), ..NetworkSpec::default() };
    for Line { routers: [west, mid, east], client, server, own } in LINES {
        let hosts = |prefix: &str| format!("{prefix}.0/24");
        network.nodes.extend([west, mid, east].map(node));
        network.links.extend([link("client", west), link(west, mid), link(mid, east), link(east, "server")]);
        network.addresses.extend([
            address("client", west, &format!("{client}.1/24")),
            address(west, "client", &format!("{client}.254/24")),
            address(west, mid, &format!("{own}.1/30")),
            address(mid, west, &format!("{own}.2/30")),
            address(mid, east, &format!("{own}.5/30")),
            address(east, mid, &format!("{own}.6/30")),
            address(east, "server", &format!("{server}.254/24")),
            address("server", east, &format!("{server}.1/24")),
        ]);
        network.routes.extend([
            route("client", &hosts(server), &format!("{client}.254")),
            route(west, "default", &format!("{own}.2")),
            route(mid, &hosts(client), &format!("{own}.1")),
            route(mid, &hosts(server), &format!("{own}.6")),
            route(east, "default", &format!("{own}.5")),
            route("server", &hosts(client), &format!("{server}.254")),
        ]);
    }
    network
}
