//! What is measured how often: in full as the laboratory promises, or quick, in some minutes.

use std::time::Duration;

use super::arms::Rank;

/// A gap and the samples that it gets in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The rest before a message is sent, and again before it is received.
    pub length: Duration,
    /// Samples of a block.
    pub samples: usize,
}

/// Which lengths and gaps.
pub struct Schedule {
    quick: bool,
    payloads: Vec<usize>,
    gaps: Vec<u64>,
    /// Somebody named lengths or gaps: all of them are measured with every arm.
    named: bool,
    alone: bool,
    samples: Option<usize>,
}

/// The payloads of Figures 4.1 and 4.2 of the study (key SPACE), and the ends of the range here: the longest is that of
/// CryptoLib's TM and AOS frames.
const PAYLOADS: [usize; 6] = [64, 128, 256, 512, 1024, 1786];

/// Gaps in milliseconds with the samples of a block: in full (10,000, 10,000, 500 and 200 in ten blocks), and quick.
const GAPS: [(u64, usize, usize); 4] = [(0, 1000, 100), (10, 1000, 12), (500, 50, 3), (2000, 20, 3)];

/// What the operations of turns that are taken together are apart at least: seven times the gap of 10 ms, after which a
/// message costs nearly what it costs after two seconds. Whether company changes the times is measured, not assumed
/// (bench `space-company`).
pub const APART: Duration = Duration::from_millis(70);

/// Blocks in full, and quick.
const BLOCKS: (usize, usize) = (10, 5);

impl Schedule {
    /// A schedule of these lengths and gaps in milliseconds, or of all.
    pub fn new(quick: bool, payloads: &[usize], gaps: &[u64]) -> Self {
        let named = !payloads.is_empty() || !gaps.is_empty();
        let all: Vec<u64> = GAPS.iter().map(|(ms, ..)| *ms).collect();
        Self {
            quick,
            payloads: if payloads.is_empty() { PAYLOADS.to_vec() } else { payloads.to_vec() },
            gaps: if gaps.is_empty() { all } else { gaps.to_vec() },
            named,
            alone: false,
            samples: None,
        }
    }

    /// The same with every turn alone, if it is so.
    pub fn alone(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// The same with this many samples of each cell in a block, if a number is named.
    pub fn samples(self, samples: Option<usize>) -> Self {
        Self { samples, ..self }
    }

    /// How many turns with such a gap may be taken together.
    pub fn together(&self, gap: Duration) -> usize {
        let most = if self.alone { 1 } else { gap.as_nanos() / APART.as_nanos() };
        most.max(1) as usize
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        if self.quick { BLOCKS.1 } else { BLOCKS.0 }
    }

    /// Lengths and gaps that an arm of this rank gets in each block.
    pub fn cells(&self, rank: Rank) -> Vec<(usize, Gap)> {
        let mut cells = Vec::new();
        for &payload in &self.payloads {
            for &ms in &self.gaps {
                // A gap that is none of the four has the samples of the next shorter one.
                let (_, full, few) = *GAPS.iter().rev().find(|(gap, ..)| *gap <= ms).unwrap_or(&GAPS[0]);
                let samples = self.samples.unwrap_or(if self.quick { few } else { full });
                if !self.quick || self.named || worth_its_time(rank, payload, ms) {
                    cells.push((payload, Gap { length: Duration::from_millis(ms), samples }));
                }
            }
        }
        cells
    }
}

/// Whether a quick measurement has time for it: gaps are what takes long.
fn worth_its_time(rank: Rank, payload: usize, gap_ms: u64) -> bool {
    match gap_ms {
        0 => true,
        10 => rank >= Rank::Security && (payload == 128 || payload == 1024),
        500 => (rank >= Rank::Security && payload == 1024) || (rank == Rank::Main && payload == 128),
        _ => rank == Rank::Main && payload == 1024,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_full_each_gap_has_the_samples_that_are_promised() {
        let schedule = Schedule::new(false, &[], &[]);
        for rank in [Rank::Variant, Rank::Security, Rank::Main] {
            let cells = schedule.cells(rank);
            assert_eq!(cells.len(), 24);
            for (_, gap) in cells {
                let promised = match gap.length.as_millis() {
                    0 | 10 => 10_000,
                    500 => 500,
                    _ => 200,
                };
                assert_eq!(gap.samples * schedule.blocks(), promised, "{gap:?}");
            }
        }
    }

    #[test]
    fn turns_are_apart_however_many_are_taken_together() {
        let schedule = Schedule::new(false, &[], &[]);
        for ms in [0, 10, 139, 140, 500, 2000] {
            let (gap, together) = (Duration::from_millis(ms), schedule.together(Duration::from_millis(ms)));
            assert!(together == 1 || gap / together as u32 >= APART, "{ms} ms: {together}");
            assert_eq!(Schedule::new(false, &[], &[]).alone(true).together(gap), 1);
        }
        assert_eq!(schedule.together(Duration::from_secs(2)), 28);
    }

    #[test]
    fn samples_that_were_named_are_those_of_every_gap() {
        let cells = Schedule::new(false, &[64], &[0, 2000]).samples(Some(5)).cells(Rank::Variant);
        assert_eq!(cells.iter().map(|(_, gap)| gap.samples).collect::<Vec<_>>(), [5, 5]);
    }

    #[test]
    fn what_was_named_is_measured_with_every_arm() {
        let cells = Schedule::new(true, &[300], &[700]).cells(Rank::Variant);
        assert_eq!(cells, [(300, Gap { length: Duration::from_millis(700), samples: 3 })]);
    }
}
