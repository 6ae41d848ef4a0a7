//! Frames (RFC 9000, section 19): those that are sent are written by functions, those that come are read as [`Frame`].

use super::ranges::Ranges;
use super::varint::{self, Reader};
use super::{ConnectionId, ResetToken, Space};

const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const ACK: u8 = 0x02;
const ACK_ECN: u8 = 0x03;
const RESET_STREAM: u8 = 0x04;
const STOP_SENDING: u8 = 0x05;
const CRYPTO: u8 = 0x06;
const NEW_TOKEN: u8 = 0x07;
const STREAM: u8 = 0x08;
const STREAM_MOST: u8 = 0x0f;
const STREAM_OFF: u8 = 0x04;
const STREAM_LEN: u8 = 0x02;
const STREAM_FIN: u8 = 0x01;
const MAX_DATA: u8 = 0x10;
const MAX_STREAM_DATA: u8 = 0x11;
const MAX_STREAMS_BIDI: u8 = 0x12;
const MAX_STREAMS_UNI: u8 = 0x13;
const DATA_BLOCKED: u8 = 0x14;
const STREAM_DATA_BLOCKED: u8 = 0x15;
const STREAMS_BLOCKED_BIDI: u8 = 0x16;
const STREAMS_BLOCKED_UNI: u8 = 0x17;
const NEW_CONNECTION_ID: u8 = 0x18;
const RETIRE_CONNECTION_ID: u8 = 0x19;
const PATH_CHALLENGE: u8 = 0x1a;
const PATH_RESPONSE: u8 = 0x1b;
const CONNECTION_CLOSE: u8 = 0x1c;
const CONNECTION_CLOSE_APPLICATION: u8 = 0x1d;
const HANDSHAKE_DONE: u8 = 0x1e;

/// One that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Nothing, once or many times.
    Padding,
    /// Asks for an acknowledgement.
    Ping,
    /// Packets that the peer has.
    Ack {
        /// Their numbers.
        packets: Ranges,
    },
    /// The peer gives its half of a stream up.
    ResetStream {
        /// Of the stream.
        id: u64,
        /// Why.
        code: u64,
    },
    /// The peer wants no more of a stream.
    StopSending {
        /// Of the stream.
        id: u64,
    },
    /// TLS.
    Crypto {
        /// Of its first octet.
        offset: u64,
        /// What TLS says.
        data: &'a [u8],
    },
    /// Of a stream.
    Stream {
        /// Of the stream.
        id: u64,
        /// Of its first octet.
        offset: u64,
        /// What is said.
        data: &'a [u8],
        /// Whether it is the end.
        fin: bool,
    },
    /// More streams of both directions may be opened.
    MaxStreamsBidi(u64),
    /// More streams of one direction may be opened.
    MaxStreamsUni(u64),
    /// More octets may be sent on all streams.
    MaxData(u64),
    /// More octets may be sent on a stream.
    MaxStreamData {
        /// Of the stream.
        id: u64,
        /// So many in all.
        most: u64,
    },
    /// A further connection ID of the peer.
    NewConnectionId {
        /// Its number.
        sequence: u64,
        /// IDs with lower numbers are to be given back.
        retire_prior_to: u64,
        /// The ID.
        id: ConnectionId,
        /// What a stateless reset of a connection that it is used on ends with.
        reset_token: ResetToken,
    },
    /// The peer gives one of this end's IDs back.
    RetireConnectionId {
        /// Its number.
        sequence: u64,
    },
    /// To be answered with the same octets.
    PathChallenge([u8; 8]),
    /// The answer.
    PathResponse([u8; 8]),
    /// The peer closes the connection.
    ConnectionClose {
        /// Why.
        code: u64,
    },
    /// The server has the whole handshake.
    HandshakeDone,
    /// One that nothing follows from here.
    Other,
}

impl Frame<'_> {
    /// Whether it is to be acknowledged (RFC 9000, section 13.2.1).
    #[must_use]
    pub fn is_eliciting(&self) -> bool {
        !matches!(self, Self::Padding | Self::Ack { .. } | Self::ConnectionClose { .. })
    }
}

