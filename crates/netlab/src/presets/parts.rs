//! Nodes, links, addresses and routes in a line each.

use crate::spec::{AddressSpec, DEFAULT_MTU_BYTES, DEFAULT_TUNNEL_MTU_BYTES, LinkSpec, NodeSpec, RouteSpec};

pub(super) fn node(name: &str) -> NodeSpec {
    NodeSpec { name: name.into(), switch: false, in_path: false }
}

pub(super) fn switch(name: &str) -> NodeSpec {
    NodeSpec { name: name.into(), switch: true, in_path: false }
}

pub(super) fn link(a: &str, b: &str) -> LinkSpec {
    LinkSpec { a: a.into(), b: b.into(), mtu_bytes: DEFAULT_MTU_BYTES }
}

/// A link of a host's network, whose packets fit into a tunnel whole.
pub(super) fn lan_link(a: &str, b: &str) -> LinkSpec {
    LinkSpec { mtu_bytes: DEFAULT_TUNNEL_MTU_BYTES, ..link(a, b) }
}

pub(super) fn address(node: &str, link: &str, address: &str) -> AddressSpec {
    AddressSpec { node: node.into(), link: link.into(), address: address.into() }
}

pub(super) fn route(node: &str, to: &str, via: &str) -> RouteSpec {
    RouteSpec { node: node.into(), to: to.into(), via: Some(via.into()), tunnel: None }
}

pub(super) fn tunnel_route(node: &str, to: &str, tunnel: &str) -> RouteSpec {
    RouteSpec { node: node.into(), to: to.into(), via: None, tunnel: Some(tunnel.into()) }
}
