//! What a command ends with.

/// An error is a sentence for the user.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What a command ends with.
pub type Outcome = Result<(), Failure>;