/// Reads the next frame; none if it is not as it should be.
#[must_use]
pub fn read<'a>(reader: &mut Reader<'a>) -> Option<Frame<'a>> {
    let kind = reader.octet()?;
    Some(match kind {
        PADDING => {
            reader.skip(PADDING);
            Frame::Padding
        }
        PING => Frame::Ping,
        ACK | ACK_ECN => Frame::Ack { packets: read_ack(reader, kind == ACK_ECN)? },
        RESET_STREAM => {
            let frame = Frame::ResetStream { id: reader.varint()?, code: reader.varint()? };
            let _final_size = reader.varint()?;
            frame
        }
        STOP_SENDING => {
            let frame = Frame::StopSending { id: reader.varint()? };
            let _code = reader.varint()?;
            frame
        }
        CRYPTO => {
            let offset = reader.varint()?;
            let length = reader.varint()?;
            Frame::Crypto { offset, data: reader.take(length)? }
        }
        NEW_TOKEN => {
            let length = reader.varint()?;
            let _token = reader.take(length)?;
            Frame::Other
        }
        STREAM..=STREAM_MOST => {
            let id = reader.varint()?;
            let offset = if kind & STREAM_OFF == 0 { 0 } else { reader.varint()? };
            let length = if kind & STREAM_LEN == 0 { reader.rest().len() as u64 } else { reader.varint()? };
            Frame::Stream { id, offset, data: reader.take(length)?, fin: kind & STREAM_FIN != 0 }
        }
        MAX_DATA => Frame::MaxData(reader.varint()?),
        MAX_STREAMS_BIDI => Frame::MaxStreamsBidi(reader.varint()?),
        MAX_STREAMS_UNI => Frame::MaxStreamsUni(reader.varint()?),
        DATA_BLOCKED | STREAMS_BLOCKED_BIDI | STREAMS_BLOCKED_UNI => {
            let _limit = reader.varint()?;
            Frame::Other
        }
        MAX_STREAM_DATA => Frame::MaxStreamData { id: reader.varint()?, most: reader.varint()? },
        STREAM_DATA_BLOCKED => {
            let _id = reader.varint()?;
            let _limit = reader.varint()?;
            Frame::Other
        }
        NEW_CONNECTION_ID => {
            let sequence = reader.varint()?;
            let retire_prior_to = reader.varint()?;
            let length = reader.octet()?;
            let id = ConnectionId::new(reader.take(u64::from(length))?)?;
            Frame::NewConnectionId { sequence, retire_prior_to, id, reset_token: reader.array()? }
        }
        RETIRE_CONNECTION_ID => Frame::RetireConnectionId { sequence: reader.varint()? },
        PATH_CHALLENGE => Frame::PathChallenge(reader.array()?),
        PATH_RESPONSE => Frame::PathResponse(reader.array()?),
        CONNECTION_CLOSE | CONNECTION_CLOSE_APPLICATION => {
            let code = reader.varint()?;
            if kind == CONNECTION_CLOSE {
                let _frame_kind = reader.varint()?;
            }
            let length = reader.varint()?;
            let _reason = reader.take(length)?;
            Frame::ConnectionClose { code }
        }
        HANDSHAKE_DONE => Frame::HandshakeDone,
        _ => return None,
    })
}

fn read_ack(reader: &mut Reader<'_>, ecn: bool) -> Option<Ranges> {
    let mut largest = reader.varint()?;
    let _delay = reader.varint()?;
    let more = reader.varint()?;
    let mut packets = Ranges::default();
    let mut smallest = largest.checked_sub(reader.varint()?)?;
    packets.insert(smallest, largest + 1);
    for _ in 0..more {
        largest = smallest.checked_sub(reader.varint()?.checked_add(2)?)?;
        smallest = largest.checked_sub(reader.varint()?)?;
        packets.insert(smallest, largest + 1);
    }
    if ecn {
        for _ in 0..3 {
            let _count = reader.varint()?;
        }
    }
    Some(packets)
}

