//! `source_port`, `destination_port`, `port` (either of them): of TCP, UDP and SCTP.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, OneOrRange, Seen};

pub(super) const SOURCE_PORT: Kind = Kind {
    key: "source_port",
    build: |value, _, _| build(value, |(source, _), range| range.contains(&source)),
};
pub(super) const DESTINATION_PORT: Kind = Kind {
    key: "destination_port",
    build: |value, _, _| build(value, |(_, destination), range| range.contains(&destination)),
};
pub(super) const PORT: Kind = Kind {
    key: "port",
    build: |value, _, _| build(value, |(one, other), range| range.contains(&one) || range.contains(&other)),
};

type Test = fn((u64, u64), &RangeInclusive<u64>) -> bool;

fn build(value: &Value, test: Test) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(Ports { range: OneOrRange::read(value, 0, 65_535)?, test }))
}

struct Ports {
    range: RangeInclusive<u64>,
    test: Test,
}

impl Matcher for Ports {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        let ports = seen.headers.and_then(|headers| headers.ports(seen.bytes));
        ports.is_some_and(|(source, destination)| {
            (self.test)((source.into(), destination.into()), &self.range)
        })
    }
}
