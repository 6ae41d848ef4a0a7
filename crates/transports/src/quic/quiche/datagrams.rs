//! Messages in unreliable datagrams (RFC 9221), one in each.

use quiche::{Connection as Quic, Error};

use crate::error::Failure;
use crate::transport::Take;

/// Datagrams that an end keeps, to be sent or to be read, as the library's own client and server do (`enable_dgram` in
/// its `apps`). A sender with as many waits until there is room; a receiver loses the oldest.
pub(super) const QUEUED: usize = 1000;

/// Refuses messages that do not fit.
pub(super) fn check(quic: &Quic, message_bytes: u32) -> Result<(), Failure> {
    match quic.dgram_max_writable_len() {
        Some(longest) if message_bytes as usize <= longest => Ok(()),
        Some(longest) => Err(Failure::new(format!(
            "a message of {message_bytes} bytes is too long for a QUIC datagram on this path; `message_size_bytes` \
             may be at most {longest}"
        ))),
        None => Err(Failure::new("the other side takes no QUIC datagrams")),
    }
}

/// Hands over as many messages of `block` as there is room for; returns their bytes.
pub(super) fn write(quic: &mut Quic, block: &[u8], message_bytes: usize) -> Result<usize, Failure> {
    let mut taken = 0;
    for message in block.chunks(message_bytes) {
        match quic.dgram_send(message) {
            Ok(()) => taken += message.len(),
            Err(Error::Done) => break,
            Err(error) => return Err(Failure::new(format!("a datagram could not be sent: {error}"))),
        }
    }
    Ok(taken)
}

/// Reads what is there, at most `most` messages; tells whether there was any.
pub(super) fn read(quic: &mut Quic, now_ns: i64, most: u64, take: &mut Take<'_>) -> Result<bool, Failure> {
    let mut count = 0;
    while count < most {
        let Ok(message) = quic.dgram_recv_buf() else { break };
        take(&message, Some(now_ns))?;
        count += 1;
    }
    Ok(count > 0)
}
