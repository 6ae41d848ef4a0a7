//! What the server counts, and the lines in which it says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::limits::Limit;
use crate::{clock, heap};

/// A number that grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many there are, and how many there were at most.
#[derive(Debug, Default)]
pub struct Gauge {
    now: AtomicU64,
    most: AtomicU64,
}

impl Gauge {
    /// One more, until what is returned is dropped.
    pub fn enter(gauge: &Arc<Self>) -> Inside {
        let now = gauge.now.fetch_add(1, Ordering::Relaxed) + 1;
        gauge.most.fetch_max(now, Ordering::Relaxed);
        Inside(Arc::clone(gauge))
    }

    /// How many there are.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// How many there were at most.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }
}

/// One of those that a gauge counts.
#[derive(Debug)]
pub struct Inside(Arc<Gauge>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The counters of one server.
#[derive(Debug, Default)]
pub struct Counters {
    /// Handshakes for which the server did something: TCP connections that it took, QUIC connections that it accepted.
    pub handshakes_begun: Count,
    /// Those that ended as they should.
    pub handshakes_completed: Count,
    /// Those that did not, time-outs too.
    pub handshakes_failed: Count,
    /// Those that are in flight.
    pub handshakes: Arc<Gauge>,
    /// Tickets that were given out.
    pub tickets_issued: Count,
    /// Tickets that were taken back: handshakes that were resumed.
    pub tickets_redeemed: Count,
    /// Connections whose first octets of application data came before the end of the handshake (0-RTT).
    pub early_data: Count,
    /// Requests whose head arrived whole.
    pub requests: Count,
    /// Those whose answer was handed over to its end.
    pub answered: Count,
    /// Those that the client gave up, or whose connection ended before.
    pub cancelled: Count,
    /// Octets that came out of TCP or UDP.
    pub octets_in: Count,
    /// Octets that went into TCP or UDP.
    pub octets_out: Count,
    /// Retry packets.
    pub retries: Count,
    /// Connections that are open, those in their handshake too.
    pub connections: Arc<Gauge>,
    /// UDP datagrams that arrived.
    pub datagrams: Count,
    /// Those of them that a connection took.
    pub datagrams_taken: Count,
    /// Connections that the kernel could not hand over, for lack of descriptors or memory.
    pub accepts_failed: Count,
    refused: [Count; Limit::ALL.len()],
}

impl Counters {
    /// A limit acted.
    pub fn refuse(&self, limit: Limit) {
        self.refused[limit as usize].one();
    }

    /// How often a limit acted.
    pub fn refused(&self, limit: Limit) -> u64 {
        self.refused[limit as usize].get()
    }

    /// All of them, as they stand. `datagrams_taken` are those that open connections took and that are not counted yet.
    pub fn snapshot(&self, datagrams_taken: u64) -> Snapshot {
        let received = self.datagrams.get();
        Snapshot {
            handshakes_begun: self.handshakes_begun.get(),
            handshakes_completed: self.handshakes_completed.get(),
            handshakes_failed: self.handshakes_failed.get(),
            handshakes_in_flight: self.handshakes.now(),
            handshakes_in_flight_most: self.handshakes.most(),
            tickets_issued: self.tickets_issued.get(),
            tickets_redeemed: self.tickets_redeemed.get(),
            early_data: self.early_data.get(),
            requests: self.requests.get(),
            requests_answered: self.answered.get(),
            requests_cancelled: self.cancelled.get(),
            bytes_in: self.octets_in.get(),
            bytes_out: self.octets_out.get(),
            retries_sent: self.retries.get(),
            refused: Limit::ALL.into_iter().map(|limit| (limit, self.refused(limit))).collect(),
            connections_open: self.connections.now(),
            connections_most: self.connections.most(),
            accepts_failed: self.accepts_failed.get(),
            datagrams_received: received,
            datagrams_dropped_stateless: received
                .saturating_sub(self.datagrams_taken.get())
                .saturating_sub(datagrams_taken),
            cpu_ns: clock::cpu_ns(),
            heap_bytes: heap::now_octets(),
            heap_peak_bytes: heap::peak_octets(),
            at_ns: clock::now_ns(),
        }
    }
}

/// The counters in the words of the server's lines.
#[derive(Debug, Serialize)]
pub struct Snapshot {
    handshakes_begun: u64,
    handshakes_completed: u64,
    handshakes_failed: u64,
    handshakes_in_flight: u64,
    handshakes_in_flight_most: u64,
    tickets_issued: u64,
    tickets_redeemed: u64,
    early_data: u64,
    requests: u64,
    requests_answered: u64,
    requests_cancelled: u64,
    bytes_in: u64,
    bytes_out: u64,
    retries_sent: u64,
    refused: BTreeMap<Limit, u64>,
    connections_open: u64,
    connections_most: u64,
    accepts_failed: u64,
    datagrams_received: u64,
    datagrams_dropped_stateless: u64,
    cpu_ns: u64,
    heap_bytes: usize,
    heap_peak_bytes: usize,
    at_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_knows_its_highest_level() {
        let gauge = Arc::new(Gauge::default());
        let first = Gauge::enter(&gauge);
        drop(Gauge::enter(&gauge));
        assert_eq!((gauge.now(), gauge.most()), (1, 2));
        drop(first);
        assert_eq!((gauge.now(), gauge.most()), (0, 2));
    }

    #[test]
    fn the_line_names_each_limit_and_the_datagrams_that_nobody_took() {
        let counters = Counters::default();
        counters.refuse(Limit::HeaderTimeout);
        counters.datagrams.add(10);
        counters.datagrams_taken.add(3);
        let line = serde_json::to_value(counters.snapshot(2)).expect("numbers and names");
        assert_eq!(line["refused"]["header_timeout"], 1);
        assert_eq!(line["refused"].as_object().expect("a map").len(), Limit::ALL.len());
        assert_eq!(line["datagrams_dropped_stateless"], 5);
    }
}
