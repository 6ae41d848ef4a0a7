//! Networks in Linux network namespaces, made and changed over netlink alone.
//!
//! A [`NetworkSpec`] says which nodes, links, addresses, routes and tunnels there are; [`Network::build`]
//! makes them in the running kernel (root is needed). A [`Timeline`] changes links at exact instants, without
//! losing what is queued; a [`Capture`] records every packet that arrives over chosen link directions.
//! Dropping the network removes all of it.
//!
//! ```no_run
//! use netlab::{BuildOptions, LinkChange, Network, NetworkSpec};
//!
//! let network = Network::build(&NetworkSpec::preset("wire"), &BuildOptions { seed: 7, ..Default::default() })?;
//! network.apply(&LinkChange { link: "mid>east".into(), delay_s: Some(0.025), ..Default::default() })?;
//! let server = network.node("server")?;
//! let listener = server.enter(|| std::net::TcpListener::bind("10.0.2.1:5000"))?;
//! # let _ = listener;
//! # Ok::<(), netlab::Error>(())
//! ```
//!
//! Rates, queue limits and counters count IP packets, without the Ethernet header.

mod background;
mod build;
pub mod capture;
mod change;
mod change_check;
mod classifier;
mod clock;
mod error;
mod host;
pub mod in_path;
pub mod modules;
mod namespace;
mod netlink;
mod network;
mod node;
mod offload;
mod options;
mod packet_socket;
pub mod presets;
pub mod qdisc;
mod random;
mod relay;
mod rerouting;
mod resolve;
mod route_change;
mod routing;
mod seed;
mod spec;
pub mod sysctl;
mod timeline;
mod topology;

pub use capture::{Capture, CaptureOptions, Captured, DRAIN_INTERVAL_S, Packet, Records, Snap, TapCounters};
pub use change::{GilbertElliott, LinkChange};
pub use clock::RunClock;
pub use error::Error;
pub use in_path::{
    ByteMatch, Dropped, InPathContext, InPathCounters, InPathLog, InPathNode, InPathSpec, PacketPattern,
    RetryTag, RuleSpec, ScriptedDrop, ScriptedDrops,
};
pub use network::{LinkCounters, Network, RelayCounters};
pub use node::Node;
pub use options::{BuildOptions, WholeKernel};
pub use qdisc::{Diffserv, FairQueue, Fifo, HostQueue, QueueSpec};
pub use rerouting::Hop;
pub use route_change::RouteChange;
pub use routing::Way;
pub use spec::{
    AddressSpec, DEFAULT_MTU_BYTES, DEFAULT_TUNNEL_MTU_BYTES, LinkSpec, NetworkSpec, NodeSpec, RouteSpec,
    TunnelSpec,
};
pub use sysctl::Sysctls;
pub use timeline::{Made, Timeline};
pub use topology::Topology;
