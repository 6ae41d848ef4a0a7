//! `message`: the packet has a part of certain messages of a flow.

use std::ops::RangeInclusive;

use serde::Deserialize;
use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Names, OneOrRange, Seen, read};
use crate::random::Random;

pub(super) const MESSAGE: Kind = Kind { key: "message", build };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    flow: String,
    /// Which ones, counted from 1; none: all.
    #[serde(default)]
    number: Option<Value>,
    /// Whether packets that repeat what has passed count too.
    #[serde(default = "yes")]
    repetitions: bool,
}

fn yes() -> bool {
    true
}

fn build(value: &Value, names: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let right = "{\"flow\": its id} with or without \"number\" and \"repetitions\"";
    let params: Params = read(value, right)?;
    let flow =
        names.flows.iter().position(|flow| *flow == params.flow).ok_or_else(|| {
            format!("speaks of flow \"{}\", of whose messages nothing is known", params.flow)
        })?;
    let numbers = params.number.map(|number| OneOrRange::read(&number, 1, u64::from(u32::MAX)));
    let numbers = numbers.transpose().map_err(|wrong| format!("has a `number` that {wrong}"))?;
    Ok(Box::new(Message { flow, numbers, repetitions: params.repetitions, passed: None }))
}

struct Message {
    flow: usize,
    numbers: Option<RangeInclusive<u64>>,
    repetitions: bool,
    /// The last message and how far into it packets have come.
    passed: Option<(u64, i64)>,
}

impl Matcher for Message {
    fn holds(&mut self, seen: &Seen<'_>, found: &mut Found) -> bool {
        let wanted = |number| self.numbers.as_ref().is_none_or(|numbers| numbers.contains(&number));
        let Some(part) = seen.parts.iter().find(|part| part.flow == self.flow && wanted(part.number)) else {
            return false;
        };
        let reached = (part.number, part.within.end as i64 - part.begins_at);
        let new = self.passed.is_none_or(|passed| reached > passed);
        self.passed = self.passed.max(Some(reached));
        found.part = Some(part.clone());
        new || self.repetitions
    }
}
