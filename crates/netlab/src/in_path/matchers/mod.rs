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

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) use direction::side;

use super::PacketPattern;
use super::messages::Part;
use super::packet::Headers;
use super::random::Random;

/// A packet that a rule looks at.
pub(crate) struct Seen<'a> {
    pub now_ns: i64,
    /// To which of the two nodes beside this one it goes.
    pub towards: usize,
    pub bytes: &'a [u8],
    /// None of what is cut or no IP.
    pub headers: Option<&'a Headers>,
    /// Parts of messages of known flows in it.
    pub parts: &'a [Part],
}

/// What a condition has found beside that it holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Found {
    /// The message that was meant.
    pub part: Option<Part>,
}

/// A condition, asked of packets for which all those before it in [`REGISTRY`] hold.
pub(crate) trait Matcher: Send {
    fn holds(&mut self, seen: &Seen<'_>, found: &mut Found) -> bool;
}

/// What names in conditions mean.
pub(crate) struct Names<'a> {
    /// The nodes beside this one.
    pub between: &'a [String; 2],
    /// Flows whose messages are known, by place.
    pub flows: &'a [String],
    /// How the packets that open a flow's sessions are told.
    pub openings: &'a dyn Fn(&str, &str) -> Result<PacketPattern, String>,
}

/// A kind of condition.
pub(crate) struct Kind {
    /// Its key.
    pub key: &'static str,
    build: Build,
}

/// Makes one from what stands behind its key. Its own randomness is for it alone.
type Build = fn(&Value, &Names<'_>, Random) -> Result<Box<dyn Matcher>, String>;

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

/// Reads what stands behind a key.
fn read<T: DeserializeOwned>(value: &Value, right: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|_| format!("is {value}; it must be {right}"))
}

/// A number, or the first and last of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged)]
enum OneOrRange {
    One(u64),
    Range([u64; 2]),
}

impl OneOrRange {
    /// Reads `n` or `[first, last]`, within limits.
    fn read(value: &Value, least: u64, most: u64) -> Result<std::ops::RangeInclusive<u64>, String> {
        let right = format!("a number from {least} to {most}, or the first and the last of several");
        let [first, last] = match read(value, &right)? {
            OneOrRange::One(one) => [one, one],
            OneOrRange::Range(range) => range,
        };
        if first < least || last > most || first > last {
            return Err(format!("is {value}; it must be {right}"));
        }
        Ok(first..=last)
    }
}
