//! `length_bytes`: of the whole packet, from its IP header on.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Names, OneOrRange, Seen};
use crate::random::Random;

pub(super) const LENGTH_BYTES: Kind = Kind { key: "length_bytes", build };

fn build(value: &Value, _: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(Length(OneOrRange::read(value, 0, 65_535)?)))
}

struct Length(RangeInclusive<u64>);

impl Matcher for Length {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        self.0.contains(&(seen.bytes.len() as u64))
    }
}
