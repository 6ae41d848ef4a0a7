//! What ends a connection.

/// The peer broke a rule; the sentence says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Violation(pub &'static str);
