//! The parts of a packet that conditions and actions name.

use std::ops::Range;

use serde::Deserialize;

use super::matcher::Names;
use super::messages::Part;
use super::packet::Headers;

/// A part of a packet, from whose beginning places are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Within {
    /// All of it, from its outermost IP header on.
    Packet,
    /// From the transport's header on.
    Transport,
    /// What the transport carries.
    Payload,
    /// The message that the rule's condition `message` has found.
    Message,
}

impl Within {
    /// Refuses a message where the rule asks for none.
    ///
    /// # Errors
    /// The second half of a sentence.
    pub fn known(self, names: &Names<'_>) -> Result<(), String> {
        if self == Within::Message && !names.in_message {
            return Err("has `within` \"message\", but the rule's `match` has no `message`".into());
        }
        Ok(())
    }

    /// Where it begins, from the packet's first byte; before it, if an earlier packet has its beginning.
    pub fn begins_at(self, headers: Option<&Headers>, part: Option<&Part>) -> Option<i64> {
        match self {
            Within::Packet => Some(0),
            Within::Transport => headers?.transport_at.map(|at| at as i64),
            Within::Payload => headers?.payload_at.map(|at| at as i64),
            Within::Message => part.map(|part| part.begins_at),
        }
    }

    /// Which bytes of the packet it is.
    pub fn range(
        self,
        length: usize,
        headers: Option<&Headers>,
        part: Option<&Part>,
    ) -> Option<Range<usize>> {
        match self {
            Within::Packet => Some(0..length),
            Within::Transport => headers.and_then(|h| Some(h.transport_at?..h.end)),
            Within::Payload => headers.and_then(|h| Some(h.payload_at?..h.end)),
            Within::Message => part.map(|part| part.within.clone()),
        }
    }
}
