//! Instants of the run as the protocol counts them, and back.

use restp_proto::Instant;

/// Nothing happens before the run's zero.
pub(super) fn instant(t_ns: i64) -> Instant {
    Instant::from_nanos(t_ns.max(0) as u64)
}

/// One that lies beyond what can be told is never.
pub(super) fn nanoseconds(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}
