//! Why packets are lost: evidence moves a balance, and the verdict changes only when it is clear.
//!
//! The dissertation leaves the identification of the cause as future work (its section 3.6); this is ours. In order:
//! a hint of the layer below; silence over two timeouts (outage); an ECN mark, or an RTT that has risen (congestion);
//! damaged payloads, seen here or echoed by the peer, and losses without a queue (corruption).

use std::time::Duration;

use crate::profile::LossCause;
use crate::rtt::RttEstimator;

/// How far one piece of evidence moves the balance towards itself.
const GAIN: f64 = 0.12;
/// The balance before any evidence: rather congestion, the mistake that harms nobody.
const AT_FIRST: f64 = -0.5;
/// Above this balance losses are corruption; they are congestion again below zero.
const CORRUPTION: f64 = 0.5;
/// A rise of the RTT over its minimum that is no queue's: this and a quarter of the minimum.
const JITTER: Duration = Duration::from_millis(2);
/// Timeouts in a row, with nothing from the peer, that mean an outage. A queue explains one of them.
const SILENCES: u32 = 2;

/// What losses mean to a connection: what its application says, and what the application was told last.
#[derive(Debug)]
pub(crate) struct Cause {
    pub configured: LossCause,
    reported: LossCause,
}

impl Cause {
    pub fn new(configured: LossCause) -> Self {
        Self { configured, reported: LossCause::Congestion }
    }

    /// True if `cause` is news to the application.
    pub fn is_news(&mut self, cause: LossCause) -> bool {
        std::mem::replace(&mut self.reported, cause) != cause
    }
}

/// The running verdict on one path.
// R-LOSS-6
#[derive(Clone, Debug)]
pub(crate) struct CauseEstimator {
    hint: Option<LossCause>,
    verdict: LossCause,
    /// From -1 (congestion) to 1 (corruption).
    balance: f64,
    silences: u32,
}

impl CauseEstimator {
    pub fn new() -> Self {
        Self { hint: None, verdict: LossCause::Congestion, balance: AT_FIRST, silences: 0 }
    }

    /// The cause that losses have at present.
    pub fn verdict(&self) -> LossCause {
        match self.hint {
            Some(hint) => hint,
            None if self.silences >= SILENCES => LossCause::Outage,
            None => self.verdict,
        }
    }

    fn weigh(&mut self, evidence: f64) {
        self.balance += GAIN * (evidence - self.balance);
        if self.balance > CORRUPTION {
            self.verdict = LossCause::Corruption;
        } else if self.balance < 0.0 {
            self.verdict = LossCause::Congestion;
        }
    }

    /// Packets were found lost.
    pub fn on_loss(&mut self, rtt: &RttEstimator) {
        let queued = rtt.latest() > rtt.min() + rtt.min() / 4 + JITTER;
        self.weigh(if queued { -1.0 } else { 1.0 });
    }

    /// A mark from a queue.
    pub fn on_ecn(&mut self) {
        self.balance = -1.0;
        self.verdict = LossCause::Congestion;
    }

    /// A payload arrived damaged behind an intact header, or the peer said so.
    pub fn on_corruption(&mut self) {
        self.weigh(1.0);
    }

    /// The retransmission timer expired without a word from the peer since the oldest packet in flight was sent.
    pub fn on_silent_timeout(&mut self) {
        self.silences += 1;
    }

    /// Anything arrived from the peer: an outage is over.
    pub fn on_packet(&mut self) {
        self.silences = 0;
    }

    /// The layer below names the cause; `Dynamic` takes the hint back.
    pub fn hint(&mut self, cause: LossCause) {
        self.hint = Some(cause).filter(|cause| *cause != LossCause::Dynamic);
        match cause {
            LossCause::Congestion => (self.balance, self.verdict) = (-1.0, cause),
            LossCause::Corruption => (self.balance, self.verdict) = (1.0, cause),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn rtt(latest: Duration) -> RttEstimator {
        let mut rtt = RttEstimator::new(RTT * 10, RTT, RTT * 1000);
        rtt.sample(RTT);
        rtt.sample(latest);
        rtt
    }

    fn after_losses(cause: &mut CauseEstimator, losses: usize, latest: Duration) -> LossCause {
        (0..losses).for_each(|_| cause.on_loss(&rtt(latest)));
        cause.verdict()
    }

    // R-LOSS-6
    #[test]
    fn losses_without_a_queue_become_corruption_and_losses_behind_one_congestion_again() {
        let mut cause = CauseEstimator::new();
        // 1 - 1.5 * 0.88^8 = 0.46 and 1 - 1.5 * 0.88^9 = 0.53; 1.53 * 0.88^3 - 1 = 0.04 and 1.53 * 0.88^4 - 1 = -0.09.
        assert_eq!(after_losses(&mut cause, 8, RTT), LossCause::Congestion);
        assert_eq!(after_losses(&mut cause, 1, RTT), LossCause::Corruption);
        assert_eq!(
            after_losses(&mut cause, 3, RTT * 2),
            LossCause::Corruption,
            "between the bounds as before"
        );
        assert_eq!(after_losses(&mut cause, 1, RTT * 2), LossCause::Congestion);
    }

    // R-LOSS-6
    #[test]
    fn damaged_payloads_count_and_a_mark_takes_everything_back() {
        let mut cause = CauseEstimator::new();
        (0..9).for_each(|_| cause.on_corruption());
        assert_eq!(cause.verdict(), LossCause::Corruption);
        cause.on_ecn();
        assert_eq!(cause.verdict(), LossCause::Congestion);
        (0..9).for_each(|_| cause.on_corruption());
        assert_eq!(cause.verdict(), LossCause::Congestion, "from -1 the way is longer");
    }

    // R-LOSS-6
    #[test]
    fn silence_over_two_timeouts_is_an_outage_until_any_packet_comes() {
        let mut cause = CauseEstimator::new();
        cause.on_silent_timeout();
        assert_eq!(cause.verdict(), LossCause::Congestion, "a queue explains one");
        cause.on_packet();
        cause.on_silent_timeout();
        assert_eq!(cause.verdict(), LossCause::Congestion, "not in a row");
        cause.on_silent_timeout();
        assert_eq!(cause.verdict(), LossCause::Outage);
        cause.on_packet();
        assert_eq!(cause.verdict(), LossCause::Congestion);
    }

    // R-LOSS-6
    #[test]
    fn a_hint_decides_while_it_stands_and_moves_the_balance() {
        let mut cause = CauseEstimator::new();
        cause.hint(LossCause::Corruption);
        cause.on_loss(&rtt(RTT * 2));
        assert_eq!(cause.verdict(), LossCause::Corruption);
        cause.hint(LossCause::Dynamic);
        assert_eq!(after_losses(&mut cause, 1, RTT), LossCause::Corruption, "0.76 and up again");
    }
}
