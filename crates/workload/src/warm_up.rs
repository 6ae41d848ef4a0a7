//! A session before that of a flow, over which no message goes: it leaves the ticket with which the flow's own begins, and
//! sends in its first flight (0-RTT).
//!
//! ```text
//! sender ── warm-up ──▶   ── the flow's own session ──▶           nothing more
//!              ticket ────┘                  first flight ──▶ who repeats it begins a further one
//! ```

use std::sync::Arc;

use transports::{Arrival, Failure, Session, Stack};

use crate::ledger::{Received, ServerResult, WarmUp, seconds};
use crate::one_session::{End, receive_over};

/// The sending half of the session before.
///
/// # Errors
/// A sentence: it did not come about, or broke.
pub(crate) fn warm_up(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
) -> Result<WarmUp, Failure> {
    let started_s = seconds(session.ctx.clock.now_ns());
    let mut connection = stack.connect(session, message_bytes)?;
    let established_s = connection.established_ns().map(seconds);
    let finished_s = connection.finish()?.map(seconds);
    Ok(WarmUp { started_s, established_s, finished_s })
}

/// Lets the receiver go on, once the flow's own session is over, for as long as a receiver of datagrams does, and tells it
/// that this was all.
pub(crate) fn see_out(session: &Session) {
    let ctx = &session.ctx;
    ctx.clock.sleep_until((ctx.clock.now_ns() + ctx.quiet_ns).min(ctx.limit_ns));
    session.announce_last_session_over();
}

/// The receiving half: the session before, the flow's own, over which `receive` receives, and then every further one, as a
/// server does. The sender opens none of these: whoever repeats its first flight does, and may do so only once the
/// receiver knows the flow's own no more, to which the same packets belong.
///
/// # Errors
/// A sentence: one of the sender's sessions broke, or the limit was reached.
pub(crate) fn receive_after_warm_up(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ServerResult,
    receive: &mut dyn FnMut(&mut End<'_>, &mut Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut listener = stack.listen(session, message_bytes)?;
    session.announce_listening();
    let mut before = listener.accept()?;
    while before.receive(u64::MAX, u64::MAX, &mut |_, _| Ok(()))? != Arrival::End {}
    drop(before);
    receive_over(listener.accept()?.as_mut(), session, result, receive)?;
    while !session.last_session_is_over() {
        let served = listener.accept().and_then(|mut connection| {
            receive(&mut End { connection: connection.as_mut(), session }, &mut result.received)
        });
        if let Some(failure) = session.failure() {
            return Err(failure);
        }
        // One that is not the sender's may break.
        if let Err(failure @ Failure::Limit(_)) = served {
            return Err(failure);
        }
    }
    Ok(())
}
