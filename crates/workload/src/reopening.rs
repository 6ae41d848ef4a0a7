//! Further sessions of a flow whose session broke: its sender waits for a stated time and opens the next one from a port
//! of its own, so often at most. Each end learns of the end as it would without a laboratory: by what its own
//! transport tells it.
//!
//! ```text
//! sender ── session ──╳  waits  ── session 2 ── …        receiver: accepts again whenever its own end has broken
//! ```

use std::sync::Arc;

use transports::{Failure, Session, Signal, Stack};

use crate::ledger::{ClientResult, Received, Sent, ServerResult, add_counts};
use crate::one_session::{End, receive_over, watched};
use crate::verdicts::{ENDED, Judged, REOPENED};
use crate::warm_up::see_out;

/// How a sender goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reopening {
    /// From the end of a session until the next one is asked for.
    pub(crate) after_ns: i64,
    /// Sessions beside the first one, counting those that did not come about.
    pub(crate) most: u32,
}

/// What an end was told, as a row of `safety.arrow`.
pub(crate) fn signalled(signal: Signal) -> Judged {
    Judged::event("session", signal.t_ns, signal.sentence)
}

/// What a sender does over one session, which may be a `further` one: it goes on where the one before broke off.
pub(crate) type SendOver<'a> = dyn FnMut(&mut End<'_>, &mut Sent, bool) -> Result<(), Failure> + 'a;

/// The sending half; `left` says whether something is still to be sent.
///
/// # Errors
/// A sentence: the last session that it may have broke, or one broke when nothing was left to be sent.
pub(crate) fn send_over_sessions(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    reopening: Reopening,
    result: &mut ClientResult,
    send: &mut SendOver<'_>,
    left: &dyn Fn(&Sent) -> bool,
) -> Result<(), Failure> {
    // Of no socket samples are taken: who takes them holds the socket, and so keeps the session from its end.
    let (outcome, _) = watched(session, None, || {
        for number in 1.. {
            let outcome = send_over(stack, session, message_bytes, number, result, send);
            let Err(failure) = outcome else { break };
            if session.failure().is_some() || matches!(failure, Failure::Limit(_)) {
                return Err(failure);
            }
            let now_ns = session.ctx.clock.now_ns();
            // Nothing stands where everything has been handed over.
            if !left(&result.sent) {
                return Err(failure);
            }
            result.judged.push(Judged::event(ENDED, now_ns, format!("session {number}")));
            if number > reopening.most {
                return Err(failure);
            }
            result.judged.push(Judged::event("session", now_ns, failure.to_string()));
            session.pause_until(now_ns + reopening.after_ns)?;
            session.begin_further();
        }
        Ok(())
    });
    if outcome.is_ok() {
        see_out(session);
    }
    outcome
}

/// One session of the sending half.
fn send_over(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    number: u32,
    result: &mut ClientResult,
    send: &mut SendOver<'_>,
) -> Result<(), Failure> {
    let mut connection = stack.connect(session, message_bytes)?;
    if number == 1 {
        result.transport_established_ns = connection.transport_established_ns();
        result.established_ns = connection.established_ns();
    } else {
        let there_ns = connection.established_ns().unwrap_or_else(|| session.ctx.clock.now_ns());
        result.judged.push(Judged::event(REOPENED, there_ns, format!("session {number}")));
    }
    let sent = send(&mut End { connection: connection.as_mut(), session }, &mut result.sent, number > 1);
    let outcome = sent.and_then(|()| connection.finish());
    add_counts(&mut result.counts, connection.counts());
    result.judged.extend(connection.signals().into_iter().map(signalled));
    result.finished_ns = outcome?;
    Ok(())
}

/// The receiving half: it accepts until a session ends in order, or the sender opens no further one.
///
/// # Errors
/// A sentence: the sender gave up, or the limit was reached.
pub(crate) fn receive_over_sessions(
    stack: &dyn Stack,
    session: &Arc<Session>,
    message_bytes: u32,
    result: &mut ServerResult,
    receive: &mut dyn FnMut(&mut End<'_>, &mut Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut listener = stack.listen(session, message_bytes)?;
    session.announce_listening();
    let mut failed_ns = None;
    loop {
        let counts = std::mem::take(&mut result.counts);
        let served = listener
            .accept()
            .and_then(|mut connection| receive_over(connection.as_mut(), session, result, receive));
        add_counts(&mut result.counts, counts);
        result.judged.extend(result.signals.drain(..).map(signalled));
        let Err(failure) = served else { return Ok(()) };
        if session.last_session_is_over() {
            return Ok(());
        }
        let now_ns = session.ctx.clock.now_ns();
        // A listener that fails without time passing would for ever.
        if session.failure().is_some() || matches!(failure, Failure::Limit(_)) || failed_ns == Some(now_ns) {
            return Err(failure);
        }
        failed_ns = Some(now_ns);
        result.judged.push(Judged::event("session", now_ns, failure.to_string()));
    }
}
