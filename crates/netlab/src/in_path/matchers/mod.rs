//! Conditions of a rule: one file each kind, and a line in [`REGISTRY`].

mod addresses;
mod bytes;
mod count;
mod direction;
mod length;
mod message;
mod opening;
mod ports;
mod protocol;
mod time;

use serde_json::{Map, Value};

use super::matcher::{Kind, Matcher, Names};
use crate::random::Random;

/// Every condition, in the order in which they are asked: those that count or draw come last, so that they count and
/// draw among the packets for which all others hold.
pub(crate) const REGISTRY: &[Kind] = &[
    direction::TOWARDS,
    protocol::PROTOCOL,
    addresses::SOURCE,
    addresses::DESTINATION,
    ports::SOURCE_PORT,
    ports::DESTINATION_PORT,
    ports::PORT,
    length::LENGTH_BYTES,
    opening::OPENING,
    time::FROM_S,
    time::UNTIL_S,
    message::MESSAGE,
    bytes::BYTES,
    count::NTH,
    count::EVERY,
    count::PROBABILITY,
];

/// The key of rules about messages.
pub(crate) const MESSAGE: &str = message::MESSAGE.key;

/// The conditions of a rule.
pub(crate) fn build(
    conditions: &Map<String, Value>,
    names: &Names<'_>,
    random: impl Fn(&str) -> Random,
) -> Result<Vec<Box<dyn Matcher>>, String> {
    if let Some(unknown) = conditions.keys().find(|key| REGISTRY.iter().all(|kind| kind.key != **key)) {
        let known: Vec<_> = REGISTRY.iter().map(|kind| kind.key).collect();
        return Err(format!("`match` has no key `{unknown}`; its keys are {}", known.join(", ")));
    }
    let wanted = REGISTRY.iter().filter_map(|kind| Some((kind, conditions.get(kind.key)?)));
    wanted
        .map(|(kind, value)| {
            (kind.build)(value, names, random(kind.key)).map_err(|wrong| format!("`{}` {wrong}", kind.key))
        })
        .collect()
}
