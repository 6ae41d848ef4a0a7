//! What every security with a handshake tells beside what [`LinkSecurity`] has.

use std::collections::VecDeque;

use flight::security::{LinkSecurity, Refusal};

/// How far a link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Messages wait until both ends know each other.
    Handshaking,
    /// Messages flow.
    Established {
        /// The other end took messages of the first flight (0-RTT). Only ground can tell.
        early: bool,
    },
    /// It is over; the sentence says why.
    Failed(String),
}

/// A security that has a state.
pub trait Link: LinkSecurity {
    /// How far it is.
    fn state(&self) -> State;
}

/// A security without a handshake: there is nothing to wait for.
pub const READY: State = State::Established { early: false };

impl Link for flight::security::Plain {
    fn state(&self) -> State {
        READY
    }
}

impl Link for flight::security::Sdls {
    fn state(&self) -> State {
        READY
    }
}

/// Messages that wait for the end of a handshake, at most.
const MOST_WAITING: usize = 1024;

/// Adds a message to those that wait.
pub(crate) fn wait(waiting: &mut VecDeque<Vec<u8>>, message: &[u8]) -> Result<(), Refusal> {
    if waiting.len() >= MOST_WAITING {
        let reason = format!("{MOST_WAITING} messages wait already for the other end; send this one later");
        return Err(Refusal { code: "full", reason });
    }
    waiting.push_back(message.to_vec());
    Ok(())
}

/// The refusal of everything after a link's end.
pub(crate) fn over(reason: &str) -> Refusal {
    Refusal { code: "over", reason: format!("the link is over: {reason}") }
}
