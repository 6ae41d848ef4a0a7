//! Where the messages of a flow begin, for whoever looks at its packets on their way.

use transports::Service;

use crate::payload::HEADER_BYTES;

/// How the messages of a flow lie in its packets: all of one size, each with its number in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Framing {
    /// One in a datagram, or one after the other in a stream.
    pub service: Service,
    /// The size of each but perhaps the last.
    pub message_bytes: u32,
    /// Whether its sessions have ports of the kernel's choosing.
    pub many_sessions: bool,
}

/// What the first bytes of a message tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// So many bytes are needed to tell.
    Needs(usize),
    /// A message with this length and number, from 0 on.
    Message {
        /// Its length in bytes.
        bytes: u32,
        /// Its number.
        number: u32,
    },
}

impl Framing {
    /// What is known of the message that begins with these bytes.
    pub fn begins(&self, head: &[u8]) -> Beginning {
        match head.first_chunk::<4>() {
            Some(number) => {
                Beginning::Message { bytes: self.message_bytes, number: u32::from_le_bytes(*number) }
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
        let framing = Framing { service: Service::Stream, message_bytes: 100, many_sessions: false };
        let mut outbox = Outbox::new(&Payload::new(5, 100));
        for number in [0, 1, 77] {
            let bytes = outbox.bytes(u64::from(number) * 100..u64::from(number + 1) * 100).to_vec();
            assert_eq!(framing.begins(&bytes), Beginning::Message { bytes: 100, number });
            assert_eq!(framing.begins(&bytes[..3]), Beginning::Needs(4));
        }
    }
}
