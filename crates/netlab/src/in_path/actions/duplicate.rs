//! `duplicate`: copies of the packet, as it is now, leave behind it.

use serde::Deserialize;

use crate::in_path::action::{Action, Extra, Hand, Kind, duration_ns, one};

pub(super) const DUPLICATE: Kind = Kind {
    name: "duplicate",
    parameters: &["copies", "after_s", "interval_s"],
    without_packet: false,
    build: |params, _, _| {
        let Params { copies, after_s, interval_s } = params.read()?;
        if copies == 0 {
            return Err("has 0 for `copies`; it must be at least 1".into());
        }
        let (after_ns, interval_ns) =
            (duration_ns("after_s", after_s)?, duration_ns("interval_s", interval_s)?);
        Ok(Box::new(Duplicate { copies, after_ns, interval_ns }))
    },
};

#[derive(Deserialize)]
struct Params {
    #[serde(default = "one")]
    copies: u16,
    /// From the packet to its first copy.
    #[serde(default)]
    after_s: f64,
    /// From each copy to the next.
    #[serde(default)]
    interval_s: f64,
}

struct Duplicate {
    copies: u16,
    after_ns: i64,
    interval_ns: i64,
}

impl Action for Duplicate {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let Some(frame) = &hand.frame else { return false };
        let copy = |number: u16| Extra {
            frame: frame.clone(),
            after_ns: self.after_ns + i64::from(number) * self.interval_ns,
            before: false,
            copy: true,
        };
        hand.extra.extend((0..self.copies).map(copy));
        true
    }
}
