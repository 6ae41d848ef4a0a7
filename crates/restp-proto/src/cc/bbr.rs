//! BBR: the window follows the measured bottleneck rate and the smallest RTT, not loss (draft-cardwell-iccrg-bbr, version 1).

use std::collections::VecDeque;
use std::time::Duration;

use super::{AckSample, Controller, MAX_WINDOW, TICK};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// Gain of the start-up phase, 2/ln 2.
const STARTUP_GAIN: f64 = 2.885;
/// Gains of one bandwidth-probing cycle, a phase per round trip.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Window gain outside start-up.
const WINDOW_GAIN: f64 = 2.0;
/// Rounds over which the largest rate counts.
const RATE_ROUNDS: u64 = 10;
/// Age at which the smallest RTT must be measured anew.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// How long the queue is drained for that measurement.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Window in packets while measuring.
const PROBE_RTT_WINDOW: u32 = 4;
/// Start-up ends after this many rounds without a quarter more rate; those without a queue count a third: losses in
/// bursts hold the rate down too, and a full pipe shows in the RTT.
const FULL_PIPE_ROUNDS: u32 = 3;
const QUEUED_WEIGHT: u32 = 3;
/// A rise of the RTT over its minimum that is no queue's: this and a quarter of the minimum, as for the cause of losses.
const JITTER: Duration = Duration::from_millis(2);
/// Packets that may be in flight beyond the product of rate and RTT when the queue counts as drained: three quanta of the
/// pacer (BBRInflight in the draft). On short lines the product is less than one packet and one is always in flight.
const QUANTA: f64 = 3.0;
/// Losses are made up for to this share at most: a sender that fills a pipe alone must not double its load.
const MOST_LOSS: f64 = 0.5;
/// More rate than before by this factor while the rate is probed: the pipe has grown, or was never known.
const PROBE_SUCCESS: f64 = 1.1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Startup,
    Drain,
    ProbeRate { index: usize },
    ProbeRtt { until: Instant },
}

/// BBR's model of the path.
#[derive(Clone, Debug)]
// R-CC-5
pub struct Bbr {
    phase: Phase,
    initial_window: u32,
    round: u64,
    /// Candidates for the largest rate, decreasing, each with its round.
    rates: VecDeque<(u64, f64)>,
    min_rtt: Option<(Instant, Duration)>,
    full_rate: f64,
    full_rounds: u32,
    conservation: bool,
    /// The RTT shows a queue.
    queued: bool,
    loss_share: f64,
    /// Largest rate when the present probe of the rate began.
    probed_from: f64,
}

impl Bbr {
    /// Starts up with `initial_window` packets.
    #[must_use]
    pub fn new(initial_window: u32) -> Self {
        Self {
            phase: Phase::Startup,
            initial_window,
            round: 0,
            rates: VecDeque::new(),
            min_rtt: None,
            full_rate: 0.0,
            full_rounds: 0,
            conservation: false,
            queued: false,
            loss_share: 0.0,
            probed_from: 0.0,
        }
    }

    fn rate(&self) -> Option<f64> {
        self.rates.front().map(|&(_, rate)| rate)
    }

    fn bdp(&self) -> Option<f64> {
        let (_, min_rtt) = self.min_rtt?;
        Some(self.rate()? * min_rtt.max(TICK).as_secs_f64())
    }

    fn take_rate(&mut self, rate: f64, app_limited: bool) {
        if app_limited && self.rate().is_some_and(|best| rate < best) {
            return;
        }
        while self.rates.back().is_some_and(|&(_, old)| old <= rate) {
            self.rates.pop_back();
        }
        self.rates.push_back((self.round, rate));
        while self.rates.front().is_some_and(|&(round, _)| round + RATE_ROUNDS < self.round) {
            self.rates.pop_front();
        }
    }

    fn check_full_pipe(&mut self, app_limited: bool) {
        let rate = self.rate().unwrap_or(0.0);
        if app_limited || rate >= self.full_rate * 1.25 {
            self.full_rate = self.full_rate.max(rate);
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += if self.queued { QUEUED_WEIGHT } else { 1 };
        if self.is_full() {
            self.phase = Phase::Drain;
        }
    }

    fn rate_gain(&self) -> f64 {
        match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => 1.0 / STARTUP_GAIN,
            Phase::ProbeRate { index } => CYCLE[index],
            Phase::ProbeRtt { .. } => 1.0,
        }
    }

