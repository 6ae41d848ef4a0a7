//! What an action of a rule is, and what it has in its hand.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::checksums;
use super::frame::{ETHERNET_BYTES, Frame};
use super::matcher::Names;
use super::messages::Part;
use super::packet::Headers;
use super::stores::Stores;
use crate::clock::seconds_to_ns;
use crate::random::Random;

/// How often something is done where nothing says it.
pub(crate) fn one<T: From<u8>>() -> T {
    T::from(1)
}

/// What becomes of the packet that a rule looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes on, and later rules see it.
    Passes,
    /// It is gone.
    Dropped,
    /// It waits in the store of this name, at most so long.
    Held { name: String, most_ns: Option<i64> },
}

/// A packet that leaves beside the one that a rule looks at.
#[derive(Debug)]
pub(crate) struct Extra {
    pub frame: Frame,
    pub after_ns: i64,
    /// Whether it leaves ahead of the packet where both leave at one instant.
    pub before: bool,
    /// Whether it is the packet as it is now.
    pub copy: bool,
}

/// What a rule has in its hand.
pub(crate) struct Hand<'a> {
    /// The packet; none where the clock has called the rule.
    pub frame: Option<Frame>,
    pub fate: Fate,
    pub delay_ns: i64,
    /// The message that the rule's conditions have found in it.
    pub part: Option<Part>,
    pub extra: Vec<Extra>,
    /// Stores whose packets leave behind this one, in this order of theirs.
    pub releases: Vec<(String, Order)>,
    pub stores: &'a mut Stores,
    /// Ethernet headers towards either node, for packets that come from nowhere.
    pub ethernet: &'a [[u8; ETHERNET_BYTES]; 2],
}

impl<'a> Hand<'a> {
    /// Before the first rule: the packet is to go on as it came.
    pub fn new(
        frame: Option<Frame>,
        stores: &'a mut Stores,
        ethernet: &'a [[u8; ETHERNET_BYTES]; 2],
    ) -> Self {
        Hand {
            frame,
            fate: Fate::Passes,
            delay_ns: 0,
            part: None,
            extra: Vec::new(),
            releases: Vec::new(),
            stores,
            ethernet,
        }
    }

    /// The headers of the packet as it is now.
    pub fn headers(&self) -> Option<Headers> {
        Headers::of(&self.frame.as_ref()?.bytes)
    }
}

/// In which order held packets leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// As they came.
    #[default]
    AsHeld,
    /// The last one first.
    Reversed,
}

/// Something that is done with packets.
pub(crate) trait Action: Send {
    /// Does it; says whether it could be done with this packet.
    fn act(&mut self, hand: &mut Hand<'_>) -> bool;

    /// The store that it fills or needs, if it has to do with one.
    fn store(&self) -> Option<Store<'_>> {
        None
    }
}

/// A store by its name, and what an action has to do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store<'a> {
    /// Packets are remembered in it.
    Captures(&'a str),
    /// One of those is taken.
    TakesCaptured(&'a str),
    /// Packets wait in it.
    Holds(&'a str),
    /// They are let go.
    Releases(&'a str),
}

impl<'a> Store<'a> {
    /// Its name.
    pub fn name(self) -> &'a str {
        let (Store::Captures(name) | Store::TakesCaptured(name) | Store::Holds(name) | Store::Releases(name)) =
            self;
        name
    }
}

/// A kind of action.
pub(crate) struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The names of its parameters.
    pub parameters: &'static [&'static str],
    /// Whether it can do without a packet, when the clock calls it.
    pub without_packet: bool,
    pub build: Build,
}

/// Makes one from its parameters. Its own randomness is for it alone.
pub(crate) type Build = fn(Params<'_>, &Names<'_>, Random) -> Result<Box<dyn Action>, String>;

/// What stands beside the name of an action.
pub(crate) struct Params<'a>(Map<String, Value>, &'a [&'static str]);

impl<'a> Params<'a> {
    /// Those that were written, and those that there are.
    pub fn new(written: Map<String, Value>, known: &'a [&'static str]) -> Self {
        Params(written, known)
    }

    /// Reads them into their own type.
    ///
    /// # Errors
    /// The second half of a sentence.
    pub fn read<T: DeserializeOwned>(self) -> Result<T, String> {
        if let Some(stranger) = self.0.keys().find(|key| !self.1.contains(&key.as_str())) {
            return Err(match self.1 {
                [] => format!("has no parameter `{stranger}`; it has none"),
                known => format!("has no parameter `{stranger}`; its parameters are {}", known.join(", ")),
            });
        }
        serde_path_to_error::deserialize(Value::Object(self.0)).map_err(|error| {
            // A missing key has no place of its own.
            match error.path().to_string() {
                nowhere if nowhere == "." => format!("is not right: {}", error.inner()),
                place => format!("is not right in `{place}`: {}", error.inner()),
            }
        })
    }
}

/// What becomes of the checksums of a packet that was altered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Checksums {
    /// They are made right.
    #[default]
    Repair,
    /// They stay as they are.
    Leave,
}

impl Checksums {
    pub fn settle(self, packet: &mut [u8]) {
        if self == Checksums::Repair {
            checksums::repair(packet);
        }
    }
}

/// A duration of a parameter, in nanoseconds.
pub(crate) fn duration_ns(key: &str, value_s: f64) -> Result<i64, String> {
    /// A year, far inside 64 bits of nanoseconds.
    const LONGEST_S: f64 = 366.0 * 86_400.0;
    if (0.0..=LONGEST_S).contains(&value_s) {
        return Ok(seconds_to_ns(value_s));
    }
    Err(format!("has {value_s} for `{key}`; it must be a number of seconds from 0 to {LONGEST_S}"))
}
