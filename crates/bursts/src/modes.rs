//! How the tries of a small transfer spread: it either meets a burst that swallows a whole flight and waits for a timer, or
//! it does not, and its median says only which of the two was the more frequent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::grid::Cell;
use crate::table::Transfer;

/// A try is slow if it took more than so many times the fastest of the same stack in the same cell.
const SLOW_RATIO: f64 = 2.0;

/// The tries of one stack in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Share of slow tries in percent; those that failed are slow.
    pub slow_percent: f64,
    /// Nine of ten tries took at most so many seconds.
    pub p90_s: f64,
    /// And none longer than so many; infinite if one failed.
    pub worst_s: f64,
}

impl Spread {
    /// The spread of single tries, of which those that failed are infinite; `None` if there are none.
    #[must_use]
    pub fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let (fastest_s, worst_s) = (*seconds.first()?, *seconds.last()?);
        let is_slow = |it: &&f64| !it.is_finite() || **it > SLOW_RATIO * fastest_s;
        let slow = seconds.iter().filter(is_slow).count();
        let place = (0.9 * seconds.len() as f64).ceil() as usize;
        let slow_percent = 100.0 * slow as f64 / seconds.len() as f64;
        Some(Self { slow_percent, p90_s: seconds[place.max(1) - 1], worst_s })
    }
}

/// The spreads of all stacks in the cells of the smallest size, as a table of the page.
#[must_use]
pub fn table(tries: &[Transfer]) -> String {
    let Some(size) = tries.iter().map(|it| it.cell.size_bytes).min() else { return String::new() };
    let mut seconds: BTreeMap<Cell, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for it in tries.iter().filter(|it| it.cell.size_bytes == size) {
        let cell = seconds.entry(it.cell).or_default();
        cell.entry(&it.stack).or_default().push(it.seconds.unwrap_or(f64::INFINITY));
    }
    let stacks: BTreeSet<&str> = seconds.values().flat_map(BTreeMap::keys).copied().collect();
    let mut text = format!(
        "\n## How small transfers spread\n\nA transfer of {} kB is a flight or two. A burst that swallows a flight whole leaves nothing that \
         acknowledgements could tell of, so that a timer must: such tries take several times as long as the others, and the median of a cell \
         says which kind was the more frequent. Of the fresh seeds: the share of tries that took more than {SLOW_RATIO:.0} times the stack's \
         fastest in the cell; seconds of nine tries in ten; seconds of the worst (a dash: it failed).\n\n",
        size / 1000
    );
    let head: Vec<&str> = stacks.iter().copied().collect();
    let columns = "---|".repeat(head.len());
    let _ = writeln!(text, "| loss | burst | RTT | {} |\n|---|---|---|{columns}", head.join(" | "));
    for (cell, row) in seconds {
        let line = cell.line;
        let _ = write!(text, "| {} % | {} | {} ms |", line.loss_percent, line.burst_packets, line.rtt_ms);
        for stack in &stacks {
            let _ = match row.get(stack).cloned().and_then(Spread::of) {
                None => write!(text, " |"),
                Some(it) => {
                    let (p90, worst) = (time(it.p90_s), time(it.worst_s));
                    write!(text, " {:.0} %, {p90}, {worst} |", it.slow_percent)
                }
            };
        }
        text.push('\n');
    }
    text
}

fn time(seconds: f64) -> String {
    if seconds.is_finite() { format!("{seconds:.2}") } else { "–".into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    #[test]
    fn slow_tries_are_told_from_the_fastest_of_their_own_and_failures_are_slow() {
        let mut seconds = vec![0.1; 15];
        seconds.extend([0.2, 0.21, 1.1, 1.2, f64::INFINITY]);
        let spread = Spread::of(seconds).unwrap();
        assert_eq!(spread, Spread { slow_percent: 20.0, p90_s: 1.1, worst_s: f64::INFINITY });
        assert_eq!(Spread::of(vec![f64::INFINITY; 3]).unwrap().slow_percent, 100.0);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn the_table_has_the_smallest_size_only() {
        let grid = Grid::registered();
        let cells = grid.cells();
        let of = |cell: Cell, seconds| Transfer { stack: "own".into(), cell, seed: 1, seconds };
        let text = table(&[of(cells[0], Some(0.5)), of(cells[0], None), of(cells[1], Some(7.0))]);
        assert!(text.contains("| own |") && text.contains("| 50 %, –, – |"), "{text}");
        assert!(!text.contains("7.00"), "{text}");
        assert_eq!(table(&[]), "");
    }
}