/// Acknowledges packets, at once (delay 0); nothing if there are none.
pub fn ack(out: &mut Vec<u8>, packets: &Ranges) {
    let mut ranges = packets.descending();
    let Some((mut smallest, largest)) = ranges.next() else { return };
    let more: Vec<(u64, u64)> = ranges.collect();
    out.push(ACK);
    varint::put(out, largest);
    varint::put(out, 0);
    varint::put(out, more.len() as u64);
    varint::put(out, largest - smallest);
    for (first, last) in more {
        varint::put(out, smallest - last - 2);
        varint::put(out, last - first);
        smallest = first;
    }
}

/// Asks for an acknowledgement.
pub fn ping(out: &mut Vec<u8>) {
    out.push(PING);
}

/// TLS, from `offset` on.
pub fn crypto(out: &mut Vec<u8>, offset: u64, data: &[u8]) {
    out.push(CRYPTO);
    varint::put(out, offset);
    varint::put(out, data.len() as u64);
    out.extend_from_slice(data);
}

/// Of a stream, from `offset` on.
pub fn stream(out: &mut Vec<u8>, id: u64, offset: u64, data: &[u8], fin: bool) {
    out.push(STREAM | STREAM_OFF | STREAM_LEN | if fin { STREAM_FIN } else { 0 });
    varint::put(out, id);
    varint::put(out, offset);
    varint::put(out, data.len() as u64);
    out.extend_from_slice(data);
}

/// This end gives its half of a stream up, of which it had sent `final_size` octets.
pub fn reset_stream(out: &mut Vec<u8>, id: u64, code: u64, final_size: u64) {
    out.push(RESET_STREAM);
    for value in [id, code, final_size] {
        varint::put(out, value);
    }
}

/// This end wants no more of a stream.
pub fn stop_sending(out: &mut Vec<u8>, id: u64, code: u64) {
    out.push(STOP_SENDING);
    varint::put(out, id);
    varint::put(out, code);
}

/// A further connection ID of this end; those below `retire_prior_to` are to be given back.
pub fn new_connection_id(
    out: &mut Vec<u8>,
    sequence: u64,
    retire_prior_to: u64,
    id: &ConnectionId,
    reset_token: &ResetToken,
) {
    out.push(NEW_CONNECTION_ID);
    varint::put(out, sequence);
    varint::put(out, retire_prior_to);
    out.push(id.as_slice().len() as u8);
    out.extend_from_slice(id.as_slice());
    out.extend_from_slice(reset_token);
}

/// Gives a connection ID of the peer back.
pub fn retire_connection_id(out: &mut Vec<u8>, sequence: u64) {
    out.push(RETIRE_CONNECTION_ID);
    varint::put(out, sequence);
}

/// Asks whether the path carries these octets there and back.
pub fn path_challenge(out: &mut Vec<u8>, data: [u8; 8]) {
    out.push(PATH_CHALLENGE);
    out.extend_from_slice(&data);
}

/// Answers that.
pub fn path_response(out: &mut Vec<u8>, data: [u8; 8]) {
    out.push(PATH_RESPONSE);
    out.extend_from_slice(&data);
}