    fn leave_probe_rtt(&mut self) {
        self.phase = if self.is_full() { Phase::ProbeRate { index: 2 } } else { Phase::Startup };
    }

    fn is_full(&self) -> bool {
        self.full_rounds >= FULL_PIPE_ROUNDS * QUEUED_WEIGHT
    }

    /// The next phase of the probing cycle. While a probe finds more rate and builds no queue it goes on: one probe in
    /// eight rounds would take a minute to find a pipe that losses had hidden.
    fn next_probe(&mut self, index: usize) -> Phase {
        let rate = self.rate().unwrap_or(0.0);
        if index == 0 && !self.queued && rate > self.probed_from * PROBE_SUCCESS {
            self.probed_from = rate;
            return Phase::ProbeRate { index };
        }
        let index = (index + 1) % CYCLE.len();
        if index == 0 {
            self.probed_from = rate;
        }
        Phase::ProbeRate { index }
    }

    /// What must be sent for one packet to arrive, while no queue shows that the losses are its own.
    fn make_up(&self) -> f64 {
        if self.queued { 1.0 } else { 1.0 / (1.0 - self.loss_share.min(MOST_LOSS)) }
    }

    fn take_rtt(&mut self, ack: &AckSample<'_>) {
        let latest = ack.rtt.latest();
        self.queued = latest > ack.rtt.min() + ack.rtt.min() / 4 + JITTER;
        let expired = self.min_rtt.is_some_and(|(at, _)| ack.now.saturating_since(at) > MIN_RTT_AGE);
        if expired && !matches!(self.phase, Phase::ProbeRtt { .. }) {
            self.phase = Phase::ProbeRtt { until: ack.now + PROBE_RTT_TIME };
        }
        if expired || self.min_rtt.is_none_or(|(_, min)| latest <= min) {
            self.min_rtt = Some((ack.now, latest));
        }
    }
}

impl Controller for Bbr {
    fn window(&self) -> u32 {
        if matches!(self.phase, Phase::ProbeRtt { .. }) {
            return PROBE_RTT_WINDOW;
        }
        let gain = if self.phase == Phase::Startup { STARTUP_GAIN } else { WINDOW_GAIN };
        let Some(bdp) = self.bdp() else { return self.initial_window };
        let window = (bdp * gain * self.make_up()).ceil().min(f64::from(MAX_WINDOW)) as u32;
        if self.conservation {
            return PROBE_RTT_WINDOW;
        }
        window.max(if self.phase == Phase::Startup { self.initial_window } else { PROBE_RTT_WINDOW })
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        if ack.rtt.measured().is_some() {
            self.take_rtt(ack);
        }
        self.loss_share = ack.loss_share;
        if let Some(rate) = ack.delivery_rate_pps {
            self.take_rate(rate, ack.app_limited);
        }
        if ack.round_start {
            self.round += 1;
            self.conservation = false;
            match self.phase {
                Phase::Startup => self.check_full_pipe(ack.app_limited),
                Phase::ProbeRate { index } => self.phase = self.next_probe(index),
                Phase::Drain | Phase::ProbeRtt { .. } => {}
            }
        }
        match self.phase {
            Phase::Drain if self.bdp().is_some_and(|bdp| f64::from(ack.in_flight) <= bdp + QUANTA) => {
                self.phase = Phase::ProbeRate { index: 2 };
            }
            Phase::ProbeRtt { until } if ack.now >= until => self.leave_probe_rtt(),
            _ => {}
        }
    }

    fn on_congestion(&mut self, _now: Instant, _flight: u32) {}

    fn soften(&mut self) {}

    fn widen(&mut self, window: u32) {
        self.initial_window = self.initial_window.max(window.min(MAX_WINDOW));
    }

    fn on_timeout(&mut self, _now: Instant, _flight: u32, _again: bool) {
        // One cautious round trip; the model of the path stays.
        self.conservation = true;
    }

    fn pacing_rate_pps(&self, rtt: &RttEstimator) -> Option<f64> {
        match self.rate() {
            Some(rate) => Some(rate * self.rate_gain() * self.make_up()),
            None => {
                let srtt_s = rtt.measured()?.max(TICK).as_secs_f64();
                Some(f64::from(self.initial_window) * STARTUP_GAIN / srtt_s)
            }
        }
    }

