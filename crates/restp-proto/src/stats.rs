//! Counters of a connection and of an endpoint.

use std::time::Duration;

use crate::path::PathAddr;
use crate::profile::LossCause;

/// Counters of one connection since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnStats {
    /// Packets sent, of any kind.
    pub packets_sent: u64,
    /// Packets received and belonging to this connection.
    pub packets_received: u64,
    /// Bytes sent, ResTP headers included.
    pub bytes_sent: u64,
    /// Bytes received, ResTP headers included.
    pub bytes_received: u64,
    /// Data packets sent for the first time.
    pub data_sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Packets found lost.
    pub lost: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Encoded packets sent.
    pub encoded_sent: u64,
    /// Packets repaired from encoded packets.
    pub repaired: u64,
    /// Encoded packets that could not repair what was missing.
    pub repair_failed: u64,
    /// Messages delivered to the application.
    pub delivered: u64,
    /// Data packets that came twice.
    pub duplicates: u64,
    /// Data packets whose hole had been passed over (answer J2).
    pub late: u64,
    /// Messages given up by the receiving side of this end.
    pub passed_over: u64,
    /// Messages given up by the sending side of this end (answer J3).
    pub abandoned: u64,
    /// Payloads damaged behind a good header (answer C3).
    pub corrupt_payloads: u64,
    /// Packets dropped because frozen header bits differed (answer A15).
    pub frozen_mismatch: u64,
    /// Packets dropped because their numbers were impossible.
    pub out_of_window: u64,
    /// Packets dropped because there was no room.
    pub no_room: u64,
    /// Reductions of a congestion window.
    pub congestion_events: u64,
    /// Acknowledgements with an ECN echo.
    pub ecn_echoes: u64,
    /// Outages entered.
    pub outages: u64,
    /// Probes sent in outage.
    pub outage_probes: u64,
    /// Changes of the path in use.
    pub switch_overs: u64,
    /// Data packets sent again on another path.
    pub reinjected: u64,
    /// Data packets sent that repeat on one path what another carries.
    pub copies: u64,
    /// Repetitions that left without their payload, as another path had brought it.
    pub stubs: u64,
    /// Events not queued because their queue was full.
    pub events_dropped: u64,
    /// Packets with the custody bit, which has no meaning yet (answer A14).
    pub custody_bits: u64,
    /// Packets refused by the AEAD.
    pub unauthentic: u64,
    /// Probes of a path's MTU sent.
    pub size_probes: u64,
    /// Probes of a path's MTU that were answered.
    pub size_probes_answered: u64,
    /// Times that packets longer than the base size were found to vanish on a path.
    pub black_holes: u64,
    /// Packets that left in parts because they no longer fit.
    pub cut_packets: u64,
}

/// State of one path at this moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathStats {
    /// Its addresses.
    pub addr: PathAddr,
    /// It is established and not suspected of having failed.
    pub usable: bool,
    /// It is kept for the failure of others.
    pub backup: bool,
    /// Smoothed RTT, if measured.
    pub srtt: Option<Duration>,
    /// Variation of the RTT, if measured.
    pub rttvar: Option<Duration>,
    /// Smallest RTT, if measured.
    pub min_rtt: Option<Duration>,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Congestion window in packets.
    pub window_packets: u32,
    /// Window up to which slow start goes, in packets, if anything has set one.
    pub slow_start_threshold_packets: Option<u32>,
    /// Packets per second at which packets are released, where they are paced.
    pub pacing_rate_pps: Option<f64>,
    /// Packets in flight.
    pub in_flight_packets: u32,
    /// Payload bytes known to have arrived since the beginning, of packets that would be repeated if lost.
    pub delivered_bytes: u64,
    /// What losses are taken to mean.
    pub cause: LossCause,
    /// The path is in outage: frozen and probed.
    pub outage: bool,
    /// Largest packet that is known to pass, ResTP header included, in bytes.
    pub packet_bytes: usize,
}

/// Counters of one endpoint since its beginning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Datagrams received.
    pub datagrams: u64,
    /// Dropped: not a ResTP packet, or a bad header CRC (answers A6, A12, C3).
    pub undecodable: u64,
    /// Dropped: no listener and no connection.
    pub stray: u64,
    /// Handshakes answered without keeping state.
    pub stateless_answers: u64,
    /// Cookies granted.
    pub cookies_granted: u64,
    /// Cookies refused.
    pub cookies_refused: u64,
    /// Early data not processed because they may be a replay (answer D9).
    pub replays_refused: u64,
    /// Connections refused because a limit was reached.
    pub limit_refusals: u64,
    /// Protected handshakes of peers without the right keys.
    pub unauthentic: u64,
    /// Resets sent.
    pub resets_sent: u64,
    /// Connections whose peer moved to another address (answer K3).
    pub rebindings: u64,
}
