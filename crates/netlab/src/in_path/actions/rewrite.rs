//! `rewrite`: fields of the packet get other values.

use serde::Deserialize;

use crate::in_path::action::{Action, Checksums, Hand, Kind};
use crate::in_path::fields::Fields;
use crate::in_path::place::Within;

pub(super) const REWRITE: Kind = Kind {
    name: "rewrite",
    parameters: &["set", "checksums"],
    without_packet: false,
    build: |params, names, _| {
        let Params { set, checksums } = params.read()?;
        let set = set.checked()?;
        if set.in_message() {
            Within::Message.known(names)?;
        }
        Ok(Box::new(Rewrite { set, checksums }))
    },
};

#[derive(Deserialize)]
struct Params {
    set: Fields,
    #[serde(default)]
    checksums: Checksums,
}

struct Rewrite {
    set: Fields,
    checksums: Checksums,
}

impl Action for Rewrite {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = &mut hand.frame else { return false };
        let fits = self.set.write(&mut frame.bytes, hand.part.as_ref());
        self.checksums.settle(&mut frame.bytes);
        fits
    }
}
