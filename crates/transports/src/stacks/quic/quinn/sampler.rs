//! The state of quinn's connections over time.

use std::sync::Arc;

use quinn_proto::ConnectionHandle;

use super::engine::QuinnEngine;
use super::observed::Counts;
use crate::sample::SocketSample;
use crate::stacks::quic::driver::Driver;
use crate::transport::Sampler;

/// Reads the state of a connection: the library's estimates, and what went by its congestion control.
pub(super) struct QuinnSampler {
    pub(super) driver: Driver<QuinnEngine>,
    pub(super) handle: ConnectionHandle,
    pub(super) counts: Arc<Counts>,
}

impl Sampler for QuinnSampler {
    fn sample(&self) -> Option<SocketSample> {
        let mut state = self.driver.lock();
        let link = state.engine.link(self.handle);
        if link.lost.is_some() {
            return None;
        }
        let path = link.quic.stats().path;
        let metrics = link.quic.congestion_state().metrics();
        let srtt_s = path.rtt.as_secs_f64();
        Some(SocketSample {
            cwnd_bytes: path.cwnd,
            ssthresh_bytes: metrics.ssthresh.filter(|bytes| *bytes < u64::MAX),
            srtt_ns: Some(path.rtt.as_nanos() as i64),
            min_rtt_ns: Some(path.min_rtt.as_nanos() as i64),
            in_flight_bytes: self.counts.in_flight_bytes(),
            // QUIC never repeats a packet: what a lost one carried goes in a new one (RFC 9000, section 13.3).
            retransmitted_packets: path.lost_packets,
            delivered_bytes: Some(self.counts.acknowledged_bytes()),
            pacing_rate_bps: Some(PACING_GAIN * path.cwnd as f64 * 8.0 / srtt_s).filter(|_| srtt_s > 0.0),
            ..SocketSample::default()
        })
    }
}

/// Windows per RTT at which quinn paces, whatever the congestion control (quinn-proto's `connection/pacing.rs`; the
/// value is that of RFC 9002, section 7.7).
const PACING_GAIN: f64 = 1.25;