    fn pacing_gain(&self) -> f64 {
        self.rate_gain()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{test_ack, test_rtt};
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn rounds(bbr: &mut Bbr, now: &mut Instant, count: u32, rate_pps: f64) {
        let rtt = test_rtt(RTT);
        for _ in 0..count {
            let mut ack = test_ack(&rtt, *now, 10, 10);
            ack.round_start = true;
            ack.delivery_rate_pps = Some(rate_pps);
            bbr.on_ack(&ack);
            *now += RTT;
        }
    }

    #[test]
    // R-CC-5
    fn settles_at_twice_the_product_of_rate_and_rtt() {
        let mut bbr = Bbr::new(10);
        let mut now = Instant::ZERO;
        rounds(&mut bbr, &mut now, 13, 1000.0);
        assert!(matches!(bbr.phase, Phase::ProbeRate { .. }), "{:?}", bbr.phase);
        assert_eq!(bbr.window(), 200);
    }

    // R-CC-5
    #[test]
    fn a_queue_is_drained_where_the_product_is_less_than_a_packet() {
        let mut bbr = Bbr::new(10);
        let short = test_rtt(Duration::from_millis(1));
        for round in 0..20 {
            let mut ack = test_ack(&short, Instant::ZERO + RTT * round, 2, 3);
            ack.round_start = true;
            ack.delivery_rate_pps = Some(200.0);
            bbr.on_ack(&ack);
        }
        assert!(matches!(bbr.phase, Phase::ProbeRate { .. }), "{:?}", bbr.phase);
    }

    #[test]
    fn loss_does_not_move_it_and_a_timeout_only_for_a_round() {
        let mut bbr = Bbr::new(10);
        let mut now = Instant::ZERO;
        rounds(&mut bbr, &mut now, 13, 1000.0);
        bbr.on_congestion(now, 100);
        assert_eq!(bbr.window(), 200);
        bbr.on_timeout(now, 100, false);
        assert_eq!(bbr.window(), PROBE_RTT_WINDOW);
        rounds(&mut bbr, &mut now, 1, 1000.0);
        assert_eq!(bbr.window(), 200);
    }

    // R-CC-5
    #[test]
    fn losses_are_made_up_for_while_there_is_no_queue() {
        let mut bbr = Bbr::new(10);
        let mut now = Instant::ZERO;
        rounds(&mut bbr, &mut now, 13, 1000.0);
        let rtt = test_rtt(RTT);
        let before_pps = bbr.pacing_rate_pps(&rtt).unwrap();
        let lossy = AckSample { loss_share: 0.2, ..test_ack(&rtt, now, 10, 10) };
        bbr.on_ack(&lossy);
        assert_eq!((bbr.window(), bbr.pacing_rate_pps(&rtt).unwrap() / before_pps), (250, 1.25));
        let mut queue = test_rtt(RTT);
        queue.sample(RTT * 2);
        bbr.on_ack(&AckSample { rtt: &queue, ..lossy });
        assert_eq!(bbr.window(), 200, "a queue may be what loses them");
    }

    // R-CC-5
    #[test]
    fn a_rate_that_losses_held_down_is_found_by_probes_in_a_row() {
        let mut bbr = Bbr::new(10);
        let mut now = Instant::ZERO;
        rounds(&mut bbr, &mut now, 13, 100.0);
        while bbr.phase != (Phase::ProbeRate { index: 0 }) {
            rounds(&mut bbr, &mut now, 1, 100.0);
        }
        for rate_pps in [125.0, 156.0, 195.0] {
            rounds(&mut bbr, &mut now, 1, rate_pps);
            assert_eq!(bbr.phase, Phase::ProbeRate { index: 0 });
        }
        rounds(&mut bbr, &mut now, 1, 195.0);
        assert_eq!(bbr.phase, Phase::ProbeRate { index: 1 });
    }

    #[test]
    fn measures_the_smallest_rtt_anew_after_ten_seconds() {
        let mut bbr = Bbr::new(10);
        let mut now = Instant::ZERO;
        rounds(&mut bbr, &mut now, 13, 1000.0);
        bbr.min_rtt = Some((Instant::ZERO, RTT / 2));
        now += MIN_RTT_AGE;
        rounds(&mut bbr, &mut now, 1, 1000.0);
        assert_eq!(bbr.window(), PROBE_RTT_WINDOW);
        rounds(&mut bbr, &mut now, 4, 1000.0);
        assert!(bbr.window() > PROBE_RTT_WINDOW);
    }
}
