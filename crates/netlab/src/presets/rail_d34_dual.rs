//! `rail-d34-dual`: [`super::rail_d34`] with hosts that have an address on either tunnel, for transports that use
//! several paths.
//!
//! ```text
//!  tc1 ─┐ 10.0.1.x                                  ┌─ rb ─ rbsb ─ sb ─┬─ tsb1
//!       sa ──────── rasa ─ ra ─ rabc ───────────────┤                 ts   10.0.2.2 and 10.0.3.2
//!  tc2 ─┘ 10.0.4.x                                  └─ rc ─ rcsc ─ sc ─┴─ tsc1
//! ```
//!
//! Every host of the train has a second address in 10.0.4.0/24, and the server `ts` is on both switches. Routes lead from
//! 10.0.1.0/24 to 10.0.2.0/24 through `tun-b` and from 10.0.4.0/24 to 10.0.3.0/24 through `tun-c`, and back the same
//! way: a host that addresses 10.0.3.2 takes its own address in 10.0.4.0/24, because the next hop is in that network.
//! So the two ends of either path answer through their own tunnel.

use super::parts::{address, lan_link, node, route, tunnel_route};
use super::rail_d34;
use crate::NetworkSpec;

pub(super) fn network() -> NetworkSpec {
    let mut network = rail_d34::network();
    network.nodes.push(node("ts"));
    network.links.extend([lan_link("sb", "ts"), lan_link("sc", "ts")]);
    network.addresses.extend([
        address("tc1", "sa", "10.0.4.1/24"),
        address("tc2", "sa", "10.0.4.2/24"),
        address("rasa", "sa", "10.0.4.254/24"),
        address("ts", "sb", "10.0.2.2/24"),
        address("ts", "sc", "10.0.3.2/24"),
    ]);
    network.routes.extend([
        route("tc1", "10.0.3.0/24", "10.0.4.254"),
        route("tc2", "10.0.3.0/24", "10.0.4.254"),
        route("ts", "default", "10.0.2.254"),
        route("ts", "10.0.4.0/24", "10.0.3.254"),
        tunnel_route("rcsc", "10.0.4.0/24", "tun-c"),
    ]);
    network
}
