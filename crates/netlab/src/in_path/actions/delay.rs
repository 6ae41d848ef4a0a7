//! `delay`: the packet leaves later; others pass it meanwhile.

use serde::Deserialize;

use crate::in_path::action::{Action, Hand, Kind, duration_ns};
use crate::random::Random;

pub(super) const DELAY: Kind = Kind {
    name: "delay",
    parameters: &["delay_s", "jitter_s"],
    without_packet: false,
    build: |params, _, random| {
        let Params { delay_s, jitter_s } = params.read()?;
        let (delay_ns, jitter_ns) = (duration_ns("delay_s", delay_s)?, duration_ns("jitter_s", jitter_s)?);
        if jitter_ns > delay_ns {
            return Err(format!("has {jitter_s} for `jitter_s`; it must not exceed `delay_s`"));
        }
        Ok(Box::new(Delay { delay_ns, jitter_ns, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    delay_s: f64,
    /// Half the width of a uniform variation.
    #[serde(default)]
    jitter_s: f64,
}

struct Delay {
    delay_ns: i64,
    jitter_ns: i64,
    random: Random,
}

impl Action for Delay {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let place = if self.jitter_ns == 0 { 0.0 } else { 2.0 * self.random.fraction() - 1.0 };
        hand.delay_ns += self.delay_ns + (place * self.jitter_ns as f64).round() as i64;
        true
    }
}
