//! What the programs have in common: options, sockets and the clock. Not part of the library's promises.

mod keys;
mod options;
mod sockets;
mod tell;

pub use keys::read_keys;
pub use options::{SecurityOptions, duration, subseconds};
pub use sockets::Sockets;
pub use tell::Tell;

use std::time::{Duration, Instant};

/// What a program ends with: an error is a sentence for the user.
pub type Outcome = Result<(), String>;

/// The clock of a program: time since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that begins now.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a clock that begins by default would surprise")]
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Time since its start.
    #[must_use]
    pub fn now(self) -> Duration {
        self.0.elapsed()
    }
}
