//! Errors as sentences: a flow that is described wrongly, and a flow that did not work out.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A flow is described wrongly. The sentence names the flow, the key and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    /// An error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }

    /// The same error with the flow's id in front.
    pub fn in_flow(self, id: &str) -> Self {
        Self(format!("flow {id}: {}", self.0))
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// Why a flow failed: the `reason` of its result, one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    sentence: String,
    echo: bool,
}

impl Failure {
    /// A failure with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), echo: false }
    }

    /// What one end heard of the other's failure.
    pub(crate) fn echo(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), echo: true }
    }

    /// A system call failed: `what` says what was tried, the kernel says why not.
    pub fn system(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }

    /// Whether the other end knows better why.
    pub(crate) fn is_echo(&self) -> bool {
        self.echo
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Failure {}
