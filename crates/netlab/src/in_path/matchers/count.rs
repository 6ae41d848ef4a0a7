//! `nth`, `every`, `probability`: of the packets for which all else holds, which.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::in_path::matcher::{Found, Kind, Matcher, Names, OneOrRange, Seen, read};
use crate::random::Random;

pub(super) const NTH: Kind = Kind { key: "nth", build: nth };
pub(super) const EVERY: Kind = Kind { key: "every", build: every };
pub(super) const PROBABILITY: Kind = Kind { key: "probability", build: probability };

fn nth(value: &Value, _: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    Ok(Box::new(Nth { wanted: OneOrRange::read(value, 1, u64::from(u32::MAX))?, so_far: 0 }))
}

/// The n-th one, or those from the n-th to the m-th, counted from 1.
struct Nth {
    wanted: RangeInclusive<u64>,
    so_far: u64,
}

impl Matcher for Nth {
    fn holds(&mut self, _: &Seen<'_>, _: &mut Found) -> bool {
        self.so_far += 1;
        self.wanted.contains(&self.so_far)
    }
}

fn every(value: &Value, _: &Names<'_>, _: Random) -> Result<Box<dyn Matcher>, String> {
    let right = "a whole number from 1 on";
    let period: u64 = read(value, right)?;
    if period == 0 {
        return Err(format!("is 0; it must be {right}"));
    }
    Ok(Box::new(Every { period, so_far: 0 }))
}

/// Each n-th one, the first of them the n-th.
struct Every {
    period: u64,
    so_far: u64,
}

impl Matcher for Every {
    fn holds(&mut self, _: &Seen<'_>, _: &mut Found) -> bool {
        self.so_far += 1;
        self.so_far.is_multiple_of(self.period)
    }
}

fn probability(value: &Value, _: &Names<'_>, random: Random) -> Result<Box<dyn Matcher>, String> {
    let right = "a fraction from 0 to 1";
    let share: f64 = read(value, right)?;
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("is {value}; it must be {right}"));
    }
    Ok(Box::new(Chance { share, random }))
}

struct Chance {
    share: f64,
    random: Random,
}

impl Matcher for Chance {
    fn holds(&mut self, _: &Seen<'_>, _: &mut Found) -> bool {
        self.random.fraction() < self.share
    }
}
