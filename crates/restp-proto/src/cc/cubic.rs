//! CUBIC (RFC 9438): growth is a cubic function of the time since the last loss.

use super::{AckSample, Controller, Growth, MAX_WINDOW, MIN_WINDOW};
use crate::time::Instant;

/// Scaling constant in packets per cubic second (RFC 9438 section 5).
const C: f64 = 0.4;
/// Multiplicative decrease (RFC 9438 section 4.6).
const BETA: f64 = 0.7;

/// CUBIC's window and the state of its current epoch.
#[derive(Clone, Debug)]
// R-CC-4
pub struct Cubic {
    growth: Growth,
    epoch: Option<Epoch>,
    w_max: f64,
    /// Window before the latest reduction (cwnd_prior of RFC 9438).
    prior: f64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Seconds from the start of the epoch to the plateau.
    k_s: f64,
    origin: f64,
    /// What NewReno would have reached (RFC 9438 section 4.3).
    reno: f64,
    window: f64,
}

/// Cube root by Newton's method: the platform's own would differ in the last bit between machines.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let mut guess = x.max(1.0);
    for _ in 0..200 {
        let next = (2.0 * guess + x / (guess * guess)) / 3.0;
        if (next - guess).abs() <= guess * 1e-14 {
            return next;
        }
        guess = next;
    }
    guess
}

impl Cubic {
    /// Starts in slow start with `initial_window` packets.
    #[must_use]
    pub fn new(initial_window: u32) -> Self {
        Self { growth: Growth::new(initial_window), epoch: None, w_max: 0.0, prior: 0.0 }
    }

    fn begin_epoch(&self, now: Instant) -> Epoch {
        let window = f64::from(self.growth.window);
        let (k_s, origin) = if window < self.w_max {
            (cube_root((self.w_max - window) / C), self.w_max)
        } else {
            (0.0, window)
        };
        Epoch { start: now, k_s, origin, reno: window, window }
    }

    fn reduce(&mut self) -> u32 {
        let window = f64::from(self.growth.window);
        self.prior = window;
        // Fast convergence (RFC 9438 section 4.7).
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        ((window * BETA) as u32).max(MIN_WINDOW)
    }
}

