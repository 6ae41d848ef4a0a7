//! Whether anything is heard on one path, and what its probes say while others carry the data.

use std::time::Duration;

use crate::time::Instant;

/// Unanswered probes after which a standby path is suspected (answer H9).
const PROBE_MISSES: u32 = 2;

/// What is known of it.
#[derive(Debug)]
pub(crate) struct Health {
    heard_at: Instant,
    /// When the last probe left that only an answer on this path clears.
    probe_sent_at: Option<Instant>,
    /// Probes in a row without answer.
    probe_misses: u32,
    /// No progress for two timeouts: others take over (answer H9).
    suspect: bool,
    /// Since when a suspect path has answered every probe.
    healthy_since: Option<Instant>,
}

impl Health {
    pub fn new(now: Instant) -> Self {
        Self { heard_at: now, probe_sent_at: None, probe_misses: 0, suspect: false, healthy_since: None }
    }

    /// The handshake was answered.
    pub fn begin(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// When a packet with credible numbers arrived last.
    pub fn heard_at(&self) -> Instant {
        self.heard_at
    }

    /// A packet with credible numbers arrived; when the probe left that it answers, if one was out. A probe of the peer
    /// answers none: it says nothing about the way there, nor how long an answer takes.
    pub fn hear(&mut self, now: Instant, is_probe: bool) -> Option<Instant> {
        self.heard_at = now;
        if is_probe {
            return None;
        }
        if self.suspect {
            self.healthy_since.get_or_insert(now);
        }
        self.probe_sent_at.take()
    }

    /// Nothing was heard for `time`.
    pub fn is_silent(&self, now: Instant, time: Duration) -> bool {
        now.saturating_since(self.heard_at) >= time
    }

    pub fn on_probe_sent(&mut self, now: Instant) {
        self.probe_sent_at = Some(now);
    }

    /// Nobody need answer the last probe.
    pub fn forget_probe(&mut self) {
        self.probe_sent_at = None;
    }

    /// The next probe is due: was the last one answered?
    pub fn on_probe_due(&mut self) {
        if self.probe_sent_at.is_some() {
            self.probe_misses += 1;
            self.healthy_since = None;
        } else {
            self.probe_misses = 0;
        }
    }

    pub fn is_suspect(&self) -> bool {
        self.suspect
    }

    /// Others take over.
    pub fn suspect(&mut self) {
        self.suspect = true;
        self.healthy_since = None;
    }

    /// It works again.
    pub fn trust(&mut self) {
        self.suspect = false;
        self.probe_misses = 0;
    }

    /// It was suspect and has answered every probe for `patience`.
    pub fn has_recovered(&self, now: Instant, patience: Duration) -> bool {
        self.suspect && self.healthy_since.is_some_and(|since| now.saturating_since(since) >= patience)
    }

    /// It is not suspect yet and has not answered its probes.
    pub fn misses_probes(&self) -> bool {
        !self.suspect && self.probe_misses >= PROBE_MISSES
    }
}
