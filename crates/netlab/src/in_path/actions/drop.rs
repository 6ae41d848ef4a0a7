//! `drop`: the packet is gone.

use serde::Deserialize;

use crate::in_path::action::{Action, Fate, Hand, Kind};

pub(super) const DROP: Kind = Kind {
    name: "drop",
    parameters: &[],
    without_packet: false,
    build: |params, _, _| params.read::<Params>().map(|Params {}| Box::new(Drop) as Box<dyn Action>),
};

#[derive(Deserialize)]
struct Params {}

struct Drop;

impl Action for Drop {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        hand.fate = Fate::Dropped;
        true
    }
}
