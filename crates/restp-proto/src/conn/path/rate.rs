//! How fast one path may be sent over: its congestion window, its pacing, and what timeouts and silence have told of it.

use crate::cc::{AckSample, AnyController, Controller};
use crate::conn::pacer::Pacer;
use crate::profile::{LossCause, Profile};
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// Congestion control and pacing of one path.
#[derive(Debug)]
pub(crate) struct RateControl {
    controller: AnyController,
    pub pacer: Pacer,
    /// The controller as it was before the peer fell silent: what an outage that is noticed late goes back to.
    before_silence: Option<Box<AnyController>>,
    /// A timeout has cut the window, and the cumulative number has not moved since.
    cut_by_timeout: bool,
    /// The timer has expired, and nothing was acknowledged since.
    silent_since_timeout: bool,
    /// Tell the peer once that our window was reduced.
    pub cwr: bool,
}

impl RateControl {
    pub fn new(profile: &Profile) -> Self {
        Self {
            controller: controller(profile),
            pacer: Pacer::new(),
            before_silence: None,
            cut_by_timeout: false,
            silent_since_timeout: false,
            cwr: false,
        }
    }

    /// Packets that may be in flight.
    pub fn window(&self) -> u32 {
        self.controller.window()
    }

    pub fn slow_start_threshold(&self) -> Option<u32> {
        self.controller.slow_start_threshold()
    }

    /// What the controller wants packets to be released at, in packets per second.
    pub fn pacing_rate_pps(&self, rtt: &RttEstimator) -> Option<f64> {
        self.controller.pacing_rate_pps(rtt)
    }

    /// Before anything was sent: both ends have agreed on another controller.
    pub fn use_controller_of(&mut self, profile: &Profile) {
        self.controller = controller(profile);
    }

    /// Before anything was sent: the first window is to be at least `window`.
    pub fn widen(&mut self, window: u32) {
        self.controller.widen(window);
    }

    /// What was learnt of the way that the path went is of no use on another one.
    // R-ENCAP-5
    pub fn learn_anew(&mut self, profile: &Profile) {
        *self = Self { cwr: self.cwr, ..Self::new(profile) };
    }

    pub fn on_ack(&mut self, sample: &AckSample<'_>) {
        self.controller.on_ack(sample);
    }

    /// Something was acknowledged; `advanced`: the cumulative number moved. Whether it is the first since a timeout.
    pub fn on_progress(&mut self, advanced: bool) -> bool {
        self.cut_by_timeout &= !advanced;
        std::mem::take(&mut self.silent_since_timeout)
    }

    /// Packets were lost, or marked, for this cause.
    // R-LOSS-1, R-LOSS-2
    pub fn slow_down(&mut self, now: Instant, flight: u32, cause: LossCause) {
        match cause {
            // Nobody vouched for the path, so the evidence only softens the reaction.
            LossCause::Corruption => self.controller.soften(),
            _ => self.controller.on_congestion(now, flight),
        }
        self.cwr = true;
    }

    /// The retransmission timer expired with `flight` packets on their way.
    // R-CC-2
    pub fn on_timeout(&mut self, now: Instant, flight: u32) {
        self.controller.on_timeout(now, flight, self.cut_by_timeout);
        self.cut_by_timeout = true;
        self.silent_since_timeout = true;
        self.cwr = true;
    }

    /// The peer falls silent, or has been so for longer.
    pub fn on_silence(&mut self) {
        self.before_silence.get_or_insert_with(|| Box::new(self.controller.clone()));
    }

    /// The peer is heard.
    pub fn on_packet(&mut self) {
        self.before_silence = None;
    }

    /// The silence was an outage: what it was taken for at first says nothing of the path.
    pub fn forget_silence(&mut self) {
        if let Some(before) = self.before_silence.take() {
            self.controller = *before;
            self.cut_by_timeout = false;
            self.silent_since_timeout = false;
        }
    }

    /// Packets per second while the pace is held: a window a round trip, as both are now. A timeout may have left a window
    /// of one packet, which slow start widens while much is still to be repeated.
    // R-MP-8, R-LOSS-5
    pub fn held_pps(&self, rtt: &RttEstimator) -> Option<f64> {
        self.pacer.is_held().then(|| f64::from(self.window()) / rtt.smoothed().as_secs_f64().max(1e-6))
    }
}

fn controller(profile: &Profile) -> AnyController {
    let tuning = &profile.tuning;
    AnyController::new(profile.congestion, tuning.initial_window_packets, tuning.open_window_packets)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn rate() -> RateControl {
        RateControl::new(&Profile::file_arq())
    }

    #[test]
    // R-CC-2
    fn the_first_progress_since_a_timeout_is_told_once_whether_the_number_moved_or_not() {
        let mut rate = rate();
        assert!(!rate.on_progress(true));
        for advanced in [true, false] {
            rate.on_timeout(Instant::ZERO, 4);
            rate.on_timeout(Instant::ZERO, 4);
            assert_eq!([rate.on_progress(advanced), rate.on_progress(true)], [true, false]);
        }
        // Another one while the number stands where it stood.
        rate.on_timeout(Instant::ZERO, 4);
        assert!(rate.on_progress(false));
        rate.on_timeout(Instant::ZERO, 4);
        assert!(rate.on_progress(false));
    }

    #[test]
    // R-ENCAP-5, R-LOSS-3
    fn a_timeout_in_an_outage_or_of_the_way_before_tells_nothing() {
        let mut rate = rate();
        let window = rate.window();
        rate.on_silence();
        rate.on_timeout(Instant::ZERO, 4);
        rate.forget_silence();
        assert_eq!((rate.window(), rate.on_progress(true)), (window, false));
        rate.on_timeout(Instant::ZERO, 4);
        rate.learn_anew(&Profile::file_arq());
        assert_eq!((rate.window(), rate.on_progress(true)), (window, false));
    }

    #[test]
    // R-MP-8, R-LOSS-5
    fn a_held_pace_follows_the_window_and_ends_after_a_round_trip_when_nothing_is_to_be_repeated() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::new(ms(1000), ms(200), ms(60_000));
        rtt.sample(ms(100));
        let mut rate = rate();
        assert_eq!(rate.held_pps(&rtt), None);
        rate.pacer.hold(Instant::ZERO + ms(100));
        assert_eq!(rate.held_pps(&rtt), Some(f64::from(rate.window()) / 0.1));
        rate.on_timeout(Instant::ZERO, 10);
        rate.pacer.on_nothing_to_repeat(Instant::ZERO + ms(99));
        assert_eq!(rate.held_pps(&rtt), Some(10.0));
        rate.pacer.on_nothing_to_repeat(Instant::ZERO + ms(100));
        assert_eq!(rate.held_pps(&rtt), None);
    }
}
