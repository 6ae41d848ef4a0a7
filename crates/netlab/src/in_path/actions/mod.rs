//! What a rule does with a packet: one file each kind, and a line in [`REGISTRY`].

mod alter;
mod delay;
mod drop;
mod duplicate;
mod hold;
mod insert;
mod reflect;
mod reset;
mod retry;
mod rewrite;
mod stateless_reset;
mod swap_connection_ids;
mod version_negotiation;

use serde_json::{Map, Value};

use super::action::{Action, Kind, Params};
use super::matcher::Names;
use crate::random::Random;

/// Every action.
pub(crate) const REGISTRY: &[Kind] = &[
    drop::DROP,
    delay::DELAY,
    duplicate::DUPLICATE,
    alter::ALTER,
    rewrite::REWRITE,
    insert::CAPTURE,
    insert::INSERT,
    reflect::REFLECT,
    hold::HOLD,
    hold::RELEASE,
    reset::RESET,
    stateless_reset::STATELESS_RESET,
    version_negotiation::VERSION_NEGOTIATION,
    retry::RETRY,
    swap_connection_ids::SWAP_CONNECTION_IDS,
];

/// The action of a rule, and its kind.
pub(crate) fn build(
    deed: &Map<String, Value>,
    names: &Names<'_>,
    random: Random,
) -> Result<(Box<dyn Action>, &'static Kind), String> {
    let known = || REGISTRY.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let Some(name) = deed.get("action").and_then(Value::as_str) else {
        return Err(format!("`do` names no `action`; the actions are {}", known()));
    };
    let Some(kind) = REGISTRY.iter().find(|kind| kind.name == name) else {
        return Err(format!("there is no action \"{name}\"; the actions are {}", known()));
    };
    let mut own = deed.clone();
    own.remove("action");
    let made = (kind.build)(Params::new(own, kind.parameters), names, random);
    made.map(|action| (action, kind)).map_err(|wrong| format!("the action \"{name}\" {wrong}"))
}
