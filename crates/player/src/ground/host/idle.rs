//! How busy the machine is: from the kernel's own books (proc_stat(5)), without loading it.

use std::fs;
use std::time::Duration;

use crate::record::Load;

/// How long the machine is looked at before and after a run.
const LOOK: Duration = Duration::from_millis(500);

/// CPU time of all cores so far, in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    total: u64,
    idle: u64,
    steal: u64,
}

impl Ticks {
    /// Those of now; zeros where the host does not tell.
    pub fn now() -> Ticks {
        Ticks::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    /// user nice system idle iowait irq softirq steal (guest and guest_nice are in user and nice).
    fn read(text: &str) -> Ticks {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let number = |place: usize| numbers.get(place).copied().unwrap_or(0);
        Ticks { total: numbers.iter().take(8).sum(), idle: number(3) + number(4), steal: number(7) }
    }

    /// What part of the time since `before` was busy, and what part others' (steal).
    fn shares_since(self, before: Ticks) -> (f64, f64) {
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        let idle = self.idle.saturating_sub(before.idle) as f64;
        (1.0 - (idle / total).min(1.0), self.steal_since(before))
    }

    /// The share of other virtual machines since `before`.
    pub fn steal_since(self, before: Ticks) -> f64 {
        let total = self.total.saturating_sub(before.total).max(1) as f64;
        self.steal.saturating_sub(before.steal) as f64 / total
    }
}

/// Looks at the machine for a moment.
pub fn look() -> Load {
    let before = Ticks::now();
    std::thread::sleep(LOOK);
    let (busy_share, steal_share) = Ticks::now().shares_since(before);
    Load { busy_share, steal_share, over_s: LOOK.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_is_neither_idle_nor_waiting_for_a_disk() {
        let before = Ticks::read("cpu  100 0 0 1000 50 0 0 0 0 0\ncpu0 1 1 1 1\n");
        let after = Ticks::read("cpu  120 0 10 1060 60 0 0 10 20 0\n");
        // 110 ticks in all: 20 user, 10 system, 60 idle, 10 waiting, 10 steal; guest time is in user already.
        let (busy, steal) = after.shares_since(before);
        assert!((busy - 40.0 / 110.0).abs() < 1e-12, "{busy}");
        assert!((steal - 10.0 / 110.0).abs() < 1e-12, "{steal}");
    }
}
