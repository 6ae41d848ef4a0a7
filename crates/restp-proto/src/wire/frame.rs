//! Frames: what the payload of a packet consists of when the connection carries streams (chapter 11.1).

use thiserror::Error;

/// The largest number that a frame can hold: 62 bits (RFC 9000, section 16).
pub const MAX_NUMBER: u64 = (1 << 62) - 1;

/// FIN of DATA, and one way of STREAMS.
const MARK: u8 = 0x10;

/// A part of a payload.
// R-STR-3
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame<'a> {
    /// Bytes of a stream.
    Data {
        /// The stream.
        stream: u64,
        /// Place of the first byte in the stream.
        offset: u64,
        /// The stream ends with these bytes.
        fin: bool,
        /// The bytes, possibly none.
        data: &'a [u8],
    },
    /// The sender ends a stream before its time.
    Reset {
        /// The stream.
        stream: u64,
        /// A number of the application.
        code: u32,
        /// Bytes of the stream that were sent.
        final_bytes: u64,
    },
    /// The receiver wants no more of a stream.
    Stop {
        /// The stream.
        stream: u64,
        /// A number of the application.
        code: u32,
    },
    /// Bytes of all streams together that may be sent.
    Credit {
        /// Counted from the beginning of the connection.
        limit_bytes: u64,
    },
    /// Bytes of one stream that may be sent.
    StreamCredit {
        /// The stream.
        stream: u64,
        /// Counted from the beginning of the stream.
        limit_bytes: u64,
    },
    /// Streams of one kind that the peer may open.
    Streams {
        /// Of those on which only the opener sends.
        one_way: bool,
        /// Counted from the beginning of the connection.
        limit: u64,
    },
    /// How the receiver wants a stream to be served.
    Priority {
        /// The stream.
        stream: u64,
        /// 0, first, to 7.
        urgency: u8,
        /// In turns with others of the same urgency.
        incremental: bool,
    },
}

/// Why a payload is no sequence of frames.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// The payload ends inside a frame.
    #[error("the payload ends inside a frame")]
    Cut,
    /// The first octet of a frame is none that is known.
    #[error("{0:#04x} begins no frame that is known")]
    UnknownKind(u8),
    /// A number has more octets than it needs.
    #[error("a number has more octets than it needs")]
    LongNumber,
    /// A number is larger than its place allows.
    #[error("a number is larger than its place allows")]
    TooLarge,
}

fn take_octet(bytes: &mut &[u8]) -> Result<u8, FrameError> {
    let (first, rest) = bytes.split_first().ok_or(FrameError::Cut)?;
    *bytes = rest;
    Ok(*first)
}

/// Two bits tell the length: 1, 2, 4 or 8 octets (RFC 9000, section 16); the shortest spelling is the only one.
// R-STR-2
fn take_number(bytes: &mut &[u8]) -> Result<u64, FrameError> {
    let length = 1_usize << (bytes.first().ok_or(FrameError::Cut)? >> 6);
    let (octets, rest) = bytes.split_at_checked(length).ok_or(FrameError::Cut)?;
    *bytes = rest;
    let all = octets.iter().fold(0_u64, |value, octet| value << 8 | u64::from(*octet));
    let value = all & (u64::MAX >> (64 - 8 * length + 2));
    if number_bytes(value) < length { Err(FrameError::LongNumber) } else { Ok(value) }
}

fn take_code(bytes: &mut &[u8]) -> Result<u32, FrameError> {
    u32::try_from(take_number(bytes)?).map_err(|_| FrameError::TooLarge)
}

