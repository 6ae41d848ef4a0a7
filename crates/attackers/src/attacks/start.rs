//! How a start is made, and how long it may take.

use std::future::Future;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::outcome::Outcome;

/// How long what is under way when the last start was made may take besides its time-out.
pub const DRAIN: Duration = Duration::from_millis(500);

/// Makes a start that was due at `due`: it runs beside all others, and what comes of it is counted.
pub fn launch(
    context: &Rc<Context>,
    due: Instant,
    start: impl Future<Output = Result<(), Outcome>> + 'static,
) {
    let tally = Rc::clone(&context.tally);
    let alive = tally.alive();
    tokio::task::spawn_local(async move {
        tally.sent(due);
        tally.ended(start.await.err().unwrap_or(Outcome::Ok));
        drop(alive);
    });
}

/// What comes of it until the deadline.
pub async fn by<T>(deadline: Instant, start: impl Future<Output = Result<T, Outcome>>) -> Result<T, Outcome> {
    tokio::time::timeout_at(deadline.into(), start).await.unwrap_or(Err(Outcome::Timeout))
}
