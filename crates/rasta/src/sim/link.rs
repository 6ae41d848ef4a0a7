//! What a simulated transport channel does to frames.

use std::time::Duration;

use crate::seeds::Stream;
use crate::time::Instant;

/// A transport channel; both directions are alike. The default is perfect and takes no time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Time that each frame takes.
    pub delay: Duration,
    /// Up to so much more, drawn for each frame: frames overtake each other.
    pub jitter: Duration,
    /// Probability that a frame is lost, 0 to 1.
    pub loss: f64,
    /// Probability that a frame comes twice, 0 to 1.
    pub duplication: f64,
    /// Probability that one bit of a frame is inverted, 0 to 1.
    pub corruption: f64,
    /// Capacity in bit/s of the frames' own octets; frames queue before it without bound. `None`: no limit.
    pub rate_bit_per_s: Option<f64>,
}

impl Link {
    /// A link that only delays.
    #[must_use]
    pub fn delay(delay: Duration) -> Self {
        Self { delay, ..Self::default() }
    }

    /// The copies of a frame that arrive, with the moment of each.
    pub(super) fn carry(
        &self,
        now: Instant,
        busy_until: &mut Instant,
        frame: Vec<u8>,
        stream: &mut Stream,
    ) -> Vec<(Instant, Vec<u8>)> {
        let mut left = now;
        if let Some(rate) = self.rate_bit_per_s {
            left = now.max(*busy_until) + Duration::from_secs_f64(frame.len() as f64 * 8.0 / rate);
            *busy_until = left;
        }
        if stream.unit() < self.loss {
            return Vec::new();
        }
        let copies = if stream.unit() < self.duplication { 2 } else { 1 };
        (0..copies)
            .map(|_| {
                let mut copy = frame.clone();
                if stream.unit() < self.corruption {
                    let bit = (stream.unit() * copy.len() as f64 * 8.0) as usize;
                    copy[bit / 8] ^= 1 << (bit % 8);
                }
                (left + self.delay + self.jitter.mul_f64(stream.unit()), copy)
            })
            .collect()
    }
}
