//! How often the rings of a capture are emptied, so that the links of a run do not overrun them.

use std::collections::BTreeSet;

use netlab::{DRAIN_INTERVAL_S, LinkChange};

use crate::record::FlowPath;

/// What the usual interval is enough for with half of a ring to spare: 2,083 packets of 1,500 bytes, where a ring holds
/// 2,500 whole ones (`netlab::CaptureOptions`).
const USUAL_BPS: f64 = 100e6;

/// Virtual seconds between two emptyings; none: the usual ones.
///
/// All ways of a run may come together on one link, and each has the rate of the fastest link at most. A link without a
/// rate says nothing.
pub fn interval_s(timeline: &[LinkChange], paths: &[FlowPath]) -> Option<f64> {
    let fastest_bps = timeline.iter().filter_map(|change| change.rate_bps.flatten()).fold(0.0, f64::max);
    let ways: BTreeSet<&[String]> = paths.iter().map(|path| path.forward.as_slice()).collect();
    let together_bps = fastest_bps * ways.len() as f64;
    (together_bps > USUAL_BPS).then(|| DRAIN_INTERVAL_S * USUAL_BPS / together_bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(rate_bps: Option<f64>) -> LinkChange {
        LinkChange { link: "a>b".to_owned(), rate_bps: Some(rate_bps), ..LinkChange::default() }
    }

    fn path(first: &str) -> FlowPath {
        let forward = vec![first.to_owned(), "b>c".to_owned()];
        FlowPath { flow: "f0".to_owned(), forward, back: Vec::new(), addresses: None }
    }

    #[test]
    fn slow_links_and_those_without_a_rate_leave_the_usual_interval() {
        assert_eq!(interval_s(&[rate(Some(100e6)), rate(None)], &[path("a>b"), path("a>b")]), None);
        assert_eq!(interval_s(&[rate(None)], &[path("a>b")]), None);
    }

    #[test]
    fn what_comes_together_from_several_ways_has_room_in_a_ring() {
        let paths = [path("a>b"), path("a>d"), path("a>e"), path("a>b")];
        let interval_s = interval_s(&[rate(Some(100e6)), rate(Some(5e6))], &paths).expect("300 Mbit/s");
        let packets = 300e6 * interval_s / (8.0 * 1500.0);
        assert!((2000.0..2500.0).contains(&packets), "{packets}");
    }
}
