//! What follows from silence, and what must not be said too often.

use std::time::Duration;

use crate::profile::Tuning;
use crate::time::Instant;

/// Least time between challenge acknowledgements, so that injected packets cannot be turned into a flood (RFC 5961).
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(100);

/// When a silent connection ends, and when it is asked whether the peer lives.
#[derive(Debug)]
pub(crate) struct Silence {
    pub idle_at: Instant,
    pub keepalive_at: Instant,
    challenge_at: Instant,
}

impl Silence {
    pub fn new(now: Instant, tuning: &Tuning, connected: bool) -> Self {
        let mut silence = Self {
            idle_at: Instant::FAR_FUTURE,
            keepalive_at: Instant::FAR_FUTURE,
            challenge_at: Instant::ZERO,
        };
        if connected {
            // Without a connection nobody answers, so silence says nothing.
            silence.broken(now, tuning);
        }
        silence
    }

    /// The peer was heard.
    // R-CM-8
    pub fn broken(&mut self, now: Instant, tuning: &Tuning) {
        self.idle_at = tuning.idle_timeout.map_or(Instant::FAR_FUTURE, |after| now + after);
        self.keepalive_at = tuning.keepalive.map_or(Instant::FAR_FUTURE, |after| now + after);
    }

    pub fn stop(&mut self) {
        self.idle_at = Instant::FAR_FUTURE;
        self.keepalive_at = Instant::FAR_FUTURE;
    }

    /// True if a challenge may be sent.
    pub fn may_challenge(&self, now: Instant) -> bool {
        now >= self.challenge_at
    }

    pub fn on_challenge(&mut self, now: Instant) {
        self.challenge_at = now + CHALLENGE_INTERVAL;
    }
}
