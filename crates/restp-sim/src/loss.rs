//! Models of packet loss.

use crate::rng::SimRng;

/// How a link loses packets.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Loss {
    /// Not at all.
    #[default]
    None,
    /// Each packet independently with this probability.
    Bernoulli(f64),
    /// Two states, each with its own loss, changed per packet (Gilbert 1960, Elliott 1963): loss in bursts.
    GilbertElliott {
        /// Probability per packet of going from the good state to the bad one.
        to_bad: f64,
        /// Probability per packet of going back; bursts last `1 / to_good` packets on average.
        to_good: f64,
        /// Loss in the good state.
        loss_good: f64,
        /// Loss in the bad state.
        loss_bad: f64,
    },
}

impl Loss {
    /// Losses with a long-run share of `mean` (0 to 1) in bursts of `burst_packets` on average (Gilbert 1960).
    ///
    /// Between two bursts at least one packet passes, so that bursts of `n` packets lose `n / (n + 1)` of all at most; a larger
    /// `mean` gives that.
    /// Bursts of at most one packet stand for independent losses, of which two may follow each other.
    #[must_use]
    pub fn bursts(mean: f64, burst_packets: f64) -> Self {
        if burst_packets <= 1.0 {
            return Self::Bernoulli(mean);
        }
        let to_good = 1.0 / burst_packets;
        let to_bad = (to_good * mean / (1.0 - mean)).min(1.0);
        Self::GilbertElliott { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// Share of packets lost in the long run.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Bernoulli(p) => p,
            Self::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let bad = if to_bad + to_good > 0.0 { to_bad / (to_bad + to_good) } else { 0.0 };
                bad * loss_bad + (1.0 - bad) * loss_good
            }
        }
    }

    /// Decides about one packet; `bad` is the state of the link.
    pub(crate) fn hits(&self, bad: &mut bool, rng: &mut SimRng) -> bool {
        match *self {
            Self::None => false,
            Self::Bernoulli(p) => rng.chance(p),
            Self::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                if rng.chance(if *bad { to_good } else { to_bad }) {
                    *bad = !*bad;
                }
                rng.chance(if *bad { loss_bad } else { loss_good })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(loss: &Loss, packets: u32) -> Vec<bool> {
        let mut rng = SimRng::new(3);
        let mut bad = false;
        (0..packets).map(|_| loss.hits(&mut bad, &mut rng)).collect()
    }

    #[test]
    fn both_models_lose_their_mean() {
        let burst = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.2, loss_good: 0.0, loss_bad: 0.8 };
        for loss in [Loss::Bernoulli(0.05), burst] {
            let lost = run(&loss, 200_000).iter().filter(|hit| **hit).count() as f64 / 200_000.0;
            assert!((lost - loss.mean()).abs() < 0.005, "{loss:?}: {lost}");
        }
    }

    #[test]
    fn bursts_have_the_share_and_the_length_that_were_asked_for() {
        for (mean, length) in [(0.01, 10.0), (0.2, 5.0), (0.3, 20.0)] {
            let hits = run(&Loss::bursts(mean, length), 1_000_000);
            let lost = hits.iter().filter(|hit| **hit).count() as f64;
            let starts = hits.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            assert!((lost / 1e6 / mean - 1.0).abs() < 0.1, "mean {}", lost / 1e6);
            assert!((lost / starts / length - 1.0).abs() < 0.1, "burst {}", lost / starts);
        }
        assert_eq!(Loss::bursts(0.1, 1.0), Loss::Bernoulli(0.1));
    }
}
