//! The registered grid (`grid.toml`): its cells, the links they mean, their seeds.

use std::ops::Range;
use std::time::Duration;

use restp_sim::{LinkConfig, Loss};
use serde::Deserialize;

/// The grid as it was registered.
const REGISTERED: &str = include_str!("../grid.toml");

/// What is played and how it is judged; the file's comments define each key.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Links.
    pub link: Links,
    /// Transfers over them.
    pub transfers: Transfers,
    /// Seeds that were not looked at before.
    pub fresh: Fresh,
    /// Messages over them.
    pub messages: Messages,
    /// Limits of the verdict.
    pub goals: Goals,
}

/// Axes of the link.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Links {
    rate_bps: u64,
    loss_percent: Vec<u32>,
    burst_packets: Vec<u32>,
    rtt_ms: Vec<u64>,
}

/// Transfers of one size each.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    size_bytes: Vec<usize>,
    limit_s: Vec<u64>,
    /// Seeds 1 to this one.
    tries: u64,
}

/// Seeds for a confirmation of what was found with those from 1 on.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fresh {
    first_seed: u64,
    /// How many, one number for each size.
    tries: Vec<u64>,
}

/// A steady flow of messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Bytes of a message.
    pub size_bytes: usize,
    interval_ms: u64,
    /// Messages of one try.
    pub count: usize,
    /// Seeds 1 to this one.
    pub tries: u64,
    patience_s: u64,
}

impl Messages {
    /// Time from one message to the next.
    #[must_use]
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }

    /// Time after the last message for which the others are waited for.
    #[must_use]
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.patience_s)
    }
}

/// When a goal is reached.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goals {
    /// A time up to this many times the fastest counts as fast.
    pub within_ratio: f64,
    /// So many cells must be fast, in percent.
    pub within_share_percent: f64,
    /// No cell may take more than this many times the fastest.
    pub never_slower_than_ratio: f64,
}

/// One link of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    /// Share of packets lost, in percent.
    pub loss_percent: u32,
    /// Mean packets lost in a row.
    pub burst_packets: u32,
    /// Round-trip time without queue, in milliseconds.
    pub rtt_ms: u64,
}

/// One link and one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The link.
    pub line: Line,
    /// Bytes to be moved.
    pub size_bytes: usize,
    /// Seconds of virtual time after which a try has failed.
    pub limit_s: u64,
}

impl Grid {
    /// The registered grid.
    ///
    /// # Panics
    /// If the file in this crate is malformed, which its test excludes.
    #[must_use]
    pub fn registered() -> Self {
        match toml::from_str(REGISTERED) {
            Ok(grid) => grid,
            Err(error) => panic!("grid.toml: {error}"),
        }
    }

    /// All links, in the order of the file.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for loss_percent in &self.link.loss_percent {
            for burst_packets in &self.link.burst_packets {
                for rtt_ms in &self.link.rtt_ms {
                    lines.push(Line {
                        loss_percent: *loss_percent,
                        burst_packets: *burst_packets,
                        rtt_ms: *rtt_ms,
                    });
                }
            }
        }
        lines
    }

    /// All cells of the transfers: every link with every size.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let sizes = self.transfers.size_bytes.iter().zip(&self.transfers.limit_s);
        self.lines()
            .into_iter()
            .flat_map(|line| {
                sizes.clone().map(move |(size, limit)| Cell { line, size_bytes: *size, limit_s: *limit })
            })
            .collect()
    }

    /// Seeds of the tries in `cell`: those that recovery was tuned with, or fresh ones.
    #[must_use]
    pub fn seeds(&self, cell: Cell, fresh: bool) -> Range<u64> {
        if !fresh {
            return 1..self.transfers.tries + 1;
        }
        let mut sizes = self.transfers.size_bytes.iter().zip(&self.fresh.tries);
        let tries = sizes.find(|(size, _)| **size == cell.size_bytes).map_or(0, |(_, tries)| *tries);
        self.fresh.first_seed..self.fresh.first_seed + tries
    }

    /// One direction of the link that `line` names.
    #[must_use]
    pub fn link(&self, line: Line) -> LinkConfig {
        let loss = Loss::bursts(f64::from(line.loss_percent) / 100.0, f64::from(line.burst_packets));
        LinkConfig { loss, ..LinkConfig::new(self.link.rate_bps, Duration::from_millis(line.rtt_ms) / 2) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_180_cells_within_the_bounds_of_the_question() {
        let grid = Grid::registered();
        let cells = grid.cells();
        assert_eq!((grid.lines().len(), cells.len()), (60, 180));
        assert!(cells.iter().all(|cell| (1..=30).contains(&cell.line.loss_percent)
            && (1..=20).contains(&cell.line.burst_packets)
            && (10..=600).contains(&cell.line.rtt_ms)
            && (10_000..=10_000_000).contains(&cell.size_bytes)));
        assert!(cells.iter().all(|cell| grid.seeds(*cell, false) == (1..12)));
        assert!(cells.iter().all(|cell| grid.seeds(*cell, true).count() >= 11), "each size has fresh seeds");
        let link = grid.link(cells[179].line);
        assert!((link.loss.mean() - 0.3).abs() < 1e-9);
        assert_eq!((link.rate_bps, link.delay), (Some(10_000_000), Duration::from_millis(300)));
    }
}
