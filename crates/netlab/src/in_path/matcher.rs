//! What a condition of a rule is.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::PacketPattern;
use super::messages::Part;
use super::packet::Headers;
use crate::random::Random;

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

/// A condition, asked of packets for which all those before it in the registry hold.
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
    /// How a Retry packet of QUIC is sealed.
    pub retry_tag: RetryTag,
    /// Whether the rule is about messages.
    pub in_message: bool,
}

/// The Retry Integrity Tag (RFC 9001, section 5.8) of the connection ID that the client's first packet was sent to, and of
/// a Retry packet without its tag.
pub type RetryTag = fn(&[u8], &[u8]) -> [u8; 16];

impl Names<'_> {
    /// Which of the nodes beside this one is meant.
    ///
    /// # Errors
    /// The second half of a sentence: neither.
    pub fn side(&self, node: &str) -> Result<usize, String> {
        let [a, b] = self.between;
        self.between.iter().position(|name| name == node).ok_or_else(|| {
            format!("is \"{node}\"; it must be \"{a}\" or \"{b}\", between which this node stands")
        })
    }
}

/// A kind of condition.
pub(crate) struct Kind {
    /// Its key.
    pub key: &'static str,
    pub build: Build,
}

/// Makes one from what stands behind its key. Its own randomness is for it alone.
pub(crate) type Build = fn(&Value, &Names<'_>, Random) -> Result<Box<dyn Matcher>, String>;

/// Reads what stands behind a key.
pub(crate) fn read<T: DeserializeOwned>(value: &Value, right: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|_| format!("is {value}; it must be {right}"))
}

/// A number, or the first and last of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrRange {
    One(u64),
    Range([u64; 2]),
}

impl OneOrRange {
    /// Reads `n` or `[first, last]`, within limits.
    pub fn read(value: &Value, least: u64, most: u64) -> Result<std::ops::RangeInclusive<u64>, String> {
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
