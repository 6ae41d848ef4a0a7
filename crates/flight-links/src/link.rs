//! What every security with a handshake tells beside what [`LinkSecurity`] has.

use std::collections::VecDeque;

use flight::security::{LinkSecurity, Refusal};

use crate::packets;

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

/// Refuses a message on a link that is over, and one that is not just one packet.
pub(crate) fn check(state: &State, message: &[u8]) -> Result<(), Refusal> {
    match state {
        State::Failed(reason) => Err(over(reason)),
        State::Handshaking | State::Established { .. } => packets::check(message),
    }
}

/// The refusal of a message that is longer than what it does not fit, with what takes it instead.
pub(crate) fn too_long(message: &[u8], fits_not: &str, instead: &str) -> Refusal {
    let reason = format!("a message of {} octets does not fit {fits_not}; {instead} takes it", message.len());
    Refusal { code: "too-long", reason }
}

/// The refusal of everything after a link's end.
pub(crate) fn over(reason: &str) -> Refusal {
    Refusal { code: "over", reason: format!("the link is over: {reason}") }
}
