//! `towards`: which of the two nodes beside this one the packet goes to.

use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Names, Seen, read};
use crate::random::Random;

pub(super) const TOWARDS: Kind = Kind { key: "towards", build };

fn build(value: &Value, names: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let node: String = read(value, "the name of a node")?;
    names.side(&node).map(|side| Box::new(Towards(side)) as Box<dyn Matcher>)
}

struct Towards(usize);

impl Matcher for Towards {
    fn holds(&mut self, seen: &Seen<'_>, _: &mut Found) -> bool {
        seen.towards == self.0
    }
}
