//! How a command ends.

/// What a command ends with: an error is a sentence for the user.
pub type Outcome = Result<(), Box<dyn std::error::Error + Send + Sync>>;
