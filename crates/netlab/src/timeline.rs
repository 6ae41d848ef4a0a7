//! The timeline's player: a thread that changes links at exact instants.

use std::sync::Arc;

use crate::background::Background;
use crate::clock::{Woken, ns_to_seconds, seconds_to_ns};
use crate::{Error, LinkChange, Network, RunClock};

/// A timeline being played.
pub struct Timeline {
    player: Background<Result<Vec<LinkChange>, Error>>,
}

impl Timeline {
    /// Applies the entries whose instant has passed already, then returns and applies the others from a
    /// thread of its own, each when its instant comes.
    ///
    /// # Errors
    /// [`Error::Spec`] if the timeline is not sound (see [`crate::Topology::check_timeline`]),
    /// [`Error::System`] if the kernel refuses a change or a thread.
    pub fn start(network: Arc<Network>, clock: RunClock, timeline: Vec<LinkChange>) -> Result<Self, Error> {
        network.topology().check_timeline(&timeline)?;
        let mut made = Vec::with_capacity(timeline.len());
        let mut timeline = timeline.into_iter().peekable();
        let start_ns = clock.now_ns()?;
        while let Some(change) = timeline.next_if(|change| seconds_to_ns(change.at_s) <= start_ns) {
            network.apply(&change)?;
            made.push(LinkChange { at_s: ns_to_seconds(start_ns), ..change });
        }
        let player = Background::start("timeline", move |alarm| {
            for change in timeline {
                if alarm.sleep_until(&clock, seconds_to_ns(change.at_s))? == Woken::Called {
                    break;
                }
                let at_s = ns_to_seconds(clock.now_ns()?);
                network.apply(&change)?;
                made.push(LinkChange { at_s, ..change });
            }
            Ok(made)
        })?;
        Ok(Timeline { player })
    }

    /// Ends it and returns the changes made so far, each with the instant at which it was really made.
    ///
    /// # Errors
    /// [`Error::System`] if a change failed while the timeline played.
    pub fn stop(mut self) -> Result<Vec<LinkChange>, Error> {
        self.player.stop()?.unwrap_or_else(|| Ok(Vec::new()))
    }
}
