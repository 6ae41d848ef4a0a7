//! Models of packet loss.

use crate::rng::SimRng;

/// How a link loses packets.
#[derive(Clone, Debug, Default, PartialEq)]
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
    fn gilbert_elliott_loses_in_bursts() {
        let loss = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.1, loss_good: 0.0, loss_bad: 1.0 };
        let hits = run(&loss, 200_000);
        let lost = hits.iter().filter(|hit| **hit).count() as f64;
        let starts = hits.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        assert!((8.0..12.0).contains(&(lost / starts)), "mean burst {}", lost / starts);
    }
}
