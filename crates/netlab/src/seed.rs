//! Seeds: one for each random generator of a network, all from the run's seed.

/// FNV-1a, 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>): the same on every machine and release.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

/// The seed of the generator called `name` in the run with seed `run`: SplitMix64's finaliser (Steele, Lea
/// and Flood, OOPSLA 2014) over both, so that neighbouring run seeds give unrelated streams.
pub(crate) fn mix(run: u64, name: &str) -> u64 {
    let mut z = run.wrapping_add(fnv1a(name.as_bytes())).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
    fn every_link_and_every_run_has_its_own_seed() {
        let mut seeds: Vec<u64> =
            (0..100).flat_map(|run| ["ra>rabc", "rabc>ra", "rabc>rb"].map(|name| mix(run, name))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 300);
    }
}
