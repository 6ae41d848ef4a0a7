//! What is known of the messages of a flow, for whoever looks at its packets on their way.
//!
//! Whoever knows a flow offers [`Messages`]: how long the message is that begins with given bytes. Where the next one
//! begins follows from how the flow's transport carries them ([`Carriage`]).

use std::net::SocketAddr;
use std::ops::Range;

/// How the messages of a flow lie in what its transport carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// Each datagram of UDP is a message.
    Datagrams,
    /// They follow each other in a stream of TCP.
    Stream,
    /// Each is in a DATA chunk of SCTP, or in several that follow each other.
    Chunks,
    /// Datagrams of UDP are frames of RaSTA; those with a data message hold one or several.
    Rasta,
}

/// What the first bytes of a message tell of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Not enough yet: so many bytes from its beginning on are needed.
    Needs(usize),
    /// A message.
    Message {
        /// Its length, at least 1.
        bytes: u64,
        /// The number that it bears itself, if it does; else it is counted.
        number: Option<u64>,
    },
    /// No message of this flow: the stream is not followed any further.
    Stranger,
}

/// Where the messages of a flow begin: what an application or a transport tells of them.
pub trait Messages: Send {
    /// What is known of the message that begins with these bytes.
    fn begins(&self, head: &[u8]) -> Found;
}

/// A flow whose messages rules speak of.
pub struct MessageFlow {
    /// Its name.
    pub id: String,
    /// How they lie in it.
    pub carriage: Carriage,
    /// Where it is sent from; any port if it is 0.
    pub source: SocketAddr,
    /// Where to.
    pub destination: SocketAddr,
    /// Where they begin.
    pub messages: Box<dyn Messages>,
}

/// A part of a message in a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The flow, by its place among those that the node knows.
    pub flow: usize,
    /// The message's number, from 1 on.
    pub number: u64,
    /// Where the message begins, from the packet's first byte: before it, if an earlier packet has its beginning.
    pub begins_at: i64,
    /// Which bytes of the packet are its own.
    pub within: Range<usize>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A length of one byte in front of each message, which counts itself.
    pub(crate) struct Framed;

    impl Messages for Framed {
        fn begins(&self, head: &[u8]) -> Found {
            match head.first() {
                None => Found::Needs(1),
                Some(0) => Found::Stranger,
                Some(&bytes) => Found::Message { bytes: bytes.into(), number: None },
            }
        }
    }

    pub(crate) fn flow(carriage: Carriage) -> MessageFlow {
        MessageFlow {
            id: "f0".into(),
            carriage,
            source: ([10, 0, 1, 1], 40_000).into(),
            destination: ([10, 0, 2, 1], 5000).into(),
            messages: Box::new(Framed),
        }
    }
}
