//! `opening`: the packet opens a session of a flow, or answers that.

use serde::Deserialize;
use serde_json::Value;

use crate::PacketPattern;
use crate::in_path::matcher::{Found, Kind, Matcher, Names, Seen, read};
use crate::random::Random;

pub(super) const OPENING: Kind = Kind { key: "opening", build };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    flow: String,
    packet: String,
}

fn build(value: &Value, names: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let params: Params = read(value, "{\"flow\": its id, \"packet\": \"syn\" or \"syn-ack\"}")?;
    (names.openings)(&params.flow, &params.packet).map(|pattern| Box::new(Opens(pattern)) as Box<dyn Matcher>)
}

struct Opens(PacketPattern);

impl Matcher for Opens {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        self.0.matches(seen.bytes)
    }
}
