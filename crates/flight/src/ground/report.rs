//! What a benchmark measured: a row for each size and gap, with the times of its messages.

use std::fmt;
use std::time::Duration;

use super::Step;

/// Messages of one size with one gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Size and gap.
    pub step: Step,
    /// Messages sent; of a series those that were asked for.
    pub sent: u32,
    /// Messages that arrived.
    pub received: u32,
    /// Messages that came again.
    pub duplicates: u32,
    /// Times by message. Of echoes the round trip, none where it did not come back; of a series the time since the
    /// packet before, none where that one did not come. Empty for data.
    pub times: Vec<Option<Duration>>,
}

impl Row {
    pub(super) fn new(step: Step) -> Self {
        Self { step, sent: 0, received: 0, duplicates: 0, times: Vec::new() }
    }

    /// Messages that did not arrive.
    #[must_use]
    pub fn lost(&self) -> u32 {
        self.sent.saturating_sub(self.received)
    }

    /// How its times are spread; none if it has none.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        let mut times: Vec<_> = self.times.iter().copied().flatten().collect();
        times.sort_unstable();
        let (least, greatest) = (*times.first()?, *times.last()?);
        Some(Spread { least, median: rank(&times, 50), p99: rank(&times, 99), greatest })
    }
}

/// The time that `percent` of the sorted times do not exceed: the nearest rank.
fn rank(sorted: &[Duration], percent: usize) -> Duration {
    let place = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(place - 1).copied().unwrap_or_default()
}

/// How times are spread; percentiles by the nearest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// The least.
    pub least: Duration,
    /// The median.
    pub median: Duration,
    /// What 99 of 100 do not exceed.
    pub p99: Duration,
    /// The greatest.
    pub greatest: Duration,
}

/// The result of a benchmark; as text it is a table, with times in microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What was sent.
    pub work: &'static str,
    /// A row for each size and gap.
    pub rows: Vec<Row>,
}

impl Report {
    /// What the times of its rows are.
    #[must_use]
    pub fn times(&self) -> &'static str {
        match self.work {
            "echo" => "round trip",
            "series" => "since the packet before",
            _ => "not measured",
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; times in us: {}", self.work, self.times())?;
        writeln!(
            f,
            "{:>7} {:>9} {:>7} {:>9} {:>6} {:>6} {:>11} {:>11} {:>11} {:>11}",
            "octets", "gap ms", "sent", "received", "lost", "twice", "least", "median", "p99", "greatest"
        )?;
        for row in &self.rows {
            // Space alone decides how far apart the packets of a series are.
            let gap = match self.work {
                "series" => "-".to_owned(),
                _ => format!("{:.3}", row.step.gap.as_secs_f64() * 1e3),
            };
            write!(
                f,
                "{:>7} {gap:>9} {:>7} {:>9} {:>6} {:>6}",
                row.step.payload_octets,
                row.sent,
                row.received,
                row.lost(),
                row.duplicates
            )?;
            let times = row.spread().map(|spread| [spread.least, spread.median, spread.p99, spread.greatest]);
            for place in 0..4 {
                match times {
                    Some(times) => write!(f, " {:>11.1}", times[place].as_secs_f64() * 1e6)?,
                    None => write!(f, " {:>11}", "-")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let step = Step { payload_octets: 64, gap: Duration::ZERO };
        let times = |count: u64| (1..=count).rev().map(|us| Some(Duration::from_micros(us))).collect();
        let spread =
            |count| Row { times: times(count), ..Row::new(step) }.spread().map(|s| [s.median, s.p99]);
        let us = Duration::from_micros;
        assert_eq!(spread(1), Some([us(1), us(1)]));
        assert_eq!(spread(4), Some([us(2), us(4)]));
        assert_eq!(spread(200), Some([us(100), us(198)]));
        assert_eq!(spread(0), None);
    }
}
