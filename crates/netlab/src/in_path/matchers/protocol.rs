//! `protocol`: what the innermost IP header carries.

use serde::Deserialize;
use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Names, Seen, read};
use crate::random::Random;

pub(super) const PROTOCOL: Kind = Kind { key: "protocol", build };

/// Names of protocol numbers (IANA; 253 is ResTP's over IP, docs/restp-spec.md).
const NAMES: [(&str, u8); 7] =
    [("icmp", 1), ("tcp", 6), ("udp", 17), ("gre", 47), ("icmpv6", 58), ("sctp", 132), ("restp", 253)];

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Number(u8),
    Name(String),
}

fn build(value: &Value, _: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let known = NAMES.map(|(name, _)| name).join(", ");
    let right = format!("one of {known}, or a number up to 255");
    let number = match read(value, &right)? {
        Named::Number(number) => Some(number),
        Named::Name(name) => NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number),
    };
    let number = number.ok_or_else(|| format!("is {value}; it must be {right}"))?;
    Ok(Box::new(Protocol(number)))
}

struct Protocol(u8);

impl Matcher for Protocol {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        seen.headers.is_some_and(|headers| headers.protocol == self.0)
    }
}
