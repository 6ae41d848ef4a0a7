//! Which cells have been played whole: a page from an interrupted play counts no others, and says what is missing.

use std::collections::{BTreeMap, BTreeSet};

use crate::grid::{Cell, Grid};
use crate::table::Transfer;

/// The tries of the cells in which every stack that took part anywhere has all its registered tries.
#[must_use]
pub fn cells(grid: &Grid, tries: Vec<Transfer>, fresh: bool) -> Vec<Transfer> {
    let stacks: BTreeSet<&str> = tries.iter().map(|it| it.stack.as_str()).collect();
    let mut played: BTreeMap<Cell, BTreeSet<(&str, u64)>> = BTreeMap::new();
    for it in &tries {
        played.entry(it.cell).or_default().insert((&it.stack, it.seed));
    }
    let wanted = |cell: Cell| stacks.len() * grid.seeds(cell, fresh).count();
    let whole: BTreeSet<Cell> =
        played.into_iter().filter(|(cell, had)| had.len() == wanted(*cell)).map(|(cell, _)| cell).collect();
    tries.into_iter().filter(|it| whole.contains(&it.cell)).collect()
}

/// Which cells are missing, as a paragraph; nothing if none is.
#[must_use]
pub fn missing(grid: &Grid, tries: &[Transfer]) -> String {
    let played: BTreeSet<Cell> = tries.iter().map(|it| it.cell).collect();
    let mut by_loss: BTreeMap<_, usize> = BTreeMap::new();
    for cell in grid.cells().into_iter().filter(|cell| !played.contains(cell)) {
        *by_loss.entry(cell.line.loss_percent).or_default() += 1;
    }
    if by_loss.is_empty() {
        return String::new();
    }
    let losses: Vec<String> =
        by_loss.iter().map(|(loss, cells)| format!("{cells} cells with losses of {loss} %")).collect();
    format!(
        "**Not everything is played yet.** This is about {} of {} cells; missing are {}.\n\n",
        played.len(),
        grid.cells().len(),
        losses.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_when_every_stack_has_all_its_tries() {
        let grid = Grid::registered();
        let cells_of_grid = grid.cells();
        let (whole, begun) = (cells_of_grid[0], cells_of_grid[1]);
        let of = |cell, stack: &str, seed| Transfer { stack: stack.into(), cell, seed, seconds: Some(1.0) };
        let mut tries = Vec::new();
        for seed in grid.seeds(whole, false) {
            tries.extend([of(whole, "own", seed), of(whole, "other", seed), of(begun, "own", seed)]);
        }
        let kept = cells(&grid, tries, false);
        assert!(kept.iter().all(|it| it.cell == whole) && kept.len() == 22, "{}", kept.len());
        let sentence = missing(&grid, &kept);
        assert!(
            sentence.contains("1 of 180 cells") && sentence.contains("35 cells with losses of 1 %"),
            "{sentence}"
        );
    }

    #[test]
    fn nothing_is_said_of_a_whole_play() {
        let grid = Grid::registered();
        let tries = grid.cells().into_iter();
        let tries: Vec<_> =
            tries.map(|cell| Transfer { stack: "own".into(), cell, seed: 1, seconds: None }).collect();
        assert_eq!(missing(&grid, &tries), "");
    }
}
