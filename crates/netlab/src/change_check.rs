//! Checks of changes against the network whose links they change.

use crate::Error;
use crate::change::LinkChange;
use crate::qdisc::Impairment;
use crate::topology::{Direction, Topology};

impl Topology {
    /// Checks a whole timeline against this network: order, links, values, and that no direction ever has
    /// both a rate and a delay.
    ///
    /// # Errors
    /// [`Error::Spec`] with one sentence about the first mistake.
    pub fn check_timeline(&self, timeline: &[LinkChange]) -> Result<(), Error> {
        let mut states: Vec<(Direction, Impairment)> = Vec::new();
        let mut last_s = 0.0;
        for change in timeline {
            let direction = self.check_change(change)?;
            if change.at_s < last_s {
                return Err(Error::Spec(format!(
                    "{}: the entry before it is at {last_s} s; sort the timeline by at_s",
                    change.place()
                )));
            }
            last_s = change.at_s;
            let old = states.iter().position(|(known, _)| *known == direction);
            let merged = self.merge(direction, old.map(|i| states[i].1), change)?;
            match old {
                Some(i) => states[i].1 = merged,
                None => states.push((direction, merged)),
            }
        }
        Ok(())
    }

    /// Checks one change on its own and finds its link direction.
    pub(crate) fn check_change(&self, change: &LinkChange) -> Result<Direction, Error> {
        let direction = self
            .direction(&change.link)
            .map_err(|e| Error::Spec(format!("timeline at {} s: {e}", change.at_s)))?;
        change.check_values().map_err(|e| Error::Spec(format!("{}: {e}", change.place())))?;
        Ok(direction)
    }

    /// What the direction is like after a change.
    pub(crate) fn merge(
        &self,
        direction: Direction,
        old: Option<Impairment>,
        change: &LinkChange,
    ) -> Result<Impairment, Error> {
        let mtu_bytes = self.links[direction.link].mtu_bytes;
        Impairment::merge(old, change, mtu_bytes).map_err(|e| Error::Spec(format!("{}: {e}", change.place())))
    }
}
