//! No congestion control: a constant window, for paths that their owner has provisioned.

use super::{AckSample, Controller};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// A window that never moves.
#[derive(Clone, Debug)]
pub struct Open {
    window: u32,
}

impl Open {
    /// A controller that always allows `window` packets in flight.
    #[must_use]
    pub fn new(window: u32) -> Self {
        Self { window: window.max(1) }
    }
}

impl Controller for Open {
    fn window(&self) -> u32 {
        self.window
    }

    fn on_ack(&mut self, _ack: &AckSample<'_>) {}

    fn on_congestion(&mut self, _now: Instant, _flight: u32) {}

    fn soften(&mut self) {}

    fn widen(&mut self, _window: u32) {}

    fn on_timeout(&mut self, _now: Instant, _flight: u32, _again: bool) {}

    fn pacing_rate_pps(&self, _rtt: &RttEstimator) -> Option<f64> {
        None
    }

    fn pacing_gain(&self) -> f64 {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_window() {
        let mut open = Open::new(50);
        open.on_congestion(Instant::ZERO, 50);
        open.on_timeout(Instant::ZERO, 50, false);
        assert_eq!(open.window(), 50);
    }
}
