//! Numbers on the command line; what is none is told in a sentence.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest time that an option takes, in milliseconds: a day.
pub const MOST_MS: u64 = 86_400_000;

/// Whole numbers of `range`.
pub fn whole<T: TryFrom<u64>>(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match (range.start(), range.end()) {
            (least, &u64::MAX) => format!("write a whole number, {least} or more"),
            (least, most) => format!("write a whole number from {least} to {most}"),
        })
    }
}

/// A time in seconds.
pub fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("write a number of seconds, 0 or more, for instance 0.5")
}

/// Lets what begins with a minus be a number, so that the option that takes it says what would be right.
pub fn may_be_negative(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let takes_value = arg.get_action().takes_values();
            arg.allow_negative_numbers(takes_value)
        })
        .mut_subcommands(may_be_negative)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_or_out_of_range_is_told_what_would_be_right() {
        assert_eq!(whole::<u32>(2..=65_535)("65535"), Ok(65_535));
        for wrong in ["1", "65536", "-1", "nan", "", "1.5", "99999999999999999999"] {
            assert_eq!(whole::<u32>(2..=65_535)(wrong).unwrap_err(), "write a whole number from 2 to 65535");
            assert_eq!(whole::<u64>(2..=u64::MAX)(wrong).is_ok(), wrong == "65536", "{wrong}");
        }
        assert_eq!(whole::<u64>(0..=u64::MAX)("-1").unwrap_err(), "write a whole number, 0 or more");
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["nan", "-1", "inf", "1e300", "soon", ""] {
            assert!(seconds(wrong).unwrap_err().contains("0 or more"), "{wrong}");
        }
    }
}
