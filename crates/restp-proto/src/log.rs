//! Event log: hooks for every step that matters, and a writer of JSON lines in the spirit of qlog.

use std::fmt::Write as _;
use std::io::Write;

use crate::event::{CloseReason, ConnId, seconds};
use crate::profile::LossCause;
use crate::time::Instant;

/// A step of the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LogEvent {
    /// A packet was sent.
    PacketSent {
        /// Path it took.
        path: u8,
        /// Flags octet.
        flags: u8,
        /// Sequence number on the wire, 0 if it has none.
        seq: u32,
        /// Acknowledgement number on the wire, 0 if it has none.
        ack: u32,
        /// Payload length.
        payload_bytes: usize,
        /// It repeats an earlier one.
        retransmission: bool,
    },
    /// A packet was received.
    PacketReceived {
        /// Path it came on.
        path: u8,
        /// Flags octet.
        flags: u8,
        /// Sequence number on the wire, 0 if it has none.
        seq: u32,
        /// Acknowledgement number on the wire, 0 if it has none.
        ack: u32,
        /// Payload length.
        payload_bytes: usize,
    },
    /// Packets were found lost.
    PacketsLost {
        /// Path.
        path: u8,
        /// How many.
        packets: u32,
        /// What the loss was taken to mean.
        cause: LossCause,
    },
    /// The state of recovery after an acknowledgement or a timeout.
    Metrics {
        /// Path.
        path: u8,
        /// Smoothed RTT.
        srtt_s: f64,
        /// Congestion window.
        window_packets: u32,
        /// Packets in flight.
        in_flight_packets: u32,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Path.
        path: u8,
    },
    /// An outage began or ended.
    Outage {
        /// Path.
        path: u8,
        /// It began.
        begins: bool,
    },
    /// Another path took over.
    SwitchOver {
        /// The path that failed.
        from: u8,
        /// The path in use now.
        to: u8,
    },
    /// A packet was repaired from an encoded one.
    Repaired {
        /// Path.
        path: u8,
    },
    /// The connection ended.
    Closed {
        /// Why.
        reason: CloseReason,
    },
}

/// Hears every step of every connection of an endpoint.
pub trait Observer {
    /// Called for each step, in order. Must be quick: it runs inside the protocol.
    fn event(&mut self, now: Instant, conn: ConnId, event: &LogEvent);
}

/// Writes one JSON object per line: `{"time_s":…,"conn":"…","event":"…",…}`.
pub struct JsonLines<W: Write> {
    out: W,
    line: String,
    failed: Option<std::io::Error>,
}

impl<W: Write> std::fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonLines").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, line: String::new(), failed: None }
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// The first error that occurred while writing; events after it were not written.
    pub fn finish(mut self) -> std::io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }
}

impl<W: Write> Observer for JsonLines<W> {
    fn event(&mut self, now: Instant, conn: ConnId, event: &LogEvent) {
        if self.failed.is_some() {
            return;
        }
        self.line.clear();
        let _ = write!(self.line, "{{\"time_s\":{:.9},\"conn\":\"{conn}\",", seconds(now));
        let _ = match *event {
            LogEvent::PacketSent { path, flags, seq, ack, payload_bytes, retransmission } => write!(
                self.line,
                "\"event\":\"packet_sent\",\"path\":{path},\"flags\":{flags},\"seq\":{seq},\"ack\":{ack},\
                 \"payload_bytes\":{payload_bytes},\"retransmission\":{retransmission}"
            ),
            LogEvent::PacketReceived { path, flags, seq, ack, payload_bytes } => write!(
                self.line,
                "\"event\":\"packet_received\",\"path\":{path},\"flags\":{flags},\"seq\":{seq},\"ack\":{ack},\
                 \"payload_bytes\":{payload_bytes}"
            ),
            LogEvent::PacketsLost { path, packets, cause } => write!(
                self.line,
                "\"event\":\"packets_lost\",\"path\":{path},\"packets\":{packets},\"cause\":\"{cause:?}\""
            ),
            LogEvent::Metrics { path, srtt_s, window_packets, in_flight_packets } => write!(
                self.line,
                "\"event\":\"metrics\",\"path\":{path},\"srtt_s\":{srtt_s:.6},\"window_packets\":{window_packets},\
                 \"in_flight_packets\":{in_flight_packets}"
            ),
            LogEvent::Timeout { path } => write!(self.line, "\"event\":\"timeout\",\"path\":{path}"),
            LogEvent::Outage { path, begins } => {
                write!(self.line, "\"event\":\"outage\",\"path\":{path},\"begins\":{begins}")
            }
            LogEvent::SwitchOver { from, to } => {
                write!(self.line, "\"event\":\"switch_over\",\"from\":{from},\"to\":{to}")
            }
            LogEvent::Repaired { path } => write!(self.line, "\"event\":\"repaired\",\"path\":{path}"),
            LogEvent::Closed { reason } => {
                write!(self.line, "\"event\":\"closed\",\"reason\":\"{reason:?}\"")
            }
        };
        self.line.push_str("}\n");
        if let Err(error) = self.out.write_all(self.line.as_bytes()) {
            self.failed = Some(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_object_with_units_in_its_names() {
        let mut log = JsonLines::new(Vec::new());
        let conn = ConnId { slot: 3, generation: 1 };
        log.event(Instant::from_nanos(1_500_000_000), conn, &LogEvent::Timeout { path: 2 });
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        assert_eq!(text, "{\"time_s\":1.500000000,\"conn\":\"3.1\",\"event\":\"timeout\",\"path\":2}\n");
    }

    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut log = JsonLines::new(Full);
        log.event(Instant::ZERO, ConnId { slot: 0, generation: 0 }, &LogEvent::Timeout { path: 0 });
        assert!(log.finish().is_err());
    }
}
