//! What an endpoint tells its user, and what the user tells a connection.

use std::fmt;
use std::time::Duration;

use crate::path::{PathAddr, PathId};
use crate::profile::LossCause;
use crate::time::Instant;

/// Names a connection of an endpoint. Never used again for another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl fmt::Display for ConnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// Something happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Where.
    pub conn: ConnId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// A peer connected to the listening port `port`.
    Accepted {
        /// The local port.
        port: u16,
    },
    /// Our connection attempt succeeded.
    Connected,
    /// Something happened on streams: ask [`crate::Endpoint::poll_stream_event`] until it answers `None`.
    Streams,
    /// `recv` has something. Not repeated until `recv` has answered `None`.
    Readable,
    /// `send` takes data again after it was full.
    Writable,
    /// The peer will send nothing more; what came before can still be read.
    Finished,
    /// Further paths can be opened from now on: told to the side that connected, with a profile of several paths.
    PathsAllowed,
    /// A path can be used.
    PathUp(PathId),
    /// A path failed or was closed; it may come back.
    PathDown(PathId),
    /// Losses are now taken to have this cause.
    CauseChanged(LossCause),
    /// With partial order: the acknowledgement has gone past messages that were found lost and not repeated yet, since the
    /// last such event. A hint: a message that was repeated in vain, or not repeated for its age
    /// ([`SendOptions::lifetime`]), is not told, and one that had arrived after all is. The receiver's
    /// [`ConnStats::passed_over`](crate::ConnStats::passed_over) is exact.
    Abandoned {
        /// How many.
        messages: u64,
    },
    /// The connection is over; its id is no longer valid once everything received was read.
    Closed(CloseReason),
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// R-ERR-2
#[non_exhaustive]
pub enum CloseReason {
    /// Both sides closed and everything arrived.
    Graceful,
    /// `abort` was called.
    Aborted,
    /// The peer reset the connection.
    Reset,
    /// The peer's application ended the connection with this number ([`crate::Endpoint::abort_with`]).
    Application(u32),
    /// Nobody listens on the port of the peer.
    NotListening,
    /// The peer does not offer a service that the profile requires.
    Refused,
    /// No answer in spite of all repetitions.
    TimedOut,
    /// The network reports that nobody is there to answer.
    Unreachable,
    /// No packet from the peer for the idle timeout.
    Idle,
    /// The link did not come back within the outage limit.
    Outage,
    /// The peer broke a rule of streams (R-STR-11).
    Violation,
    /// The Noise handshake failed: one end does not have a key that the other takes.
    Unauthenticated,
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Application(code) => {
                return write!(f, "ended by the peer's application with the number {code}");
            }
            Self::Graceful => "closed by both sides",
            Self::Aborted => "aborted by this side",
            Self::Reset => "reset by the peer",
            Self::NotListening => "nobody listens on this port of the peer",
            Self::Refused => "the peer does not offer a service that the profile requires",
            Self::TimedOut => "no answer from the peer",
            Self::Unreachable => "the network reports that nothing receives packets at this address and port",
            Self::Idle => "nothing was heard from the peer for the idle timeout",
            Self::Outage => "the link did not come back within the outage limit",
            Self::Violation => {
                "the peer broke a rule of streams; the two ends do not implement the same protocol"
            }
            Self::Unauthenticated => {
                "one end could not prove a key that the other takes; compare the keys of both"
            }
        })
    }
}

/// How to send one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// After this time a repetition is of no use; honoured by partially ordered profiles. It bounds no message's age: what
    /// was never sent goes out however long it has waited (`Tuning::send_buffer_packets` bounds how many wait), and the
    /// receiver waits for what is not repeated as long as its `Tuning::hold` says. Over several paths it is repeated
    /// by its number alone, or whole as long as the peer waits for it.
    pub lifetime: Option<Duration>,
    /// Hint to the receiver to deliver at once.
    pub push: bool,
}

/// News from the layers below (dials, upward): path events and knowledge about the link.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Dial {
    /// The path is gone; do not wait for timeouts.
    PathDown(PathAddr),
    /// The path is back.
    PathUp(PathAddr),
    /// What losses mean at present; heard only by profiles with dynamic loss cause.
    LossCause(LossCause),
    /// The rate of the bottleneck, an upper limit for pacing; `None` takes the limit away.
    LinkRate {
        /// Packets per second.
        packets_per_s: Option<f64>,
    },
}

/// Wishes of the application that may change while the connection runs (knobs, downward).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Knob {
    /// How long to wait for a hole before it is passed over (partial ordering).
    Hold(Duration),
    /// Change the treatment of losses.
    LossCause(LossCause),
    /// Prefer this path in hot standby and overflow.
    PreferPath(PathId),
    /// Acknowledge every so many packets while all is in order.
    AckEvery(u32),
}

/// A message for or from a peer without a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Outer addresses.
    pub path: PathAddr,
    /// Our ResTP port.
    pub local_port: u16,
    /// The peer's ResTP port.
    pub remote_port: u16,
    /// The data.
    pub payload: bytes::Bytes,
}

/// When something was noticed; used by statistics.
pub(crate) fn seconds(at: Instant) -> f64 {
    at.as_nanos() as f64 / 1e9
}
