//! What a flow is told by whoever runs it: the clock, the addresses, the limit, the seed, what to record.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use crate::qlog::Qlogs;
use crate::sys::clock;

/// Time of a run: nanoseconds since the instant at which the run's timeline is zero.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: i64,
    realtime_offset_ns: i64,
    stands_still: bool,
}

impl Clock {
    /// A clock whose zero is the instant `origin_ns` of CLOCK_MONOTONIC. `stands_still` says that time stands
    /// still while a program computes (virtual time): then a sleep ends at the very instant it was asked to,
    /// and the clock need not be read again.
    ///
    /// The kernel stamps packets with CLOCK_REALTIME; the distance between the two clocks is taken here, once.
    pub fn new(origin_ns: i64, stands_still: bool) -> Self {
        let before = clock::monotonic_ns();
        let realtime = clock::realtime_ns();
        let middle = before + (clock::monotonic_ns() - before) / 2;
        Self { origin_ns, realtime_offset_ns: realtime - middle, stands_still }
    }

    /// A clock whose zero is now.
    pub fn starting_now(stands_still: bool) -> Self {
        Self::new(clock::monotonic_ns(), stands_still)
    }

    /// Nanoseconds since the start of the run.
    pub fn now_ns(&self) -> i64 {
        clock::monotonic_ns() - self.origin_ns
    }

    /// An instant of CLOCK_REALTIME as time of the run.
    pub fn from_realtime_ns(&self, realtime_ns: i64) -> i64 {
        realtime_ns - self.realtime_offset_ns - self.origin_ns
    }

    /// Time of the run as an instant of CLOCK_MONOTONIC.
    pub(crate) fn monotonic_ns(&self, instant_ns: i64) -> i64 {
        instant_ns + self.origin_ns
    }

    /// The time after some computing that followed the instant `now_ns`.
    pub(crate) fn after(&self, now_ns: i64) -> i64 {
        if self.stands_still { now_ns } else { self.now_ns() }
    }

    /// Sleeps until `instant_ns` and returns the time then.
    pub(crate) fn sleep_until(&self, instant_ns: i64) -> i64 {
        clock::sleep_until(self.monotonic_ns(instant_ns));
        self.after(instant_ns)
    }
}

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
    /// and the instants of their messages are worked out afterwards ([`crate::FlowReport::apply_wire`]).
    pub wire: bool,
    /// Whether the receiver wakes for each arrival and reads the clock, where there is a cheaper way too: to check that
    /// way.
    pub wake: bool,
    /// Whether to keep the secrets of secure sessions, so that a capture can be decrypted.
    pub keys: bool,
    /// Where QUIC libraries that can write qlog do so; `None` for none.
    pub qlog: Option<Arc<Qlogs>>,
    /// Called as bytes arrive.
    pub progress: Option<OnProgress>,
}

impl Context {
    /// A choice for `quiet_ns`: half a minute. Datagrams that a link which is down holds back for longer count as lost.
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
