//! What a node keeps: packets that were remembered, and packets that wait to be let go.

use std::collections::BTreeMap;

use super::frame::Frame;

/// Both kinds, by name.
#[derive(Debug, Default)]
pub(crate) struct Stores {
    pub captured: BTreeMap<String, Vec<Frame>>,
    pub held: BTreeMap<String, Vec<Held>>,
}

/// A packet that waits.
#[derive(Debug)]
pub(crate) struct Held {
    pub frame: Frame,
    /// Its number among those that were seen.
    pub packet: u32,
    pub altered: bool,
}
