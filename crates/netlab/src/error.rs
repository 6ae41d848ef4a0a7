//! The two ways in which this crate fails: a description that cannot be built, and a kernel that refuses.

use std::{fmt, io};

/// Why a network, a change or a capture could not be made.
#[derive(Debug)]
pub enum Error {
    /// The description is wrong: a mistake of whoever wrote the plan. The text is one sentence.
    Spec(String),
    /// The kernel refused: `what` was attempted (as in "cannot create …") and `source` is its answer.
    System {
        /// What was attempted, as the first half of a sentence.
        what: String,
        /// The kernel's answer.
        source: io::Error,
    },
}

impl Error {
    /// True if the plan, and not the machine, has to be mended.
    pub fn is_users_mistake(&self) -> bool {
        matches!(self, Error::Spec(_))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Spec(sentence) => f.write_str(sentence),
            Error::System { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Spec(_) => None,
            Error::System { source, .. } => Some(source),
        }
    }
}

/// Names what was attempted when a system call fails.
pub(crate) trait Attempt<T> {
    /// Turns the failure into [`Error::System`]; `what` is only evaluated then.
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: Into<io::Error>> Attempt<T> for Result<T, E> {
    fn attempt(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|e| Error::System { what: what(), source: e.into() })
    }
}
