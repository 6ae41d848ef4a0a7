#[path = "sim/compositions.rs"]
mod compositions;
#[path = "sim/copies.rs"]
mod copies;
#[path = "sim/paths.rs"]
#[allow(dead_code)]
mod paths;
#[path = "sim/soak.rs"]
mod soak;
#[path = "sim/interaction.rs"]
mod interaction;
