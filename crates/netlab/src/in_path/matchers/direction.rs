//! `towards`: which of the two nodes beside this one the packet goes to.

use serde_json::Value;

use super::{Found, Kind, Matcher, Names, Seen, read};
use crate::in_path::random::Random;

pub(super) const TOWARDS: Kind = Kind { key: "towards", build };

fn build(value: &Value, names: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let node: String = read(value, "the name of a node")?;
    side(&node, names.between).map(|side| Box::new(Towards(side)) as Box<dyn Matcher>)
}

/// Which of the two nodes is meant.
pub(in crate::in_path) fn side(node: &str, between: &[String; 2]) -> Result<usize, String> {
    between.iter().position(|name| name == node).ok_or_else(|| {
        format!(
            "is \"{node}\"; it must be \"{}\" or \"{}\", between which this node stands",
            between[0], between[1]
        )
    })
}

struct Towards(usize);

impl Matcher for Towards {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        seen.towards == self.0
    }
}
