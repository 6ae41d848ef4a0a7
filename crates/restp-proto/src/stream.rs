//! Streams within a connection: their names, priorities, events and errors.

use std::fmt;

use thiserror::Error;

/// Bytes of a stream that may be sent before its receiver has said more.
// R-STR-6
pub(crate) const INITIAL_STREAM_BYTES: u64 = 65_536;
/// Bytes of all streams together that may be sent before the receiver has said more.
pub(crate) const INITIAL_BYTES: u64 = 262_144;
/// Streams of each kind that an end may open before the other has said more.
pub(crate) const INITIAL_STREAMS: u64 = 16;

/// Whether one end or both send on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// Both ends send.
    BothWays,
    /// Only the end that opened it sends.
    OneWay,
}

/// Names a stream of a connection; never used again in it.
///
/// The lowest bit tells who opened the stream (0: the initiator of the connection), the next its kind (1: one way), the
/// others count the streams of that kind and end, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

impl StreamId {
    // R-STR-4
    pub(crate) fn new(by_responder: bool, kind: StreamKind, count: u64) -> Self {
        Self(count << 2 | u64::from(kind == StreamKind::OneWay) << 1 | u64::from(by_responder))
    }

    /// The responder of the connection opened it.
    #[must_use]
    pub fn is_by_responder(self) -> bool {
        self.0 & 1 != 0
    }

    /// Its kind.
    #[must_use]
    pub fn kind(self) -> StreamKind {
        if self.0 & 2 == 0 { StreamKind::BothWays } else { StreamKind::OneWay }
    }

    /// How many streams of its kind its end opened before.
    #[must_use]
    pub fn count(self) -> u64 {
        self.0 >> 2
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// When a stream is served among others (the two parameters of RFC 9218).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Priority {
    urgency: u8,
    incremental: bool,
}

impl Priority {
    /// Least urgent.
    pub const MAX_URGENCY: u8 = 7;

    /// `urgency` from 0, served first, to 7 (larger values count as 7). Streams of the same urgency are served one after
    /// the other, or, if `incremental`, in turns.
    #[must_use]
    pub fn new(urgency: u8, incremental: bool) -> Self {
        Self { urgency: urgency.min(Self::MAX_URGENCY), incremental }
    }

    /// From 0, served first, to 7.
    #[must_use]
    pub fn urgency(self) -> u8 {
        self.urgency
    }

    /// Served in turns with others of the same urgency.
    #[must_use]
    pub fn is_incremental(self) -> bool {
        self.incremental
    }
}

impl Default for Priority {
    /// Urgency 3, one after the other (RFC 9218, section 4).
    fn default() -> Self {
        Self::new(3, false)
    }
}

/// News of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StreamEvent {
    /// The peer opened streams: `accept_stream` has something.
    Acceptable,
    /// `read_stream` has something: bytes, the end, or a reset. Not repeated until it has answered that nothing is there.
    Readable(StreamId),
    /// `write_stream` takes bytes again after it took none.
    Writable(StreamId),
    /// The peer wants no more of what we send on the stream and says so with a number of its application. What was not
    /// sent yet was dropped.
    Stopped(StreamId, u32),
    /// `open_stream` of this kind succeeds again after it was refused.
    MayOpen(StreamKind),
}

/// Why something could not be done with a stream.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError {
    /// No such connection.
    #[error("there is no connection with this id; it has ended")]
    NoConnection,
    /// The connection was not agreed to carry streams.
    #[error(
        "the connection carries no streams; set the profile's ordering to Ordering::Streams at both ends"
    )]
    NoStreams,
    /// The handshake is not over, or our direction was closed.
    #[error("streams can be opened once the connection is established and until it is closed")]
    NotOpen,
    /// The peer allows no further stream at present.
    #[error("the peer allows no further stream of this kind; wait for StreamEvent::MayOpen")]
    TooMany,
    /// No such stream, or it was read, or written, to its end.
    #[error("there is no such stream, or it has ended in this direction")]
    Unknown,
    /// Nothing is there, or there is no room, at present.
    #[error("the stream has nothing, or takes nothing, at present; wait for its next event")]
    Blocked,
    /// The peer reset the stream with this number of its application.
    #[error("the peer reset the stream with the number {0}")]
    Reset(u32),
    /// The peer stopped the stream with this number of its application.
    #[error("the peer reads no more of the stream and says so with the number {0}")]
    Stopped(u32),
}
