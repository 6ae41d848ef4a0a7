//! Whether what one path has in flight is acknowledged, and what was done about it while it was not.

use std::time::Duration;

use crate::time::Instant;

/// How long probes go on at the same interval: as long as a timeout of 1 s needs for its first five expiries
/// (1 + 2 + 4 + 8 + 16 s, RFC 6298).
const PROBE_PATIENCE: Duration = Duration::from_secs(31);
/// Part of a longer silence that passes between probes, so that its end is found within this part of its length.
const PROBE_SHARE: u32 = 8;

/// The latest progress, and tries since.
#[derive(Debug)]
pub(crate) struct Progress {
    /// When the first probes left since something was acknowledged last.
    probed_at: Option<Instant>,
    /// Expiries of the retransmission timer in a row without progress.
    pub retries: u32,
    /// Acknowledgements in a row of the same number.
    duplicates: u32,
    duplicate_at: Instant,
}

impl Progress {
    pub fn new() -> Self {
        Self { probed_at: None, retries: 0, duplicates: 0, duplicate_at: Instant::ZERO }
    }

    /// Something was acknowledged; `advanced`: the cumulative number moved.
    pub fn made(&mut self, advanced: bool) {
        self.probed_at = None;
        self.retries = 0;
        if advanced {
            self.duplicates = 0;
        }
    }

    /// The first probes since the latest progress are still to come.
    pub fn is_unprobed(&self) -> bool {
        self.probed_at.is_none()
    }

    /// Probes leave; when the next are due, if an acknowledgement takes `wait`.
    pub fn next_probes(&mut self, now: Instant, wait: Duration) -> Instant {
        let Some(first) = self.probed_at else {
            self.probed_at = Some(now);
            return now + wait;
        };
        let silence = now.saturating_since(first);
        let share = if silence > PROBE_PATIENCE { silence / PROBE_SHARE } else { Duration::ZERO };
        now + (wait * 2).max(share)
    }

    /// The peer is heard after it was silent `since`, though nothing is acknowledged: probes begin anew if they have backed
    /// off. Whether they have.
    ///
    /// A peer that was heard all the time says nothing new about the way to it, so that its silence must have lasted, too.
    pub fn on_end_of_silence(&mut self, now: Instant, since: Instant) -> bool {
        let lasted = |from: Instant| now.saturating_since(from) > PROBE_PATIENCE;
        let backed_off = lasted(since) && self.probed_at.is_some_and(lasted);
        if backed_off {
            self.probed_at = None;
        }
        backed_off
    }

    /// An acknowledgement came a second time; how long after the one before that did.
    pub fn on_duplicate(&mut self, now: Instant) -> Duration {
        now.saturating_since(std::mem::replace(&mut self.duplicate_at, now))
    }

    /// Counts it as a sign of loss; how many there are.
    pub fn count_duplicate(&mut self) -> u32 {
        self.duplicates += 1;
        self.duplicates
    }

    /// What is in flight was taken for lost.
    pub fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(100);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    // R-ARQ-4
    #[test]
    fn probes_double_their_interval_once_and_then_keep_to_an_eighth_of_the_silence() {
        let mut progress = Progress::new();
        // A day without anything in flight is no silence.
        let day = 86_400;
        assert_eq!(progress.next_probes(at(day), WAIT), at(day) + WAIT);
        for seconds in [1, 31] {
            assert_eq!(progress.next_probes(at(day + seconds), WAIT), at(day + seconds) + WAIT * 2);
        }
        assert_eq!(progress.next_probes(at(day + 80), WAIT), at(day + 90));
        assert_eq!(progress.next_probes(at(day + 80), WAIT * 100), at(day + 100));
        progress.made(false);
        assert_eq!(progress.next_probes(at(day + 90), WAIT), at(day + 90) + WAIT);
    }

    // R-ARQ-4
    #[test]
    fn probes_begin_anew_only_after_a_silence_of_both() {
        let mut progress = Progress::new();
        assert!(!progress.on_end_of_silence(at(80), at(0)), "nothing was probed");
        progress.next_probes(at(100), WAIT);
        assert!(!progress.on_end_of_silence(at(131), at(0)), "probes go on still");
        assert!(!progress.on_end_of_silence(at(160), at(129)), "the peer was heard all the time");
        assert!(progress.on_end_of_silence(at(160), at(128)));
        assert!(progress.is_unprobed());
    }
}
