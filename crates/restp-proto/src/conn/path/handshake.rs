//! The handshake of one path: how often its packet left, and what is known of the answer.

use std::time::Duration;

use crate::time::Instant;

/// How far it has come.
#[derive(Debug)]
pub(crate) struct Handshake {
    /// How often the packet that is repeated until it is answered has left.
    tries: u32,
    /// When it left for the first time.
    first_at: Instant,
    /// The peer has shown that it holds state for this path.
    pub confirmed: bool,
    /// A cookie is at hand, so that data need not wait for the answer.
    pub early: bool,
    /// The network reported that our SYN could not be delivered.
    pub unreachable: bool,
}

impl Handshake {
    pub fn new(now: Instant) -> Self {
        Self { tries: 0, first_at: now, confirmed: false, early: false, unreachable: false }
    }

    pub fn tries(&self) -> u32 {
        self.tries
    }

    pub fn on_sent(&mut self, now: Instant) {
        if self.tries == 0 {
            self.first_at = now;
        }
        self.tries += 1;
    }

    /// What leaves next is another packet than what was repeated until now.
    pub fn begin_next(&mut self) {
        self.tries = 0;
    }

    pub fn since_first(&self, now: Instant) -> Duration {
        now.saturating_since(self.first_at)
    }

    /// The RTT that an answer at `now` tells; none if it may be that to one of several packets (answer E7).
    pub fn rtt(&self, now: Instant) -> Option<Duration> {
        (self.tries == 1).then(|| self.since_first(now))
    }
}
