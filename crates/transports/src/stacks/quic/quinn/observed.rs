//! What quinn does not tell of a connection's congestion control: a controller that passes everything on to the
//! real one and notes what goes by.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

/// Bytes of packets, as the congestion control of a connection counts them.
#[derive(Debug, Default)]
pub(super) struct Counts {
    in_flight: AtomicU64,
    acknowledged: AtomicU64,
}

impl Counts {
    /// Sent and neither acknowledged nor lost.
    pub(super) fn in_flight_bytes(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Acknowledged so far.
    pub(super) fn acknowledged_bytes(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }
}

/// Makes controllers of `inner` whose doings are counted in `counts`.
pub(super) struct Observing {
    pub(super) inner: Arc<dyn ControllerFactory + Send + Sync>,
    pub(super) counts: Arc<Counts>,
}

impl ControllerFactory for Observing {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        Box::new(Observed { inner, counts: Arc::clone(&self.counts) })
    }
}

struct Observed {
    inner: Box<dyn Controller>,
    counts: Arc<Counts>,
}

impl Controller for Observed {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.counts.in_flight.fetch_add(bytes, Ordering::Relaxed);
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.counts.acknowledged.fetch_add(bytes, Ordering::Relaxed);
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>) {
        // The library's own count, which leaves out packets that only acknowledge.
        self.counts.in_flight.store(in_flight, Ordering::Relaxed);
        self.inner.on_end_acks(now, in_flight, app_limited, largest_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let _ = self.counts.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |bytes| {
            Some(bytes.saturating_sub(lost_bytes))
        });
        self.inner.on_congestion_event(now, sent, persistent, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { inner: self.inner.clone_box(), counts: Arc::clone(&self.counts) })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
