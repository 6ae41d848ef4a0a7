//! Congestion control: one window per path, counted in packets (answer I8), behind one small trait.

mod bbr;
mod bic;
mod cubic;
mod lia;
mod newreno;
mod open;

pub use bbr::Bbr;
pub use bic::Bic;
pub use cubic::Cubic;
pub use lia::{Coupling, Lia, PathShare};
pub use newreno::NewReno;
pub use open::Open;

use std::time::Duration;

use crate::profile::Congestion;
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// Initial window in packets (RFC 6928; answer I8).
pub const INITIAL_WINDOW: u32 = 10;
/// Smallest window after a loss that did not stop the flow, in packets (RFC 5681).
pub const MIN_WINDOW: u32 = 2;
/// No window grows past this, in packets: the most that a 16-bit flow-control window could allow anyway (answer J6).
pub const MAX_WINDOW: u32 = 65_535;

/// What one acknowledgement told the sender of a path.
#[derive(Clone, Copy, Debug)]
pub struct AckSample<'a> {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// Packets newly known to have left the network.
    pub delivered: u32,
    /// Packets in flight before this acknowledgement.
    pub in_flight: u32,
    /// True if the sender had nothing more to send, so that the window was not what limited it.
    pub app_limited: bool,
    /// Losses of an earlier flight are still being repaired; loss-based controllers do not grow meanwhile, but for the
    /// slow start that follows a timeout.
    pub in_recovery: bool,
    /// RTT estimate that already contains this acknowledgement's sample.
    pub rtt: &'a RttEstimator,
    /// Delivery rate in packets per second over the last flight, if it could be measured.
    pub delivery_rate_pps: Option<f64>,
    /// True once per round trip.
    pub round_start: bool,
    /// Share of packets lost of late, from 0 to 1.
    pub loss_share: f64,
    /// How this path shares an increase with its siblings (LIA only).
    pub coupling: Option<Coupling>,
}

/// A congestion controller. All sizes are packets.
// R-CC-1
pub trait Controller {
    /// Packets that may be in flight.
    fn window(&self) -> u32;

    /// New packets were acknowledged.
    fn on_ack(&mut self, ack: &AckSample<'_>);

    /// Congestion was seen (loss or ECN mark) with `flight` packets not acknowledged cumulatively (RFC 5681's
    /// FlightSize); the sender calls this at most once per round trip.
    fn on_congestion(&mut self, now: Instant, flight: u32);

    /// A loss that is probably bit errors, on a path that nobody vouched for: a mild reduction, to 0.85.
    fn soften(&mut self);

    /// The retransmission timer expired: all of `flight` is taken for lost. `again`: it has told so before, and the
    /// cumulative number did not move since, so that what it told first is all that is known of the path.
    fn on_timeout(&mut self, now: Instant, flight: u32, again: bool);

    /// Before anything was sent: the first window is to be at least `window`.
    fn widen(&mut self, window: u32);

    /// Packets per second at which to release packets, given the RTT estimate; `None` means no pacing.
    fn pacing_rate_pps(&self, rtt: &RttEstimator) -> Option<f64> {
        let srtt_s = rtt.measured()?.as_secs_f64().max(1e-6);
        Some(f64::from(self.window()) * self.pacing_gain() / srtt_s)
    }

    /// Window up to which slow start goes, in packets; `None` while nothing has set one, and for controllers without.
    fn slow_start_threshold(&self) -> Option<u32> {
        None
    }

    /// Factor on `window / srtt`: 2 in slow start, 1.25 later, so that pacing never becomes the limit.
    fn pacing_gain(&self) -> f64;
}

/// The controller in force, chosen once per path; dispatch is by `match`, so an absent one costs nothing.
#[derive(Clone, Debug)]
pub enum AnyController {
    /// No congestion control.
    Open(Open),
    /// NewReno.
    NewReno(NewReno),
    /// BIC.
    Bic(Bic),
    /// CUBIC.
    Cubic(Cubic),
    /// BBR.
    Bbr(Box<Bbr>),
    /// Linked increases over several paths.
    Lia(Lia),
}

macro_rules! dispatch {
    ($self:expr, $inner:ident => $call:expr) => {
        match $self {
            AnyController::Open($inner) => $call,
            AnyController::NewReno($inner) => $call,
            AnyController::Bic($inner) => $call,
            AnyController::Cubic($inner) => $call,
            AnyController::Bbr($inner) => $call,
            AnyController::Lia($inner) => $call,
        }
    };
}

impl AnyController {
    /// The controller for `congestion`; `cap_packets` bounds the window of the open controller.
    #[must_use]
    pub fn new(congestion: Congestion, initial_window: u32, cap_packets: u32) -> Self {
        match congestion {
            Congestion::None => Self::Open(Open::new(cap_packets)),
            Congestion::NewReno => Self::NewReno(NewReno::new(initial_window)),
            Congestion::Bic => Self::Bic(Bic::new(initial_window)),
            Congestion::Cubic => Self::Cubic(Cubic::new(initial_window)),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(initial_window))),
            Congestion::Lia => Self::Lia(Lia::new(initial_window)),
        }
    }
}

impl Controller for AnyController {
    fn window(&self) -> u32 {
        dispatch!(self, inner => inner.window())
    }

    fn on_ack(&mut self, ack: &AckSample<'_>) {
        dispatch!(self, inner => inner.on_ack(ack));
    }

    fn on_congestion(&mut self, now: Instant, flight: u32) {
        dispatch!(self, inner => inner.on_congestion(now, flight));
    }

