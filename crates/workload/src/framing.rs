//! Where the messages of a flow begin, for whoever looks at its packets on their way.

use transports::Carriage;

use crate::payload::HEADER_BYTES;

/// Where messages begin: what an application offers of its own.
pub trait Messages: Send {
    /// What is known of the message that begins with these bytes.
    fn begins(&self, head: &[u8]) -> Beginning;
}

/// What the first bytes of a message tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// So many bytes are needed to tell.
    Needs(usize),
    /// A message.
    Message {
        /// Its length in bytes, at least 1.
        bytes: u32,
        /// The number that it bears, from 0 on; without one it is counted.
        number: Option<u32>,
    },
    /// No message: what follows cannot be told either.
    Stranger,
}

/// How the messages of a flow lie in its packets.
pub struct Framing {
    /// How the transport carries them.
    pub carriage: Carriage,
    /// Whether its sessions have ports of the kernel's choosing.
    pub many_sessions: bool,
    /// Where they begin.
    pub messages: Box<dyn Messages>,
}

/// Messages of one size, but perhaps the last, each with its number in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    message_bytes: u32,
}

impl Numbered {
    /// Those of this size; none if it is 0, which says that they have no common one.
    pub(crate) fn of(message_bytes: u32) -> Option<Self> {
        (message_bytes > 0).then_some(Numbered { message_bytes })
    }
}

impl Messages for Numbered {
    fn begins(&self, head: &[u8]) -> Beginning {
        match head.first_chunk::<4>() {
            Some(number) => {
                Beginning::Message { bytes: self.message_bytes, number: Some(u32::from_le_bytes(*number)) }
            }
            None => Beginning::Needs(HEADER_BYTES as usize / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::{Outbox, Payload};

    #[test]
    fn it_tells_the_messages_that_flows_send() {
        let messages = Numbered::of(100).expect("they have a size");
        let mut outbox = Outbox::new(&Payload::new(5, 100));
        for number in [0, 1, 77] {
            let bytes = outbox.bytes(u64::from(number) * 100..u64::from(number + 1) * 100).to_vec();
            assert_eq!(messages.begins(&bytes), Beginning::Message { bytes: 100, number: Some(number) });
            assert_eq!(messages.begins(&bytes[..3]), Beginning::Needs(4));
        }
        assert_eq!(Numbered::of(0), None);
    }
}
