//! What a user is told when something cannot be done.

use std::fmt::Display;

/// A sentence: what was wrong, and what would be right.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(String);

impl Refusal {
    /// With these words.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// That `what` failed with `error`.
    pub fn of(what: impl Display, error: impl Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}