    fn soften(&mut self) {
        dispatch!(self, inner => inner.soften());
    }

    fn on_timeout(&mut self, now: Instant, flight: u32, again: bool) {
        dispatch!(self, inner => inner.on_timeout(now, flight, again));
    }

    fn widen(&mut self, window: u32) {
        dispatch!(self, inner => inner.widen(window));
    }

    fn pacing_rate_pps(&self, rtt: &RttEstimator) -> Option<f64> {
        dispatch!(self, inner => inner.pacing_rate_pps(rtt))
    }

    fn slow_start_threshold(&self) -> Option<u32> {
        dispatch!(self, inner => inner.slow_start_threshold())
    }

    fn pacing_gain(&self) -> f64 {
        dispatch!(self, inner => inner.pacing_gain())
    }
}

/// Slow start and the bookkeeping that all loss-based controllers share.
#[derive(Clone, Debug)]
struct Growth {
    window: u32,
    ssthresh: u32,
    credit: u32,
}

impl Growth {
    fn new(initial_window: u32) -> Self {
        Self { window: initial_window.clamp(1, MAX_WINDOW), ssthresh: MAX_WINDOW, credit: 0 }
    }

    fn threshold(&self) -> Option<u32> {
        (self.ssthresh < MAX_WINDOW).then_some(self.ssthresh)
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Doubles per round trip up to the threshold; returns the packets that were not used up by slow start.
    fn slow_start(&mut self, delivered: u32) -> u32 {
        let room = self.ssthresh.saturating_sub(self.window);
        let used = delivered.min(room);
        self.window = (self.window + used).min(MAX_WINDOW);
        delivered - used
    }

    /// One packet more for every `per_packet` packets delivered.
    fn advance(&mut self, delivered: u32, per_packet: u32) {
        let per_packet = per_packet.max(1);
        self.credit += delivered;
        if self.credit >= per_packet {
            self.window = (self.window + self.credit / per_packet).min(MAX_WINDOW);
            self.credit %= per_packet;
        }
    }

    /// Half of what is really under way: a window that was not used is no measure (RFC 5681 section 3.1).
    fn half(&self, flight: u32) -> u32 {
        flight.min(self.window) / 2
    }

    fn shrink_to(&mut self, window: u32) {
        self.ssthresh = window.max(MIN_WINDOW);
        self.window = self.ssthresh;
        self.credit = 0;
    }

    fn soften(&mut self) {
        self.shrink_to(self.window * 85 / 100);
    }

    fn widen(&mut self, window: u32) {
        self.window = self.window.max(window.min(MAX_WINDOW));
    }

    fn restart(&mut self, ssthresh: u32) {
        self.ssthresh = ssthresh.max(MIN_WINDOW);
        self.restart_again();
    }

    /// The threshold is held: the one packet that went out since is no measure (RFC 5681 section 3.1).
    fn restart_again(&mut self) {
        self.window = 1;
        self.credit = 0;
    }

    fn pacing_gain(&self) -> f64 {
        if self.in_slow_start() { 2.0 } else { 1.25 }
    }

    /// A window that the flow does not fill says nothing about the path, so it must not grow (RFC 9002 section 7.8). Nor
    /// does it grow in fast recovery, where it stands at the threshold; below it, after a timeout, slow start repairs
    /// the flight (RFC 5681 section 3.1).
    fn limited_by_window(&self, ack: &AckSample<'_>) -> bool {
        (!ack.in_recovery || self.in_slow_start()) && (!ack.app_limited || ack.in_flight >= self.window / 2)
    }
}

/// A rough copy of one path's parameters for tests of the controllers.
#[cfg(test)]
pub(crate) fn test_rtt(rtt: Duration) -> RttEstimator {
    let mut estimator = RttEstimator::new(rtt * 3, rtt, rtt * 1000);
    estimator.sample(rtt);
    estimator
}

#[cfg(test)]
pub(crate) fn test_ack(rtt: &RttEstimator, now: Instant, delivered: u32, in_flight: u32) -> AckSample<'_> {
    AckSample {
        now,
        delivered,
        in_flight,
        app_limited: false,
        in_recovery: false,
        rtt,
        delivery_rate_pps: None,
        round_start: false,
        loss_share: 0.0,
        coupling: None,
    }
}

/// Length of the shortest time for which a rate can be expressed, used where a division needs a floor.
const TICK: Duration = Duration::from_micros(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    // R-CC-2
    fn timeouts_in_a_row_hold_the_threshold_of_the_first() {
        let rtt = test_rtt(Duration::from_millis(100));
        for congestion in [Congestion::NewReno, Congestion::Bic, Congestion::Cubic, Congestion::Lia] {
            let left_by = |again: u32| {
                let mut cc = AnyController::new(congestion, 40, MAX_WINDOW);
                cc.on_timeout(Instant::ZERO, 40, false);
                (0..again).for_each(|_| cc.on_timeout(Instant::ZERO, 1, true));
                assert_eq!(cc.window(), 1, "{congestion:?}");
                let threshold = cc.slow_start_threshold();
                let windows: Vec<_> = (0..200)
                    .map(|step| {
                        let now = Instant::ZERO + Duration::from_millis(20 * step);
                        cc.on_ack(&test_ack(&rtt, now, 2, cc.window()));
                        cc.window()
                    })
                    .collect();
                (threshold, windows)
            };
            let once = left_by(0);
            assert!(once.0.is_some_and(|threshold| threshold >= 20), "{congestion:?}: {:?}", once.0);
            assert_eq!(left_by(5), once, "{congestion:?}");
        }
    }
}
