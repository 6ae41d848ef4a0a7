//! What a check is.

/// What a check found out, in words and figures, or why it failed.
pub type Finding = Result<String, Box<dyn std::error::Error>>;

/// A named check.
pub type Check = (&'static str, fn() -> Finding);

/// Fails with a sentence unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($sentence:tt)*) => {{
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($sentence)*).into());
        }
    }};
}
pub(crate) use ensure;
