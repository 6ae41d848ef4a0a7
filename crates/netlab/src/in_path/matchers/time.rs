//! `from_s`, `until_s`: the packet came at this instant of the run or later, or before it.

use serde_json::Value;

use crate::clock::seconds_to_ns;
use crate::in_path::matcher::{Found, Kind, Matcher, Seen, read};

pub(super) const FROM_S: Kind = Kind {
    key: "from_s",
    build: |value, _, _| Ok(Box::new(Window { from_ns: instant(value)?, until_ns: i64::MAX })),
};
pub(super) const UNTIL_S: Kind = Kind {
    key: "until_s",
    build: |value, _, _| Ok(Box::new(Window { from_ns: i64::MIN, until_ns: instant(value)? })),
};

fn instant(value: &Value) -> Result<i64, String> {
    let right = "an instant in seconds from the start of the run, not below 0";
    let instant_s: f64 = read(value, right)?;
    if !(instant_s.is_finite() && instant_s >= 0.0) {
        return Err(format!("is {value}; it must be {right}"));
    }
    Ok(seconds_to_ns(instant_s))
}

struct Window {
    from_ns: i64,
    until_ns: i64,
}

impl Matcher for Window {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        (self.from_ns..self.until_ns).contains(&seen.now_ns)
    }
}
