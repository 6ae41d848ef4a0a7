//! `alter`: bits of the packet are turned over, at places that are drawn or given.

use serde::Deserialize;

use crate::in_path::action::{Action, Checksums, Hand, Kind, one};
use crate::in_path::place::Within;
use crate::random::Random;

pub(super) const ALTER: Kind = Kind {
    name: "alter",
    parameters: &["within", "bits", "burst_bits", "at_bit", "checksums"],
    without_packet: false,
    build: |params, names, random| {
        let params: Params = params.read()?;
        params.within.known(names)?;
        if params.bits == 0 {
            return Err("has 0 for `bits`; it must be at least 1".into());
        }
        if params.burst_bits.is_some_and(|burst| burst < params.bits) {
            return Err("has fewer `burst_bits` than `bits`; the bits lie within the burst".into());
        }
        if params.at_bit.is_some() && params.burst_bits.is_some() {
            return Err("has both `at_bit` and `burst_bits`; give one of them".into());
        }
        Ok(Box::new(Alter { params, random }))
    },
};

#[derive(Deserialize)]
struct Params {
    within: Within,
    /// How many.
    #[serde(default = "one")]
    bits: usize,
    /// They lie within a burst of this length, whose first and last bit are among them; none: anywhere.
    burst_bits: Option<usize>,
    /// They follow each other from this one on, the first being 0, the most significant one of the first byte.
    at_bit: Option<usize>,
    #[serde(default = "leave")]
    checksums: Checksums,
}

fn leave() -> Checksums {
    Checksums::Leave
}

struct Alter {
    params: Params,
    random: Random,
}

impl Action for Alter {
    fn act(&mut self, hand: &mut Hand<'_>) -> bool {
        let headers = hand.headers();
        let Some(frame) = &mut hand.frame else { return false };
        let length = frame.bytes.len();
        let Some(range) = self.params.within.range(length, headers.as_ref(), hand.part.as_ref()) else {
            return false;
        };
        let room = 8 * range.len();
        // A message that comes again is altered in the same way, as long as its packets are cut in the same way.
        let again = hand.part.as_ref().filter(|_| self.params.within == Within::Message);
        let drawn = match again {
            Some(part) => self.params.draw(&mut self.random.again_for(part.number), room),
            None => self.params.draw(&mut self.random, room),
        };
        let Some(places) = drawn else { return false };
        for place in places {
            frame.bytes[range.start + place / 8] ^= 0x80 >> (place % 8);
        }
        self.params.checksums.settle(&mut frame.bytes);
        true
    }
}

impl Params {
    /// The bits to turn over among so many; none if they do not fit.
    fn draw(&self, random: &mut Random, room: usize) -> Option<Vec<usize>> {
        if let Some(first) = self.at_bit {
            return (first + self.bits <= room).then(|| (first..first + self.bits).collect());
        }
        let (start, room, mut places) = match self.burst_bits {
            None => (0, room, Vec::new()),
            Some(burst) if burst > room => return None,
            Some(burst) => {
                let ends = if self.bits == 1 { vec![0] } else { vec![0, burst - 1] };
                (random.below(room - burst + 1), burst, ends)
            }
        };
        if self.bits > room {
            return None;
        }
        while places.len() < self.bits {
            let place = random.below(room);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Some(places.into_iter().map(|place| start + place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(bits: usize, burst_bits: Option<usize>) -> Params {
        Params { within: Within::Packet, bits, burst_bits, at_bit: None, checksums: Checksums::Leave }
    }

    #[test]
    fn bits_are_different_ones_within_the_room_and_every_place_comes_up() {
        let mut random = Random::new(1, "bits");
        let mut met = [0; 16];
        for _ in 0..400 {
            let mut places = params(3, None).draw(&mut random, 16).expect("they fit");
            places.iter().for_each(|place| met[*place] += 1);
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), 3);
        }
        assert!(met.iter().all(|times| (40..110).contains(times)), "{met:?}");
    }

    #[test]
    fn a_burst_begins_and_ends_with_a_turned_bit() {
        let mut random = Random::new(1, "burst");
        for _ in 0..100 {
            let places = params(5, Some(12)).draw(&mut random, 64).expect("they fit");
            let (first, last) = (places.iter().min().expect("five"), places.iter().max().expect("five"));
            assert_eq!((last - first, places.len()), (11, 5));
        }
        assert_eq!(params(5, Some(12)).draw(&mut random, 11), None);
        assert_eq!(params(12, None).draw(&mut random, 11), None);
    }
}
