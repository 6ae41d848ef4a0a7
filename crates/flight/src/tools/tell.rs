//! What a program that runs on tells of mistakes: each kind once, and then ever more seldom.

use std::collections::BTreeMap;

use crate::gateway::Gateway;

/// Tells on standard error.
#[derive(Debug)]
pub struct Tell {
    program: &'static str,
    counts: BTreeMap<&'static str, u64>,
}

impl Tell {
    /// For a program of this name.
    #[must_use]
    pub fn new(program: &'static str) -> Self {
        Self { program, counts: BTreeMap::new() }
    }

    /// Counts a mistake of a kind, and tells the 1st, 10th, 100th and so on.
    pub fn mistake(&mut self, kind: &'static str, sentence: &str) {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if is_power_of_ten(*count) {
            eprintln!("{}: {sentence} ({kind}: {count} so far)", self.program);
        }
    }

    /// Tells what else a gateway lost, as mistakes.
    pub fn losses(&mut self, gateway: &Gateway) {
        for (kind, total, sentence) in [
            ("incomplete", gateway.incomplete(), "a message of ground came only in part"),
            ("unsent", gateway.unsent(), "telemetry went nowhere, since ground has not asked for it"),
        ] {
            while self.counts.get(kind).copied().unwrap_or(0) < total {
                self.mistake(kind, sentence);
            }
        }
    }
}

fn is_power_of_ten(mut count: u64) -> bool {
    while count > 1 && count.is_multiple_of(10) {
        count /= 10;
    }
    count == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_told() {
        let told: Vec<_> = (0..=1000).filter(|count| is_power_of_ten(*count)).collect();
        assert_eq!(told, [1, 10, 100, 1000]);
    }
}
