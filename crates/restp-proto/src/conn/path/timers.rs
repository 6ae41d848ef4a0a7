//! The timers of one path.

use crate::time::Instant;

/// A timer of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    /// Repeat SYN, SYN-ACK, or the third acknowledgement.
    Handshake,
    /// Retransmission timeout, or window probe.
    Retransmit,
    /// Probes of what is in flight, while nothing is acknowledged.
    Tail,
    /// A hole becomes old enough to count as a loss.
    Loss,
    /// An acknowledgement is due.
    Ack,
    /// The last acknowledgement is to be repeated.
    DuplicateAck,
    /// The pacer lets the next packet go.
    Pace,
    /// An encoded packet is due.
    Fec,
    /// A probe on a path in outage, in standby, or suspected.
    Probe,
    /// A probe of the path's MTU has no answer, or the next is due.
    Search,
    /// The peer has not followed us to another address.
    Follow,
}

const TIMERS: usize = 11;

/// When each of them expires; `FAR_FUTURE` means that it is not running.
#[derive(Debug)]
pub(crate) struct Timers([Instant; TIMERS]);

impl Timers {
    pub fn new() -> Self {
        Self([Instant::FAR_FUTURE; TIMERS])
    }

    pub fn set(&mut self, timer: Timer, at: Instant) {
        self.0[timer as usize] = at;
    }

    /// Starts it unless it is running.
    pub fn start(&mut self, timer: Timer, at: Instant) {
        if !self.is_running(timer) {
            self.set(timer, at);
        }
    }

    pub fn stop(&mut self, timer: Timer) {
        self.0[timer as usize] = Instant::FAR_FUTURE;
    }

    pub fn stop_all(&mut self) {
        *self = Self::new();
    }

    pub fn is_running(&self, timer: Timer) -> bool {
        self.0[timer as usize] != Instant::FAR_FUTURE
    }

    /// Stops the timer and says so, if it has expired.
    pub fn expired(&mut self, timer: Timer, now: Instant) -> bool {
        let due = self.0[timer as usize] <= now;
        if due {
            self.stop(timer);
        }
        due
    }

    /// The earliest of all.
    pub fn deadline(&self) -> Instant {
        self.0.iter().copied().min().unwrap_or(Instant::FAR_FUTURE)
    }
}
