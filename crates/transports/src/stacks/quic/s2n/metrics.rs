//! The state of s2n-quic connections, noted from the events of the library.

use std::sync::{Arc, Mutex, PoisonError};

use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};

use crate::sample::SocketSample;
use crate::transport::Sampler;

/// The latest state of the connection of a sender.
#[derive(Clone, Default)]
pub(super) struct Metrics(Arc<Mutex<Option<SocketSample>>>);

impl Metrics {
    fn note(&self, change: impl FnOnce(&mut SocketSample)) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(state.get_or_insert_default());
    }
}

impl Sampler for Metrics {
    fn sample(&self) -> Option<SocketSample> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Metrics {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_recovery_metrics(&mut self, _: &mut (), _: &ConnectionMeta, event: &events::RecoveryMetrics<'_>) {
        self.note(|state| {
            state.cwnd_bytes = u64::from(event.congestion_window);
            state.in_flight_bytes = u64::from(event.bytes_in_flight);
            state.srtt_ns = Some(event.smoothed_rtt.as_nanos() as i64);
            state.rttvar_ns = Some(event.rtt_variance.as_nanos() as i64);
            state.min_rtt_ns = Some(event.min_rtt.as_nanos() as i64);
        });
    }

    /// QUIC never repeats a packet: what a lost one carried goes in a new one (RFC 9000, section 13.3).
    fn on_packet_lost(&mut self, _: &mut (), _: &ConnectionMeta, event: &events::PacketLost<'_>) {
        if !event.is_mtu_probe {
            self.note(|state| state.retransmitted_packets += 1);
        }
    }

    fn on_slow_start_exited(&mut self, _: &mut (), _: &ConnectionMeta, event: &events::SlowStartExited) {
        self.note(|state| state.ssthresh_bytes = Some(u64::from(event.congestion_window)));
    }

    fn on_pacing_rate_updated(&mut self, _: &mut (), _: &ConnectionMeta, event: &events::PacingRateUpdated) {
        self.note(|state| state.pacing_rate_bps = Some(event.bytes_per_second as f64 * 8.0));
    }
}
