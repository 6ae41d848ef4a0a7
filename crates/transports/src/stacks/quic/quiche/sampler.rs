//! The state of quiche's connections over time.

use super::engine::QuicheEngine;
use crate::sample::SocketSample;
use crate::stacks::quic::driver::Driver;
use crate::transport::Sampler;

/// Reads the state of a connection's path as the library tells it.
pub(super) struct QuicheSampler {
    pub(super) driver: Driver<QuicheEngine>,
    pub(super) handle: u64,
}

impl Sampler for QuicheSampler {
    fn sample(&self) -> Option<SocketSample> {
        let mut state = self.driver.lock();
        let quic = &state.engine.link(self.handle).quic;
        if quic.is_closed() || quic.is_draining() {
            return None;
        }
        let path = quic.path_stats().find(|path| path.active)?;
        let totals = quic.stats();
        Some(SocketSample {
            cwnd_bytes: path.cwnd as u64,
            srtt_ns: Some(path.rtt.as_nanos() as i64),
            rttvar_ns: Some(path.rttvar.as_nanos() as i64),
            min_rtt_ns: path.min_rtt.map(|rtt| rtt.as_nanos() as i64),
            // The library keeps its own count to itself; packets that only acknowledge, which a sender has few of, are
            // never acknowledged and stay in this one.
            in_flight_bytes: totals.sent_bytes.saturating_sub(totals.acked_bytes + totals.lost_bytes),
            // QUIC never repeats a packet: what a lost one carried goes in a new one (RFC 9000, section 13.3).
            retransmitted_packets: path.lost as u64,
            delivered_bytes: Some(totals.acked_bytes),
            delivery_rate_bps: Some(path.delivery_rate as f64 * 8.0),
            ..SocketSample::default()
        })
    }
}
