//! What a check is.

use crate::image::Image;

/// What a check found out, in words and figures, or why it failed.
pub type Finding = Result<String, String>;

/// A named check.
pub type Check = (&'static str, fn() -> Finding);

/// Fails unless the registers hold what they should.
pub fn unchanged(expected: &Image, found: &Image) -> Result<(), String> {
    expected.difference(found).map_or(Ok(()), Err)
}

/// Fails with a sentence unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($sentence:tt)*) => {{
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($sentence)*));
        }
    }};
}
pub(crate) use ensure;
