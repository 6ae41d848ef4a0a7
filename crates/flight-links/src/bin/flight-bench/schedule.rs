//! What is measured how often: in full as the laboratory promises, or quick, in some minutes.

use std::time::Duration;

use super::arms::Rank;

/// A gap and the samples that it gets in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// The payloads of Figures 4.1 and 4.2 of the study (key SPACE), and the ends of the range here: the longest is that of
/// CryptoLib's TM and AOS frames.
const PAYLOADS: [usize; 6] = [64, 128, 256, 512, 1024, 1786];

/// Gaps in milliseconds with the samples of a block: in full (10,000, 10,000, 500 and 200 in ten blocks), and quick.
const GAPS: [(u64, usize, usize); 4] = [(0, 1000, 100), (10, 1000, 12), (500, 50, 1), (2000, 20, 1)];

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
        }
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
                let samples = if self.quick { few } else { full };
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
    fn quick_rests_less_than_two_and_a_half_minutes() {
        let schedule = Schedule::new(true, &[], &[]);
        let rest = |rank| {
            let of = |(_, gap): &(usize, Gap)| 2.0 * gap.length.as_secs_f64() * gap.samples as f64;
            schedule.cells(rank).iter().map(of).sum::<f64>() * schedule.blocks() as f64
        };
        // Three arms of the study, six further securities (one of them with a second provider), four further ciphers.
        let all = 3.0 * rest(Rank::Main) + 6.0 * rest(Rank::Security) + 4.0 * rest(Rank::Variant);
        assert!(all < 150.0, "{all} s");
    }

    #[test]
    fn what_was_named_is_measured_with_every_arm() {
        let cells = Schedule::new(true, &[300], &[700]).cells(Rank::Variant);
        assert_eq!(cells, [(300, Gap { length: Duration::from_millis(700), samples: 1 })]);
    }
}
