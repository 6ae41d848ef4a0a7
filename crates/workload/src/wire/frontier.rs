//! The in-order end of a stream whose pieces arrive in any order, and the instants at which it moved.

use std::collections::BTreeMap;
use std::ops::Range;

/// What has arrived of a stream.
#[derive(Debug, Default)]
pub(super) struct Frontier {
    reached: u64,
    /// Pieces beyond a gap, by their start; none touches another nor the frontier.
    beyond: BTreeMap<u64, u64>,
    steps: Vec<(u64, i64)>,
}

impl Frontier {
    /// Every byte before this offset has arrived.
    pub(super) fn reached(&self) -> u64 {
        self.reached
    }

    /// Takes note of a piece, which may overlap with others or have been here before.
    pub(super) fn arrive(&mut self, t_ns: i64, piece: Range<u64>) {
        if piece.end <= self.reached {
            return;
        }
        if piece.start > self.reached {
            self.keep(piece);
            return;
        }
        self.reached = piece.end;
        while let Some((start, end)) = self.beyond.first_key_value().map(|(start, end)| (*start, *end)) {
            if start > self.reached {
                break;
            }
            self.beyond.remove(&start);
            self.reached = self.reached.max(end);
        }
        match self.steps.last_mut() {
            Some((end, at_ns)) if *at_ns == t_ns => *end = self.reached,
            _ => self.steps.push((self.reached, t_ns)),
        }
    }

    fn keep(&mut self, mut piece: Range<u64>) {
        while let Some((start, end)) =
            self.beyond.range(..=piece.end).next_back().map(|(start, end)| (*start, *end))
        {
            if end < piece.start {
                break;
            }
            self.beyond.remove(&start);
            piece = piece.start.min(start)..piece.end.max(end);
        }
        self.beyond.insert(piece.start, piece.end);
    }

    /// The ends of the stretches that became whole, with their instants.
    pub(super) fn into_steps(self) -> Vec<(u64, i64)> {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The plain definition: byte n is readable at the latest of the first arrivals of the bytes up to n.
    fn by_definition(pieces: &[(u64, u64)], length: u64) -> Vec<Option<i64>> {
        let mut latest = Some(i64::MIN);
        (0..length)
            .map(|byte| {
                let first = pieces
                    .iter()
                    .position(|(start, size)| (*start..start + size).contains(&byte))
                    .map(|index| index as i64);
                latest = latest.zip(first).map(|(a, b)| a.max(b));
                latest
            })
            .collect()
    }

    proptest! {
        #[test]
        fn moves_as_the_definition_says(pieces in prop::collection::vec((0_u64..60, 1_u64..15), 0..80)) {
            let mut frontier = Frontier::default();
            for (index, (start, size)) in pieces.iter().enumerate() {
                frontier.arrive(index as i64, *start..start + size);
            }
            let steps = frontier.into_steps();
            let expected = by_definition(&pieces, 75);
            for (byte, expected) in expected.iter().enumerate() {
                let step = steps.iter().find(|(end, _)| *end > byte as u64).map(|(_, t_ns)| *t_ns);
                prop_assert_eq!(step, *expected, "byte {}", byte);
            }
        }
    }

    #[test]
    fn a_gap_holds_everything_behind_it_back() {
        let mut frontier = Frontier::default();
        frontier.arrive(1, 0..10);
        frontier.arrive(2, 20..30);
        frontier.arrive(3, 30..40);
        frontier.arrive(4, 10..20);
        assert_eq!(frontier.into_steps(), [(10, 1), (40, 4)]);
    }
}
