//! NewReno: slow start, one packet per round trip, half on loss (RFC 5681, RFC 6582).

use super::{AckSample, Controller, Growth};
use crate::time::Instant;

/// NewReno's window.
#[derive(Clone, Debug)]
// R-CC-2
pub struct NewReno {
    growth: Growth,
}

impl NewReno {
    /// Starts in slow start with `initial_window` packets.
    #[must_use]
    pub fn new(initial_window: u32) -> Self {
        Self { growth: Growth::new(initial_window) }
    }
}

impl Controller for NewReno {
    fn window(&self) -> u32 {
        self.growth.window
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        if !self.growth.limited_by_window(ack) {
            return;
        }
        let rest = self.growth.slow_start(ack.delivered);
        self.growth.advance(rest, self.growth.window);
    }

    fn on_congestion(&mut self, _now: Instant, flight: u32) {
        self.growth.shrink_to(self.growth.half(flight));
    }

    fn soften(&mut self) {
        self.growth.soften();
    }

    fn widen(&mut self, window: u32) {
        self.growth.widen(window);
    }

    fn on_timeout(&mut self, _now: Instant, flight: u32, again: bool) {
        if again {
            self.growth.restart_again();
        } else {
            self.growth.restart(self.growth.half(flight));
        }
    }

    fn slow_start_threshold(&self) -> Option<u32> {
        self.growth.threshold()
    }

    fn pacing_gain(&self) -> f64 {
        self.growth.pacing_gain()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{test_ack, test_rtt};
    use super::*;

    #[test]
    // R-CC-1, R-CC-2
    fn slow_start_doubles_then_one_packet_a_round_trip() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut reno = NewReno::new(10);
        reno.on_ack(&test_ack(&rtt, Instant::ZERO, 10, 10));
        assert_eq!(reno.window(), 20);
        reno.on_congestion(Instant::ZERO, 20);
        assert_eq!(reno.window(), 10);
        reno.on_ack(&test_ack(&rtt, Instant::ZERO, 10, 10));
        assert_eq!(reno.window(), 11);
    }

    #[test]
    fn timeout_restarts_from_one_packet_with_half_as_threshold() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut reno = NewReno::new(40);
        reno.on_timeout(Instant::ZERO, 40, false);
        assert_eq!(reno.window(), 1);
        for _ in 0..19 {
            reno.on_ack(&test_ack(&rtt, Instant::ZERO, 1, 1));
        }
        assert_eq!(reno.window(), 20);
        reno.on_ack(&test_ack(&rtt, Instant::ZERO, 1, 20));
        assert_eq!(reno.window(), 20);
    }

    #[test]
    fn an_idle_application_does_not_open_the_window() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut reno = NewReno::new(10);
        let mut ack = test_ack(&rtt, Instant::ZERO, 2, 2);
        ack.app_limited = true;
        reno.on_ack(&ack);
        assert_eq!(reno.window(), 10);
    }

    #[test]
    // R-CC-2
    fn slow_start_repairs_the_flight_after_a_timeout_but_fast_recovery_does_not_grow() {
        let rtt = test_rtt(Duration::from_millis(100));
        let repairing = |delivered, in_flight| super::super::AckSample {
            in_recovery: true,
            ..test_ack(&rtt, Instant::ZERO, delivered, in_flight)
        };
        let mut reno = NewReno::new(16);
        reno.on_congestion(Instant::ZERO, 16);
        reno.on_ack(&repairing(8, 8));
        assert_eq!(reno.window(), 8);
        reno.on_timeout(Instant::ZERO, 8, false);
        let windows: Vec<_> = (0..4)
            .map(|_| {
                let window = reno.window();
                reno.on_ack(&repairing(window, window));
                window
            })
            .collect();
        assert_eq!(windows, [1, 2, 4, 4]);
    }
}
