//! Sets of numbers as ranges: packets received, octets of a stream.

/// A set of numbers. Few ranges are expected: of what comes in order there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// From the first number to the one behind the last; ascending, apart from one another.
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    /// Adds the numbers from `start` on and below `end`.
    pub fn insert(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        if from == to {
            self.ranges.insert(from, (start, end));
            return;
        }
        let merged = (start.min(self.ranges[from].0), end.max(self.ranges[to - 1].1));
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
    }

    /// Whether the number is in the set.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.1 <= number);
        self.ranges.get(at).is_some_and(|range| range.0 <= number)
    }

    /// Whether all numbers below `end` are in the set.
    #[must_use]
    pub fn all_below(&self, end: u64) -> bool {
        end == 0 || self.ranges.first().is_some_and(|range| range.0 == 0 && range.1 >= end)
    }

    /// The largest number.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.1 - 1)
    }

    /// Ranges from the largest numbers down, each from its first number to its last.
    pub fn descending(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().rev().map(|range| (range.0, range.1 - 1))
    }

    /// Forgets the smallest numbers, so that at most so many ranges are left.
    pub fn keep(&mut self, most: usize) {
        let excess = self.ranges.len().saturating_sub(most);
        self.ranges.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn equals_a_set_of_numbers() {
        // A walk through many orders, from a small congruential generator.
        let mut state = 7_u64;
        for _ in 0..200 {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for _ in 0..30 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (start, length) = ((state >> 33) % 50, (state >> 50) % 4);
                ranges.insert(start, start + length);
                set.extend(start..start + length);
            }
            assert!((0..60).all(|number| ranges.contains(number) == set.contains(&number)), "{ranges:?}");
            assert_eq!(ranges.last(), set.last().copied());
            let numbers: Vec<u64> =
                ranges.descending().flat_map(|(first, last)| (first..=last).rev()).collect();
            assert_eq!(numbers, set.iter().rev().copied().collect::<Vec<_>>());
            assert!(ranges.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "touching: {ranges:?}");
        }
    }

    #[test]
    fn all_below_needs_no_hole() {
        let mut ranges = Ranges::default();
        assert!(ranges.all_below(0) && !ranges.all_below(1));
        ranges.insert(0, 3);
        ranges.insert(4, 9);
        assert!(ranges.all_below(3) && !ranges.all_below(4));
        ranges.insert(3, 4);
        assert!(ranges.all_below(9) && !ranges.all_below(10));
    }

    #[test]
    fn the_largest_are_kept() {
        let mut ranges = Ranges::default();
        for number in [1, 3, 5] {
            ranges.insert(number, number + 1);
        }
        ranges.keep(2);
        assert_eq!(ranges.descending().collect::<Vec<_>>(), [(5, 5), (3, 3)]);
    }
}
