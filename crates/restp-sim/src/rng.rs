//! Random numbers of a simulation: one seed, the same sequence on every machine and in every version.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256StarStar;

/// The generator of one simulation.
#[derive(Clone, Debug)]
pub struct SimRng(Xoshiro256StarStar);

impl SimRng {
    /// The generator that `seed` names.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256StarStar::seed_from_u64(seed))
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64 }
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// 32 bytes, for seeds of endpoints.
    pub fn seed_bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut rng = SimRng::new(1);
        let drawn: Vec<u64> = (0..3).map(|_| rng.below(1000)).collect();
        let mut again = SimRng::new(1);
        assert_eq!(drawn, (0..3).map(|_| again.below(1000)).collect::<Vec<_>>());
        assert!((0..1000).all(|_| rng.below(7) < 7));
    }
}
