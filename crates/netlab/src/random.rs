//! The randomness of a rule or of a link direction: a generator of its own, from the run's seed and a name.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::seed;

/// A generator.
pub(crate) struct Random {
    seed: u64,
    generator: Xoshiro256PlusPlus,
}

impl Random {
    pub fn new(run_seed: u64, name: &str) -> Self {
        Self::of(seed::mix(run_seed, name))
    }

    fn of(seed: u64) -> Self {
        Random { seed, generator: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// One for something that may come again and has to meet the same fate, such as a message by its number.
    pub fn again_for(&self, number: u64) -> Self {
        Self::of(seed::mix(self.seed, &number.to_string()))
    }

    /// From 0 on and below 1, by the upper 53 bits.
    pub fn fraction(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this probability happens now.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }

    /// Draws each of these bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.below(256) as u8;
        }
    }

    /// A whole number below `limit`, which is above 0; none is likelier than another by more than 2^-32 of its chance.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.generator.next_u64()) * limit as u128) >> 64) as usize
    }
}
