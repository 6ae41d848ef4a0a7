//! The timeline's player: a thread that changes links and routes at exact instants.

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use crate::background::Background;
use crate::clock::{Woken, ns_to_seconds, seconds_to_ns};
use crate::{Error, LinkChange, Network, RouteChange, RunClock};

/// A timeline being played.
pub struct Timeline {
    player: Background<Result<Made, Error>>,
}

/// The changes that were made, each with the instant at which it really was.
#[derive(Debug, Default)]
pub struct Made {
    /// Of links.
    pub links: Vec<LinkChange>,
    /// Of routes; those planned for one instant are made in one go, and have one instant.
    pub routes: Vec<RouteChange>,
}

/// What is still to be changed.
struct Rest {
    links: Peekable<IntoIter<LinkChange>>,
    routes: Peekable<IntoIter<RouteChange>>,
}

impl Rest {
    /// When the next change is due.
    fn due_ns(&mut self) -> Option<i64> {
        let link_ns = self.links.peek().map(|change| seconds_to_ns(change.at_s));
        let route_ns = self.routes.peek().map(|change| seconds_to_ns(change.at_s));
        link_ns.into_iter().chain(route_ns).min()
    }

    /// Makes a change that is due at `due_ns`: one link's, or all of routes. Of one instant links come first.
    fn make(&mut self, due_ns: i64, network: &Network, at_s: f64, made: &mut Made) -> Result<(), Error> {
        if let Some(change) = self.links.next_if(|change| seconds_to_ns(change.at_s) <= due_ns) {
            network.apply(&change)?;
            made.links.push(LinkChange { at_s, ..change });
            return Ok(());
        }
        let mut together = Vec::new();
        while let Some(change) = self.routes.next_if(|change| seconds_to_ns(change.at_s) <= due_ns) {
            together.push(RouteChange { at_s, ..change });
        }
        network.change_routes(&together)?;
        made.routes.append(&mut together);
        Ok(())
    }
}

impl Timeline {
    /// Applies the entries whose instant has passed already, then returns and applies the others from a
    /// thread of its own, each when its instant comes.
    ///
    /// # Errors
    /// [`Error::Spec`] if the timeline or the changes of routes are not sound (see [`crate::Topology::check_timeline`]
    /// and [`crate::Topology::check_route_changes`]), [`Error::System`] if the kernel refuses a change or a thread.
    pub fn start(
        network: Arc<Network>,
        clock: RunClock,
        timeline: Vec<LinkChange>,
        routes: Vec<RouteChange>,
    ) -> Result<Self, Error> {
        network.topology().check_timeline(&timeline)?;
        network.topology().check_route_changes(&routes, &[])?;
        let mut made = Made::default();
        let mut rest = Rest { links: timeline.into_iter().peekable(), routes: routes.into_iter().peekable() };
        let start_ns = clock.now_ns()?;
        while let Some(due_ns) = rest.due_ns().filter(|due_ns| *due_ns <= start_ns) {
            rest.make(due_ns, &network, ns_to_seconds(start_ns), &mut made)?;
        }
        let player = Background::start("timeline", move |alarm| {
            while let Some(due_ns) = rest.due_ns() {
                if alarm.sleep_until(&clock, due_ns)? == Woken::Called {
                    break;
                }
                let at_s = ns_to_seconds(clock.now_ns()?);
                rest.make(due_ns, &network, at_s, &mut made)?;
            }
            Ok(made)
        })?;
        Ok(Timeline { player })
    }

    /// Ends it and returns the changes made so far, each with the instant at which it was really made.
    ///
    /// # Errors
    /// [`Error::System`] if a change failed while the timeline played.
    pub fn stop(mut self) -> Result<Made, Error> {
        self.player.stop()?.unwrap_or_else(|| Ok(Made::default()))
    }
}
