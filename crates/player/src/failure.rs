//! Why a run could not be played, as one sentence.

use std::fmt;

/// A sentence for the user: what was wrong, where, what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

/// What the guest's steps return.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// The sentence as it is.
    pub fn new(sentence: impl Into<String>) -> Self {
        Failure(sentence.into())
    }

    /// "could not <deed>: <the system's reason>".
    pub fn io(deed: impl fmt::Display, error: &std::io::Error) -> Self {
        Failure(format!("could not {deed}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<netlab::Error> for Failure {
    fn from(error: netlab::Error) -> Self {
        Failure(error.to_string())
    }
}
