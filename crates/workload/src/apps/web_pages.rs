//! What a web page consists of: the 3GPP traffic model as the dissertation on ResTP uses it (section 4.2.1), and the
//! one page whose load time it reports.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One page: its objects in the order in which they are asked for, and the pauses of who reads it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Page {
    /// The main object first, then the embedded ones.
    pub(super) objects_bytes: Vec<u64>,
    /// Between the main object and the first embedded one.
    pub(super) parsing_ns: i64,
    /// After the last object.
    pub(super) reading_ns: i64,
}

/// Which pages are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Drawn from the model's distributions.
    Drawn,
    /// The dissertation's first page every time, parsed and read in the model's mean times.
    Fixed,
}

/// Sizes of an object: a log-normal distribution of this mean and standard deviation, drawn again outside of the bounds.
struct Sizes {
    mean_bytes: f64,
    deviation_bytes: f64,
    least_bytes: f64,
    most_bytes: f64,
}

const MAIN: Sizes =
    Sizes { mean_bytes: 10_710.0, deviation_bytes: 25_032.0, least_bytes: 100.0, most_bytes: 2e6 };
const EMBEDDED: Sizes =
    Sizes { mean_bytes: 7758.0, deviation_bytes: 126_168.0, least_bytes: 50.0, most_bytes: 2e6 };

/// Embedded objects of a page: a Pareto distribution of this scale and shape, cut at the bound, less the scale.
const COUNT_SCALE: f64 = 2.0;
const COUNT_SHAPE: f64 = 1.1;
const COUNT_BOUND: f64 = 55.0;

const PARSING_MEAN_S: f64 = 0.13;
const READING_MEAN_S: f64 = 30.0;

/// Objects of the fixed page: main and embedded.
const FIXED_BYTES: [u64; 2] = [79_453, 226];

/// The first `count` pages that follow from `seed`.
pub(super) fn pages(kind: Kind, count: u64, seed: u64) -> Vec<Page> {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    (0..count)
        .map(|_| match kind {
            Kind::Drawn => dice.page(),
            Kind::Fixed => Page {
                objects_bytes: FIXED_BYTES.to_vec(),
                parsing_ns: (PARSING_MEAN_S * 1e9) as i64,
                reading_ns: (READING_MEAN_S * 1e9) as i64,
            },
        })
        .collect()
}

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn page(&mut self) -> Page {
        let mut objects_bytes = vec![self.size(&MAIN)];
        let embedded = self.embedded();
        objects_bytes.extend((0..embedded).map(|_| self.size(&EMBEDDED)));
        let parsing_ns = self.exponential_ns(PARSING_MEAN_S);
        Page { objects_bytes, parsing_ns, reading_ns: self.exponential_ns(READING_MEAN_S) }
    }

    /// A number above 0 and at most 1, with 53 bits.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// A number from the standard normal distribution (Box and Muller, 1958).
    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }

    fn size(&mut self, sizes: &Sizes) -> u64 {
        // Mean and deviation of the logarithm of a log-normal variable.
        let spread = (1.0 + (sizes.deviation_bytes / sizes.mean_bytes).powi(2)).ln();
        let middle = sizes.mean_bytes.ln() - spread / 2.0;
        loop {
            let bytes = (middle + spread.sqrt() * self.normal()).exp();
            if (sizes.least_bytes..=sizes.most_bytes).contains(&bytes) {
                return bytes as u64;
            }
        }
    }

    fn embedded(&mut self) -> u64 {
        loop {
            let count = COUNT_SCALE / self.uniform().powf(1.0 / COUNT_SHAPE);
            if count <= COUNT_BOUND {
                return (count - COUNT_SCALE) as u64;
            }
        }
    }

    fn exponential_ns(&mut self, mean_s: f64) -> i64 {
        (-self.uniform().ln() * mean_s * 1e9) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
        values.clone().sum::<f64>() / values.count() as f64
    }

    #[test]
    fn pages_have_the_published_means() {
        let pages = pages(Kind::Drawn, 20_000, 1);
        let embedded = mean(pages.iter().map(|page| page.objects_bytes.len() as f64 - 1.0));
        // The dissertation prints 3.95 for the truncated distribution.
        assert!((3.75..4.15).contains(&embedded), "{embedded}");
        let main = mean(pages.iter().map(|page| page.objects_bytes[0] as f64));
        assert!((10_000.0..11_200.0).contains(&main), "{main}");
        let parsing = mean(pages.iter().map(|page| page.parsing_ns as f64));
        assert!((0.127e9..0.133e9).contains(&parsing), "{parsing}");
        let reading = mean(pages.iter().map(|page| page.reading_ns as f64));
        assert!((29.3e9..30.7e9).contains(&reading), "{reading}");
    }

    #[test]
    fn everything_stays_within_its_bounds() {
        for page in pages(Kind::Drawn, 20_000, 2) {
            assert!((1..=54).contains(&page.objects_bytes.len()));
            assert!((100..=2_000_000).contains(&page.objects_bytes[0]));
            assert!(page.objects_bytes[1..].iter().all(|bytes| (50..=2_000_000).contains(bytes)));
        }
    }

    #[test]
    fn pages_follow_from_the_seed_and_more_of_them_change_none() {
        assert_eq!(pages(Kind::Drawn, 5, 7), pages(Kind::Drawn, 9, 7)[..5]);
        assert_ne!(pages(Kind::Drawn, 5, 7), pages(Kind::Drawn, 5, 8));
        assert_eq!(pages(Kind::Fixed, 1, 7)[0].objects_bytes, [79_453, 226]);
    }
}
