//! What this program can play, for who writes its plans: one JSON object (`gauntlet-player --describe`).

use std::collections::BTreeMap;

use netlab::in_path::RuleDescription;
use serde::Serialize;

use crate::plan::Drop;

#[derive(Serialize)]
struct Description {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    transports: transports::Description,
    /// The names of the parameters of each application.
    applications: BTreeMap<&'static str, Vec<&'static str>>,
    /// What rules of an in-path node can say, and the keys of the one that needs no node.
    rules: Rules,
}

#[derive(Serialize)]
struct Rules {
    #[serde(flatten)]
    node: RuleDescription,
    drops: Vec<&'static str>,
}

/// The description as text.
pub fn text() -> String {
    let description = Description {
        format: "gauntlet-player",
        version: 1,
        transports: transports::describe(),
        applications: workload::apps::describe(),
        rules: Rules { node: netlab::in_path::describe(), drops: transports::parameters::<Drop>() },
    };
    serde_json::to_string_pretty(&description).expect("names and texts can be written as JSON")
}
