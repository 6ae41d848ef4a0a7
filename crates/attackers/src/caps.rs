//! The most that one run may do. What is above is refused with a sentence, not cut.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// The highest rate, in starts a second.
pub const MOST_RATE: f64 = 20_000.0;
/// The most connections that are held at once.
pub const MOST_HELD: u32 = 20_000;
/// The longest run, in seconds.
pub const MOST_SECONDS: f64 = 600.0;

/// Why a number is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Above {
    /// It is no number.
    #[error("{0:?} is not a number")]
    NotANumber(String),
    /// It is out of its range.
    #[error("{given} {unit} is out of range: this program does more than 0 and at most {most} {unit}")]
    Range {
        /// What was asked for.
        given: f64,
        /// The cap.
        most: f64,
        /// Of what.
        unit: &'static str,
    },
}

fn bounded(text: &str, most: f64, unit: &'static str) -> Result<f64, Above> {
    let given: f64 = text.parse().map_err(|_| Above::NotANumber(text.to_owned()))?;
    // Not a number is not within either.
    if given > 0.0 && given <= most { Ok(given) } else { Err(Above::Range { given, most, unit }) }
}

/// Starts a second: more than 0, at most [`MOST_RATE`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(f64);

impl Rate {
    /// Starts a second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = Above;

    fn from_str(text: &str) -> Result<Self, Above> {
        bounded(text, MOST_RATE, "starts a second").map(Self)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How long starts are made: more than 0 s, at most [`MOST_SECONDS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(f64);

impl Seconds {
    /// As a duration.
    #[must_use]
    pub fn duration(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl FromStr for Seconds {
    type Err = Above;

    fn from_str(text: &str) -> Result<Self, Above> {
        bounded(text, MOST_SECONDS, "seconds").map(Self)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Connections held at once: 1 to [`MOST_HELD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held(u32);

impl Held {
    /// How many.
    #[must_use]
    pub fn count(self) -> u32 {
        self.0
    }
}

impl FromStr for Held {
    type Err = Above;

    fn from_str(text: &str) -> Result<Self, Above> {
        let given: u32 = text.parse().map_err(|_| Above::NotANumber(text.to_owned()))?;
        bounded(text, f64::from(MOST_HELD), "connections").map(|_| Self(given))
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caps_themselves_are_taken() {
        assert_eq!("20000".parse::<Rate>().unwrap().per_second(), MOST_RATE);
        assert_eq!("600".parse::<Seconds>().unwrap().duration(), Duration::from_secs(600));
        assert_eq!("20000".parse::<Held>().unwrap().count(), MOST_HELD);
        assert_eq!("0.5".parse::<Rate>().unwrap().per_second(), 0.5);
    }

    #[test]
    fn above_and_below_is_refused_with_the_cap() {
        for text in ["20000.1", "0", "-1", "inf", "NaN"] {
            let refused = text.parse::<Rate>().unwrap_err().to_string();
            assert!(refused.contains("20000"), "{refused}");
        }
        assert!("600.5".parse::<Seconds>().unwrap_err().to_string().contains("at most 600 seconds"));
        assert!("20001".parse::<Held>().is_err());
        assert!("0".parse::<Held>().is_err());
        assert_eq!("many".parse::<Rate>(), Err(Above::NotANumber("many".to_owned())));
    }
}
