//! What a flow is told by whoever runs it: the clock, the addresses, the limit, the seed, what to record.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::clock::Clock;
use crate::processor::Workplace;
use crate::qlog::Qlogs;

/// How far a receiver has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Time of the run.
    pub t_ns: i64,
    /// Application bytes that arrived so far.
    pub received_bytes: u64,
}

/// Called by the receiver from time to time (never more than once a system call).
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// The surroundings of one flow. Times are those of the run's clock.
#[derive(Clone)]
pub struct Context {
    /// The run's clock.
    pub clock: Clock,
    /// Instant at which the flow is ended and reported as failed.
    pub limit_ns: i64,
    /// Seed of the payload, so that no two flows send the same bytes.
    pub seed: u64,
    /// Address and port that the sender binds.
    pub source: SocketAddr,
    /// Ports that the sender's further sessions bind, in their order, where one that broke is followed by another.
    pub further_ports: Vec<u16>,
    /// Address and port at which the receiver listens.
    pub destination: SocketAddr,
    /// Further addresses of the sender's node, for transports that use several.
    pub source_further: Vec<IpAddr>,
    /// Further addresses of the receiver's node.
    pub destination_further: Vec<IpAddr>,
    /// How long a receiver of datagrams goes on after the last one, once the sender is done.
    pub quiet_ns: i64,
    /// Interval at which the sender's socket is sampled; `None` for never.
    pub socket_interval_ns: Option<i64>,
    /// Whether to keep the instants of every message.
    pub messages: bool,
    /// Whether the packets that arrive at the receiver are captured: byte streams are then read in large pieces
    /// and the instants of their messages are worked out afterwards.
    pub wire: bool,
    /// Whether the receiver wakes for each arrival and reads the clock, where there is a cheaper way too: to check that
    /// way.
    pub wake: bool,
    /// Whether to keep the secrets of secure sessions, so that a capture can be decrypted.
    pub keys: bool,
    /// Where QUIC libraries that can write qlog do so; `None` for none.
    pub qlog: Option<Arc<Qlogs>>,
    /// At which processor the end that listens works; `None` where computing costs nothing.
    pub processor: Option<Arc<Workplace>>,
    /// Called as bytes arrive.
    pub progress: Option<OnProgress>,
}

impl Context {
    /// A choice for `quiet_ns`: half a minute, more than enough where light takes less than
    /// seconds. Datagrams that a link which is down holds back for longer count as lost.
    /// Silence costs nothing in virtual time.
    pub const DEFAULT_QUIET_NS: i64 = 30_000_000_000;
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("source", &self.source)
            .field("destination", &self.destination)
            .field("limit_ns", &self.limit_ns)
            .finish_non_exhaustive()
    }
}
