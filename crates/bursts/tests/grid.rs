//! A small part of the grid, played: the hardest links that take seconds, over which every preset for files stalled.

use std::time::Duration;

use bursts::attempt::Try;
use bursts::grid::{Cell, Grid, Line};
use bursts::stack::Stack;

/// Cells of 500 kB at a fifth of all packets lost.
fn cells(grid: &Grid) -> Vec<Cell> {
    let wanted =
        |cell: &Cell| cell.size_bytes == 500_000 && cell.line.loss_percent == 20 && cell.line.rtt_ms <= 200;
    grid.cells().into_iter().filter(wanted).collect()
}

fn median_s(name: &str, grid: &Grid, cell: Cell) -> f64 {
    let stacks = Stack::for_transfers();
    let stack = stacks.iter().find(|stack| stack.name == name).expect("it takes part");
    let mut seconds: Vec<f64> = (1..=5)
        .map(|seed| {
            let attempt = Try { link: grid.link(cell.line), seed };
            let limit = Duration::from_secs(cell.limit_s);
            stack.transfer(&attempt, cell.size_bytes, limit).unwrap_or(f64::INFINITY)
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    assert!(!name.starts_with("restp") || seconds[4].is_finite(), "{name} does not finish {cell:?}");
    seconds[2]
}

/// A try is its seed: TLS and what QUIC draws for secrecy must not reach its times.
#[test]
fn quinn_over_cubic_takes_the_same_time_with_the_same_seed() {
    let grid = Grid::registered();
    let stacks = Stack::for_transfers();
    let stack = stacks.iter().find(|stack| stack.name == "quinn-cubic").expect("it takes part");
    let line = Line { loss_percent: 10, burst_packets: 5, rtt_ms: 50 };
    let seconds = |seed| {
        let attempt = Try { link: grid.link(line), seed };
        stack.transfer(&attempt, 500_000, Duration::from_secs(120)).expect("it finishes")
    };
    let first_s = seconds(3);
    for repeat in 2..=20 {
        assert_eq!(seconds(3), first_s, "repeat {repeat}");
    }
    assert_ne!(seconds(4), first_s, "the seed decides");
}

#[test]
fn the_preset_for_lossy_links_finishes_and_takes_no_twice_the_time_of_quinn() {
    let grid = Grid::registered();
    let cells = cells(&grid);
    assert_eq!(cells.len(), 9);
    for cell in cells {
        let own_s = median_s("restp-file_harq", &grid, cell);
        for other in ["quinn-cubic", "quinn-bbr"] {
            let other_s = median_s(other, &grid, cell);
            assert!(own_s <= other_s * 2.0, "{cell:?}: {own_s} s, {other} {other_s} s");
        }
    }
}
