//! The network part of a plan as it is written down: names and text, nothing looked up yet.
//!
//! [`NetworkSpec::resolve`] turns it into a [`Topology`](crate::Topology), in which every name is known to exist and every
//! address is parsed. The format is described in `docs/formats/plan.md`.

use serde::{Deserialize, Serialize};

/// MTU of a link that names none, and of an Ethernet.
pub const DEFAULT_MTU_BYTES: u32 = 1500;

/// MTU of a GRE tunnel that names none: 1500 less an IPv4 header (20) and a GRE header without options (4,
/// RFC 2784).
pub const DEFAULT_TUNNEL_MTU_BYTES: u32 = 1476;

/// A network: either the name of a preset or nodes, links, addresses, routes and tunnels of one's own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Name of a preset (see [`presets::names`](crate::presets::names)); then everything else stays empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSpec>,
    /// The links between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkSpec>,
    /// IP addresses of the nodes' interfaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressSpec>,
    /// Static routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSpec>,
    /// GRE tunnels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tunnels: Vec<TunnelSpec>,
}

/// A host, router or Ethernet switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// Letters, digits, `.`, `_` and `-`.
    pub name: String,
    /// True makes it an Ethernet bridge over all of its links.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub switch: bool,
    /// Whether it is an in-path node ([`crate::InPathSpec`]), which a plan names apart.
    #[serde(skip)]
    pub in_path: bool,
}

/// A cable between two nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name of one end's node.
    pub a: String,
    /// Name of the other end's node.
    pub b: String,
    /// Largest IP packet.
    #[serde(default = "default_mtu_bytes")]
    pub mtu_bytes: u32,
}

/// An IP address on a node's interface.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressSpec {
    /// The node that gets the address.
    pub node: String,
    /// The neighbour at the other end of the link whose interface carries it.
    pub link: String,
    /// Address and prefix length, such as `10.0.0.1/24` or `fd00::1/64`.
    pub address: String,
}

/// A static route; exactly one of `via` and `tunnel` is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The node whose routing table gets it.
    pub node: String,
    /// A prefix, or `default` (of the next hop's family; IPv4 with a tunnel).
    pub to: String,
    /// Next hop: an address in one of the node's own prefixes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Name of a tunnel that ends at the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
}

/// A GRE tunnel over IPv4 (RFC 2784: no key, no checksum, outer packets never fragmented).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelSpec {
    /// Name of the interface at both ends, at most 15 characters.
    pub name: String,
    /// Node at one end.
    pub a: String,
    /// Node at the other end.
    pub b: String,
    /// Address of `a` that outer packets carry.
    pub a_outer: String,
    /// Address of `b` that outer packets carry.
    pub b_outer: String,
    /// Address and prefix length of `a` inside the tunnel.
    pub a_inner: String,
    /// Address and prefix length of `b` inside the tunnel.
    pub b_inner: String,
    /// Largest inner packet.
    #[serde(default = "default_tunnel_mtu_bytes")]
    pub mtu_bytes: u32,
}

fn default_mtu_bytes() -> u32 {
    DEFAULT_MTU_BYTES
}

fn default_tunnel_mtu_bytes() -> u32 {
    DEFAULT_TUNNEL_MTU_BYTES
}

impl NetworkSpec {
    /// The network of the preset called `name`, not yet expanded.
    pub fn preset(name: &str) -> Self {
        NetworkSpec { preset: Some(name.to_owned()), ..NetworkSpec::default() }
    }
}