impl Controller for Cubic {
    fn window(&self) -> u32 {
        self.growth.window
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        if !self.growth.limited_by_window(ack) {
            // Time that the application left unused must not count as growth.
            self.epoch = None;
            return;
        }
        let rest = self.growth.slow_start(ack.delivered);
        if rest == 0 {
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(ack.now),
        };
        let srtt_s = ack.rtt.smoothed().as_secs_f64();
        let t_s = ack.now.saturating_since(epoch.start).as_secs_f64() + srtt_s;
        let offset = t_s - epoch.k_s;
        let target = (C * offset * offset * offset + epoch.origin).clamp(epoch.window, 1.5 * epoch.window);
        let delivered = f64::from(rest);
        let alpha = if epoch.reno < self.prior { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.reno += alpha * delivered / epoch.window;
        // Where a hole is filled, what it hid is told of at once; more than a window would lead beyond the target.
        epoch.window += (target - epoch.window) * (delivered / epoch.window).min(1.0);
        epoch.window = epoch.window.max(epoch.reno).min(f64::from(MAX_WINDOW));
        self.growth.window = epoch.window as u32;
        self.epoch = Some(epoch);
    }

    fn on_congestion(&mut self, _now: Instant, _flight: u32) {
        let window = self.reduce();
        self.growth.shrink_to(window);
    }

    fn soften(&mut self) {
        self.epoch = None;
        self.prior = f64::from(self.growth.window);
        self.growth.soften();
    }

    fn widen(&mut self, window: u32) {
        self.growth.widen(window);
    }

    fn on_timeout(&mut self, _now: Instant, _flight: u32, again: bool) {
        if again {
            self.epoch = None;
            self.growth.restart_again();
        } else {
            let ssthresh = self.reduce();
            // The growth behind it begins where slow start ends, and leads to no former maximum (RFC 9438 section 4.8).
            self.w_max = 0.0;
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

    #[test]
    fn cube_root_is_exact_enough() {
        for x in [0.001, 0.5, 1.0, 27.0, 1e6, 65_535.0 / 0.4] {
            let root = cube_root(x);
            assert!((root * root * root - x).abs() < x * 1e-9, "{x}");
        }
        assert_eq!(cube_root(0.0), 0.0);
    }

    #[test]
    // R-CC-4
    fn returns_to_the_old_maximum_after_k_seconds_and_flattens_there() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut cubic = Cubic::new(1000);
        cubic.on_congestion(Instant::ZERO, 1000);
        assert_eq!(cubic.window(), 700);
        let k_s = cube_root(300.0 / C);
        let mut now = Instant::ZERO;
        let mut at_half = 0;
        while now.as_nanos() as f64 / 1e9 < k_s {
            for _ in 0..cubic.window() {
                cubic.on_ack(&test_ack(&rtt, now, 1, cubic.window()));
            }
            now += Duration::from_millis(100);
            if (now.as_nanos() as f64 / 1e9) < k_s / 2.0 {
                at_half = cubic.window();
            }
        }
        assert!((985..=1010).contains(&cubic.window()), "{}", cubic.window());
        assert!(at_half > 940, "most of the way is made early: {at_half}");
    }

    #[test]
    fn is_never_slower_than_newreno_on_short_paths() {
        let rtt = test_rtt(Duration::from_millis(1));
        let mut cubic = Cubic::new(20);
        cubic.on_congestion(Instant::ZERO, 20);
        let mut now = Instant::ZERO;
        for _ in 0..100 {
            for _ in 0..cubic.window() {
                cubic.on_ack(&test_ack(&rtt, now, 1, cubic.window()));
            }
            now += Duration::from_millis(1);
        }
        assert!(cubic.window() >= 60, "{}", cubic.window());
    }

    #[test]
    // R-CC-4
    fn an_acknowledgement_of_several_windows_does_not_pass_the_cubic_function() {
        let rtt = test_rtt(Duration::from_millis(100));
        let after = |packets| {
            let mut cubic = Cubic::new(200);
            cubic.on_congestion(Instant::ZERO, 200);
            cubic.on_ack(&test_ack(&rtt, Instant::ZERO, packets, 140));
            cubic.window()
        };
        // What NewReno would have reached counts all of them (RFC 9438, section 4.3): 140 and ten times 0.53.
        assert_eq!((after(140), after(1400)), (143, 145));
    }

    #[test]
    // R-CC-4
    fn after_a_timeout_growth_begins_where_slow_start_ends() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut cubic = Cubic::new(100);
        cubic.on_timeout(Instant::ZERO, 100, false);
        assert_eq!((cubic.window(), cubic.slow_start_threshold()), (1, Some(70)));
        while cubic.window() < 70 {
            cubic.on_ack(&test_ack(&rtt, Instant::ZERO, 1, cubic.window()));
        }
        cubic.on_ack(&test_ack(&rtt, Instant::ZERO, 1, 70));
        let epoch = cubic.epoch.expect("congestion avoidance");
        assert_eq!((epoch.k_s, epoch.origin), (0.0, 70.0));
    }

    #[test]
    // R-CC-4
    fn the_share_of_newreno_grows_slowly_up_to_the_window_before_the_latest_reduction() {
        let rtt = test_rtt(Duration::from_millis(1));
        let after_a_timeout = |cubic: &mut Cubic| cubic.on_timeout(Instant::ZERO, 100, false);
        let after_bit_errors = |cubic: &mut Cubic| cubic.soften();
        // Fast convergence puts the plateau at 85 packets.
        let after_two_losses = |cubic: &mut Cubic| {
            cubic.w_max = 120.0;
            cubic.on_congestion(Instant::ZERO, 100);
        };
        let reductions: [&dyn Fn(&mut Cubic); 3] = [&after_a_timeout, &after_bit_errors, &after_two_losses];
        for reduce in reductions {
            let mut cubic = Cubic::new(100);
            reduce(&mut cubic);
            // The cubic function stands still, as no time passes but the round trip that it looks ahead.
            let rounds = [86, 99, 101, 110].map(|window| {
                while cubic.window() < window {
                    cubic.on_ack(&test_ack(&rtt, Instant::ZERO, 1, cubic.window()));
                }
                let before = cubic.epoch.map_or(f64::from(window), |epoch| epoch.reno);
                for _ in 0..window {
                    cubic.on_ack(&test_ack(&rtt, Instant::ZERO, 1, cubic.window()));
                }
                cubic.epoch.expect("congestion avoidance").reno - before
            });
            let is_near = rounds.iter().zip([0.53, 0.53, 1.0, 1.0]).all(|(it, due)| (it - due).abs() < 0.02);
            assert!(is_near, "{rounds:?}");
        }
    }

    #[test]
    // R-CC-4
    fn a_further_timeout_begins_growth_anew() {
        let rtt = test_rtt(Duration::from_millis(100));
        let mut cubic = Cubic::new(10);
        cubic.on_timeout(Instant::ZERO, 2, false);
        cubic.on_ack(&test_ack(&rtt, Instant::ZERO, 20, 20));
        assert!(cubic.epoch.is_some());
        cubic.on_timeout(Instant::ZERO, 2, true);
        assert!(cubic.epoch.is_none());
    }
}
