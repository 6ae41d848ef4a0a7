//! Where initial sequence numbers and time stamps come from: a seed, never the system.

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

/// A stream of numbers that one seed determines: SipHash-2-4 over a counter.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    seed: u64,
    drawn: u64,
}

impl Stream {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let mut hasher = SipHasher24::new_with_keys(self.seed, 0x7261_7374_6100_0000);
        hasher.write_u64(self.drawn);
        self.drawn += 1;
        hasher.finish()
    }

    /// A number in `0.0..1.0`.
    #[cfg(feature = "sim")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Initial sequence number of each connection and origin of the time stamps of one end.
///
/// RaSTA wants a random initial sequence number (state table of SBB's `srstm_sr_state_machine.c`, action 4 of
/// *Open*). Where it shall not be guessed, seed from the system's random numbers.
#[derive(Clone, Debug)]
pub struct Seeds {
    sequence_numbers: Numbers,
    time_stamp_ms: u32,
}

#[derive(Clone, Debug)]
enum Numbers {
    Drawn(Stream),
    Fixed(u32),
}

impl Seeds {
    /// Everything from one number: the same seed gives the same bytes on the wire.
    #[must_use]
    pub fn from_u64(seed: u64) -> Self {
        let mut stream = Stream::new(seed);
        let time_stamp_ms = stream.next_u64() as u32;
        Self { sequence_numbers: Numbers::Drawn(stream), time_stamp_ms }
    }

    /// Chosen values, the same for every connection: for tests of the wrap-around and for replays.
    #[must_use]
    pub const fn fixed(sequence_number: u32, time_stamp_ms: u32) -> Self {
        Self { sequence_numbers: Numbers::Fixed(sequence_number), time_stamp_ms }
    }

    pub(crate) fn sequence_number(&mut self) -> u32 {
        match &mut self.sequence_numbers {
            Numbers::Drawn(stream) => stream.next_u64() as u32,
            Numbers::Fixed(number) => *number,
        }
    }

    pub(crate) const fn time_stamp_ms(&self) -> u32 {
        self.time_stamp_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let mut seeds = Seeds::from_u64(seed);
            (seeds.time_stamp_ms(), seeds.sequence_number(), seeds.sequence_number())
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_ne!(draw(7).1, draw(7).2, "each connection starts elsewhere");
    }
}
