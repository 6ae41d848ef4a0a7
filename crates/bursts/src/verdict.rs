//! What the tries say: medians, who finished, who was fastest, which goals are reached.

use std::collections::BTreeMap;

use crate::grid::{Cell, Goals};
use crate::table::Transfer;

/// The tries of one stack in one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Result {
    /// Median in seconds; tries that failed took for ever.
    pub median_s: f64,
    /// Tries that finished.
    pub finished: usize,
    /// Tries.
    pub tries: usize,
}

impl Result {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let finished = seconds.iter().filter(|seconds| seconds.is_finite()).count();
        Self { median_s: seconds[seconds.len() / 2], finished, tries: seconds.len() }
    }

    /// All tries finished.
    #[must_use]
    pub fn finishes(&self) -> bool {
        self.finished == self.tries
    }
}

/// Results of all stacks in all cells.
pub type Results = BTreeMap<Cell, BTreeMap<String, Result>>;

/// Sums up single tries.
#[must_use]
pub fn results(transfers: &[Transfer]) -> Results {
    let mut seconds: BTreeMap<Cell, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for transfer in transfers {
        let cell = seconds.entry(transfer.cell).or_default();
        cell.entry(transfer.stack.clone()).or_default().push(transfer.seconds.unwrap_or(f64::INFINITY));
    }
    let sum_up = |stacks: BTreeMap<String, Vec<f64>>| {
        stacks.into_iter().map(|(stack, seconds)| (stack, Result::of(seconds))).collect()
    };
    seconds.into_iter().map(|(cell, stacks)| (cell, sum_up(stacks))).collect()
}

/// How one stack fares against others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Cells in which it took part.
    pub cells: usize,
    /// Cells that another stack finishes and it does not.
    pub left_behind: Vec<Cell>,
    /// Cells in which it is fast.
    pub fast: usize,
    /// Cells in which it takes more than the bound, with its time over the fastest.
    pub slow: Vec<(Cell, f64)>,
}

impl Verdict {
    /// The verdict on `judged` against those of the others that `counts` lets in.
    #[must_use]
    pub fn on(judged: &str, results: &Results, goals: Goals, counts: impl Fn(&str) -> bool) -> Self {
        let mut verdict = Self::default();
        for (cell, stacks) in results {
            let Some(own) = stacks.get(judged) else { continue };
            let others =
                || stacks.iter().filter(|(name, _)| *name != judged && counts(name)).map(|(_, it)| it);
            verdict.cells += 1;
            if !own.finishes() && others().any(Result::finishes) {
                verdict.left_behind.push(*cell);
            }
            let fastest_s = others().map(|it| it.median_s).fold(own.median_s, f64::min);
            // Where nobody arrives nobody is late.
            let ratio = if fastest_s.is_finite() { own.median_s / fastest_s } else { 1.0 };
            verdict.fast += usize::from(ratio <= goals.within_ratio);
            if ratio > goals.never_slower_than_ratio {
                verdict.slow.push((*cell, ratio));
            }
        }
        verdict
    }

    /// Share of cells in which it is fast, in percent.
    #[must_use]
    pub fn fast_percent(&self) -> f64 {
        100.0 * self.fast as f64 / self.cells.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Grid;

    fn tries(stack: &str, cell: Cell, seconds: &[Option<f64>]) -> Vec<Transfer> {
        (1..)
            .zip(seconds)
            .map(|(seed, seconds)| Transfer { stack: stack.into(), cell, seed, seconds: *seconds })
            .collect()
    }

    #[test]
    fn a_failed_try_counts_as_endless_and_as_not_finished() {
        let grid = Grid::registered();
        let [first, second] = [grid.cells()[0], grid.cells()[1]];
        let mut all = tries("own", first, &[Some(1.0), Some(3.0), None]);
        all.extend(tries("other", first, &[Some(1.4), Some(1.0), Some(1.5)]));
        all.extend(tries("own", second, &[Some(1.0), Some(1.0), Some(1.05)]));
        all.extend(tries("other", second, &[None, None, None]));
        let results = results(&all);
        assert_eq!(results[&first]["own"], Result { median_s: 3.0, finished: 2, tries: 3 });
        let verdict = Verdict::on("own", &results, grid.goals, |_| true);
        assert_eq!((verdict.cells, verdict.fast, verdict.left_behind), (2, 1, vec![first]));
        assert_eq!(verdict.slow, [(first, 3.0 / 1.4)]);
        let alone = Verdict::on("own", &results, grid.goals, |name| name != "other");
        assert_eq!((alone.fast, alone.left_behind.len(), alone.slow.len()), (2, 0, 0));
    }
}
