//! Networks by name, one file each. A new preset is a new file and a line in `PRESETS`.

mod parts;
mod rail_d34;
mod rail_d34_dual;
mod wire;
mod wire_dual;

use crate::{Error, NetworkSpec};

type Constructor = fn() -> NetworkSpec;

/// Name and constructor of every preset.
const PRESETS: [(&str, Constructor); 4] = [
    ("rail-d34", rail_d34::network),
    ("rail-d34-dual", rail_d34_dual::network),
    ("wire", wire::network),
    ("wire-dual", wire_dual::network),
];

/// Names of all presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    PRESETS.iter().map(|(name, _)| *name)
}

/// The preset called `name`, written out as nodes, links, addresses, routes and tunnels.
///
/// # Errors
/// [`Error::Spec`] that lists the known names if there is no such preset.
pub fn get(name: &str) -> Result<NetworkSpec, Error> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((_, network)) => Ok(network()),
        None => {
            let known: Vec<&str> = names().collect();
            Err(Error::Spec(format!(
                "network: there is no preset \"{name}\"; the presets are {}",
                known.join(", ")
            )))
        }
    }
}
