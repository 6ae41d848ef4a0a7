//! BIC: binary search towards the window of the last loss (Xu, Harfoush, Rhee 2004), constants of Linux (answer I7).

use super::{AckSample, Controller, Growth, MIN_WINDOW};
use crate::time::Instant;

/// Below this window BIC behaves like NewReno.
const LOW_WINDOW: u32 = 14;
/// Largest growth per round trip, in packets.
const MAX_INCREMENT: u32 = 16;
/// Decrease factor 819/1024, about 0.8.
const BETA: u32 = 819;
const BETA_SCALE: u32 = 1024;
/// Divisor of the binary search.
const B: u32 = 4;
/// Round trips spent within one packet of the old maximum.
const SMOOTH_PART: u32 = 20;
/// Most packets per increment before the first loss.
const FIRST_CLIMB: u32 = 20;

/// BIC's window and the window at its last loss.
#[derive(Clone, Debug)]
// R-CC-3
pub struct Bic {
    growth: Growth,
    last_max: u32,
}

impl Bic {
    /// Starts in slow start with `initial_window` packets.
    #[must_use]
    pub fn new(initial_window: u32) -> Self {
        Self { growth: Growth::new(initial_window), last_max: 0 }
    }

    /// Packets to be delivered for one packet of growth.
    fn packets_per_increment(&self) -> u32 {
        let window = self.growth.window;
        if window <= LOW_WINDOW {
            return window;
        }
        let per = if window < self.last_max {
            let distance = (self.last_max - window) / B;
            if distance > MAX_INCREMENT {
                window / MAX_INCREMENT
            } else if distance <= 1 {
                window * SMOOTH_PART / B
            } else {
                window / distance
            }
        } else if window < self.last_max + B {
            window * SMOOTH_PART / B
        } else if window < self.last_max + MAX_INCREMENT * (B - 1) {
            window * (B - 1) / (window - self.last_max)
        } else {
            window / MAX_INCREMENT
        };
        let per = if self.last_max == 0 { per.min(FIRST_CLIMB) } else { per };
        per.max(1)
    }

    fn reduced(&mut self) -> u32 {
        let window = self.growth.window;
        self.last_max = if window < self.last_max {
            // Fast convergence: give room to a newcomer.
            window * (BETA_SCALE + BETA) / (2 * BETA_SCALE)
        } else {
            window
        };
        if window <= LOW_WINDOW { window / 2 } else { window * BETA / BETA_SCALE }.max(MIN_WINDOW)
    }
}

impl Controller for Bic {
    fn window(&self) -> u32 {
        self.growth.window
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        if !self.growth.limited_by_window(ack) {
            return;
        }
        let rest = self.growth.slow_start(ack.delivered);
        let per = self.packets_per_increment();
        self.growth.advance(rest, per);
    }

    fn on_congestion(&mut self, _now: Instant, _flight: u32) {
        let window = self.reduced();
        self.growth.shrink_to(window);
    }

    fn soften(&mut self) {
        self.growth.soften();
    }

    fn widen(&mut self, window: u32) {
        self.growth.widen(window);
    }

    fn on_timeout(&mut self, _now: Instant, _flight: u32, again: bool) {
        if again {
            self.growth.restart_again();
        } else {
            let ssthresh = self.reduced();
            self.growth.restart(ssthresh);
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

    fn round_trip(bic: &mut Bic) {
        let rtt = test_rtt(Duration::from_millis(100));
        for _ in 0..bic.window() {
            bic.on_ack(&test_ack(&rtt, Instant::ZERO, 1, bic.window()));
        }
    }

    #[test]
    // R-CC-3
    fn loss_takes_a_fifth_above_the_low_window_and_half_below() {
        let mut bic = Bic::new(1000);
        bic.on_congestion(Instant::ZERO, 1000);
        assert_eq!(bic.window(), 1000 * 819 / 1024);
        let mut small = Bic::new(14);
        small.on_congestion(Instant::ZERO, 14);
        assert_eq!(small.window(), 7);
    }

    #[test]
    fn growth_is_fast_far_from_the_old_maximum_and_slow_near_it() {
        let mut bic = Bic::new(1000);
        bic.on_congestion(Instant::ZERO, 1000);
        let far = bic.window();
        round_trip(&mut bic);
        let first_step = bic.window() - far;
        assert!((15..=18).contains(&first_step), "first step {first_step}");
        while bic.window() < 990 {
            round_trip(&mut bic);
        }
        let near = bic.window();
        round_trip(&mut bic);
        assert!(bic.window() - near <= 3, "{near} to {}", bic.window());
    }

    #[test]
    fn two_losses_in_a_row_converge_below_the_old_maximum() {
        let mut bic = Bic::new(1000);
        bic.on_congestion(Instant::ZERO, 1000);
        bic.on_congestion(Instant::ZERO, 799);
        assert!(bic.last_max < 799);
    }
}
