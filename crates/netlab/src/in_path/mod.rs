//! The in-path node: it stands in a link between two nodes, sees every packet that passes, and does with it what its
//! rules say.
//!
//! ```text
//!                      rules, in order
//!   a ──▶ seen ──▶ [conditions ▶ action] ──▶ [conditions ▶ action] ──▶ emitted ──▶ b
//!                       │ dropped, held, delayed, copied, inserted, reflected
//!   a ◀─────────────────┴──────────────────────────────────────────── (the same the other way)
//! ```
//!
//! A packet goes from rule to rule until one takes it away; what a rule has altered the next one sees. The core
//! ([`engine`]) knows no sockets and no clock; [`InPathNode`] puts it on a packet socket in the node's namespace, which
//! any Linux kernel has. Each kind of condition is a file in `matchers/` and each kind of action one in `actions/`, with
//! a line in the registry there.
//!
//! [`ScriptedDrops`] are the one rule that needs no node: a filter in the kernel's own forwarding path.

mod action;
mod actions;
pub(crate) mod checksums;
mod chunks;
mod engine;
mod fields;
mod forged;
mod frame;
mod hex;
mod log;
mod matcher;
mod matchers;
mod messages;
mod node;
mod packet;
mod pattern;
mod place;
mod quic;
mod rasta;
mod scripted;
mod spec;
mod stores;
mod stream;
mod tracker;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::Serialize;

pub use log::{Emitted, Event, Fingerprint, HEAD_BYTES, InPathCounters, InPathLog, Row, RuleCounters};
pub use matcher::RetryTag;
pub use messages::{Carriage, Found, MessageFlow, Messages};
pub use node::{InPathContext, InPathNode};
pub(crate) use pattern::Key;
pub use pattern::{ByteMatch, PacketPattern};
pub use scripted::{Dropped, ScriptedDrop, ScriptedDrops};
pub use spec::{InPathSpec, RuleSpec};

/// All that rules can say.
#[derive(Debug, Serialize)]
pub struct RuleDescription {
    /// The keys of `match`, in the order in which they are asked.
    #[serde(rename = "match")]
    pub conditions: Vec<&'static str>,
    /// Each action with the names of its parameters.
    #[serde(rename = "do")]
    pub actions: BTreeMap<&'static str, &'static [&'static str]>,
}

/// Describes the rules of this program.
pub fn describe() -> RuleDescription {
    let keys = matchers::REGISTRY.iter().map(|kind| kind.key);
    RuleDescription {
        conditions: std::iter::once(engine::AT_S).chain(keys).collect(),
        actions: actions::REGISTRY.iter().map(|kind| (kind.name, kind.parameters)).collect(),
    }
}