/// Octets of a number.
#[must_use]
pub fn number_bytes(value: u64) -> usize {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

fn put_number(out: &mut Vec<u8>, value: u64) {
    debug_assert!(value <= MAX_NUMBER);
    let octets = value.to_be_bytes();
    let length = number_bytes(value);
    let at = out.len();
    out.extend_from_slice(&octets[8 - length..]);
    out[at] |= match length {
        1 => 0,
        2 => 0x40,
        4 => 0x80,
        _ => 0xC0,
    };
}

impl<'a> Frame<'a> {
    /// Takes the first frame off `payload`.
    ///
    /// # Errors
    /// [`FrameError`] says what is wrong; the whole payload is then void.
    // R-STR-2, R-STR-3
    pub fn decode(payload: &mut &'a [u8]) -> Result<Self, FrameError> {
        let first = take_octet(payload)?;
        let marked = first & MARK != 0;
        Ok(match first {
            0x01 | 0x11 => {
                let (stream, offset) = (take_number(payload)?, take_number(payload)?);
                let length = usize::try_from(take_number(payload)?).map_err(|_| FrameError::Cut)?;
                let (data, rest) = payload.split_at_checked(length).ok_or(FrameError::Cut)?;
                *payload = rest;
                if offset > MAX_NUMBER - data.len() as u64 {
                    return Err(FrameError::TooLarge);
                }
                Self::Data { stream, offset, fin: marked, data }
            }
            0x02 => Self::Reset {
                stream: take_number(payload)?,
                code: take_code(payload)?,
                final_bytes: take_number(payload)?,
            },
            0x03 => Self::Stop { stream: take_number(payload)?, code: take_code(payload)? },
            0x04 => Self::Credit { limit_bytes: take_number(payload)? },
            0x05 => Self::StreamCredit { stream: take_number(payload)?, limit_bytes: take_number(payload)? },
            0x06 | 0x16 => Self::Streams { one_way: marked, limit: take_number(payload)? },
            0x07 => {
                let (stream, how) = (take_number(payload)?, take_octet(payload)?);
                if how > 15 {
                    return Err(FrameError::TooLarge);
                }
                Self::Priority { stream, urgency: how >> 1, incremental: how & 1 != 0 }
            }
            other => return Err(FrameError::UnknownKind(other)),
        })
    }

    /// Octets of the frame.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        1 + match *self {
            Self::Data { stream, offset, data, .. } => {
                let length = data.len() as u64;
                number_bytes(stream) + number_bytes(offset) + number_bytes(length) + data.len()
            }
            Self::Reset { stream, code, final_bytes } => {
                number_bytes(stream) + number_bytes(code.into()) + number_bytes(final_bytes)
            }
            Self::Stop { stream, code } => number_bytes(stream) + number_bytes(code.into()),
            Self::Credit { limit_bytes } => number_bytes(limit_bytes),
            Self::StreamCredit { stream, limit_bytes } => number_bytes(stream) + number_bytes(limit_bytes),
            Self::Streams { limit, .. } => number_bytes(limit),
            Self::Priority { stream, .. } => number_bytes(stream) + 1,
        }
    }

    /// Appends DATA but for its `length` bytes, which must follow.
    pub(crate) fn begin_data(out: &mut Vec<u8>, stream: u64, offset: u64, fin: bool, length: usize) {
        out.push(if fin { 0x01 | MARK } else { 0x01 });
        put_number(out, stream);
        put_number(out, offset);
        put_number(out, length as u64);
    }

    /// Appends the frame to `out`. Numbers must not exceed [`MAX_NUMBER`].
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mark = |wanted: bool| if wanted { MARK } else { 0 };
        match *self {
            Self::Data { stream, offset, fin, data } => {
                Self::begin_data(out, stream, offset, fin, data.len());
                out.extend_from_slice(data);
            }
            Self::Reset { stream, code, final_bytes } => {
                out.push(0x02);
                put_number(out, stream);
                put_number(out, code.into());
                put_number(out, final_bytes);
            }
            Self::Stop { stream, code } => {
                out.push(0x03);
                put_number(out, stream);
                put_number(out, code.into());
            }
            Self::Credit { limit_bytes } => {
                out.push(0x04);
                put_number(out, limit_bytes);
            }
            Self::StreamCredit { stream, limit_bytes } => {
                out.push(0x05);
                put_number(out, stream);
                put_number(out, limit_bytes);
            }
            Self::Streams { one_way, limit } => {
                out.push(0x06 | mark(one_way));
                put_number(out, limit);
            }
            Self::Priority { stream, urgency, incremental } => {
                out.push(0x07);
                put_number(out, stream);
                out.push(urgency << 1 | u8::from(incremental));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn arb_number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..62).prop_map(|(value, shift)| (value & MAX_NUMBER) >> shift)
    }

    fn arb_frame(data: &[u8]) -> impl Strategy<Value = Frame<'_>> {
        let half = MAX_NUMBER / 2;
        prop_oneof![
            (arb_number(), arb_number(), any::<bool>()).prop_map(move |(stream, offset, fin)| Frame::Data {
                stream,
                offset: offset.min(half),
                fin,
                data
            }),
            (arb_number(), any::<u32>(), arb_number()).prop_map(|(stream, code, final_bytes)| Frame::Reset {
                stream,
                code,
                final_bytes
            }),
            (arb_number(), any::<u32>()).prop_map(|(stream, code)| Frame::Stop { stream, code }),
            arb_number().prop_map(|limit_bytes| Frame::Credit { limit_bytes }),
            (arb_number(), arb_number())
                .prop_map(|(stream, limit_bytes)| Frame::StreamCredit { stream, limit_bytes }),
            (any::<bool>(), arb_number()).prop_map(|(one_way, limit)| Frame::Streams { one_way, limit }),
            (arb_number(), 0_u8..8, any::<bool>()).prop_map(|(stream, urgency, incremental)| {
                Frame::Priority { stream, urgency, incremental }
            }),
        ]
    }

    proptest! {
        // R-STR-2, R-STR-3
        #[test]
        fn frames_come_back_as_they_were(frames in prop::collection::vec(arb_frame(b"some bytes"), 1..6)) {
            let mut bytes = Vec::new();
            for frame in &frames {
                let before = bytes.len();
                frame.encode(&mut bytes);
                prop_assert_eq!(bytes.len() - before, frame.encoded_len());
            }
            let mut rest = &bytes[..];
            for frame in &frames {
                prop_assert_eq!(Frame::decode(&mut rest), Ok(*frame));
            }
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn whatever_is_accepted_has_one_spelling(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut rest = &bytes[..];
            if let Ok(frame) = Frame::decode(&mut rest) {
                let mut again = Vec::new();
                frame.encode(&mut again);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
            }
        }

        #[test]
        fn a_frame_that_is_cut_is_no_frame(frame in arb_frame(b"some bytes"), keep: prop::sample::Index) {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            let kept = &bytes[..keep.index(bytes.len())];
            prop_assert_eq!(Frame::decode(&mut &kept[..]), Err(FrameError::Cut));
        }
    }

    // R-STR-2
    #[test]
    fn numbers_have_their_shortest_spelling() {
        assert_eq!(Frame::decode(&mut &[0x04, 0x3F][..]), Ok(Frame::Credit { limit_bytes: 63 }));
        assert_eq!(Frame::decode(&mut &[0x04, 0x40, 0x40][..]), Ok(Frame::Credit { limit_bytes: 64 }));
        assert_eq!(Frame::decode(&mut &[0x04, 0x40, 0x3F][..]), Err(FrameError::LongNumber));
        assert_eq!(Frame::decode(&mut &[0x04, 0x80, 0, 0x3F, 0xFF][..]), Err(FrameError::LongNumber));
        let largest = Frame::Credit { limit_bytes: MAX_NUMBER };
        assert_eq!(Frame::decode(&mut &[0x04, 255, 255, 255, 255, 255, 255, 255, 255][..]), Ok(largest));
    }

    // R-STR-3
    #[test]
    fn what_no_frame_can_say_is_refused() {
        assert_eq!(Frame::decode(&mut &[0x00][..]), Err(FrameError::UnknownKind(0)));
        assert_eq!(Frame::decode(&mut &[0x14, 1][..]), Err(FrameError::UnknownKind(0x14)));
        assert_eq!(Frame::decode(&mut &[0x07, 0, 16][..]), Err(FrameError::TooLarge));
        let long_code = [0x03, 0, 0xC0, 0, 0, 1, 0, 0, 0, 0];
        assert_eq!(Frame::decode(&mut &long_code[..]), Err(FrameError::TooLarge));
        let beyond = [&[0x01, 0][..], &[255; 8], &[1, 7]].concat();
        assert_eq!(Frame::decode(&mut &beyond[..]), Err(FrameError::TooLarge));
    }
}
