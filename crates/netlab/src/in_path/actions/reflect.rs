//! `reflect`: the packet goes back to where it came from.

use serde::Deserialize;

use crate::in_path::action::{Action, Checksums, Extra, Fate, Hand, Kind};
use crate::in_path::fields;

pub(super) const REFLECT: Kind = Kind {
    name: "reflect",
    parameters: &["swap", "keep", "checksums"],
    without_packet: false,
    build: |params, _, _| params.read::<Reflect>().map(|reflect| Box::new(reflect) as Box<dyn Action>),
};

#[derive(Deserialize)]
struct Reflect {
    #[serde(default)]
    swap: Swap,
    /// Whether the packet itself goes on, and a copy of it back.
    #[serde(default)]
    keep: bool,
    #[serde(default)]
    checksums: Checksums,
}

/// Which fields change places, so that the packet is taken for an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Swap {
    Nothing,
    Addresses,
    #[default]
    AddressesAndPorts,
}

impl Action for Reflect {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(mut frame) = hand.frame.clone() else { return false };
        frame.turn(1 - frame.towards);
        let fits = match self.swap {
            Swap::Nothing => true,
            Swap::Addresses => fields::swap_addresses(&mut frame.bytes),
            Swap::AddressesAndPorts => {
                fields::swap_addresses(&mut frame.bytes) && fields::swap_ports(&mut frame.bytes)
            }
        };
        if self.swap != Swap::Nothing {
            self.checksums.settle(&mut frame.bytes);
        }
        hand.extra.push(Extra { frame, after_ns: 0, before: false, copy: false });
        if !self.keep {
            hand.fate = Fate::Dropped;
        }
        fits
    }
}
