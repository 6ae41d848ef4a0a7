//! Seeds: one for each random generator of a network, all from the run's seed.

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): the same on every machine and release.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a stream of random numbers from a seed.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_GAMMA);
        finalise(self.0)
    }

    /// The next number in [0, 1), of 53 bits.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Whether something of this probability happens now.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of the generator called `name` in the run with seed `run`: SplitMix64's finaliser (Steele, Lea
/// and Flood, OOPSLA 2014) over both, so that neighbouring run seeds give unrelated streams.
pub(crate) fn mix(run: u64, name: &str) -> u64 {
    finalise(run.wrapping_add(fnv1a(name.as_bytes())).wrapping_add(GOLDEN_GAMMA))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv1a_gives_the_published_values() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        // Vigna's splitmix64.c (prng.di.unimi.it) with the seed 1234567.
        let mut generator = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| generator.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_link_and_every_run_has_its_own_seed() {
        let mut seeds: Vec<u64> =
            (0..100).flat_map(|run| ["ra>rabc", "rabc>ra", "rabc>rb"].map(|name| mix(run, name))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 300);
    }
}
