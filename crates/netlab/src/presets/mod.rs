//! Networks by name, one file each. A new preset is a new file and a line in `PRESETS`.

mod rail_d34;
mod rail_d34_dual;
mod wire;
mod wire_dual;

use crate::{
    AddressSpec, DEFAULT_MTU_BYTES, DEFAULT_TUNNEL_MTU_BYTES, Error, LinkSpec, NetworkSpec, NodeSpec,
    RouteSpec,
};

type Constructor = fn() -> NetworkSpec;

/// Name and constructor of every preset.
const PRESETS: [(&str, Constructor); 4] = [
    ("rail-d34", rail_d34::network),
    ("rail-d34-dual", rail_d34_dual::network),
    ("wire", wire::network),
    ("wire-dual", wire_dual::network),
];

/// Names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The preset called `name`, written out as nodes, links, addresses, routes and tunnels.
///
/// # Errors
/// [`Error::Spec`] that lists the known names if there is no such preset.
pub fn get(name: &str) -> Result<NetworkSpec, Error> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, network)) => Ok(network()),
        None => {
            let known: Vec<&str> = names().collect();
            Err(Error::Spec(format!(
                "network: there is no preset \"{name}\"; the presets are {}",
                known.join(", ")
            )))
        }
    }
}

fn node(name: &str) -> NodeSpec {
    NodeSpec { name: name.into(), switch: false }
}

fn switch(name: &str) -> NodeSpec {
    NodeSpec { name: name.into(), switch: true }
}

fn link(a: &str, b: &str) -> LinkSpec {
    LinkSpec { a: a.into(), b: b.into(), mtu_bytes: DEFAULT_MTU_BYTES }
}

/// A link of a host's network, whose packets fit into a tunnel whole.
fn lan_link(a: &str, b: &str) -> LinkSpec {
    LinkSpec { mtu_bytes: DEFAULT_TUNNEL_MTU_BYTES, ..link(a, b) }
}

fn address(node: &str, link: &str, address: &str) -> AddressSpec {
    AddressSpec { node: node.into(), link: link.into(), address: address.into() }
}

fn route(node: &str, to: &str, via: &str) -> RouteSpec {
    RouteSpec { node: node.into(), to: to.into(), via: Some(via.into()), tunnel: None }
}

fn tunnel_route(node: &str, to: &str, tunnel: &str) -> RouteSpec {
    RouteSpec { node: node.into(), to: to.into(), via: None, tunnel: Some(tunnel.into()) }
}
