//! The two programs of a flow.

use std::time::Duration;

use netlab::RunClock;

/// One end of a flow: who opens the session, and who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Client,
    Server,
}

impl Role {
    /// The word in a plan's terms.
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Client => "client",
            Role::Server => "server",
        }
    }
}

/// How long it is from now to an instant of the run.
pub(super) fn left(clock: RunClock, until_ns: i64) -> Duration {
    Duration::from_nanos((until_ns - clock.now_ns().unwrap_or(until_ns)).max(0) as u64)
}
