//! Why packets are lost: evidence decides, and the verdict changes only when it is clear.
//!
//! The dissertation leaves the identification of the cause as future work (its section 3.6); this is ours. In order:
//! a hint of the layer below; silence without a queue (outage); an ECN mark, or an RTT that had risen (congestion);
//! damaged payloads, seen here or echoed by the peer (corruption); otherwise congestion, the mistake that harms nobody.

use crate::profile::LossCause;
use crate::rtt::RttEstimator;
use crate::time::Instant;

/// Losses in a row that corruption must explain before the verdict changes to it.
const STREAK: u32 = 2;

/// The running verdict on one path.
// R-LOSS-6
#[derive(Clone, Debug)]
pub(crate) struct CauseEstimator {
    hint: Option<LossCause>,
    verdict: LossCause,
    corrupt_at: Option<Instant>,
    marked_at: Option<Instant>,
    streak: u32,
    outage: bool,
}

impl CauseEstimator {
    pub fn new() -> Self {
        Self {
            hint: None,
            verdict: LossCause::Congestion,
            corrupt_at: None,
            marked_at: None,
            streak: 0,
            outage: false,
        }
    }

    /// The cause that losses have at present.
    pub fn verdict(&self) -> LossCause {
        match self.hint {
            Some(hint) => hint,
            None if self.outage => LossCause::Outage,
            None => self.verdict,
        }
    }

    /// Packets were found lost.
    pub fn on_loss(&mut self, now: Instant, rtt: &RttEstimator) {
        let window = rtt.smoothed() * 2;
        let recent = |at: Option<Instant>| at.is_some_and(|at| now.saturating_since(at) <= window);
        let queued = rtt.latest() > rtt.min() + rtt.min() / 2;
        let explained = recent(self.corrupt_at) && !recent(self.marked_at) && !queued;
        self.streak = if explained { self.streak + 1 } else { 0 };
        if self.streak >= STREAK {
            self.verdict = LossCause::Corruption;
        } else if !explained {
            self.verdict = LossCause::Congestion;
        }
    }

    /// A mark from a queue.
    pub fn on_ecn(&mut self, now: Instant) {
        self.marked_at = Some(now);
        self.streak = 0;
        self.verdict = LossCause::Congestion;
    }

    /// A payload arrived damaged behind an intact header, or the peer said so.
    pub fn on_corruption(&mut self, now: Instant) {
        self.corrupt_at = Some(now);
    }

    /// The retransmission timer expired without a word from the peer since the oldest packet in flight was sent.
    pub fn on_silent_timeout(&mut self, rtt: &RttEstimator) {
        self.outage |= rtt.measured().is_some() && rtt.smoothed() < rtt.min() * 2;
    }

    /// Anything arrived from the peer: an outage is over.
    pub fn on_packet(&mut self) {
        self.outage = false;
    }

    /// The layer below names the cause; `Dynamic` takes the hint back.
    pub fn hint(&mut self, cause: LossCause) {
        self.hint = Some(cause).filter(|cause| *cause != LossCause::Dynamic);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const RTT: Duration = Duration::from_millis(50);

    fn rtt(latest: Duration) -> RttEstimator {
        let mut rtt = RttEstimator::new(RTT * 10, RTT, RTT * 1000);
        rtt.sample(RTT);
        rtt.sample(latest);
        rtt
    }

    // R-LOSS-6
    #[test]
    fn two_losses_beside_damaged_payloads_are_corruption_and_one_without_is_congestion_again() {
        let mut cause = CauseEstimator::new();
        cause.on_corruption(Instant::ZERO);
        cause.on_loss(Instant::ZERO, &rtt(RTT));
        assert_eq!(cause.verdict(), LossCause::Congestion, "one loss is not enough");
        cause.on_loss(Instant::ZERO, &rtt(RTT));
        assert_eq!(cause.verdict(), LossCause::Corruption);
        cause.on_loss(Instant::ZERO + RTT * 3, &rtt(RTT));
        assert_eq!(cause.verdict(), LossCause::Congestion, "the evidence is too old");
    }

    // R-LOSS-6
    #[test]
    fn a_queue_or_a_mark_overrules_damaged_payloads() {
        let mut cause = CauseEstimator::new();
        for _ in 0..5 {
            cause.on_corruption(Instant::ZERO);
            cause.on_loss(Instant::ZERO, &rtt(RTT * 2));
        }
        assert_eq!(cause.verdict(), LossCause::Congestion);
        for _ in 0..5 {
            cause.on_ecn(Instant::ZERO);
            cause.on_loss(Instant::ZERO, &rtt(RTT));
        }
        assert_eq!(cause.verdict(), LossCause::Congestion);
    }

    // R-LOSS-6
    #[test]
    fn silence_is_an_outage_until_any_packet_comes_unless_a_queue_explains_it() {
        let mut cause = CauseEstimator::new();
        cause.on_silent_timeout(&rtt(RTT * 20));
        assert_eq!(cause.verdict(), LossCause::Congestion);
        cause.on_silent_timeout(&rtt(RTT));
        assert_eq!(cause.verdict(), LossCause::Outage);
        cause.on_packet();
        assert_eq!(cause.verdict(), LossCause::Congestion);
    }

    #[test]
    fn a_hint_decides_while_it_stands() {
        let mut cause = CauseEstimator::new();
        cause.hint(LossCause::Corruption);
        cause.on_ecn(Instant::ZERO);
        assert_eq!(cause.verdict(), LossCause::Corruption);
        cause.hint(LossCause::Dynamic);
        assert_eq!(cause.verdict(), LossCause::Congestion);
    }
}