/// Closes the connection: in 1-RTT packets for the application, before them by the transport's NO_ERROR.
pub fn connection_close(out: &mut Vec<u8>, space: Space, code: u64) {
    if space == Space::Data {
        out.push(CONNECTION_CLOSE_APPLICATION);
        varint::put(out, code);
    } else {
        // No word of the application goes out before it is protected (RFC 9000, section 10.2.3).
        out.push(CONNECTION_CLOSE);
        varint::put(out, 0);
        varint::put(out, 0);
    }
    varint::put(out, 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(octets: &[u8]) -> Option<Frame<'_>> {
        let mut reader = Reader::new(octets);
        let frame = read(&mut reader)?;
        assert!(reader.rest().is_empty(), "{frame:?} left {:?}", reader.rest());
        Some(frame)
    }

    #[test]
    fn what_is_written_is_read() {
        let mut out = Vec::new();
        let mut written = |write: &dyn Fn(&mut Vec<u8>), expected: Frame<'_>| {
            out.clear();
            write(&mut out);
            assert_eq!(one(&out), Some(expected));
        };
        let id = ConnectionId::of([3; 8]);
        written(&ping, Frame::Ping);
        written(&|out| crypto(out, 70, b"hello"), Frame::Crypto { offset: 70, data: b"hello" });
        let data = b"octets";
        written(&|out| stream(out, 4, 9, data, true), Frame::Stream { id: 4, offset: 9, data, fin: true });
        written(&|out| stream(out, 4, 0, data, false), Frame::Stream { id: 4, offset: 0, data, fin: false });
        written(&|out| reset_stream(out, 4, 0x10c, 6), Frame::ResetStream { id: 4, code: 0x10c });
        written(&|out| stop_sending(out, 4, 0x10c), Frame::StopSending { id: 4 });
        let new = Frame::NewConnectionId { sequence: 5, retire_prior_to: 4, id, reset_token: [6; 16] };
        written(&|out| new_connection_id(out, 5, 4, &id, &[6; 16]), new);
        written(&|out| retire_connection_id(out, 7), Frame::RetireConnectionId { sequence: 7 });
        written(&|out| path_challenge(out, [1; 8]), Frame::PathChallenge([1; 8]));
        written(&|out| path_response(out, [1; 8]), Frame::PathResponse([1; 8]));
        written(&|out| connection_close(out, Space::Data, 0x100), Frame::ConnectionClose { code: 0x100 });
        written(&|out| connection_close(out, Space::Initial, 0x100), Frame::ConnectionClose { code: 0 });
    }

    #[test]
    fn acknowledgements_keep_their_holes() {
        let mut packets = Ranges::default();
        packets.insert(0, 2);
        packets.insert(3, 4);
        packets.insert(70, 100);
        let mut out = Vec::new();
        ack(&mut out, &packets);
        // Largest 99, no delay, two more ranges, 29 before it; gap 65, one packet; gap 0, two packets.
        assert_eq!(out, [0x02, 0x40, 99, 0, 2, 29, 0x40, 65, 0, 0, 1]);
        assert_eq!(one(&out), Some(Frame::Ack { packets }));
        out.clear();
        ack(&mut out, &Ranges::default());
        assert!(out.is_empty());
    }

    #[test]
    fn ranges_below_zero_are_refused() {
        assert_eq!(one(&[0x02, 1, 0, 0, 2]), None);
        assert_eq!(one(&[0x02, 5, 0, 1, 3, 1, 0]), None);
    }

    #[test]
    fn frames_of_servers() {
        assert_eq!(one(&[0x1e]), Some(Frame::HandshakeDone));
        assert_eq!(one(&[0x03, 1, 0, 0, 1, 1, 2, 3]).map(|frame| frame.is_eliciting()), Some(false));
        assert_eq!(one(&[0x12, 9]), Some(Frame::MaxStreamsBidi(9)));
        assert_eq!(one(&[0x13, 9]), Some(Frame::MaxStreamsUni(9)));
        assert_eq!(one(&[0x10, 9]), Some(Frame::MaxData(9)));
        assert_eq!(one(&[0x11, 2, 9]), Some(Frame::MaxStreamData { id: 2, most: 9 }));
        assert_eq!(one(&[0x15, 0, 9]), Some(Frame::Other));
        assert_eq!(one(&[0x07, 2, 1, 1]), Some(Frame::Other));
        assert_eq!(one(&[0x1c, 0x0a, 0x02, 2, b'n', b'o']), Some(Frame::ConnectionClose { code: 10 }));
        assert_eq!(
            one(&[0x08, 3, 1, 2]),
            Some(Frame::Stream { id: 3, offset: 0, data: &[1, 2], fin: false })
        );
        assert_eq!(one(&[0x21]), None);
    }
}
